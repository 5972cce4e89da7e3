//! Looks at both directions of an HTTP/1 connection while it is recorded.

use std::collections::VecDeque;
use std::time::SystemTime;

use crate::limits::{MAX_HTTP_PIPELINED, MAX_RECORDED_BODY_BYTES, MAX_RECORDING_NOTES};
use crate::record::call::{Content, Exchange, HttpResponse, Link, Side, Target};
use crate::record::http::coding;

use super::reader::{Answered, Malformed, Message, Reader};
use super::{BODY_NOTE, CUT_OFF, TRUNCATED, authority, exchange, request};

/// The connection is no HTTP any more: what follows the bytes that were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A tunnel to there (CONNECT was answered with 2xx).
    Tunnel(Target),
    /// Another protocol (101); whether it is `WebSocket`.
    Upgrade(bool),
    /// Nothing that is understood.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub by: Side,
    /// Whether the server has said all that it had to say, to somebody who listened.
    pub server_ended: bool,
}

#[derive(Debug)]
struct Waiting {
    answered: Answered,
    tunnel: Option<Target>,
    sent_at: SystemTime,
    /// `None` while its body is still on the way.
    call: Option<Exchange>,
    too_long: bool,
    /// Its answer, which may come before it is complete.
    answer: Option<(HttpResponse, SystemTime)>,
}

#[derive(Debug)]
pub struct Tap {
    link: Link,
    requests: Reader,
    responses: Reader,
    waiting: VecDeque<Waiting>,
    /// Whether the request that is being read stands in `waiting`.
    begun: bool,
    /// Exchanges whose bodies were too long to be kept, without them.
    too_long: Vec<Exchange>,
}

impl Tap {
    pub fn new(link: Link) -> Self {
        Self {
            link,
            requests: Reader::requests(MAX_RECORDED_BODY_BYTES),
            responses: Reader::responses(MAX_RECORDED_BODY_BYTES),
            waiting: VecDeque::new(),
            begun: false,
            too_long: Vec::new(),
        }
    }

    /// Exchanges since the last time that are not kept because a body was too long, without their
    /// bodies.
    pub fn too_long(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.too_long)
    }

    /// Bytes of calls that are not complete.
    pub fn kept(&self) -> usize {
        let of = |waiting: &Waiting| {
            let call = waiting.call.as_ref().and_then(|call| call.content.http());
            let answer = waiting
                .answer
                .as_ref()
                .map_or(0, |(answer, _)| answer.body.len());
            call.map_or(0, |http| http.request.body.len()) + answer
        };
        self.waiting.iter().map(of).sum::<usize>() + self.requests.kept() + self.responses.kept()
    }

    /// Keeps none of the calls that are not complete.
    pub fn forget(&mut self) {
        self.requests.forget();
        self.responses.forget();
        for waiting in &mut self.waiting {
            waiting.too_long = true;
            waiting.call.iter_mut().for_each(empty);
            if let Some((answer, _)) = &mut waiting.answer {
                answer.body = Vec::new();
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes passed from this side: exchanges that are complete go to `done`. With a turn comes how
    /// many of the bytes still were HTTP.
    pub fn take(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: SystemTime,
        done: &mut Vec<Exchange>,
    ) -> Option<(Turn, usize)> {
        let mut input = bytes;
        let turn = match from {
            Side::Client => self.client(&mut input, at, done).map(|()| None),
            Side::Server => self.server(&mut input, at, done),
        };
        match turn {
            Ok(None) => None,
            Ok(Some(turn)) => Some((turn, bytes.len() - input.len())),
            Err(Malformed) => Some((Turn::Lost, bytes.len())),
        }
    }

    fn client(
        &mut self,
        input: &mut &[u8],
        at: SystemTime,
        done: &mut Vec<Exchange>,
    ) -> Result<(), Malformed> {
        while !input.is_empty() {
            let whole = self.requests.take(input, Answered::Other)?;
            if let Some(head) = whole.as_ref().or(self.requests.head())
                && !self.begun
            {
                if self.waiting.len() >= MAX_HTTP_PIPELINED {
                    return Err(Malformed);
                }
                let (answered, tunnel) = (answered(&head.method), tunnel(head));
                let (call, too_long, answer) = (None, false, None);
                self.waiting.push_back(Waiting {
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
            self.settle(done);
        }
        Ok(())
    }

    fn server(
        &mut self,
        input: &mut &[u8],
        at: SystemTime,
        done: &mut Vec<Exchange>,
    ) -> Result<Option<Turn>, Malformed> {
        while !input.is_empty() {
            let next = self
                .waiting
                .iter()
                .position(|waiting| waiting.answer.is_none());
            let answered = next.map_or(Answered::Other, |next| self.waiting[next].answered);
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
                // No call by itself: what is said inside are the calls, wherever the tunnel began.
                self.waiting.remove(next);
                return Ok(Some(Turn::Tunnel(target)));
            }
            waiting.answer = Some((response(message), at));
            self.settle(done);
            if status == 101 {
                return Ok(Some(Turn::Upgrade(websocket)));
            }
        }
        Ok(None)
    }

    /// Hands out what is complete at the front.
    fn settle(&mut self, done: &mut Vec<Exchange>) {
        while let Some(front) = self
            .waiting
            .pop_front_if(|front| front.call.is_some() && front.answer.is_some())
        {
            self.hand_out(front, done);
        }
    }

    fn hand_out(&mut self, waiting: Waiting, done: &mut Vec<Exchange>) {
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

    /// The connection has ended: what was still on the way.
    pub fn end(&mut self, end: End, at: SystemTime, done: &mut Vec<Exchange>) {
        if let Some((message, whole)) = self.responses.end()
            && let Some(waiting) = self
                .waiting
                .iter_mut()
                .find(|waiting| waiting.answer.is_none())
        {
            waiting.too_long |= message.too_long;
            let mut response = response(message);
            let note = match end {
                // A client may have said all that it had to say and still listen.
                End {
                    server_ended: true, ..
                } if whole => None,
                End {
                    by: Side::Client, ..
                } => Some(CUT_OFF),
                End {
                    by: Side::Server, ..
                } => Some(TRUNCATED),
            };
            if let Some(note) = note {
                response
                    .headers
                    .push((BODY_NOTE.to_owned(), note.as_bytes().to_vec()));
            }
            waiting.answer = Some((response, at));
        }
        self.settle(done);
        for mut waiting in std::mem::take(&mut self.waiting) {
            if let Some(call) = &mut waiting.call {
                call.answered_at = at;
                if end.by == Side::Client {
                    call.end = crate::record::call::End::Abandoned;
                }
            }
            waiting.answer = None;
            self.hand_out(waiting, done);
        }
    }
}

/// Takes out what may be long.
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

/// What the method of a request means for where its response ends.
pub(super) fn answered(method: &str) -> Answered {
    match method {
        "HEAD" => Answered::Head,
        "CONNECT" => Answered::Connect,
        _ => Answered::Other,
    }
}

fn response(mut message: Message) -> HttpResponse {
    let body = coding::kept(&mut message.headers, message.body);
    let Message {
        version,
        status,
        reason,
        headers,
        trailers,
        ..
    } = message;
    HttpResponse {
        version,
        status,
        reason,
        headers,
        body,
        trailers,
    }
}
