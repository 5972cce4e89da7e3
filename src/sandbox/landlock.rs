//! Landlock rulesets: what is granted below which directory, and which scopes are closed. See
//! landlock(7).
//!
//! Every right is required of the kernel, none is dropped in silence: a ruleset that does less than
//! was asked is an error.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::FileType;
use thiserror::Error;

use super::sys;
use crate::limits::{MAX_PUBLIC_ENTRIES, MAX_PUBLIC_VISITS};

/// The least version that allows to move a file to another directory. Before, every domain refuses
/// it.
pub const MOVES_ABI: u32 = 2;
/// The least version that holds files by itself: before it, truncate(2) was free.
pub const LEAST_ABI: u32 = 3;
/// The least version that refuses TCP.
pub const TCP_ABI: u32 = 4;
/// The least version with scopes.
pub const SCOPES_ABI: u32 = 6;

/// Why there is no ruleset.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel's Landlock is too old.
    #[error(
        "version {have} of the kernel's landlock cannot {what}: that needs version {need} or newer"
    )]
    TooOld {
        /// The version asked for.
        have: u32,
        /// The version that can do it.
        need: u32,
        /// What it cannot do.
        what: &'static str,
    },
    /// The kernel refuses a right or a scope that its version promises.
    #[error("the kernel refuses to {what}: {source}")]
    Refused {
        /// What was asked of it.
        what: &'static str,
        #[source]
        source: Box<RulesetError>,
    },
    /// A rule cannot be added.
    #[error("the kernel refuses the rule number {index} ({right}): {source}")]
    Rule {
        /// Which of the rules, from 0.
        index: usize,
        right: Right,
        /// What the kernel said.
        #[source]
        source: Box<RulesetError>,
    },
    /// What a rule is about cannot be looked at.
    #[error("what the rule number {index} ({right}) is about cannot be looked at: {source}")]
    Object {
        /// Which of the rules, from 0.
        index: usize,
        right: Right,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Neither files nor scopes nor TCP: nothing to hold anybody to.
    #[error("a ruleset without any restriction was asked for")]
    Empty,
}

/// What a rule grants, on a file or on all that is below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To read and list, and to run programs.
    ReadExecute,
    /// To read and list.
    Read,
    /// Everything but to make device nodes, and ioctl(2) on devices.
    Write,
    /// To make, write and remove regular files, and to read and list.
    WriteFiles,
    /// To read, write and list, but not ioctl(2).
    Device,
    /// To read, write and list, and ioctl(2): for terminals.
    Terminal,
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::ReadExecute => "read and execute",
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteFiles => "write files",
            Self::Device => "a device",
            Self::Terminal => "a terminal",
        })
    }
}

/// What a ruleset does beside its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four things that are independent of each other"
)]
pub struct Options {
    /// No signals to processes outside of the domain.
    pub scope_signals: bool,
    /// No connections to abstract unix(7) sockets outside of the domain.
    pub scope_abstract_sockets: bool,
    /// Hold to the rules who reads, lists and truncates, too. Where what may not be read cannot be
    /// named and what may not be changed lies on read-only mounts, this is a second lock that costs
    /// half a microsecond at each open.
    pub reading: bool,
    /// No TCP, if the version can refuse it: it is a second lock, behind the filter of socket(2).
    pub refuse_tcp: bool,
    /// The version of the interface, as [`abi`] has it; what is newer than this program knows is
    /// not used.
    pub abi: u32,
}

/// A finished ruleset. Entering it again makes a domain within the domain.
#[derive(Debug)]
pub struct Ruleset(OwnedFd);

impl Ruleset {
    /// Holds the calling thread, and all that it starts from now on, to this ruleset; it gives up
    /// new privileges first.
    pub fn restrict(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        sys::landlock::restrict_self(self.0.as_fd())
    }
}

/// The version of the kernel's Landlock interface; `None` if it has none or does not use it.
pub fn abi() -> Option<u32> {
    sys::landlock::version().ok().filter(|version| *version > 0)
}

/// The same, where it is a second lock behind mounts: a version with which programs still can do
/// their work.
pub fn abi_in_view() -> Option<u32> {
    abi().filter(|abi| *abi >= MOVES_ABI)
}

