//! Errors of the journal, with hints.

use std::io;
use std::path::PathBuf;

use replay_base::budget::Exhausted;
use replay_base::limits::JOURNAL_DEPTH;
use rustix::io::Errno;

use super::autorun_change::{Outside, list};

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
    #[error("{}: did not get its name back", path.display())]
    Missing { path: PathBuf },
    #[error("{}: nothing was undone: `{}` is protected, and no undo by an agent changes that", path.display(), protected.display())]
    Protected { path: PathBuf, protected: PathBuf },
    /// An undo by the operator would put content of a call at a protected path.
    #[error(
        "{}: nothing was undone: a call made what would come there, and `{}` is protected; leave it out (--except {})",
        path.display(),
        protected.display(),
        path.display()
    )]
    MadeByCall { path: PathBuf, protected: PathBuf },
    /// The change was refused, because it would change an autorun file.
    #[error("it would change what runs outside the walls: {}", list(changed))]
    Frozen { changed: Vec<Outside> },
    /// The entry of an undo could not be made.
    #[error("{source}; nothing was undone; {}, then undo again", remedy(source))]
    NotBegun { source: Box<JournalError> },
    /// A step of an undo failed, and the steps before it were rolled back.
    #[error(
        "{source}; the undo was rolled back, and the files are as they were before it; {}, then undo again",
        remedy(source)
    )]
    RolledBack { source: Box<JournalError> },
    #[error(
        "{source}; the undo stopped half way and could not be rolled back ({back}); {}, then restart the server, which finishes the \
         rollback (`replay changes undo` does so, too)",
        remedy(source)
    )]
    HalfDone {
        source: Box<JournalError>,
        /// Reason why the rollback failed.
        back: Box<JournalError>,
    },
    /// The undo is complete, but its log is not.
    #[error(
        "{source}; the files are undone, but that could not be recorded; {}, then restart the server, which rolls the undo back \
         (`replay changes undo` does so, too)",
        remedy(source)
    )]
    Unrecorded { source: Box<JournalError> },
    /// An exception that lies in a directory which the undo would remove.
    #[error(
        "{}: it lies in `{}`, which the call made and which goes whole; leave that directory out, or name what is to be removed in it",
        path.display(),
        made.display()
    )]
    InsideMade { path: PathBuf, made: PathBuf },
    /// The process that made the entry has ended, and no server has repaired the entry yet.
    #[error(
        "call {number} was interrupted; restart the server, or run `replay changes undo`, which both repair it first"
    )]
    Interrupted { number: u64 },
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
            Self::HalfDone { source, .. }
            | Self::NotBegun { source }
            | Self::RolledBack { source }
            | Self::Unrecorded { source } => source.errno(),
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

/// Returns the next step after a failed undo.
fn remedy(source: &JournalError) -> &'static str {
    match source.errno().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC) => "the disk is full: free space on it",
        Some(Errno::DQUOT) => "the disk quota is used up: free space",
        _ => "fix the cause",
    }
}
