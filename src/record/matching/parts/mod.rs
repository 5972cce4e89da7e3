//! What was said to a database, taken apart: the values in it, which may be others in each run, and everything else.
//!
//! Everything else is kept byte for byte, but for the lengths that stand beside values. So it matters little that statements are
//! not read as their server reads them: what is left out is only ever what is named, and two calls are the same only if nothing
//! else differs. That a value is NULL, and of which type it is, is no part of the value.

mod mongo;
mod mysql;
mod postgres;
mod redis;

#[cfg(test)]
mod tests;

pub(super) use redis::Chooses;

use super::anew::Blank;
use super::noise::Fields;
use crate::record::call::{Content, Exchange, Protocol, Side, Wire};
use crate::record::protocol::postgres::unify;
use crate::record::protocol::sql;
use crate::text::escape::hex;

/// What a program said in one call.
#[derive(Debug)]
pub(super) struct Parts {
    pieces: Vec<Piece>,
    /// Whether what is left out belongs to calls that are the same in all else, and not to all of their shape.
    pub(super) is_narrow: bool,
}

#[derive(Debug)]
enum Piece {
    /// A message begins.
    Message,
    /// What is not shown: types, formats, names of fields.
    Head(Vec<u8>),
    /// What all calls of its shape have.
    Text(Vec<u8>),
    Value(Value),
}

/// A value that can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// `literal.3`, `param.2`, `arg.2`, `comment.1`, `body.filter.at`; those of the items of a list have one name.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// As it is told, and compared with patterns.
    pub(super) text: String,
    /// What of Redis chooses the answer.
    pub(super) chooses: Chooses,
    /// Whether it stands in the text of the call.
    in_text: bool,
}

/// Whether two calls are of one SQL statement, in messages of the same kinds: only values differ.
pub(super) fn are_of_one_statement(protocol: Protocol, one: &Wire, other: &Wire) -> bool {
    let bare = |wire| Parts::of(protocol, wire, &Fields::default()).map(|parts| parts.bare());
    matches!(protocol, Protocol::Postgres | Protocol::MySql) && bare(one) == bare(other)
}

impl Parts {
    /// The parts of a call. `None` where the protocol is not of a database. Of documents those that are left out as a whole
    /// are one value.
    pub(super) fn of(protocol: Protocol, wire: &Wire, noise: &Fields) -> Option<Self> {
        let is_narrow = match protocol {
            Protocol::Redis => true,
            Protocol::Postgres | Protocol::MySql | Protocol::Mongo => false,
            Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => return None,
        };
        let messages = wire.messages.iter().filter(|message| message.from == Side::Client).cloned().collect();
        let mut wire = Wire { messages, session: wire.session };
        if protocol == Protocol::Postgres {
            unify(&mut wire.messages);
        }
        let mut taken = Taken::default();
        for message in wire.messages {
            taken.message(protocol, &message.bytes, noise);
        }
        Some(Self { pieces: taken.pieces, is_narrow })
    }

    /// The same of a call.
    pub(super) fn of_call(exchange: &Exchange, noise: &Fields) -> Option<Self> {
        let Content::Wire(protocol, wire) = &exchange.content else { return None };
        Self::of(*protocol, wire, noise)
    }

    /// The call with a mark in the place of each value that is left out; `None` if there is none.
    pub(super) fn without(&self, noise: &Fields) -> Option<Vec<u8>> {
        self.leaves_out(noise).then(|| self.kept(noise))
    }

    /// Whether anything of it is left out.
    pub(super) fn leaves_out(&self, noise: &Fields) -> bool {
        self.left(noise).next().is_some()
    }

    /// The call without what is left out.
    pub(super) fn kept(&self, noise: &Fields) -> Vec<u8> {
        self.marked(|value| left_out(noise, value))
    }

    /// What is the same in all calls that differ in nothing but values.
    pub(super) fn bare(&self) -> Vec<u8> {
        self.marked(|_| Some(""))
    }

