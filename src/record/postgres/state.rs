//! What of a connection decides what a statement answers: database and user of the startup message, and what was set and
//! made in the session since. A transaction that is rolled back takes its settings with it, and its end those of `SET LOCAL`
//! (manual, `SET`).

mod effects;
mod question;
mod transaction;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::message::{parameter, parameters, tag};
use super::settings::{Kind, Settings, counts, is_of_session};
use super::sql::statements;
use super::statement::{Statement, hints};
use crate::limits::MAX_POSTGRES_REPORTED;
use crate::record::state::FULL_STATE_VERSION;
use question::leaves;
pub(super) use question::{Exit, exit};
pub(super) use question::{Overwritten, prepares, statement, words};
use transaction::Transaction;

/// The database and the user, as in a startup message, and what the session holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<(&'static [u8], Vec<u8>)>,
    /// Settings of the startup message.
    start: BTreeMap<String, Vec<u8>>,
    now: Settings,
    /// Settings that the server said by itself to have changed.
    reported: BTreeMap<String, Vec<u8>>,
    /// Statements that were prepared in words, with the numbers of those of their parameters that are secrets.
    secrets: BTreeMap<String, String>,
    /// The functions of a program's own that statements call which were prepared in words.
    runners: BTreeMap<String, Vec<String>>,
    transaction: Option<Transaction>,
}

/// What a state calls the parameters of a prepared statement that are secrets: its name stands behind it.
pub(in crate::record) const PREPARED_SECRETS: &str = "secrets of ";

/// Parameters of a startup message that stay, beside user and database.
const FIXED: [&[u8]; 2] = [b"options", b"replication"];
/// What states of earlier versions say, in their order.
const OLD_SETTINGS: [&str; 3] = ["search_path", "role", "session_authorization"];
/// First words of what commands answer that always change something here (manual, "Message Formats", `CommandComplete`).
const TAGS: [&str; 16] = [
    "SET",
    "RESET",
    "DISCARD",
    "BEGIN",
    "START",
    "COMMIT",
    "PREPARE",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "DEALLOCATE",
    "DECLARE",
    "CLOSE",
    "FETCH",
    "DO",
    "CALL",
];

/// Words of queries that change what others read, and are answered as queries.
const CHANGES: [&str; 4] = ["insert", "update", "delete", "merge"];

impl State {
    pub(super) fn of_startup(startup: &[u8]) -> Self {
        let mut state = Self::default();
        let user = parameter(startup, b"user").unwrap_or_default();
        state.fixed.push((b"user", user.to_vec()));
        state.fixed.push((b"database", parameter(startup, b"database").unwrap_or(user).to_vec()));
        state.fixed.extend(FIXED.into_iter().filter_map(|name| Some((name, parameter(startup, name)?.to_vec()))));
        for (name, value) in parameters(startup) {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            if !["user", "database", "options", "replication"].contains(&name.as_str()) && is_of_session(&name) {
                state.start.insert(name, value.to_vec());
            }
        }
        for (name, value) in &state.start {
            state.now.set(name, value);
        }
        state
    }

    /// The message that this call begins with: a startup message that leads to this state. None before there was one.
    pub(super) fn message(&self, question: &[u8]) -> Option<Vec<u8>> {
        let overwritten = Overwritten::by(question);
        let borrowed = |(name, value)| (name, Cow::Borrowed(value));
        let mut said: Vec<_> = self.now.said_to(question, &overwritten).collect();
        said.extend(self.now.read_by(question).map(borrowed));
        let reported = self.reported.iter().filter(|_| !overwritten.alone && !prepares(question));
        said.extend(reported.map(|(name, value)| (format!("reported {name}"), Cow::Borrowed(value.as_slice()))));
        said.extend(self.secrets_of(question).into_iter().map(borrowed));
        if self.transaction.as_ref().is_some_and(|inside| inside.failed && !inside.implicit) && !leaves(question) {
            said.push(("transaction".to_owned(), Cow::Borrowed(b"failed")));
        }
        said.extend(self.now.hinted_to(question, &overwritten));
        self.startup(FULL_STATE_VERSION, said.iter().map(|(name, value)| (name.as_bytes(), value.to_vec())))
    }

