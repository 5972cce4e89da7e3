//! Plan of the walls: plain data that the server builds at start and the launcher carries out.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::raw_string::RawString;

/// Confinement mechanism for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Own root in user, mount, pid, ipc and network namespaces, with Landlock and seccomp inside.
    Namespaces,
    /// Landlock, seccomp and the metadata broker, on the system's root.
    Landlock,
    /// No confinement: the operator switched it off.
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

/// Network of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No socket of any network family.
    None,
    /// Own loopback device, shared by the commands of one server. Without namespaces the same as
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

/// Canonical path of a directory or file, with its inode to detect a replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanonicalPath {
    /// Absolute, without symlinks.
    pub path: RawString,
    /// `st_dev` of stat(2).
    pub dev: u64,
    /// `st_ino` of stat(2).
    pub ino: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRoot {
    pub place: CanonicalPath,
    /// `true` if commands may change files below it.
    pub writable: bool,
    pub extent: Extent,
}

/// Type of a root, which bounds its writable part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// An allowed directory.
    Allowed,
    /// A part of a git repository outside the allowed directory that is linked to it.
    OfGit,
    /// The common git directory of several worktrees. Only the files that git itself writes there
    /// are writable (`common_git`). Requires [`Tier::Namespaces`].
    CommonOfGit,
    /// Caches of package managers that outlive the server (`cache`).
    Cache,
}

/// Resource limits of one command, except timeout and output. `None`: the limit of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads of all commands together (`RLIMIT_NPROC` in the commands' own user
    /// namespace). Not applied without namespaces, because it would count all processes of the
    /// user.
    pub processes: Option<u64>,
    /// Size of the largest writable file, in bytes (`RLIMIT_FSIZE`).
    pub file_bytes: Option<u64>,
    /// Processor time of each process, in seconds (`RLIMIT_CPU`).
    pub cpu_secs: Option<u64>,
    /// Memory of all processes of one command together, in bytes. A command above it is ended.
    pub memory_bytes: Option<u64>,
    /// Open files of each process (soft `RLIMIT_NOFILE`); `None`:
    /// [`replay_base::limits::COMMAND_OPEN_FILES`].
    pub open_files: Option<u64>,
    /// Raises the OOM killer's score of commands (`oom_score_adj`, proc(5)), 0 to 1000.
    pub oom_score_adj: u16,
}

/// Everything that the launcher receives, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Required tier; the launcher never falls back to another.
    pub tier: Tier,
    /// `true` if the launcher runs a trivial command before it reports that the walls stand.
    /// Otherwise the first command is the trial.
    pub is_tried: bool,
    /// The network of commands.
    pub network: Network,
    /// `true` if the server resolves every host name. Commands then do not see the addresses in the
    /// system's hosts(5).
    pub answers_names: bool,
    /// The allowed directories, by canonical path.
    pub roots: Vec<PlannedRoot>,
    /// Aliases of allowed directories through symlinks of the system, each with the canonical path.
    pub other_names: Vec<(RawString, RawString)>,
    /// Paths below read-write roots that stay read-only; they need not exist.
    pub protected: Vec<RawString>,
    /// Files below allowed directories that commands must not reach by any name: canonical path and
    /// inode. Requires [`Tier::Namespaces`].
    pub hidden: Vec<CanonicalPath>,
    /// Patterns of hidden paths, if any. Requires [`Tier::Namespaces`].
    pub hide: Option<PlannedHide>,
    /// Directories (or single files) of programs: read-only and executable. They need not exist.
    pub system: Vec<RawString>,
    /// Paths of `system` of which root's commands see only what everybody may read.
    pub public_only: Vec<RawString>,
    /// Devices of the machine that commands may use.
    pub devices: PlannedDevices,
    /// Unix sockets of programs outside that commands may connect to.
    pub sockets: Vec<CanonicalPath>,
    /// World-readable entries of /etc ([`super::landlock::public_entries`]), for
    /// [`Tier::Landlock`]. The server looks them up while the launcher starts.
    pub public: Vec<RawString>,
    /// Private directory on disk, mode 0700, with `home` and `tmp` in it. The launcher removes it
    /// at the end.
    pub scratch: RawString,
    /// Persistent cache directory of commands, if any. The parts that commands see are in `roots`.
    pub cache: Option<PlannedCache>,
    /// `true` if commands get `scratch/home` as HOME; otherwise HOME is in `environment`.
    pub private_home: bool,
    /// Directories of the operator below HOME of commands. Requires [`Tier::Namespaces`] and
    /// `private_home`.
    pub layers: Vec<PlannedLayer>,
    /// Second path at which `scratch/home/.cargo` is mounted. Requires [`Tier::Namespaces`].
    pub cargo_home: Option<RawString>,
    /// Environment of every command, except HOME and TMPDIR, which depend on the tier.
    pub environment: Vec<(RawString, RawString)>,
    /// Resource limits of each command.
    pub limits: Limits,
    /// Journal of the changes of commands, if any. `None` in [`Tier::Off`], where no call is
    /// intercepted.
    pub journal: Option<PlannedJournal>,
}

impl Plan {
    /// Paths of the read-write roots.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        self.roots
            .iter()
            .filter(|root| root.writable)
            .map(|root| root.place.path.as_path())
    }
}

/// Devices of the machine for commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDevices {
    /// Character devices.
    pub nodes: Vec<CanonicalPath>,
    /// Paths below `/sys` that their programs read. Some are links.
    pub sysfs: Vec<RawString>,
    /// `true` if commands may name their threads from other threads ([`super::thread_names`]).
    pub names_threads: bool,
}

/// The directory of [`super::Cache`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCache {
    pub place: CanonicalPath,
    /// Bytes that remain in the cache when the server ends.
    pub bytes: u64,
}

/// A directory of the operator that commands see below HOME. Their changes are not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedLayer {
    pub place: CanonicalPath,
    /// Path below HOME of commands.
    pub below: RawString,
    /// Paths in it that commands do not see.
    pub private: Vec<RawString>,
}

/// Hidden paths below the allowed directories ([`replay_files::hide::Hide`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedHide {
    pub patterns: Vec<String>,
    pub aliases: Vec<(RawString, RawString)>,
    pub targets: Vec<RawString>,
    /// Inode number and device.
    pub ids: Vec<(u64, u64)>,
}

/// Journal of changes by commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedJournal {
    /// The directory of the store.
    pub store: CanonicalPath,
    /// Directories whose changes are recorded. They are disjoint and in the order of the server's
    /// own journal.
    pub roots: Vec<CanonicalPath>,
    /// Globs over paths below the roots; changes of matching paths are not recorded.
    pub skip: Vec<String>,
    /// `true` if a change proceeds even though it cannot be recorded.
    pub drops: bool,
}
