//! Recorder of one connection: splits bytes into messages, forwards them, and passes them to the
//! protocol, which turns them into calls.
//!
//! A message that the protocol cannot parse is forwarded as well: recording never breaks a
//! connection.

use std::time::SystemTime;

use replay_base::limits::MAX_WIRE_CONNECTION_BYTES;

use crate::call::{Content, End, Exchange, Link, Message, Protocol, Side, Wire};
use crate::protocol::wire::{RecordStep, WireRecorder};

/// Longest message of a program that is followed and answered, in bytes, and longest call to a
/// database together with its answer. Messages of `MongoDB` have at most 48,000,000.
pub(crate) const MAX_WIRE_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// Part of a report that names [`MAX_WIRE_MESSAGE_BYTES`].
pub(crate) const AT_MOST: &str = "at most 64 MiB are recorded";
const _: () = assert!(MAX_WIRE_MESSAGE_BYTES == 64 << 20);

/// Reason why the rest of a connection cannot be recorded.
pub(crate) type Fault = &'static str;

/// Handling of a message that was held until it was complete.
pub(crate) enum Disposition {
    On,
    /// Forwards these bytes in its place.
    Instead(Vec<u8>),
    /// Sends this answer back to the client, instead of forwarding the message.
    Back(Vec<u8>),
    /// Forwards it; encryption begins after it.
    Encrypt,
}

pub(crate) trait Dialogue: Send {
    /// Returns the length of the first message from this side; `None` while it is unknown.
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault>;
    /// Returns true if messages from this side are held until complete, because the protocol may
    /// change them.
    fn holds(&self, _from: Side) -> bool {
        false
    }
    /// Processes a complete message. The disposition counts only if messages are held.
    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        log: &mut CallLog,
    ) -> Result<Disposition, Fault>;
    fn buffered_bytes(&self) -> usize;
    fn end(&mut self, log: &mut CallLog);
}

pub(crate) struct CallLog {
    pub(crate) link: Link,
    protocol: Protocol,
    pub(crate) at: SystemTime,
    /// The side that ended the connection, once it has ended.
    pub(crate) left_by: Side,
    steps: Vec<RecordStep>,
}

impl CallLog {
    pub(crate) fn complete(&mut self, draft: Draft) {
        self.finish(draft, End::Answered);
    }

    /// Ends a call without a complete answer. If the program closed the connection, the call is
    /// recorded as abandoned. If the server did, the call is lost.
    pub(crate) fn abandon(&mut self, mut draft: Draft) {
        if self.left_by == Side::Server {
            return self.lose();
        }
        draft.wire.session = false;
        self.finish(draft, End::Abandoned);
    }

    /// Reports a call that lost its answer with the connection, and so cannot be replayed.
    pub(crate) fn lose(&mut self) {
        let what = format!(
            "a call to `{}`: the connection ended before its answer",
            self.link.target
        );
        self.steps.push(RecordStep::Lost(what));
    }

    fn finish(&mut self, draft: Draft, end: End) {
        self.steps.push(if draft.size > MAX_WIRE_MESSAGE_BYTES {
            let (target, size) = (&self.link.target, draft.size);
            RecordStep::Lost(format!(
                "a call to `{target}`: request and answer have {size} bytes, {AT_MOST}"
            ))
        } else {
            let call = self.link.exchange(
                Content::Wire(self.protocol, draft.wire),
                draft.sent_at,
                draft.answered_at.unwrap_or(self.at),
            );
            RecordStep::Done(Box::new(Exchange { end, ..call }))
        });
    }
}

/// Bytes of incomplete messages.
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    read: usize,
}

impl Inbox {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    /// Removes the first message once it is complete. `length` returns its length as soon as that
    /// is known.
    pub(crate) fn message(
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

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        // Frees the memory of long messages early in the life of a connection.
        *self = Self::default();
    }
}

#[derive(Default)]
struct SideBuffer {
    inbox: Inbox,
    /// Number of bytes in the inbox that were forwarded before the message was complete.
    sent: usize,
}

impl SideBuffer {
    fn unsent(&mut self) -> Vec<u8> {
        let unsent = self.inbox.rest()[self.sent..].to_vec();
        self.sent += unsent.len();
        unsent
    }
}

