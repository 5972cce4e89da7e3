//! Interface between sessions and services, such as the tool server or a mock. A session handles
//! the common parts: revisions, ids, cancellation and panics.

use std::sync::Arc;
use std::time::Instant;

use replay_base::budget::Account;
use replay_base::cancel::CancelToken;

use super::level::Level;
use super::session_state::{ClientInfo, SessionState};
use crate::protocol::{Id, Outcome, Request, Response, Revision, TraceContext};

/// Work that gets a function to send bytes.
pub type ExclusiveWork<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) + 'a;

/// Cost class of a call, which decides the thread that serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Microseconds, and no wait except for a local filesystem: small reads
    /// ([`Outbox::at_length`]).
    Quick,
    /// Usually microseconds: no thread switch if requests come from one client.
    Light,
    /// May take long: searches, commands, whole trees.
    Heavy,
    /// Mostly waits for something outside this machine, such as a slow mock. Many of them cost
    /// little at a time, and must not occupy the threads of heavy calls.
    Waits,
}

impl Weight {
    /// Returns true if the thread that reads one client's requests may serve it.
    pub const fn is_light(self) -> bool {
        matches!(self, Self::Quick | Self::Light)
    }
}

/// Destination of a session's messages: progress, logs, requests. Implemented by transports.
pub trait Outbox: Send + Sync {
    /// Sends one message, which must hold no newline.
    fn send(&self, message: &[u8]);
    /// Runs `work`, which may send raw bytes, even partial messages. No other message comes
    /// between.
    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        work(&mut |bytes| self.send(bytes));
    }
    /// Runs work that takes longer than the request's weight allows.
    fn at_length(&self, work: &mut dyn FnMut()) {
        work();
    }
    /// Returns true if [`Outbox::progressed`] should be called.
    fn wants_progress(&self) -> bool {
        false
    }
    /// Reports progress to observers: the part done, and the total if known.
    fn progressed(&self, _done: u64, _total: Option<u64>, _message: &str) {}
}

/// An admitted request. Its id is registered until the session frees it.
#[derive(Debug)]
pub struct Ticket {
    pub id: Id,
    /// Revision by which it is served.
    pub revision: Revision,
    /// Its weight: may it block the reading thread?
    pub weight: Weight,
    pub admitted: Instant,
    /// Cancelled when the client no longer wants the reply.
    pub cancel: CancelToken,
    /// Set if the client wants progress.
    pub progress_token: Option<Id>,
    /// Minimum severity of log messages for this request.
    pub level: Option<Level>,
    /// The client's trace context.
    pub trace: Option<TraceContext>,
    /// Name and version of a stateless client; a session knows those of others.
    pub client: Option<Box<ClientInfo>>,
}

/// One admitted request with its context.
#[derive(Clone, Copy)]
pub struct AdmittedRequest<'a> {
    /// State of the client's session.
    pub session: &'a SessionState,
    pub ticket: &'a Ticket,
    pub request: &'a Request<'a>,
    /// Destination of messages before the reply.
    pub outbox: &'a dyn Outbox,
}

impl AdmittedRequest<'_> {
    /// Returns the name and version that the client gives of itself.
    pub fn client(&self) -> Option<&ClientInfo> {
        self.ticket.client.as_deref().or(self.session.client())
    }
}

/// A service: answers requests of any number of sessions, concurrently.
///
/// A wrapper names the inner service ([`Service::inner`]), and overrides only the methods that it
/// extends. The others delegate.
pub trait Service: Send + Sync {
    /// The wrapped service, if this is a wrapper.
    fn inner(&self) -> Option<&dyn Service> {
        None
    }
    /// Returns the weight of a request. Called once for each admitted request, in the order of
    /// arrival.
    fn weight(&self, request: &Request<'_>) -> Weight {
        self.inner()
            .map_or(Weight::Heavy, |inner| inner.weight(request))
    }
    /// Returns true if requests of [`Weight::Quick`] cannot hang now. Called before a shared thread
    /// serves such a request.
    fn is_prompt(&self) -> bool {
        self.inner().is_some_and(Service::is_prompt)
    }
    /// Account for the memory of its requests and replies. Call it once for each client.
    fn account(&self) -> Account {
        self.inner().map_or_else(Account::default, Service::account)
    }
    /// Answers a request; `None` sends no reply.
    fn serve(&self, exchange: &AdmittedRequest<'_>) -> Option<Outcome>;
    /// Called after a request was served or has panicked, before its reply is sent.
    fn served(&self, exchange: &AdmittedRequest<'_>, outcome: &Outcome) {
        if let Some(inner) = self.inner() {
            inner.served(exchange, outcome);
        }
    }
    /// The request with this token hangs in the kernel, and is answered with an error. Its work may
    /// still return later.
    fn given_up(&self, cancel: &CancelToken) {
        if let Some(inner) = self.inner() {
            inner.given_up(cancel);
        }
    }
    /// A notification arrived; the session itself handles cancellations.
    fn notified(&self, request: &Request<'_>) {
        if let Some(inner) = self.inner() {
            inner.notified(request);
        }
    }
    /// A client answered a request of this service.
    fn answered(&self, response: &Response<'_>) {
        if let Some(inner) = self.inner() {
            inner.answered(response);
        }
    }
    /// A client has connected. `outbox` takes unsolicited messages.
    fn connected(&self, outbox: Arc<dyn Outbox>) {
        if let Some(inner) = self.inner() {
            inner.connected(outbox);
        }
    }
    /// The client sends no more messages; replies in flight may still be sent.
    fn ended(&self) {
        if let Some(inner) = self.inner() {
            inner.ended();
        }
    }
}
