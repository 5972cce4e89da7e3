//! What statements leave in a session that others name: variables of a user, temporary tables, statements that were prepared
//! in the language, the number that was made last, what procedures may have set, and whether the open transaction has written.
//!
//! A pool hands out connections in any order, so what a statement does not name is no part of its call: only a hint, for what
//! reads it may be a view or a function.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::calls::called;
use super::packet;
use super::settings;
use super::statements::without_comments;
use crate::limits::MAX_MYSQL_MARKS;
use crate::record::functions::is_ping;
use crate::record::state::{HINT, LAST_CALL, ORDER, WRITES, chained};
use crate::text::escape::hex;

/// Each by its name, with a digest of the statements that made it what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    held: BTreeMap<String, String>,
    /// What there was before it became too much: it counts for every statement.
    folded: String,
    /// `LAST_INSERT_ID()`.
    inserted: Option<u64>,
    /// The last call of each procedure, and of each function that is none of the server's own: they count where a variable of a
    /// user is named.
    ran: BTreeMap<String, String>,
    /// Variables of a user, and those calls with `()` behind them, in the order in which they were set and called last.
    order: Vec<String>,
    /// Whether a transaction is open, as the server said last.
    is_inside: bool,
    /// What it has written.
    written: Written,
    /// By name, each with what had been written then.
    savepoints: Vec<(String, Written)>,
}

/// What a transaction has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Written {
    /// Whether something has changed that others do not see yet.
    any: bool,
    /// A digest of it, and of what answered with rows; empty if nothing.
    digest: String,
}

/// The server is in a transaction (`MySQL` Source Code Documentation, `SERVER_STATUS_flags_enum`).
const IN_TRANSACTION: u8 = 1;
/// First words of statements that change what others read.
const WRITERS: [&str; 12] =
    ["insert", "update", "delete", "replace", "load", "merge", "call", "truncate", "create", "alter", "drop", "do"];

impl Marks {
    /// What stands behind the name of the database for a statement: for each that it names a NUL, the name, `=` and the digest.
    pub(super) fn text(&self, statement: &[u8]) -> Vec<u8> {
        let names_one = !self.held.is_empty()
            || !self.ran.is_empty()
            || self.written.any
            || has(statement, b"insert_id")
            || has(statement, b"identity");
        if *self == Self::default() || self.folded.is_empty() && !names_one {
            return Vec::new();
        }
        let words = words(statement);
        let is_long = words.len() == MAX_MYSQL_MARKS;
        let assigned = Assigned::by(statement);
        let targets = targets(statement);
        let is_overwritten = |name: &str| {
            let is_set = assigned.iter().any(|one| one.name == name) || targets.iter().any(|one| one == name);
            is_set && reads(statement, name) == 1
        };
        let mut text = Vec::new();
        let mut add = |name: &str, value: &str| text.extend([b"\0", name.as_bytes(), b"=", value.as_bytes()].concat());
        if !self.folded.is_empty() {
            add("before", &self.folded);
        }
        for (name, digest) in self.held.iter().filter(|(name, _)| is_long || words.contains(name)) {
            if !is_overwritten(name) {
                add(name, digest);
            }
        }
        let is_read = |word: &String| is_variable(word) && words.contains(word) && !is_overwritten(word);
        if !is_immediate(&words) && words.iter().any(is_read) {
            // What was called before a variable was set has not set that.
            let set = |word: &String| self.order.iter().position(|name| name == word).unwrap_or_default();
            let first = words.iter().filter(|word| is_read(word)).map(set).min().unwrap_or_default();
            let since = self.order.get(first..).unwrap_or_default();
            for (name, digest) in self.ran.iter().filter(|(name, _)| since.contains(&format!("{name}()"))) {
                add(&format!("call {name}"), digest);
            }
            let is_told = |name: &&String| since.contains(name) && (!is_variable(name) || words.contains(name));
            if let Some(order) = self.order_of(is_told) {
                add("order", &order);
            }
        }
        if self.written.any && words.first().is_some_and(|first| matches!(first.as_str(), "select" | "with" | "table"))
        {
            add("transaction", "written");
        }
        let numbers = ["last_insert_id", "@@last_insert_id", "@@identity"];
        if let Some(inserted) = self.inserted.filter(|_| words.iter().any(|word| numbers.contains(&word.as_str()))) {
            add("last_insert_id", &inserted.to_string());
        }
        text
    }

