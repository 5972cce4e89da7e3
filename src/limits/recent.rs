//! Of the calls that are remembered for whoever looks on.

/// Calls of one tenant that are remembered after they have ended.
pub const MAX_RECENT_CALLS: usize = 500;
/// Largest size of them together, in bytes; the oldest are dropped first.
pub const MAX_RECENT_BYTES: usize = 8 * 1024 * 1024;
/// Calls of one tenant that are remembered while they run, within as many bytes again; of more,
/// only the end is.
pub const MAX_RECENT_RUNNING: usize = 2048;
/// Longest part of a string argument that is remembered, in bytes.
pub const RECENT_STRING_BYTES: usize = 4 * 1024;
/// Parameters of a call up to this length are remembered as they were read, and written only when
/// somebody asks, in bytes.
pub const RECENT_UNWRITTEN_BYTES: u64 = 512;
/// Largest size of a call's arguments that is remembered, as JSON, in bytes.
pub const RECENT_ARGUMENTS_BYTES: usize = 16 * 1024;
/// Longest part of a reply's text that is remembered, in bytes: three quarters from its beginning,
/// the rest from its end.
pub const RECENT_TEXT_BYTES: usize = 16 * 1024;
/// Length of the one argument that stands for a call in a list, in bytes.
pub const RECENT_SUBJECT_BYTES: usize = 256;
/// Paths of a call that a list shows; all are shown of the call alone.
pub const RECENT_LISTED_PATHS: usize = 8;
/// Time between two reports of one call's progress that are passed on, in milliseconds.
pub const RECENT_PROGRESS_MS: u64 = 500;
/// Calls in one page of those that have ended, unless fewer are asked for.
pub const MAX_RECENT_PAGE: usize = 500;
/// Largest size of such a page with more than one call, in bytes.
pub const MAX_RECENT_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Followers of calls at the same time, for one tenant.
pub const MAX_RECENT_FOLLOWERS: usize = 32;
