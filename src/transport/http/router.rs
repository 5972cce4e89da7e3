//! Which request goes where, after it was asked whether it may be answered at all.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, AUTHORIZATION, CONTENT_SECURITY_POLICY, HOST,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Request, StatusCode, Version};

use super::activity::Open;
use super::body::ReplyBody;
use super::guard::From;
use super::mcp::{self, single};
use super::reply::{Reply, empty, json, refuse, reply, unauthorized};
use super::tenant::{Tenant, by_token};
use super::{Shared, pages, watching, websocket};
use crate::protocol::Code;

/// Answers one request.
pub async fn answer(shared: Arc<Shared>, open: Open, request: Request<Incoming>) -> Result<Reply, Infallible> {
    if request.uri().path() == "/health" {
        return Ok(health(&shared, &request).map(|body| body.on(open)));
    }
    let authority = authority(&request);
    let origin = single(request.headers(), &ORIGIN);
    if !shared.guard.allows_host(authority) {
        let text = "the server does not answer to the name in `Host` (--allow-host)";
        return Ok(refuse(StatusCode::FORBIDDEN, Code::InvalidRequest, text).map(|body| body.on(open)));
    }
    let page = match shared.guard.origin(origin, authority) {
        From::Stranger => {
            let text = "the page at `Origin` may not ask this server (--allow-origin)";
            return Ok(refuse(StatusCode::FORBIDDEN, Code::InvalidRequest, text).map(|body| body.on(open)));
        }
        From::Page => request.headers().get(ORIGIN).cloned(),
        From::Nowhere => None,
    };
    if request.method() == Method::OPTIONS {
        let preflight = page.map_or_else(|| empty(StatusCode::FORBIDDEN), preflight);
        return Ok(preflight.map(|body| body.on(open)));
    }
    if request.uri().path() == "/" {
        let page = match *request.method() {
            Method::GET | Method::HEAD => shared.page.answer(),
            _ => only("GET"),
        };
        return Ok(page.map(|body| body.on(open)));
    }
    let answered = match tenant(&shared, request.headers()) {
        Ok(tenant) if request.uri().path() == "/mcp/ws" => {
            // The connection lives on behind the reply, and counts as busy.
            let (switched, open) = websocket::upgrade(&shared, tenant, open, request);
            let body_of_none = |body: ReplyBody| match open {
                Some(open) => body.on(open),
                None => body,
            };
            return Ok(switched.map(body_of_none));
        }
        Ok(tenant) => route(&shared, tenant, request).await,
        Err(refusal) => *refusal,
    };
    let mut answered = answered;
    if let Some(page) = page {
        let headers = answered.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate"));
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
    Ok(answered.map(|body| body.on(open)))
}

/// The host that a request is for: HTTP/2 has it in its pseudo-headers.
fn authority(request: &Request<Incoming>) -> Option<&str> {
    match request.version() {
        Version::HTTP_2 => request.uri().authority().map(hyper::http::uri::Authority::as_str),
        _ => single(request.headers(), &HOST),
    }
}

/// Says that the process is there, and whether it serves calls, to anybody: it tells nothing else.
fn health(shared: &Shared, request: &Request<Incoming>) -> Reply {
    match *request.method() {
        Method::GET | Method::HEAD if !shared.ledger.is_well() => {
            json(StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"failing\"}")
        }
        Method::GET | Method::HEAD => json(StatusCode::OK, "{\"status\":\"ok\"}"),
        _ => only("GET"),
    }
}

/// An answer to a browser that asks before its page may (Fetch standard, 3.3).
fn preflight(page: HeaderValue) -> Reply {
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    let allowed = "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
        Last-Event-ID, traceparent, tracestate";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    reply
}

/// Whose request it is (RFC 6750, section 2.1; tokens in forms and in addresses end up in logs, and are not looked for).
fn tenant(shared: &Arc<Shared>, headers: &HeaderMap) -> Result<Arc<Tenant>, Box<Reply>> {
    if let Some(anyone) = &shared.anyone {
        return Ok(Arc::clone(anyone));
    }
    let given = single(headers, &AUTHORIZATION);
    let token = given.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = token.and_then(|token| by_token(&shared.tenants, token));
    found.cloned().ok_or_else(|| {
        shared.unauthorized.fetch_add(1, Relaxed);
        Box::new(unauthorized(given.is_some()))
    })
}

async fn route(shared: &Arc<Shared>, tenant: Arc<Tenant>, request: Request<Incoming>) -> Reply {
    let path = request.uri().path().to_owned();
    let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_told = path == "/activity" || path.starts_with("/activity/");
    let reply = match &*path {
        "/mcp" => {
            return match *request.method() {
                Method::POST => mcp::post(shared, &tenant, request).await,
                Method::GET => mcp::listen(&tenant, request.headers()),
                Method::DELETE => mcp::end(&tenant, request.headers()),
                _ => only("GET, POST, DELETE"),
            };
        }
        "/health/detailed" | "/metrics" | "/openapi.json" | "/docs" if !is_get => only("GET"),
        _ if is_told && !is_get => only("GET"),
        "/activity" => watching::list(shared, &tenant, request.uri().query()),
        "/activity/stream" => watching::stream(shared, &tenant, request.headers()),
        "/health/detailed" => json(StatusCode::OK, pages::health(shared, &tenant)),
        "/metrics" => reply(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            ReplyBody::text(pages::metrics(shared, &tenant)),
        ),
        "/openapi.json" => json(StatusCode::OK, drawn(Arc::clone(&tenant), pages::openapi).await),
        "/docs" => {
            let page = ReplyBody::text(drawn(Arc::clone(&tenant), pages::docs).await);
            let mut reply = reply(StatusCode::OK, "text/html; charset=utf-8", page);
            let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
            reply.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
            reply
        }
        _ if is_told => watching::one(shared, &tenant, path.trim_start_matches("/activity/")),
        _ => {
            let text = "nothing is here; the server is at /mcp, its documentation at /docs, what it does at /";
            refuse(StatusCode::NOT_FOUND, Code::InvalidRequest, text)
        }
    };
    let (head, body) = reply.into_parts();
    let Some(body) = body.accounted(&tenant) else {
        let text = "replies that nobody has read take all the room there is for them; read those first";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, Code::Internal, text);
    };
    Reply::from_parts(head, body)
}

/// A page about the tools. They are asked for, and who answers may take its time.
async fn drawn(tenant: Arc<Tenant>, draw: fn(&Tenant) -> String) -> String {
    tokio::task::spawn_blocking(move || draw(&tenant)).await.unwrap_or_default()
}

fn only(methods: &'static str) -> Reply {
    let text = format!("only {methods} here");
    let mut reply = refuse(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidRequest, text);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    reply
}
