//! Limits of patterns and of their programs.

/// Longest pattern accepted, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// Most groups and lookarounds inside one another in a pattern.
pub(crate) const MAX_PATTERN_DEPTH: usize = 250;
/// Most ranges of one class that is made of halves of UTF-16 pairs. Also the most groups that the
/// references of a pattern may name together. A short pattern can mean a great many.
pub(crate) const MAX_PATTERN_PRODUCT: usize = 65_536;
/// Most rounds of a repetition that the linear engine is given exactly.
pub(crate) const MAX_EXACT_ROUNDS: u32 = 5000;
