//! Transaction control and `DEALLOCATE` statements. Their answers are always the same, so they need
//! no recording.

use crate::protocol::sql::{self, Token};

/// Words that may follow `BEGIN` and `START TRANSACTION`.
const MODES: &str = "work transaction isolation level serializable repeatable read committed uncommitted write only not deferrable \
    with consistent snapshot";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`, `END`.
    Commit,
    /// `ROLLBACK`, `ABORT`.
    Rollback,
    Save(String),
    Release(String),
    RollBackTo(String),
    /// `DEALLOCATE name`, or all if `None`.
    Deallocate(Option<String>),
}

impl Control {
    pub(crate) fn of_text(text: &[u8], is_mysql: bool) -> Option<Self> {
        match sql::statements(text, is_mysql, &[]).as_slice() {
            [one] => Self::of(one),
            _ => None,
        }
    }

    pub(crate) fn of(statement: &[Token]) -> Option<Self> {
        let words: Option<Vec<&str>> = statement
            .iter()
            .map(|token| {
                if let Token::Word(word) = token {
                    Some(word.as_str())
                } else {
                    None
                }
            })
            .collect();
        let first = if let Some(Token::Word(first)) = statement.first() {
            first.as_str()
        } else {
            ""
        };
        let is_mode = |token: &Token| match token {
            Token::Word(word) => MODES.split_ascii_whitespace().any(|mode| mode == word),
            token => *token == Token::Mark(b','),
        };
        let begins = first == "begin"
            || first == "start" && statement.get(1) == Some(&Token::Word("transaction".to_owned()));
        if begins && statement[1..].iter().all(is_mode) {
            return Some(Self::Begin);
        }
        Some(match words?.as_slice() {
            ["commit" | "end"] | ["commit" | "end", "work" | "transaction"] => Self::Commit,
            ["rollback" | "abort"] | ["rollback" | "abort", "work" | "transaction"] => {
                Self::Rollback
            }
            ["savepoint", name] => Self::Save((*name).to_owned()),
            ["release", name] | ["release", "savepoint", name] => Self::Release((*name).to_owned()),
            ["rollback", "to", name]
            | ["rollback", "to", "savepoint", name]
            | ["rollback", "work" | "transaction", "to", .., name] => {
                Self::RollBackTo((*name).to_owned())
            }
            ["deallocate", "all"] | ["deallocate", "prepare", "all"] => Self::Deallocate(None),
            ["deallocate", name] | ["deallocate", "prepare", name] => {
                Self::Deallocate(Some((*name).to_owned()))
            }
            _ => return None,
        })
    }

    /// Returns the command tag of `PostgreSQL` (manual, "Message Formats", `CommandComplete`).
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback | Self::RollBackTo(_) => "ROLLBACK",
            Self::Save(_) => "SAVEPOINT",
            Self::Release(_) => "RELEASE",
            Self::Deallocate(None) => "DEALLOCATE ALL",
            Self::Deallocate(Some(_)) => "DEALLOCATE",
        }
    }

    pub(crate) fn leaves_open(&self, was_open: bool) -> bool {
        match self {
            Self::Begin => true,
            Self::Commit | Self::Rollback => false,
            _ => was_open,
        }
    }
}
