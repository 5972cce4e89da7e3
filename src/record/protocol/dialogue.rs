//! Following one recorded connection: bytes are cut into messages, sent on, and handed to the
//! protocol, which makes calls of them.
//!
//! What a protocol cannot follow is sent on all the same: recording never breaks a connection.

use std::time::SystemTime;

use crate::limits::{MAX_WIRE_CALL_BYTES, MAX_WIRE_CONNECTION_BYTES, MAX_WIRE_MESSAGE_BYTES};
use crate::record::call::{Content, End, Exchange, Link, Message, Protocol, Side, Wire};
use crate::record::protocol::wire::{RecordStep, WireRecorder};

/// Why a connection cannot be followed any further.
pub(in crate::record) type Fault = &'static str;

/// Where a message goes that was held until it was whole.
pub(in crate::record) enum Disposition {
    On,
    /// To the other side, in these bytes.
    Instead(Vec<u8>),
    /// Nowhere: the server's answer is here.
    Back(Vec<u8>),
    /// To the other side, and encryption begins after it.
    Encrypt,
}

pub(in crate::record) trait Dialogue: Send {
    /// How many bytes the first message has of what came from this side; `None` as long as that is
    /// not known.
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault>;
    /// Whether messages from this side are held until they are whole, because the protocol may
    /// change them.
    fn holds(&self, _from: Side) -> bool {
        false
    }
    /// A whole message. What it says of the way counts if messages are held.
    fn message(&mut self, from: Side, bytes: Vec<u8>, log: &mut Log) -> Result<Disposition, Fault>;
    fn kept(&self) -> usize;
    fn end(&mut self, log: &mut Log);
}

pub(in crate::record) struct Log {
    pub(in crate::record) link: Link,
    protocol: Protocol,
    pub(in crate::record) at: SystemTime,
    /// Who ended the connection, once it has ended.
    pub(in crate::record) left_by: Side,
    steps: Vec<RecordStep>,
}

impl Log {
    pub(in crate::record) fn done(&mut self, draft: Draft) {
        self.finish(draft, End::Answered);
    }

    /// A call whose connection was ended before its answer was whole. Where the program did that,
    /// it is a call that gets no more of an answer, once.
    pub(in crate::record) fn left(&mut self, mut draft: Draft) {
        if self.left_by == Side::Server {
            return self.unanswered();
        }
        draft.session = false;
        self.finish(draft, End::Abandoned);
    }

    /// A call whose connection ended before its answer was whole, which cannot be answered.
    pub(in crate::record) fn unanswered(&mut self) {
        let what = format!(
            "a call to `{}`: the connection ended before its answer",
            self.link.target
        );
        self.steps.push(RecordStep::Lost(what));
    }

    fn finish(&mut self, draft: Draft, end: End) {
        self.steps.push(if draft.size > MAX_WIRE_CALL_BYTES {
            let (target, size) = (&self.link.target, draft.size);
            let most = "at most 64 MiB are recorded";
            RecordStep::Lost(format!(
                "a call to `{target}`: question and answer have {size} bytes, {most}"
            ))
        } else {
            let wire = Wire {
                messages: draft.messages,
                session: draft.session,
            };
            let call = self.link.exchange(
                Content::Wire(self.protocol, wire),
                draft.sent_at,
                draft.answered_at.unwrap_or(self.at),
            );
            RecordStep::Done(Box::new(Exchange { end, ..call }))
        });
    }
}

/// Bytes that wait until a message is whole.
#[derive(Default)]
pub(in crate::record) struct Inbox {
    bytes: Vec<u8>,
    read: usize,
}

impl Inbox {
    pub(in crate::record) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(in crate::record) fn rest(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    /// Cuts the first message off, once it is whole. `length` says how long it is, as soon as that
    /// is known.
    pub(in crate::record) fn message(
        &mut self,
        length: impl FnOnce(&[u8]) -> Result<Option<usize>, Fault>,
    ) -> Result<Option<Vec<u8>>, Fault> {
        let rest = &self.bytes[self.read..];
        if rest.is_empty() {
            return Ok(None);
        }
        let length = length(rest)?;
        if length.unwrap_or(rest.len()) > MAX_WIRE_MESSAGE_BYTES {
            return Err("a message is longer than 64 MiB");
        }
        let Some(message) = length
            .and_then(|length| rest.get(..length))
            .map(<[u8]>::to_vec)
        else {
            return Ok(None);
        };
        self.read += message.len();
        if self.read == self.bytes.len() {
            self.clear();
        }
        Ok(Some(message))
    }

    pub(in crate::record) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(in crate::record) fn clear(&mut self) {
        // One long message must not hold its memory for the life of a connection.
        *self = Self::default();
    }
}

#[derive(Default)]
struct Lane {
    inbox: Inbox,
    /// How many bytes of the inbox were sent on before the message was whole.
    sent: usize,
}

impl Lane {
    fn unsent(&mut self) -> Vec<u8> {
        let unsent = self.inbox.rest()[self.sent..].to_vec();
        self.sent += unsent.len();
        unsent
    }
}

/// A [`WireRecorder`] of any [`Dialogue`].
pub(in crate::record) struct Follow {
    dialogue: Box<dyn Dialogue>,
    log: Log,
    lanes: [Lane; 2],
    lost: bool,
}

impl Follow {
    pub(in crate::record) fn new(
        dialogue: Box<dyn Dialogue>,
        protocol: Protocol,
        link: &Link,
    ) -> Self {
        let (at, left_by) = (SystemTime::UNIX_EPOCH, Side::Server);
        let log = Log {
            link: link.clone(),
            protocol,
            at,
            left_by,
            steps: Vec::new(),
        };
        Self {
            dialogue,
            log,
            lanes: [Lane::default(), Lane::default()],
            lost: false,
        }
    }