/// A ruleset that grants what the rules say, and no other access to any file.
///
/// The descriptors name what the rules are about (`O_PATH` will do) and are not kept. A file gets
/// those of the rights that files can have.
pub fn ruleset(rules: &[(BorrowedFd<'_>, Right)], options: Options) -> Result<Ruleset, Error> {
    let (need, what) = if options.reading {
        (LEAST_ABI, "keep files from being truncated")
    } else {
        (MOVES_ABI, "let files be moved to another directory")
    };
    if options.abi < need {
        return Err(Error::TooOld {
            have: options.abi,
            need,
            what,
        });
    }
    let version = version(options);
    let handled = handled(options, version);
    let files = refused(
        "handle the rights of its version",
        strict().handle_access(handled),
    )?;
    let mut created = created(files, options)?;
    for (index, (object, right)) in rules.iter().enumerate() {
        let right = *right;
        let stat = rustix::fs::fstat(object).map_err(|errno| Error::Object {
            index,
            right,
            source: errno.into(),
        })?;
        let mut access = granted(right, version) & handled;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            access &= AccessFs::from_file(version);
        }
        (&mut created)
            .add_rule(PathBeneath::new(object, access))
            .map_err(|source| Error::Rule {
                index,
                right,
                source: Box::new(source),
            })?;
    }
    finished(created)
}

/// A ruleset that leaves files alone and closes the scopes (and TCP) that the options ask for.
pub fn scope_only(everywhere: BorrowedFd<'_>, options: Options) -> Result<Ruleset, Error> {
    let tcp = options.refuse_tcp && options.abi >= TCP_ABI;
    if !(options.scope_signals || options.scope_abstract_sockets || tcp) {
        return Err(Error::Empty);
    }
    // Moving and linking between directories is refused by every domain that does not allow it in
    // so many words, even by one that is about no files at all (landlock(7),
    // LANDLOCK_ACCESS_FS_REFER). What lies inside decides about it.
    let what = "allow moving between directories";
    let ruleset = refused(what, strict().handle_access(AccessFs::Refer))?;
    let created = created(ruleset, options)?;
    finished(refused(
        what,
        created.add_rule(PathBeneath::new(everywhere, AccessFs::Refer)),
    )?)
}

/// Whether connections over TCP can be refused.
pub fn knows_tcp() -> bool {
    abi().is_some_and(|abi| abi >= TCP_ABI)
}

/// A ruleset that leaves everything alone but refuses to connect over TCP. `None` where the version
/// does not know TCP. `everywhere` is for who is in another domain: one that says nothing of files
/// would refuse moves between directories there.
pub fn no_connections(
    everywhere: Option<BorrowedFd<'_>>,
    abi: u32,
) -> Result<Option<Ruleset>, Error> {
    if abi < TCP_ABI {
        return Ok(None);
    }
    let what = "refuse tcp";
    let ruleset = refused(what, strict().handle_access(AccessNet::ConnectTcp))?;
    let Some(everywhere) = everywhere else {
        return finished(refused(what, ruleset.create())?).map(Some);
    };
    // As in `scope_only`.
    let ruleset = refused(what, ruleset.handle_access(AccessFs::Refer))?;
    let created = refused(what, ruleset.create())?;
    finished(refused(
        what,
        created.add_rule(PathBeneath::new(everywhere, AccessFs::Refer)),
    )?)
    .map(Some)
}

/// The rights that a ruleset decides about. The kernel asks a domain about an open only if it
/// handles one of its rights, that to truncate among them, for the descriptor may be used for that
/// later.
fn handled(options: Options, version: ABI) -> BitFlags<AccessFs> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Truncate;
    if options.reading {
        AccessFs::from_all(version)
    } else {
        AccessFs::from_all(version) & !reading
    }
}

/// What a right is to Landlock.
fn granted(right: Right, version: ABI) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let all = AccessFs::from_all(version);
    match right {
        Right::ReadExecute => read | AccessFs::Execute,
        Right::Read => read,
        Right::Write => all & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev),
        Right::WriteFiles => {
            read | (AccessFs::WriteFile
                | AccessFs::Truncate
                | AccessFs::MakeReg
                | AccessFs::RemoveFile)
                & all
        }
        Right::Device => read | AccessFs::WriteFile,
        Right::Terminal => (read | AccessFs::WriteFile | AccessFs::IoctlDev) & all,
    }
}

