//! Routing of requests, after the checks of host, origin and token.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW,
    AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, Version};
use replay_base::limits::HTTP_STATUS_PER_MINUTE;
use tokio::sync::watch;

use super::activity::Open;
use super::auth_failures::Refusals;
use super::headers::single;
use super::origin::{Guard, RequestOrigin};
use super::pages::ServerCounters;
use super::peer::Peer;
use super::reply::{Reply, TokenFault, empty, json, later, refuse, reply, unauthorized};
use super::reply_body::ReplyBody;
use super::request_body::{pass_over, send};
use super::roster::Roster;
use super::tenant::{Client, Tenant, by_token, digest_of};
use super::tls::Encryption;
use super::watching::Pages;
use super::{mcp, pages, watching, websocket};
use crate::protocol::Code;
use crate::sessions::{Ledger, Recent};
use crate::telemetry::Tracer;
use crate::transport::stdio::Limits;

/// State that all connections share.
pub(super) struct Context {
    pub guard: Guard,
    pub tenants: Arc<Roster>,
    /// The single tenant of a server without tokens.
    pub anyone: Option<Arc<Tenant>>,
    pub limits: Limits,
    pub client_timeout: Duration,
    pub tls: Option<Arc<Encryption>>,
    /// Recent calls of all tenants, for observers.
    pub recent: Arc<Recent>,
    pub pages: Pages,
    /// Ledger in which calls are entered.
    pub ledger: Arc<Ledger>,
    pub tracer: Option<Arc<Tracer>>,
    pub began: Instant,
    /// Number of requests without a valid token.
    pub unauthorized: AtomicU64,
    /// Addresses of requests with an invalid token.
    pub refusals: Refusals,
    /// Becomes true when the server ends.
    pub stop: watch::Receiver<bool>,
}

impl Context {
    /// Counters of the whole server.
    fn whole(&self) -> ServerCounters {
        let spans = self.tracer.as_ref().map(|tracer| tracer.counts());
        ServerCounters {
            unauthorized: self.unauthorized.load(Relaxed),
            spans,
        }
    }
}

pub(super) async fn answer(
    context: Arc<Context>,
    open: Open,
    request: Request<Incoming>,
) -> Result<Reply, Infallible> {
    let version = request.version();
    let page = match gate(&context, &request) {
        Ok(page) => page,
        Err(reply) => {
            let (head, body) = request.into_parts();
            return Ok(send(
                pass_over(*reply, &head.headers, body).await,
                open,
                version,
            ));
        }
    };
    let answered = match tenant(&context, request.headers(), open.activity.seat.peer()) {
        Ok(client) if !open.activity.seat.claim(&client.tenant, client.token) => {
            open.activity.seat.mark_silent();
            let (head, body) = request.into_parts();
            pass_over(
                too_many_connections(&client.tenant, version),
                &head.headers,
                body,
            )
            .await
        }
        Ok(client) if request.uri().path() == "/mcp/ws" => {
            // The connection outlives the reply, and counts as busy.
            let (switched, open) =
                websocket::upgrade(context.limits, &context.stop, client, open, request);
            let body_of_none = |body: ReplyBody| match open {
                Some(open) => body.on(open),
                None => body,
            };
            return Ok(switched.map(body_of_none));
        }
        Ok(known) => route(&context, known, request).await,
        Err(refusal) => {
            let (head, body) = request.into_parts();
            pass_over(*refusal, &head.headers, body).await
        }
    };
    let mut answered = answered;
    if let Some(page) = page {
        let headers = answered.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate"),
        );
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
    Ok(send(answered, open, version))
}

