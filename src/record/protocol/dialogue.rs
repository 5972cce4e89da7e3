//! Following one recorded connection: bytes are cut into messages, sent on, and handed to the protocol, which makes calls
//! of them.
//!
//! What a protocol cannot follow is sent on all the same: recording never breaks a connection.

use std::time::SystemTime;

use crate::limits::{MAX_WIRE_CALL_BYTES, MAX_WIRE_CONNECTION_BYTES, MAX_WIRE_MESSAGE_BYTES};
use crate::record::call::{Content, End, Link, Message, Protocol, Side, Wire};
use crate::record::protocol::wire::{RecordStep, Recorder};

/// Why a connection cannot be followed any further.
pub(in crate::record) type Fault = &'static str;

/// Where a message goes that was held until it was whole.
pub(in crate::record) enum Way {
    /// To the other side, as it is.
    On,
    /// To the other side, in these bytes.
    Instead(Vec<u8>),
    /// Nowhere: these bytes are its answer.
    Back(Vec<u8>),
    /// To the other side, and encryption begins after it.
    Encrypt,
}

/// One protocol, as it is recorded.
pub(in crate::record) trait Dialogue: Send {
    /// How many bytes the first message has of what came from this side; `None` as long as that is not known.
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault>;
    /// Whether messages from this side are held until they are whole, because the protocol may change them.
    fn holds(&self, from: Side) -> bool;
    /// A whole message. Calls that it completes go into `made`. What it says of the way counts if messages are held.
    fn message(&mut self, from: Side, bytes: Vec<u8>, at: SystemTime, made: &mut Vec<RecordStep>)
    -> Result<Way, Fault>;
    /// Bytes that it keeps.
    fn kept(&self) -> usize;
    /// The connection has ended, by this side first.
    fn end(&mut self, by: Side, at: SystemTime, made: &mut Vec<RecordStep>);
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

    /// The first `length` bytes; the caller has seen that they are there.
    pub(in crate::record) fn cut(&mut self, length: usize) -> Vec<u8> {
        let bytes = self.rest()[..length].to_vec();
        self.read += length;
        if self.read == self.bytes.len() {
            self.clear();
        }
        bytes
    }

    pub(in crate::record) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(in crate::record) fn clear(&mut self) {
        // One long message must not hold its memory for the life of a connection.
        self.bytes = Vec::new();
        self.read = 0;
    }
}

/// One direction of a connection.
#[derive(Default)]
struct Lane {
    inbox: Inbox,
    /// How many bytes of the inbox were sent on before the message was whole.
    sent: usize,
}

/// A [`Recorder`] of any [`Dialogue`].
pub(in crate::record) struct Follow<D> {
    dialogue: D,
    target: String,
    client: Lane,
    server: Lane,
    lost: bool,
}

impl<D: Dialogue> Follow<D> {
    pub(in crate::record) fn new(dialogue: D, link: &Link) -> Self {
        let (client, server) = (Lane::default(), Lane::default());
        Self { dialogue, target: link.target.to_string(), client, server, lost: false }
    }

