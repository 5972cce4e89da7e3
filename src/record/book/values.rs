//! Whether two calls to a database differ only in their values: in what changes from run to run where a program asks a clock, or
//! draws an id. Only ever told: it looks at words, not at the grammar of a statement.

use crate::record::exchange::{Message, Protocol};
use crate::record::summary;

/// The next step of who has such a call.
pub(super) const HINT: &str = "only values differ: make them the same in each run (a fixed clock, seed or id, by variables of the tests' environment), since `noise` is of calls over HTTP alone";

/// Whether what was said to a database is the same but for texts in quotes and words that hold a digit.
pub(super) fn differ_alone(protocol: Protocol, recorded: &[Message], asked: &[Message]) -> bool {
    let is_database = !matches!(protocol, Protocol::Generic | Protocol::Http | Protocol::Grpc | Protocol::Dns);
    let text = |message: &Message| summary::text(protocol, &message.bytes);
    is_database && recorded.len() == asked.len() && {
        let texts: Vec<_> = recorded.iter().zip(asked).map(|(one, other)| (text(one), text(other))).collect();
        texts.iter().any(|(one, other)| one != other)
            && texts.iter().all(|(one, other)| one == other || shape(protocol, one) == shape(protocol, other))
    }
}

/// A text with a mark in the place of each value.
fn shape(protocol: Protocol, text: &str) -> String {
    // "Names" in PostgreSQL, texts elsewhere.
    let quotes: &[char] = if protocol == Protocol::Postgres { &['\''] } else { &['\'', '"'] };
    let mut shape = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || "_-:.+$".contains(c);
        let end = if quotes.contains(&first) {
            rest[1..].find(first).map_or(rest.len(), |end| end + 2)
        } else {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8())
        };
        let (part, after) = rest.split_at(end);
        if quotes.contains(&first) || part.contains(|c: char| c.is_ascii_digit()) {
            // A quote in a text is two of them.
            if !shape.ends_with('?') {
                shape.push('?');
            }
        } else {
            shape.push_str(part);
        }
        rest = after;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::exchange::Side;

    #[test]
    fn calls_that_differ_only_in_values_are_known() {
        let message = |text: &str| {
            let bytes = [b"Q", &(text.len() as u32 + 5).to_be_bytes()[..], text.as_bytes(), b"\0"].concat();
            [Message { from: Side::Client, bytes }]
        };
        let cases = [
            ("INSERT INTO t VALUES ('a', 1)", "INSERT INTO t VALUES ('it''s', 22)", true),
            (
                "SELECT * FROM t WHERE at > 2026-07-28T12:00:00Z",
                "SELECT * FROM t WHERE at > 2026-07-29T09:00:00Z",
                true,
            ),
            ("SELECT \"a\" FROM t", "SELECT \"b\" FROM t", false),
            ("SELECT a FROM t", "SELECT b FROM t", false),
            ("SELECT 1", "SELECT 1", false),
            ("SELECT 'a", "SELECT 'é", true),
        ];
        for (recorded, asked, expected) in cases {
            let is = differ_alone(Protocol::Postgres, &message(recorded), &message(asked));
            assert_eq!(is, expected, "{recorded} and {asked}");
        }
        let long = [message("SELECT 1"), message("SELECT 1")].concat();
        assert!(!differ_alone(Protocol::Postgres, &long, &message("SELECT 2")));
    }
}
