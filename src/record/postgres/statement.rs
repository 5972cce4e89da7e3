//! One statement in its parts, and what it may change in a session.

use std::ops::Range;

use super::message::{bytes, count};
use super::settings::{Kind, Settings};
use super::sql::{name, tokens};
use crate::record::exchange::Protocol;
use crate::record::functions::{self, Call};

/// Words of commands that change what a table or a sequence holds or is.
const WRITES: [&str; 10] =
    ["insert", "update", "delete", "merge", "copy", "truncate", "alter", "refresh", "nextval", "setval"];
/// Words of the names of functions that set something of a session: `set_tenant`, `app_set_user`.
const SETTERS: [&str; 4] = ["set", "switch", "assume", "impersonate"];
/// Those with such a word that set nothing of it (manual, "Functions and Operators").
const PURE: [&str; 6] = ["set", "jsonb_set", "jsonb_set_lax", "set_bit", "set_byte", "set_masklen"];
/// What else is kept in a session and told by no setting: where in large objects it reads, and connections of its own.
const STEPS: [&str; 16] = [
    "lo_open",
    "loread",
    "lowrite",
    "lo_lseek",
    "lo_lseek64",
    "lo_truncate",
    "lo_truncate64",
    "lo_close",
    "dblink_connect",
    "dblink_connect_u",
    "dblink_disconnect",
    "dblink_open",
    "dblink_fetch",
    "dblink_close",
    "dblink_send_query",
    "dblink_get_result",
];
/// What a text has in it that may change a session although its answer does not say so.
const HINTS: [&[u8]; 10] =
    [b"set", b"temp", b"execute", b"lo_", b"loread", b"lowrite", b"dblink_", b"switch", b"assume", b"impersonate"];

/// A statement in its parts.
pub(super) struct Statement<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Range<usize>>,
    pub(super) lower: Vec<String>,
    /// Values of its parameters.
    bound: &'a [u8],
}

impl<'a> Statement<'a> {
    pub(super) fn new(text: &'a str, bound: &'a [u8]) -> Self {
        let tokens = tokens(text);
        let lower = tokens.iter().map(|token| text[token.clone()].to_ascii_lowercase()).collect();
        Self { text, tokens, lower, bound }
    }

    pub(super) fn name(&self, at: usize) -> String {
        self.tokens.get(at).map_or_else(String::new, |token| name(&self.text[token.clone()]))
    }

