//! Limits of the audit log and of the list of recent calls.

/// Paths that are named of one call; further ones are counted.
pub const MAX_TOUCHED_PATHS: usize = 64;
/// Longest string among the arguments of a call that is kept as it is, in bytes; of a longer one
/// its hash and length are.
pub const MAX_KEPT_ARGUMENT_BYTES: usize = 1024;
/// Length of the excerpt of a longer argument, in bytes.
pub const ARGUMENT_EXCERPT_BYTES: usize = 4096;
/// Largest size of a call's arguments as JSON without long strings, in bytes. Of larger ones the
/// hash and length are kept.
pub const MAX_KEPT_ARGUMENTS_BYTES: usize = 32 * 1024;
/// Longest name of a tool that is kept, in bytes: names that clients make up must not fill a log.
pub const MAX_KEPT_NAME_BYTES: usize = 128;
/// Longest path that is kept as it is, in bytes as it is shown; of a longer one its hash and length
/// are.
pub const MAX_AUDIT_PATH_BYTES: usize = 1024;
/// Largest size of a call's failure message that is kept, in bytes.
pub const MAX_AUDIT_REASON_BYTES: usize = 256;
/// Longest line of an audit log, in bytes: [`MAX_TOUCHED_PATHS`] of that length, each with where it
/// leads, and the arguments.
pub const MAX_AUDIT_LINE_BYTES: usize = 1024 * 1024;
/// Allowed directories that the line about a start names; further ones are counted.
pub const MAX_AUDIT_GRANTS: usize = 128;
/// Largest file with the key of an audit log, in bytes.
pub const MAX_AUDIT_KEY_BYTES: u64 = 4096;
/// Shortest key of an audit log, in bytes.
pub const MIN_AUDIT_KEY_BYTES: usize = 16;
/// Calls without an end that are kept in mind while a log is read; no server has so many at once.
pub const MAX_AUDIT_UNENDED: usize = 65_536;
/// Most lines that `replay audit show --last` takes.
pub const MAX_AUDIT_LAST: u64 = 10_000;
