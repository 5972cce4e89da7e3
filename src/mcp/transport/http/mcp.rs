//! `/mcp`: Streamable HTTP of all revisions. A message of 2026-07-28 is stateless. A message of a
//! handshake revision belongs to the session that it names. It may also be stateless, for clients
//! that support plain JSON-RPC only.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::body::Incoming as Body;
use hyper::header::{ACCEPT_ENCODING, ALLOW, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request as HttpRequest, StatusCode};
use replay_base::cancel::CancelToken;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::calls::{CallRunner, Queue, Work};
use super::conversation::Conversation;
use super::feed::{FeedReceiver, Item, NullOutbox, feed};
use super::headers::{Accept, SESSION_ID, accept, coding, is_json, mirrored, single};
use super::in_flight::{Hangup, Pending};
use super::message::{EncodedReply, Message};
use super::reply::{Reply, empty, events, later, message, refuse, refuse_as};
use super::reply_body::ReplyBody;
use super::request_body::{pass_over, read};
use super::tenant::{Client, QueuePlace, TOO_MANY, Tenant};
use crate::protocol::{Code, Id, Incoming, Meta, Request, Revision, RpcError, TraceContext, parse};
use crate::sessions::{Admission, Outbox, Session, Ticket};
use crate::transport::batch;
use crate::transport::stdio::Limits;

/// A reply that takes longer than this is sent as a stream of events to a client that takes one, in
/// milliseconds.
const EVENTS_BEGIN_MS: u64 = 10_000;

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// Length from which messages are parsed with `block_in_place`, in bytes.
const LARGE_BYTES: usize = 256 * 1024;

/// Next step for a parsed message.
enum ParsedMessage {
    /// The reply is known already.
    Done(Box<Reply>),
    /// The message must be served.
    Serve(Box<Serving>),
}

/// A message to be served.
struct Serving {
    conversation: Arc<Conversation>,
    admitted: AdmittedWork,
    /// `true` if its reply opens a session.
    opens: bool,
    /// `true` if it belongs to a session, which can cancel it. A disconnect does not (2025-11-25,
    /// basic/transports.mdx, "Sending Messages to the Server").
    stays: bool,
    is_stateless: bool,
}

enum AdmittedWork {
    Request(Ticket, Queue),
    Batch(Vec<Id>, CancelToken),
}

/// Serves a POST request, whose body may pause for at most `silence`.
pub(super) async fn post(
    limits: Limits,
    silence: Duration,
    Client { tenant, token }: &Client,
    request: HttpRequest<Body>,
) -> Reply {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        let text = "the body must be JSON, with `Content-Type: application/json`";
        let reply = refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidRequest,
            text,
        );
        return pass_over(reply, &head.headers, body).await;
    }
    if let Some(coding) = coding(&head.headers) {
        let text = format!(
            "the body has `Content-Encoding: {coding}`, which is not supported; send it without \
             compression"
        );
        let mut reply = refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidRequest,
            text,
        );
        // The accepted coding (RFC 9110, 15.5.16).
        reply
            .headers_mut()
            .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        return pass_over(reply, &head.headers, body).await;
    }
    let accept = accept(&head.headers);
    if accept.is_nothing() {
        let reply = not_acceptable("application/json or text/event-stream");
        return pass_over(reply, &head.headers, body).await;
    }
    let message = match read(tenant, body, limits.max_line_bytes, silence).await {
        Ok(message) => message,
        Err(refusal) => return *refusal,
    };
    let step = if message.bytes.len() < LARGE_BYTES {
        look(tenant, &head, &message.bytes)
    } else {
        block_in_place(|| look(tenant, &head, &message.bytes))
    };
    match step {
        ParsedMessage::Done(reply) => *reply,
        ParsedMessage::Serve(serving) => {
            let place = tenant.queue(*token);
            serve(
                tenant,
                place,
                limits.stall_timeout,
                accept,
                *serving,
                message,
            )
            .await
        }
    }
}

fn not_acceptable(kinds: &str) -> Reply {
    let text = format!("`Accept` allows no supported type; it must allow {kinds}");
    refuse(StatusCode::NOT_ACCEPTABLE, Code::InvalidRequest, text)
}

fn reply_at_once(reply: Reply) -> ParsedMessage {
    ParsedMessage::Done(Box::new(reply))
}

fn bad(id: Option<&Id>, error: RpcError) -> ParsedMessage {
    reply_at_once(refuse_as(StatusCode::BAD_REQUEST, id, error))
}

