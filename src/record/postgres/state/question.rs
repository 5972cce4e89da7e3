//! What the questions of a client say.

use crate::record::postgres::sql::{name, tokens};

/// The words of a statement, in lower case, as far as names are none in quotes.
pub(in crate::record::postgres) fn words(text: &str) -> Vec<String> {
    let words = tokens(text).into_iter().map(|token| name(&text[token]));
    words.collect()
}

/// How a statement ends a transaction, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record::postgres) enum Exit {
    /// `ROLLBACK`, to a savepoint as well.
    Rollback,
    /// `COMMIT`.
    Commit,
}

/// How the statement of a question ends a transaction: in `Query`, `Parse`, `Bind`, `Describe` or `Execute`.
pub(in crate::record::postgres) fn exit(question: &[u8]) -> Option<Exit> {
    let body = question.get(5..)?;
    let mut parts = body.splitn(3, |byte| *byte == 0);
    let text = match question.first()? {
        b'Q' | b'E' => parts.next()?,
        b'P' | b'B' => parts.nth(1)?,
        b'D' => parts.next()?.get(1..)?,
        _ => return None,
    };
    match words(std::str::from_utf8(text).ok()?).first()?.as_str() {
        "rollback" | "abort" => Some(Exit::Rollback),
        "commit" | "end" => Some(Exit::Commit),
        _ => None,
    }
}

/// Whether a question is answered in a transaction that failed as in any other.
pub(super) fn leaves(question: &[u8]) -> bool {
    let is_prepared = matches!(question.first(), Some(b'P' | b'D'));
    exit(question).is_some_and(|exit| is_prepared || exit == Exit::Rollback)
}

/// The text of a `Query`, or of the statement that a `Bind` or `Execute` names by its text, and the values that are bound.
pub(in crate::record::postgres) fn statement(question: &[u8]) -> Option<(&str, &[u8])> {
    let body = question.get(5..)?;
    let mut parts = body.splitn(3, |byte| *byte == 0);
    let (text, bound) = match question.first()? {
        b'Q' => (parts.next()?, &b""[..]),
        b'B' => (parts.nth(1)?, parts.next().unwrap_or_default()),
        // What is bound stands in a comment.
        b'E' => parts.next().map(|text| (text, text))?,
        _ => return None,
    };
    Some((std::str::from_utf8(text).ok()?, bound))
}
