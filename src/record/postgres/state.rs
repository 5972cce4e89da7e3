//! What of a connection decides what a statement answers: database and user of the startup message, and what was set and
//! made in the session since. A transaction that is rolled back takes its settings with it, and its end those of `SET LOCAL`
//! (manual, `SET`).

use std::collections::BTreeMap;

use super::message::{parameter, parameters, tag};
use super::settings::{Kind, Settings, counts, is_of_session};
use super::sql::{name, statements, tokens};
use super::statement::{Statement, hints};
use crate::limits::MAX_POSTGRES_REPORTED;
use crate::record::state::FULL_STATE_VERSION;

/// The database and the user, as in a startup message, and what the session holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<(&'static [u8], Vec<u8>)>,
    /// Settings of the startup message.
    start: BTreeMap<String, Vec<u8>>,
    now: Settings,
    /// Settings that the server said by itself to have changed.
    reported: BTreeMap<String, Vec<u8>>,
    transaction: Option<Transaction>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Transaction {
    /// Whether nothing but what is sent together makes it one: up to `Sync`, or to the end of a `Query`.
    implicit: bool,
    /// Whether nothing is carried out in it any more, after an error.
    failed: bool,
    /// What holds after a rollback.
    before: Settings,
    /// What holds after a commit: without what is local.
    after: Settings,
    /// By name, each with what held then, and what held after a commit.
    savepoints: Vec<(String, Settings, Settings)>,
}

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
        let mut said: Vec<_> = self.now.said().chain(self.now.read_by(question)).collect();
        said.extend(self.reported.iter().map(|(name, value)| (format!("reported {name}"), value.as_slice())));
        if self.transaction.as_ref().is_some_and(|inside| inside.failed && !inside.implicit) && !leaves(question) {
            said.push(("transaction".to_owned(), b"failed"));
        }
        self.startup(FULL_STATE_VERSION, said.iter().map(|(name, value)| (name.as_bytes(), value.to_vec())))
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
        self.now.size() + inside.chain(start).chain(reported).chain(fixed).sum::<usize>()
    }

    /// Whether the connection has settings that no recording leads to.
    pub(super) fn is_astray(&self) -> bool {
        self.now.astray
    }

    /// Takes over what a question has done, as its answer tells.
    pub(super) fn follow<'a, 'b>(
        &mut self,
        questions: impl IntoIterator<Item = &'a [u8]>,
        answer: impl Iterator<Item = &'b [u8]>,
    ) {
        let mut questions = questions.into_iter();
        let Some(question) = questions.next() else { return };
        let mut done = Done::default();
        for message in answer {
            match message.first() {
                Some(b'C') => done.tags.push(tag(message)),
                Some(b'E') => done.failed = true,
                Some(b'S') => done.reported.extend(setting(message)),
                _ => {}
            }
        }
        if question.first() == Some(&b'F') && self.transaction.is_some() {
            self.apply(true, false, |settings| settings.add(Kind::Other, "calls", question));
        }
        let Some((text, bound)) = statement(question) else { return };
        self.report(text, &done);
        let touches = self.now.names(Kind::Temporary).next().is_some();
        if !done.tags.is_empty() && (touches || done.is_relevant() || hints(text)) {
            // Data that was copied in is as good as values.
            let data: Vec<&[u8]> = questions.filter(|message| message.first() == Some(&b'd')).collect();
            self.take_over(text, &[&[bound], data.as_slice()].concat().concat(), &done);
        }
        if done.failed {
            self.failed_at(statements(text).get(done.tags.len()).copied().unwrap_or_default());
        }
        if question.first() == Some(&b'Q') {
            self.synchronise();
        }
    }

    fn take_over(&mut self, text: &str, bound: &[u8], done: &Done<'_>) {
        let each = statements(text);
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
                _ => self.run(&Statement::new(one, bound), false),
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

    /// A statement has failed, and with it what was sent together, or its transaction.
    fn failed_at(&mut self, text: &str) {
        if matches!(words(text).first().map(String::as_str), Some("commit" | "end")) {
            // What was put off failed, and the transaction is over.
            return self.end("", false);
        }
        self.fail();
    }

    /// Nothing is carried out any more up to the end of the transaction, if there is one.
    pub(super) fn fail(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.failed = true;
        }
    }

    /// What was sent together is at its end.
    pub(super) fn synchronise(&mut self) {
        if let Some(Transaction { implicit: true, failed, .. }) = self.transaction {
            self.end("", !failed);
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

    /// A transaction has been rolled back.
    pub(super) fn rolled_back(&mut self) {
        self.end("", false);
    }

    /// `BEGIN`. What was sent together with it before is in the same transaction.
    fn begin(&mut self, one: &Statement<'_>) {
        self.open(false);
        for (name, value) in one.modes() {
            self.change(name, Some(value.as_bytes()), true, false);
        }
    }

    fn open(&mut self, implicit: bool) {
        let now = &self.now;
        let fresh =
            || Transaction { implicit, failed: false, before: now.clone(), after: now.clone(), savepoints: Vec::new() };
        self.transaction.get_or_insert_with(fresh).implicit &= implicit;
    }

    fn end(&mut self, text: &str, committed: bool) {
        let mut modes = self.now.values.clone();
        if let Some(transaction) = self.transaction.take() {
            self.now = if committed { transaction.after } else { transaction.before.restored(&self.now) };
        }
        if words(text).ends_with(&["and".to_owned(), "chain".to_owned()]) {
            self.open(false);
            modes.retain(|name, _| name.starts_with("transaction_"));
            self.now.values.extend(modes);
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
            transaction.failed = false;
            transaction.after = after.clone().restored(&transaction.after);
            self.now = now.clone().restored(&self.now);
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

    /// Changes what holds now, and what holds after a commit if that is not local.
    fn apply(&mut self, local: bool, astray: bool, change: impl Fn(&mut Settings)) {
        if self.transaction.is_none() && !astray {
            self.open(true);
        }
        if local && self.transaction.is_none() {
            return;
        }
        let after = self.transaction.as_mut().filter(|_| !local).map(|transaction| &mut transaction.after);
        for settings in [Some(&mut self.now), after].into_iter().flatten() {
            change(settings);
            settings.astray = astray;
        }
    }

    /// Takes over what one statement does.
    fn run(&mut self, one: &Statement<'_>, astray: bool) {
        let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
        let last = one.name(lower.len().saturating_sub(1));
        match lower.as_slice() {
            ["set", ..] => self.set(one, astray),
            ["reset", "all"] => {
                let start = self.start.clone();
                self.apply(false, astray, |settings| settings.reset_all(&start));
            }
            ["reset", ..] => {
                if let Some((name, _)) = one.setting(1) {
                    self.change(&name, None, false, astray);
                }
            }
            ["discard", "all"] => {
                let mut fresh = Settings::default();
                for (name, value) in &self.start {
                    fresh.set(name, value);
                }
                self.apply(false, astray, |settings| settings.clone_from(&fresh));
            }
            ["discard", "temp" | "temporary"] => {
                self.apply(false, astray, |settings| settings.drop_all(Kind::Temporary));
            }
            ["prepare", "transaction", ..] => {}
            ["prepare", ..] => {
                let sets = one.mentions(&["set_config"]) || !one.called().is_empty() || one.writes(&self.now).is_some();
                let kind = if sets { Kind::Setter } else { Kind::Prepared };
                self.add(kind, &one.name(1), one, false, astray);
            }
            ["execute", ..] => {
                let name = one.name(1);
                // A statement that was prepared in another way is not known here.
                if !self.now.has(Kind::Prepared, &name) {
                    self.add(Kind::Other, &format!("execute {name}"), one, false, astray);
                }
            }
            ["deallocate", "all"] | ["deallocate", "prepare", "all"] => {
                self.apply(false, astray, |settings| {
                    settings.drop_all(Kind::Prepared);
                    settings.drop_all(Kind::Setter);
                });
            }
            ["deallocate", ..] => self.apply(false, astray, |settings| {
                settings.drop_one(Kind::Prepared, &last);
                settings.drop_one(Kind::Setter, &last);
            }),
            ["declare", ..] => {
                let options = lower.split(|word| *word == "for").next().unwrap_or_default();
                let local = !options.windows(2).any(|pair| pair == ["with", "hold"]);
                self.add(Kind::Cursor, &one.name(1), one, local, astray);
            }
            ["fetch" | "move", ..] => {
                let local = !self.transaction.as_ref().is_none_or(|inside| inside.after.has(Kind::Cursor, &last));
                self.add(Kind::Cursor, &last, one, local, astray);
            }
            ["close", "all"] => self.apply(false, astray, |settings| settings.drop_all(Kind::Cursor)),
            ["close", ..] => self.apply(false, astray, |settings| settings.drop_one(Kind::Cursor, &last)),
            ["create", ..] if one.mentions(&["temp", "temporary", "pg_temp"]) => self.create(one, &lower, astray),
            ["drop", ..] => {
                let names: Vec<String> = (2..lower.len()).map(|at| one.name(at)).collect();
                if names.iter().any(|name| self.now.has(Kind::Temporary, name)) {
                    self.apply(false, astray, |settings| {
                        for name in &names {
                            settings.drop_one(Kind::Temporary, name);
                        }
                    });
                }
            }
            // What it does stands in a text.
            ["do", ..] => self.add(Kind::Other, "", one, false, astray),
            _ => self.query(one, astray),
        }
    }

    /// Takes over what a statement does that is there to do something else: write, or ask.
    fn query(&mut self, one: &Statement<'_>, astray: bool) {
        if let Some(name) = one.made_by_select() {
            self.add(Kind::Temporary, &name, one, false, astray);
        }
        if one.mentions(&["set_config"]) {
            self.set_config(one, astray);
        }
        for (name, is_last) in one.called() {
            if is_last {
                let text = one.normal();
                self.apply(false, astray, |settings| settings.put(Kind::Called, &name, &text));
            } else {
                // Large objects are open up to the end of the transaction.
                self.add(Kind::Called, "", one, name.starts_with("lo"), astray);
            }
        }
        if let Some(name) = one.writes(&self.now) {
            self.add(Kind::Temporary, &name, one, false, astray);
            let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
            if let ["alter", .., "rename", "to", _] = lower.as_slice() {
                self.add(Kind::Temporary, &one.name(lower.len() - 1), one, false, astray);
            }
        }
    }

    fn add(&mut self, kind: Kind, name: &str, one: &Statement<'_>, local: bool, astray: bool) {
        let text = one.normal();
        self.apply(local, astray, |settings| settings.add(kind, name, &text));
    }

    /// `CREATE TEMPORARY`, of a table, a view or a sequence, or anything else in the schema of what is temporary.
    fn create(&mut self, one: &Statement<'_>, lower: &[&str], astray: bool) {
        let kind = lower.iter().take(5).position(|word| matches!(*word, "table" | "view" | "sequence"));
        let Some(kind) = kind else { return self.add(Kind::Temporary, "", one, false, astray) };
        let is_kept = lower[kind + 1..].starts_with(&["if", "not", "exists"]);
        let at = kind + if is_kept { 4 } else { 1 };
        // pg_temp.name
        let at = if lower.get(at + 1) == Some(&".") { at + 2 } else { at };
        let named = one.name(at);
        if is_kept && self.now.has(Kind::Temporary, &named) {
            return;
        }
        let local = lower.windows(3).any(|words| words == ["on", "commit", "drop"]);
        self.add(Kind::Temporary, &named, one, local, astray);
    }

    /// `SET`, with how long it holds before what is set.
    fn set(&mut self, one: &Statement<'_>, astray: bool) {
        let lower: Vec<&str> = one.lower.iter().map(String::as_str).collect();
        let (local, from) = match lower.as_slice() {
            ["set", "local", ..] => (true, 2),
            ["set", "session", "authorization" | "characteristics", ..] => (false, 1),
            ["set", "session", ..] => (false, 2),
            // They end with their transaction.
            ["set", "transaction" | "constraints", ..] => (true, 1),
            _ => (false, 1),
        };
        let prefix = match lower.as_slice() {
            ["set", "transaction", ..] => Some(""),
            ["set", "session", "characteristics", ..] => Some("default_"),
            _ => None,
        };
        if let Some(prefix) = prefix {
            for (name, value) in one.modes() {
                self.change(&format!("{prefix}{name}"), Some(value.as_bytes()), local, astray);
            }
            return;
        }
        let Some((name, at)) = one.setting(from) else { return };
        let at = if matches!(lower.get(at), Some(&("to" | "="))) { at + 1 } else { at };
        let is_default = match lower.get(at..).unwrap_or_default() {
            ["default"] => true,
            ["local"] => name == "timezone",
            ["none"] => name == "role",
            [] => return,
            _ => false,
        };
        self.change(&name, (!is_default).then(|| one.rest(at)), local, astray);
    }

    /// Sets a setting, or takes it back.
    fn change(&mut self, name: &str, value: Option<&[u8]>, local: bool, astray: bool) {
        if !is_of_session(name) {
            return;
        }
        let astray = astray && counts(name);
        let start = self.start.clone();
        self.apply(local, astray, |settings| {
            match value {
                Some(value) => settings.set(name, value),
                None => settings.reset(name, &start),
            }
            if name == "session_authorization" {
                settings.reset("role", &start);
            }
        });
    }

    /// `SELECT set_config('name', 'value', is_local)`, once or several times, or within something bigger.
    fn set_config(&mut self, one: &Statement<'_>, astray: bool) {
        let Some(calls) = one.configured() else {
            return self.add(Kind::Other, "", one, false, astray);
        };
        for (name, value, local) in calls {
            self.change(&name, Some(&value), local, astray);
        }
    }
}

/// The words of a statement, in lower case, as far as names are none in quotes.
fn words(text: &str) -> Vec<String> {
    let words = tokens(text).into_iter().map(|token| name(&text[token]));
    words.collect()
}

/// What the answer to a question tells.
#[derive(Default)]
struct Done<'a> {
    /// What each statement that was carried out answered.
    tags: Vec<&'a [u8]>,
    failed: bool,
    /// Settings that have changed.
    reported: Vec<(String, &'a [u8])>,
}

impl Done<'_> {
    /// Whether one of the statements always changes something.
    fn is_relevant(&self) -> bool {
        self.tags.iter().any(|tag| {
            let first = tag.split(|byte| *byte == b' ').next().unwrap_or_default();
            TAGS.iter().any(|known| known.as_bytes() == first) || first == b"MOVE"
        })
    }
}

/// The setting that a `ParameterStatus` tells.
fn setting(message: &[u8]) -> Option<(String, &[u8])> {
    let mut parts = message.get(5..)?.split(|byte| *byte == 0);
    Some((String::from_utf8_lossy(parts.next()?).to_ascii_lowercase(), parts.next()?))
}

/// How a statement ends a transaction, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// `ROLLBACK`, to a savepoint as well.
    Rollback,
    /// `COMMIT`.
    Commit,
}

/// How the statement of a question ends a transaction: in `Query`, `Parse`, `Bind`, `Describe` or `Execute`.
pub(super) fn exit(question: &[u8]) -> Option<Exit> {
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
fn leaves(question: &[u8]) -> bool {
    let is_prepared = matches!(question.first(), Some(b'P' | b'D'));
    exit(question).is_some_and(|exit| is_prepared || exit == Exit::Rollback)
}

/// The text of a `Query`, or of the statement that a `Bind` or `Execute` names by its text, and the values that are bound.
fn statement(question: &[u8]) -> Option<(&str, &[u8])> {
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
