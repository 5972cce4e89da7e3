//! Division of recorded turns into frames.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use replay_base::limits::OVERTAKEN_MS;

use super::stream::{Piece, Stream, pieces};
use super::{ALL, FrameFormat, OpenCall, learning};
use crate::call::{Content, Exchange, Link, Message, Protocol, Side, Target, Wire};
use crate::protocol::dialogue::{AT_MOST, Fault, MAX_WIRE_MESSAGE_BYTES};
use crate::protocol::responder::messages_from;

/// Most calls of a connection that wait for their answers at once: as many as numbers of MQTT.
const MAX_OPEN_CALLS: usize = 1 << 16;

/// Divides the turns of each target whose connections all consist of frames of one protocol.
/// Other calls stay as they are. The result is in the order of the requests. Also describes the
/// calls that no player could read, which are left out.
pub(crate) fn split(exchanges: Vec<Exchange>) -> (Vec<Exchange>, Vec<String>) {
    let mut connections: HashMap<Target, HashMap<u64, Vec<&Exchange>>> = HashMap::new();
    for exchange in exchanges.iter().filter(|exchange| is_turn(exchange)) {
        let target = connections.entry(exchange.target.clone()).or_default();
        target
            .entry(exchange.connection)
            .or_default()
            .push(exchange);
    }
    let mut framed = HashMap::new();
    for (target, connections) in &connections {
        if let Some(calls) = frames_of(connections) {
            framed.insert(target.clone(), calls);
        }
    }
    let is_left =
        |exchange: &Exchange| !(is_turn(exchange) && framed.contains_key(&exchange.target));
    let mut calls: Vec<Exchange> = exchanges.into_iter().filter(is_left).collect();
    let mut too_long = Vec::new();
    for call in framed.into_values().flatten() {
        match messages_from(&call, Side::Client).map(<[u8]>::len).max() {
            Some(size) if size > MAX_WIRE_MESSAGE_BYTES => too_long.push(format!(
                "a message of {size} bytes to `{}`: {AT_MOST}",
                call.target
            )),
            _ => calls.push(call),
        }
    }
    calls.sort_by_key(|exchange| exchange.sent_at);
    (calls, too_long)
}

fn is_turn(exchange: &Exchange) -> bool {
    matches!(exchange.content, Content::Wire(Protocol::Generic, _)) && !exchange.is_no_call()
}

/// Returns the first message of one side; empty if it sent nothing.
fn first<'a>(turns: &[&'a Exchange], side: Side) -> &'a [u8] {
    let wires = turns.iter().filter_map(|turn| match &turn.content {
        Content::Wire(_, wire) => Some(wire),
        _ => None,
    });
    let mut said = wires.flat_map(|wire| wire.messages_by(side));
    said.find(|bytes| !bytes.is_empty()).unwrap_or_default()
}

/// Returns the calls of all connections to one target; `None` if they have no frames.
fn frames_of(connections: &HashMap<u64, Vec<&Exchange>>) -> Option<Vec<Exchange>> {
    let cut = |format: FrameFormat, protocol| {
        let cut = |turns: &Vec<&Exchange>| Cutter::new(format).cut(turns, protocol).ok();
        let calls: Option<Vec<_>> = connections.values().map(cut).collect();
        calls.map(|calls| calls.into_iter().flatten().collect())
    };
    let is_opening = |format: &FrameFormat| {
        let mut all = connections.values();
        all.all(|turns| (format.is_opening)(first(turns, Side::Client), first(turns, Side::Server)))
    };
    let known = ALL.iter().find_map(|database| {
        let format = database.frames().filter(|format| is_opening(format))?;
        cut(*format, database.protocol)
    });
    known.or_else(|| {
        let framing = learning::learn(connections.values().map(Vec::as_slice))?;
        cut(FrameFormat::learned(framing), Protocol::Framed(framing))
    })
}

struct Call {
    sent_at: SystemTime,
    /// Time of the last answer; that of the request if it has none.
    answered_at: SystemTime,
    tls: bool,
    answers: Vec<Vec<u8>>,
    /// Frames that came unasked or late, with their times.
    pushes: Vec<(SystemTime, Vec<u8>)>,
}

impl Call {
    /// Returns the call of this connection with this question.
    fn exchange(self, turn: &Exchange, question: Vec<u8>, protocol: Protocol) -> Exchange {
        let message = |from, bytes| Message { from, bytes };
        let is_greeting = question.is_empty();
        let mut messages = Vec::new();
        messages.extend((!is_greeting).then(|| message(Side::Client, question)));
        let pushed = self
            .pushes
            .iter()
            .map(|(came, _)| since(*came, self.sent_at));
        let pushed = pushed.collect();
        let said = self
            .answers
            .into_iter()
            .chain(self.pushes.into_iter().map(|(_, bytes)| bytes));
        messages.extend(said.map(|bytes| message(Side::Server, bytes)));
        let wire = Wire {
            messages,
            session: is_greeting,
            pushed,
            ..Wire::default()
        };
        let link = Link {
            target: turn.target.clone(),
            tls: self.tls,
            connection: turn.connection,
        };
        let content = Content::Wire(protocol, wire);
        link.exchange(content, self.sent_at, self.answered_at)
    }
}

