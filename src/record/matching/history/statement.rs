//! Effects of a statement on the state of its connection, derived from its tokens.

use sha2::{Digest, Sha256};

use super::Control;
use crate::call::{Content, Exchange, Protocol, Side, Wire};
use crate::protocol::dissector::parts_of_wire;
use crate::protocol::sql::{self, Token};
use crate::protocol::{frames, mysql, redis};

/// First words of statements that may be plain reads.
const READS: [&str; 8] = [
    "select", "values", "table", "show", "explain", "describe", "desc", "with",
];
/// Words of statements that write tables.
const WRITES: [&str; 6] = ["insert", "update", "delete", "merge", "replace", "truncate"];
/// First words of statements whose effects outlast the transaction.
const LASTS: [&str; 8] = [
    "begin", "call", "do", "select", "with", "values", "execute", "prepare",
];
/// Prefix of the shapes of `SET`.
const SET: &str = "set ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Begins, ends or subdivides a transaction.
    Control(Control),
    /// `DISCARD ALL`, or `RESET ALL`, which keeps the role.
    Clear { keeps_role: bool },
    /// Any other statement that is not a plain read; without values it resets its effect.
    Done {
        shape: String,
        values: Option<u64>,
        lasts: bool,
    },
}

pub(crate) fn effects(protocol: Protocol, wire: &Wire) -> Vec<Effect> {
    statements(protocol, wire)
        .iter()
        .flat_map(|one| Statement(one).effects(protocol))
        .collect()
}

/// Returns the shapes of the effects of a call.
pub(crate) fn shapes(exchange: &Exchange) -> Vec<String> {
    let Content::Wire(protocol, wire) = &exchange.content else {
        return Vec::new();
    };
    let shape = |effect| {
        if let Effect::Done { shape, .. } = effect {
            Some(shape)
        } else {
            None
        }
    };
    effects(*protocol, wire)
        .into_iter()
        .filter_map(shape)
        .collect()
}

/// Returns true if a call reads, or sets a value unconditionally. Requests beyond the recorded ones
/// then repeat the last answer.
pub(crate) fn repeats(exchange: &Exchange) -> bool {
    match &exchange.content {
        Content::Http(http) => matches!(http.request.method.as_str(), "GET" | "HEAD"),
        Content::Wire(Protocol::Redis, wire) => redis::reads(wire) || redis::sets(wire),
        Content::Wire(protocol @ (Protocol::Postgres | Protocol::MySql), wire) => {
            let all = statements(*protocol, wire);
            let is_free =
                |one: &Vec<Token>| Statement(one).is_plain_read() || Control::of(one).is_some();
            !all.is_empty() && all.iter().all(is_free)
        }
        _ => frames::repeats(exchange),
    }
}

/// Returns true if a call may change the reads of other connections.
pub(crate) fn writes(exchange: &Exchange) -> bool {
    match &exchange.content {
        // RFC 9110, 9.2.1.
        Content::Http(http) => !matches!(
            http.request.method.as_str(),
            "GET" | "HEAD" | "OPTIONS" | "TRACE"
        ),
        Content::Wire(Protocol::Redis, wire) => !wire.session && !redis::reads(wire),
        Content::Wire(protocol, wire) => {
            effects(*protocol, wire)
                .iter()
                .any(|effect| matches!(effect, Effect::Done { lasts: false, .. }))
                || frames::writes(exchange)
        }
        Content::Grpc(_) | Content::Dns(_) => false,
    }
}

/// Returns true if a shape sets the role.
pub(super) fn is_of_role(shape: &str) -> bool {
    shape
        .strip_prefix(SET)
        .is_some_and(|name| matches!(name, "role" | "authorization"))
}

pub(super) fn set(name: &str) -> String {
    format!("{SET}{}", name.to_ascii_lowercase())
}

