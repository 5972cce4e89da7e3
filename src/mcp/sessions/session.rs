//! A client's session: admission, serving and cancellation of its requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use replay_base::budget::Account;
use replay_base::text::escape::show;
use serde::Deserialize;
use serde_json::json;

use super::in_flight::{InFlight, RequestState, StuckRequest};
use super::service::{AdmittedRequest, Outbox, Service, Ticket};
use super::session_state::{ClientInfo, SessionState, stateless_revisions};
use crate::protocol::{Code, Id, Meta, Outcome, Request, Response, Revision, RpcError};

/// One client of a service.
pub struct Session {
    service: Arc<dyn Service>,
    account: Account,
    pub state: SessionState,
    in_flight: InFlight,
    /// Number of stuck requests that still hold a thread.
    stuck: AtomicUsize,
}

/// Result of the admission of a message.
#[derive(Debug)]
pub enum Admission {
    /// To be served: [`Session::serve`] must follow.
    Admitted(Ticket),
    /// To be answered with this error at once.
    Refused(Refused),
    /// A notification, which needs no reply.
    Nothing,
}

/// An error reply to a request that was not served.
#[derive(Debug)]
pub struct Refused {
    pub id: Id,
    pub error: RpcError,
    /// Revision of the reply.
    pub revision: Revision,
}

impl Session {
    /// Creates a session that has negotiated no revision yet.
    pub fn new(service: Arc<dyn Service>) -> Self {
        Self::of(service, Revision::NEWEST_HANDSHAKE)
    }

    /// Creates a session with a revision that was negotiated before.
    pub fn of(service: Arc<dyn Service>, revision: Revision) -> Self {
        Self {
            account: service.account(),
            service,
            state: SessionState::of(revision),
            in_flight: InFlight::default(),
            stuck: AtomicUsize::new(0),
        }
    }

    /// Account for the memory of its requests and replies.
    pub fn account(&self) -> Account {
        self.account.clone()
    }

    /// Cancels all work. No request in flight is answered any more.
    pub fn cancel_all(&self) {
        self.in_flight.cancel_all();
    }

    /// Determines the revision and registers the id. Notifications are carried out.
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
        let client = meta.client_info.and_then(ClientInfo::parse).map(Box::new);
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
            client,
        })
    }

    /// Serves an admitted request. Returns `None` for a cancelled one, which gets no reply.
    pub fn serve(
        &self,
        ticket: &Ticket,
        request: &Request<'_>,
        outbox: &dyn Outbox,
    ) -> Option<Outcome> {
        // Log messages at the default level name the request themselves: a span for each request
        // would take longer than a small call.
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
                "the server failed in this request because of a bug; other requests are not \
                 affected";
            Some(Err(RpcError::new(Code::Internal, message)))
        });
        if let Some(outcome) = &outcome {
            self.service.served(&exchange, outcome);
        }
        // Freed before the reply is written: a client may use the id again as soon as it has read
        // the reply.
        match self.in_flight.remove(&ticket.id, &ticket.cancel) {
            RequestState::Wanted => outcome,
            RequestState::Cancelled => None,
            RequestState::GivenUp => {
                self.stuck.fetch_sub(1, Ordering::SeqCst);
                None
            }
        }
    }

    /// Frees the id of an admitted request that will not be served.
    pub fn withdraw(&self, ticket: &Ticket) {
        self.in_flight.remove(&ticket.id, &ticket.cancel);
    }

    /// Returns true if no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Number of stuck requests that still hold a thread.
    pub fn stuck(&self) -> usize {
        self.stuck.load(Ordering::SeqCst)
    }

    /// Abandons the requests that hang in the kernel since `limit`, and returns their error
    /// replies. A thread cannot leave a system call on a hung filesystem. It stays there, and its
    /// own reply is dropped.
    pub fn give_up(&self, limit: Duration) -> Vec<Refused> {
        let given_up = self.in_flight.give_up(limit);
        self.stuck.fetch_add(given_up.len(), Ordering::SeqCst);
        let refuse = |StuckRequest {
                          id,
                          revision,
                          token,
                          is_wanted,
                      }: StuckRequest| {
            self.service.given_up(&token);
            tracing::warn!(%id, "stopped: the filesystem does not answer");
            let seconds = limit.as_secs();
            let message = format!(
                "the filesystem has not answered for {seconds} s (--stall-timeout-secs), and the \
                 call was stopped; its changes may still happen. A mount may hang: use another \
                 directory, or check the files before you try again"
            );
            is_wanted.then_some(Refused {
                id,
                error: RpcError::new(Code::Internal, message),
                revision,
            })
        };
        given_up.into_iter().filter_map(refuse).collect()
    }

    /// Gives the service the outbox for unsolicited messages.
    pub fn connected(&self, outbox: Arc<dyn Outbox>) {
        self.service.connected(outbox);
    }

    /// Passes on a client's answer to a request of the service.
    pub fn answered(&self, response: &Response<'_>) {
        self.service.answered(response);
    }

    /// Informs the service that the client sends no more messages.
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

/// Returns the revision that a request names (2026-07-28, basic/versioning.mdx), if any.
fn revision_of(meta: &Meta<'_>) -> Result<Option<Revision>, RpcError> {
    let Some(raw) = meta.protocol_version else {
        return Ok(None);
    };
    let Ok(requested) = serde_json::from_str::<String>(raw.get()) else {
        let message = "`_meta` has a protocolVersion that is not a string; it must be a date such \
            as \"2026-07-28\"";
        return Err(RpcError::new(Code::InvalidParams, message));
    };
    let Some(revision) = Revision::parse(&requested).filter(|revision| revision.is_stateless())
    else {
        let supported: Vec<&str> = stateless_revisions().collect();
        let message = format!(
            "revision {requested} is not supported without a handshake; use {}",
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
