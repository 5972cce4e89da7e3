//! The parts of a call to a database with what is left out of them, as calls are compared by them.

use sha1::{Digest as _, Sha1};

use super::anew::Blank;
use super::noise::Fields;
use crate::record::call::{Content, Exchange, Protocol, Wire};
use crate::record::protocol::parts::{Part, Role, parts};
use crate::text::escape::hex;

/// What a program said in one call.
#[derive(Debug)]
pub(super) struct Parts {
    all: Vec<Part>,
    /// Whether what is left out belongs to calls that are the same in all else, and not to all of their shape.
    pub(super) is_narrow: bool,
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
        let mut own = parts(protocol, wire)?;
        if !noise.is_empty() {
            own = joined(own, noise);
        }
        Some(Self { all: own, is_narrow: protocol == Protocol::Redis })
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
        for part in &self.all {
            match part.role {
                Role::Message => put(&mut out, b'm', b""),
                Role::Head | Role::Text => put(&mut out, b'h', &part.bytes),
                Role::Literal | Role::Key => put(&mut out, b'v', &blank.text(&part.bytes)),
                Role::Bound => put(&mut out, b'v', &blank.bound(&part.bytes, &part.text)),
            }
        }
        out
    }

    fn marked<'a>(&'a self, left_out: impl Fn(&'a Part) -> Option<&'a str>) -> Vec<u8> {
        let mut out = Vec::new();
        for part in &self.all {
            match part.role {
                Role::Message => put(&mut out, b'm', b""),
                Role::Head | Role::Text => put(&mut out, b'h', &part.bytes),
                // What one pattern leaves out is nothing that another one does.
                Role::Literal | Role::Key | Role::Bound => match left_out(part) {
                    Some(why) => put(&mut out, b'?', why.as_bytes()),
                    None => put(&mut out, b'v', &part.bytes),
                },
            }
        }
        out
    }

    /// The text of its statement, and the values that are bound to its parameters, where it is one of SQL.
    pub(super) fn statement(&self) -> (Vec<u8>, Vec<Option<Vec<u8>>>) {
        let (mut text, mut bound) = (Vec::new(), Vec::new());
        for part in &self.all {
            if part.is_in_text() {
                text.extend_from_slice(&part.bytes);
            } else if let Some(number) = part.name.strip_prefix("param.").and_then(|number| number.parse().ok())
                && let Some(at) = usize::checked_sub(number, 1)
            {
                bound.resize(bound.len().max(at + 1), None);
                bound[at] = Some(part.text.clone().into_bytes());
            }
        }
        (text, bound)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Part> {
        self.all.iter().filter(|part| part.is_value())
    }

    /// The call in words without its values: what all calls of its shape have in common.
    pub(super) fn shape(&self) -> String {
        self.words(|_| true)
    }

    fn words(&self, leaves_out: impl Fn(&Part) -> bool) -> String {
        let (mut all, mut one) = (String::new(), String::new());
        let join = |all: &mut String, one: &mut String| {
            if !all.is_empty() && !one.is_empty() {
                all.push_str("; ");
            }
            all.push_str(&std::mem::take(one));
        };
        for part in &self.all {
            match part.role {
                Role::Message => join(&mut all, &mut one),
                Role::Literal | Role::Key if leaves_out(part) => one.push('?'),
                Role::Text | Role::Literal | Role::Key => one.push_str(&part.text),
                Role::Head | Role::Bound => {}
            }
        }
        join(&mut all, &mut one);
        all
    }

    /// The values that are left out.
    pub(super) fn left<'a>(&'a self, noise: &Fields) -> impl Iterator<Item = &'a Part> {
        self.values().filter(move |value| left_out(noise, value).is_some())
    }

    /// The same with the hash of each script in its place: a server that does not know the hash is sent the script.
    pub(super) fn by_hash(mut self) -> Self {
        let (mut is_command, mut is_script) = (false, false);
        for part in &mut self.all {
            match part.role {
                Role::Message => (is_command, is_script) = (true, false),
                Role::Text if std::mem::take(&mut is_command) => {
                    let command = part.bytes.to_ascii_uppercase();
                    is_script = matches!(command.as_slice(), b"EVAL" | b"EVAL_RO");
                    if is_script {
                        part.bytes = [b"EVALSHA", &command[b"EVAL".len()..]].concat();
                        part.text = String::from_utf8_lossy(&part.bytes).into_owned();
                    }
                }
                Role::Key if std::mem::take(&mut is_script) => {
                    part.text = hex(&Sha1::digest(&part.bytes));
                    part.bytes = part.text.clone().into_bytes();
                }
                _ => {}
            }
        }
        self
    }
}

/// Parts of which those of a document that is left out are one.
fn joined(parts: Vec<Part>, noise: &Fields) -> Vec<Part> {
    let document = |name: &str| {
        let ends = name.match_indices('.').map(|(at, _)| &name[..at]);
        ends.into_iter().find(|path| noise.has(path)).map(str::to_owned)
    };
    let mut all: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (document(&part.name), all.last_mut()) {
            (Some(name), Some(last)) if last.name == name => last.bytes.extend(part.bytes),
            // An item of a list that has begun.
            (None, Some(last)) if last.name == part.name && last.text.is_empty() && last.is_value() => {
                last.bytes.extend(part.bytes);
            }
            (Some(name), _) => all.push(Part { role: Role::Bound, name, bytes: part.bytes, text: String::new() }),
            (None, _) => all.push(part),
        }
    }
    all
}

/// The pattern by which a value is left out; empty if its name is why, `None` if it is not.
pub(super) fn left_out<'a>(noise: &'a Fields, value: &Part) -> Option<&'a str> {
    if noise.has(&value.name) { Some("") } else { noise.pattern_of(&value.text) }
}

/// A part of what tells calls apart, with its kind and its length before it.
fn put(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}