/// Checks host and origin. Returns `Err` with the reply if the request is refused or needs no
/// token. Otherwise returns the allowed `Origin` of the page, if any.
fn gate(context: &Context, request: &Request<Incoming>) -> Result<Option<HeaderValue>, Box<Reply>> {
    if request.uri().path() == "/health" {
        return Err(Box::new(health(context, request)));
    }
    let forbidden =
        |text: &str| Box::new(refuse(StatusCode::FORBIDDEN, Code::InvalidRequest, text));
    let Ok(authority) = authority(request) else {
        let text = "the request target and `Host` name different servers";
        return Err(Box::new(refuse(
            StatusCode::BAD_REQUEST,
            Code::InvalidRequest,
            text,
        )));
    };
    let origin = single(request.headers(), &ORIGIN);
    if !context.guard.allows_host(authority) {
        return Err(forbidden(
            "the name in `Host` is not allowed; the operator can allow it (--http-host)",
        ));
    }
    let page = match context.guard.origin(origin, authority) {
        RequestOrigin::Foreign => {
            return Err(forbidden(
                "the page at `Origin` is not allowed; the operator can allow it (--allow-origin)",
            ));
        }
        RequestOrigin::Page => request.headers().get(ORIGIN).cloned(),
        RequestOrigin::Own => None,
    };
    if request.method() == Method::OPTIONS {
        return Err(Box::new(
            page.map_or_else(|| empty(StatusCode::FORBIDDEN), preflight),
        ));
    }
    let is_docs = request.uri().path() == "/docs" && request.method() == Method::GET;
    if is_docs && context.anyone.is_none() && is_browser(request.headers()) {
        return Err(Box::new(context.pages.gate()));
    }
    if request.uri().path() == "/" {
        return Err(Box::new(match *request.method() {
            Method::GET | Method::HEAD => context.pages.calls(),
            _ => method_not_allowed("GET"),
        }));
    }
    Ok(page)
}

/// Returns true for a browser's own navigation, which sends no token.
fn is_browser(headers: &HeaderMap) -> bool {
    let takes_pages = |value: &HeaderValue| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("text/html"))
    };
    !headers.contains_key(AUTHORIZATION) && headers.get_all(ACCEPT).iter().any(takes_pages)
}

/// Returns the requested host; an error if the request names two. HTTP/2 has it in its
/// pseudo-headers. HTTP/1.1 has it in the target if that is a whole URL (RFC 9112, 3.2.2; RFC 9113,
/// 8.3.1).
fn authority(request: &Request<Incoming>) -> Result<Option<&str>, ()> {
    let header = single(request.headers(), &HOST);
    let Some(target) = request.uri().authority().map(Authority::as_str) else {
        return Ok(header);
    };
    match header {
        Some(header) if !header.eq_ignore_ascii_case(target) => Err(()),
        _ => Ok(Some(target)),
    }
}

/// Health check for any client: whether the process serves calls, and no more.
fn health(context: &Context, request: &Request<Incoming>) -> Reply {
    match *request.method() {
        Method::GET | Method::HEAD if !context.ledger.is_well() => {
            json(StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"failing\"}")
        }
        Method::GET | Method::HEAD => json(StatusCode::OK, "{\"status\":\"ok\"}"),
        _ => method_not_allowed("GET"),
    }
}

/// Replies to a preflight request of an allowed page (Fetch standard, 3.3).
fn preflight(page: HeaderValue) -> Reply {
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    let allowed = "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
        Last-Event-ID, traceparent, tracestate";
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(allowed),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    reply
}

