//! Limits of the journal of changes.

/// Largest copy of content that is about to change in place, in bytes, where the filesystem cannot
/// share blocks.
pub const JOURNAL_COPY_BYTES: u64 = 256 * 1024 * 1024;
/// A line of a log that is longer than this was not written by us, in bytes.
pub const JOURNAL_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Directories below each other that are looked through; deeper ones are left alone, since each
/// costs a descriptor.
pub const JOURNAL_DEPTH: usize = 256;
/// Directories that the supervisor of a command keeps open to note changes in them; each costs a
/// descriptor.
pub const JOURNALED_DIRECTORIES: usize = 256;
/// Links at the end of a path that are followed one after another (`path_resolution(7)`).
pub const MAX_LINKS_FOLLOWED: usize = 40;
/// Length of a command's text in the title of its entry, in bytes.
pub const JOURNAL_TITLE_BYTES: usize = 200;
/// Largest file of programs outside that is compared, in bytes. A larger one counts as changed
/// whenever it was touched.
pub const MAX_AUTORUN_BYTES: u64 = 1024 * 1024;
/// Names in new directories that are looked at for it after a call.
pub const MAX_AUTORUN_NAMES: usize = 1_000_000;
