//! The front: receives requests, and forwards them to the server.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, AUTHORIZATION,
    HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use replay_mock::{Exchange, Exchanges, FaultPlace, HttpEvent, HttpFault, HttpFaultKind, Manifest};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::authorization::AuthorizationServer;
use crate::card;
use crate::events::{CutStreams, messages_of, with_revision};
use crate::faults::Faults;
use crate::message::{ClientRequest, tools};
use crate::note::Note;
use crate::reply::{Reply, json as json_reply, mark, page, redirect, reply};
use crate::upstream::{MCP, Upstream, strip};
use crate::watched::Watched;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Largest answer that a fault changes, in bytes. Others have no limit.
const MAX_CHANGED_BYTES: usize = 64 << 20;
/// Characters before a session id: all that it may have besides letters and digits (2025-11-25,
/// basic/transports.mdx, "Session Management").
const ODD: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
/// A revision that no client supports.
const UNKNOWN_REVISION: &str = "2099-01-01";
/// Connections at the same time; others wait.
const MAX_CONNECTIONS: usize = 512;
/// Largest body of a request to other paths than the MCP endpoint, in bytes.
const MAX_FORM_BYTES: usize = 64 << 10;
/// Timeout for the body of a request, in milliseconds.
const BODY_MS: u64 = 60_000;
/// Longest id of a session that is forgotten, in bytes.
const MAX_SESSION_BYTES: usize = 1024;
/// Sessions that are forgotten at most.
const MAX_FORGOTTEN: usize = 10_000;
/// Pause after a failed accept, in milliseconds.
const ACCEPT_PAUSE_MS: u64 = 100;

/// Settings of a front.
#[derive(Clone)]
pub struct FrontSettings {
    /// Its `auth`, `faults`, `card`, and the names in the card.
    pub manifest: Manifest,
    /// The server.
    pub upstream: Upstream,
    /// Observers of the exchanges with a real server. `None` for a mock, whose service has some.
    pub exchanges: Option<Arc<Exchanges>>,
    /// Revisions of the protocol in the card.
    pub versions: Vec<&'static str>,
    pub note: Note,
    /// Largest message of a client, in bytes.
    pub max_message_bytes: usize,
}

/// A running front, which stops when dropped.
#[derive(Debug)]
pub struct Front {
    runtime: Option<Runtime>,
}

impl Drop for Front {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Front {
    /// Serves connections of this listener, which must be at a loopback address.
    pub fn start(listener: TcpListener, settings: FrontSettings) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("front")
            .enable_all()
            .build()?;
        let origin = format!("http://{}", listener.local_addr()?);
        let faults = Faults::new(settings.manifest.faults.clone(), Arc::clone(&settings.note));
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let elsewhere = format!("http://{}", other.local_addr()?);
        let note = Arc::clone(&settings.note);
        let serve_elsewhere = move |request: Request<Incoming>| {
            let note = Arc::clone(&note);
            async move { Ok::<_, Infallible>(note_elsewhere(&note, &request)) }
        };
        runtime.spawn(accept(async_listener(&runtime, other)?, serve_elsewhere));
        let authorization = settings
            .manifest
            .auth
            .clone()
            .map(|auth| {
                AuthorizationServer::new(
                    auth,
                    origin.clone(),
                    format!("{origin}{MCP}"),
                    elsewhere.clone(),
                    Arc::clone(&settings.note),
                )
            })
            .transpose()
            .map_err(io::Error::other)?;
        let gate = Arc::new(Gate {
            card: card::card(
                &settings.manifest,
                &format!("{origin}{MCP}"),
                &settings.versions,
            ),
            settings,
            elsewhere,
            faults,
            authorization,
            streams: CutStreams::default(),
            limited: Mutex::default(),
            forgotten: Mutex::default(),
        });
        let listener = async_listener(&runtime, listener)?;
        runtime.spawn(accept(listener, move |request| {
            let gate = Arc::clone(&gate);
            async move { gate.answer(request).await }
        }));
        Ok(Self {
            runtime: Some(runtime),
        })
    }
}

fn async_listener(runtime: &Runtime, listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    let _entered = runtime.enter();
    tokio::net::TcpListener::from_std(listener)
}

