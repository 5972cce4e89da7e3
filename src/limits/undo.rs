//! Of undo.

/// `--undo-mib` where nothing is said.
pub const DEFAULT_UNDO_MIB: u64 = 2048;
/// `--undo-days` where nothing is said.
pub const DEFAULT_UNDO_DAYS: u64 = 14;
/// The oldest entries are looked for after so many seconds, and when new ones have kept one part in so many of `--undo-mib`.
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
/// What is read of the file that says of which directories a store is, in bytes.
pub const MAX_STORE_ROOTS_BYTES: u64 = 1024 * 1024;
