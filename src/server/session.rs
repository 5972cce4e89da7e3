//! One client of a service: its messages admitted, served and cancelled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::in_flight::{GivenUp, InFlight, Removed};
use super::service::{AdmittedRequest, Outbox, Service, Ticket};
use super::session_state::{SessionState, stateless_revisions};
use crate::budget::Account;
use crate::protocol::{Code, Id, Meta, Outcome, Request, Response, Revision, RpcError};
use crate::text::escape::show;

/// One client of a service.
pub struct Session {
    service: Arc<dyn Service>,
    account: Account,
    pub state: SessionState,
    in_flight: InFlight,
    /// Requests that were given up and still hold a thread.
    stuck: AtomicUsize,
}

/// What becomes of a message at the door.
#[derive(Debug)]
pub enum Admission {
    /// To be served: [`Session::serve`] is owed.
    Admitted(Ticket),
    /// To be answered at once with this error.
    Refused(Refused),
    /// A notification; nothing more to do.
    Nothing,
}

/// An answer without work.
#[derive(Debug)]
pub struct Refused {
    pub id: Id,
    pub error: RpcError,
    /// How to say it.
    pub revision: Revision,
}

impl Session {
    /// A session that has negotiated nothing yet.
    pub fn new(service: Arc<dyn Service>) -> Self {
        Self::of(service, Revision::NEWEST_HANDSHAKE)
    }

    /// A session that a client goes on with under the revision that it has agreed on elsewhere.
    pub fn of(service: Arc<dyn Service>, revision: Revision) -> Self {
        Self {
            account: service.account(),
            service,
            state: SessionState::of(revision),
            in_flight: InFlight::default(),
            stuck: AtomicUsize::new(0),
        }
    }

    /// Who pays for the memory of its requests and replies.
    pub fn account(&self) -> Account {
        self.account.clone()
    }

    /// Stops all work; nothing in flight is answered any more.
    pub fn cancel_all(&self) {
        self.in_flight.cancel_all();
    }

    /// Decides the revision, takes the id, and carries out notifications.
    pub fn admit(&self, request: &Request<'_>) -> Admission {
        let Some(id) = request.id.clone() else {
            self.notified(request);
            return Admission::Nothing;
        };
        let refuse = |revision, error| {
            Admission::Refused(Refused {
                id: id.clone(),
                error,
                revision,
            })
        };
        let meta = match Meta::of(request.params) {
            Ok(meta) => meta,
            Err(reason) => {
                return refuse(
                    self.state.revision(),
                    RpcError::new(Code::InvalidParams, reason),
                );
            }
        };
        let revision = match revision_of(&meta) {
            Ok(revision) => revision.unwrap_or_else(|| self.state.revision()),
            Err(error) => return refuse(Revision::V2026_07_28, error),
        };
        let Some(cancel) = self.in_flight.add(&id, revision) else {
            let message = format!("`id` {id} is in flight; use a new one");
            return refuse(revision, RpcError::new(Code::InvalidRequest, message));
        };
        let level = if revision.is_stateless() {
            meta.log_level
                .and_then(|raw| serde_json::from_str(raw.get()).ok())
        } else {
            self.state.level()
        };
        let trace = meta.trace();
        let weight = self.service.weight(request);
        let (admitted, progress_token) = (Instant::now(), meta.progress_token);
        Admission::Admitted(Ticket {
            id,
            revision,
            weight,
            admitted,
            cancel,
            progress_token,
            level,
            trace,
        })
    }

    /// Serves an admitted request. `None` when it was cancelled, which is answered by silence.
    pub fn serve(
        &self,
        ticket: &Ticket,
        request: &Request<'_>,
        outbox: &dyn Outbox,
    ) -> Option<Outcome> {
        // What is logged of a request by default says itself which one it is: a span for each takes
        // longer than a small call.
        let trace = ticket
            .trace
            .as_ref()
            .map(|trace| tracing::field::display(&trace.parent));
        let span = tracing::debug_span!("request", id = %ticket.id, method = %show(request.method.as_bytes()), trace);
        let _entered = span.enter();
        let exchange = AdmittedRequest {
            session: &self.state,
            ticket,
            request,
            outbox,
        };
        ticket.cancel.begin();
        let served = catch_unwind(AssertUnwindSafe(|| self.service.serve(&exchange)));
        let outcome = served.unwrap_or_else(|_| {
            tracing::error!(id = %ticket.id, method = %show(request.method.as_bytes()), "panicked");
            let message =
                "the server failed inside this request, which is its own fault; other requests are unaffected";
            Some(Err(RpcError::new(Code::Internal, message)))
        });
        if let Some(outcome) = &outcome {
            self.service.served(&exchange, outcome);
        }
        // Freed before the reply is written: a client may use the id again as soon as it has read
        // it.
        match self.in_flight.remove(&ticket.id, &ticket.cancel) {
            Removed::Wanted => outcome,
            Removed::Cancelled => None,
            Removed::GivenUp => {
                self.stuck.fetch_sub(1, Ordering::SeqCst);
                None
            }
        }
    }

