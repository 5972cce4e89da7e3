//! One connection: TLS, the HTTP version, and its end.

use std::future::pending;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use replay_base::limits::{HTTP_END_MS, HTTP_LOOK_MS};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, interval, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::activity::{Activity, State};
use super::admission::Seat;
use super::io::{Duplex, GuardedStream, Socket};
use super::router::{self, Context};

/// Timeout for the first request of a connection, in milliseconds.
const HTTP_FIRST_REQUEST_MS: u64 = 10_000;
/// Largest head of a request, in bytes.
const MAX_HTTP_HEADER_BYTES: usize = 64 * 1024;
/// Timeout of a TLS handshake with a client, in milliseconds.
const HTTP_TLS_MS: u64 = 10_000;
/// Idle timeout of an HTTP/2 connection without requests, in milliseconds.
const HTTP2_IDLE_MS: u64 = 120_000;
/// Grace period for calls of an HTTP/1 client that has closed its sending side, in milliseconds.
const HTTP_GONE_MS: u64 = 1000;
/// Requests at the same time on one HTTP/2 connection.
const MAX_HTTP2_REQUESTS: u32 = 128;

/// Preface of an HTTP/2 client (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// HTTP/1 buffer of a request or a reply, in bytes; a head must fit.
const BUFFER_BYTES: usize = 2 * MAX_HTTP_HEADER_BYTES;

/// Serves a connection until either side ends it, or until `leave` is signalled. `seat` is released
/// at the end.
pub(super) async fn serve(
    context: Arc<Context>,
    stream: TcpStream,
    seat: Seat,
    leave: oneshot::Receiver<()>,
) {
    // Small messages must not wait for more.
    let _ = stream.set_nodelay(true);
    let told = async {
        if leave.await.is_err() {
            pending::<()>().await;
        }
    };
    let served = tokio::select! {
        served = converse(context, stream, seat) => served,
        () = told => Err("another client needs the slot, and this one sent no token".to_owned()),
    };
    if let Err(reason) = served {
        tracing::debug!("a connection has ended: {reason}");
    }
}

async fn converse(context: Arc<Context>, stream: TcpStream, seat: Seat) -> Result<(), String> {
    // Readiness alone may be a false alarm (tokio's `TcpStream::readable`).
    match timeout(first(&context), stream.peek(&mut [0])).await {
        Ok(Ok(_)) => seat.mark_speaking(),
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("it sent nothing".to_owned()),
    }
    let stream = Socket::new(stream);
    let socket = stream.clone();
    match &context.tls {
        Some(tls) => {
            let accepting = TlsAcceptor::from(tls.current()).accept(stream);
            match timeout(Duration::from_millis(HTTP_TLS_MS), accepting).await {
                Ok(Ok(stream)) => {
                    let is_second = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    speak(
                        context,
                        socket,
                        Box::new(stream),
                        Bytes::new(),
                        is_second,
                        seat,
                    )
                    .await
                }
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("the handshake took too long".to_owned()),
            }
        }
        None => match timeout(first(&context), sniff(stream)).await {
            Ok(Ok((stream, ahead, is_second))) => {
                speak(context, socket, Box::new(stream), ahead, is_second, seat).await
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it sent nothing".to_owned()),
        },
    }
}

/// Timeout of the first request.
fn first(context: &Context) -> Duration {
    context
        .client_timeout
        .min(Duration::from_millis(HTTP_FIRST_REQUEST_MS))
}

/// Reads until the HTTP version of the client is known.
async fn sniff(mut stream: Socket) -> io::Result<(Socket, Bytes, bool)> {
    let mut ahead = BytesMut::with_capacity(1024);
    loop {
        if stream.read_buf(&mut ahead).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let count = ahead.len().min(PREFACE.len());
        let is_second = ahead[..count] == PREFACE[..count];
        if !is_second || count == PREFACE.len() {
            return Ok((stream, ahead.freeze(), is_second));
        }
    }
}

async fn speak(
    context: Arc<Context>,
    socket: Socket,
    stream: Box<dyn Duplex>,
    ahead: Bytes,
    is_second: bool,
    seat: Seat,
) -> Result<(), String> {
    let activity = Activity::new(seat);
    let io = TokioIo::new(GuardedStream::new(
        stream,
        ahead,
        context.client_timeout,
        Arc::clone(&activity),
    ));
    let service = {
        let (context, activity) = (Arc::clone(&context), Arc::clone(&activity));
        service_fn(move |request| router::answer(Arc::clone(&context), activity.open(), request))
    };
    if is_second {
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_HTTP2_REQUESTS)
            .max_header_list_size(MAX_HTTP_HEADER_BYTES as u32)
            .keep_alive_interval(context.client_timeout)
            .keep_alive_timeout(context.client_timeout)
            .serve_connection(io, service);
        // HTTP/2 reads all input at once, so it sees the end itself.
        watch(
            &context,
            &activity,
            pending(),
            pin!(connection),
            http2::Connection::graceful_shutdown,
        )
        .await
    } else {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(context.client_timeout)
            .max_buf_size(BUFFER_BYTES)
            .max_header_size(MAX_HTTP_HEADER_BYTES)
            .serve_connection(io, service)
            .with_upgrades();
        let ended = socket.ended();
        watch(
            &context,
            &activity,
            ended,
            pin!(connection),
            http1::UpgradeableConnection::graceful_shutdown,
        )
        .await
    }
}

/// Drives a connection. Ends it when the server ends, when it is idle, when its client reads
/// nothing, and shortly after `gone`. HTTP/1 does not see the end behind unread bytes. A client
/// that only closed its sending half looks the same (tcp(7)). It gets its reply within that time.
async fn watch<C>(
    context: &Context,
    activity: &Activity,
    gone: impl Future<Output = ()>,
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
) -> Result<(), String>
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut stop = context.stop.clone();
    let mut look = interval(Duration::from_millis(HTTP_LOOK_MS));
    let begun = sleep_until(Instant::now() + first(context));
    let mut begun = pin!(begun);
    let mut is_new = true;
    let mut gone = pin!(gone);
    let ending = (HTTP_END_MS, "it has not ended in time");
    let (left_ms, reason) = loop {
        tokio::select! {
            // Received data is handled before the end behind it.
            biased;
            ended = connection.as_mut() => return ended.map_err(|error| error.to_string()),
            _ = stop.wait_for(|stop| *stop) => {
                finish(connection.as_mut());
                break ending;
            }
            () = gone.as_mut() => {
                // No further pipelined request is started.
                finish(connection.as_mut());
                break (HTTP_GONE_MS, "the client has closed it");
            }
            () = begun.as_mut(), if is_new => {
                if !activity.was_asked() {
                    return Err("it sends no requests".to_owned());
                }
                is_new = false;
            }
            _ = look.tick() => match activity.state(Duration::from_millis(HTTP2_IDLE_MS), context.client_timeout) {
                State::Good => {}
                State::Idle => {
                    finish(connection.as_mut());
                    break ending;
                }
                State::Stalled => return Err("the client reads no replies".to_owned()),
            },
        }
    };
    match timeout(Duration::from_millis(left_ms), connection).await {
        Ok(ended) => ended.map_err(|error| error.to_string()),
        Err(_) => Err(reason.to_owned()),
    }
}
