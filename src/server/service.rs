//! What answers a session's requests. The server of tools is one service, a mock is another; a
//! session knows neither, and sees to what is the same for all: revisions, ids, cancellation,
//! panics.

use std::sync::Arc;
use std::time::Instant;

use super::level::Level;
use super::session_state::SessionState;
use crate::budget::Account;
use crate::cancel::CancelToken;
use crate::protocol::{Id, Outcome, Request, Response, Revision, TraceContext};
use crate::tools::Weight;

/// Work that is given a way to send bytes.
pub type ExclusiveWork<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) + 'a;

/// Where a session's own messages go: progress, logs, requests. A transport implements it.
pub trait Outbox: Send + Sync {
    /// Sends one message, which holds no newline.
    fn send(&self, message: &[u8]);
    /// Lets `work` send bytes as they stand, be they part of a message or none at all, with nothing
    /// of others between them.
    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        work(&mut |bytes| self.send(bytes));
    }
    /// Does work that takes longer than the request's weight says.
    fn at_length(&self, work: &mut dyn FnMut()) {
        work();
    }
    /// Whether [`Outbox::progressed`] is to be told.
    fn wants_progress(&self) -> bool {
        false
    }
    /// How far the work is, for others than the client: so much is done, of so much if that is
    /// known.
    fn progressed(&self, _done: u64, _total: Option<u64>, _message: &str) {}
}

/// The right to be served: the id is taken until the session gives it back.
#[derive(Debug)]
pub struct Ticket {
    pub id: Id,
    /// The revision that it is served by.
    pub revision: Revision,
    /// Whether it may hold up the thread that reads.
    pub weight: Weight,
    pub admitted: Instant,
    /// Says when nobody wants the answer any more.
    pub cancel: CancelToken,
    /// Set by a client that wants progress.
    pub progress_token: Option<Id>,
    /// Least severity of the log messages that the client wants with this request.
    pub level: Option<Level>,
    /// Where the client's trace has the request.
    pub trace: Option<TraceContext>,
}

/// One admitted request, and all that may be asked about it.
#[derive(Clone, Copy)]
pub struct AdmittedRequest<'a> {
    /// Whose request it is.
    pub session: &'a SessionState,
    pub ticket: &'a Ticket,
    pub request: &'a Request<'a>,
    /// Where messages go that come before the reply.
    pub outbox: &'a dyn Outbox,
}

/// Answers requests, of any number of sessions at the same time.
///
/// One that stands around another says which ([`Service::inner`]), and has only those methods of
/// its own in which it does more than to hand on what it hears.
pub trait Service: Send + Sync {
    /// The service that this one stands around, if it does.
    fn inner(&self) -> Option<&dyn Service> {
        None
    }
    /// Whether a request may hold up the thread that reads. Asked once for each request that is
    /// admitted, in the order of arrival.
    fn weight(&self, request: &Request<'_>) -> Weight {
        self.inner()
            .map_or(Weight::Heavy, |inner| inner.weight(request))
    }
    /// Whether requests of [`Weight::Quick`] wait for nothing now that may hang. Asked before such
    /// a request is served by a thread that others wait for.
    fn is_prompt(&self) -> bool {
        self.inner().is_some_and(Service::is_prompt)
    }
    /// Who pays for the memory of its requests and replies. To be asked once for each of those who
    /// are served.
    fn account(&self) -> Account {
        self.inner().map_or_else(Account::default, Service::account)
    }
    /// Answers one; `None` is silence.
    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome>;
    /// After a request was served or has panicked, before its answer leaves.
    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        if let Some(inner) = self.inner() {
            inner.served(exchange, outcome);
        }
    }
    /// The request with this token hangs in the kernel and is answered without its work, which may
    /// come back even so.
    fn given_up(&self, cancel: &CancelToken) {
        if let Some(inner) = self.inner() {
            inner.given_up(cancel);
        }
    }
    /// A notification came; the session itself cancels what is to be cancelled.
    fn notified(&self, request: &Request<'_>) {
        if let Some(inner) = self.inner() {
            inner.notified(request);
        }
    }
    /// An answer came to a request that this service has sent.
    fn answered(&self, response: &Response<'_>) {
        if let Some(inner) = self.inner() {
            inner.answered(response);
        }
    }
    /// A client is there, which gets through `outbox` what no request asked for.
    fn connected(&self, outbox: Arc<dyn Outbox>) {
        if let Some(inner) = self.inner() {
            inner.connected(outbox);
        }
    }
    /// The client sends nothing more; what is in flight may still be answered.
    fn ended(&self) {
        if let Some(inner) = self.inner() {
            inner.ended();
        }
    }
}
