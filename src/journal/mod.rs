//! The journal: what was there before a call changed it, so that the call can be undone.
//!
//! [`Recorder`] is told of a change before it is made, and keeps what would be lost: a hard link of
//! what loses its name, a copy (blocks are shared where the filesystem can) of what is about to
//! change in place, the size alone of what only grows. It notes all in the log of an entry of the
//! [`Store`]. After kill -9 at any moment the entry says what was.
//!
//! Everything is about objects (device, inode number, time of birth) and names in directories,
//! never about paths: so renames of directories cost nothing, and undoing is a matter of two
//! graphs, that of the names when the entry began and that of the names now. Whatever stands under
//! a changed name is taken away into the store, from the leaves to the roots; then what stood there
//! is put back, from the roots to the leaves; contents, metadata and times follow on the way up.
//! The undo tells a recorder of its own what it does, so it is an entry and can be undone, and so
//! is one that was interrupted.
//!
//! What an entry changed of what programs outside the walls run (`sinks`) is found when it ends,
//! from what the entry knows: `sinks`, `settled`.
//!
//! What somebody else changed after the entry is a conflict, and the undo is refused whole.
//! Versions are told apart by ctime, which nobody can set. Two changes within one tick of the
//! filesystem's clock are told apart only where the kernel stamps them apart (Linux 6.13).

mod appended;
mod autorun;
mod autorun_change;
mod autorun_report;
mod bounds;
mod bytes;
mod call;
mod conflict;
mod entry;
mod error;
mod keeping;
mod listing;
mod log;
mod memory;
mod object;
mod ownership;
mod reading;
mod recorder;
mod recovery;
mod restore;
mod restore_across_mounts;
mod root;
mod same;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod undo;
mod unit_kind;
mod units;
mod versions;

pub use autorun_change::Outside;
pub use autorun_report::Settled;
pub use bounds::Bounds;
pub use bytes::Bytes;
pub use call::{ByCommands, Changes, Ended, Journal};
pub use conflict::Conflict;
pub use entry::{Change, Entry, Place};
pub use error::JournalError;
pub use keeping::{SKIPPED, Skips, WhenFull};
pub use object::{Id, Stat, stat};
pub use recorder::{At, Recorder, Writing};
pub use root::Root;
pub use store::{Changer, ConfiguredHooks, Misplaced, STORES, Store};
pub use undo::{Options, Outcome};
pub use versions::{Version, Versions};