    /// Frees the id of an admitted request that will not be served after all.
    pub fn withdraw(&self, ticket: &Ticket) {
        self.in_flight.remove(&ticket.id, &ticket.cancel);
    }

    /// Whether nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// How many requests that were given up still hold a thread.
    pub fn stuck(&self) -> usize {
        self.stuck.load(Ordering::SeqCst)
    }

    /// Gives up the requests whose work hangs in the kernel since `limit`; the answers that are
    /// owed for it. No thread can be taken out of a call on a filesystem that does not answer, so
    /// it stays there, and its own answer is dropped.
    pub fn give_up(&self, limit: Duration) -> Vec<Refused> {
        let given_up = self.in_flight.give_up(limit);
        self.stuck.fetch_add(given_up.len(), Ordering::SeqCst);
        let refuse = |GivenUp {
                          id,
                          revision,
                          token,
                          is_wanted,
                      }: GivenUp| {
            self.service.given_up(&token);
            tracing::warn!(%id, "given up: the filesystem does not answer");
            let seconds = limit.as_secs();
            let message = format!(
                "the filesystem has not answered for {seconds} s (--stall-timeout-secs), and the call was given up; what it \
                 was to change may still be changed. A mount below the directory may hang: ask for another place, or look \
                 before you try again"
            );
            is_wanted.then_some(Refused {
                id,
                error: RpcError::new(Code::Internal, message),
                revision,
            })
        };
        given_up.into_iter().filter_map(refuse).collect()
    }

    /// Tells the service where to send what no request asked for.
    pub fn connected(&self, outbox: Arc<dyn Outbox>) {
        self.service.connected(outbox);
    }

    /// Hands on a client's answer to a request of the service.
    pub fn answered(&self, response: &Response<'_>) {
        self.service.answered(response);
    }

    /// Tells the service that the client sends nothing more.
    pub fn ended(&self) {
        self.service.ended();
    }

    fn notified(&self, request: &Request<'_>) {
        #[derive(Deserialize)]
        struct Cancelled {
            #[serde(rename = "requestId")]
            request_id: Id,
        }
        self.service.notified(request);
        if request.method == "notifications/cancelled"
            && let Some(cancelled) = request
                .params
                .and_then(|raw| serde_json::from_str::<Cancelled>(raw.get()).ok())
        {
            tracing::debug!(id = %cancelled.request_id, "cancelled");
            self.in_flight.cancel(&cancelled.request_id);
        }
    }
}

/// The revision that a request names for itself (2026-07-28, basic/versioning.mdx), if it does.
fn revision_of(meta: &Meta<'_>) -> Result<Option<Revision>, RpcError> {
    let Some(raw) = meta.protocol_version else {
        return Ok(None);
    };
    let Ok(requested) = serde_json::from_str::<String>(raw.get()) else {
        let message = "`_meta` names a protocolVersion that is no string; it must be a date such as \"2026-07-28\"";
        return Err(RpcError::new(Code::InvalidParams, message));
    };
    let Some(revision) = Revision::parse(&requested).filter(|revision| revision.is_stateless())
    else {
        let supported: Vec<&str> = stateless_revisions().collect();
        let message = format!(
            "revision {requested} is not served without a handshake; {} is",
            supported.join(", ")
        );
        let data = json!({"supported": supported, "requested": requested});
        return Err(RpcError {
            data: Some(data),
            ..RpcError::new(Code::UnsupportedVersion, message)
        });
    };
    if !meta
        .client_capabilities
        .is_some_and(|raw| raw.get().starts_with('{'))
    {
        let message = "`_meta` lacks `io.modelcontextprotocol/clientCapabilities`; it must be an object, which may be empty";
        return Err(RpcError::new(Code::InvalidParams, message));
    }
    Ok(Some(revision))
}
