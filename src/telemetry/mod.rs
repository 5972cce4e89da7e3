//! Spans of requests, exported to an OpenTelemetry collector over OTLP/HTTP in its JSON encoding.
//!
//! A request only puts its span into a bounded queue. One thread takes them out, some hundred at a time or after a few seconds,
//! and sends them; it is started before the server enters its own domain, which refuses TCP, and opens nothing but what the
//! resolver reads. A span that finds no room, or whose export fails for good, is dropped and counted.

mod exporter;
mod otlp;
mod queue;
mod sampler;
mod span;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::{EXPORT_END_MS, MAX_WAITING_SPANS};
use crate::outbound::{Target, Trust};
use crate::protocol::TraceContext;

use queue::Queue;

pub use sampler::Sampler;
pub use span::{Begun, Failure};

/// Where spans go, and what all of them have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where they are posted to.
    pub target: Target,
    /// Whom a target over TLS must be vouched for by.
    pub trust: Option<Trust>,
    /// Whole lines of the head that are sent along, each with its line end.
    pub headers: String,
    /// How long an export may take.
    pub timeout: Duration,
    /// Which requests have spans.
    pub sampler: Sampler,
    /// What is said of this process, such as `service.name`.
    pub resource: Vec<(Cow<'static, str>, String)>,
}

/// What makes spans and sees to it that they leave. Dropping it leaves what waits behind; [`Tracer::end`] does not.
#[derive(Debug)]
pub struct Tracer {
    sampler: Sampler,
    queue: Arc<Queue>,
}

impl Tracer {
    /// Starts the thread that exports. Fails when no thread is to be had.
    pub fn start(settings: Settings) -> std::io::Result<Arc<Self>> {
        let queue = Arc::new(Queue::new(MAX_WAITING_SPANS));
        let sampler = settings.sampler;
        let served = Arc::clone(&queue);
        std::thread::Builder::new().name("spans".to_owned()).spawn(move || exporter::run(&settings, &served))?;
        Ok(Arc::new(Self { sampler, queue }))
    }

    /// Begins the span of a request, if it is to have one. It ends when the value is dropped.
    pub fn begin(self: &Arc<Self>, context: Option<&TraceContext>) -> Option<Begun> {
        Begun::new(Arc::clone(&self.queue), self.sampler, context)
    }

    /// Spans that a collector has taken, and spans that were dropped.
    pub fn counts(&self) -> (u64, u64) {
        self.queue.counts()
    }

    /// Exports what waits, as far as that goes within two seconds.
    pub fn end(&self) {
        self.queue.end(Duration::from_millis(EXPORT_END_MS));
    }
}

#[cfg(test)]
mod tests;
