//! One connection whose requests are judged before they are forwarded. Either it has no TLS, or a
//! rule inspects its requests; then TLS ends here with the authority of the run.
//!
//! Judged messages are serialized again, so the real server parses the same message and the same
//! end. Bodies are streamed.

mod body;

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, UPGRADE};
use http::uri::{PathAndQuery, Scheme};
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, request, response,
};
use hyper::body::Incoming;
use hyper::client::conn::{http1 as to_server_1, http2 as to_server_2};
use hyper::server::conn::{http1 as to_client_1, http2 as to_client_2};
use hyper::service::service_fn;
use hyper::upgrade::{self, OnUpgrade};
use hyper_util::rt::{TokioExecutor, TokioIo};
use replay_base::limits::{
    HTTP2_CONNECTION_BYTES, HTTP2_WINDOW_BYTES, MAX_HTTP_FIELDS, MAX_HTTP2_STREAMS,
    MAX_OPENED_HEAD_BYTES,
};
use rustix::net::sockopt::set_socket_linger;
use tokio::io::copy_bidirectional;

use self::body::AnswerBody;
use super::context::Context;
use super::host_mismatch::{Misfit, fits};
use super::session::Hub;
use super::stream::Stream;
use super::tls;
use crate::call::Target;
use crate::http::h1;

/// Longest head of an answer on an opened connection of HTTP/2, in bytes as RFC 9113, 6.5.2, counts
/// them; in memory it takes up to twice that.
const MAX_HTTP2_ANSWER_HEAD_BYTES: u32 = MAX_OPENED_HEAD_BYTES as u32 / 2;
/// Memory for a field of an HTTP head besides its name and value, in bytes.
const HTTP_FIELD_BYTES: usize = 128;

/// Judge of requests and answers on an opened connection. It may change them, and it must not
/// block.
pub trait Inspector: Send + Sync {
    /// Judges a request before it is forwarded, and may change its fields. The target is complete:
    /// scheme, host and port are those of the connection, as in `Host`.
    fn request(&self, head: &mut request::Parts) -> Result<(), Refusal>;

    /// Refuses a request that does not fit its connection.
    fn misfit(&self, misfit: Misfit) -> Refusal;

    /// Judges the head of an answer, and may change it. Returns a rewriter if the body must change.
    fn answer(&self, _head: &mut response::Parts) -> Result<Option<Box<dyn Rewriter>>, Refusal> {
        Ok(None)
    }
}

/// Streaming rewriter of a body without framing. It outputs as many bytes as it receives, possibly
/// later.
pub trait Rewriter: Send {
    /// Rewrites the next bytes and returns those that are ready.
    fn piece(&mut self, bytes: Bytes) -> Bytes;

    /// Returns the bytes held back, at the end of the body.
    fn rest(&mut self) -> Bytes;

    fn trailers(&mut self, _fields: &mut HeaderMap) {}
}

/// Reason for refusing a request (status 403) or an answer (status 502): a sentence for the
/// program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    fn into_answer(self, status: StatusCode) -> Response<AnswerBody> {
        let mut refused = Response::new(AnswerBody::text(self.0));
        *refused.status_mut() = status;
        refused
    }
}

/// Request sender to the real server.
enum RequestSender {
    Http1(tokio::sync::Mutex<to_server_1::SendRequest<Incoming>>),
    Http2(to_server_2::SendRequest<Incoming>),
}

struct OpenedConnection {
    shared: Arc<Hub>,
    target: Target,
    is_tls: bool,
    inspector: Arc<dyn Inspector>,
    sender: RequestSender,
    /// `true` if a request asked for an upgrade.
    may_switch: AtomicBool,
    /// Number of requests that wait for the real server.
    waiting: AtomicUsize,
    /// Both sides of the connection after an upgrade.
    switched: Mutex<Option<(OnUpgrade, OnUpgrade)>>,
}

