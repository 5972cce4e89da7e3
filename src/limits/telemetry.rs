//! Limits of telemetry and of health checks.

/// Spans that wait to be exported; those that come then are dropped and counted.
pub const MAX_WAITING_SPANS: usize = 2048;
/// Spans that are exported together.
pub const SPANS_PER_EXPORT: usize = 512;
/// Delay of a span before export, so that others can join it, in milliseconds.
pub const EXPORT_DELAY_MS: u64 = 5000;
/// Default timeout of an export, in milliseconds, unless `OTEL_EXPORTER_OTLP_TIMEOUT` is set.
pub const EXPORT_TIMEOUT_MS: u64 = 10_000;
/// Tries of an export before its spans are dropped.
pub const EXPORT_TRIES: u32 = 4;
/// Pause before an export is tried again, in milliseconds; doubled each time.
pub const EXPORT_PAUSE_MS: u64 = 1000;
/// Longest pause that a collector may ask for, in milliseconds.
pub const MAX_EXPORT_PAUSE_MS: u64 = 30_000;
/// Timeout for the export of queued spans at the end of the server, in milliseconds.
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
/// Default timeout of a health check, in seconds.
pub const HEALTH_TIMEOUT_SECS: u64 = 5;