/// Returns the digest of values; NULL differs from every text.
pub(super) fn digest<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> u64 {
    let mut all = Sha256::new();
    for value in values {
        all.update(
            value
                .map_or(u64::MAX, |value| value.len() as u64)
                .to_le_bytes(),
        );
        all.update(value.unwrap_or_default());
    }
    all.finalize()
        .first_chunk()
        .map_or(0, |first| u64::from_le_bytes(*first))
}

/// Returns the statements that a call executes; none if it only prepares one.
fn statements(protocol: Protocol, wire: &Wire) -> Vec<Vec<Token>> {
    let mut asked = wire.messages_by(Side::Client);
    let carries_out = match protocol {
        Protocol::Postgres => asked
            .next()
            .is_some_and(|first| matches!(first.first(), Some(b'Q' | b'B'))),
        Protocol::MySql => asked.next_back().is_some_and(mysql::carries_out),
        _ => false,
    };
    if !carries_out {
        return Vec::new();
    }
    let (mut text, mut bound) = (Vec::new(), Vec::new());
    for part in parts_of_wire(protocol, wire) {
        if part.is_in_text() {
            text.extend(part.bytes);
        } else if let Some(number) = part
            .name
            .strip_prefix("param.")
            .and_then(|number| number.parse().ok())
            && let Some(at) = usize::checked_sub(number, 1)
        {
            bound.resize(bound.len().max(at + 1), None);
            bound[at] = Some(part.text.into_bytes());
        }
    }
    sql::statements(&text, protocol == Protocol::MySql, &bound)
}

struct Statement<'a>(&'a [Token]);