/// Serves a connection until it ends. A violation is an error that contains the [`Misfit`].
pub(super) async fn serve(
    context: &Context,
    inspector: Arc<dyn Inspector>,
    mut client: Stream,
    server: Stream,
) -> io::Result<()> {
    let _room = context
        .shared
        .wait_for_memory(2 * MAX_OPENED_HEAD_BYTES)
        .await;
    let mut asked = Vec::new();
    if client.read_more(&mut asked).await? == 0 {
        return Ok(());
    }
    let is_tls = asked.first() == Some(&0x16);
    client.put_back_now(asked);
    let (client, server, protocol) = if is_tls {
        encrypted(context, client, server).await?
    } else {
        (client, server, None)
    };
    let opened = |sender| OpenedConnection {
        shared: Arc::clone(&context.shared),
        target: context.link.target.clone(),
        is_tls,
        inspector,
        sender,
        may_switch: AtomicBool::new(false),
        waiting: AtomicUsize::new(0),
        switched: Mutex::default(),
    };
    if protocol.as_deref() == Some(b"h2") {
        serve_http2(context, client, server, opened).await
    } else {
        serve_http1(context, client, server, opened).await
    }
}

/// Performs both TLS handshakes. Returns the negotiated protocol, if any.
async fn encrypted(
    context: &Context,
    mut client: Stream,
    server: Stream,
) -> io::Result<(Stream, Stream, Option<Vec<u8>>)> {
    let target = &context.link.target;
    let mut hello = tls::read_hello(&mut client)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::Other | io::ErrorKind::InvalidData => io::Error::other(Misfit::Unknown),
            _ => error,
        })?;
    match &hello.name {
        Some(name) => fits(target, name).map_err(io::Error::other)?,
        None if target.host.parse::<IpAddr>().is_ok() => {}
        None => return Err(io::Error::other(Misfit::NoName)),
    }
    hello
        .offers
        .retain(|offer| [&b"h2"[..], b"http/1.1"].contains(&&offer[..]));
    let (server, protocol) = match tls::connect(context, &hello, server).await {
        Ok(connected) => connected,
        Err(tls::HandshakeError::Certificate(reason)) => {
            tls::alert(client).await;
            return Err(io::Error::other(Misfit::Certificate(reason)));
        }
        Err(tls::HandshakeError::Other(reason)) => return Err(io::Error::other(reason)),
    };
    match tls::accept(context, &hello, client, protocol.clone()).await {
        Ok(client) => Ok((client, server, protocol)),
        Err(error) if tls::distrusts(context, &error) => Err(io::Error::other(Misfit::Distrust)),
        Err(error) => Err(error),
    }
}

/// Serves HTTP/1.
async fn serve_http1(
    context: &Context,
    client: Stream,
    server: Stream,
    opened: impl FnOnce(RequestSender) -> OpenedConnection,
) -> io::Result<()> {
    let socket = client.bottom().as_fd().try_clone_to_owned()?;
    let (sender, asking) = to_server_1::Builder::new()
        .preserve_header_case(true)
        .max_buf_size(MAX_OPENED_HEAD_BYTES)
        .max_headers(MAX_HTTP_FIELDS)
        .allow_spaces_after_header_name_in_responses(true)
        .handshake(TokioIo::new(server))
        .await
        .map_err(io::Error::other)?;
    let opened = Arc::new(opened(RequestSender::Http1(tokio::sync::Mutex::new(
        sender,
    ))));
    let answering = to_client_1::Builder::new()
        .preserve_header_case(true)
        .half_close(true)
        .auto_date_header(false)
        .max_buf_size(MAX_OPENED_HEAD_BYTES)
        .max_headers(MAX_HTTP_FIELDS)
        .serve_connection(
            TokioIo::new(client),
            service_fn(|request| Arc::clone(&opened).answer(request)),
        )
        .with_upgrades();
    let mut asking = pin!(asking.with_upgrades());
    let finish = to_client_1::UpgradeableConnection::graceful_shutdown;
    let ended = drive(&opened, pin!(answering), asking.as_mut(), finish).await;
    if ended.as_ref().is_err_and(hyper::Error::is_user) {
        // The real server truncated an answer. A reset tells the program, independent of the
        // framing.
        let _ = set_socket_linger(&socket, Some(Duration::ZERO));
    }
    drop(socket);
    let switched = opened.switched().take();
    let Some((client, server)) = switched else {
        return ending(context, &opened, ended);
    };
    let (client, server) = tokio::try_join!(client, server).map_err(io::Error::other)?;
    copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server))
        .await
        .map(|_| ())
}

