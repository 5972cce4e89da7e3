//! What can go wrong on the disk, said with the path as the agent spelt it.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::budget::Exhausted;
use crate::journal::JournalError;
use crate::limits::{MAX_GITIGNORE_BYTES, MAX_GITIGNORE_RULES};
use crate::policy::{Cause, Kind, Misplaced, Quoted, way_past};

/// Why a file operation failed. Unless a variant says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// Nothing there (any more).
    #[error("{} does not exist", Quoted(.path))]
    NotFound {
        /// The absolute path.
        path: PathBuf,
    },
    /// More bytes than the caller wants.
    #[error("{} has {bytes} bytes, and at most {cap} can be read at once", Quoted(.path))]
    TooLarge {
        /// The absolute path.
        path: PathBuf,
        /// Its size, or how much of it was seen when it grew.
        bytes: u64,
        /// The largest size allowed.
        cap: u64,
    },
    /// There is not enough memory to hold it.
    #[error("{} cannot be held: {source}", Quoted(.path))]
    Memory {
        /// The absolute path.
        path: PathBuf,
        source: Exhausted,
    },
    /// Rules that would take too much memory and time.
    #[error(
        "{} is not obeyed, and nothing was searched: it has more than {MAX_GITIGNORE_RULES} rules or {MAX_GITIGNORE_BYTES} bytes",
        Quoted(.path)
    )]
    TooManyRules {
        /// The absolute path of the `.gitignore`.
        path: PathBuf,
    },
    /// A file was wanted.
    #[error("{} is a directory, not a file", Quoted(.path))]
    IsDirectory {
        /// The absolute path.
        path: PathBuf,
    },
    /// A directory was wanted.
    #[error("{} is not a directory, or goes through something that is not", Quoted(.path))]
    NotADirectory {
        /// The absolute path.
        path: PathBuf,
    },
    /// A named pipe, a socket, a device, or a link that appeared meanwhile.
    #[error("{} is a {kind}, not a regular file", Quoted(.path))]
    Special {
        /// The absolute path.
        path: PathBuf,
        kind: Kind,
    },
    /// The permissions of the operating system.
    #[error("cannot {doing} {}: the operating system refused permission", Quoted(.path))]
    AccessDenied {
        /// The absolute path.
        path: PathBuf,
        doing: &'static str,
    },
    /// A replacement needs a file beside the target.
    #[error("{} was not written: its directory cannot be written to, so it cannot be replaced safely", Quoted(.path))]
    DirectoryNotWritable {
        /// The absolute path.
        path: PathBuf,
    },
    /// The replacement would have lost something that the old file has.
    #[error("{} was not written: its {what} cannot be kept ({source})", Quoted(.path))]
    CannotKeep {
        /// The absolute path.
        path: PathBuf,
        /// Owner, or the name of an extended attribute.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Disk full or quota used up.
    #[error("cannot {doing} {}: {source}; nothing was changed", Quoted(.path))]
    NoSpace {
        /// The absolute path.
        path: PathBuf,
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// What was there cannot be kept, so that the change could not be undone.
    #[error("{} was left as it is, since the change could not be undone: {source}", Quoted(.path))]
    NotKept {
        /// The absolute path.
        path: PathBuf,
        source: JournalError,
    },
    /// Programs outside run what is there, and the operator keeps that as it is.
    #[error("{} was left as it is: {source} (--freeze-sinks)", Quoted(.path))]
    Frozen {
        /// The absolute path.
        path: PathBuf,
        source: JournalError,
    },
    /// The destination is taken.
    #[error("{} already exists; nothing was overwritten", Quoted(.path))]
    AlreadyExists {
        /// The absolute path.
        path: PathBuf,
    },
    /// A directory with something in it, and no leave to delete that too.
    #[error("{} is a directory that is not empty", Quoted(.path))]
    NotEmpty {
        /// The absolute path.
        path: PathBuf,
    },
    /// Not the file any more that was read.
    #[error("{} was changed by another process meanwhile; it was not written", Quoted(.path))]
    Changed {
        /// The absolute path.
        path: PathBuf,
    },
    /// A program that does not let go of the directory.
    #[error("{} was left as it is: another program holds a lock on its directory (flock)", Quoted(.path))]
    Locked {
        /// The absolute path of the file.
        path: PathBuf,
    },
    /// Two servers that cannot lock each other out could lose each other's changes.
    #[error("{} was not written: its directory cannot be locked against other servers ({source})", Quoted(.path))]
    CannotLock {
        /// The absolute path of the file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What it writes would go to a file that has no name any more.
    #[error("{} was not written: another program has it open for writing", Quoted(.path))]
    OpenForWriting {
        /// The absolute path.
        path: PathBuf,
    },
    /// Others changed it faster than it could be given back.
    #[error("{} was changed by other programs meanwhile, and one version could not get its name back: it is `{}`",
        Quoted(.path), .at.display())]
    KeptAside {
        /// The absolute path.
        path: PathBuf,
        /// Where the version lies.
        at: PathBuf,
    },
    /// One of several files that were to be changed together.
    #[error("{} was changed by another program before its edit could be taken back, which was to be done because: {source}",
        Quoted(.path))]
    NotTakenBack {
        /// The absolute path.
        path: PathBuf,
        /// Why not all files could be changed.
        source: Box<FsError>,
    },
    /// A directory to another filesystem.
    #[error("{} cannot be moved to {}: a {kind} cannot be moved to another filesystem", Quoted(.path), Quoted(.to))]
    OtherFilesystem {
        /// The absolute path of the source.
        path: PathBuf,
        /// The absolute path of the destination.
        to: PathBuf,
        /// What the source is.
        kind: Kind,
    },
    /// A directory below itself.
    #[error("{} cannot be moved into itself", Quoted(.path))]
    IntoItself {
        /// The absolute path.
        path: PathBuf,
    },
    /// A recursive delete met an allowed directory, or a move would bring a protected path about.
    #[error("{} holds or would become something protected: `{}`", Quoted(.path), .protected.display())]
    Protected {
        /// The absolute path.
        path: PathBuf,
        /// What is in the way.
        protected: PathBuf,
        why: Cause,
    },
    /// Directories nested too deep.
    #[error("{} has directories nested more than {max} deep", Quoted(.path))]
    TooDeep {
        /// The absolute path.
        path: PathBuf,
        /// The deepest nesting allowed.
        max: usize,
    },
    /// The caller asked to stop. What a recursive delete has removed by then stays removed.
    #[error("stopped before {} was finished", Quoted(.path))]
    Cancelled {
        /// The absolute path.
        path: PathBuf,
    },
    /// A recursive delete stopped half-way.
    #[error("{removed} entries below {} were deleted before this: {source}", Quoted(.path))]
    Partly {
        /// The absolute path.
        path: PathBuf,
        /// How many entries are gone.
        removed: u64,
        source: Box<FsError>,
    },
    #[error("cannot {doing} {}: {source}", Quoted(.path))]
    Io {
        /// The absolute path.
        path: PathBuf,
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl FsError {
    /// What to do next, if there is something better to say than the message.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::Protected { protected, why, .. } => {
                return Some(way_past(protected, *why).into());
            }
            Self::NotFound { .. } => "list the parent directory to see what is there",
            Self::Memory { source, .. } => source.hint(),
            Self::TooManyRules { .. } => {
                "leave out `respectGitignore`, and name what to leave out in `excludeGlobs`"
            }
            Self::TooLarge { .. } => "read a range of its lines instead",
            Self::AlreadyExists { .. } => "choose another name, or delete what is there first",
            Self::NotKept { .. } => {
                "make room on that disk, or ask the operator for less --undo-mib, --undo-full drop or --undo off; then repeat the call"
            }
            Self::Frozen { .. } => {
                "go on without it; only the operator can allow it, by a start without --freeze-sinks"
            }
            Self::NotEmpty { .. } => "ask for a recursive delete if everything in it should go",
            Self::Changed { .. } => "read it again, then repeat the change",
            Self::Locked { .. } => {
                "end the program that holds the lock (`lslocks` names it), or wait for it; then repeat the call"
            }
            Self::CannotLock { .. } => "make the directory readable, or write the whole file",
            Self::OpenForWriting { .. } => {
                "wait for the program, or end it (`fuser -v FILE` names it), then read the file again and repeat the change"
            }
            Self::KeptAside { .. } => "compare the two files, then move or delete the second",
            Self::NotTakenBack { .. } => "read it before you repeat the call",
            Self::OtherFilesystem { .. } => "move its files one by one, or use a command",
            Self::Partly { source, .. } => return source.hint(),
            _ => return None,
        }))
    }

    /// The same for a file that was named by its path below a directory.
    pub(super) fn below(self, dir: &Path) -> Self {
        match self {
            Self::TooManyRules { path } => Self::TooManyRules {
                path: dir.join(path),
            },
            Self::Memory { path, source } => Self::Memory {
                path: dir.join(path),
                source,
            },
            error => error,
        }
    }

    /// The error for `errno`, met while trying to `doing` the file shown as `path`.
    pub(super) fn of(path: &Path, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_path_buf();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::ISDIR => Self::IsDirectory { path },
            Errno::EXIST => Self::AlreadyExists { path },
            Errno::NOTEMPTY => Self::NotEmpty { path },
            // Opened without following: a link is there now.
            Errno::LOOP => Self::Special {
                path,
                kind: Kind::Symlink,
            },
            Errno::NXIO | Errno::NODEV => Self::Special {
                path,
                kind: Kind::Socket,
            },
            Errno::ACCESS | Errno::PERM => Self::AccessDenied { path, doing },
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace {
                path,
                doing,
                source: errno.into(),
            },
            errno => Self::Io {
                path,
                doing,
                source: errno.into(),
            },
        }
    }

    /// Returns the error for a name that is refused in the current place of its directory.
    pub(super) fn of_place(path: &Path, misplaced: Misplaced) -> Self {
        match misplaced {
            Misplaced::Protected { protected, why } => Self::Protected {
                path: path.into(),
                protected,
                why,
            },
            Misplaced::Elsewhere => Self::Changed { path: path.into() },
            Misplaced::Unknown(errno) => Self::of(path, "find the place of", errno),
        }
    }

    /// The error for what the journal says of the file shown as `path`.
    pub(super) fn of_journal(path: &Path) -> impl FnOnce(JournalError) -> Self + use<'_> {
        move |error| match error {
            JournalError::Moved { .. } => Self::Changed { path: path.into() },
            source @ JournalError::Frozen { .. } => Self::Frozen {
                path: path.into(),
                source,
            },
            source => Self::NotKept {
                path: path.into(),
                source,
            },
        }
    }

    /// The same for an I/O error.
    pub(super) fn of_io(path: &Path, doing: &'static str, error: &io::Error) -> Self {
        Self::of(
            path,
            doing,
            Errno::from_io_error(error).unwrap_or(Errno::IO),
        )
    }
}
