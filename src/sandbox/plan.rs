//! What the walls shall be: plain data, made by the server at start, carried out by the launcher.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::raw_string::RawString;

/// A way to hold a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A root of its own in user, mount, pid, ipc and network namespaces, with Landlock and seccomp
    /// inside.
    Namespaces,
    /// Landlock, seccomp and the metadata broker on the system's own root.
    Landlock,
    /// No wall: the operator switched it off.
    Off,
}

impl Tier {
    /// The word used in flags, logs and replies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Off => "off",
        }
    }
}

/// Which network a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No socket of any network family.
    None,
    /// A loopback of its own, shared by the commands of one server; without namespaces the same as
    /// `None`.
    Loopback,
    /// The network of the system.
    Host,
}

impl Network {
    /// The word used in flags, logs and replies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Loopback => "loopback",
            Self::Host => "host",
        }
    }
}

/// A directory or file by its true path, and which one it is, so that another one that took its
/// name is noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Absolute, without links.
    pub path: RawString,
    /// `st_dev` of stat(2).
    pub dev: u64,
    /// `st_ino` of stat(2).
    pub ino: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRoot {
    pub place: Place,
    /// Whether commands may change what is below it.
    pub writable: bool,
    pub extent: Extent,
}

/// What a root is, and how far it is writable if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// An allowed directory.
    Allowed,
    /// A part of a git repository that an allowed directory is linked to.
    OfGit,
    /// What the worktrees of a git repository share: only what git writes there is writable
    /// (`common_git`). Only [`Tier::Namespaces`] can hold that.
    CommonOfGit,
    /// Caches of package managers that outlive the server (`cache`).
    Cache,
}

/// What one command is held to, beside time and output. `None`: as the server itself is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads of all commands together (`RLIMIT_NPROC` in the commands' own user
    /// namespace). Without namespaces it would count everything of the user, so it is not applied
    /// there.
    pub processes: Option<u64>,
    /// Largest file that may be written, in bytes (`RLIMIT_FSIZE`).
    pub file_bytes: Option<u64>,
    /// Processor time of each process, in seconds (`RLIMIT_CPU`).
    pub cpu_secs: Option<u64>,
    /// Memory that the processes of one command may hold together, in bytes; watched, ended when
    /// passed.
    pub memory_bytes: Option<u64>,
    /// Open files of each process (`RLIMIT_NOFILE`, soft); `None`:
    /// [`crate::limits::COMMAND_OPEN_FILES`].
    pub open_files: Option<u64>,
    /// Added to the likelihood of being ended when the system is out of memory (`oom_score_adj`,
    /// proc(5)), 0 to 1000.
    pub oom_score_adj: u16,
}

/// Everything the launcher is told, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How to hold commands; the launcher does this or refuses.
    pub tier: Tier,
    /// Whether a trivial command is run before the server is told that the walls stand. Else its
    /// first command is the trial.
    pub is_tried: bool,
    /// The network of commands.
    pub network: Network,
    /// Whether the server answers for every name: commands are not told the addresses that this
    /// machine has for some (hosts(5)).
    pub answers_names: bool,
    /// The allowed directories, by true path.
    pub roots: Vec<PlannedRoot>,
    /// Other paths of allowed directories, through links of the system, each with the true one.
    pub other_names: Vec<(RawString, RawString)>,
    /// Paths below read-write roots that stay read-only; they need not exist.
    pub protected: Vec<RawString>,
    /// Files below allowed directories that commands must not reach by any name: true path and
    /// which file. Only [`Tier::Namespaces`] can hide them.
    pub hidden: Vec<Place>,
    /// What is hidden from commands by patterns, if anything is. Only [`Tier::Namespaces`] can.
    pub hide: Option<PlannedHide>,
    /// Directories (or single files) that hold programs: read-only and executable, none of them
    /// need exist.
    pub system: Vec<RawString>,
    /// Unix sockets of programs outside that commands may connect to.
    pub sockets: Vec<Place>,
    /// What of /etc everybody may read ([`super::landlock::public_entries`]), for
    /// [`Tier::Landlock`]: looked up by the server while the launcher starts.
    pub public: Vec<RawString>,
    /// A private directory on the disk, mode 0700, with `home` and `tmp` in it; removed by the
    /// launcher at the end.
    pub scratch: RawString,
    /// Where their caches outlive the server, if they do; what commands see of it is one of
    /// `roots`.
    pub cache: Option<PlannedCache>,
    /// Whether commands get `scratch/home` as HOME; otherwise `environment` says.
    pub private_home: bool,
    /// Where `scratch/home/.cargo` is seen, too. Only [`Tier::Namespaces`] can show it there.
    pub cargo_home: Option<RawString>,
    /// The environment of every command, but for HOME and TMPDIR, which depend on the tier.
    pub environment: Vec<(RawString, RawString)>,
    /// What a command is held to.
    pub limits: Limits,
    /// Where what commands change is noted, if it is. Not in [`Tier::Off`], where nobody is asked
    /// before a change.
    pub journal: Option<PlannedJournal>,
}

impl Plan {
    /// Paths of the directories that may be written to.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        self.roots
            .iter()
            .filter(|root| root.writable)
            .map(|root| root.place.path.as_path())
    }
}

/// The directory of [`super::Cache`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCache {
    pub place: Place,
    /// How much of it stays when the server ends.
    pub bytes: u64,
}

/// What is hidden below the allowed directories ([`crate::hide::Hide`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedHide {
    pub patterns: Vec<String>,
    pub aliases: Vec<(RawString, RawString)>,
    pub targets: Vec<RawString>,
    /// Inode number and device.
    pub ids: Vec<(u64, u64)>,
}

/// The journal of what commands change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedJournal {
    /// The directory of the store.
    pub store: Place,
    /// Where changes are noted: directories that lie apart from each other, in the order of the
    /// server's own journal.
    pub roots: Vec<Place>,
    /// Globs over paths below the roots, of which nothing is noted.
    pub skip: Vec<String>,
    /// Whether a change is made that cannot be noted.
    pub drops: bool,
}
