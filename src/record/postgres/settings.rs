//! What a session of `PostgreSQL` holds: its settings by name, and what statements have made in it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::application;
use super::sql::statements;
use super::state::{Overwritten, prepares, statement, words};
use super::statement::Statement;
use crate::limits::MAX_POSTGRES_STATE_BYTES;
use crate::record::functions::{INSIDE, is_ping};
use crate::record::state::{HINT, LAST_CALL, ORDER, WRITES, chained};
use crate::text::escape::hex;

/// Settings that change no answer but of what reads them (manual, "Server Configuration").
const QUIET: [&str; 5] = [
    application::NAME,
    "client_min_messages",
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
];
/// What reads settings of any name (manual, "SHOW", "System Views").
const READERS: [&str; 3] = ["show all", "pg_settings", "pg_show_all_settings"];
/// What tells the names of applications (manual, "Monitoring Database Activity").
const TELLERS: [&str; 4] =
    ["pg_stat_activity", "pg_stat_get_activity", "pg_stat_replication", "pg_stat_get_wal_senders"];
/// What a statement is understood with when it is prepared: where names are looked for, with whose rights, and how texts are read.
/// A pool prepares it once on each connection, in whatever state that is: all that they may tell is whether it is refused.
const UNDERSTANDING: [&str; 7] = [
    "search_path",
    "role",
    "session_authorization",
    "client_encoding",
    "standard_conforming_strings",
    "backslash_quote",
    "transform_null_equals",
];
/// Settings that the server tells a client of when they change (manual, "Asynchronous Operations").
pub(super) const TOLD: [&str; 8] = [
    "client_encoding",
    "datestyle",
    "default_transaction_read_only",
    "intervalstyle",
    "search_path",
    "session_authorization",
    "standard_conforming_strings",
    "timezone",
];
/// Settings of the server that functions of a program set, beside the program's own.
const SET_BY_FUNCTIONS: [&str; 3] = ["role", "search_path", "session_authorization"];
/// Kinds of calls that count for all that follows.
const FIRM: [Kind; 2] = [Kind::Called, Kind::RanHere];
/// Kinds of calls of functions.
const CALLS: [Kind; 4] = [Kind::Called, Kind::Ran, Kind::RanInside, Kind::RanHere];
/// Longest value that stands as it was written, in bytes.
const MAX_PLAIN_BYTES: usize = 256;

/// What kind of thing a session holds beside its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Cursor,
    Prepared,
    /// A prepared statement that changes something here whenever it is carried out.
    Setter,
    Temporary,
    /// The last call of a function that sets something.
    Called,
    /// The last call of a function or procedure that may set something, by its name. It counts for what reads settings.
    Ran,
    /// The same of a call in a transaction that was committed.
    RanInside,
    /// The same up to the end of the transaction, where it counts for everything.
    RanHere,
    /// That something was written, up to the end of the transaction. It counts for what reads.
    Written,
    /// Statements whose effect is not read.
    Other,
    /// What there was before it became too much.
    Folded,
}

/// The settings and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) values: BTreeMap<String, Vec<u8>>,
    /// Those of [`QUIET`].
    quiet: BTreeMap<String, Vec<u8>>,
    /// Each with a digest of the statements that made it, in their order.
    held: BTreeMap<(Kind, String), String>,
    /// Settings that functions may set too, and functions with `()` behind them, in the order in which they were set and called last.
    order: Vec<String>,
    /// What the open transaction has written, as a digest of it; empty if nothing.
    writes: String,
    /// Whether no recording led to them.
    pub(super) astray: bool,
}

/// Whether a setting can change an answer of what does not read it.
pub(super) fn counts(name: &str) -> bool {
    !QUIET.contains(&name) && is_of_session(name)
}

/// Whether a setting is one of the session, and none of its connection.
pub(super) fn is_of_session(name: &str) -> bool {
    !name.starts_with("tcp_") && !name.starts_with("_pq_.")
}

impl Settings {
    /// Sets a setting. Values of a program's own settings, which may be secrets, and long ones stand as digests.
    pub(super) fn set(&mut self, name: &str, value: &[u8]) {
        if !is_of_session(name) {
            return;
        }
        let plain = value.len() <= MAX_PLAIN_BYTES && !name.contains('.');
        let value = if plain { value.to_vec() } else { digest("", value).into_bytes() };
        self.all_like(name).insert(name.to_owned(), value);
        self.is_last(name.to_owned());
        self.fold();
    }

    /// This was set or called last.
    fn is_last(&mut self, name: String) {
        let may_be_set = name.contains('.') || name.ends_with("()") || SET_BY_FUNCTIONS.contains(&name.as_str());
        if may_be_set {
            self.order.retain(|known| *known != name);
            self.order.push(name);
        }
    }

