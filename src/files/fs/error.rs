//! Errors of file operations, with the path as the agent spelled it.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use replay_base::budget::Exhausted;
use replay_base::limits::{MAX_GITIGNORE_BYTES, MAX_GITIGNORE_RULES};
use rustix::io::Errno;

use crate::journal::JournalError;
use crate::policy::{Cause, FileKind, Misplaced, Quoted, way_past};

/// Reason why a file operation failed. Unless a variant says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The path does not exist.
    #[error("{} does not exist", Quoted(.path))]
    NotFound {
        /// Absolute path.
        path: PathBuf,
    },
    /// The file has more bytes than the caller accepts.
    #[error("{} has {bytes} bytes, and at most {cap} can be read at once", Quoted(.path))]
    TooLarge {
        /// Absolute path.
        path: PathBuf,
        /// Size, or the number of bytes read from a growing file.
        bytes: u64,
        /// Largest size allowed.
        cap: u64,
    },
    /// There is not enough memory for the content.
    #[error("{} is too large for the memory that is free now: {source}", Quoted(.path))]
    Memory {
        /// Absolute path.
        path: PathBuf,
        source: Exhausted,
    },
    /// The rules would take too much memory and time.
    #[error(
        "{} has more than {MAX_GITIGNORE_RULES} rules or {MAX_GITIGNORE_BYTES} bytes, so nothing \
         was searched",
        Quoted(.path)
    )]
    TooManyRules {
        /// Absolute path of the `.gitignore`.
        path: PathBuf,
    },
    /// A directory instead of a file.
    #[error("{} is a directory, not a file", Quoted(.path))]
    IsDirectory {
        /// Absolute path.
        path: PathBuf,
    },
    /// A file instead of a directory.
    #[error("{} is not a directory, or its path goes through a file", Quoted(.path))]
    NotADirectory {
        /// Absolute path.
        path: PathBuf,
    },
    /// A FIFO, a socket, a device, or a link that appeared meanwhile.
    #[error("{} is a {kind}, not a regular file", Quoted(.path))]
    Special {
        /// Absolute path.
        path: PathBuf,
        kind: FileKind,
    },
    /// The operating system denied permission.
    #[error("cannot {doing} {}: the operating system refused permission", Quoted(.path))]
    AccessDenied {
        /// Absolute path.
        path: PathBuf,
        doing: &'static str,
    },
    /// A replacement needs a temporary file in the directory of the target.
    #[error("{} was not written: no file can be created in its directory, so it cannot be \
        replaced safely", Quoted(.path))]
    DirectoryNotWritable {
        /// Absolute path.
        path: PathBuf,
    },
    /// The replacement would have lost an attribute of the old file.
    #[error("{} was not written: its {what} would be lost ({source})", Quoted(.path))]
    CannotKeep {
        /// Absolute path.
        path: PathBuf,
        /// Owner, or the name of an extended attribute.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The disk is full or the quota is used up.
    #[error("cannot {doing} {}: {source}; nothing was changed", Quoted(.path))]
    NoSpace {
        /// Absolute path.
        path: PathBuf,
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The previous state cannot be saved, so the change could not be undone.
    #[error("{} was not changed, since the change could not be undone later: {source}", Quoted(.path))]
    NotKept {
        /// Absolute path.
        path: PathBuf,
        source: JournalError,
    },
    /// Programs outside the sandbox run this file, and the operator freezes such files.
    #[error("{} was not changed: {source} (--freeze-autorun)", Quoted(.path))]
    Frozen {
        /// Absolute path.
        path: PathBuf,
        source: JournalError,
    },
    /// The destination exists.
    #[error("{} already exists; nothing was overwritten", Quoted(.path))]
    AlreadyExists {
        /// Absolute path.
        path: PathBuf,
    },
    /// The directory is not empty, and the delete is not recursive.
    #[error("{} is a directory that is not empty", Quoted(.path))]
    NotEmpty {
        /// Absolute path.
        path: PathBuf,
    },
    /// The file is not the version that was read.
    #[error("{} was changed by another process meanwhile; it was not written", Quoted(.path))]
    Changed {
        /// Absolute path.
        path: PathBuf,
    },
    /// Another program keeps its lock on the directory.
    #[error("{} was not changed: another program holds a lock on its directory (flock)", Quoted(.path))]
    Locked {
        /// Absolute path of the file.
        path: PathBuf,
    },
    /// Without a lock, two servers could overwrite each other's changes.
    #[error("{} was not written: its directory cannot be locked against other servers ({source})", Quoted(.path))]
    CannotLock {
        /// Absolute path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The writes of the other program would go to an unlinked file.
    #[error("{} was not written: another program has it open for writing", Quoted(.path))]
    OpenForWriting {
        /// Absolute path.
        path: PathBuf,
    },
    /// Others changed the file faster than its name could be given back.
    #[error("{} was changed by other programs at the same time; one version could not be renamed \
        back and is now `{}`",
        Quoted(.path), .at.display())]
    KeptAside {
        /// Absolute path.
        path: PathBuf,
        /// Path of the version.
        at: PathBuf,
    },
    /// One of several files to be changed together could not be restored.
    #[error("{} was changed by another program before its edit could be rolled back (reason of \
        the rollback: {source})",
        Quoted(.path))]
    NotTakenBack {
        /// Absolute path.
        path: PathBuf,
        /// Reason why not all files could be changed.
        source: Box<FsError>,
    },
    /// A directory cannot be moved to another filesystem.
    #[error("{} cannot be moved to {}: a {kind} cannot be moved to another filesystem", Quoted(.path), Quoted(.to))]
    OtherFilesystem {
        /// Absolute path of the source.
        path: PathBuf,
        /// Absolute path of the destination.
        to: PathBuf,
        /// File type of the source.
        kind: FileKind,
    },
    /// The destination lies below the source.
    #[error("{} cannot be moved into itself", Quoted(.path))]
    IntoItself {
        /// Absolute path.
        path: PathBuf,
    },
    /// A recursive delete met an allowed directory, or a move would create a protected path.
    #[error("{} is, contains or would become a protected path: `{}`", Quoted(.path), .protected.display())]
    Protected {
        /// Absolute path.
        path: PathBuf,
        /// Protected path.
        protected: PathBuf,
        why: Cause,
    },
    /// The directories are nested too deep.
    #[error("{} has directories nested more than {max} deep", Quoted(.path))]
    TooDeep {
        /// Absolute path.
        path: PathBuf,
        /// Deepest nesting allowed.
        max: usize,
    },
    /// The call was cancelled. Entries that a recursive delete has removed stay removed.
    #[error("stopped before {} was finished", Quoted(.path))]
    Cancelled {
        /// Absolute path.
        path: PathBuf,
    },
    /// A recursive delete stopped half way.
    #[error("{removed} entries below {} were deleted before the error: {source}", Quoted(.path))]
    Partly {
        /// Absolute path.
        path: PathBuf,
        /// Number of removed entries.
        removed: u64,
        source: Box<FsError>,
    },
    #[error("cannot {doing} {}: {source}", Quoted(.path))]
    Io {
        /// Absolute path.
        path: PathBuf,
        doing: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

impl FsError {
    /// Returns a hint, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::Protected { protected, why, .. } => {
                return Some(way_past(protected, *why).into());
            }
            Self::NotFound { .. } => "list the parent directory to see what is there",
            Self::Memory { source, .. } => source.hint(),
            Self::TooManyRules { .. } => {
                "set `ignored: true`, and exclude files with `excludeGlobs`"
            }
            Self::TooLarge { .. } => "read a range of its lines instead",
            Self::AlreadyExists { .. } => "choose another name, or delete what is there first",
            Self::NotKept { .. } => {
                "make room on that disk, or ask the operator for less --undo-mib, --undo-full drop or --undo off; then repeat the call"
            }
            Self::Frozen { .. } => {
                "go on without this change; only the operator can allow it, by a start without \
                 --freeze-autorun"
            }
            Self::NotEmpty { .. } => "delete the entries of the directory first",
            Self::Changed { .. } => "read the file again, then repeat the change",
            Self::Locked { .. } => {
                "end the program that holds the lock (`lslocks` names it), or wait for it; then repeat the call"
            }
            Self::CannotLock { .. } => "make the directory readable, or write the whole file",
            Self::OpenForWriting { .. } => {
                "wait for the program, or end it (`fuser -v FILE` names it), then read the file again and repeat the change"
            }
            Self::KeptAside { .. } => "compare the two files, then move or delete the second",
            Self::NotTakenBack { .. } => "read the file before you repeat the call",
            Self::OtherFilesystem { .. } => "move its files one by one, or use a command",
            Self::Partly { source, .. } => return source.hint(),
            _ => return None,
        }))
    }

    /// Makes the path of a file below `dir` absolute.
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

    /// Returns the error for `errno` from an attempt to `doing` the file shown as `path`.
    pub(super) fn of(path: &Path, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_path_buf();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::ISDIR => Self::IsDirectory { path },
            Errno::EXIST => Self::AlreadyExists { path },
            Errno::NOTEMPTY => Self::NotEmpty { path },
            // Opened without following links, so this is a link.
            Errno::LOOP => Self::Special {
                path,
                kind: FileKind::Symlink,
            },
            Errno::NXIO | Errno::NODEV => Self::Special {
                path,
                kind: FileKind::Socket,
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

    /// Returns the error for an error of the journal about the file shown as `path`.
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

    /// Returns the error for an I/O error, like [`Self::of`].
    pub(super) fn of_io(path: &Path, doing: &'static str, error: &io::Error) -> Self {
        Self::of(
            path,
            doing,
            Errno::from_io_error(error).unwrap_or(Errno::IO),
        )
    }
}
