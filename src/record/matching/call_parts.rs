//! Parts of a call without ignored ones, for comparison.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::fields::NoiseFields;
use super::volatile_values::{ValueBlanker, VolatileValue};
use crate::call::{Exchange, Protocol};
use crate::protocol::dissector::parts;
use crate::protocol::part_list::{Part, Role};
use crate::redact::is_signed;

/// Header fields that always select the answer: its form (RFC 9110, 12.5; RFC 7240), a range (RFC
/// 9110, 14.2), conditions (RFC 9110, 13.1), and the operation at a shared address.
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
    /// `true` if noise applies to calls that agree in all other parts, not to the whole shape.
    pub(super) is_narrow: bool,
}

impl Parts {
    pub(super) fn of(exchange: &Exchange) -> Self {
        let protocol = exchange.content.protocol();
        Self {
            all: parts(&exchange.content),
            is_narrow: protocol == Protocol::Redis || protocol.is_in_turns(),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.all.iter().map(|part| part.bytes.len()).sum()
    }

    /// Returns all parts except header fields. An ignored part comes with its pattern, or an empty
    /// text if it is ignored by name. An ignored document is one part.
    pub(super) fn without<'a>(
        &'a self,
        noise: &'a NoiseFields,
    ) -> impl Iterator<Item = (&'a Part, Option<&'a str>)> {
        let mut document = "";
        let counts = self.all.iter().filter(|part| part.role != Role::Field);
        counts.filter_map(move |part| {
            let before = std::mem::replace(&mut document, noise.document(&part.name));
            if document.is_empty() && !before.is_empty() && part.name == before {
                // Another item of an ignored list.
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

    /// Returns the generated values of each ignored part, with the form of the part without them.
    pub(super) fn ignored_values(
        &self,
        noise: &NoiseFields,
        blank: &ValueBlanker,
    ) -> Vec<(Vec<u8>, Vec<VolatileValue>)> {
        let ignored = self.without(noise).filter(|(_, why)| why.is_some());
        let values = ignored.map(|(part, _)| {
            let mut blank = blank.clone();
            (blank.text(&part.bytes), blank.values)
        });
        values.collect()
    }

    pub(super) fn leaves_out(&self, noise: &NoiseFields) -> bool {
        self.without(noise).any(|(_, why)| why.is_some())
    }

    /// Encodes the call with a mark for each ignored value.
    pub(super) fn encode(&self, noise: &NoiseFields) -> Vec<u8> {
        self.written(noise, |part| Some(Cow::Borrowed(&part.bytes)))
    }

    /// Encodes the parts that are not values.
    pub(super) fn bare(&self, noise: &NoiseFields) -> Vec<u8> {
        self.written(noise, |part| {
            (!part.is_value()).then_some(Cow::Borrowed(&part.bytes))
        })
    }

    /// Encodes the call with the shape of each generated value in its place.
    pub(super) fn without_generated_values(
        &self,
        noise: &NoiseFields,
        blank: &mut ValueBlanker,
    ) -> Vec<u8> {
        let parts: Vec<_> = self.without(noise).collect();
        let mut out = Vec::new();
        // The last byte of a time may belong to the text after it.
        for pieces in parts.chunk_by(|(one, _), (other, _)| one.is_piece() && other.is_piece()) {
            match pieces {
                [(part, why)] if !part.is_piece() => put(&mut out, part, *why, |part| {
                    Some(match part.role {
                        Role::Literal | Role::Key | Role::Rest | Role::Word => {
                            Cow::Owned(blank.text(&part.bytes))
                        }
                        Role::Bound => Cow::Owned(blank.bound(&part.bytes, &part.text)),
                        Role::Message | Role::Head | Role::Text | Role::Field => {
                            Cow::Borrowed(&part.bytes)
                        }
                    })
                }),
                _ => out.extend(blank.text(&joined(pieces))),
            }
        }
        out
    }

    /// Returns true if the call is bytes in an unknown format.
    pub(super) fn is_of_pieces(&self) -> bool {
        let is_piece = |part: &Part| part.role == Role::Message || part.is_piece();
        self.all.iter().all(is_piece)
    }

    /// Encodes each part in the form of `seen`, with its kind and length; `None` becomes a mark.
    fn written(
        &self,
        noise: &NoiseFields,
        mut seen: impl FnMut(&Part) -> Option<Cow<'_, [u8]>>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        for (part, why) in self.without(noise) {
            put(&mut out, part, why, &mut seen);
        }
        out
    }

    /// Returns the text of the call without values: what all calls of its shape have in common.
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

    pub(super) fn values<'a>(&'a self, noise: &'a NoiseFields) -> impl Iterator<Item = &'a Part> {
        self.without(noise)
            .filter(|(part, why)| part.is_value() && why.is_none())
            .map(|(part, _)| part)
    }

    /// Returns the header fields that may select the answer. Noise of a field applies to each
    /// cookie in it.
    pub(super) fn head<'a>(&'a self, noise: &'a NoiseFields) -> impl Iterator<Item = &'a Part> {
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

/// Adds a part in the form of `seen`, with its kind and length.
fn put(
    out: &mut Vec<u8>,
    part: &Part,
    why: Option<&str>,
    seen: impl FnOnce(&Part) -> Option<Cow<'_, [u8]>>,
) {
    let kind = match part.role {
        Role::Message => b'm',
        Role::Head | Role::Text | Role::Rest | Role::Field => b'h',
        Role::Literal | Role::Key | Role::Bound => b'v',
        Role::Word => b'w',
    };
    let (kind, bytes) = match why {
        // Values that different patterns ignore are not equal.
        Some(why) => (b'?', Cow::Borrowed(why.as_bytes())),
        None => seen(part).map_or((b'?', Cow::default()), |bytes| (kind, bytes)),
    };
    out.push(kind);
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(&bytes);
}

/// Joins pieces of bytes, with a mark for each ignored one.
fn joined(pieces: &[(&Part, Option<&str>)]) -> Vec<u8> {
    let pieces = pieces.iter().map(|(part, why)| match why {
        Some(why) => Cow::Owned([b"\0?", why.as_bytes(), b"\0"].concat()),
        None => Cow::Borrowed(&part.bytes[..]),
    });
    pieces.collect::<Vec<_>>().concat()
}

/// Returns the pattern that ignores a value; empty if its name does, `None` if it is not ignored.
fn left_out<'a>(noise: &'a NoiseFields, value: &Part) -> Option<&'a str> {
    if noise.has(&value.name) {
        Some("")
    } else {
        noise.pattern_of(&value.text)
    }
}

/// Returns true if a header field selects the answer, always or for these calls.
pub(super) fn chooses(field: &Part, choosing: &BTreeSet<String>) -> bool {
    is_always_selecting(&field.name) || choosing.contains(&field.name)
}

pub(super) fn is_always_selecting(name: &str) -> bool {
    ALWAYS.contains(&name)
}