    /// Those that are set, and functions of these kinds that were called, in the order of the last time.
    fn in_order(&self, kinds: &[Kind]) -> impl Iterator<Item = &str> {
        let is_held = |name: &str| match name.strip_suffix("()") {
            Some(called) => kinds.iter().any(|kind| self.has(*kind, called)),
            None => self.values.contains_key(name),
        };
        self.order.iter().map(String::as_str).filter(move |name| is_held(name))
    }

    /// Those among which this one is.
    fn all_like(&mut self, name: &str) -> &mut BTreeMap<String, Vec<u8>> {
        if counts(name) { &mut self.values } else { &mut self.quiet }
    }

    /// Those of [`QUIET`] that a question may read, by what it says.
    pub(super) fn read_by(&self, question: &[u8]) -> impl Iterator<Item = (String, &[u8])> {
        let text = question.to_ascii_lowercase();
        let says = move |word: &str| memchr::memmem::find(&text, word.as_bytes()).is_some();
        let any = READERS.iter().any(|word| says(word)) || computes_a_setting(question);
        let tells = TELLERS.iter().any(|word| says(word));
        // What only sets one does not read it.
        let sets = ["set ", "reset "].iter().any(|word| question.get(5..).is_some_and(|text| begins(text, word)));
        let is_read = move |name: &str| any || tells && name == application::NAME || says(name);
        let read = self.quiet.iter().filter(move |(name, _)| !sets && is_read(name));
        read.map(|(name, value)| (name.clone(), value.as_slice()))
    }

    /// Takes a setting back to what the connection began with.
    pub(super) fn reset(&mut self, name: &str, start: &BTreeMap<String, Vec<u8>>) {
        self.is_last(name.to_owned());
        match start.get(name) {
            Some(value) => drop(self.all_like(name).insert(name.to_owned(), value.clone())),
            None => drop(self.all_like(name).remove(name)),
        }
    }

