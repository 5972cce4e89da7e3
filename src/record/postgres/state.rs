//! What of a connection decides where names of a statement are looked for, and with whose rights: database and user of the
//! startup message, and what was set since.
//!
//! Left out: what a rollback takes back, `SET LOCAL`, `set_config()`, and queries of several statements.

use super::message::{parameter, tag};

/// The database and the user, as in a startup message, and settings in the order of [`SETTINGS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<(&'static [u8], Vec<u8>)>,
    settings: [Option<Vec<u8>>; SETTINGS.len()],
}

/// Parameters of a startup message that stay, beside user and database.
const FIXED: [&[u8]; 2] = [b"options", b"replication"];
/// Parameters that commands change.
const SETTINGS: [&str; 3] = ["search_path", "role", "session_authorization"];
const ROLE: usize = 1;
const AUTHORIZATION: usize = 2;

impl State {
    pub(super) fn of_startup(startup: &[u8]) -> Self {
        let mut state = Self::default();
        let user = parameter(startup, b"user").unwrap_or_default();
        state.fixed.push((b"user", user.to_vec()));
        state.fixed.push((b"database", parameter(startup, b"database").unwrap_or(user).to_vec()));
        state.fixed.extend(FIXED.into_iter().filter_map(|name| Some((name, parameter(startup, name)?.to_vec()))));
        for (setting, name) in state.settings.iter_mut().zip(SETTINGS) {
            *setting = parameter(startup, name.as_bytes()).map(<[u8]>::to_vec);
        }
        state
    }

    /// The message that calls begin with: a startup message that leads to this state. None before there was one.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        if self.fixed.is_empty() {
            return None;
        }
        // Version 3.0.
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        let settings = SETTINGS.iter().zip(&self.settings);
        let settings = settings.filter_map(|(name, value)| Some((name.as_bytes(), value.as_ref()?)));
        for (name, value) in self.fixed.iter().map(|(name, value)| (*name, value)).chain(settings) {
            for text in [name, value.as_slice()] {
                body.extend_from_slice(text);
                body.push(0);
            }
        }
        body.push(0);
        Some([&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat())
    }

    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        let settings: usize = self.settings.iter().flatten().map(Vec::len).sum();
        settings + self.fixed.iter().map(|(_, value)| value.len()).sum::<usize>()
    }

    /// Takes over what a question sets. Whether it sets anything that is kept here.
    pub(super) fn set(&mut self, question: &[u8]) -> bool {
        let Some(text) = statement(question) else { return false };
        let text = text.trim();
        let text = text.strip_suffix(';').unwrap_or(text);
        // The value may stand right after the sign.
        let spaced = text.replacen('=', " = ", 1);
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let set = |value: &[&str]| Some(value.join(" ").into_bytes()).filter(|value| !is_default(value));
        match lower.as_slice() {
            ["set", "session", "authorization", _, ..] => {
                self.settings[AUTHORIZATION] = set(&words[3..]);
                self.settings[ROLE] = None;
            }
            ["set", "role", "to" | "=", _, ..] | ["set", "session", "role", _, ..] => {
                self.settings[ROLE] = set(&words[3..]);
            }
            ["set", "role", _, ..] => self.settings[ROLE] = set(&words[2..]),
            ["set", "search_path", "to" | "=", _, ..] => self.settings[0] = set(&words[3..]),
            ["set", "session", "search_path", "to" | "=", _, ..] => self.settings[0] = set(&words[4..]),
            ["set", "schema", _, ..] => self.settings[0] = set(&words[2..]),
            ["reset", "search_path" | "all"] => self.settings[0] = None,
            ["reset", "role"] => self.settings[ROLE] = None,
            ["reset", "session", "authorization"] | ["reset", "session_authorization"] => {
                (self.settings[AUTHORIZATION], self.settings[ROLE]) = (None, None);
            }
            ["discard", "all"] => self.settings = Default::default(),
            _ => return false,
        }
        true
    }
}

fn is_default(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"default") || value.eq_ignore_ascii_case(b"none")
}

/// Whether an answer says that a setting was made.
pub(super) fn was_set<'a>(mut answer: impl Iterator<Item = &'a [u8]>) -> bool {
    answer.any(|message| message.first() == Some(&b'C') && matches!(tag(message), b"SET" | b"RESET" | b"DISCARD ALL"))
}

/// The text of a `Query`, or of the statement that a `Bind` names by its text.
fn statement(question: &[u8]) -> Option<&str> {
    let text = match (question.first()?, question.get(5..)?) {
        (b'Q', body) => body.split(|byte| *byte == 0).next()?,
        (b'B', body) => body.split(|byte| *byte == 0).nth(1)?,
        _ => return None,
    };
    std::str::from_utf8(text).ok()
}
