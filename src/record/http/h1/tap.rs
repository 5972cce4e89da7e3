//! Observer of both directions of an HTTP/1 connection during recording.

use std::collections::VecDeque;
use std::time::SystemTime;

use replay_base::limits::{MAX_RECORDED_BODY_BYTES, MAX_RECORDING_NOTES};

use crate::call::{BodyEnd, Content, Exchange, HttpResponse, Link, Side, Target};
use crate::http::coding;

use super::reader::{ExpectedBody, Malformed, Message, Reader};
use super::{authority, exchange, request};

/// Requests that may wait for their answers on one HTTP/1 connection.
const MAX_HTTP_PIPELINED: usize = 10_000;

/// Change of protocol after the consumed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolChange {
    /// A tunnel to this target (CONNECT answered with 2xx).
    Tunnel(Target),
    /// Another protocol (status 101); `true` for `WebSocket`.
    Upgrade(bool),
    /// Data that is not valid HTTP.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionEnd {
    pub by: Side,
    /// `true` if the server completed its data while the program was still reading.
    pub server_ended: bool,
}

#[derive(Debug)]
struct PendingRequest {
    answered: ExpectedBody,
    tunnel: Option<Target>,
    sent_at: SystemTime,
    /// `None` while the request body is incomplete.
    call: Option<Exchange>,
    too_long: bool,
    /// The response, which may arrive before the request is complete.
    answer: Option<(HttpResponse, SystemTime)>,
}

#[derive(Debug)]
pub(crate) struct Tap {
    link: Link,
    requests: Reader,
    responses: Reader,
    waiting: VecDeque<PendingRequest>,
    /// `true` if `waiting` contains the current request.
    begun: bool,
    /// Exchanges with bodies above the limit, without these bodies.
    too_long: Vec<Exchange>,
}

impl Tap {
    pub(crate) fn new(link: Link) -> Self {
        Self {
            link,
            requests: Reader::requests(MAX_RECORDED_BODY_BYTES),
            responses: Reader::responses(MAX_RECORDED_BODY_BYTES),
            waiting: VecDeque::new(),
            begun: false,
            too_long: Vec::new(),
        }
    }