    /// All but those that `RESET ALL` leaves.
    pub(super) fn reset_all(&mut self, start: &BTreeMap<String, Vec<u8>>) {
        // What functions have set is one of them, but what `random()` gives is none.
        let stays = |(kind, name): &(Kind, String)| *kind == Kind::Called && (name.is_empty() || name == "setseed");
        self.held.retain(|key, _| !CALLS.contains(&key.0) || stays(key));
        self.values.retain(|name, _| name == "role" || name == "session_authorization");
        self.quiet.clear();
        for (name, value) in start {
            self.all_like(name).entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// A statement has made this, or changed it.
    pub(super) fn add(&mut self, kind: Kind, name: &str, statement: &[u8]) {
        let held = self.held.entry((kind, name.to_owned())).or_default();
        *held = digest(held, statement);
        self.fold();
    }

    /// This takes the place of what was of its name.
    pub(super) fn put(&mut self, kind: Kind, name: &str, statement: &[u8]) {
        self.held.insert((kind, name.to_owned()), digest("", statement));
        if CALLS.contains(&kind) {
            self.is_last(format!("{name}()"));
        }
        self.fold();
    }

    /// Something was written that says this. Others do not see it before the end of the transaction, and what follows does.
    pub(super) fn write(&mut self, said: &[u8]) {
        self.put(Kind::Written, "", b"");
        self.writes = chained(&self.writes, said);
    }

    pub(super) fn has(&self, kind: Kind, name: &str) -> bool {
        self.held.contains_key(&(kind, name.to_owned()))
    }

    pub(super) fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.held.keys().filter(move |(of, _)| *of == kind).map(|(_, name)| name.as_str())
    }

    pub(super) fn drop_one(&mut self, kind: Kind, name: &str) {
        self.held.remove(&(kind, name.to_owned()));
    }

    pub(super) fn drop_all(&mut self, kind: Kind) {
        self.held.retain(|(of, _), _| *of != kind);
    }

    /// These, after a rollback to them: prepared statements and where cursors are know no transactions.
    pub(super) fn restored(mut self, now: &Self) -> Self {
        let positions = |(kind, name): &(Kind, String)| *kind == Kind::Cursor && self.has(Kind::Cursor, name);
        let stays =
            |key: &(Kind, String)| matches!(key.0, Kind::Prepared | Kind::Setter | Kind::Folded) || positions(key);
        let kept: Vec<_> = now.held.iter().filter(|(key, _)| stays(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        self.drop_all(Kind::Prepared);
        self.drop_all(Kind::Setter);
        self.held.extend(kept);
        self
    }

    /// What is said of them to a question: names and values.
    pub(super) fn said_to<'a>(
        &'a self,
        question: &[u8],
        overwritten: &'a Overwritten,
    ) -> impl Iterator<Item = (String, Cow<'a, [u8]>)> {
        let has = |kind| self.names(kind).next().is_some();
        let reads_settings = self.ran_anything() && reads_settings(question);
        let reads = has(Kind::Written) && statement(question).is_some_and(|(text, _)| reads(text));
        let prepares = prepares(question);
        let own = if has(Kind::Called) { calls(question) } else { Vec::new() };
        let kinds = if reads_settings { &CALLS[..] } else { &FIRM };
        let order = self.order_told(kinds, question, overwritten).filter(|_| !prepares && !overwritten.alone);
        let order = order.map(|order| ("order".to_owned(), Cow::Owned(order.into_bytes())));
        let is_said = move |kind, name: &str| match kind {
            _ if overwritten.alone => false,
            Kind::Ran | Kind::RanInside => reads_settings && !prepares,
            Kind::RanHere => !prepares,
            Kind::Called => !prepares && !own.iter().any(|own| own == name),
            Kind::Written => reads,
            _ => true,
        };
        let values = self.values.iter().filter(move |(name, _)| !prepares && !overwritten.has(name));
        let values = values.map(|(name, value)| (name.clone(), value.as_slice()));
        values.chain(self.said_of(is_said)).map(|(name, value)| (name, Cow::Borrowed(value))).chain(order)
    }

    /// In which order functions of these kinds and settings came, but for what a question calls or sets itself, if there are
    /// several with a function among them.
    fn order_told(&self, kinds: &[Kind], question: &[u8], overwritten: &Overwritten) -> Option<String> {
        let is_several = |names: &[&str]| names.len() > 1 && names.iter().any(|name| name.ends_with("()"));
        let all: Vec<&str> = self.in_order(kinds).collect();
        is_several(&all).then_some(())?;
        let told = without_own(all, question, overwritten);
        is_several(&told).then(|| told.join(" "))
    }

    /// The last call, or what was set after it, but for what a question calls or sets itself.
    fn last(&self, question: &[u8], overwritten: &Overwritten) -> Option<String> {
        let last = without_own(self.in_order(&CALLS).collect(), question, overwritten).pop()?;
        let value = match last.strip_suffix("()") {
            Some(called) => CALLS.iter().rev().find_map(|kind| self.held.get(&(*kind, called.to_owned())))?.as_bytes(),
            None => self.values.get(last)?.as_slice(),
        };
        Some(format!("{last} {}", String::from_utf8_lossy(value)))
    }

    /// What else may matter to a question: names and values. The last calls of functions, but of those that it calls itself;
    /// what something was that it sets, where the server says that it has changed, or it reads more; and what its transaction has
    /// written.
    pub(super) fn hinted_to<'a>(
        &'a self,
        question: &[u8],
        overwritten: &'a Overwritten,
    ) -> impl Iterator<Item = (String, Cow<'a, [u8]>)> {
        let prepares = prepares(question);
        let any = prepares || !overwritten.alone && self.ran_anything() && !reads_settings(question);
        let own = if any && !prepares { calls(question) } else { Vec::new() };
        // What calls something itself, or asks whether the server is there, does not depend on what was called before.
        let is_told = any && !prepares && own.is_empty() && statement(question).is_none_or(|(text, _)| !is_ping(text));
        let is_hint = move |kind, name: &str| match kind {
            Kind::Ran | Kind::RanInside => any && !own.iter().any(|own| own == name),
            Kind::RanHere => prepares,
            Kind::Called => prepares && !name.is_empty(),
            _ => false,
        };
        let held = self.held.iter().filter(move |((kind, name), _)| is_hint(*kind, name));
        let held = held.map(|((kind, name), digest)| {
            let place = if matches!(kind, Kind::RanInside | Kind::RanHere) { INSIDE } else { "" };
            (format!("{HINT}{name}(){place}"), digest.as_bytes())
        });
        let may_tell = |name: &&str| TOLD.contains(name) || overwritten.computed.iter().any(|own| own == name);
        let told = overwritten.names.iter().map(String::as_str).filter(may_tell);
        let understood = UNDERSTANDING.into_iter().filter(move |_| prepares);
        let told = told
            .chain(understood)
            .filter_map(|name| Some((format!("{HINT}{name}"), self.values.get(name)?.as_slice())));
        let last = is_told.then(|| self.last(question, overwritten)).flatten();
        let order = is_told.then(|| self.order_told(&CALLS, question, overwritten)).flatten();
        let writes = Some(&self.writes).filter(|writes| !writes.is_empty() && !prepares && !overwritten.alone).cloned();
        let order = [(LAST_CALL, last), (ORDER, order), (WRITES, writes)].into_iter();
        let order = order.filter_map(|(name, value)| Some((format!("{HINT}{name}"), Cow::Owned(value?.into_bytes()))));
        held.chain(told).map(|(name, value)| (name, Cow::Borrowed(value))).chain(order)
    }

    /// Whether functions were called that may have set something.
    fn ran_anything(&self) -> bool {
        [Kind::Ran, Kind::RanInside].into_iter().any(|kind| self.names(kind).next().is_some())
    }

    fn said(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.values.iter().map(|(name, value)| (name.clone(), value.as_slice())).chain(self.said_of(|_, _| true))
    }

    fn said_of(&self, is_said: impl Fn(Kind, &str) -> bool) -> impl Iterator<Item = (String, &[u8])> {
        let held = self.held.iter().filter(move |((kind, name), _)| is_said(*kind, name));
        held.map(|((kind, name), digest)| {
            let kind = match kind {
                Kind::Cursor => "cursor",
                Kind::Prepared | Kind::Setter => "prepared",
                Kind::Called => "called",
                Kind::Ran | Kind::RanInside => "ran",
                Kind::RanHere => "ran here",
                Kind::Written => "written",
                Kind::Temporary => "temporary",
                Kind::Other => "other",
                Kind::Folded => "before",
            };
            (format!("{kind} {name}"), digest.as_bytes())
        })
    }

    /// Bytes that they take.
    pub(super) fn size(&self) -> usize {
        let quiet = self.quiet.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        let order = self.order.iter().map(String::len).sum::<usize>();
        size_of::<Self>() + quiet + order + self.said().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }

    /// What is too much becomes one digest.
    fn fold(&mut self) {
        if self.size() <= MAX_POSTGRES_STATE_BYTES {
            return;
        }
        let whole: Vec<u8> =
            self.said().flat_map(|(name, value)| [name.as_bytes(), b"\0", value, b"\0"].concat()).collect();
        self.values.clear();
        self.held.clear();
        self.order.clear();
        self.held.insert((Kind::Folded, String::new()), digest("", &whole));
    }
}

/// Whether a question may read a setting, by what it says.
fn reads_settings(question: &[u8]) -> bool {
    let text = question.to_ascii_lowercase();
    let words = ["current_setting", "show", "pg_settings", "pg_show_all_settings"];
    words.iter().any(|word| memchr::memmem::find(&text, word.as_bytes()).is_some())
}

/// The functions that a question calls which does nothing else.
fn calls(question: &[u8]) -> Vec<String> {
    let Some((text, bound)) = statement(question) else { return Vec::new() };
    match statements(text).as_slice() {
        [one] => Statement::new(one, bound).calls(),
        _ => Vec::new(),
    }
}

/// Of functions and settings those that a question does not call or set itself.
fn without_own<'a>(names: Vec<&'a str>, question: &[u8], overwritten: &Overwritten) -> Vec<&'a str> {
    let own = calls(question);
    let is_own = |name: &str| match name.strip_suffix("()") {
        Some(called) => own.iter().any(|own| own == called),
        None => overwritten.has(name),
    };
    names.into_iter().filter(|name| !is_own(name)).collect()
}

