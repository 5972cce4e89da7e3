//! Notifications of the channels that a connection listens to, which come when nothing was asked (manual, "Asynchronous
//! Operations"). They stand behind the `ReadyForQuery` of the call before them.

use std::sync::Arc;

use crate::record::call::{Content, Exchange, Message, Side};
use crate::record::protocol::role::said;

/// What answers a call in a recording, and what came after it unasked.
pub(super) fn parts(found: &Exchange) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let mut answer: Vec<_> = said(found, Side::Server).collect();
    let end = answer.iter().position(|message| message.first() == Some(&b'Z'));
    let after = answer.split_off(end.map_or(answer.len(), |end| end + 1));
    (answer, after)
}

/// The same recording as it is given once more: what came after it unasked comes once.
pub(in crate::record) fn again(found: &Arc<Exchange>) -> Arc<Exchange> {
    let mut again = Arc::clone(found);
    let is_ready = |message: &Message| message.from == Side::Server && message.bytes.first() == Some(&b'Z');
    if !parts(found).1.is_empty()
        && let Content::Wire(_, wire) = &mut Arc::make_mut(&mut again).content
        && let Some(end) = wire.messages.iter().position(is_ready)
    {
        wire.messages.truncate(end + 1);
    }
    again
}
