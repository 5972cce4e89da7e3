//! Conversion between simple queries and prepared statements. A statement without parameters is the
//! same call in both forms. Drivers prepare a statement once a connection has executed it several
//! times, and pools hand out connections in any order.

use std::sync::Arc;
use std::time::Duration;

use super::message::{BindFields, message, statement};
use crate::call::{Content, Exchange, Message, Side, StatementMeta, Wire};
use crate::protocol::responder::messages_from;

/// Replaces a `Bind` and an `Execute` by a `Query`, if the statement has no parameters, returns
/// text and is executed to its end.
pub(crate) fn unify(messages: &mut Vec<Message>) {
    let of_client = |(_, message): &(usize, &Message)| {
        message.from == Side::Client && message.bytes.first() != Some(&0)
    };
    let asked: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(of_client)
        .map(|(at, _)| at)
        .collect();
    if let [bind, execute] = asked[..]
        && messages[execute].bytes == message(b'E', &[b"\0", &[0; 4]])
        && let Some(query) = query_of(&messages[bind].bytes)
    {
        messages[bind].bytes = query;
        messages.remove(execute);
    }
}

/// Returns the `Query` for a `Bind` without parameters and with text results.
fn query_of(bind: &[u8]) -> Option<Vec<u8>> {
    let bound = BindFields::of(bind)?;
    let is_plain = bound.formats == [0, 0] && bound.values.is_empty();
    let is_text = bound.results.get(2..)?.iter().all(|byte| *byte == 0);
    if is_plain && is_text {
        Some(query(&bind[statement(bind)?]))
    } else {
        None
    }
}

fn query(statement: &[u8]) -> Vec<u8> {
    message(b'Q', &[statement, b"\0"])
}

/// Returns the `Query` for a `Parse` without parameters, or for a `Describe` of such a statement.
pub(super) fn query_of_preparation(question: &Wire) -> Option<Wire> {
    let asked = question.messages_by(Side::Client).next()?;
    let at = statement(asked)?;
    let is_one = match asked.first()? {
        b'P' => asked[at.end..] == [0, 0, 0],
        b'D' => asked.get(5) == Some(&b'S') && question.meta.types.is_empty(),
        _ => false,
    };
    is_one.then(|| Wire::asking([query(&asked[at])]))
}

pub(super) fn columns(found: &Exchange) -> Option<Vec<u8>> {
    messages_from(found, Side::Server)
        .find(|message| message.first() == Some(&b'T'))
        .map(<[u8]>::to_vec)
}

/// Returns the description of the results of a `Query`: `RowDescription`, or `NoData`.
pub(super) fn result_description(found: &Exchange) -> Vec<u8> {
    columns(found).unwrap_or_else(|| message(b'n', &[]))
}

pub(super) fn is_query(found: &Exchange) -> bool {
    let mut asked =
        messages_from(found, Side::Client).filter(|message| message.first() != Some(&0));
    asked
        .next()
        .is_some_and(|question| question.first() == Some(&b'Q'))
}

/// Builds a `Describe` of the results of a recorded `Bind`.
pub(super) fn describe_request(found: &Exchange) -> Option<Wire> {
    let Content::Wire(_, wire) = &found.content else {
        return None;
    };
    let is_bind = |message: &&[u8]| message.first() == Some(&b'B');
    let bind = wire.messages_by(Side::Client).find(is_bind)?;
    let described = message(b'D', &[b"P", &bind[statement(bind)?], b"\0"]);
    let meta = StatementMeta {
        results: BindFields::of(bind)?.result_formats(),
        ..wire.meta.clone()
    };
    Some(Wire {
        meta,
        ..Wire::asking([described])
    })
}

/// Converts an answer to the other form, in which it begins with `first`.
pub(super) fn convert(found: &Exchange, first: Option<Vec<u8>>) -> Arc<Exchange> {
    let mut turned = found.clone();
    if let Content::Wire(_, wire) = &mut turned.content {
        let is_kept =
            |message: &Message| message.from == Side::Client || !b"T2".contains(&message.bytes[0]);
        wire.messages.retain(is_kept);
        let at = wire
            .messages
            .iter()
            .position(|message| message.from == Side::Server);
        let first = first.map(|bytes| Message {
            from: Side::Server,
            bytes,
        });
        wire.messages
            .splice(at.map_or(0..0, |at| at..at), first.filter(|_| at.is_some()));
    }
    Arc::new(turned)
}

/// Marks the notifications in a call of an earlier set as unasked. Notifications of channels that a
/// connection listens to (manual, "Asynchronous Operations") follow the `ReadyForQuery` of the call
/// before them.
pub(crate) fn mark_notifications(wire: &mut Wire, answered: Duration) {
    let is_ready =
        |message: &Message| message.from == Side::Server && message.bytes.first() == Some(&b'Z');
    if wire.pushed.is_empty()
        && let Some(ready) = wire.messages.iter().position(is_ready)
        && let after = &wire.messages[ready + 1..]
        && after.iter().all(|message| message.from == Side::Server)
    {
        wire.pushed = vec![answered; after.len()];
    }
}