/// Parses a message, and finds its session.
fn look(tenant: &Arc<Tenant>, head: &Parts, bytes: &[u8]) -> ParsedMessage {
    let incoming = parse(bytes);
    if let Err(step) = charge(tenant, &incoming) {
        return step;
    }
    match incoming {
        Incoming::Refused(refusal) => bad(
            refusal.id.as_ref(),
            RpcError::new(refusal.code, refusal.message),
        ),
        Incoming::Request(request) => match conversation(tenant, &head.headers, Some(&request)) {
            Ok((conversation, stays)) => {
                let state = || single(&head.headers, &TRACE_STATE);
                let trace = single(&head.headers, &TRACE_PARENT)
                    .and_then(|it| TraceContext::parse(it, state()));
                admit(conversation, stays, &request, trace)
            }
            Err(step) => step,
        },
        Incoming::Response(response) => match conversation(tenant, &head.headers, None) {
            Ok((conversation, _)) => {
                conversation.session.answered(&response);
                reply_at_once(empty(StatusCode::ACCEPTED))
            }
            Err(step) => step,
        },
        Incoming::Batch(members) => match conversation(tenant, &head.headers, None) {
            Ok((conversation, stays)) => {
                admit_batch(tenant, &head.headers, conversation, stays, &members)
            }
            Err(step) => step,
        },
    }
}

/// Returns the conversation of a message, and true if it is a session.
fn conversation(
    tenant: &Arc<Tenant>,
    headers: &HeaderMap,
    request: Option<&Request<'_>>,
) -> Result<(Arc<Conversation>, bool), ParsedMessage> {
    let id = request.and_then(|request| request.id.as_ref());
    let mirrored = mirrored(headers);
    let service = || Arc::clone(&tenant.service);
    let named = mirrored
        .version
        .map(|version| (version, Revision::parse(version)));
    // An invalid `_meta` is refused at admission.
    let meta = Meta::of(request.and_then(|request| request.params)).unwrap_or_default();
    if let (Some(request), Some(raw)) = (request, meta.protocol_version) {
        let own: String = serde_json::from_str(raw.get()).unwrap_or_default();
        mirrored
            .check(request, &own)
            .map_err(|error| bad(id, error))?;
        return Ok((Conversation::new(Session::new(service())), false));
    }
    match named {
        Some((_, Some(revision))) if revision.is_stateless() => {
            let message = format!(
                "revision {revision} needs `_meta` with `io.modelcontextprotocol/protocolVersion`"
            );
            return Err(bad(id, RpcError::new(Code::InvalidParams, message)));
        }
        Some((version, None)) => {
            let supported = Revision::ALL.map(Revision::as_str);
            let message = format!(
                "revision `{version}` is not supported; use one of {}",
                supported.join(", ")
            );
            let data = Some(json!({"supported": supported, "requested": version}));
            return Err(bad(
                id,
                RpcError {
                    data,
                    ..RpcError::new(Code::UnsupportedVersion, message)
                },
            ));
        }
        _ => {}
    }
    let opens =
        request.is_some_and(|request| request.method == "initialize" && request.id.is_some());
    if let Some(name) = single(headers, &SESSION_ID).filter(|_| !opens) {
        if let Some(conversation) = tenant.sessions.find(name) {
            return Ok((conversation, true));
        }
        if !request.is_some_and(needs_no_session) || tenant.sessions.was_closed(name) {
            return Err(reply_at_once(no_session(id)));
        }
    }
    let revision = named
        .and_then(|(_, revision)| revision)
        .unwrap_or(Revision::NEWEST_HANDSHAKE);
    Ok((Conversation::new(Session::of(service(), revision)), false))
}

/// Returns true for a request that is answered alike in every session. Old clients do not begin a
/// new one when theirs is gone, as after a restart of the server, so they are answered without one.
fn needs_no_session(request: &Request<'_>) -> bool {
    [
        "ping",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
    ]
    .contains(&&*request.method)
}

fn no_session(id: Option<&Id>) -> Reply {
    let message = "the session of `Mcp-Session-Id` does not exist or has ended. Begin a new one \
        with `initialize`, without that header";
    refuse_as(
        StatusCode::NOT_FOUND,
        id,
        RpcError::new(Code::InvalidRequest, message),
    )
}