impl Statement<'_> {
    fn word(&self, at: usize) -> &str {
        if let Some(Token::Word(word)) = self.0.get(at) {
            word
        } else {
            ""
        }
    }

    fn is_mark(&self, at: usize, mark: u8) -> bool {
        self.0.get(at) == Some(&Token::Mark(mark))
    }

    fn has_words(&self, is: impl Fn(usize) -> bool) -> bool {
        (0..self.0.len()).any(is)
    }

    /// Returns true if a word writes; `FOR UPDATE` only locks.
    fn writes(&self) -> bool {
        self.has_words(|at| {
            let locks = at
                .checked_sub(1)
                .is_some_and(|before| matches!(self.word(before), "for" | "key"));
            WRITES.contains(&self.word(at)) && !locks && !self.is_mark(at + 1, b'(')
        })
    }

    /// Returns true for a `SELECT` or the like that writes and sets nothing. It must name a table,
    /// or give no values to functions.
    fn is_plain_read(&self) -> bool {
        let is_table = |at: usize| {
            self.word(at) == "from" && !self.word(at + 1).is_empty() && !self.is_mark(at + 2, b'(')
        };
        let calls = |at: usize| !self.word(at).is_empty() && self.is_mark(at + 1, b'(');
        let sets = |at: usize| {
            matches!(self.word(at), "into" | "set_config")
                || self.is_mark(at, b':') && self.is_mark(at + 1, b'=')
        };
        let is_given = self.0.iter().any(|token| matches!(token, Token::Value(_)));
        READS.contains(&self.word(0))
            && !self.writes()
            && !self.has_words(sets)
            && (!is_given || self.has_words(is_table) || !self.has_words(calls))
    }

    fn effects(&self, protocol: Protocol) -> Vec<Effect> {
        match Control::of(self.0) {
            Some(Control::Deallocate(_)) => return Vec::new(),
            Some(control) => return vec![Effect::Control(control)],
            None => {}
        }
        match (self.word(0), self.word(1)) {
            ("discard", "all") => vec![Effect::Clear { keeps_role: false }],
            ("reset", "all") => vec![Effect::Clear { keeps_role: true }],
            ("set", _) if protocol == Protocol::MySql => {
                let mut depth = 0_usize;
                let assigned = self.0[1..].split(|token| {
                    match token {
                        Token::Mark(b'(') => depth += 1,
                        Token::Mark(b')') => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    depth == 0 && *token == Token::Mark(b',')
                });
                assigned.filter_map(|part| Statement(part).set(0)).collect()
            }
            ("set" | "reset", _) => self.set(1).into_iter().collect(),
            ("use", _) => Vec::new(),
            _ if self.is_plain_read() => Vec::new(),
            _ => self
                .set_config_effects()
                .unwrap_or_else(|| vec![self.as_effect()]),
        }
    }

    fn as_effect(&self) -> Effect {
        let is_temporary = self.word(0) == "create"
            && (1..4).any(|at| matches!(self.word(at), "temp" | "temporary"));
        let lasts = LASTS.contains(&self.word(0)) && !self.writes() || is_temporary;
        let values = self.0.iter().filter_map(|token| {
            if let Token::Value(value) = token {
                Some(value)
            } else {
                None
            }
        });
        Effect::Done {
            shape: self.shape(),
            values: Some(digest(values.map(Option::as_deref))),
            lasts,
        }
    }

    fn shape(&self) -> String {
        let words = self.0.iter().map(|token| match token {
            Token::Word(word) => word.clone(),
            Token::Value(_) => "?".to_owned(),
            Token::Mark(mark) => char::from(*mark).to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Parses `SET [SESSION | LOCAL] name ...` or `RESET name` after its first word.
    fn set(&self, mut at: usize) -> Option<Effect> {
        let mut is_local = false;
        while matches!(self.word(at), "session" | "local" | "global") && at + 1 < self.0.len() {
            is_local |= self.word(at) == "local";
            at += 1;
        }
        let name = match self.word(at) {
            "" => return None,
            // Settings of one transaction end with it.
            name @ ("transaction" | "constraints") => {
                is_local = true;
                name
            }
            name => name,
        };
        let is_assignment = |token: &&Token| match token {
            Token::Word(word) => word == "to",
            token => matches!(token, Token::Mark(b'=' | b':')),
        };
        let rest = self.0.get(at + 1..)?;
        let marks = rest.iter().take_while(is_assignment).count();
        Some(Self::setting(name, &rest[marks..], !is_local))
    }

    fn setting(name: &str, value: &[Token], lasts: bool) -> Effect {
        let is_default = match value {
            [] => true,
            [Token::Word(word)] => word == "default" || word == "none" && name == "role",
            _ => false,
        };
        let text = |token: &Token| match token {
            Token::Word(word) => Some(word.clone().into_bytes()),
            Token::Value(value) => value.clone(),
            Token::Mark(mark) => Some(vec![*mark]),
        };
        let texts: Vec<_> = value.iter().map(text).collect();
        let values = (!is_default).then(|| digest(texts.iter().map(Option::as_deref)));
        Effect::Done {
            shape: set(name),
            values,
            lasts,
        }
    }

    /// Parses `SELECT set_config('name', value, is_local), ...` without other columns.
    fn set_config_effects(&self) -> Option<Vec<Effect>> {
        let (Token::Word(select), mut rest) = self.0.split_first()? else {
            return None;
        };
        let mut found = Vec::new();
        loop {
            let [
                Token::Word(function),
                Token::Mark(b'('),
                Token::Value(Some(name)),
                Token::Mark(b','),
                value @ Token::Value(_),
                Token::Mark(b','),
                local,
                Token::Mark(b')'),
                after @ ..,
            ] = rest
            else {
                return None;
            };
            if select != "select"
                || !matches!(function.as_str(), "set_config" | "pg_catalog.set_config")
            {
                return None;
            }
            let is_local = match local {
                Token::Word(word) => word == "true",
                Token::Value(Some(value)) => {
                    matches!(value.as_slice(), b"t" | b"true" | b"1" | b"on")
                }
                _ => return None,
            };
            found.push(Self::setting(
                &String::from_utf8_lossy(name),
                std::slice::from_ref(value),
                !is_local,
            ));
            let after = match after {
                [Token::Word(word), Token::Word(_), after @ ..] if word == "as" => after,
                after => after,
            };
            rest = match after {
                [] => return Some(found),
                [Token::Mark(b','), after @ ..] => after,
                _ => return None,
            };
        }
    }
}