    /// The same for what a statement does not name, but what it calls or reads may: variables, calls that may have set some, and
    /// what its transaction has written.
    pub(super) fn hints(&self, statement: &[u8]) -> Vec<u8> {
        let writes = Some(&self.written.digest).filter(|digest| !digest.is_empty());
        let writes = writes.map(|digest| (WRITES.to_owned(), digest.clone()));
        let of_session =
            if self.held.is_empty() && self.ran.is_empty() { vec![] } else { self.session_hints(statement) };
        let hints = of_session.into_iter().chain(writes);
        hints.flat_map(|(name, value)| format!("\0{HINT}{name}={value}").into_bytes()).collect()
    }

    fn session_hints(&self, statement: &[u8]) -> Vec<(String, String)> {
        let (words, called) = (words(statement), called(statement));
        let is_said = words.len() == MAX_MYSQL_MARKS;
        let variables = self.held.iter().filter(|(name, _)| is_variable(name) && !is_said && !words.contains(name));
        let variables = variables.map(|(name, digest)| (name.clone(), digest));
        let is_said = !is_immediate(&words) && words.iter().any(|word| is_variable(word));
        let calls = self.ran.iter().filter(|(name, _)| !is_said && !called.contains(name));
        let hints = variables.chain(calls.map(|(name, digest)| (format!("{name}()"), digest)));
        let hints = hints.map(|(name, digest)| (name, digest.clone()));
        let is_alone = called.is_empty() && !is_said && !is_ping(&String::from_utf8_lossy(statement));
        let is_told = |_: &&String| is_alone;
        let last = self.order.iter().rfind(is_told).map(|name| {
            let digest = name.strip_suffix("()").map_or_else(|| self.held.get(name), |called| self.ran.get(called));
            (LAST_CALL.to_owned(), format!("{name} {}", digest.map_or("", String::as_str)))
        });
        let order = self.order_of(is_told).map(|order| (ORDER.to_owned(), order));
        hints.chain(last).chain(order).collect()
    }

    /// In which order variables were set and functions called, if there are several with a function among them.
    fn order_of(&self, is_told: impl Fn(&&String) -> bool) -> Option<String> {
        let told: Vec<&str> = self.order.iter().filter(|name| is_told(name)).map(String::as_str).collect();
        (told.len() > 1 && told.iter().any(|name| name.ends_with("()"))).then(|| told.join(" "))
    }

    /// This was set or called last.
    fn is_last(&mut self, name: String) {
        self.order.retain(|known| *known != name);
        self.order.push(name);
    }