/// Error reply for a tenant at its connection limit.
fn too_many_connections(tenant: &Tenant, version: Version) -> Reply {
    tenant.metrics.turned_away.fetch_add(1, Relaxed);
    let text =
        "this client has reached its maximum of connections (--max-connections); reuse one of them";
    let mut reply = later(
        StatusCode::SERVICE_UNAVAILABLE,
        None,
        Duration::from_secs(1),
        text,
    );
    if version != Version::HTTP_2 {
        reply
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// Finds the tenant by its bearer token (RFC 6750, section 2.1). Tokens in forms and in addresses
/// end up in logs, and are ignored.
fn tenant(context: &Context, headers: &HeaderMap, peer: Peer) -> Result<Client, Box<Reply>> {
    if let Some(anyone) = &context.anyone {
        return Ok(Client {
            tenant: Arc::clone(anyone),
            token: None,
        });
    }
    let given = single(headers, &AUTHORIZATION);
    let token = given.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let fault = match (given, token) {
        (None, _) => TokenFault::Missing,
        (Some(_), None | Some("")) => TokenFault::Malformed,
        (Some(_), Some(_)) => TokenFault::Unknown,
    };
    let tenants = context.tenants.all();
    let found = token.and_then(|token| by_token(&tenants, token));
    found
        .map(|(tenant, token)| Client {
            tenant: Arc::clone(tenant),
            token: Some(token),
        })
        .ok_or_else(|| {
            // Only the holder of the token gets this message.
            if token.is_some_and(|token| context.tenants.is_unserved(digest_of(token))) {
                let text = "this token is not active yet; the log of the server has the reason";
                return Box::new(refuse(
                    StatusCode::SERVICE_UNAVAILABLE,
                    Code::Internal,
                    text,
                ));
            }
            context.unauthorized.fetch_add(1, Relaxed);
            if given.is_some() {
                context.refusals.note(peer);
            }
            Box::new(unauthorized(fault))
        })
}

async fn route(context: &Context, client: Client, request: Request<Incoming>) -> Reply {
    if request.uri().path() == "/mcp" && request.method() == Method::POST {
        return mcp::post(context.limits, context.client_timeout, &client, request).await;
    }
    let (head, body) = request.into_parts();
    let reply = page(context, &client.tenant, &head).await;
    pass_over(reply, &head.headers, body).await
}

/// Serves requests without a body.
async fn page(context: &Context, tenant: &Arc<Tenant>, head: &Parts) -> Reply {
    let path = head.uri.path();
    let is_get = matches!(head.method, Method::GET | Method::HEAD);
    let is_told = path == "/activity" || path.starts_with("/activity/");
    let reply = match path {
        "/mcp" => {
            return match head.method {
                Method::GET => mcp::listen(tenant, &head.headers),
                Method::DELETE => mcp::end(tenant, &head.headers),
                _ => method_not_allowed("GET, POST, DELETE"),
            };
        }
        "/health/detailed" | "/metrics" | "/openapi.json" | "/docs" if !is_get => {
            method_not_allowed("GET")
        }
        _ if is_told && !is_get => method_not_allowed("GET"),
        _ if let Err(wait) = tenant.charge_status() => {
            tenant.metrics.rate_limited.fetch_add(1, Relaxed);
            let text = format!(
                "more than {HTTP_STATUS_PER_MINUTE} requests in a minute, besides messages"
            );
            return later(StatusCode::TOO_MANY_REQUESTS, None, wait, &text);
        }
        "/activity" => watching::list(
            &context.recent,
            &context.tenants,
            context.began.elapsed(),
            tenant,
            head.uri.query(),
        ),
        "/activity/stream" => watching::stream(&context.recent, tenant, &head.headers),
        "/health/detailed" => json(
            StatusCode::OK,
            pages::health(
                &context.tenants,
                &context.ledger,
                context.began.elapsed(),
                tenant,
            ),
        ),
        "/metrics" => reply(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            ReplyBody::text(pages::metrics(
                &context.tenants,
                context.whole(),
                context.began.elapsed(),
                tenant,
            )),
        ),
        "/openapi.json" => json(
            StatusCode::OK,
            render_blocking(Arc::clone(tenant), pages::openapi).await,
        ),
        "/docs" => context
            .pages
            .tools(render_blocking(Arc::clone(tenant), pages::docs).await),
        _ if is_told => watching::detail(
            &context.recent,
            tenant,
            path.trim_start_matches("/activity/"),
        ),
        _ => {
            let text = "no page is at this path; the server is at /mcp, its documentation at \
                /docs, its activity at /";
            refuse(StatusCode::NOT_FOUND, Code::InvalidRequest, text)
        }
    };
    let (head, body) = reply.into_parts();
    let Some(body) = body.accounted(tenant) else {
        let text = "unread replies use all memory for replies; read them first";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, Code::Internal, text);
    };
    Reply::from_parts(head, body)
}

/// Renders a page about the tools on a blocking thread, since listing the tools may take long.
async fn render_blocking(tenant: Arc<Tenant>, draw: fn(&Tenant) -> String) -> String {
    tokio::task::spawn_blocking(move || draw(&tenant))
        .await
        .unwrap_or_default()
}

fn method_not_allowed(methods: &'static str) -> Reply {
    let text = format!("use {methods} at this path");
    let mut reply = refuse(StatusCode::METHOD_NOT_ALLOWED, Code::InvalidRequest, text);
    reply
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(methods));
    reply
}
