//! Of what this program tells others about itself, and asks them.

/// Spans that wait to be exported; those that come then are dropped and counted.
pub const MAX_WAITING_SPANS: usize = 2048;
/// Spans that are exported together.
pub const SPANS_PER_EXPORT: usize = 512;
/// How long a span waits for others to be exported with, in milliseconds.
pub const EXPORT_DELAY_MS: u64 = 5000;
/// How long one export may take unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise, in
/// milliseconds.
pub const EXPORT_TIMEOUT_MS: u64 = 10_000;
/// How often an export is tried before its spans are dropped.
pub const EXPORT_TRIES: u32 = 4;
/// Pause before an export is tried again, in milliseconds; doubled each time.
pub const EXPORT_PAUSE_MS: u64 = 1000;
/// Longest pause that a collector may ask for, in milliseconds.
pub const MAX_EXPORT_PAUSE_MS: u64 = 30_000;
/// How long the end of the server may be held up by spans that wait, in milliseconds.
pub const EXPORT_END_MS: u64 = 2000;
/// Longest name or attribute of a span, in bytes; what is longer is cut.
pub const MAX_SPAN_TEXT_BYTES: usize = 256;
/// Longest `tracestate` that is passed on, in bytes; a longer one is left out (W3C Trace Context,
/// 3.3.1.5).
pub const MAX_TRACE_STATE_BYTES: usize = 512;
/// Longest answer to a request of this program's own, in bytes.
pub const MAX_OUTBOUND_ANSWER_BYTES: usize = 256 * 1024;
/// Most headers of such an answer.
pub const MAX_OUTBOUND_HEADERS: usize = 64;
/// How long a server may take to say that it is well, in seconds, unless it is said otherwise.
pub const HEALTH_TIMEOUT_SECS: u64 = 5;