/// A [`WireRecorder`] for any [`Dialogue`].
pub(crate) struct DialogueRecorder {
    dialogue: Box<dyn Dialogue>,
    log: CallLog,
    lanes: [SideBuffer; 2],
    lost: bool,
}

impl DialogueRecorder {
    pub(crate) fn new(dialogue: Box<dyn Dialogue>, protocol: Protocol, link: &Link) -> Self {
        let (at, left_by) = (SystemTime::UNIX_EPOCH, Side::Server);
        let log = CallLog {
            link: link.clone(),
            protocol,
            at,
            left_by,
            steps: Vec::new(),
        };
        Self {
            dialogue,
            log,
            lanes: [SideBuffer::default(), SideBuffer::default()],
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
                self.lanes = [SideBuffer::default(), SideBuffer::default()];
                steps.push(RecordStep::StartTls(early));
            }
        }
        if self.dialogue.buffered_bytes() > MAX_WIRE_CONNECTION_BYTES {
            return Err("more than 128 MiB of requests wait for their answers");
        }
        Ok(())
    }
}

fn forward(steps: &mut Vec<RecordStep>, from: Side, bytes: Vec<u8>) {
    if !bytes.is_empty() {
        steps.push(RecordStep::Forward(from, bytes));
    }
}

impl WireRecorder for DialogueRecorder {
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

    fn binds_channel(&self) -> bool {
        self.log.protocol == Protocol::Postgres
    }

    fn buffered_bytes(&self) -> usize {
        let dialogue = if self.lost {
            0
        } else {
            self.dialogue.buffered_bytes()
        };
        dialogue
            + self
                .lanes
                .iter()
                .map(|lane| lane.inbox.len())
                .sum::<usize>()
    }
}

#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) wire: Wire,
    size: usize,
    sent_at: SystemTime,
    /// Time of the complete answer, if it is not the present time.
    pub(crate) answered_at: Option<SystemTime>,
}

impl Draft {
    /// Starts a call with this question, in the form used for lookup.
    pub(crate) fn of(question: Wire, sent_at: SystemTime) -> Self {
        let mut draft = Self {
            size: question.meta.size(),
            wire: Wire {
                messages: Vec::new(),
                ..question
            },
            sent_at,
            answered_at: None,
        };
        draft.extend(question.messages);
        draft
    }

    /// Starts a call with these requests, in the form used for lookup.
    pub(crate) fn with_requests(
        questions: impl IntoIterator<Item = Vec<u8>>,
        sent_at: SystemTime,
    ) -> Self {
        Self::of(Wire::asking(questions), sent_at)
    }

    pub(crate) fn of_session(mut self, session: bool) -> Self {
        self.wire.session = session;
        self
    }

    /// Starts another call with the same requests.
    pub(crate) fn successor(&self) -> Self {
        let asked = self.wire.messages_by(Side::Client).map(<[u8]>::to_vec);
        let question = Wire {
            meta: self.wire.meta.clone(),
            ..Wire::asking(asked)
        };
        Self::of(question, self.sent_at)
    }

    pub(crate) fn extend(&mut self, messages: Vec<Message>) {
        for Message { from, bytes } in messages {
            self.push(from, bytes);
        }
    }

    pub(crate) fn push(&mut self, from: Side, bytes: Vec<u8>) {
        self.size += bytes.len() + size_of::<Message>();
        if self.size <= MAX_WIRE_MESSAGE_BYTES {
            self.wire.messages.push(Message { from, bytes });
        } else {
            (self.wire.messages, self.wire.pushed) = (Vec::new(), Vec::new());
        }
    }

    /// Adds a message that the server sends unasked at this time.
    pub(crate) fn push_unasked(&mut self, bytes: Vec<u8>, came: SystemTime) {
        self.push(Side::Server, bytes);
        if !self.wire.messages.is_empty() {
            let delay = came.duration_since(self.sent_at).unwrap_or_default();
            self.wire.pushed.push(delay);
        }
    }

    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + if self.wire.messages.is_empty() {
                0
            } else {
                self.size
            }
    }
}
