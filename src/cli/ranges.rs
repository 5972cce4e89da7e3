//! Ranges of numeric settings, each declared once.

use replay_base::limits;

/// Range of a number on the command line and in the profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub min: u64,
    pub max: u64,
}

impl Range {
    pub(super) fn parser(self) -> clap::builder::RangedU64ValueParser {
        clap::value_parser!(u64).range(self.min..=self.max)
    }
}

/// A shell with a pipeline needs a few. The maximum is `PID_MAX_LIMIT` of proc(5).
pub(crate) const PROCESSES: Range = Range {
    min: 8,
    max: 4_194_304,
};
/// Less than a page is of no use.
pub(crate) const FILE_BYTES: Range = Range {
    min: 4096,
    max: MAX_BYTES,
};
/// At most one day.
pub(crate) const CPU_SECS: Range = Range {
    min: 1,
    max: 86_400,
};
/// A shell and its tools need some.
pub(crate) const MEMORY_BYTES: Range = Range {
    min: 16 * 1024 * 1024,
    max: MAX_BYTES,
};
/// The maximum is the kernel's default limit (`fs.nr_open`, proc(5)).
pub(crate) const OPEN_FILES: Range = Range {
    min: 32,
    max: 1_048_576,
};
/// Number of concurrent commands.
pub(crate) const COMMANDS: Range = Range { min: 1, max: 1024 };
/// Bytes of buffered output.
pub(crate) const OUTPUT_BYTES: Range = Range {
    min: 1024,
    max: 1 << 30,
};
/// At most one TiB.
pub(crate) const MEMORY_MIB: Range = Range {
    min: limits::MIN_MEMORY_MIB,
    max: 1024 * 1024,
};
/// At most one TiB.
pub(crate) const SEARCH_MEMORY_MIB: Range = Range {
    min: 0,
    max: 1024 * 1024,
};
/// At most one GiB of text.
pub(crate) const REPLY_TOKENS: Range = Range {
    min: 0,
    max: (1 << 30) / limits::BYTES_PER_TOKEN as u64,
};
/// At most 30 days.
pub(crate) const IDLE_SECS: Range = Range {
    min: 1,
    max: 30 * 86_400,
};
/// At most one day.
pub(crate) const TIMEOUT_SECS: Range = Range {
    min: 1,
    max: 86_400,
};
/// At most one TiB.
pub(crate) const UNDO_MIB: Range = Range {
    min: 1,
    max: 1024 * 1024,
};
/// At most one TiB.
pub(crate) const CACHE_MIB: Range = Range {
    min: 1,
    max: 1024 * 1024,
};
/// At most ten years.
pub(crate) const UNDO_DAYS: Range = Range { min: 1, max: 3650 };
/// One PiB; a larger number is a typing error.
const MAX_BYTES: u64 = 1 << 50;
