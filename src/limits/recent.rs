//! Of the calls that are remembered for whoever looks on.

/// Calls of one tenant that are remembered after they have ended.
pub const MAX_RECENT_CALLS: usize = 500;
/// What those may come to, in bytes; the oldest are forgotten first.
pub const MAX_RECENT_BYTES: usize = 8 * 1024 * 1024;
/// Calls of one tenant that are remembered while they run, within as many bytes again; of more,
/// only the end is.
pub const MAX_RECENT_RUNNING: usize = 2048;
/// What is remembered of one string among the arguments of a call, in bytes.
pub const RECENT_STRING_BYTES: usize = 4 * 1024;
/// Parameters of a call up to this length are remembered as they were read, and written only when
/// somebody asks, in bytes.
pub const RECENT_UNWRITTEN_BYTES: u64 = 512;
/// What is remembered of all arguments of a call as JSON, in bytes.
pub const RECENT_ARGUMENTS_BYTES: usize = 16 * 1024;
/// What is remembered of the text of a reply, in bytes: three quarters are its beginning, the rest
/// is its end.
pub const RECENT_TEXT_BYTES: usize = 16 * 1024;
/// Length of the one argument that stands for a call in a list, in bytes.
pub const RECENT_SUBJECT_BYTES: usize = 256;
/// Paths of a call that a list shows; all are shown of the call alone.
pub const RECENT_LISTED_PATHS: usize = 8;
/// Time between two reports of one call's progress that are passed on, in milliseconds.
pub const RECENT_PROGRESS_MS: u64 = 500;
/// Calls in one page of those that have ended, unless fewer are asked for.
pub const MAX_RECENT_PAGE: usize = 500;
/// What such a page may come to, in bytes, if it has more than one call.
pub const MAX_RECENT_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Followers of calls at the same time, for one tenant.
pub const MAX_RECENT_FOLLOWERS: usize = 32;
