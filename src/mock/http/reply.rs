//! Responses.

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE,
    HeaderName, HeaderValue, LOCATION,
};
use hyper::{Response, StatusCode};
use serde_json::Value;

/// Body of a response, which may break.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;
pub(crate) type Reply = Response<Body>;

/// Header of every response of the simulation.
const SIMULATION: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-mock"),
    HeaderValue::from_static("a simulation of replay mock, which protects nothing"),
);

pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Returns a response.
pub(crate) fn reply(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(whole(text));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    mark(&mut reply);
    reply
}

/// Tells that the response is of a mock, and lets pages of any origin read it, since clients in
/// browsers ask across origins.
pub(crate) fn mark(reply: &mut Reply) {
    let (name, value) = SIMULATION;
    let headers = reply.headers_mut();
    headers.insert(name, value);
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let read = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, read);
}

pub(crate) fn json(status: StatusCode, value: &Value) -> Reply {
    reply(status, "application/json", value.to_string())
}

/// Returns an event stream.
pub(crate) fn events(text: impl Into<Bytes>) -> Reply {
    reply(StatusCode::OK, "text/event-stream", text)
}

/// Returns a page with this title and body in HTML.
pub(crate) fn page(status: StatusCode, title: &str, body: &str) -> Reply {
    let text = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>\
         <body><h1>{title}</h1>{body}\
         <p>This page is a mock. It protects nothing, and its user does not exist.</html>\n"
    );
    let mut page = reply(status, "text/html; charset=utf-8", text);
    page.headers_mut().insert(
        HeaderName::from_static("content-security-policy"),
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    page
}

/// Returns a redirect. A URL that no header can hold is a client's error.
pub(crate) fn redirect(status: StatusCode, url: &str) -> Reply {
    let Ok(location) = HeaderValue::try_from(url) else {
        return page(StatusCode::BAD_REQUEST, "The redirect URI is invalid", "");
    };
    let mut reply = reply(status, "text/plain", "");
    reply.headers_mut().insert(LOCATION, location);
    reply
}

/// Escapes a text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
