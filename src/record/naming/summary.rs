//! What a set of calls holds, in a few numbers and words.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::record::call::{Content, Exchange, Protocol, Refusal, Side, Silence, Wire};
use crate::record::net::dns::NOERROR;
use crate::record::protocol::mongo;
use crate::record::redact::command;

/// A set in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// All calls. Connections on which nothing was said are none.
    pub calls: usize,
    /// Connections that were refused. They are no calls.
    pub refused: usize,
    /// Whether there is no call that was answered: only connections that were refused, with the names that were looked up
    /// for them, and names that there are not.
    pub is_nothing: bool,
    /// By protocol, those with the most calls first.
    pub protocols: Vec<(Protocol, usize)>,
    /// When the first call was sent.
    pub first: Option<SystemTime>,
    /// When the last answer came.
    pub last: Option<SystemTime>,
}

impl Summary {
    /// Of these calls.
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a Exchange>) -> Self {
        let mut by_protocol: BTreeMap<Protocol, usize> = BTreeMap::new();
        let mut summary =
            Self { calls: 0, refused: 0, is_nothing: true, protocols: Vec::new(), first: None, last: None };
        let mut has_names = false;
        for call in calls {
            if Refusal::is(call) {
                summary.refused += 1;
                continue;
            }
            if Silence::of(call).is_some() {
                continue;
            }
            match &call.content {
                Content::Dns(dns) => has_names |= dns.code == NOERROR,
                _ => summary.is_nothing = false,
            }
            let protocol = call.content.protocol();
            summary.calls += 1;
            summary.first = Some(summary.first.map_or(call.sent_at, |first| first.min(call.sent_at)));
            summary.last = Some(summary.last.map_or(call.answered_at, |last| last.max(call.answered_at)));
            *by_protocol.entry(protocol).or_default() += 1;
        }
        summary.is_nothing &= summary.refused > 0 || !has_names;
        summary.protocols = by_protocol.into_iter().collect();
        summary.protocols.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
        summary
    }

    /// The words for its protocols, as a reply lists them. Names that were looked up on the way to something else are not
    /// worth telling.
    pub fn protocol_words(&self) -> Vec<&'static str> {
        let only_names = self.protocols.iter().all(|(protocol, _)| *protocol == Protocol::Dns);
        let told = self.protocols.iter().filter(|(protocol, _)| only_names || *protocol != Protocol::Dns);
        told.map(|(protocol, _)| word(*protocol)).collect()
    }
}

/// The word for a protocol.
pub fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "HTTP",
        Protocol::Grpc => "gRPC",
        Protocol::Dns => "DNS",
        Protocol::Postgres => "Postgres",
        Protocol::MySql => "MySQL",
        Protocol::Redis => "Redis",
        Protocol::Mongo => "MongoDB",
        Protocol::Generic => "TCP",
    }
}

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
    use std::time::Duration;

    use crate::record::call::{Content, Link, Message, Target};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_set_in_numbers() {
        let at = |secs| SystemTime::UNIX_EPOCH + Duration::from_secs(secs);
        let link = Link { target: Target { host: "a".to_owned(), port: 1 }, tls: false, connection: 1 };
        let call = |protocol, from, to| link.exchange(Content::Wire(protocol, Wire::default()), at(from), at(to));
        let calls = [call(Protocol::Redis, 1, 2), call(Protocol::MySql, 2, 7), call(Protocol::Redis, 3, 6)];
        let expected = Summary {
            calls: 3,
            refused: 0,
            is_nothing: false,
            protocols: vec![(Protocol::Redis, 2), (Protocol::MySql, 1)],
            first: Some(at(1)),
            last: Some(at(7)),
        };
        assert_eq!(Summary::of(&calls), expected);
        assert_eq!(expected.protocol_words(), ["Redis", "MySQL"]);
    }

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