/// Charges a message to the rate limit, even if it gets no reply.
fn charge(tenant: &Arc<Tenant>, incoming: &Incoming<'_>) -> Result<(), ParsedMessage> {
    tenant.charge(incoming.count()).map_err(|wait| {
        reply_at_once(later(
            StatusCode::TOO_MANY_REQUESTS,
            incoming.id(),
            wait,
            TOO_MANY,
        ))
    })
}

/// Admits a request. `trace` is from the headers; `_meta` takes precedence.
fn admit(
    conversation: Arc<Conversation>,
    stays: bool,
    request: &Request<'_>,
    trace: Option<TraceContext>,
) -> ParsedMessage {
    match conversation.session.admit(request) {
        Admission::Nothing => reply_at_once(empty(StatusCode::ACCEPTED)),
        Admission::Refused(refused) => bad(Some(&refused.id), refused.error),
        Admission::Admitted(mut ticket) => {
            ticket.trace = ticket.trace.or(trace);
            let weight = ticket.weight;
            let is_stateless = ticket.revision.is_stateless();
            let opens = request.method == "initialize" && !is_stateless;
            let admitted = AdmittedWork::Request(ticket, Queue::of(&request.method, weight));
            ParsedMessage::Serve(Box::new(Serving {
                conversation,
                admitted,
                opens,
                stays,
                is_stateless,
            }))
        }
    }
}

fn admit_batch(
    tenant: &Arc<Tenant>,
    headers: &HeaderMap,
    conversation: Arc<Conversation>,
    stays: bool,
    members: &[&RawValue],
) -> ParsedMessage {
    // Without a session and a version header, only one revision is possible.
    let is_said = stays || mirrored(headers).version.is_some();
    let (conversation, revision) = if is_said {
        let revision = conversation.session.state.revision();
        (conversation, revision)
    } else {
        let session = Session::of(Arc::clone(&tenant.service), Revision::V2025_03_26);
        (Conversation::new(session), Revision::V2025_03_26)
    };
    if let Some(message) = batch::fault(revision, members.len()) {
        return bad(None, RpcError::new(Code::InvalidRequest, message));
    }
    let ids: Vec<Id> = members.iter().filter_map(|member| id_of(member)).collect();
    let admitted = AdmittedWork::Batch(ids, CancelToken::new());
    ParsedMessage::Serve(Box::new(Serving {
        conversation,
        admitted,
        opens: false,
        stays,
        is_stateless: false,
    }))
}

fn id_of(member: &RawValue) -> Option<Id> {
    match parse(member.get().as_bytes()) {
        Incoming::Request(request) => request.id,
        _ => None,
    }
}

/// Serves the message. The reply is one JSON text if there are no other messages and it comes soon,
/// otherwise an event stream.
async fn serve(
    tenant: &Arc<Tenant>,
    place: Option<QueuePlace>,
    stall: Duration,
    accept: Accept,
    serving: Serving,
    message: Message,
) -> Reply {
    let Serving {
        conversation,
        admitted,
        opens,
        stays,
        is_stateless,
    } = serving;
    let Some(place) = place else {
        tenant.metrics.turned_away.fetch_add(1, Relaxed);
        let id = match &admitted {
            AdmittedWork::Request(ticket, _) => {
                conversation.session.withdraw(ticket);
                Some(&ticket.id)
            }
            AdmittedWork::Batch(..) => None,
        };
        let text = "too many calls wait already (--max-calls)";
        return later(
            StatusCode::SERVICE_UNAVAILABLE,
            id,
            Duration::from_secs(1),
            text,
        );
    };
    let (outbox, mut fed): (Arc<dyn Outbox>, Option<FeedReceiver>) = if accept.events && !opens {
        let (feed, fed) = feed();
        (Arc::new(feed), Some(fed))
    } else {
        (Arc::new(NullOutbox), None)
    };
    let work = match admitted {
        AdmittedWork::Request(ticket, queue) => Work::Request(ticket, message, queue),
        AdmittedWork::Batch(ids, cancel) => Work::Batch(message, ids, cancel),
    };
    let hangup = (!stays).then(|| {
        let (stopped, conversation) = (work.cancel().clone(), conversation.clone());
        Hangup::new(move || {
            stopped.cancel();
            conversation.session.cancel_all();
        })
    });
    let runner = CallRunner {
        tenant: Arc::clone(tenant),
        conversation: conversation.clone(),
        outbox,
        stall,
    };
    let mut pending = runner.start(place, work);
    let first = tokio::select! {
        biased;
        item = next(&mut fed), if fed.is_some() => Some(item),
        answer = &mut pending => {
            // A message sent before the reply may arrive only now.
            let Some(item) = fed.as_mut().and_then(FeedReceiver::try_next) else {
                if let Some(hangup) = hangup {
                    hangup.disarm();
                }
                return finish(tenant, accept, &conversation, opens, is_stateless, answer);
            };
            pending = Pending::Known(answer);
            Some(item)
        }
        () = sleep(Duration::from_millis(EVENTS_BEGIN_MS)), if fed.is_some() => None,
    };
    match fed {
        Some(fed) => events(ReplyBody::events(first, fed, Some(pending), hangup)),
        // Unreachable: only clients with a feed come here.
        None => empty(StatusCode::ACCEPTED),
    }
}