    fn lane(&mut self, from: Side) -> &mut Lane {
        match from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Cuts messages off what came from this side.
    fn follow(&mut self, from: Side, at: SystemTime, steps: &mut Vec<RecordStep>) -> Result<(), Fault> {
        loop {
            if !self.dialogue.holds(from) {
                let lane = self.lane(from);
                let unsent = lane.inbox.rest()[lane.sent..].to_vec();
                lane.sent += unsent.len();
                forward(steps, from, unsent);
            }
            let rest = match from {
                Side::Client => self.client.inbox.rest(),
                Side::Server => self.server.inbox.rest(),
            };
            if rest.is_empty() {
                break;
            }
            let length = self.dialogue.length(from, rest)?;
            if length.unwrap_or(rest.len()) > MAX_WIRE_MESSAGE_BYTES {
                return Err("a message is longer than 64 MiB");
            }
            let Some(length) = length.filter(|length| *length <= rest.len()) else { break };
            let lane = self.lane(from);
            let sent = lane.sent.min(length);
            lane.sent -= sent;
            let bytes = lane.inbox.cut(length);
            let unsent = bytes[sent..].to_vec();
            let mut made = Vec::new();
            let way = self.dialogue.message(from, bytes, at, &mut made);
            match way.as_ref().unwrap_or(&Way::On) {
                _ if sent == length => {}
                Way::On | Way::Encrypt => forward(steps, from, unsent),
                Way::Instead(bytes) => forward(steps, from, bytes.clone()),
                Way::Back(bytes) => steps.push(RecordStep::Reply(from, bytes.clone())),
            }
            steps.append(&mut made);
            if let Way::Encrypt = way? {
                let early = self.client.inbox.rest().to_vec();
                (self.client, self.server) = (Lane::default(), Lane::default());
                steps.push(RecordStep::StartTls { early });
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

impl<D: Dialogue> Recorder for Follow<D> {
    fn take(&mut self, from: Side, bytes: &[u8], at: SystemTime) -> Vec<RecordStep> {
        if self.lost {
            return vec![RecordStep::Forward(from, bytes.to_vec())];
        }
        let mut steps = Vec::new();
        self.lane(from).inbox.push(bytes);
        if let Err(fault) = self.follow(from, at, &mut steps) {
            self.lost = true;
            for side in [Side::Client, Side::Server] {
                let lane = std::mem::take(self.lane(side));
                forward(&mut steps, side, lane.inbox.rest()[lane.sent..].to_vec());
            }
            steps.push(RecordStep::Lost(format!("the rest of a connection to `{}`: {fault}", self.target)));
        }
        steps
    }

    fn end(&mut self, by: Side, at: SystemTime) -> Vec<RecordStep> {
        let mut made = Vec::new();
        if !self.lost {
            self.lost = true;
            self.dialogue.end(by, at, &mut made);
        }
        made
    }

    fn kept(&self) -> usize {
        let dialogue = if self.lost { 0 } else { self.dialogue.kept() };
        dialogue + self.client.inbox.len() + self.server.inbox.len()
    }
}

/// That a connection ended before the answer to a call was whole.
pub(in crate::record) fn unanswered(link: &Link) -> RecordStep {
    RecordStep::Lost(format!("a call to `{}`: the connection ended before its answer", link.target))
}

/// A call that is being recorded.
#[derive(Debug)]
pub(in crate::record) struct Draft {
    messages: Vec<Message>,
    size: usize,
    sent_at: SystemTime,
    /// Whether it belongs to the connection.
    pub(in crate::record) session: bool,
}

impl Draft {
    pub(in crate::record) fn new(at: SystemTime) -> Self {
        Self { messages: Vec::new(), size: 0, sent_at: at, session: false }
    }

    /// A call that goes on where this one ends.
    pub(in crate::record) fn successor(&self) -> Self {
        Self::new(self.sent_at)
    }

    /// A question, in the form in which it is looked up.
    pub(in crate::record) fn asked(question: Vec<u8>, at: SystemTime) -> Self {
        let mut draft = Self::new(at);
        draft.push(Side::Client, question);
        draft
    }

    pub(in crate::record) fn push(&mut self, from: Side, bytes: Vec<u8>) {
        self.size += bytes.len() + size_of::<Message>();
        if self.size <= MAX_WIRE_CALL_BYTES {
            self.messages.push(Message { from, bytes });
        } else {
            self.messages = Vec::new();
        }
    }

    /// What one side said.
    pub(in crate::record) fn said(&self, by: Side) -> impl DoubleEndedIterator<Item = &Vec<u8>> {
        self.messages.iter().filter(move |message| message.from == by).map(|message| &message.bytes)
    }

    /// Memory that it takes, in bytes.
    pub(in crate::record) fn size(&self) -> usize {
        size_of::<Self>() + if self.messages.is_empty() { 0 } else { self.size }
    }

    /// A call whose connection was ended by this side before its answer was whole. Where that was the program, it is a call
    /// that gets no more of an answer, once.
    pub(in crate::record) fn left(mut self, by: Side, link: &Link, protocol: Protocol, at: SystemTime) -> RecordStep {
        if by == Side::Server {
            return unanswered(link);
        }
        self.session = false;
        match self.finish(link, protocol, at) {
            RecordStep::Done(mut exchange) => {
                exchange.end = End::Abandoned;
                RecordStep::Done(exchange)
            }
            step => step,
        }
    }

    /// The whole call, or that it was too long to be kept.
    pub(in crate::record) fn finish(self, link: &Link, protocol: Protocol, at: SystemTime) -> RecordStep {
        if self.size > MAX_WIRE_CALL_BYTES {
            let what = format!(
                "a call to `{}`: question and answer have {} bytes, at most 64 MiB are recorded",
                link.target, self.size
            );
            return RecordStep::Lost(what);
        }
        let wire = Wire { messages: self.messages, session: self.session };
        RecordStep::Done(Box::new(link.exchange(Content::Wire(protocol, wire), self.sent_at, at)))
    }
}
