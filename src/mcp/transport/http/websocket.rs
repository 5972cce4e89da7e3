//! `/mcp/ws`: the messages of stdin and stdout, one per frame, over a `WebSocket`. Each connection
//! is a session. MCP has no such transport; it serves programs that read no stream of events.

mod frames;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use frames::{Close, Opcode};
use hyper::body::Incoming as Body;
use hyper::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request as HttpRequest, StatusCode, Version};
use hyper_util::rt::TokioIo;
use replay_base::cancel::CancelToken;
use replay_base::limits::{HTTP_BODY_MS, HTTP_END_MS, MAX_HTTP_WEBSOCKETS, TAKEOVER_MS};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::activity::Open;
use super::calls::{CallRunner, Queue, Work};
use super::conversation::Conversation;
use super::feed::{Feed, FeedReceiver, feed};
use super::headers::single;
use super::message::{EncodedReply, Message};
use super::reply::{Reply, empty, later, refuse};
use super::tenant::{Client, TOO_MANY, Tenant};
use crate::protocol::{Code, Id, Incoming, RpcError, parse, render};
use crate::sessions::{Admission, Session};
use crate::transport::batch;
use crate::transport::stdio::Limits;

/// Timeout for the client of a WebSocket to hang up after the server's close frame, in
/// milliseconds.
const WEBSOCKET_DRAIN_MS: u64 = 1000;
/// Time between two pings of an idle WebSocket, in milliseconds; one that answers none until the
/// next is over.
const WEBSOCKET_PING_MS: u64 = 30_000;

type Stream = TokioIo<Upgraded>;

/// Length of `Sec-WebSocket-Key` (RFC 6455, 4.1).
const KEY_BYTES: usize = 16;

/// Switches the connection to a `WebSocket`, which ends when `stop` becomes true. Returns `open` if
/// the connection stays HTTP.
pub(super) fn upgrade(
    limits: Limits,
    stop: &watch::Receiver<bool>,
    client: Client,
    open: Open,
    mut request: HttpRequest<Body>,
) -> (Reply, Option<Open>) {
    let headers = request.headers();
    let says = |name: &HeaderName, word: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| {
                value
                    .split(',')
                    .any(|part| part.trim().eq_ignore_ascii_case(word))
            })
    };
    let is_asked = request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && says(&CONNECTION, "upgrade")
        && says(&UPGRADE, "websocket");
    if !is_asked {
        let text = "this path needs a WebSocket over HTTP/1.1";
        let mut reply = refuse(StatusCode::UPGRADE_REQUIRED, Code::InvalidRequest, text);
        reply
            .headers_mut()
            .insert(UPGRADE, HeaderValue::from_static("websocket"));
        return (reply, Some(open));
    }
    if single(headers, &SEC_WEBSOCKET_VERSION) != Some("13") {
        let text = "only version 13 of WebSocket is supported";
        let mut reply = refuse(StatusCode::UPGRADE_REQUIRED, Code::InvalidRequest, text);
        reply
            .headers_mut()
            .insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return (reply, Some(open));
    }
    // RFC 6455, 4.2.1.
    let key = single(headers, &SEC_WEBSOCKET_KEY);
    let Some(key) = key.filter(|key| STANDARD.decode(key).is_ok_and(|key| key.len() == KEY_BYTES))
    else {
        let text = "`Sec-WebSocket-Key` must be given once, as 16 bytes in base64";
        return (
            refuse(StatusCode::BAD_REQUEST, Code::InvalidRequest, text),
            Some(open),
        );
    };
    let Some(held) = client.tenant.hold_websocket() else {
        client.tenant.metrics.turned_away.fetch_add(1, Relaxed);
        let text = format!(
            "this client has {MAX_HTTP_WEBSOCKETS} WebSockets, the maximum; reuse one of \
                them"
        );
        return (
            later(
                StatusCode::SERVICE_UNAVAILABLE,
                None,
                Duration::from_secs(1),
                &text,
            ),
            Some(open),
        );
    };
    let mut reply = empty(StatusCode::SWITCHING_PROTOCOLS);
    let answered = reply.headers_mut();
    answered.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answered.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accepted) = HeaderValue::try_from(frames::accept(key)) {
        answered.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    }
    if says(&SEC_WEBSOCKET_PROTOCOL, "mcp") {
        answered.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    }
    let stop = stop.clone();
    let upgraded = hyper::upgrade::on(&mut request);
    let leave = open.activity.seat.leave();
    tokio::spawn(async move {
        if let Ok(stream) = upgraded.await {
            serve(limits, stop, &client, TokioIo::new(stream), leave).await;
        }
        drop((open, held));
    });
    (reply, None)
}

