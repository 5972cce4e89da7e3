//! Of what is kept of calls for those who look on, and of the audit log.

/// Paths that are named of one call; further ones are counted.
pub const MAX_TOUCHED_PATHS: usize = 64;
/// Longest string among the arguments of a call that is kept as it is, in bytes; of a longer one its hash and length are.
pub const MAX_KEPT_ARGUMENT_BYTES: usize = 1024;
/// What is shown of a longer one to those who want an excerpt, in bytes.
pub const ARGUMENT_EXCERPT_BYTES: usize = 4096;
/// What the arguments of a call may come to as JSON when long strings are out, in bytes; of more the hash and length are kept.
pub const MAX_KEPT_ARGUMENTS_BYTES: usize = 32 * 1024;
/// Longest name of a tool that is kept, in bytes: names that clients make up must not fill a log.
pub const MAX_KEPT_NAME_BYTES: usize = 128;