    /// The call with its shape in the place of each value that is made anew.
    pub(super) fn anew(&self, blank: &mut Blank) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Message => put(&mut out, b'm', b""),
                Piece::Head(bytes) | Piece::Text(bytes) => put(&mut out, b'h', bytes),
                Piece::Value(value) if value.in_text => put(&mut out, b'v', &blank.text(&value.bytes)),
                Piece::Value(value) => put(&mut out, b'v', &blank.bound(&value.bytes, &value.text)),
            }
        }
        out
    }

    fn marked<'a>(&'a self, left_out: impl Fn(&'a Value) -> Option<&'a str>) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Message => put(&mut out, b'm', b""),
                Piece::Head(bytes) | Piece::Text(bytes) => put(&mut out, b'h', bytes),
                // What one pattern leaves out is nothing that another one does.
                Piece::Value(value) => match left_out(value) {
                    Some(why) => put(&mut out, b'?', why.as_bytes()),
                    None => put(&mut out, b'v', &value.bytes),
                },
            }
        }
        out
    }

    /// The text of its statement, and the values that are bound to its parameters, where it is one of SQL.
    pub(super) fn statement(&self) -> (Vec<u8>, Vec<Option<Vec<u8>>>) {
        let (mut text, mut bound) = (Vec::new(), Vec::new());
        for piece in &self.pieces {
            match piece {
                Piece::Text(bytes) => text.extend_from_slice(bytes),
                Piece::Value(value) if value.in_text => text.extend_from_slice(&value.bytes),
                Piece::Value(value) => {
                    let number = value.name.strip_prefix("param.").and_then(|number| number.parse().ok());
                    let Some(at) = number.and_then(|number: usize| number.checked_sub(1)) else { continue };
                    bound.resize(bound.len().max(at + 1), None);
                    bound[at] = Some(value.text.clone().into_bytes());
                }
                Piece::Message | Piece::Head(_) => {}
            }
        }
        (text, bound)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.pieces.iter().filter_map(|piece| if let Piece::Value(value) = piece { Some(value) } else { None })
    }

    /// The call in words without its values: what all calls of its shape have in common.
    pub(super) fn shape(&self) -> String {
        self.words(|_| true)
    }

    fn words(&self, leaves_out: impl Fn(&Value) -> bool) -> String {
        let (mut all, mut one) = (String::new(), String::new());
        let join = |all: &mut String, one: &mut String| {
            if !all.is_empty() && !one.is_empty() {
                all.push_str("; ");
            }
            all.push_str(&std::mem::take(one));
        };
        for piece in &self.pieces {
            match piece {
                Piece::Message => join(&mut all, &mut one),
                Piece::Text(bytes) => one.push_str(&String::from_utf8_lossy(bytes)),
                Piece::Value(value) if value.in_text => one.push_str(if leaves_out(value) { "?" } else { &value.text }),
                Piece::Head(_) | Piece::Value(_) => {}
            }
        }
        join(&mut all, &mut one);
        all
    }

    /// The values that are left out.
    pub(super) fn left<'a>(&'a self, noise: &Fields) -> impl Iterator<Item = &'a Value> {
        self.values().filter(move |value| left_out(noise, value).is_some())
    }
}

/// The pattern by which a value is left out; empty if its name is why, `None` if it is not.
pub(super) fn left_out<'a>(noise: &'a Fields, value: &Value) -> Option<&'a str> {
    if noise.has(&value.name) { Some("") } else { noise.pattern_of(&value.text) }
}

/// A part of what tells calls apart, with its kind and its length before it.
fn put(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The pieces of the messages so far.
#[derive(Default)]
struct Taken {
    pieces: Vec<Piece>,
    counts: Counts,
    /// What a statement of `MySQL` was prepared with, which is carried out later in the same call.
    prepared: mysql::Prepared,
}

/// How many values of each kind there were in the call.
#[derive(Clone, Copy, Default)]
struct Counts {
    literals: usize,
    comments: usize,
    arguments: usize,
}

impl Taken {
    fn message(&mut self, protocol: Protocol, bytes: &[u8], noise: &Fields) {
        self.pieces.push(Piece::Message);
        let (before, counts) = (self.pieces.len(), self.counts);
        let taken = match protocol {
            Protocol::Redis => self.redis(bytes),
            Protocol::Postgres => self.postgres(bytes),
            Protocol::MySql => self.mysql(bytes),
            Protocol::Mongo => self.mongo(bytes, noise),
            Protocol::Http | Protocol::Grpc | Protocol::Dns | Protocol::Generic => None,
        };
        if taken.is_none() {
            // What cannot be read is the call itself.
            self.pieces.truncate(before);
            self.counts = counts;
            self.head(bytes);
        }
    }

    fn head(&mut self, bytes: &[u8]) {
        self.pieces.push(Piece::Head(bytes.to_vec()));
    }

    fn text(&mut self, bytes: &[u8]) {
        self.pieces.push(Piece::Text(bytes.to_vec()));
    }

    fn value(&mut self, name: String, bytes: &[u8], text: String) {
        self.pieces.push(Piece::Value(Value {
            name,
            bytes: bytes.to_vec(),
            text,
            chooses: Chooses::Nothing,
            in_text: false,
        }));
    }

    /// A value in the text of a call.
    fn value_in_text(&mut self, name: String, bytes: &[u8], chooses: Chooses) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.pieces.push(Piece::Value(Value { name, bytes: bytes.to_vec(), text, chooses, in_text: true }));
    }

    /// A statement: its literals and comments are values.
    fn statement(&mut self, text: &[u8], is_mysql: bool) {
        for (range, kind) in sql::cut(text, is_mysql) {
            let part = &text[range];
            match kind {
                sql::Kind::Plain | sql::Kind::Line => self.text(part),
                sql::Kind::Literal => {
                    self.counts.literals += 1;
                    self.value_in_text(format!("literal.{}", self.counts.literals), part, Chooses::Nothing);
                }
                sql::Kind::Comment => {
                    self.counts.comments += 1;
                    self.value_in_text(format!("comment.{}", self.counts.comments), part, Chooses::Nothing);
                }
            }
        }
    }
}

/// Bytes as they are told: a text, or hexadecimal digits; what is as long as a UUID as one.
fn readable(bytes: &[u8], may_be_uuid: bool) -> String {
    if may_be_uuid && bytes.len() == 16 {
        let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
        return parts.map(hex).join("-");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => text.to_owned(),
        _ => format!("0x{}", hex(bytes)),
    }
}
