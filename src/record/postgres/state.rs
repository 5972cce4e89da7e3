//! What of a connection decides what a statement answers: database and user of the startup message, and what was set and
//! made in the session since. A transaction that is rolled back takes its settings with it, and its end those of `SET LOCAL`
//! (manual, `SET`).

use std::collections::BTreeMap;
use std::ops::Range;

use super::message::{parameter, parameters, tag};
use super::settings::{Kind, Settings, counts};
use super::sql::{name, statements, tokens};
use crate::record::state::FULL_STATE_VERSION;

/// The database and the user, as in a startup message, and what the session holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    fixed: Vec<(&'static [u8], Vec<u8>)>,
    /// Settings of the startup message.
    start: BTreeMap<String, Vec<u8>>,
    now: Settings,
    transaction: Option<Transaction>,
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
/// What states of earlier versions say, in their order.
const OLD_SETTINGS: [&str; 3] = ["search_path", "role", "session_authorization"];
/// First words of what commands answer that always change something here (manual, "Message Formats", `CommandComplete`).
const TAGS: [&str; 14] = [
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
];
/// First words of commands that change what a table holds or is.
const WRITES: [&str; 7] = ["insert", "update", "delete", "merge", "copy", "truncate", "alter"];

impl State {
    pub(super) fn of_startup(startup: &[u8]) -> Self {
        let mut state = Self::default();
        let user = parameter(startup, b"user").unwrap_or_default();
        state.fixed.push((b"user", user.to_vec()));
        state.fixed.push((b"database", parameter(startup, b"database").unwrap_or(user).to_vec()));
        state.fixed.extend(FIXED.into_iter().filter_map(|name| Some((name, parameter(startup, name)?.to_vec()))));
        for (name, value) in parameters(startup) {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            if !["user", "database", "options", "replication"].contains(&name.as_str()) && counts(&name) {
                state.start.insert(name, value.to_vec());
            }
        }
        for (name, value) in &state.start {
            state.now.set(name, value);
        }
        state
    }