    /// Its words, texts and signs as they are written.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.tokens.iter().map(|token| &self.text[token.clone()])
    }

    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        self.lower.iter().any(|word| words.contains(&word.as_str()))
    }

    /// The text from a token on.
    pub(super) fn rest(&self, at: usize) -> &'a [u8] {
        let end = self.tokens.last().map_or(0, |token| token.end);
        self.tokens.get(at).map_or(b"", |token| &self.text.as_bytes()[token.start..end])
    }

    /// Its words with one space between, and the values of its parameters.
    pub(super) fn normal(&self) -> Vec<u8> {
        let words: Vec<&str> = self.texts().collect();
        [words.join(" ").as_bytes(), b"\0", self.bound].concat()
    }

    /// The name of a setting that begins here, and where what follows does.
    pub(super) fn setting(&self, at: usize) -> Option<(String, usize)> {
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

    /// The setting of a `SET`, whether it ends with the transaction, and where the value begins.
    pub(super) fn assigned(&self) -> Option<(String, bool, usize)> {
        let lower: Vec<&str> = self.lower.iter().map(String::as_str).collect();
        let (local, from) = match lower.as_slice() {
            ["set", "local", ..] => (true, 2),
            ["set", "session", "authorization" | "characteristics", ..] => (false, 1),
            ["set", "session", ..] => (false, 2),
            // They end with their transaction.
            ["set", "transaction" | "constraints", ..] => (true, 1),
            ["set", ..] => (false, 1),
            _ => return None,
        };
        let (name, at) = self.setting(from)?;
        let at = if matches!(lower.get(at), Some(&("to" | "="))) { at + 1 } else { at };
        Some((name, local, at))
    }

    /// Names, values and whether they are local, if it is nothing but calls of `set_config` with values that stand there.
    pub(super) fn configured(&self) -> Option<Vec<(String, Vec<u8>, bool)>> {
        let (mut found, mut at) = (Vec::new(), 1);
        let is = |at: usize, word: &str| self.lower.get(at).is_some_and(|known| known == word);
        is(0, "select").then_some(())?;
        loop {
            if is(at, "pg_catalog") && is(at + 1, ".") {
                at += 2;
            }
            (is(at, "set_config") && is(at + 1, "(")).then_some(())?;
            let (name, after) = self.argument(at + 2)?;
            is(after, ",").then_some(())?;
            let (_, end) = self.argument(after + 1)?;
            is(end, ",").then_some(())?;
            let (is_local, close) = self.argument(end + 1)?;
            is(close, ")").then_some(())?;
            let name = String::from_utf8(name?).ok()?.to_ascii_lowercase();
            found.push((name, self.given(after + 1), self::local(&is_local?)?));
            at = close + 1;
            if is(at, "as") {
                at += 2;
            }
            match self.lower.get(at).map(String::as_str) {
                None => return Some(found),
                Some(",") => at += 1,
                Some(_) => return None,
            }
        }
    }

    /// A value that stands here, as a text, a word or a parameter, and where what follows it and its types does. Of a parameter
    /// whose value is not known there is none.
    pub(super) fn argument(&self, at: usize) -> Option<(Option<Vec<u8>>, usize)> {
        let token = &self.text[self.tokens.get(at)?.clone()];
        let value = if let Some(number) = token.strip_prefix('$') {
            self.parameter(number.parse().ok()?)
        } else if let Some(inside) = token.strip_prefix('\'') {
            Some(inside.strip_suffix('\'')?.as_bytes().to_vec())
        } else if token.starts_with(['e', 'E']) && token.ends_with('\'')
            || ["true", "false", "null"].contains(&self.lower[at].as_str())
        {
            Some(token.as_bytes().to_vec())
        } else {
            return None;
        };
        let mut end = at + 1;
        let is = |at: usize, word: &str| self.lower.get(at).is_some_and(|known| known == word);
        while is(end, ":") && is(end + 1, ":") {
            end += 3;
            if is(end, ".") {
                end += 2;
            }
            if is(end, "(") {
                end += 3;
            }
        }
        Some((value, end))
    }

    /// What an argument is known by: its text, or the value of its parameter.
    fn given(&self, at: usize) -> Vec<u8> {
        let token = &self.text[self.tokens[at].clone()];
        let Some(number) = token.strip_prefix('$') else { return token.as_bytes().to_vec() };
        let known = number.parse().ok().and_then(|number| self.parameter(number));
        known.unwrap_or_else(|| [token.as_bytes(), self.bound].concat())
    }

    /// The value that is bound to `$number` ("Message Formats", `Bind`); `null` if it is that.
    fn parameter(&self, number: usize) -> Option<Vec<u8>> {
        let mut rest = self.bound;
        for _ in 0..count(&mut rest).ok()? {
            count(&mut rest).ok()?;
        }
        let mut found = None;
        (number <= count(&mut rest).ok()?).then_some(())?;
        for _ in 0..number {
            let length = bytes(&mut rest, 4).ok()?;
            let length = i32::from_be_bytes(length.try_into().ok()?);
            found = Some(match usize::try_from(length) {
                Ok(length) => bytes(&mut rest, length).ok()?.to_vec(),
                Err(_) => b"null".to_vec(),
            });
        }
        found
    }

    /// Functions that it calls and that set something of the session; whether what they set is told by the last call of each,
    /// and by all that were made in the transaction otherwise.
    pub(super) fn called(&self) -> Vec<(String, bool)> {
        let is_call = |at: &usize| self.lower.get(at + 1).is_some_and(|next| next == "(");
        let names = (0..self.tokens.len()).filter(is_call).map(|at| self.name(at));
        let kind = |name: String| {
            let sets = name.split('_').any(|word| SETTERS.contains(&word)) && !PURE.contains(&name.as_str());
            if sets && name != "set_config" || name == "setseed" {
                Some((name, true))
            } else {
                STEPS.contains(&name.as_str()).then_some((name, false))
            }
        };
        names.filter_map(kind).collect()
    }

    /// Functions and procedures that it calls and does nothing else, and that are none of the server's own: what they set is not
    /// known.
    pub(super) fn ran(&self) -> Vec<String> {
        // Columns of what a function gives stand behind its name, or behind `AS`.
        let is_alias = |at: usize| matches!(self.lower[at - 1].as_str(), "as" | ")");
        let is_call = |at: &usize| self.lower.get(at + 1).is_some_and(|next| next == "(") && !is_alias(*at);
        let calls = (1..self.tokens.len()).filter(is_call);
        if self.lower.first().is_some_and(|first| first == "call") {
            return calls.take(1).map(|at| self.name(at)).collect();
        }
        if !self.is_alone() {
            return Vec::new();
        }
        let mut known: Vec<String> = self.called().into_iter().map(|(name, _)| name).collect();
        known.extend(self.common_tables());
        known.push("set_config".to_owned());
        let named = calls.map(|at| (self.name(at), self.lower.get(at + 2).is_some_and(|next| next != ")")));
        let is_own = |name: &str, is_given| functions::is_own(Protocol::Postgres, Call { name, is_given });
        let ran = named.filter(|(name, is_given)| is_own(name, *is_given) && !known.contains(name));
        ran.map(|(name, _)| name).collect()
    }

    /// All functions that it calls, if it does nothing else, of which the last call takes the place of those before.
    pub(super) fn calls(&self) -> Vec<String> {
        let ran = self.ran();
        let is_alone = self.is_alone() || self.lower.first().is_some_and(|first| first == "call");
        let called = self.called().into_iter().filter(|(_, is_last)| is_alone && *is_last);
        called.map(|(name, _)| name).chain(ran).collect()
    }

    /// Whether it is a query of nothing but what functions give.
    fn is_alone(&self) -> bool {
        let first = self.lower.first().map(String::as_str);
        matches!(first, Some("select" | "with" | "values")) && self.reads_no_table()
    }

    /// The names that `WITH` gives to queries.
    fn common_tables(&self) -> Vec<String> {
        if self.lower.first().is_none_or(|first| first != "with") {
            return Vec::new();
        }
        let is = |at: usize, words: &[&str]| self.lower.get(at).is_some_and(|word| words.contains(&word.as_str()));
        let begins = |at: usize| match self.lower.get(at).map(String::as_str) {
            Some("(") => {
                let close = (at..self.lower.len()).find(|at| is(*at, &[")"]));
                close.is_some_and(|close| is(close + 1, &["as"]))
            }
            Some("as") => is(at + 1, &["(", "not", "materialized"]),
            _ => false,
        };
        (1..self.tokens.len())
            .filter(|at| is(at - 1, &["with", "recursive", ","]) && begins(at + 1))
            .map(|at| self.name(at))
            .collect()
    }

    /// Whether nothing stands behind any `FROM` of it but calls of functions and queries of the same kind.
    fn reads_no_table(&self) -> bool {
        let words: Vec<&str> = self.lower.iter().map(String::as_str).collect();
        let is = |at: usize, word: &str| words.get(at) == Some(&word);
        let common = self.common_tables();
        let (mut depth, mut lists, mut at) = (0_usize, Vec::new(), 0);
        while let Some(word) = words.get(at) {
            let begins = match *word {
                "(" => {
                    depth += 1;
                    false
                }
                ")" => {
                    depth = depth.saturating_sub(1);
                    lists.retain(|list| *list <= depth);
                    false
                }
                "from" => {
                    lists.push(depth);
                    true
                }
                "," | "join" => lists.last() == Some(&depth),
                "where" | "group" | "having" | "order" | "limit" | "offset" | "fetch" | "union" | "window" | "for" => {
                    lists.retain(|list| *list < depth);
                    false
                }
                _ => false,
            };
            at += 1;
            if begins {
                while is(at, "lateral") {
                    at += 1;
                }
                while is(at + 1, ".") {
                    at += 2;
                }
                if !is(at, "(") && !is(at + 1, "(") && !common.contains(&self.name(at)) {
                    return false;
                }
            }
        }
        true
    }

    /// The temporary table that it writes to, if it is one of these.
    pub(super) fn writes(&self, settings: &Settings) -> Option<String> {
        if !self.mentions(&WRITES) {
            return None;
        }
        let named = |table: &str| {
            (1..self.tokens.len()).any(|at| {
                let name = self.name(at);
                // Sequences are named in texts.
                name == table || name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')) == Some(table)
            })
        };
        settings.names(Kind::Temporary).find(|table| named(table)).map(str::to_owned)
    }

    /// The temporary table that `SELECT ... INTO` makes.
    pub(super) fn made_by_select(&self) -> Option<String> {
        let into = self.lower.iter().position(|word| word == "into")?;
        let after: Vec<&str> = self.lower[into + 1..].iter().map(String::as_str).collect();
        let skipped = after.iter().take_while(|word| matches!(**word, "local" | "global")).count();
        let is_temporary = matches!(after.get(skipped)?, &("temp" | "temporary" | "pg_temp"));
        let is_part =
            |word: &&&str| matches!(**word, "local" | "global" | "temp" | "temporary" | "table" | "pg_temp" | ".");
        is_temporary.then(|| self.name(into + 1 + after.iter().take_while(is_part).count()))
    }

    /// Modes of transactions that it names, under the names of their settings (manual, `SET TRANSACTION`).
    pub(super) fn modes(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let words: Vec<&str> = self.lower.iter().map(String::as_str).collect();
        for at in 0..words.len() {
            match &words[at..] {
                ["isolation", "level", first @ ("read" | "repeatable"), second, ..] => {
                    found.push(("transaction_isolation", format!("{first} {second}")));
                }
                ["isolation", "level", level, ..] => found.push(("transaction_isolation", (*level).to_owned())),
                ["read", how @ ("only" | "write"), ..] => found.push(("transaction_read_only", (*how).to_owned())),
                ["not", "deferrable", ..] => found.push(("transaction_deferrable", "not".to_owned())),
                ["deferrable", ..] if at == 0 || words[at - 1] != "not" => {
                    found.push(("transaction_deferrable", "deferrable".to_owned()));
                }
                ["snapshot", name, ..] => found.push(("transaction_snapshot", (*name).to_owned())),
                _ => {}
            }
        }
        found
    }
}

/// Whether a value is one by which `set_config` sets something for the transaction alone.
pub(super) fn local(value: &[u8]) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"t" | b"on" | b"yes" | b"1" | b"\x01" => Some(true),
        b"false" | b"f" | b"off" | b"no" | b"0" | b"\0" => Some(false),
        _ => None,
    }
}

/// Whether a query that tells nothing by its answer may change what the session holds.
pub(super) fn hints(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let has = |word: &[u8]| memchr::memmem::find(lower.as_bytes(), word).is_some();
    let reads_function = || {
        memchr::memmem::find_iter(lower.as_bytes(), b"from").any(|at| {
            let rest = lower[at + 4..].trim_start();
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '$');
            let after = rest.trim_start_matches(is_part);
            after.trim_start().starts_with('(')
        })
    };
    let is_other = ["with", "values"].iter().any(|word| lower.trim_start().starts_with(word));
    HINTS.iter().any(|word| has(word))
        || is_other && has(b"(")
        || has(b"(") && has(b"select") && (!has(b" from ") || reads_function())
}
