//! The ledger: one entry for each tool call, for observers such as the audit log and the status
//! page.
//!
//! [`Ledger::over`] wraps a service. Observers are informed of a call before its work, and after it
//! before the reply is sent, on the serving thread. Each may refuse with an error, which the client
//! then gets.
//!
//! A message that never reaches a service is no call: malformed messages, repeated ids, and
//! requests above a limit.

mod arguments;
mod ending;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_KEPT_NAME_BYTES;
use replay_files::policy::{AccessRecord, Caller, TouchedPath};
use serde_json::Value;

use super::service::{AdmittedRequest, ExclusiveWork, Outbox, Service};
use crate::protocol::{Body, Code, Content, Outcome, Revision, RpcError};

pub use ending::Ending;

/// A call whose work is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// Number of the call in this process, from 1.
    pub id: u64,
    pub at: SystemTime,
    /// Name of the caller: that of a token, `anyone` without tokens, or `stdio`.
    pub client: Arc<str>,
    /// The HTTP session: the first 16 hexadecimal digits of the SHA-256 of its name. `None` without
    /// a session.
    pub session: Option<Arc<str>>,
    pub revision: Revision,
    /// The requested tool, even if it does not exist. Cut to [`MAX_KEPT_NAME_BYTES`], empty if
    /// missing.
    pub tool: String,
    /// The arguments; `null` if missing. Each string longer than
    /// [`replay_base::limits::MAX_KEPT_ARGUMENT_BYTES`] is replaced by `{"sha256": HEX, "bytes": COUNT}`
    /// of its UTF-8. So are the whole arguments if they are still too long.
    pub arguments: Value,
    /// The same, with the beginning of each replaced string as a member `excerpt`. Present if an
    /// observer wants excerpts and strings may have been replaced.
    pub excerpts: Option<Value>,
    /// Length of the request's parameters, in bytes.
    pub request_bytes: u64,
    /// Trace id of the client's trace context, 32 hexadecimal digits.
    pub trace_id: Option<String>,
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The call as it was known before its work.
    pub call: Arc<Begun>,
    pub outcome: Ending,
    /// Error code of the call, even if the revision sends the error as a result.
    pub code: Option<i64>,
    /// Length of the reply in bytes before JSON escaping: text and structured output together, or
    /// the error message.
    pub reply_bytes: u64,
    /// Paths that the call touched, each path and use once. Includes paths that the policy opened,
    /// and paths that the policy or the sandbox refused. Other paths that a command touches are
    /// unknown.
    pub paths: Vec<TouchedPath>,
    /// Number of path checks beyond those listed.
    pub paths_more: u64,
    /// Duration of the call.
    pub duration: Duration,
}

/// An observer of calls. Its methods are called on the serving threads, concurrently.
pub trait Observer: Send + Sync {
    /// Returns true if [`Begun::excerpts`] is needed.
    fn wants_excerpts(&self) -> bool {
        false
    }
    /// Returns the observer's name and health, for monitoring of the server. Waits for no call.
    fn health(&self) -> Option<(&'static str, Value)> {
        None
    }
    /// Returns true if it never waits for anything that may hang, such as the disk.
    fn is_prompt(&self) -> bool {
        false
    }
    /// Returns true if it would accept a call now, as far as known without waiting for a call.
    fn is_well(&self) -> bool {
        true
    }
    /// A call begins. An error refuses it, and its work is not done. Later observers are not
    /// informed; earlier ones are informed of its end.
    fn begun(&self, _call: &Arc<Begun>) -> Result<(), RpcError> {
        Ok(())
    }
    /// Reports the progress of a call: the part done, and the total if known. Called more often
    /// than observers need.
    fn progressed(&self, _call: &Begun, _done: u64, _total: Option<u64>, _message: &str) {}
    /// A call has ended, and its reply is not sent yet. `None` means no reply, a panic or an
    /// abandoned call. An error replaces the reply.
    fn ended(&self, entry: &Arc<Entry>, reply: Option<&Outcome>) -> Result<(), RpcError>;
}