    /// Takes over what a statement has done, whose answer begins so. `values` are those of its parameters, and `said` is what
    /// the call says wherever it is asked: without secrets.
    pub(super) fn carried_out(&mut self, statement: &[u8], values: &[u8], answer: &[u8], said: impl Fn() -> Vec<u8>) {
        let payload = packet::payload(answer);
        match payload.split_first() {
            None | Some((0xff, _)) => return,
            // OK: rows that were changed, the number that was made.
            Some((0, mut rest)) => {
                let made = packet::integer(&mut rest).and_then(|_| packet::integer(&mut rest));
                self.inserted = made.ok().filter(|made| *made != 0).or(self.inserted);
                self.is_inside = rest.first().is_some_and(|status| status & IN_TRANSACTION != 0);
                self.follow_transaction(&words(without_comments(statement)), said);
            }
            // Rows come from what is written as well (MariaDB, `RETURNING`).
            Some(_) if self.is_inside && is_writer(&words(without_comments(statement))) => {
                self.written.digest = chained(&self.written.digest, &said());
            }
            Some(_) => {}
        }
        for name in called(statement) {
            let digest = Sha256::new().chain_update(statement).chain_update(values).finalize();
            self.is_last(format!("{name}()"));
            self.ran.insert(name, hex(&digest[..16]));
            self.fold();
        }
        let hints = [&b"@"[..], b"temporary", b"prepare"];
        if self.held.is_empty() && !hints.iter().any(|hint| has(statement, hint)) {
            return;
        }
        let words = words(statement);
        let lower: Vec<&str> = words.iter().map(String::as_str).collect();
        let made = match lower.as_slice() {
            ["create", "temporary", "table", "if", "not", "exists", name, ..]
            | ["create", "or", "replace", "temporary", "table", name, ..]
            | ["create", "temporary", "table", name, ..]
            | ["prepare", name, "from", ..] => Some(*name),
            ["drop" | "deallocate", "prepare", name] => {
                self.held.remove(*name);
                None
            }
            ["drop", "temporary", "table", ..] | ["drop", "table", ..] => {
                self.held.retain(|name, _| name.starts_with('@') || !words.contains(name));
                None
            }
            _ => None,
        };
        let assigned = Assigned::by(statement);
        for Assigned { name, text } in &assigned {
            // A new value that is made without the old one says all.
            let before = (reads(text, name) > 1).then(|| self.held.get(name).cloned()).flatten();
            self.hold(name, before, text, values);
        }
        let within = memchr::memmem::find_iter(statement, b":=").count();
        let targets = if assigned.is_empty() { targets(statement) } else { Vec::new() };
        // They are made without their old values, if they are named once.
        for name in &targets {
            let before = (reads(statement, name) > 1).then(|| self.held.get(name).cloned()).flatten();
            self.hold_of(name, before, statement, values, &targets);
        }
        let sets = match assigned.len() {
            0 if !targets.is_empty() => false,
            0 => lower.first() == Some(&"set") || lower.contains(&"into") || within > 0,
            count => within > count,
        };
        // What has rows changes no table.
        let writes = payload.first() == Some(&0);
        for word in words.iter().filter(|word| !assigned.iter().any(|one| one.name == **word)) {
            let changes = if is_variable(word) { sets } else { writes && self.held.contains_key(word) };
            if changes || made == Some(word.as_str()) {
                let before = self.held.get(word).cloned();
                self.hold(word, before, statement, values);
            }
        }
        self.fold();
    }

    /// Takes over what a statement of these words has written, and what of that it takes back.
    fn follow_transaction(&mut self, words: &[String], said: impl Fn() -> Vec<u8>) {
        if !self.is_inside {
            self.written = Written::default();
            self.savepoints.clear();
            return;
        }
        let is_writer = is_writer(words);
        let known =
            |savepoints: &[(String, Written)], name: &str| savepoints.iter().rposition(|(known, _)| known == name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["savepoint", name, ..] => {
                // The one of the same name is no more (manual, `SAVEPOINT`).
                self.savepoints.retain(|(known, _)| known != name);
                self.savepoints.push(((*name).to_owned(), self.written.clone()));
                self.savepoints.drain(..self.savepoints.len().saturating_sub(MAX_MYSQL_MARKS));
            }
            ["release", "savepoint", name, ..] => {
                self.savepoints.truncate(known(&self.savepoints, name).unwrap_or(usize::MAX));
            }
            ["rollback", "to", "savepoint", name, ..]
            | ["rollback", "work", "to", "savepoint", name, ..]
            | ["rollback", "work", "to", name, ..]
            | ["rollback", "to", name, ..] => {
                if let Some(at) = known(&self.savepoints, name) {
                    self.savepoints.truncate(at + 1);
                    self.written = self.savepoints[at].1.clone();
                }
            }
            // A transaction that begins ends the one before.
            ["begin" | "start" | "commit" | "rollback", ..] => {
                self.written = Written::default();
                self.savepoints.clear();
            }
            _ if is_writer => {
                let digest = chained(&self.written.digest, &said());
                self.written = Written { any: true, digest };
            }
            _ => {}
        }
    }

    /// A text has made this of what it was before, and of variables that it names.
    fn hold(&mut self, name: &str, before: Option<String>, text: &[u8], values: &[u8]) {
        self.hold_of(name, before, text, values, &[]);
    }