    /// Returns the exchanges since the last call that had too long bodies, without these bodies.
    pub(crate) fn too_long(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.too_long)
    }

    /// Returns the buffered bytes of incomplete calls.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let of = |waiting: &PendingRequest| {
            let call = waiting.call.as_ref().and_then(|call| call.content.http());
            let answer = waiting
                .answer
                .as_ref()
                .map_or(0, |(answer, _)| answer.body.len());
            call.map_or(0, |http| http.request.body.len()) + answer
        };
        self.waiting.iter().map(of).sum::<usize>()
            + self.requests.buffered_bytes()
            + self.responses.buffered_bytes()
    }

    /// Discards the bodies of incomplete calls.
    pub(crate) fn discard_bodies(&mut self) {
        self.requests.discard_body();
        self.responses.discard_body();
        for waiting in &mut self.waiting {
            waiting.too_long = true;
            waiting.call.iter_mut().for_each(empty);
            if let Some((answer, _)) = &mut waiting.answer {
                answer.body = Vec::new();
            }
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Observes bytes from one side and appends complete exchanges to `done`. With a change of
    /// protocol, returns the number of bytes that were still HTTP.
    pub(crate) fn take(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: SystemTime,
        done: &mut Vec<Exchange>,
    ) -> Option<(ProtocolChange, usize)> {
        let mut input = bytes;
        let turn = match from {
            Side::Client => self.client(&mut input, at, done).map(|()| None),
            Side::Server => self.server(&mut input, at, done),
        };
        match turn {
            Ok(None) => None,
            Ok(Some(turn)) => Some((turn, bytes.len() - input.len())),
            Err(Malformed) => Some((ProtocolChange::Lost, bytes.len())),
        }
    }

    fn client(
        &mut self,
        input: &mut &[u8],
        at: SystemTime,
        done: &mut Vec<Exchange>,
    ) -> Result<(), Malformed> {
        while !input.is_empty() {
            let whole = self.requests.take(input, ExpectedBody::Other)?;
            if let Some(head) = whole.as_ref().or(self.requests.head())
                && !self.begun
            {
                if self.waiting.len() >= MAX_HTTP_PIPELINED {
                    return Err(Malformed);
                }
                let (answered, tunnel) = (expected_body(&head.method), tunnel(head));
                let (call, too_long, answer) = (None, false, None);
                self.waiting.push_back(PendingRequest {
                    answered,
                    tunnel,
                    sent_at: at,
                    call,
                    too_long,
                    answer,
                });
                self.begun = true;
            }
            let Some(message) = whole else { continue };
            self.begun = false;
            if let Some(waiting) = self.waiting.back_mut() {
                waiting.too_long |= message.too_long;
                let (request, target) = request(message, self.link.tls);
                let target = target.unwrap_or_else(|| self.link.target.clone());
                let tls = self.link.tls || request.scheme == "https";
                let link = Link {
                    target,
                    tls,
                    connection: self.link.connection,
                };
                waiting.call = Some(exchange(
                    &link,
                    request,
                    None,
                    waiting.sent_at,
                    waiting.sent_at,
                ));
            }
            self.hand_out_complete(done);
        }
        Ok(())
    }

    fn server(
        &mut self,
        input: &mut &[u8],
        at: SystemTime,
        done: &mut Vec<Exchange>,
    ) -> Result<Option<ProtocolChange>, Malformed> {
        while !input.is_empty() {
            let next = self
                .waiting
                .iter()
                .position(|waiting| waiting.answer.is_none());
            let answered = next.map_or(ExpectedBody::Other, |next| self.waiting[next].answered);
            let Some(message) = self.responses.take(input, answered)? else {
                continue;
            };
            let Some(next) = next else { continue };
            let status = message.status;
            if (100..200).contains(&status) && status != 101 {
                continue;
            }
            let websocket = super::has_token(&message.headers, "upgrade", "websocket");
            let waiting = &mut self.waiting[next];
            waiting.too_long |= message.too_long;
            if let Some(target) = waiting
                .tunnel
                .take()
                .filter(|_| (200..300).contains(&status))
            {
                // A tunnel is no call; the calls inside it count.
                self.waiting.remove(next);
                return Ok(Some(ProtocolChange::Tunnel(target)));
            }
            waiting.answer = Some((response(message), at));
            self.hand_out_complete(done);
            if status == 101 {
                return Ok(Some(ProtocolChange::Upgrade(websocket)));
            }
        }
        Ok(None)
    }

    /// Moves complete exchanges from the front of the queue to `done`.
    fn hand_out_complete(&mut self, done: &mut Vec<Exchange>) {
        while let Some(front) = self
            .waiting
            .pop_front_if(|front| front.call.is_some() && front.answer.is_some())
        {
            self.hand_out(front, done);
        }
    }

    fn hand_out(&mut self, waiting: PendingRequest, done: &mut Vec<Exchange>) {
        let Some(mut call) = waiting.call else { return };
        if let (Content::Http(http) | Content::Grpc(http), Some((response, at))) =
            (&mut call.content, waiting.answer)
        {
            http.response = Some(response);
            call.answered_at = at;
        }
        if !waiting.too_long {
            done.push(call);
        } else if self.too_long.len() < MAX_RECORDING_NOTES {
            empty(&mut call);
            self.too_long.push(call);
        }
    }

    /// Finishes the pending exchanges when the connection ends.
    pub(crate) fn end(&mut self, end: ConnectionEnd, at: SystemTime, done: &mut Vec<Exchange>) {
        if let Some((message, whole)) = self.responses.end()
            && let Some(waiting) = self
                .waiting
                .iter_mut()
                .find(|waiting| waiting.answer.is_none())
        {
            waiting.too_long |= message.too_long;
            let mut response = response(message);
            response.body_end = match end {
                // A client may close its sending side and continue to read.
                ConnectionEnd {
                    server_ended: true, ..
                } if whole => BodyEnd::Complete,
                ConnectionEnd {
                    by: Side::Client, ..
                } => BodyEnd::CutOff,
                ConnectionEnd {
                    by: Side::Server, ..
                } => BodyEnd::Truncated,
            };
            waiting.answer = Some((response, at));
        }
        self.hand_out_complete(done);
        for mut waiting in std::mem::take(&mut self.waiting) {
            if let Some(call) = &mut waiting.call {
                call.answered_at = at;
                if end.by == Side::Client {
                    call.end = crate::call::End::Abandoned;
                }
            }
            waiting.answer = None;
            self.hand_out(waiting, done);
        }
    }
}

/// Removes the parts of a call that may be long.
fn empty(call: &mut Exchange) {
    if let Content::Http(http) | Content::Grpc(http) = &mut call.content {
        (http.request.body, http.response) = (Vec::new(), None);
    }
}

pub(super) fn tunnel(request: &Message) -> Option<Target> {
    (request.method == "CONNECT")
        .then(|| authority(&request.path, 443))
        .flatten()
}

/// Returns the request kind of a method, which determines the end of the response.
pub(super) fn expected_body(method: &str) -> ExpectedBody {
    match method {
        "HEAD" => ExpectedBody::Head,
        "CONNECT" => ExpectedBody::Connect,
        _ => ExpectedBody::Other,
    }
}

fn response(message: Message) -> HttpResponse {
    let Message {
        version,
        status,
        reason,
        headers,
        body,
        trailers,
        ..
    } = message;
    coding::stored(HttpResponse {
        version,
        status,
        reason,
        headers,
        body,
        trailers,
        ..HttpResponse::default()
    })
}
