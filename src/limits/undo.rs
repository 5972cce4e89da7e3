//! Of undo.

/// `--undo-mib` where nothing is said.
pub const DEFAULT_UNDO_MIB: u64 = 2048;
/// `--undo-days` where nothing is said.
pub const DEFAULT_UNDO_DAYS: u64 = 14;
/// After so many entries, or when they have kept so large a part of `--undo-mib`, the oldest are looked for.
pub const UNDO_ENTRIES_TO_A_SWEEP: u64 = 64;
pub const UNDO_SWEEP_SHARE: u64 = 16;
