//! Notifications of the channels that a connection listens to, which come when nothing was asked (manual, "Asynchronous
//! Operations"). They stand behind the `ReadyForQuery` of the call before them.

use std::sync::Arc;

use crate::record::call::{Content, Exchange, Message, Side};

/// Type of a `NotificationResponse`.
pub(super) const NOTIFICATION: u8 = b'A';

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
