//! The parts of a call with what is left out of them, as calls are compared by them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::fields::Fields;
use super::volatile_values::Blank;
use crate::record::call::{Exchange, Protocol};
use crate::record::protocol::dissector::parts;
use crate::record::protocol::parts::{Part, Role};
use crate::record::redact::is_signed;

/// Fields of the head that choose what is answered in any case: a form of the answer (RFC 9110,
/// 12.5; RFC 7240), a part of it (RFC 9110, 14.2), whether there is anything new (RFC 9110, 13.1),
/// and the operation of who asks for all at one address.
const ALWAYS: [&str; 12] = [
    "header.accept",
    "header.accept-language",
    "header.prefer",
    "header.range",
    "header.if-range",
    "header.if-match",
    "header.if-none-match",
    "header.if-modified-since",
    "header.if-unmodified-since",
    "header.soapaction",
    "header.x-amz-target",
    "header.x-http-method-override",
];

#[derive(Debug)]
pub(super) struct Parts {
    all: Vec<Part>,
    /// Whether what is left out belongs to calls that are the same in all else, and not to all of
    /// their shape.
    pub(super) is_narrow: bool,
}

impl Parts {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self {
            all: parts(&exchange.content),
            is_narrow: exchange.content.protocol() == Protocol::Redis,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.all.iter().map(|part| part.bytes.len()).sum()
    }

    /// All but fields of the head. With what is left out comes why: a pattern, or nothing where a
    /// name is why. A document that is left out as a whole is one part.
    pub(super) fn without<'a>(
        &'a self,
        noise: &'a Fields,
    ) -> impl Iterator<Item = (&'a Part, Option<&'a str>)> {
        let mut document = "";
        let counts = self.all.iter().filter(|part| part.role != Role::Field);
        counts.filter_map(move |part| {
            let before = std::mem::replace(&mut document, noise.document(&part.name));
            if document.is_empty() && !before.is_empty() && part.name == before {
                // An item of a list that is left out.
                document = before;
            }
            match document {
                "" => Some((
                    part,
                    if part.is_value() {
                        left_out(noise, part)
                    } else {
                        None
                    },
                )),
                _ if document == before => None,
                _ => Some((part, Some(""))),
            }
        })
    }

    pub(super) fn leaves_out(&self, noise: &Fields) -> bool {
        self.without(noise).any(|(_, why)| why.is_some())
    }

    /// The call with a mark in the place of each value that is left out.
    pub(super) fn kept(&self, noise: &Fields) -> Vec<u8> {
        self.written(noise, |part| Some(Cow::Borrowed(&part.bytes)))
    }

    /// What is the same in all calls that differ in nothing but values.
    pub(super) fn bare(&self, noise: &Fields) -> Vec<u8> {
        self.written(noise, |part| {
            (!part.is_value()).then_some(Cow::Borrowed(&part.bytes))
        })
    }

    /// The call with its shape in the place of each value that is made anew.
    pub(super) fn anew(&self, noise: &Fields, blank: &mut Blank) -> Vec<u8> {
        self.written(noise, |part| {
            Some(match part.role {
                Role::Literal | Role::Key | Role::Rest | Role::Word => {
                    Cow::Owned(blank.text(&part.bytes))
                }
                Role::Bound => Cow::Owned(blank.bound(&part.bytes, &part.text)),
                Role::Message | Role::Head | Role::Text | Role::Field => Cow::Borrowed(&part.bytes),
            })
        })
    }

    /// Each part as it is `seen`, with its kind and its length before it; a mark for what is not.
    fn written(
        &self,
        noise: &Fields,
        mut seen: impl FnMut(&Part) -> Option<Cow<'_, [u8]>>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        for (part, why) in self.without(noise) {
            let kind = match part.role {
                Role::Message => b'm',
                Role::Head | Role::Text | Role::Rest | Role::Field => b'h',
                Role::Literal | Role::Key | Role::Bound => b'v',
                Role::Word => b'w',
            };
            let (kind, bytes) = match why {
                // What one pattern leaves out is nothing that another one does.
                Some(why) => (b'?', Cow::Borrowed(why.as_bytes())),
                None => seen(part).map_or((b'?', Cow::default()), |bytes| (kind, bytes)),
            };
            out.push(kind);
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(&bytes);
        }
        out
    }

    /// The call in words without its values, each message apart: what all calls of its shape have
    /// in common.
    pub(super) fn shape(&self) -> String {
        let messages = self
            .all
            .split(|part| part.role == Role::Message)
            .map(|message| {
                let word = |part: &Part| match part.role {
                    Role::Literal | Role::Key => "?".to_owned(),
                    Role::Text | Role::Rest => part.text.clone(),
                    _ => String::new(),
                };
                message.iter().map(word).collect::<String>()
            });
        messages
            .filter(|message| !message.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    pub(super) fn values<'a>(&'a self, noise: &'a Fields) -> impl Iterator<Item = &'a Part> {
        self.without(noise)
            .filter(|(part, why)| part.is_value() && why.is_none())
            .map(|(part, _)| part)
    }

    /// The fields of the head that may choose. What is left out of a field is left out of each
    /// cookie in it.
    pub(super) fn head<'a>(&'a self, noise: &'a Fields) -> impl Iterator<Item = &'a Part> {
        let counts = |part: &&Part| {
            let field = part.name.split(' ').next().unwrap_or_default();
            !noise.has(field) && left_out(noise, part).is_none() && !is_signed(&part.bytes)
        };
        self.all
            .iter()
            .filter(|part| part.role == Role::Field)
            .filter(counts)
    }
}

/// The pattern by which a value is left out; empty if its name is why, `None` if it is not.
fn left_out<'a>(noise: &'a Fields, value: &Part) -> Option<&'a str> {
    if noise.has(&value.name) {
        Some("")
    } else {
        noise.pattern_of(&value.text)
    }
}

/// The names of fields of the head that choose between calls, if their answers differ: those that
/// are the same in all else and have them otherwise. That a field is not there is a value, too; so
/// what says the version of an SDK or a platform does not matter.
pub(super) fn choosing(
    heads: &[Vec<&Part>],
    answers_differ: impl FnOnce() -> bool,
) -> BTreeSet<String> {
    let mut found: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for part in heads.iter().flatten() {
        let (first, count) = found.entry(&part.name).or_insert((&part.text, 0));
        *count += 1;
        if *first != part.text {
            names.insert(&part.name);
        }
    }
    names.extend(
        found
            .into_iter()
            .filter(|(_, (_, count))| *count < heads.len())
            .map(|(name, _)| name),
    );
    if names.is_empty() || !answers_differ() {
        BTreeSet::new()
    } else {
        names.into_iter().map(str::to_owned).collect()
    }
}

/// Whether a field of the head chooses: always, or between calls of which those are known that do.
pub(super) fn chooses(field: &Part, choosing: &BTreeSet<String>) -> bool {
    ALWAYS.contains(&field.name.as_str()) || choosing.contains(&field.name)
}