    fn follow(&mut self, from: Side, steps: &mut Vec<RecordStep>) -> Result<(), Fault> {
        loop {
            let lane = &mut self.lanes[from as usize];
            if !self.dialogue.holds(from) {
                forward(steps, from, lane.unsent());
            }
            let Some(bytes) = lane
                .inbox
                .message(|rest| self.dialogue.length(from, rest))?
            else {
                break;
            };
            let sent = lane.sent.min(bytes.len());
            lane.sent -= sent;
            let unsent = bytes[sent..].to_vec();
            let way = self.dialogue.message(from, bytes, &mut self.log);
            match &way {
                Ok(Disposition::Instead(other)) => forward(steps, from, other.clone()),
                Ok(Disposition::Back(answer)) => forward(steps, Side::Server, answer.clone()),
                _ => forward(steps, from, unsent),
            }
            steps.append(&mut self.log.steps);
            if let Disposition::Encrypt = way? {
                let early = self.lanes[Side::Client as usize].inbox.rest().to_vec();
                self.lanes = [Lane::default(), Lane::default()];
                steps.push(RecordStep::StartTls(early));
            }
        }
        if self.dialogue.kept() > MAX_WIRE_CONNECTION_BYTES {
            return Err("more than 128 MiB wait for their answers");
        }
        Ok(())
    }
}

fn forward(steps: &mut Vec<RecordStep>, from: Side, bytes: Vec<u8>) {
    if !bytes.is_empty() {
        steps.push(RecordStep::Forward(from, bytes));
    }
}

impl WireRecorder for Follow {
    fn take(&mut self, from: Side, bytes: &[u8], at: SystemTime) -> Vec<RecordStep> {
        if self.lost {
            return vec![RecordStep::Forward(from, bytes.to_vec())];
        }
        let mut steps = Vec::new();
        self.log.at = at;
        self.lanes[from as usize].inbox.push(bytes);
        if let Err(fault) = self.follow(from, &mut steps) {
            self.lost = true;
            for side in [Side::Client, Side::Server] {
                forward(
                    &mut steps,
                    side,
                    std::mem::take(&mut self.lanes[side as usize]).unsent(),
                );
            }
            let target = &self.log.link.target;
            steps.push(RecordStep::Lost(format!(
                "the rest of a connection to `{target}`: {fault}"
            )));
        }
        steps
    }

    fn end(&mut self, by: Side, at: SystemTime) -> Vec<RecordStep> {
        if !std::mem::replace(&mut self.lost, true) {
            (self.log.at, self.log.left_by) = (at, by);
            self.dialogue.end(&mut self.log);
        }
        std::mem::take(&mut self.log.steps)
    }

    fn kept(&self) -> usize {
        let dialogue = if self.lost { 0 } else { self.dialogue.kept() };
        dialogue
            + self
                .lanes
                .iter()
                .map(|lane| lane.inbox.len())
                .sum::<usize>()
    }
}

#[derive(Debug)]
pub(in crate::record) struct Draft {
    messages: Vec<Message>,
    size: usize,
    sent_at: SystemTime,
    /// Whether it belongs to the connection.
    pub(in crate::record) session: bool,
    /// When it was whole, if that is not now.
    pub(in crate::record) answered_at: Option<SystemTime>,
}

impl Draft {
    /// Of questions in the form in which they are looked up.
    pub(in crate::record) fn asked(
        questions: impl IntoIterator<Item = Vec<u8>>,
        sent_at: SystemTime,
    ) -> Self {
        let mut draft = Self {
            messages: Vec::new(),
            size: 0,
            sent_at,
            session: false,
            answered_at: None,
        };
        questions
            .into_iter()
            .for_each(|question| draft.push(Side::Client, question));
        draft
    }

    pub(in crate::record) fn of_session(self, session: bool) -> Self {
        Self { session, ..self }
    }

    /// A call that begins with the same questions.
    pub(in crate::record) fn successor(&self) -> Self {
        Self::asked(self.said(Side::Client).cloned(), self.sent_at)
    }

    pub(in crate::record) fn push(&mut self, from: Side, bytes: Vec<u8>) {
        self.size += bytes.len() + size_of::<Message>();
        if self.size <= MAX_WIRE_CALL_BYTES {
            self.messages.push(Message { from, bytes });
        } else {
            self.messages = Vec::new();
        }
    }

    pub(in crate::record) fn said(&self, by: Side) -> impl DoubleEndedIterator<Item = &Vec<u8>> {
        self.messages
            .iter()
            .filter(move |message| message.from == by)
            .map(|message| &message.bytes)
    }

    pub(in crate::record) fn size(&self) -> usize {
        size_of::<Self>()
            + if self.messages.is_empty() {
                0
            } else {
                self.size
            }
    }
}