fn since(at: SystemTime, earlier: SystemTime) -> Duration {
    at.duration_since(earlier).unwrap_or_default()
}

/// Divider of one connection.
struct Cutter {
    format: FrameFormat,
    calls: Vec<Call>,
    /// Questions of the calls.
    open: Vec<OpenCall>,
    client: Stream,
    server: Stream,
    /// Answers to heartbeats that did not come yet.
    made: Vec<Vec<u8>>,
}

impl Cutter {
    fn new(format: FrameFormat) -> Self {
        Self {
            format,
            calls: Vec::new(),
            open: Vec::new(),
            client: Stream::default(),
            server: Stream::default(),
            made: Vec::new(),
        }
    }

    fn cut(mut self, turns: &[&Exchange], protocol: Protocol) -> Result<Vec<Exchange>, Fault> {
        for turn in turns {
            for piece in pieces(turn) {
                match piece.message.from {
                    Side::Client => self.ask(turn, &piece.message.bytes)?,
                    Side::Server => self.answer(turn, &piece)?,
                }
            }
        }
        // The connection may have ended within a frame.
        if let Some(call) = self.calls.last_mut()
            && !self.server.bytes.is_empty()
        {
            call.answers.push(self.server.bytes);
        }
        let calls = self.calls.into_iter().zip(self.open);
        Ok(calls
            .map(|(call, open)| call.exchange(turns[0], open.bytes, protocol))
            .collect())
    }

    fn ask(&mut self, turn: &Exchange, bytes: &[u8]) -> Result<(), Fault> {
        for frame in self.client.take(&self.format, Side::Client, bytes)? {
            match self.format.heartbeats.first(&frame) {
                None => self.call(turn, frame),
                Some((_, answer)) if answer.is_empty() => {}
                Some((_, answer)) => self.made.push(answer),
            }
        }
        Ok(())
    }

    /// Adds a call. The frames of a turn were sent one after another.
    fn call(&mut self, turn: &Exchange, question: Vec<u8>) {
        self.open.push(OpenCall {
            bytes: question,
            is_answered: false,
        });
        let last = self.calls.last().map(|call| call.sent_at);
        let next = last.map(|last| last + Duration::from_nanos(1));
        let sent_at = next.map_or(turn.sent_at, |next| next.max(turn.sent_at));
        self.calls.push(Call {
            sent_at,
            answered_at: sent_at,
            tls: turn.tls,
            answers: Vec::new(),
            pushes: Vec::new(),
        });
    }

    fn answer(&mut self, turn: &Exchange, piece: &Piece<'_>) -> Result<(), Fault> {
        let bytes = &piece.message.bytes;
        if self.calls.is_empty() {
            // A greeting answers an empty message.
            self.call(turn, Vec::new());
        }
        let last = self.calls.len() - 1;
        // Other closes answer a frame that is not recorded.
        if bytes.is_empty() && self.calls[last].sent_at >= turn.sent_at {
            self.put(last, Vec::new(), piece);
        }
        for frame in self.server.take(&self.format, Side::Server, bytes)? {
            let made = self.made.iter().position(|made| *made == frame);
            if made.map(|made| self.made.swap_remove(made)).is_some()
                || self.format.heartbeats.first(&frame).is_some()
            {
                continue;
            }
            let from = self.calls.len().saturating_sub(MAX_OPEN_CALLS);
            match self.format.answered(&self.open[from..], &frame) {
                Some(index) => self.put(from + index, frame, piece),
                None if self.open[last].bytes.is_empty() => self.put(last, frame, piece),
                None => self.calls[last].pushes.push((piece.came, frame)),
            }
        }
        Ok(())
    }

    /// Adds an answer to a call. A late one came unasked, if other calls came first or if the call
    /// waits for news.
    fn put(&mut self, index: usize, frame: Vec<u8>, piece: &Piece<'_>) {
        let (call, open) = (&mut self.calls[index], &mut self.open[index]);
        open.is_answered = true;
        let is_late = since(piece.came, call.sent_at) >= Duration::from_millis(OVERTAKEN_MS);
        if is_late && (piece.is_pushed || (self.format.repeats)(&open.bytes)) {
            call.pushes.push((piece.came, frame));
        } else {
            call.answered_at = call.answered_at.max(piece.came);
            call.answers.push(frame);
        }
    }
}
