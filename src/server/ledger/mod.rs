//! The ledger: one entry for each call of a tool, for whoever looks on (the audit log, a page).
//!
//! [`Ledger::over`] puts it around a service. Observers hear of a call before its work and after
//! it, before its reply leaves, on the thread that serves it; each may refuse, which is what the
//! client then hears. What never reaches a service is no call: messages that cannot be read, ids
//! that are taken, requests for which there was no place.

mod arguments;
mod ending;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

pub use ending::Ending;

use super::service::{AdmittedRequest, ExclusiveWork, Outbox, Service};
use crate::cancel::CancelToken;
use crate::limits::MAX_KEPT_NAME_BYTES;
use crate::policy::{Caller, Touched, TouchedPath};
use crate::protocol::{Body, Code, Content, Outcome, Revision, RpcError};

/// A call whose work is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// Which call of this process, from 1.
    pub id: u64,
    pub at: SystemTime,
    /// Who calls: the name of a token, `anyone` where there are no tokens, or `stdio`.
    pub client: Arc<str>,
    /// The session over HTTP: the first 16 hexadecimal digits of the SHA-256 of its name. `None`
    /// where there are none.
    pub session: Option<Arc<str>>,
    pub revision: Revision,
    /// The name that was called, whether or not there is such a tool; its beginning if it is longer
    /// than [`MAX_KEPT_NAME_BYTES`], empty if there was none.
    pub tool: String,
    /// The arguments, with each string of more than [`crate::limits::MAX_KEPT_ARGUMENT_BYTES`]
    /// replaced by `{"sha256": HEX, "bytes": COUNT}` of its UTF-8; all of them if they are still
    /// too many. `null` if there were none.
    pub arguments: Value,
    /// The same with the beginning of each such string as a member `excerpt`, if an observer wants
    /// that and there may be such.
    pub excerpts: Option<Value>,
    /// The parameters of the request as they came, in bytes.
    pub request_bytes: u64,
    /// The trace that the client sees the call in, 32 hexadecimal digits.
    pub trace_id: Option<String>,
}

/// A call that is over.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was known before its work.
    pub call: Arc<Begun>,
    pub outcome: Ending,
    /// The code of its error, if it had one; also where the revision sends the error as a result.
    pub code: Option<i64>,
    /// The content of the reply, text and structured output together, or the message of its error,
    /// in bytes before they are written as JSON.
    pub reply_bytes: u64,
    /// What it touched, each path and use once: what the policy opened for it and what the policy
    /// or the walls around commands refused. What else a command touches is not known.
    pub paths: Vec<TouchedPath>,
    /// Questions about paths beyond those.
    pub paths_more: u64,
    /// How long it took.
    pub duration: Duration,
}

/// Somebody who looks on. Called on the threads that serve, several at the same time.
pub trait Observer: Send + Sync {
    /// Whether [`Begun::excerpts`] is to be made.
    fn wants_excerpts(&self) -> bool {
        false
    }
    /// How it is itself, for whoever watches over the server: under which name, and what. Waits for
    /// no call.
    fn health(&self) -> Option<(&'static str, Value)> {
        None
    }
    /// Whether it never waits for anything that may hang, such as the disk.
    fn is_prompt(&self) -> bool {
        false
    }
    /// Whether it would let a call be served now, as far as that can be said without waiting for a
    /// call.
    fn is_well(&self) -> bool {
        true
    }
    /// A call begins. An error refuses it: nothing of it is done, observers behind this one never
    /// hear of it, those before hear how it ended.
    fn begun(&self, _call: &Arc<Begun>) -> Result<(), RpcError> {
        Ok(())
    }
    /// It has got on: so much is done, of so much if that is known. Told more often than anybody
    /// needs it.
    fn progressed(&self, _call: &Begun, _done: u64, _total: Option<u64>, _message: &str) {}
    /// It is over, and its reply has not left; `None` for silence, for a panic and for a call that
    /// was given up. An error takes the place of the reply.
    fn ended(&self, entry: &Arc<Entry>, reply: Option<&Outcome>) -> Result<(), RpcError>;
}