    /// The message that calls begin with: a startup message that leads to this state. None before there was one.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        let said: Vec<_> = self.now.said().collect();
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
        let fixed = self.fixed.iter().map(|(_, value)| value.len());
        self.now.size() + inside.chain(start).chain(fixed).sum::<usize>()
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
        if tags.is_empty() || failed && self.transaction.is_none() && !tags.contains(&b"BEGIN".as_slice()) {
            return;
        }
        let Some((text, bound)) = statement(question) else { return };
        let relevant = |tag: &[u8]| {
            let first = tag.split(|byte| *byte == b' ').next().unwrap_or_default();
            TAGS.iter().any(|known| known.as_bytes() == first) || first == b"MOVE"
        };
        let touches = self.now.names(Kind::Temporary).next().is_some();
        if !touches && !tags.iter().any(|tag| relevant(tag)) && !mentions(text) {
            return;
        }
        let each = statements(text);
        if !failed && each.len() != tags.len() {
            // It was not read as the server reads it.
            self.apply(false, false, |settings| settings.add(Kind::Other, "", text.as_bytes()));
        }
        for (one, tag) in each.into_iter().zip(tags) {
            match tag {
                b"BEGIN" | b"START TRANSACTION" => self.begin(),
                b"COMMIT" | b"PREPARE TRANSACTION" => self.end(one, true),
                b"ROLLBACK" => self.roll_back(one),
                b"SAVEPOINT" => self.save(one),
                b"RELEASE" => drop(self.savepoint(one)),
                _ => self.run(&Statement::new(one, bound), false),
            }
        }
    }

    /// Takes over what a question sets that no recording answers.
    pub(super) fn stray(&mut self, question: &[u8]) {
        let Some((text, bound)) = statement(question) else { return };
        for one in statements(text) {
            self.run(&Statement::new(one, bound), true);
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
            self.now = if committed { transaction.after } else { transaction.before.restored(&self.now) };
        }
        let words = words(text);
        if words.ends_with(&["and".to_owned(), "chain".to_owned()]) {
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

    /// Changes what holds now, and what holds after a commit if that is not local. Outside of a transaction nothing is local.
    fn apply(&mut self, local: bool, astray: bool, change: impl Fn(&mut Settings)) {
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
            ["prepare", ..] => self.add(Kind::Prepared, &one.name(1), one, false, astray),
            ["deallocate", "all"] | ["deallocate", "prepare", "all"] => {
                self.apply(false, astray, |settings| settings.drop_all(Kind::Prepared));
            }
            ["deallocate", ..] => self.apply(false, astray, |settings| settings.drop_one(Kind::Prepared, &last)),
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
            ["select", ..] if one.mentions(&["into"]) && one.mentions(&["temp", "temporary", "pg_temp"]) => {
                self.add(Kind::Temporary, "", one, false, astray);
            }
            // What it does stands in a text.
            ["do", ..] if mentions(one.text) => self.add(Kind::Other, "", one, false, astray),
            _ if one.mentions(&["set_config"]) => self.set_config(one, astray),
            [first, ..] if WRITES.contains(first) => {
                let written =
                    self.now.names(Kind::Temporary).find(|name| (1..lower.len()).any(|at| one.name(at) == *name));
                if let Some(name) = written.map(str::to_owned) {
                    self.add(Kind::Temporary, &name, one, false, astray);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, kind: Kind, name: &str, one: &Statement<'_>, local: bool, astray: bool) {
        let text = one.normal();
        self.apply(local, astray, |settings| settings.add(kind, name, &text));
    }

    /// `CREATE TEMPORARY`, of a table, a view or a sequence.
    fn create(&mut self, one: &Statement<'_>, lower: &[&str], astray: bool) {
        let Some(kind) = lower.iter().position(|word| matches!(*word, "table" | "view" | "sequence")) else { return };
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
        if !counts(name) {
            return;
        }
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

/// A statement in its parts.
struct Statement<'a> {
    text: &'a str,
    tokens: Vec<Range<usize>>,
    lower: Vec<String>,
    /// Values of its parameters.
    bound: &'a [u8],
}

impl<'a> Statement<'a> {
    fn new(text: &'a str, bound: &'a [u8]) -> Self {
        let tokens = tokens(text);
        let lower = tokens.iter().map(|token| text[token.clone()].to_ascii_lowercase()).collect();
        Self { text, tokens, lower, bound }
    }

    fn name(&self, at: usize) -> String {
        self.tokens.get(at).map_or_else(String::new, |token| name(&self.text[token.clone()]))
    }

    fn mentions(&self, words: &[&str]) -> bool {
        self.lower.iter().any(|word| words.contains(&word.as_str()))
    }

    /// The text from a token on.
    fn rest(&self, at: usize) -> &'a [u8] {
        let end = self.tokens.last().map_or(0, |token| token.end);
        self.tokens.get(at).map_or(b"", |token| &self.text.as_bytes()[token.start..end])
    }

    /// Its words with one space between, and the values of its parameters.
    fn normal(&self) -> Vec<u8> {
        let words: Vec<&str> = self.tokens.iter().map(|token| &self.text[token.clone()]).collect();
        [words.join(" ").as_bytes(), b"\0", self.bound].concat()
    }

    /// The name of a setting that begins here, and where what follows does.
    fn setting(&self, at: usize) -> Option<(String, usize)> {
        let lower: Vec<&str> = self.lower.get(at..)?.iter().map(String::as_str).collect();
        let (name, length) = match lower.as_slice() {
            ["session", "authorization", ..] => ("session_authorization", 2),
            ["time", "zone", ..] => ("timezone", 2),
            ["schema", ..] => ("search_path", 1),
            ["names", ..] => ("client_encoding", 1),
            ["xml", "option", ..] => ("xmloption", 2),
            ["session", "characteristics", ..] => ("session characteristics", 2),
            [_, ..] => {
                let parts = lower.iter().skip(1).step_by(2).take_while(|word| **word == ".").count();
                let end = (1 + 2 * parts).min(lower.len());
                return Some((lower[..end].concat().replace('"', ""), at + end));
            }
            [] => return None,
        };
        Some((name.to_owned(), at + length))
    }

    /// Names, values and whether they are local, if it is nothing but calls of `set_config`.
    fn configured(&self) -> Option<Vec<(String, Vec<u8>, bool)>> {
        let (mut found, mut at) = (Vec::new(), 1);
        (self.lower.first()? == "select").then_some(())?;
        loop {
            if self.lower.get(at)? == "pg_catalog" && self.lower.get(at + 1)? == "." {
                at += 2;
            }
            let ["set_config", "(", name, ",", value, ",", local, ")"] =
                self.lower.get(at..at + 8)?.iter().map(String::as_str).collect::<Vec<_>>()[..]
            else {
                return None;
            };
            let name = name.strip_prefix('\'')?.strip_suffix('\'')?.to_owned();
            let mut given = self.text.as_bytes()[self.tokens[at + 4].clone()].to_vec();
            if value.starts_with('$') {
                given.extend_from_slice(self.bound);
            } else if !value.starts_with('\'') {
                return None;
            }
            found.push((name, given, matches!(local, "true" | "false").then_some(local == "true")?));
            at += 8;
            if self.lower.get(at).is_some_and(|word| word == "as") {
                at += 2;
            }
            match self.lower.get(at).map(String::as_str) {
                None => return Some(found),
                Some(",") => at += 1,
                Some(_) => return None,
            }
        }
    }
}

/// The words of a statement, in lower case, as far as names are none in quotes.
fn words(text: &str) -> Vec<String> {
    let words = tokens(text).into_iter().map(|token| name(&text[token]));
    words.collect()
}

/// Whether a query that tells nothing by its answer may change what the session holds.
fn mentions(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["set_config", "temp"].iter().any(|word| memchr::memmem::find(lower.as_bytes(), word.as_bytes()).is_some())
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
