//! Of undo.

/// Default of `--undo-mib`.
pub const DEFAULT_UNDO_MIB: u64 = 2048;
/// Default of `--undo-days`.
pub const DEFAULT_UNDO_DAYS: u64 = 14;
/// Interval of looking for the oldest entries, in seconds; also done after new entries have taken a
/// share of `--undo-mib`.
pub const UNDO_SWEEP_SECS: u64 = 3600;
pub const UNDO_SWEEP_SHARE: u64 = 16;
/// Calls that `list_changes` tells of at once.
pub const MAX_LISTED_CALLS: u64 = 100;
/// Largest file of which `list_changes` shows a difference, in bytes.
pub const MAX_SHOWN_FILE_BYTES: u64 = 1024 * 1024;
/// Text of the differences of one call that `list_changes` shows, in bytes.
pub const MAX_SHOWN_CHANGES_BYTES: usize = 64 * 1024;
/// Changed files that a reply names one by one.
pub const MAX_NAMED_CHANGES: usize = 100;
/// Changes that the text of an undo names; of more it says how many there are in each directory.
pub const MAX_UNDONE_LINES: usize = 20;
/// Most that a command may write while it only runs dry, in bytes, and how many files and
/// directories. It lies in memory.
pub const DRY_RUN_BYTES: u64 = 512 * 1024 * 1024;
pub const DRY_RUN_FILES: u64 = 100_000;
/// Time limit for finding the changes of a dry run, in milliseconds: less than
/// [`super::KILL_WAIT_MS`].
pub const DRY_RUN_LOOK_MS: u64 = 2000;
/// Piece in which contents are compared, in bytes.
pub const DRY_RUN_READ_BYTES: usize = 64 * 1024;
/// Names that are looked at for it, and how deep below a read-write directory.
pub const MAX_DRY_RUN_NAMES: usize = 200_000;
pub const MAX_DRY_RUN_LEVELS: usize = 128;
/// Contents that a supervisor tells of a dry run, in bytes.
pub const MAX_DRY_RUN_CONTENT_BYTES: u64 = 4 * MAX_SHOWN_FILE_BYTES;
/// All that it tells, in bytes: those and [`MAX_NAMED_CHANGES`] paths as JSON, each byte a number,
/// with the targets of links.
pub const MAX_DRY_RUN_REPORT_BYTES: u64 = MAX_DRY_RUN_CONTENT_BYTES + 8 * 1024 * 1024;
/// Largest size of the file that lists the directories of a store, in bytes.
pub const MAX_STORE_ROOTS_BYTES: u64 = 1024 * 1024;
