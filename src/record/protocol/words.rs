//! What was said, as people read it.

use crate::record::call::{Protocol, Side, Wire};
use crate::record::protocol::mongo;
use crate::record::protocol::redis::command;

/// What a program said to a server, in words where its protocol has some.
pub fn said(protocol: Protocol, wire: &Wire) -> String {
    let messages = wire.messages.iter().filter(|message| message.from == Side::Client);
    let texts = messages.map(|message| text(protocol, &message.bytes)).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("; ")
}

/// A message of a program in words: the command or the statement, or what of its bytes can be read.
pub fn text(protocol: Protocol, bytes: &[u8]) -> String {
    let known = match protocol {
        Protocol::Redis => {
            command(bytes).map(|(words, _)| words.iter().map(|word| readable(word)).collect::<Vec<_>>().join(" "))
        }
        Protocol::Postgres => match bytes.first() {
            Some(b'Q' | b'P') => bytes.get(5..).map(readable),
            Some(b'B') => bytes.get(5..).and_then(bound),
            // Of a startup message the length and the version are no words.
            Some(0) => bytes.get(8..).map(readable),
            // Nor are numbers of formats, names of statements and what proves a password.
            Some(b'S' | b'H' | b'D' | b'E' | b'C' | b'p') => Some(String::new()),
            _ => None,
        },
        Protocol::MySql => bytes.get(5..).map(readable),
        Protocol::Mongo => mongo::text(bytes),
        Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => None,
    };
    known.unwrap_or_else(|| readable(bytes))
}

/// The statement and the values of a `Bind`, without their lengths and formats.
fn bound(body: &[u8]) -> Option<String> {
    let mut parts = body.splitn(3, |byte| *byte == 0);
    let (_, statement, mut rest) = (parts.next()?, parts.next()?, parts.next()?);
    let count = |rest: &mut &[u8]| {
        let (count, after) = rest.split_first_chunk()?;
        *rest = after;
        Some(usize::from(u16::from_be_bytes(*count)))
    };
    let formats = count(&mut rest)?;
    rest = rest.get(2 * formats..)?;
    let mut words = vec![readable(statement)];
    for _ in 0..count(&mut rest)? {
        let (length, after) = rest.split_first_chunk()?;
        // -1 is NULL.
        let length = usize::try_from(i32::from_be_bytes(*length));
        let (value, after) = length.map_or(Some((&b"NULL"[..], after)), |length| after.split_at_checked(length))?;
        words.push(readable(value));
        rest = after;
    }
    words.retain(|word| !word.is_empty());
    Some(words.join(" "))
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