    /// What is to be known of statements that a question carries out by their names, so that nobody keeps their secrets.
    fn secrets_of(&self, question: &[u8]) -> Vec<(String, &[u8])> {
        let text = statement(question).map(|(text, _)| text).filter(|_| !self.secrets.is_empty());
        let words = text.map(words).unwrap_or_default();
        let named = words.windows(2).filter(|pair| pair[0] == "execute").map(|pair| pair[1].to_ascii_lowercase());
        let known = named.collect::<BTreeSet<_>>().into_iter().filter_map(|name| {
            let numbers = self.secrets.get(&name)?;
            Some((format!("{PREPARED_SECRETS}{name}"), numbers.as_bytes()))
        });
        known.collect()
    }

    /// The same as earlier versions said it.
    pub(super) fn old_message(&self) -> Option<Vec<u8>> {
        let said = OLD_SETTINGS.iter().filter_map(|name| {
            let value = String::from_utf8_lossy(self.now.values.get(*name)?);
            Some((name.as_bytes(), value.split_whitespace().collect::<Vec<_>>().join(" ").into_bytes()))
        });
        // Version 3.0.
        self.startup(196_608, said)
    }

    fn startup<'a>(&'a self, version: u32, said: impl Iterator<Item = (&'a [u8], Vec<u8>)>) -> Option<Vec<u8>> {
        if self.fixed.is_empty() {
            return None;
        }
        let mut body = version.to_be_bytes().to_vec();
        for (name, value) in self.fixed.iter().cloned().chain(said) {
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
        let start = self.start.iter().map(|(name, value)| name.len() + value.len());
        let reported = self.reported.iter().map(|(name, value)| name.len() + value.len());
        let fixed = self.fixed.iter().map(|(_, value)| value.len());
        let secrets = self.secrets.iter().map(|(name, numbers)| name.len() + numbers.len());
        let runners =
            self.runners.iter().map(|(name, called)| name.len() + called.iter().map(String::len).sum::<usize>());
        let all = inside.chain(start).chain(reported).chain(fixed).chain(secrets).chain(runners);
        self.now.size() + all.sum::<usize>()
    }

    /// Whether the connection has settings that no recording leads to.
    pub(super) fn is_astray(&self) -> bool {
        self.now.astray
    }

    /// Takes over what a question has done, as its answer tells. `said` is what it says wherever it is asked: without secrets.
    pub(super) fn follow<'a, 'b>(
        &mut self,
        questions: impl IntoIterator<Item = &'a [u8]>,
        answer: impl Iterator<Item = &'b [u8]>,
        said: impl Fn() -> Vec<u8>,
    ) {
        let mut questions = questions.into_iter();
        let Some(question) = questions.next() else { return };
        let mut done = Done::default();
        let Some((text, bound)) = statement(question) else { return self.called(question) };
        // What it answers may be what it sets.
        let sets = memchr::memmem::find(text.to_ascii_lowercase().as_bytes(), b"set_config").is_some();
        for message in answer {
            match message.first() {
                Some(b'D') if sets => done.rows.push(message),
                Some(b'C') => done.tags.push(tag(message)),
                Some(b'E') => done.failed = true,
                Some(b'S') => done.reported.extend(setting(message)),
                _ => {}
            }
        }
        self.report(text, &done);
        let touches = self.now.names(Kind::Temporary).next().is_some();
        if !done.tags.is_empty() && (touches || done.is_relevant() || self.writes(text, &done) || hints(text)) {
            // Data that was copied in is as good as values.
            let data: Vec<&[u8]> = questions.filter(|message| message.first() == Some(&b'd')).collect();
            self.take_over(text, &[&[bound], data.as_slice(), &done.rows].concat().concat(), &done, said);
        }
        if done.failed {
            self.failed_at(statements(text).get(done.tags.len()).copied().unwrap_or_default());
        }
        if question.first() == Some(&b'Q') {
            self.synchronise();
        }
    }

    /// Takes over what a call of a function without a statement may have done.
    fn called(&mut self, question: &[u8]) {
        if question.first() == Some(&b'F') && self.transaction.is_some() {
            self.apply(true, false, |settings| settings.add(Kind::Other, "calls", question));
        }
    }

    /// Whether a statement may have written something in a transaction.
    fn writes(&self, text: &str, done: &Done<'_>) -> bool {
        self.is_inside() && (done.has_written() || Statement::new(text, b"").mentions(&CHANGES))
    }

    fn take_over(&mut self, text: &str, bound: &[u8], done: &Done<'_>, said: impl Fn() -> Vec<u8>) {
        let (each, mut written) = (statements(text), None);
        if !done.failed && each.len() != done.tags.len() {
            // It was not read as the server reads it.
            self.apply(false, false, |settings| settings.add(Kind::Other, "", text.as_bytes()));
        }
        for (one, tag) in each.into_iter().zip(&done.tags) {
            match *tag {
                b"BEGIN" | b"START TRANSACTION" => self.begin(&Statement::new(one, bound)),
                b"COMMIT" | b"PREPARE TRANSACTION" => self.end(one, true),
                b"ROLLBACK" => self.roll_back(one),
                b"SAVEPOINT" => self.save(one),
                b"RELEASE" => drop(self.savepoint(one)),
                tag => {
                    let one = Statement::new(one, bound);
                    self.run(&one, false);
                    if self.is_inside() && (wrote(tag) || one.mentions(&CHANGES)) {
                        self.now.write(written.get_or_insert_with(&said));
                    }
                }
            }
        }
    }

    /// Takes over what a function has set, or somebody else, and the server says.
    fn report(&mut self, text: &str, done: &Done<'_>) {
        let is_read = done.is_relevant() || memchr::memmem::find(text.as_bytes(), b"set_config").is_some();
        for (name, value) in done.reported.iter().filter(|(name, _)| counts(name)) {
            let is_known = self.reported.contains_key(name);
            if is_known || !is_read && self.reported.len() < MAX_POSTGRES_REPORTED {
                self.reported.insert(name.clone(), value.to_vec());
            }
        }
    }

    /// Takes over what a question sets that no recording answers.
    pub(super) fn stray(&mut self, question: &[u8]) {
        let Some((text, bound)) = statement(question) else { return };
        self.synchronise();
        for one in statements(text) {
            self.run(&Statement::new(one, bound), true);
        }
    }
}

/// What the answer to a question tells.
#[derive(Default)]
struct Done<'a> {
    /// What each statement that was carried out answered.
    tags: Vec<&'a [u8]>,
    /// Rows, where settings are set by a query.
    rows: Vec<&'a [u8]>,
    failed: bool,
    /// Settings that have changed.
    reported: Vec<(String, &'a [u8])>,
}

impl Done<'_> {
    /// Whether one of the statements always changes something.
    fn is_relevant(&self) -> bool {
        self.tags.iter().any(|tag| {
            let first = first_word(tag);
            TAGS.iter().any(|known| known.as_bytes() == first) || first == b"MOVE"
        })
    }

    fn has_written(&self) -> bool {
        self.tags.iter().any(|tag| wrote(tag))
    }
}

/// First words of what commands answer that change what others read.
const WRITERS: [&[u8]; 10] =
    [b"INSERT", b"UPDATE", b"DELETE", b"MERGE", b"COPY", b"TRUNCATE", b"CREATE", b"ALTER", b"DROP", b"REFRESH"];

/// Whether a command that answers so may have changed what others read.
fn wrote(tag: &[u8]) -> bool {
    WRITERS.contains(&first_word(tag))
}

fn first_word(tag: &[u8]) -> &[u8] {
    tag.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// The setting that a `ParameterStatus` tells.
fn setting(message: &[u8]) -> Option<(String, &[u8])> {
    let mut parts = message.get(5..)?.split(|byte| *byte == 0);
    Some((String::from_utf8_lossy(parts.next()?).to_ascii_lowercase(), parts.next()?))
}
