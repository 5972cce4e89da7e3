//! Responses: their headers, and errors that never reach a session.

use std::time::Duration;

use hyper::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};

use super::message::EncodedReply;
use super::reply_body::ReplyBody;
use crate::protocol::{Code, Id, Revision, RpcError, render};

/// An HTTP response.
pub(super) type Reply = Response<ReplyBody>;

/// Returns a response with this body. Proxies must not cache it, nor guess its type.
pub(super) fn reply(status: StatusCode, kind: &'static str, body: ReplyBody) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
    reply
}

pub(super) fn json(status: StatusCode, text: impl Into<Vec<u8>>) -> Reply {
    reply(status, "application/json", ReplyBody::text(text))
}

/// Returns a response with a protocol message.
pub(super) fn message(status: StatusCode, answer: EncodedReply) -> Reply {
    reply(status, "application/json", ReplyBody::whole(answer))
}

/// Returns an event stream.
pub(super) fn events(body: ReplyBody) -> Reply {
    let mut reply = reply(StatusCode::OK, "text/event-stream", body);
    let headers = reply.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Some proxies buffer a reply before they pass it on.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    reply
}

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(ReplyBody::text(""));
    *reply.status_mut() = status;
    reply
}

/// Returns an error that belongs to no request.
pub(super) fn refuse(status: StatusCode, code: Code, message: impl Into<String>) -> Reply {
    refuse_as(status, None, RpcError::new(code, message))
}

/// Returns an error for the request with this id.
pub(super) fn refuse_as(status: StatusCode, id: Option<&Id>, error: RpcError) -> Reply {
    let mut bytes = Vec::new();
    render(&mut bytes, id, &Err(error), Revision::NEWEST_HANDSHAKE);
    json(status, bytes)
}

/// Returns a temporary error, with at least one second in `Retry-After`: some clients would not
/// wait at all otherwise.
pub(super) fn later(status: StatusCode, id: Option<&Id>, wait: Duration, text: &str) -> Reply {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let seconds = seconds.max(1);
    let error = RpcError::new(Code::Internal, format!("{text}; try again in {seconds} s"));
    let mut reply = refuse_as(status, id, error);
    reply.headers_mut().insert(RETRY_AFTER, seconds.into());
    reply
}

/// Reason for a 401 reply.
#[derive(Clone, Copy)]
pub(super) enum TokenFault {
    Missing,
    /// The header has another scheme, no token, or occurs twice.
    Malformed,
    Unknown,
}

/// Error for a request without a valid token (RFC 6750, section 3).
pub(super) fn unauthorized(fault: TokenFault) -> Reply {
    let text = match fault {
        TokenFault::Missing => "a token is needed: send `Authorization: Bearer TOKEN`",
        TokenFault::Malformed => "`Authorization` must be `Bearer TOKEN`, and occur once",
        TokenFault::Unknown => {
            "the token is unknown or was revoked; ask the operator for a new one, or for a reload \
             (SIGHUP) if it is new"
        }
    };
    let challenge = match fault {
        TokenFault::Missing => "Bearer realm=\"replay\"",
        TokenFault::Malformed | TokenFault::Unknown => {
            "Bearer realm=\"replay\", error=\"invalid_token\""
        }
    };
    let mut reply = refuse(StatusCode::UNAUTHORIZED, Code::InvalidRequest, text);
    reply
        .headers_mut()
        .insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    reply
}