/// The calls of this process, and their observers.
#[derive(Default)]
pub struct Ledger {
    observers: Vec<Arc<dyn Observer>>,
    wants_excerpts: bool,
    last: AtomicU64,
}

impl Ledger {
    /// Creates a ledger for these observers, in this order.
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Arc<Self> {
        let wants_excerpts = observers.iter().any(|observer| observer.wants_excerpts());
        Arc::new(Self {
            observers,
            wants_excerpts,
            last: AtomicU64::new(0),
        })
    }

    /// Health of the observers.
    pub fn health(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.observers
            .iter()
            .filter_map(|observer| observer.health())
    }

    /// Returns true if no observer refuses calls.
    pub fn is_well(&self) -> bool {
        self.observers.iter().all(|observer| observer.is_well())
    }

    /// Wraps a service, and enters its calls as calls of `client`. Without observers, returns the
    /// service itself.
    pub fn over(self: &Arc<Self>, inner: Arc<dyn Service>, client: &str) -> Arc<dyn Service> {
        if self.observers.is_empty() {
            return inner;
        }
        Arc::new(LedgerService {
            inner,
            ledger: Arc::clone(self),
            client: client.into(),
            flights: Mutex::default(),
        })
    }
}

/// A service whose calls are entered in a ledger.
struct LedgerService {
    inner: Arc<dyn Service>,
    ledger: Arc<Ledger>,
    client: Arc<str>,
    /// Calls in flight.
    flights: Mutex<Vec<Arc<Flight>>>,
}

/// A call in flight.
struct Flight {
    call: Arc<Begun>,
    token: CancelToken,
    touched: AccessRecord,
    since: Instant,
    /// `true` once its end was reported. An abandoned call that returns ends twice.
    is_reported: AtomicBool,
}

impl LedgerService {
    fn call(&self, exchange: &AdmittedRequest<'_>) -> Begun {
        let called = exchange.request.called.as_ref();
        let mut tool = called
            .and_then(|called| called.name.as_deref())
            .unwrap_or_default()
            .to_owned();
        tool.truncate(tool.floor_char_boundary(MAX_KEPT_NAME_BYTES));
        let (arguments, excerpts) = arguments::shorten_arguments(
            called.and_then(|called| called.arguments),
            self.ledger.wants_excerpts,
        );
        Begun {
            id: self.ledger.last.fetch_add(1, Relaxed) + 1,
            at: SystemTime::now(),
            client: Arc::clone(&self.client),
            session: exchange.session.name(),
            revision: exchange.ticket.revision,
            tool,
            arguments,
            excerpts,
            request_bytes: exchange
                .request
                .params
                .map_or(0, |raw| raw.get().len() as u64),
            trace_id: exchange
                .ticket
                .trace
                .as_ref()
                .map(|trace| trace.parent.trace_id().to_owned()),
        }
    }