/// Control frames for the writing half.
#[derive(Debug)]
enum Control {
    Pong(Vec<u8>),
    Ping,
    Close(Close),
}

/// Serves a connection until either side ends it.
async fn serve(
    limits: Limits,
    stop: watch::Receiver<bool>,
    Client { tenant, token }: &Client,
    stream: Stream,
    leave: oneshot::Receiver<()>,
) {
    let (source, sink) = split(stream);
    let (feed, fed) = feed();
    // The bound stops reading from a client that pings and does not read.
    let (controls, control) = mpsc::channel(16);
    let writer = tokio::spawn(write(sink, fed, control));
    let conversation = Conversation::new(Session::new(Arc::clone(&tenant.service)));
    conversation.session.connected(Arc::new(feed.clone()));
    let mut reader = Reader {
        source,
        tenant,
        token: *token,
        conversation: Arc::clone(&conversation),
        feed,
        controls,
        calls: JoinSet::new(),
        max_bytes: limits.max_line_bytes,
        stall: limits.stall_timeout,
    };
    let close = reader.read(stop, leave).await;
    let Reader {
        mut source,
        controls,
        feed,
        mut calls,
        ..
    } = reader;
    if close == Some(Close::GoingAway) {
        // Running calls are still answered.
        let all = async { while calls.join_next().await.is_some() {} };
        let _ = timeout(Duration::from_millis(HTTP_END_MS), all).await;
    }
    conversation.session.cancel_all();
    calls.abort_all();
    if let Some(close) = close {
        let _ = controls.send(Control::Close(close)).await;
    }
    drop(controls);
    feed.end();
    drop(feed);
    let _ = writer.await;
    // Unread bytes from the client would make the system reset the connection. The client might
    // lose the last messages (RFC 6455, 7.1.1).
    let mut rest = vec![0; 64 * 1024];
    let drained = async { while source.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
    let _ = timeout(Duration::from_millis(WEBSOCKET_DRAIN_MS), drained).await;
}

/// The writing half.
async fn write(
    mut sink: WriteHalf<Stream>,
    mut fed: FeedReceiver,
    mut control: mpsc::Receiver<Control>,
) -> io::Result<()> {
    loop {
        tokio::select! {
            biased;
            item = fed.next() => {
                let Some(item) = item else { break };
                frame(&mut sink, Opcode::Text, item.bytes()).await?;
            }
            Some(control) = control.recv() => match control {
                Control::Pong(payload) => frame(&mut sink, Opcode::Pong, &payload).await?,
                Control::Ping => frame(&mut sink, Opcode::Ping, b"").await?,
                Control::Close(close) => {
                    // The close frame is last, even if messages are still queued.
                    frame(&mut sink, Opcode::Close, &(close as u16).to_be_bytes()).await?;
                    return sink.shutdown().await;
                }
            },
        }
    }
    while let Some(control) = control.recv().await {
        if let Control::Close(close) = control {
            frame(&mut sink, Opcode::Close, &(close as u16).to_be_bytes()).await?;
        }
    }
    sink.shutdown().await
}

async fn frame(sink: &mut WriteHalf<Stream>, kind: Opcode, payload: &[u8]) -> io::Result<()> {
    let head = frames::frame_head(kind, payload.len());
    if payload.len() < 64 * 1024 {
        sink.write_all(&[&head, payload].concat()).await?;
    } else {
        sink.write_all(&head).await?;
        sink.write_all(payload).await?;
    }
    sink.flush().await
}

/// The reading half.
struct Reader<'a> {
    source: ReadHalf<Stream>,
    tenant: &'a Arc<Tenant>,
    /// Digest of the client's token.
    token: Option<[u8; 32]>,
    conversation: Arc<Conversation>,
    feed: Feed,
    controls: mpsc::Sender<Control>,
    calls: JoinSet<()>,
    max_bytes: usize,
    stall: Duration,
}

