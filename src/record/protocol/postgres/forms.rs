//! A statement without parameters is the same call whether it is a `Query` or was prepared: drivers prepare what a connection has
//! carried out several times, and a pool hands out connections in any order.

use std::sync::Arc;

use super::message::{Bound, message, statement};
use crate::record::call::{Content, Exchange, Message, Side};
use crate::record::protocol::role::said;
use crate::text::escape::hex;

/// Makes a `Query` of a `Bind` and an `Execute` that carry out all of a statement without parameters and ask for texts.
pub(in crate::record) fn unify(messages: &mut Vec<Message>) {
    let of_client = || messages.iter().enumerate().filter(|(_, message)| message.from == Side::Client);
    let asked: Vec<usize> =
        of_client().filter(|(_, message)| message.bytes.first() != Some(&0)).map(|(at, _)| at).collect();
    let [bind, execute] = asked[..] else { return };
    let is_whole = messages[execute].bytes == message(b'E', &[b"\0", &[0; 4]]);
    if let Some(query) = query_of(&messages[bind].bytes).filter(|_| is_whole) {
        messages[bind].bytes = query;
        messages.remove(execute);
    }
}

/// The `Query` of the statement of a `Bind` without parameters that asks for texts.
fn query_of(bind: &[u8]) -> Option<Vec<u8>> {
    let bound = Bound::of(bind)?;
    let is_plain = bound.formats == [0, 0] && bound.values.is_empty();
    let is_text = bound.results.get(2..)?.iter().all(|byte| *byte == 0);
    if is_plain && is_text { Some(query(&bind[statement(bind)?])) } else { None }
}

fn query(statement: &[u8]) -> Vec<u8> {
    message(b'Q', &[statement, b"\0"])
}

/// The `Query` of a `Parse` without parameters, or of a `Describe` of such a statement.
pub(super) fn query_of_preparation(question: &[u8]) -> Option<Vec<u8>> {
    let at = statement(question)?;
    let is_one = match question.first()? {
        b'P' => question[at.end..] == [0, 0, 0],
        b'D' => question.get(5) == Some(&b'S'),
        _ => false,
    };
    is_one.then(|| query(&question[at]))
}

/// What describes the results in the answer to a `Query`: `RowDescription`, or `NoData`.
pub(super) fn described(found: &Exchange) -> Vec<u8> {
    let columns = said(found, Side::Server).find(|message| message.first() == Some(&b'T'));
    columns.map_or_else(|| message(b'n', &[]), <[u8]>::to_vec)
}

/// What `Parse` (`P`) or `Describe` of a statement answers of what was recorded as a `Query`.
pub(super) fn prepared(kind: u8, found: &Exchange) -> Vec<u8> {
    match kind {
        b'P' => message(b'1', &[]),
        _ => [message(b't', &[&[0, 0]]), described(found)].concat(),
    }
}

/// Whether a call was recorded as a `Query`.
pub(super) fn is_query(found: &Exchange) -> bool {
    let mut asked = said(found, Side::Client).filter(|message| message.first() != Some(&0));
    asked.next().is_some_and(|question| question.first() == Some(&b'Q'))
}

/// What asks for the results of a `Bind` in a recording to be described.
pub(super) fn describes(found: &Exchange) -> Option<Vec<u8>> {
    let bind = said(found, Side::Client).find(|message| message.first() == Some(&b'B'))?;
    let results = format!(" -- results {}", hex(Bound::of(bind)?.results));
    Some(message(b'D', &[b"P", &bind[statement(bind)?], results.as_bytes(), b"\0"]))
}

/// The same answer in the form of the other way: of a `Bind` and an `Execute`, or of a `Query` with this description.
pub(super) fn turned(found: &Exchange, columns: Option<&[u8]>) -> Arc<Exchange> {
    let mut turned = found.clone();
    if let Content::Wire(_, wire) = &mut turned.content {
        let first = if is_query(found) { Some(message(b'2', &[])) } else { columns.map(<[u8]>::to_vec) };
        wire.messages
            .retain(|message| message.from == Side::Client || !matches!(message.bytes.first(), Some(b'T' | b'2')));
        let at = wire.messages.iter().position(|message| message.from == Side::Server);
        if let (Some(at), Some(bytes)) = (at, first) {
            wire.messages.insert(at, Message { from: Side::Server, bytes });
        }
    }
    Arc::new(turned)
}
