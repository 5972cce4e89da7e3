//! What the questions of a client say.

use crate::record::postgres::settings::{TOLD, counts};
use crate::record::postgres::sql::{name, statements, tokens};
use crate::record::postgres::statement::Statement;

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

/// Whether a question prepares a statement or asks what its results look like: `Parse` and `Describe`.
pub(in crate::record::postgres) fn prepares(question: &[u8]) -> bool {
    matches!(question.first(), Some(b'P' | b'D'))
}

/// What a question sets before it reads anything: what that was before does not matter to its answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::record::postgres) struct Overwritten {
    pub(in crate::record::postgres) names: Vec<String>,
    /// Those of them that it sets to what it reads: what they were may tell what that is.
    pub(in crate::record::postgres) computed: Vec<String>,
    /// Whether it does nothing else, or begins and ends transactions: then next to nothing matters.
    pub(in crate::record::postgres) alone: bool,
    /// Whether it takes something back to what the connection began with.
    resets: bool,
}

impl Overwritten {
    pub(super) fn by(question: &[u8]) -> Self {
        let mut found = Self::default();
        let Some((text, bound)) = statement(question) else { return found };
        let begins = |word: &str| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        // Most statements set nothing.
        if begins("select") && memchr::memmem::find(text.to_ascii_lowercase().as_bytes(), b"set_config").is_none() {
            return found;
        }
        for one in statements(text) {
            if !found.add(&Statement::new(one, bound)) {
                // What follows reads what the connection began with.
                found.alone = false;
                return if found.resets { Self::default() } else { found };
            }
            found.alone = true;
        }
        found
    }

    /// Whether the value of a setting does not matter.
    pub(in crate::record::postgres) fn has(&self, name: &str) -> bool {
        let is_own = self.names.iter().any(|own| own == name);
        // Some settings are for superusers.
        let is_who = matches!(name, "role" | "session_authorization");
        is_own || self.alone && !(is_who && self.names.iter().any(|own| needs_rights(own, name)))
    }

    /// Adds what a statement sets, if it does nothing else.
    fn add(&mut self, one: &Statement<'_>) -> bool {
        let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
        let names: Vec<String> = match lower.as_slice() {
            ["discard" | "reset", "all"] => {
                self.resets = true;
                return true;
            }
            ["deallocate" | "close", "all"]
            | ["deallocate", "prepare", "all"]
            | [
                "unlisten" | "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release",
                ..,
            ] => return true,
            ["set", "transaction" | "constraints", ..] | ["set", "session", "characteristics", ..] => return false,
            ["set", ..] => one.assigned().into_iter().map(|(name, ..)| name).collect(),
            ["reset", ..] => one.setting(1).into_iter().map(|(name, _)| name).collect(),
            ["select", ..] if let Some(set) = one.configured() => set.into_iter().map(|(name, ..)| name).collect(),
            ["select" | "with" | "do", ..] => {
                self.computed = one.computed().into_iter().flatten().map(|(name, _)| name).collect();
                self.names.extend(self.computed.iter().cloned());
                return false;
            }
            _ => return false,
        };
        self.resets |= matches!(lower.as_slice(), ["reset", ..] | [.., "default"] | ["set", .., "local" | "none"]);
        if names.iter().any(|name| name == "session_authorization") {
            self.names.push("role".to_owned());
        }
        let is_setter = !names.is_empty();
        self.names.extend(names);
        is_setter
    }
}

/// Whether somebody in this role, or of this session, may not set a setting.
fn needs_rights(name: &str, who: &str) -> bool {
    match name {
        "role" => who == "session_authorization",
        name => !(name.contains('.') || TOLD.contains(&name) || !counts(name)),
    }
}
