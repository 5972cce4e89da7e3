//! Journal: saves the state before each call's changes, so that the call can be undone.
//!
//! [`Recorder`] is called before each change and saves data that would be lost. It hard-links a
//! file that loses a name. It copies a file that changes in place; blocks are shared if the
//! filesystem supports it. Of a file that only grows it stores the size. All records go to the log
//! of an entry of the [`Store`]. The entry survives kill -9 at any moment.
//!
//! Records refer to objects (device, inode number, birth time) and names in directories, never to
//! paths. So renames of directories cost nothing, and an undo compares two graphs: the names at the
//! start of the entry and the names now. First, everything under a changed name is moved into the
//! store, from the leaves to the roots. Then the original objects are restored, from the roots to
//! the leaves; contents, metadata and times follow on the way up. The undo itself is recorded, so
//! it is an entry that can be undone, also after an interruption.
//!
//! When an entry ends, changes of autorun files are found: files that programs outside the sandbox run
//! (`autorun`, `autorun_report`).
//!
//! Later changes by others are conflicts, and the whole undo is refused. Versions are compared by
//! ctime, which no program can set. Two changes within one clock tick of the filesystem differ only
//! if the kernel gives them different timestamps (Linux 6.13).

mod appended;
mod autorun;
mod autorun_change;
mod autorun_report;
mod bounds;
mod bytes;
mod call;
mod conflict;
mod counting;
mod entry;
mod equivalences;
mod error;
mod exposed;
mod forgetting;
mod keeping;
mod listing;
mod log;
mod memory;
mod moved;
mod object;
mod origin;
mod ownership;
mod reading;
mod recorder;
mod recovery;
mod restore;
mod restore_across_mounts;
mod restore_protected;
mod root;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod undo;
mod unit_kind;
mod units;
mod versions;

pub use autorun_change::Outside;
pub use autorun_report::AutorunChanges;
pub use bounds::Bounds;
pub use bytes::Bytes;
pub use call::{ByCommands, Changes, Ended, Journal};
pub use conflict::Conflict;
pub use counting::EntryCounts;
pub use entry::{Change, Entry, RootedPath};
pub use error::JournalError;
pub use keeping::{SKIPPED, Skips, WhenFull};
pub use object::{Id, Stat, stat};
pub use recorder::{At, Recorder, Writing};
pub use root::Root;
pub use store::{Changer, ConfiguredHooks, Misplaced, STORES, Store};
pub use undo::{Options, Outcome};
pub use versions::{Version, Versions};
