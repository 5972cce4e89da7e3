//! Notifications of the channels that a connection listens to, which come when nothing was asked (manual, "Asynchronous
//! Operations"). They stand behind the `ReadyForQuery` of the call before them.

use std::sync::Arc;

use crate::limits::MAX_WIRE_CALL_BYTES;
use crate::record::call::{Content, Exchange, Message, Side};
use crate::record::protocol::wire::RecordStep;

/// Type of a `NotificationResponse`.
pub(super) const NOTIFICATION: u8 = b'A';

/// The last call of a connection that listens, which is complete when the next one begins.
pub(super) struct Last {
    exchange: Box<Exchange>,
    size: usize,
}

impl Last {
    /// Takes the last of these steps, if it is a call after which the server waits for the next.
    pub(super) fn of(made: &mut Vec<RecordStep>) -> Option<Self> {
        match made.pop() {
            Some(RecordStep::Done(exchange)) if said(&exchange).last().is_some_and(is_ready) => {
                let size = said(&exchange).iter().map(size_of_message).sum();
                Some(Self { exchange, size })
            }
            other => {
                made.extend(other);
                None
            }
        }
    }

    /// A notification came; given back if it is too much for one call.
    pub(super) fn add(&mut self, bytes: Vec<u8>) -> Result<(), Vec<u8>> {
        let message = Message { from: Side::Server, bytes };
        let size = self.size + size_of_message(&message);
        match &mut self.exchange.content {
            Content::Wire(_, wire) if size <= MAX_WIRE_CALL_BYTES => {
                wire.messages.push(message);
                self.size = size;
                Ok(())
            }
            _ => Err(message.bytes),
        }
    }

    /// Memory that it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn finish(self) -> RecordStep {
        RecordStep::Done(self.exchange)
    }
}

/// What answers a call in a recording, and what came after it unasked.
pub(super) fn parts(found: &Exchange) -> [Vec<&[u8]>; 2] {
    let (answer, after) = said(found).split_at(answer_length(found));
    [answer, after].map(|part| {
        let of_server = part.iter().filter(|message| message.from == Side::Server);
        of_server.map(|message| message.bytes.as_slice()).collect()
    })
}

/// The same recording as it is given once more: what came after it unasked comes once.
pub(in crate::record) fn again(found: &Arc<Exchange>) -> Arc<Exchange> {
    let length = answer_length(found);
    if length == said(found).len() {
        return Arc::clone(found);
    }
    let mut again = Exchange::clone(found);
    if let Content::Wire(_, wire) = &mut again.content {
        wire.messages.truncate(length);
    }
    Arc::new(again)
}

/// How many of its messages there are up to the one that says that the server is ready.
fn answer_length(found: &Exchange) -> usize {
    let messages = said(found);
    messages.iter().position(is_ready).map_or(messages.len(), |at| at + 1)
}

fn said(exchange: &Exchange) -> &[Message] {
    match &exchange.content {
        Content::Wire(_, wire) => &wire.messages,
        _ => &[],
    }
}

fn is_ready(message: &Message) -> bool {
    message.from == Side::Server && message.bytes.first() == Some(&b'Z')
}

fn size_of_message(message: &Message) -> usize {
    message.bytes.len() + size_of::<Message>()
}