    /// Reports the end of a call to the first `most` observers. Returns the first error.
    fn report_end(
        &self,
        flight: &Flight,
        outcome: Ending,
        reply: Option<&Outcome>,
        most: usize,
    ) -> Result<(), RpcError> {
        if flight.is_reported.swap(true, SeqCst) {
            return Ok(());
        }
        let record = flight.touched.take();
        let entry = Arc::new(Entry {
            call: Arc::clone(&flight.call),
            outcome,
            code: reply.and_then(ending::code).map(Code::number),
            reply_bytes: reply.map_or(0, size),
            paths: record.paths,
            paths_more: record.more,
            duration: flight.since.elapsed(),
        });
        // Every observer is informed, even after an error of another.
        let mut first = Ok(());
        for observer in &self.ledger.observers[..most] {
            let told = observer.ended(&entry, reply);
            first = first.and(told);
        }
        first
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Flight>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Length of a reply in bytes, before JSON escaping.
pub fn size(outcome: &Outcome) -> u64 {
    let bytes = match outcome {
        Err(error) => error.message.len(),
        Ok(Body::Raw(text)) => text.len(),
        Ok(Body::Line(line)) => line.len(),
        Ok(Body::Tool(reply)) => {
            let of = |content: &Content| match content {
                Content::Text(text) | Content::Note(text) => text.len(),
                Content::Image { data, .. } | Content::Audio { data, .. } => data.len(),
                Content::Blob { blob, .. } => blob.len(),
                Content::Link { uri, .. } => uri.len(),
            };
            reply.content.iter().map(of).sum::<usize>()
                + reply.structured.as_ref().map_or(0, String::len)
        }
    };
    bytes as u64
}

/// Outbox of a call that also reports progress to the observers.
struct ObservedOutbox<'a> {
    outbox: &'a dyn Outbox,
    call: &'a Begun,
    ledger: &'a Ledger,
}

impl Outbox for ObservedOutbox<'_> {
    fn send(&self, message: &[u8]) {
        self.outbox.send(message);
    }

    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        self.outbox.exclusively(work);
    }

    fn at_length(&self, work: &mut dyn FnMut()) {
        self.outbox.at_length(work);
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progressed(&self, done: u64, total: Option<u64>, message: &str) {
        self.ledger
            .observers
            .iter()
            .for_each(|observer| observer.progressed(self.call, done, total, message));
    }
}

impl Service for LedgerService {
    fn inner(&self) -> Option<&dyn Service> {
        Some(&*self.inner)
    }

    fn is_prompt(&self) -> bool {
        self.ledger
            .observers
            .iter()
            .all(|observer| observer.is_prompt())
            && self.inner.is_prompt()
    }

    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        if exchange.request.method != "tools/call" {
            return self.inner.serve(exchange);
        }
        let call = Arc::new(self.call(exchange));
        let (client, session) = (Arc::clone(&call.client), call.session.clone());
        let flight = Arc::new(Flight {
            touched: AccessRecord::by(Caller {
                call: call.id,
                client,
                session,
            }),
            call,
            token: exchange.ticket.cancel.clone(),
            since: Instant::now(),
            is_reported: AtomicBool::new(false),
        });
        for (index, observer) in self.ledger.observers.iter().enumerate() {
            if let Err(error) = observer.begun(&flight.call) {
                let refused = Err(error);
                // The client gets the first refusal.
                let _ = self.report_end(
                    &flight,
                    Ending::of(Some(&refused), false),
                    Some(&refused),
                    index,
                );
                return Some(refused);
            }
        }
        self.lock().push(Arc::clone(&flight));
        let served = {
            let _entered = flight.touched.enter();
            let outbox = ObservedOutbox {
                outbox: exchange.outbox,
                call: &flight.call,
                ledger: &self.ledger,
            };
            let exchange = AdmittedRequest {
                outbox: &outbox,
                ..*exchange
            };
            catch_unwind(AssertUnwindSafe(|| self.inner.serve(&exchange)))
        };
        self.lock().retain(|other| !Arc::ptr_eq(other, &flight));
        tracing::debug!(client = &*self.client, tool = ?flight.call.tool, took = ?flight.since.elapsed(), "called");
        let all = self.ledger.observers.len();
        match served {
            Ok(outcome) => {
                let ending = Ending::of(outcome.as_ref(), exchange.ticket.cancel.is_cancelled());
                let told = self.report_end(&flight, ending, outcome.as_ref(), all);
                told.map_or_else(|error| Some(Err(error)), |()| outcome)
            }
            Err(panic) => match self.report_end(&flight, Ending::Panicked, None, all) {
                Ok(()) => resume_unwind(panic),
                Err(error) => Some(Err(error)),
            },
        }
    }

    fn given_up(&self, cancel: &CancelToken) {
        let flight = self
            .lock()
            .iter()
            .find(|flight| flight.token.is_same(cancel))
            .cloned();
        // The client gets an error in any case.
        let _ = flight.map(|flight| {
            self.report_end(&flight, Ending::GaveUp, None, self.ledger.observers.len())
        });
        self.inner.given_up(cancel);
    }
}
