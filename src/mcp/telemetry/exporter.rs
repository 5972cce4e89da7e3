//! The thread that sends spans away, and tries again where that may help (OTLP 1.x, "OTLP/HTTP
//! Response").

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use replay_network::http_client::{HttpTarget, Question, Trust, ask};
use replay_network::upstream_proxy::UpstreamProxy;

use super::otlp;
use super::queue::Queue;
use super::sampler::Sampler;
use super::span::Span;

/// Tries of an export before its spans are dropped.
const EXPORT_TRIES: u32 = 4;
/// Pause before an export is tried again, in milliseconds; doubled each time.
const EXPORT_PAUSE_MS: u64 = 1000;
/// Longest pause that a collector may ask for, in milliseconds.
const MAX_EXPORT_PAUSE_MS: u64 = 30_000;

/// Destination of spans, and their common attributes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// URL of the collector.
    pub target: HttpTarget,
    /// Trust anchors for a target over TLS.
    pub trust: Option<Trust>,
    /// Operator's proxy, if there is one.
    pub proxy: Option<Arc<UpstreamProxy>>,
    /// Whole lines of the head that are sent along, each with its line end.
    pub headers: String,
    /// Timeout of an export.
    pub timeout: Duration,
    /// Sampler of requests.
    pub sampler: Sampler,
    /// Attributes of this process, such as `service.name`.
    pub resource: Vec<(Cow<'static, str>, String)>,
}

/// Outcome of one try.
enum ExportOutcome {
    /// The collector took all but so many.
    Taken(u64),
    /// It may be worth while to try again, after a pause that the collector may have asked for.
    Later(String, Option<Duration>),
    /// The collector will never take it.
    Never(String),
}

/// Exports until the queue ends.
pub(super) fn run(settings: &Settings, queue: &Queue) {
    let headers = format!("Content-Type: application/json\r\n{}", settings.headers);
    let mut fails = false;
    while let Some(spans) = queue.take() {
        match export(settings, queue, &headers, &spans) {
            Ok(rejected) => {
                let lost = spans
                    .len()
                    .min(usize::try_from(rejected).unwrap_or(usize::MAX));
                queue.arrived(spans.len() - lost);
                queue.count_lost(lost);
                if std::mem::take(&mut fails) {
                    tracing::info!("spans are exported again");
                }
            }
            Err(reason) => {
                queue.count_lost(spans.len());
                // Said once: a collector that is away for a day is no news every five seconds.
                if !std::mem::replace(&mut fails, true) {
                    tracing::warn!("spans cannot be exported and are dropped: {reason}");
                }
            }
        }
    }
    queue.finish();
}

/// Sends the spans. Returns the number that the collector rejected, or the error if it took none.
fn export(
    settings: &Settings,
    queue: &Queue,
    headers: &str,
    spans: &[Span],
) -> Result<u64, String> {
    let body = otlp::encode(&settings.resource, spans);
    let mut pause = Duration::from_millis(EXPORT_PAUSE_MS);
    let mut tries = 1;
    loop {
        let (reason, asked) = match attempt(settings, queue, headers, &body) {
            ExportOutcome::Taken(rejected) => return Ok(rejected),
            ExportOutcome::Never(reason) => return Err(reason),
            ExportOutcome::Later(reason, asked) => (reason, asked),
        };
        let wait = asked
            .unwrap_or(pause)
            .min(Duration::from_millis(MAX_EXPORT_PAUSE_MS));
        if tries == EXPORT_TRIES || queue.pause(wait) {
            return Err(reason);
        }
        tries += 1;
        pause *= 2;
    }
}

fn attempt(settings: &Settings, queue: &Queue, headers: &str, body: &[u8]) -> ExportOutcome {
    let question = Question {
        method: "POST",
        headers,
        body,
    };
    let answer = ask(
        &settings.target,
        settings.trust.as_ref(),
        settings.proxy.as_deref(),
        question,
        queue.deadline(settings.timeout),
    );
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return ExportOutcome::Later(error.to_string(), None),
    };
    let status = answer.status;
    match status {
        200..=299 => ExportOutcome::Taken(match otlp::rejected(&answer.body) {
            Some((count, message)) => {
                tracing::debug!(count, "spans were rejected: {}", message.escape_debug());
                count
            }
            None => 0,
        }),
        429 | 502..=504 => ExportOutcome::Later(
            format!("the collector answers with {status}"),
            answer.retry_after,
        ),
        _ => ExportOutcome::Never(format!("the collector answers with {status}")),
    }
}