/// The calls of this process and who looks on.
#[derive(Default)]
pub struct Ledger {
    observers: Vec<Arc<dyn Observer>>,
    wants_excerpts: bool,
    last: AtomicU64,
}

impl Ledger {
    /// For these observers, in this order.
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Arc<Self> {
        let wants_excerpts = observers.iter().any(|observer| observer.wants_excerpts());
        Arc::new(Self {
            observers,
            wants_excerpts,
            last: AtomicU64::new(0),
        })
    }

    /// How those who look on are.
    pub fn health(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.observers
            .iter()
            .filter_map(|observer| observer.health())
    }

    /// Whether calls are served at all: no observer refuses them.
    pub fn is_well(&self) -> bool {
        self.observers.iter().all(|observer| observer.is_well())
    }

    /// A service whose calls, which `client` makes, are entered here. Where nobody looks on it is
    /// the service itself.
    pub fn over(self: &Arc<Self>, inner: Arc<dyn Service>, client: &str) -> Arc<dyn Service> {
        if self.observers.is_empty() {
            return inner;
        }
        Arc::new(Entered {
            inner,
            ledger: Arc::clone(self),
            client: client.into(),
            flights: Mutex::default(),
        })
    }
}

/// A service whose calls are entered in a ledger.
struct Entered {
    inner: Arc<dyn Service>,
    ledger: Arc<Ledger>,
    client: Arc<str>,
    /// The calls that are being served.
    flights: Mutex<Vec<Arc<Flight>>>,
}

/// A call while it is served.
struct Flight {
    call: Arc<Begun>,
    token: CancelToken,
    touched: Touched,
    since: Instant,
    /// Whether its end was told. One that is given up and comes back ends twice.
    told: AtomicBool,
}

impl Entered {
    fn call(&self, exchange: &AdmittedRequest<'_>) -> Begun {
        let called = exchange.request.called.as_ref();
        let mut tool = called
            .and_then(|called| called.name.as_deref())
            .unwrap_or_default()
            .to_owned();
        tool.truncate(tool.floor_char_boundary(MAX_KEPT_NAME_BYTES));
        let (arguments, excerpts) = arguments::kept(
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

    /// Tells the first `most` observers that a call is over; the error of the first who objects.
    fn tell(
        &self,
        flight: &Flight,
        outcome: Ending,
        reply: Option<&Outcome>,
        most: usize,
    ) -> Result<(), RpcError> {
        if flight.told.swap(true, SeqCst) {
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
        // Each hears of it, whatever the others say.
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

/// What a reply holds, in bytes before it is written as JSON.
pub fn size(outcome: &Outcome) -> u64 {
    let bytes = match outcome {
        Err(error) => error.message.len(),
        Ok(Body::Raw(text)) => text.len(),
        Ok(Body::Line(line)) => line.len(),
        Ok(Body::Tool(reply)) => {
            let of = |content: &Content| match content {
                Content::Text(text) => text.len(),
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

/// Where messages of a call go, and how far it is.
struct Overheard<'a> {
    outbox: &'a dyn Outbox,
    call: &'a Begun,
    ledger: &'a Ledger,
}

impl Outbox for Overheard<'_> {
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

impl Service for Entered {
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
            touched: Touched::by(Caller {
                call: call.id,
                client,
                session,
            }),
            call,
            token: exchange.ticket.cancel.clone(),
            since: Instant::now(),
            told: AtomicBool::new(false),
        });
        for (index, observer) in self.ledger.observers.iter().enumerate() {
            if let Err(error) = observer.begun(&flight.call) {
                let refused = Err(error);
                // The first refusal is what is said.
                let _ = self.tell(
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
            let outbox = Overheard {
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
                let told = self.tell(&flight, ending, outcome.as_ref(), all);
                told.map_or_else(|error| Some(Err(error)), |()| outcome)
            }
            Err(panic) => match self.tell(&flight, Ending::Panicked, None, all) {
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
        // Its answer is an error whatever is said here.
        let _ = flight
            .map(|flight| self.tell(&flight, Ending::GaveUp, None, self.ledger.observers.len()));
        self.inner.given_up(cancel);
    }
}