/// Serves all connections. An error of `serve` ends its connection without an answer.
async fn accept<F, A, E>(listener: tokio::net::TcpListener, serve: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Result<Reply, E>> + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!("a connection cannot be accepted: {error}");
                sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                continue;
            }
        };
        let serve = serve.clone();
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service_fn(serve))
                .await;
            if let Err(error) = served {
                tracing::debug!("a connection has ended: {error}");
            }
            drop(place);
        });
    }
}

/// Notes a request to another origin.
fn note_elsewhere(note: &Note, request: &Request<Incoming>) -> Reply {
    let has_token = request.headers().contains_key(AUTHORIZATION);
    let path = request.uri().path();
    let method = request.method().as_str();
    note(
        HttpEvent::Elsewhere,
        json!({"method": method, "path": path, "authorization": has_token}),
    );
    json_reply(StatusCode::NOT_FOUND, &json!({"error": "not_found"}))
}

/// A connection that ends without an answer.
#[derive(Debug)]
struct HungUp;

impl std::fmt::Display for HungUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a fault has ended the connection")
    }
}

impl std::error::Error for HungUp {}

/// State of all connections.
struct Gate {
    settings: FrontSettings,
    elsewhere: String,
    faults: Faults,
    authorization: Option<AuthorizationServer>,
    card: Value,
    streams: CutStreams,
    /// Time and Retry-After of the last 429, until the next request.
    limited: Mutex<Option<(Instant, Duration)>>,
    /// Sessions that no longer exist.
    forgotten: Mutex<HashSet<String>>,
}

