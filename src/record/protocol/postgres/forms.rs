//! A statement without parameters is the same call whether it is a `Query` or was prepared: drivers prepare what a connection has
//! carried out several times, and a pool hands out connections in any order.

use std::sync::Arc;

use super::message::{bytes, count, message, text};
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
    let mut rest = bind.strip_prefix(b"B")?.get(4..)?;
    let (_, statement) = (text(&mut rest).ok()?, text(&mut rest).ok()?);
    let is_plain = count(&mut rest).ok()? == 0 && count(&mut rest).ok()? == 0;
    let formats = count(&mut rest).ok()?;
    let is_text = bytes(&mut rest, 2 * formats).ok()?.iter().all(|byte| *byte == 0);
    (is_plain && is_text).then(|| message(b'Q', &[statement, b"\0"]))
}

/// The `Query` of a `Parse` without parameters, or of a `Describe` of such a statement.
pub(super) fn query_of_preparation(question: &[u8]) -> Option<Vec<u8>> {
    let mut rest = question.get(5..)?;
    let statement = match question.first()? {
        b'P' => {
            let is_anonymous = text(&mut rest).ok()?.is_empty();
            Some(text(&mut rest).ok()?).filter(|_| is_anonymous && rest == [0, 0])
        }
        b'D' => text(&mut rest.strip_prefix(b"S")?).ok(),
        _ => None,
    };
    Some(message(b'Q', &[statement?, b"\0"]))
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
    let mut rest = said(found, Side::Client).find_map(|message| message.strip_prefix(b"B"))?.get(4..)?;
    let (_, statement) = (text(&mut rest).ok()?, text(&mut rest).ok()?);
    let formats = rest.get(4..)?;
    Some(message(b'D', &[b"P", statement, format!(" -- results {}", hex(formats)).as_bytes(), b"\0"]))
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
