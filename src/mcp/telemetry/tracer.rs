//! Tracer: begins spans. A span gets attributes and is queued when it is dropped.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use replay_base::limits::{MAX_SPAN_TEXT_BYTES, MAX_WAITING_SPANS};
use replay_base::text::escape::hex;
use rustix::rand::{GetRandomFlags, getrandom};

use super::exporter::{self, Settings};
use super::queue::Queue;
use super::sampler::Sampler;
use super::span::{Failure, Span};
use crate::protocol::TraceContext;

/// Timeout for the export of queued spans at the end of the server, in milliseconds.
const EXPORT_END_MS: u64 = 2000;

/// Tracer with the thread that exports its spans. Dropping it loses queued spans; [`Tracer::end`]
/// exports them.
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
        std::thread::Builder::new()
            .name("spans".to_owned())
            .spawn(move || exporter::run(&settings, &served))?;
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

    /// Exports the queued spans, within two seconds at most.
    pub fn end(&self) {
        self.queue.end(Duration::from_millis(EXPORT_END_MS));
    }
}

/// A span that goes on. Dropping it ends it.
#[derive(Debug)]
pub struct Begun {
    queue: Arc<Queue>,
    since: Instant,
    span: Option<Span>,
}

fn random<const LENGTH: usize>() -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    // Up to 256 bytes come whole (getrandom(2)).
    (getrandom(&mut bytes, GetRandomFlags::empty()).ok()? == LENGTH).then_some(bytes)
}

fn trace_of(context: &TraceContext) -> Option<[u8; 16]> {
    u128::from_str_radix(context.parent.trace_id(), 16)
        .ok()
        .map(u128::to_be_bytes)
}

/// Cuts a text that a client may have made up.
fn cut(mut text: Cow<'static, str>) -> Cow<'static, str> {
    if text.len() > MAX_SPAN_TEXT_BYTES {
        let end = text.floor_char_boundary(MAX_SPAN_TEXT_BYTES);
        text.to_mut().truncate(end);
    }
    text
}

impl Begun {
    /// Begins one now, if the sampler takes it.
    pub fn new(
        queue: Arc<Queue>,
        sampler: Sampler,
        context: Option<&TraceContext>,
    ) -> Option<Self> {
        let trace = match context {
            Some(context) => trace_of(context)?,
            None => random()?,
        };
        if !sampler.takes(context, &trace) {
            return None;
        }
        let begun_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()?
            .as_nanos() as u64;
        let span = Span {
            trace: hex(&trace),
            id: hex(&random::<8>()?),
            context: context.cloned(),
            name: String::new(),
            begun_ns,
            ended_ns: begun_ns,
            attributes: Vec::with_capacity(12),
            failure: None,
        };
        Some(Self {
            queue,
            since: Instant::now(),
            span: Some(span),
        })
    }

    /// Replaces the name.
    pub fn rename(&mut self, name: String) {
        if let Some(span) = &mut self.span {
            span.name = cut(name.into()).into_owned();
        }
    }

    /// Adds an attribute, cut if it is long.
    pub fn set(&mut self, key: &'static str, value: impl Into<Cow<'static, str>>) {
        if let Some(span) = &mut self.span {
            span.attributes.push((key, cut(value.into())));
        }
    }

    /// Sets the outcome, replacing an earlier one.
    pub fn went(&mut self, failure: Option<Failure>) {
        if let Some(span) = &mut self.span {
            span.failure = failure.map(|failure| Failure {
                kind: cut(failure.kind),
                message: cut(failure.message.into()).into_owned(),
            });
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            // Two looks at the clock that people set would not be a duration.
            span.ended_ns = span
                .begun_ns
                .saturating_add(self.since.elapsed().as_nanos() as u64);
            self.queue.push(span);
        }
    }
}