impl Gate {
    async fn answer(&self, request: Request<Incoming>) -> Result<Reply, HungUp> {
        if !is_local(request.headers()) {
            let text = "the name in `Host` is not one of this machine";
            return Ok(refusal(StatusCode::FORBIDDEN, -32600, text));
        }
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let is_mcp = path == MCP;
        if head.method == Method::OPTIONS {
            return Ok(preflight());
        }
        let most = if is_mcp {
            self.settings.max_message_bytes
        } else {
            MAX_FORM_BYTES
        };
        let is_long = body.size_hint().lower() > most as u64;
        let limited = timeout(
            Duration::from_millis(BODY_MS),
            Limited::new(body, most).collect(),
        );
        let body = if is_long { None } else { limited.await.ok() };
        let Some(Ok(body)) = body else {
            let text = format!(
                "the body is broken, longer than {most} bytes, or takes more than {} s",
                BODY_MS / 1000
            );
            return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE, -32600, &text));
        };
        let body = body.to_bytes();
        if is_mcp {
            return self.mcp(head, body).await;
        }
        let has_card = self.settings.exchanges.is_none() || !self.settings.manifest.card.is_empty();
        if has_card && card::PATHS.contains(&path) {
            return Ok(json_reply(StatusCode::OK, &self.card));
        }
        if let Some(server) = &self.authorization {
            if path == "/token"
                && let Some(fault) = self.faults.of_kind(HttpFaultKind::SlowToken)
            {
                sleep(Duration::from_millis(fault.number)).await;
            }
            let given = text(&head.headers, &AUTHORIZATION);
            let answer = server.answer(&head.method, &head.uri, given, &body, &self.faults);
            if let Some(reply) = answer {
                return Ok(reply);
            }
        }
        Ok(self.forward(&head, body, None).await)
    }

    /// Answers a request to the MCP endpoint.
    async fn mcp(&self, mut head: Parts, body: Bytes) -> Result<Reply, HungUp> {
        let said: Option<Value> = serde_json::from_slice(&body).ok();
        if said.is_none() && self.authorization.is_some() && head.method == Method::POST {
            // The server behind may read more than this, and a tool must not get around its scopes.
            let text = "the message is not JSON that this front reads";
            return Ok(refusal(StatusCode::BAD_REQUEST, -32700, text));
        }
        let said = said.unwrap_or_default();
        // Its answers are read and changed.
        head.headers.remove(ACCEPT_ENCODING);
        let session = text(&head.headers, &SESSION_ID).map(str::to_owned);
        let message = ClientRequest::of(&said, session.is_some());
        let message = message.filter(|_| head.method == Method::POST);
        if message.is_some() {
            self.note_retry();
        }
        if let Some(server) = &self.authorization {
            let given = text(&head.headers, &AUTHORIZATION);
            if let Err(refusal) = server.check(given, &tools(&said)) {
                return Ok(*refusal);
            }
        }
        if let Some(last) = text(&head.headers, &LAST_EVENT_ID)
            && let Some(rest) = self.streams.resume(last)
        {
            (self.settings.note)(HttpEvent::Resume, json!({"last_event_id": last}));
            return Ok(rest);
        }
        if session.is_some_and(|id| lock(&self.forgotten).contains(&id)) {
            let id = message.as_ref().map_or(Value::Null, |it| it.id.clone());
            return Ok(forgotten(&id));
        }
        let fault_at = |places: &[FaultPlace]| {
            let message = message.as_ref()?;
            self.faults.of_request(places, message)
        };
        if let Some(fault) = fault_at(&[FaultPlace::Request, FaultPlace::LaterRequest]) {
            let id = message.as_ref().map_or(Value::Null, |it| it.id.clone());
            match fault.kind {
                HttpFaultKind::Slow => sleep(Duration::from_millis(fault.number)).await,
                HttpFaultKind::Hang => pending().await,
                _ => return self.faulty(fault, &head, &id),
            }
        }
        restore_session(&mut head.headers);
        let seen = self.settings.exchanges.as_ref();
        let seen = seen.filter(|_| head.method == Method::POST);
        let mut exchange = seen.map(|seen| seen.begin(&body, text(&head.headers, &REVISION)));
        if self.authorization.is_some() {
            head.headers.remove(AUTHORIZATION);
        }
        let Some(fault) = fault_at(&[FaultPlace::Answer, FaultPlace::Handshake]) else {
            return Ok(self.forward(&head, body, exchange).await);
        };
        let answer = match self.settings.upstream.ask(&head, true, body).await {
            Ok(answer) => answer,
            Err(error) => return Ok(unreachable(&error)),
        };
        let (mut head, body) = answer.into_parts();
        strip(&mut head.headers);
        let Ok(body) = Limited::new(body, MAX_CHANGED_BYTES).collect().await else {
            return Err(HungUp);
        };
        let mut answer = Response::from_parts(head, body.to_bytes());
        if let Some(exchange) = &mut exchange {
            for message in messages_of(answer.headers(), answer.body()) {
                exchange.receive(message.as_bytes());
            }
        }
        match fault.kind {
            HttpFaultKind::UnknownRevision => {
                answer = with_revision(answer, UNKNOWN_REVISION);
            }
            HttpFaultKind::OddSession => {
                if let Some(id) = text(answer.headers(), &SESSION_ID)
                    && let Ok(odd) = HeaderValue::try_from(format!("{ODD}{id}"))
                {
                    answer.headers_mut().insert(SESSION_ID, odd);
                }
            }
            kind => return Ok(self.streams.with_fault(kind, answer)),
        }
        let mut reply = answer.map(crate::reply::whole);
        mark(&mut reply);
        Ok(reply)
    }

    /// Forwards a request unchanged. `exchange` sees the answer.
    async fn forward(&self, head: &Parts, body: Bytes, exchange: Option<Exchange>) -> Reply {
        let mut head = head.clone();
        // A client in a browser, at a page of this machine.
        let origin = text(&head.headers, &ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
        if origin.is_some_and(|origin| origin.host().is_some_and(is_of_machine)) {
            head.headers.remove(ORIGIN);
        }
        let is_mcp = head.uri.path() == MCP;
        match self.settings.upstream.ask(&head, is_mcp, body).await {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                let body = Watched::new(body, &head.headers, exchange);
                let body = body.map_err(io::Error::other).boxed_unsync();
                let mut reply = Response::from_parts(head, body);
                strip(reply.headers_mut());
                mark(&mut reply);
                reply
            }
            Err(error) => unreachable(&error),
        }
    }

    /// Answers a request to the MCP endpoint with a fault.
    fn faulty(&self, fault: HttpFault, head: &Parts, id: &Value) -> Result<Reply, HungUp> {
        let error = |status, code: i64, text: &str| refusal_of(id, status, code, text);
        Ok(match fault.kind {
            HttpFaultKind::Unauthorized => self.unauthorized("the token was revoked"),
            HttpFaultKind::TokenEcho => {
                let token = text(&head.headers, &AUTHORIZATION).unwrap_or_default();
                self.unauthorized(&format!("the token is not good: {token}"))
            }
            HttpFaultKind::InsufficientScope => match &self.authorization {
                Some(server) => server.insufficient("mock:more"),
                None => error(StatusCode::FORBIDDEN, -32600, "the token lacks a scope"),
            },
            HttpFaultKind::RateLimited => {
                let wait = Duration::from_secs(fault.number);
                *lock(&self.limited) = Some((Instant::now(), wait));
                let text = "too many requests";
                let mut reply = error(StatusCode::TOO_MANY_REQUESTS, -32603, text);
                reply.headers_mut().insert(RETRY_AFTER, fault.number.into());
                reply
            }
            HttpFaultKind::BadGateway => page(StatusCode::BAD_GATEWAY, "502 Bad Gateway", ""),
            HttpFaultKind::Redirect => {
                let url = format!("{}{MCP}", self.elsewhere);
                redirect(StatusCode::TEMPORARY_REDIRECT, &url)
            }
            HttpFaultKind::ForgetSession => {
                let mut sessions = lock(&self.forgotten);
                if let Some(id) = text(&head.headers, &SESSION_ID)
                    && sessions.len() < MAX_FORGOTTEN
                    && id.len() <= MAX_SESSION_BYTES
                {
                    sessions.insert(id.to_owned());
                }
                forgotten(id)
            }
            HttpFaultKind::VersionRefused => {
                let data = json!({
                    "supported": self.settings.versions,
                    "requested": text(&head.headers, &REVISION),
                });
                let text = "the protocol version is not supported";
                let error = json!({"code": -32022, "message": text, "data": data});
                let refusal = json!({"jsonrpc": "2.0", "id": id, "error": error});
                json_reply(StatusCode::BAD_REQUEST, &refusal)
            }
            HttpFaultKind::HeaderMismatch => error(
                StatusCode::BAD_REQUEST,
                -32020,
                "a header differs from the message",
            ),
            // The other kinds have other places.
            _ => return Err(HungUp),
        })
    }

    fn unauthorized(&self, reason: &str) -> Reply {
        if let Some(server) = &self.authorization {
            return server.unauthorized(Some(reason));
        }
        let mut reply = refusal(StatusCode::UNAUTHORIZED, -32600, reason);
        let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
        reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        reply
    }

    /// Notes the first request after a 429.
    fn note_retry(&self) {
        let last = lock(&self.limited).take();
        if let Some((at, wait)) = last {
            let after = at.elapsed();
            (self.settings.note)(
                HttpEvent::Retry,
                json!({"after_ms": after.as_millis() as u64, "early": after < wait}),
            );
        }
    }
}

