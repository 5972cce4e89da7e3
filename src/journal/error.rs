//! Errors of the journal, with hints.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::autorun_change::{Outside, list};
use crate::budget::Exhausted;
use crate::limits::JOURNAL_DEPTH;

/// Stands for [`JournalError::Unwanted`] among errno values; the kernel never returns it for files.
pub(super) const UNWANTED: Errno = Errno::CANCELED;

/// Error of the store, of an entry, or of a place in the tree.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A system call failed; `what` names the operation.
    #[error("journal: {what}: {source}")]
    Io {
        /// Path and operation.
        what: String,
        source: io::Error,
    },
    #[error(
        "{}, line {line}: {why}; this log is damaged, and nothing was undone; a server that starts sets the store aside",
        path.display()
    )]
    Damaged {
        /// Path of the log, below the store.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        why: String,
    },
    #[error("{}: it is of version {version}, and this program reads version {reads}; use the program that wrote it", path.display())]
    Version {
        /// Path of a log.
        path: PathBuf,
        version: u64,
        reads: u32,
    },
    #[error("{}: not a journal's store for this user alone: got {got}, and it must be a directory of mode 0700 that belongs to user {user}; make it so, or name another", path.display())]
    Store {
        path: PathBuf,
        got: String,
        user: u32,
    },
    #[error("call {number} is not in the journal, which has {known}; list them first")]
    Unknown { number: u64, known: String },
    /// The caller has cancelled the undo.
    #[error("nobody wants it any more; nothing was undone")]
    Unwanted,
    /// The records of the call exceed its memory limit.
    #[error(transparent)]
    Memory(Exhausted),
    #[error(
        "what is noted of the changes of this command takes more memory than it may have, {most} bytes (--limit-memory-bytes); \
         change less in one command, or have the operator raise that"
    )]
    Full { most: u64 },
    #[error("call {number} is still at work; end it first, or undo others by their numbers")]
    Running { number: u64 },
    #[error("{}: is not where the directory is now; look it up again", path.display())]
    Moved { path: PathBuf },
    #[error("{}: nothing was undone: `{}` is protected, and no undo by an agent changes that", path.display(), protected.display())]
    Protected { path: PathBuf, protected: PathBuf },
    /// The change was refused, because it would change an autorun file.
    #[error("it would change what runs outside the walls: {}", list(changed))]
    Frozen { changed: Vec<Outside> },
    #[error(
        "{source}; what was undone until then could not be taken back ({back}): it is, once the cause is mended, when the server starts again"
    )]
    HalfDone {
        source: Box<JournalError>,
        /// Reason why the rollback failed.
        back: Box<JournalError>,
    },
    #[error("{}: lies more than {JOURNAL_DEPTH} directories deep, and nothing was undone: undo the rest by its paths", path.display())]
    TooDeep { path: PathBuf },
    #[error("{}: nothing tells when it was made (statx, STATX_BTIME), which the journal needs: allow directories in it, or turn undo off for this tree", path.display())]
    Birthless { path: PathBuf },
}

impl JournalError {
    /// Returns the errno(3) of the kernel, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            Self::HalfDone { source, .. } => source.errno(),
            Self::Full { .. } => Some(Errno::NOSPC.raw_os_error()),
            _ => None,
        }
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(Errno) -> Self {
        let what = what.into();
        move |errno| match errno {
            UNWANTED => Self::Unwanted,
            errno => Self::Io {
                what,
                source: errno.into(),
            },
        }
    }
}