fn version(options: Options) -> ABI {
    ABI::from(i32::try_from(options.abi).unwrap_or(i32::MAX))
}

fn strict() -> landlock::Ruleset {
    landlock::Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

fn created(mut ruleset: landlock::Ruleset, options: Options) -> Result<RulesetCreated, Error> {
    for (asked, scope, what) in [
        (options.scope_signals, Scope::Signal, "keep signals inside"),
        (
            options.scope_abstract_sockets,
            Scope::AbstractUnixSocket,
            "keep abstract sockets inside",
        ),
    ] {
        if asked && options.abi < SCOPES_ABI {
            return Err(Error::TooOld {
                have: options.abi,
                need: SCOPES_ABI,
                what,
            });
        }
        if asked {
            ruleset = refused(what, ruleset.scope(scope))?;
        }
    }
    if options.refuse_tcp && options.abi >= TCP_ABI {
        ruleset = refused(
            "refuse tcp",
            ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp),
        )?;
    }
    refused("make a ruleset", ruleset.create())
}

fn refused<T>(what: &'static str, result: Result<T, RulesetError>) -> Result<T, Error> {
    result.map_err(|source| Error::Refused {
        what,
        source: Box::new(source),
    })
}

/// The descriptor: the crate has none where the kernel has no Landlock.
fn finished(created: RulesetCreated) -> Result<Ruleset, Error> {
    Option::<OwnedFd>::from(created)
        .map(Ruleset)
        .ok_or(Error::Empty)
}

/// The entries of a directory (of `/etc`) that everybody may read: files with that permission, and
/// directories that contain nothing else all the way down; of other directories the entries that
/// qualify.
///
/// Modes alone decide, so that root and a user get the same: Landlock grants whole directories and
/// cannot take out `/etc/shadow`. Links are left out and do not spoil their directory: what they
/// lead to is granted, or not, where it lies. Of a huge directory the rest is left out.
pub fn public_entries(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut visits = MAX_PUBLIC_VISITS;
    for (entry, is_link) in children(dir).unwrap_or_default() {
        if !is_link {
            public(&entry, &mut visits, &mut found);
        }
    }
    found.sort();
    found.truncate(MAX_PUBLIC_ENTRIES);
    found
}

/// Adds what is public at and below `path`; whether that was everything.
#[expect(
    clippy::disallowed_methods,
    reason = "looks at the system's own directories, before any command"
)]
fn public(path: &Path, visits: &mut usize, found: &mut Vec<PathBuf>) -> bool {
    use std::os::unix::fs::MetadataExt;
    if *visits == 0 {
        return false;
    }
    *visits -= 1;
    let Ok(status) = std::fs::symlink_metadata(path) else {
        return false;
    };
    let kind = status.file_type();
    let whole = if kind.is_dir() {
        let entries = if status.mode() & 0o005 == 0o005 {
            children(path)
        } else {
            None
        };
        let Some(entries) = entries else { return false };
        let before = found.len();
        let mut whole = true;
        for (entry, is_link) in entries {
            whole &= is_link || public(&entry, visits, found);
        }
        if whole {
            found.truncate(before);
        }
        whole
    } else {
        kind.is_file() && status.mode() & 0o004 != 0
    };
    if whole {
        found.push(path.to_owned());
    }
    whole
}

#[expect(
    clippy::disallowed_methods,
    reason = "looks at the system's own directories, before any command"
)]
fn children(dir: &Path) -> Option<Vec<(PathBuf, bool)>> {
    let entries = std::fs::read_dir(dir).ok()?.take(MAX_PUBLIC_VISITS);
    // The directory itself says what is a link, and in /etc most entries are.
    entries
        .map(|entry| {
            let entry = entry.ok()?;
            Some((entry.path(), entry.file_type().ok()?.is_symlink()))
        })
        .collect()
}

#[cfg(test)]
mod tests;
