//! What was said, as people read it.

use crate::record::call::{Protocol, Side, Wire};
use crate::record::protocol::parts::{Part, Role, parts_of};
use crate::record::protocol::spoken;

/// What a program said to a server, in words where its protocol has some.
pub fn said(protocol: Protocol, wire: &Wire) -> String {
    let texts = wire.said(Side::Client).map(|bytes| text(protocol, bytes)).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("; ")
}

/// A message in words: the command or the statement with its values, or what of its bytes can be read.
pub fn text(protocol: Protocol, bytes: &[u8]) -> String {
    let rest = spoken::of(protocol).map_or(0, |spoken| (spoken.head)(bytes));
    match parts_of(protocol, bytes).filter(|_| rest < bytes.len()) {
        Some(parts) => told(&parts),
        None => readable(bytes.get(rest..).unwrap_or(bytes)),
    }
}

/// The text with its values, and those beside it; of documents with their names, but for what drivers add.
fn told(parts: &[Part]) -> String {
    let is_added = |part: &&Part| {
        let added = ["body.lsid", "body.$clusterTime", "body.txnNumber", "body.$readPreference"];
        added
            .iter()
            .any(|name| part.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let in_text: Vec<u8> = parts.iter().filter(|part| part.is_in_text()).flat_map(|part| part.bytes.clone()).collect();
    let beside = parts.iter().filter(|part| !part.is_in_text() && !part.text.is_empty() && !is_added(part));
    let beside = beside.map(|part| match part.name.strip_prefix("body.") {
        Some(name) if part.role == Role::Bound => format!("{name}={}", part.text),
        _ => part.text.clone(),
    });
    let words = std::iter::once(readable(&in_text)).chain(beside.map(|text| readable(text.as_bytes())));
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Bytes as text; what is no text becomes one space.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|c: char| c.is_control() || c == '\u{fffd}').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::record::call::Message;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_was_said_in_words() {
        let cases: [(Protocol, &[u8], &str); 8] = [
            (Protocol::Redis, b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "GET a"),
            (Protocol::Postgres, b"Q\0\0\0\x0dSELECT 1\0", "SELECT 1"),
            (Protocol::Postgres, b"\0\0\0\x20\0\x03\0\0user\0app\0database\0shop\0\0", "user app database shop"),
            (
                Protocol::Postgres,
                b"B\0\0\0\x26\0SELECT $1\0\0\x01\0\0\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0",
                "SELECT $1 ab NULL",
            ),
            (Protocol::Postgres, b"p\0\0\0\x08abc\0", ""),
            (Protocol::MySql, b"\x09\0\0\0\x03SELECT 1", "SELECT 1"),
            (Protocol::Generic, b"\x00hi\xff\xffyou\n", "hi you"),
            (Protocol::Mongo, b"short", "short"),
        ];
        for (protocol, bytes, expected) in cases {
            let wire = Wire { messages: vec![Message { from: Side::Client, bytes: bytes.to_vec() }], session: false };
            assert_eq!(said(protocol, &wire), expected);
        }
    }
}
