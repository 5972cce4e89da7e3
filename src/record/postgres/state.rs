//! What of a connection decides where names of a statement are looked for, and with whose rights: database and user of the
//! startup message, and what was set since. A transaction that is rolled back takes its settings with it, and its end those of
//! `SET LOCAL` (manual, `SET`).
//!
//! Left out: `set_config()`.

use super::message::{parameter, tag};

/// The database and the user, as in a startup message, and settings in the order of [`SETTINGS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<(&'static [u8], Vec<u8>)>,
    now: Settings,
    transaction: Option<Transaction>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Settings {
    values: [Option<Vec<u8>>; SETTINGS.len()],
    /// Whether no recording led to them.
    astray: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Transaction {
    /// What holds after a rollback.
    before: Settings,
    /// What holds after a commit: without what is local.
    after: Settings,
    /// By name, each with what held then, and what held after a commit.
    savepoints: Vec<(String, Settings, Settings)>,
}

/// Parameters of a startup message that stay, beside user and database.
const FIXED: [&[u8]; 2] = [b"options", b"replication"];
/// Parameters that commands change.
const SETTINGS: [&str; 3] = ["search_path", "role", "session_authorization"];
/// What commands answer that change something here (manual, "Message Formats", `CommandComplete`).
const TAGS: [&[u8]; 10] = [
    b"SET",
    b"RESET",
    b"DISCARD ALL",
    b"BEGIN",
    b"START TRANSACTION",
    b"COMMIT",
    b"PREPARE TRANSACTION",
    b"ROLLBACK",
    b"SAVEPOINT",
    b"RELEASE",
];
const SEARCH_PATH: usize = 0;
const ROLE: usize = 1;
const AUTHORIZATION: usize = 2;

impl State {
    pub(super) fn of_startup(startup: &[u8]) -> Self {
        let mut state = Self::default();
        let user = parameter(startup, b"user").unwrap_or_default();
        state.fixed.push((b"user", user.to_vec()));
        state.fixed.push((b"database", parameter(startup, b"database").unwrap_or(user).to_vec()));
        state.fixed.extend(FIXED.into_iter().filter_map(|name| Some((name, parameter(startup, name)?.to_vec()))));
        for (setting, name) in state.now.values.iter_mut().zip(SETTINGS) {
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
        let settings = SETTINGS.iter().zip(&self.now.values);
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
        let inside = self.transaction.iter().flat_map(|transaction| {
            let savepoints = transaction.savepoints.iter();
            let each = savepoints.map(|(name, now, after)| name.len() + now.size() + after.size());
            each.chain([transaction.before.size() + transaction.after.size()])
        });
        self.now.size() + inside.sum::<usize>() + self.fixed.iter().map(|(_, value)| value.len()).sum::<usize>()
    }

    /// Whether the connection has settings that no recording leads to.
    pub(super) fn is_astray(&self) -> bool {
        self.now.astray
    }

    /// Takes over what a question has done, as its answer tells.
    pub(super) fn follow<'a>(&mut self, question: &[u8], answer: impl Iterator<Item = &'a [u8]>) {
        let (mut tags, mut failed) = (Vec::new(), false);
        for message in answer {
            match message.first() {
                Some(b'C') => tags.push(tag(message)),
                Some(b'E') => failed = true,
                _ => {}
            }
        }
        // Statements that are sent together are one transaction, unless they begin one.
        if !tags.iter().any(|tag| TAGS.contains(tag)) || failed && self.transaction.is_none() {
            return;
        }
        let Some(text) = statement(question) else { return };
        for (one, tag) in statements(text).into_iter().zip(tags) {
            match tag {
                b"SET" | b"RESET" | b"DISCARD ALL" => self.set(one, false),
                b"BEGIN" | b"START TRANSACTION" => self.begin(),
                b"COMMIT" | b"PREPARE TRANSACTION" => self.end(one, true),
                b"ROLLBACK" => self.roll_back(one),
                b"SAVEPOINT" => self.save(one),
                b"RELEASE" => drop(self.savepoint(one)),
                _ => {}
            }
        }
    }

    /// Takes over what a question sets that no recording answers.
    pub(super) fn stray(&mut self, question: &[u8]) {
        for one in statement(question).map(statements).unwrap_or_default() {
            self.set(one, true);
        }
    }

    /// A transaction has been rolled back.
    pub(super) fn rolled_back(&mut self) {
        self.end("", false);
    }

    fn begin(&mut self) {
        if self.transaction.is_none() {
            let now = || self.now.clone();
            self.transaction = Some(Transaction { before: now(), after: now(), savepoints: Vec::new() });
        }
    }

    fn end(&mut self, text: &str, committed: bool) {
        if let Some(transaction) = self.transaction.take() {
            self.now = if committed { transaction.after } else { transaction.before };
        }
        let words = words(text);
        if words.ends_with(&["and".to_owned(), "chain".to_owned()]) && !words.contains(&"no".to_owned()) {
            self.begin();
        }
    }

    /// `ROLLBACK`, `ROLLBACK TO name`, and a `COMMIT` of what has failed.
    fn roll_back(&mut self, text: &str) {
        if !words(text).iter().any(|word| word == "to") {
            return self.end(text, false);
        }
        if let Some((name, now, after)) = self.savepoint(text)
            && let Some(transaction) = &mut self.transaction
        {
            (self.now, transaction.after) = (now.clone(), after.clone());
            transaction.savepoints.push((name, now, after));
        }
    }

    fn save(&mut self, text: &str) {
        if let (Some(transaction), Some(name)) = (&mut self.transaction, words(text).pop()) {
            transaction.savepoints.push((name, self.now.clone(), transaction.after.clone()));
        }
    }

    /// Takes the savepoint out that a statement names last, and those after it.
    fn savepoint(&mut self, text: &str) -> Option<(String, Settings, Settings)> {
        let savepoints = &mut self.transaction.as_mut()?.savepoints;
        let named = words(text).pop()?;
        let at = savepoints.iter().rposition(|(name, ..)| *name == named)?;
        savepoints.drain(at..).next()
    }

    /// Sets what a statement sets, if that is kept here.
    fn set(&mut self, text: &str, astray: bool) {
        // The value may stand right after the sign.
        let spaced = text.replacen('=', " = ", 1);
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        // Before what is set stands how long it holds.
        let (local, from) = match lower.as_slice() {
            ["set", "local", ..] => (true, 2),
            ["set", "session", "authorization", ..] => (false, 1),
            ["set", "session", ..] => (false, 2),
            _ => (false, 1),
        };
        let value = |at: usize| Some(words[at..].join(" ").into_bytes()).filter(|value| !is_default(value));
        let changes: &[(usize, Option<Vec<u8>>)] = match (lower.first(), lower.get(from..).unwrap_or_default()) {
            (Some(&"set"), ["session", "authorization", _, ..]) => &[(AUTHORIZATION, value(from + 2)), (ROLE, None)],
            (Some(&"set"), ["role", "to" | "=", _, ..]) => &[(ROLE, value(from + 2))],
            (Some(&"set"), ["role", _, ..]) => &[(ROLE, value(from + 1))],
            (Some(&"set"), ["search_path", "to" | "=", _, ..]) => &[(SEARCH_PATH, value(from + 2))],
            (Some(&"set"), ["schema", _, ..]) => &[(SEARCH_PATH, value(from + 1))],
            (Some(&"reset"), ["search_path" | "all"]) => &[(SEARCH_PATH, None)],
            (Some(&"reset"), ["role"]) => &[(ROLE, None)],
            (Some(&"reset"), ["session", "authorization"] | ["session_authorization"]) => {
                &[(AUTHORIZATION, None), (ROLE, None)]
            }
            (Some(&"discard"), ["all"]) => &[(SEARCH_PATH, None), (ROLE, None), (AUTHORIZATION, None)],
            _ => return,
        };
        // Outside of a transaction nothing is local.
        if local && self.transaction.is_none() {
            return;
        }
        self.now.change(changes, astray);
        if let Some(transaction) = self.transaction.as_mut().filter(|_| !local) {
            transaction.after.change(changes, astray);
        }
    }
}

impl Settings {
    fn change(&mut self, changes: &[(usize, Option<Vec<u8>>)], astray: bool) {
        for (index, value) in changes {
            self.values[*index].clone_from(value);
        }
        self.astray = astray;
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.iter().flatten().map(Vec::len).sum::<usize>()
    }
}

fn is_default(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"default") || value.eq_ignore_ascii_case(b"none")
}

/// The words of a statement, in lower case, as far as names are none in quotes.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_ascii_lowercase).collect()
}

/// The statements of a query, without the comments and spaces before each. Texts and names in quotes are not cut.
fn statements(text: &str) -> Vec<&str> {
    let mut quote = None;
    let pieces = text.split(|c: char| {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && c == ';'
    });
    pieces.map(without_comments).filter(|piece| !piece.is_empty()).collect()
}

fn without_comments(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let end = if text.starts_with("/*") {
            text.find("*/").map(|end| end + 2)
        } else if text.starts_with("--") {
            text.find('\n')
        } else {
            return text;
        };
        let Some(end) = end else { return "" };
        text = text[end..].trim_start();
    }
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