/// Whether a statement reads, by its first word.
fn reads(text: &str) -> bool {
    let words = words(text);
    let first = words.first().map(String::as_str);
    matches!(first, Some("select" | "with" | "table" | "fetch" | "execute"))
}

/// Whether a question asks for a setting whose name does not stand in it: neither as a text nor as a parameter.
fn computes_a_setting(question: &[u8]) -> bool {
    const CALL: &str = "current_setting";
    let text = question.to_ascii_lowercase();
    memchr::memmem::find_iter(&text, CALL).any(|at| {
        let rest = text[at + CALL.len()..].trim_ascii_start();
        let rest = rest.strip_prefix(b"\"").unwrap_or(rest).trim_ascii_start();
        let given = rest.strip_prefix(b"(").unwrap_or_default().trim_ascii_start();
        let length = match given.first() {
            Some(b'\'') => given[1..].iter().position(|byte| *byte == b'\'').map(|end| end + 2),
            Some(b'$') => Some(1 + given[1..].iter().take_while(|byte| byte.is_ascii_digit()).count()),
            _ => None,
        };
        let after = length.map_or(&b""[..], |length| given[length..].trim_ascii_start());
        // A type may follow.
        !matches!(after.first(), Some(b',' | b')')) && !after.starts_with(b"::")
    })
}

fn begins(text: &[u8], word: &str) -> bool {
    text.trim_ascii_start().get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}

pub(super) fn digest(before: &str, text: &[u8]) -> String {
    let digest = Sha256::new().chain_update(before).chain_update(text).finalize();
    hex(&digest[..16])
}