/// Serves HTTP/2.
async fn serve_http2(
    context: &Context,
    client: Stream,
    server: Stream,
    opened: impl FnOnce(RequestSender) -> OpenedConnection,
) -> io::Result<()> {
    let heads = MAX_HTTP2_STREAMS as usize * MAX_OPENED_HEAD_BYTES;
    let _room = context
        .shared
        .wait_for_memory(2 * HTTP2_CONNECTION_BYTES + heads)
        .await;
    let (sender, asking) = to_server_2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(HTTP2_WINDOW_BYTES)
        .initial_connection_window_size(4 * HTTP2_WINDOW_BYTES)
        .max_header_list_size(MAX_HTTP2_ANSWER_HEAD_BYTES)
        .handshake(TokioIo::new(server))
        .await
        .map_err(io::Error::other)?;
    let opened = Arc::new(opened(RequestSender::Http2(sender)));
    let served = Arc::clone(&opened);
    let answering = to_client_2::Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_concurrent_streams(MAX_HTTP2_STREAMS)
        .initial_stream_window_size(HTTP2_WINDOW_BYTES)
        .initial_connection_window_size(4 * HTTP2_WINDOW_BYTES)
        .max_header_list_size(MAX_OPENED_HEAD_BYTES as u32)
        .serve_connection(
            TokioIo::new(client),
            service_fn(move |request| Arc::clone(&served).answer(request)),
        );
    let ended = drive(
        &opened,
        pin!(answering),
        pin!(asking),
        to_client_2::Connection::graceful_shutdown,
    )
    .await;
    ending(context, &opened, ended)
}

/// Runs until the program's side has ended. After the real server closes, no further requests are
/// accepted.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    opened: &OpenedConnection,
    mut answering: Pin<&mut C>,
    mut asking: Pin<&mut impl Future<Output = hyper::Result<()>>>,
    finish: impl Fn(Pin<&mut C>),
) -> hyper::Result<()> {
    tokio::select! {
        ended = answering.as_mut() => {
            // Only the end of this task provides the other side of an upgrade.
            if opened.switched().is_some() {
                let _ = asking.await;
            }
            return ended;
        }
        _ = asking.as_mut() => {}
    }
    if !opened.may_switch.load(Relaxed) {
        finish(answering.as_mut());
    }
    answering.await
}

/// Returns the result of a connection, with violations as [`Misfit`].
fn ending(
    context: &Context,
    opened: &OpenedConnection,
    ended: hyper::Result<()>,
) -> io::Result<()> {
    let below = ended
        .as_ref()
        .err()
        .and_then(|error| error.source()?.downcast_ref::<io::Error>());
    let is_distrust = below.is_some_and(|below| tls::distrusts(context, below));
    match ended {
        Err(error) if error.is_parse() || error.is_incomplete_message() => {
            Err(io::Error::other(Misfit::Malformed))
        }
        // No request followed the handshake.
        _ if is_distrust || opened.is_tls && !context.shared.is_trusted(&opened.target) => {
            Err(io::Error::other(Misfit::Distrust))
        }
        ended => ended.map_err(io::Error::other),
    }
}

/// Returns the approximate memory size of a head, in bytes.
pub(super) fn head_bytes(target: &Uri, fields: &HeaderMap) -> usize {
    let fields = fields
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + HTTP_FIELD_BYTES);
    target.path().len() + target.query().map_or(0, str::len) + fields.sum::<usize>()
}

impl RequestSender {
    async fn send(&self, request: Request<Incoming>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                let mut sender = sender.lock().await;
                sender.ready().await?;
                let answer = sender.send_request(request);
                drop(sender);
                answer.await
            }
            Self::Http2(sender) => {
                let mut sender = sender.clone();
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

/// Guard of a request that waits for the real server.
struct ServerWait<'a>(&'a OpenedConnection);

impl Drop for ServerWait<'_> {
    fn drop(&mut self) {
        if self.0.waiting.fetch_sub(1, SeqCst) == 1 {
            self.0.shared.judging.resume();
        }
    }
}