/// Returns the next message, or waits forever if none will come: the reply has its own channel.
async fn next(fed: &mut Option<FeedReceiver>) -> Item {
    if let Some(fed) = fed
        && let Some(item) = fed.next().await
    {
        return item;
    }
    std::future::pending().await
}

/// Builds the complete reply.
fn finish(
    tenant: &Arc<Tenant>,
    accept: Accept,
    conversation: &Arc<Conversation>,
    opens: bool,
    is_stateless: bool,
    answer: Option<EncodedReply>,
) -> Reply {
    // A cancelled request has no reply, but HTTP requires a response.
    let Some(answer) = answer else {
        return empty(StatusCode::ACCEPTED);
    };
    tenant
        .metrics
        .sent_bytes
        .fetch_add(answer.bytes.len() as u64, Relaxed);
    let status = match answer.code.filter(|_| is_stateless).map(Code::number) {
        Some(-32601) => StatusCode::NOT_FOUND,
        // Codes about the request itself. The second-last code may also come from a service.
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    let session = if opens && answer.code.is_none() {
        let Some(name) = tenant.sessions.open(Arc::clone(conversation)) else {
            let text = "all sessions are in use (--max-sessions)";
            return later(
                StatusCode::SERVICE_UNAVAILABLE,
                None,
                Duration::from_secs(1),
                text,
            );
        };
        HeaderValue::try_from(name).ok()
    } else {
        None
    };
    let mut reply = if accept.json || status != StatusCode::OK {
        message(status, answer)
    } else {
        events(ReplyBody::single(answer))
    };
    if let Some(session) = session {
        reply.headers_mut().insert(SESSION_ID, session);
    }
    reply
}

/// Returns the session id of a request without a body.
fn session_id<'a>(headers: &'a HeaderMap, tenant: &Tenant) -> Result<&'a str, Box<Reply>> {
    let is_stateless = mirrored(headers)
        .version
        .and_then(Revision::parse)
        .is_some_and(Revision::is_stateless);
    let Some(name) = single(headers, &SESSION_ID).filter(|_| !is_stateless) else {
        return Err(Box::new(only_post()));
    };
    tenant
        .sessions
        .find(name)
        .map(|_| name)
        .ok_or_else(|| Box::new(no_session(None)))
}

/// Error reply without a session: only POST is possible.
pub(super) fn only_post() -> Reply {
    let text = "without `Mcp-Session-Id` only POST is allowed";
    let mut reply = refuse(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidRequest, text);
    reply
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("POST"));
    reply
}

/// Opens the event stream of a session's unsolicited messages.
pub(super) fn listen(tenant: &Arc<Tenant>, headers: &HeaderMap) -> Reply {
    let name = match session_id(headers, tenant) {
        Ok(name) => name.to_owned(),
        Err(refusal) => return *refusal,
    };
    if !accept(headers).events {
        return not_acceptable("text/event-stream");
    }
    let (feed, fed) = feed();
    if !tenant.sessions.listen(&name, &feed) {
        return no_session(None);
    }
    let tenant = Arc::clone(tenant);
    let hangup = Hangup::new(move || tenant.sessions.leave(&name, &feed));
    events(ReplyBody::events(None, fed, None, Some(hangup)))
}

pub(super) fn end(tenant: &Arc<Tenant>, headers: &HeaderMap) -> Reply {
    match session_id(headers, tenant) {
        Ok(name) if tenant.sessions.close(name) => empty(StatusCode::NO_CONTENT),
        Ok(_) => no_session(None),
        Err(refusal) => *refusal,
    }
}