/// Returns the value of a header that is a text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Returns true if `Host` is a name of this machine, so that pages of other names cannot ask.
fn is_local(headers: &HeaderMap) -> bool {
    let host = text(headers, &HOST).filter(|host| !host.contains('@'));
    let host = host.and_then(|host| host.parse::<Uri>().ok());
    let host = host.as_ref().and_then(Uri::host);
    host.is_some_and(is_of_machine)
}

fn is_of_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the odd characters before a session id.
fn restore_session(headers: &mut HeaderMap) {
    let plain = text(headers, &SESSION_ID)
        .and_then(|id| id.strip_prefix(ODD))
        .and_then(|id| HeaderValue::try_from(id).ok());
    if let Some(plain) = plain {
        headers.insert(SESSION_ID, plain);
    }
}

fn refusal(status: StatusCode, code: i64, text: &str) -> Reply {
    refusal_of(&Value::Null, status, code, text)
}

fn refusal_of(id: &Value, status: StatusCode, code: i64, text: &str) -> Reply {
    let error = json!({"code": code, "message": text});
    json_reply(status, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn forgotten(id: &Value) -> Reply {
    refusal_of(
        id,
        StatusCode::NOT_FOUND,
        -32600,
        "the session does not exist",
    )
}

fn unreachable(error: &io::Error) -> Reply {
    let text = format!("the server behind the mock cannot be reached: {error}");
    refusal(StatusCode::BAD_GATEWAY, -32603, &text)
}

/// Lets pages of any origin ask.
fn preflight() -> Reply {
    let mut reply = reply(StatusCode::NO_CONTENT, "text/plain", "");
    let headers = reply.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, DELETE");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    // `*` stands for all others (Fetch, "CORS protocol").
    let names = HeaderValue::from_static("*, Authorization");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
    reply
}