impl OpenedConnection {
    /// Answers a request. An error ends the connection or the stream, like the real server does.
    async fn answer(
        self: Arc<Self>,
        mut request: Request<Incoming>,
    ) -> hyper::Result<Response<AnswerBody>> {
        self.shared.mark_trusted(&self.target);
        let mut held = self.shared.share();
        // HTTP/2 has many concurrent requests, each with a received head.
        if request.version() == Version::HTTP_2
            && held
                .try_grow(head_bytes(request.uri(), request.headers()))
                .is_err()
        {
            let refusal =
                Refusal("more requests at once than --memory-mib leaves room for".to_owned());
            return Ok(refusal.into_answer(StatusCode::SERVICE_UNAVAILABLE));
        }
        let switch = upgrade::on(&mut request);
        let (mut head, body) = request.into_parts();
        let judged = match self.complete(&mut head) {
            Ok(()) => self.inspector.request(&mut head),
            Err(misfit) => Err(self.inspector.misfit(misfit)),
        };
        if let Err(refusal) = judged {
            return Ok(refusal.into_answer(StatusCode::FORBIDDEN));
        }
        if let RequestSender::Http1(_) = self.sender {
            let origin = head.uri.path_and_query().cloned();
            head.uri = Uri::from(origin.unwrap_or_else(|| PathAndQuery::from_static("/")));
        }
        self.may_switch
            .fetch_or(head.headers.contains_key(UPGRADE), Relaxed);
        let waiting = self.wait_for_server();
        let sent = self.sender.send(Request::from_parts(head, body)).await;
        drop(waiting);
        let mut answer = match sent {
            Err(error) if error.is_parse() => {
                let refusal = Refusal("the answer of the server is not valid HTTP".to_owned());
                return Ok(refusal.into_answer(StatusCode::BAD_GATEWAY));
            }
            answer => answer?,
        };
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            *self.switched() = Some((switch, upgrade::on(&mut answer)));
        }
        let (mut head, body) = answer.into_parts();
        Ok(match self.inspector.answer(&mut head) {
            Ok(rewriter) => Response::from_parts(head, AnswerBody::passing(body, rewriter)),
            Err(refusal) => refusal.into_answer(StatusCode::BAD_GATEWAY),
        })
    }

    /// Counts a request that waits for its answer. Until all are answered, the connection's verdict
    /// is not awaited.
    fn wait_for_server(&self) -> ServerWait<'_> {
        if self.waiting.fetch_add(1, SeqCst) == 0 {
            self.shared.judging.suspend();
        }
        ServerWait(self)
    }

    fn switched(&self) -> MutexGuard<'_, Option<(OnUpgrade, OnUpgrade)>> {
        self.switched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes the target of a request, after a check against the connection.
    fn complete(&self, head: &mut request::Parts) -> Result<(), Misfit> {
        let (scheme, default_port) = if self.is_tls {
            (Scheme::HTTPS, 443)
        } else {
            (Scheme::HTTP, 80)
        };
        let leads_on = head.method == Method::CONNECT
            || head.uri.scheme().is_some_and(|other| *other != scheme);
        let mut upgrades = head.headers.get_all(UPGRADE).iter();
        if leads_on || upgrades.any(|to| !to.as_bytes().eq_ignore_ascii_case(b"websocket")) {
            return Err(Misfit::Tunnel);
        }
        let hosts: Vec<_> = head
            .headers
            .get_all(HOST)
            .iter()
            .map(|host| host.to_str())
            .collect();
        let is_second = head.version == Version::HTTP_2;
        let named = head.uri.authority().map(|authority| Ok(authority.as_str()));
        if hosts.len() > 1 || hosts.is_empty() && (!is_second || named.is_none()) {
            return Err(Misfit::NoName);
        }
        for name in hosts.into_iter().chain(named) {
            self.is_named(name.map_err(|_| Misfit::NoName)?)?;
        }
        let Target { host, port } = &self.target;
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.clone()
        };
        let authority = if *port == default_port {
            host
        } else {
            format!("{host}:{port}")
        };
        if *port != default_port
            && let Some(host) = head.headers.get_mut(HOST)
        {
            // Without a port, an intermediary would take it for another server.
            *host = HeaderValue::from_str(&authority).map_err(|_| Misfit::NoName)?;
        }
        let origin = head
            .uri
            .path_and_query()
            .cloned()
            .unwrap_or_else(|| PathAndQuery::from_static("/"));
        let whole = Uri::builder()
            .scheme(scheme)
            .authority(authority)
            .path_and_query(origin);
        head.uri = whole.build().map_err(|_| Misfit::Malformed)?;
        Ok(())
    }

    /// Checks host and optional port against the connection.
    fn is_named(&self, text: &str) -> Result<(), Misfit> {
        let named = h1::authority(text, self.target.port).filter(|_| !text.contains('@'));
        let Target { host, port } = named.ok_or(Misfit::NoName)?;
        let address = |host: &str| host.parse::<IpAddr>().ok();
        let is_same = host == self.target.host
            || address(&host).is_some() && address(&host) == address(&self.target.host);
        if is_same && port == self.target.port {
            Ok(())
        } else {
            Err(Misfit::Name(text.to_owned()))
        }
    }
}