/// Next step for a parsed message.
enum ParsedFrame {
    /// The message needs no work. The reply may be empty.
    Done(Vec<u8>),
    /// Work, the id of a single request, and true if later messages must wait for it.
    Serve(Work, Option<Id>, bool),
}

impl Reader<'_> {
    /// Reads until the connection ends. Returns the close code to send, unless the client is gone.
    async fn read(
        &mut self,
        mut stop: watch::Receiver<bool>,
        mut leave: oneshot::Receiver<()>,
    ) -> Option<Close> {
        loop {
            let message = tokio::select! {
                message = self.message() => message,
                _ = stop.wait_for(|stop| *stop) => return Some(Close::GoingAway),
                Ok(()) = &mut leave => return Some(Close::Policy),
            };
            match message {
                Ok(Ok(message)) => self.accept(message).await,
                Ok(Err(close)) => return Some(close),
                Err(_) => return None,
            }
            while self.calls.try_join_next().is_some() {}
        }
    }

    /// Reads the next message. Not cancellation safe.
    async fn message(&mut self) -> io::Result<Result<Message, Close>> {
        let mut message = Message::default();
        let mut begun: Option<Instant> = None;
        let mut is_pinged = false;
        loop {
            // A message has one deadline in total; between messages, a silent client is pinged.
            let deadline =
                begun.unwrap_or_else(|| Instant::now() + Duration::from_millis(WEBSOCKET_PING_MS));
            let head = match timeout_at(deadline, frames::head(&mut self.source)).await {
                Ok(head) => head?,
                Err(_) if begun.is_some() || is_pinged => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(_) => {
                    is_pinged = true;
                    // A full channel means that the other half is busy, and notices a dead client
                    // itself.
                    let _ = self.controls.try_send(Control::Ping);
                    continue;
                }
            };
            let head = match head {
                Ok(head) => head,
                Err(close) => return Ok(Err(close)),
            };
            is_pinged = false;
            let end =
                *begun.get_or_insert_with(|| Instant::now() + Duration::from_millis(HTTP_BODY_MS));
            let is_part = head.kind == Opcode::Continuation;
            let has_part = message.is_within;
            match head.kind {
                Opcode::Binary => return Ok(Err(Close::Kind)),
                Opcode::Text | Opcode::Continuation if is_part != has_part => {
                    return Ok(Err(Close::Protocol));
                }
                Opcode::Text | Opcode::Continuation => {}
                Opcode::Close | Opcode::Ping | Opcode::Pong => {
                    let mut payload = Vec::new();
                    let mut take = |piece: &[u8]| {
                        payload.extend_from_slice(piece);
                        true
                    };
                    timeout_at(end, frames::payload(&mut self.source, head, &mut take)).await??;
                    match head.kind {
                        Opcode::Close => return Ok(Err(Close::Normal)),
                        Opcode::Ping => {
                            let sent = self.controls.send(Control::Pong(payload)).await;
                            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
                        }
                        _ => {}
                    }
                    if !has_part {
                        begun = None;
                    }
                    continue;
                }
            }
            if message.bytes.len() as u64 + head.length > self.max_bytes as u64 {
                return Ok(Err(Close::TooBig));
            }
            let tenant = self.tenant;
            let mut take = |piece: &[u8]| message.add(&tenant.account, piece).is_ok();
            if !timeout_at(end, frames::payload(&mut self.source, head, &mut take)).await?? {
                return Ok(Err(Close::Later));
            }
            message.is_within = true;
            if head.is_last {
                self.tenant
                    .metrics
                    .received_bytes
                    .fetch_add(message.bytes.len() as u64, Relaxed);
                let is_text = std::str::from_utf8(&message.bytes).is_ok();
                return Ok(if is_text {
                    Ok(message)
                } else {
                    Err(Close::NotText)
                });
            }
        }
    }

    /// Serves a message. Waits for a cheap call, so that later messages see its effects. A slow
    /// call is left to its task, as on stdin.
    async fn accept(&mut self, message: Message) {
        let (work, id, waits) = match self.look(message) {
            ParsedFrame::Done(bytes) if bytes.is_empty() => return,
            ParsedFrame::Done(bytes) => return self.reply(bytes).await,
            ParsedFrame::Serve(work, id, waits) => (work, id, waits),
        };
        let Some(place) = self.tenant.queue(self.token) else {
            self.tenant.metrics.turned_away.fetch_add(1, Relaxed);
            if let Work::Request(ticket, ..) = &work {
                self.conversation.session.withdraw(ticket);
            }
            let text = "too many calls wait already (--max-calls); try again in 1 s";
            let bytes = error(id.as_ref(), RpcError::new(Code::Internal, text));
            return self.reply(bytes).await;
        };
        let runner = CallRunner {
            tenant: Arc::clone(self.tenant),
            conversation: Arc::clone(&self.conversation),
            outbox: Arc::new(self.feed.clone()),
            stall: self.stall,
        };
        let (feed, tenant) = (self.feed.clone(), Arc::clone(self.tenant));
        let say = move |answer: EncodedReply| {
            tenant
                .metrics
                .sent_bytes
                .fetch_add(answer.bytes.len() as u64, Relaxed);
            feed.answer(answer);
        };
        let mut pending = runner.start(place, work);
        if waits && let Ok(answer) = timeout(Duration::from_millis(TAKEOVER_MS), &mut pending).await
        {
            return answer.map_or((), say);
        }
        self.calls
            .spawn(async move { pending.await.map_or((), say) });
    }

    /// Sends a reply without work. It waits for memory like any other, so a client that does not
    /// read is not read from either.
    async fn reply(&mut self, bytes: Vec<u8>) {
        let room = Some(Arc::new(self.tenant.give_out(bytes.len()).await));
        self.feed.answer(EncodedReply {
            bytes,
            room,
            ..EncodedReply::default()
        });
    }

    fn look(&self, message: Message) -> ParsedFrame {
        let session = &self.conversation.session;
        let incoming = parse(&message.bytes);
        if let Err(wait) = self.tenant.charge(incoming.count()) {
            let text = format!("{TOO_MANY}; try again in {} s", wait.as_secs() + 1);
            // A message without a reply has no id.
            return ParsedFrame::Done(error(incoming.id(), RpcError::new(Code::Internal, text)));
        }
        match incoming {
            Incoming::Refused(refusal) => ParsedFrame::Done(error(
                refusal.id.as_ref(),
                RpcError::new(refusal.code, refusal.message),
            )),
            Incoming::Response(response) => {
                session.answered(&response);
                ParsedFrame::Done(Vec::new())
            }
            Incoming::Request(request) => match session.admit(&request) {
                Admission::Nothing => ParsedFrame::Done(Vec::new()),
                Admission::Refused(refused) => {
                    ParsedFrame::Done(error(Some(&refused.id), refused.error))
                }
                Admission::Admitted(ticket) => {
                    let (id, waits) = (ticket.id.clone(), ticket.weight.is_light());
                    let queue = Queue::of(&request.method, ticket.weight);
                    ParsedFrame::Serve(Work::Request(ticket, message, queue), Some(id), waits)
                }
            },
            Incoming::Batch(members) => {
                if let Some(text) = batch::fault(session.state.revision(), members.len()) {
                    return ParsedFrame::Done(error(
                        None,
                        RpcError::new(Code::InvalidRequest, text),
                    ));
                }
                let id =
                    |member: &&serde_json::value::RawValue| match parse(member.get().as_bytes()) {
                        Incoming::Request(request) => request.id,
                        _ => None,
                    };
                let ids: Vec<Id> = members.iter().filter_map(id).collect();
                ParsedFrame::Serve(Work::Batch(message, ids, CancelToken::new()), None, false)
            }
        }
    }
}

fn error(id: Option<&Id>, error: RpcError) -> Vec<u8> {
    let mut bytes = Vec::new();
    render(
        &mut bytes,
        id,
        &Err(error),
        crate::protocol::Revision::NEWEST_HANDSHAKE,
    );
    bytes
}
