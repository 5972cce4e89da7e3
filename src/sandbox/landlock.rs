//! Landlock rulesets: access rights per directory, and closed scopes. See landlock(7).
//!
//! The kernel must support every requested right. A ruleset that would enforce less is an error.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use replay_sys as sys;
use rustix::fs::FileType;
use thiserror::Error;

/// Most entries of `/etc` that get a rule of their own.
const MAX_PUBLIC_ENTRIES: usize = 4096;
/// Files and directories looked at to find the public ones of a directory.
const MAX_PUBLIC_VISITS: usize = 65_536;

/// First version that permits moving a file to another directory. Earlier ones always refuse it.
pub const MOVES_ABI: u32 = 2;
/// First version that protects files by itself: before it, truncate(2) was not restricted.
pub const LEAST_ABI: u32 = 3;
/// First version that restricts TCP.
pub const TCP_ABI: u32 = 4;
/// First version with scopes.
pub const SCOPES_ABI: u32 = 6;

/// Reason for a missing ruleset.
#[derive(Debug, Error)]
pub enum Error {
    /// The kernel's Landlock is too old.
    #[error(
        "Landlock version {have} of this kernel cannot {what}, which needs version {need} or newer"
    )]
    TooOld {
        /// The requested version.
        have: u32,
        /// The required version.
        need: u32,
        /// The missing feature.
        what: &'static str,
    },
    /// The kernel refuses a right or a scope that its version promises.
    #[error("the kernel refuses to {what}: {source}")]
    Refused {
        /// The requested operation.
        what: &'static str,
        #[source]
        source: Box<RulesetError>,
    },
    /// A rule cannot be added.
    #[error("the kernel refuses the rule number {index} ({right}): {source}")]
    Rule {
        /// Index of the rule, from 0.
        index: usize,
        right: Right,
        /// The kernel's error.
        #[source]
        source: Box<RulesetError>,
    },
    /// The object of a rule cannot be examined.
    #[error("what the rule number {index} ({right}) is about cannot be looked at: {source}")]
    Object {
        /// Index of the rule, from 0.
        index: usize,
        right: Right,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// Neither files nor scopes nor TCP: the ruleset would restrict nothing.
    #[error("a ruleset without any restriction was asked for")]
    Empty,
}

/// Access that a rule grants, on a file or on everything below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Read, list and execute.
    ReadExecute,
    /// Read and list.
    Read,
    /// Everything except device nodes, and except ioctl(2) on devices.
    Write,
    /// Create, write and remove regular files, and read and list.
    WriteFiles,
    /// Read, write and list, but no ioctl(2).
    Device,
    /// Read, write and list, and ioctl(2): for terminals, and for devices of the machine.
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

/// Restrictions of a ruleset besides its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four things that are independent of each other"
)]
pub struct Options {
    /// No signals to processes outside the domain.
    pub scope_signals: bool,
    /// No connections to abstract unix(7) sockets outside the domain.
    pub scope_abstract_sockets: bool,
    /// Also restrict reading, listing and truncating. This is redundant if unreadable paths cannot
    /// be named and protected files lie on read-only mounts. It costs half a microsecond per open.
    pub reading: bool,
    /// No TCP, if the version can refuse it: a second barrier behind the seccomp filter of
    /// socket(2).
    pub refuse_tcp: bool,
    /// The interface version that [`abi`] returned. Features newer than this program are not used.
    pub abi: u32,
}

/// A finished ruleset. Entering it again creates a nested domain.
#[derive(Debug)]
pub struct Ruleset(OwnedFd);

impl Ruleset {
    /// Restricts the calling thread and its future children to this ruleset. Sets `no_new_privs`
    /// first.
    pub fn restrict(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        sys::landlock::restrict_self(self.0.as_fd())
    }
}

/// The version of the kernel's Landlock interface; `None` if it is absent or disabled.
pub fn abi() -> Option<u32> {
    sys::landlock::version().ok().filter(|version| *version > 0)
}

/// Like [`abi`], for Landlock as a second barrier behind mounts: `None` if the version would break
/// programs.
pub fn abi_in_view() -> Option<u32> {
    abi().filter(|abi| *abi >= MOVES_ABI)
}

/// Builds a ruleset that grants the rights of the rules, and no other access to any file.
///
/// The descriptors (`O_PATH` suffices) name the objects of the rules and are not kept. A rule on a
/// file grants only the rights that apply to files.
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

/// Builds a ruleset that leaves files alone and closes the requested scopes (and TCP).
pub fn scope_only(everywhere: BorrowedFd<'_>, options: Options) -> Result<Ruleset, Error> {
    let tcp = options.refuse_tcp && options.abi >= TCP_ABI;
    if !(options.scope_signals || options.scope_abstract_sockets || tcp) {
        return Err(Error::Empty);
    }
    // Every domain refuses to move and link between directories unless a rule permits it, even a
    // domain without file rights (landlock(7), LANDLOCK_ACCESS_FS_REFER). Nested domains decide
    // about it.
    let what = "allow moving between directories";
    let ruleset = refused(what, strict().handle_access(AccessFs::Refer))?;
    let created = created(ruleset, options)?;
    finished(refused(
        what,
        created.add_rule(PathBeneath::new(everywhere, AccessFs::Refer)),
    )?)
}

/// Returns true if Landlock can refuse TCP connections.
pub fn knows_tcp() -> bool {
    abi().is_some_and(|abi| abi >= TCP_ABI)
}

/// Builds a ruleset that only refuses TCP connections. `None` if the version cannot do so. A
/// process in another domain passes `everywhere`: a ruleset without file rights would refuse its
/// moves between directories.
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

/// Returns the rights that a ruleset handles. The kernel checks a domain at an open only if it
/// handles one of the file's rights. Truncation counts, since the descriptor may be used for it
/// later.
fn handled(options: Options, version: ABI) -> BitFlags<AccessFs> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Truncate;
    if options.reading {
        AccessFs::from_all(version)
    } else {
        AccessFs::from_all(version) & !reading
    }
}

/// Converts a right to Landlock's access flags.
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

/// Extracts the descriptor: the crate has none if the kernel lacks Landlock.
fn finished(created: RulesetCreated) -> Result<Ruleset, Error> {
    Option::<OwnedFd>::from(created)
        .map(Ruleset)
        .ok_or(Error::Empty)
}

/// Returns the world-readable entries of a directory (`/etc`): world-readable files, and
/// directories that contain nothing else at any depth. Of other directories it returns the entries
/// that qualify.
///
/// Only modes decide, so root and other users get the same: Landlock grants whole directories and
/// cannot exclude `/etc/shadow`. Symlinks are skipped and do not disqualify their directory: their
/// targets are granted, or not, by their own path. The walk of a huge directory is truncated.
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

/// Returns `path` if everything at and below it is world-readable, otherwise its world-readable
/// entries, like [`public_entries`].
pub fn public_parts(path: &Path) -> Vec<PathBuf> {
    let (mut found, mut visits) = (Vec::new(), MAX_PUBLIC_VISITS);
    public(path, &mut visits, &mut found);
    found.truncate(MAX_PUBLIC_ENTRIES);
    found
}

/// Adds the world-readable entries at and below `path`. Returns true if that was everything.
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
    // The directory entry itself tells symlinks apart, and most entries of /etc are symlinks.
    entries
        .map(|entry| {
            let entry = entry.ok()?;
            Some((entry.path(), entry.file_type().ok()?.is_symlink()))
        })
        .collect()
}

#[cfg(test)]
mod tests;