    /// The same, where the old values of some that are set as well do not matter, as far as they are named once.
    fn hold_of(&mut self, name: &str, before: Option<String>, text: &[u8], values: &[u8], set: &[String]) {
        let mut digest = Sha256::new().chain_update(before.unwrap_or_default()).chain_update(text).chain_update(values);
        let is_set = |word: &String| set.contains(word) && reads(text, word) == 1;
        for other in words(text).iter().filter(|word| is_variable(word) && *word != name && !is_set(word)) {
            digest.update(self.held.get(other).map_or("", String::as_str));
        }
        self.held.insert(name.to_owned(), hex(&digest.finalize()[..16]));
        if is_variable(name) {
            self.is_last(name.to_owned());
        }
    }

    /// What is too much becomes one digest.
    fn fold(&mut self) {
        if self.held.len() + self.ran.len() > MAX_MYSQL_MARKS {
            self.order.clear();
            let each = std::mem::take(&mut self.held).into_iter().chain(std::mem::take(&mut self.ran));
            let all: String = each.flat_map(|(name, digest)| [name, digest]).collect();
            self.folded = hex(&Sha256::digest(format!("{}{all}", self.folded))[..16]);
        }
    }

    /// Bytes that they take.
    pub(super) fn size(&self) -> usize {
        let all = self.held.iter().chain(&self.ran);
        let order = self.order.iter().map(String::len).sum::<usize>();
        let savepoints = self.savepoints.iter().map(|(name, written)| name.len() + written.digest.len()).sum::<usize>();
        self.folded.len()
            + self.written.digest.len()
            + order
            + savepoints
            + all.map(|(name, digest)| name.len() + digest.len()).sum::<usize>()
    }
}

/// Whether a statement of these words carries out a text, in which variables may be set as well as read.
fn is_immediate(words: &[String]) -> bool {
    words.iter().take(2).eq(["execute", "immediate"])
}

/// Whether a statement of these words changes what others read.
fn is_writer(words: &[String]) -> bool {
    words.first().is_some_and(|first| WRITERS.contains(&first.as_str()))
}

/// What a `SET` gives a variable of a user.
struct Assigned<'a> {
    name: String,
    text: &'a [u8],
}

impl<'a> Assigned<'a> {
    fn by(statement: &'a [u8]) -> Vec<Self> {
        let each = settings::assigned(statement).into_iter().filter(|text| text.starts_with(b"@"));
        let each = each.filter_map(|text| Some(Self { name: words(text).into_iter().next()?, text }));
        each.filter(|one| is_variable(&one.name)).collect()
    }
}

/// Variables that a statement sets by `:=`, or behind `INTO`.
fn targets(statement: &[u8]) -> Vec<String> {
    let (mut found, mut at, mut is_into) = (Vec::new(), 0, false);
    while at < statement.len() {
        let length = statement[at..].iter().take_while(|byte| is_part(**byte)).count();
        if length == 0 {
            is_into &= statement[at].is_ascii_whitespace() || statement[at] == b',';
            at += 1;
            continue;
        }
        let word = String::from_utf8_lossy(&statement[at..at + length]).to_ascii_lowercase();
        at += length;
        let is_set = statement[at..].trim_ascii_start().starts_with(b":=");
        let is_target = is_variable(&word) && (is_into || is_set);
        is_into = word == "into" || is_into && is_target;
        if is_target && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// How often a text names a variable.
fn reads(text: &[u8], variable: &str) -> usize {
    text.split(|byte| !is_part(*byte)).filter(|word| word.eq_ignore_ascii_case(variable.as_bytes())).count()
}

/// Whether a byte is one of a name.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | 0x80..)
}

/// Whether a word names a variable of a user.
fn is_variable(word: &str) -> bool {
    word.starts_with('@') && !word.starts_with("@@")
}

fn has(statement: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(&statement.to_ascii_lowercase(), word).is_some()
}

/// Names and keywords in lower case, of a name in parts each part, each once and in their order, up to [`MAX_MYSQL_MARKS`].
/// What stands in quotes counts as well: a name too many is no harm.
fn words(statement: &[u8]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in statement.split(|byte| !is_part(*byte)).filter(|word| !word.is_empty()) {
        let word = String::from_utf8_lossy(word).to_ascii_lowercase();
        if found.len() < MAX_MYSQL_MARKS && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}
