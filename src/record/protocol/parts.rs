//! What a program said in one call, taken apart: the values in it, which may be others in each run,
//! and everything else.
//!
//! Everything else is kept byte for byte, but for the lengths that stand beside values. So it
//! matters little that statements are not read as their server reads them: what is left out is only
//! ever what is named, and two calls are the same only if nothing else differs. That a value is
//! NULL, and of which type it is, is no part of the value.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::record::protocol::sql;
use crate::text::escape::hex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum Role {
    Message,
    /// What is not shown: types, formats, names of fields.
    Head,
    /// What all calls of its shape have.
    Text,
    /// No value, but something in it may be made anew by each run: a path, a key of JSON, a body
    /// that is no fields.
    Rest,
    /// A value in the text of the call.
    Literal,
    /// One that says which thing is asked for: the first argument of a command of Redis.
    Key,
    /// A value beside the text.
    Bound,
    /// One that is no text: a number, `true` or `null` of JSON.
    Word,
    /// A field of the head of a request, which counts only where it chooses.
    Field,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::record) struct Part {
    pub(in crate::record) role: Role,
    /// Of a value `literal.3`, `param.2`, `arg.2`, `comment.1`, `body.filter.at`, `query.t`,
    /// `header.range`; those of the items of a list have one name. Of what a document has beside
    /// its values the path of the document and a point.
    pub(in crate::record) name: String,
    pub(in crate::record) bytes: Vec<u8>,
    /// As it is told, and compared with patterns; of a head that is told nothing.
    pub(in crate::record) text: String,
}

impl Part {
    /// Whether it is a value, which can be left out.
    pub(in crate::record) fn is_value(&self) -> bool {
        matches!(
            self.role,
            Role::Literal | Role::Key | Role::Bound | Role::Word
        )
    }

    pub(in crate::record) fn is_in_text(&self) -> bool {
        matches!(self.role, Role::Text | Role::Literal | Role::Key)
    }
}

#[derive(Default)]
pub(in crate::record) struct PartList {
    pub(in crate::record) parts: Vec<Part>,
    /// How many values of each kind there were in the call.
    pub(super) counts: BTreeMap<&'static str, usize>,
    /// What a statement of `MySQL` was prepared with, which is carried out later in the same call.
    pub(in crate::record) prepared: Placeholders,
}

/// Those of a prepared statement of `MySQL`.
#[derive(Debug, Default)]
pub(in crate::record) struct Placeholders {
    pub(in crate::record) parameters: usize,
    /// Those that were sent ahead, from 0.
    pub(in crate::record) long: BTreeSet<usize>,
}

impl PartList {
    pub(in crate::record) fn put(&mut self, role: Role, name: String, bytes: &[u8], text: String) {
        self.parts.push(Part {
            role,
            name,
            bytes: bytes.to_vec(),
            text,
        });
    }

    pub(in crate::record) fn head(&mut self, bytes: &[u8]) {
        self.head_of(String::new(), bytes);
    }

    /// The same of the document that has this path.
    pub(in crate::record) fn head_of(&mut self, name: String, bytes: &[u8]) {
        self.put(Role::Head, name, bytes, String::new());
    }

    pub(in crate::record) fn text(&mut self, bytes: &[u8]) {
        self.put(
            Role::Text,
            String::new(),
            bytes,
            String::from_utf8_lossy(bytes).into_owned(),
        );
    }

    pub(in crate::record) fn value(&mut self, name: String, bytes: &[u8], text: String) {
        self.put(Role::Bound, name, bytes, text);
    }

    /// A value in the text. Those of one kind are counted through the call.
    pub(in crate::record) fn value_in_text(
        &mut self,
        role: Role,
        kind: &'static str,
        bytes: &[u8],
    ) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("{kind}.{count}");
        self.put(
            role,
            name,
            bytes,
            String::from_utf8_lossy(bytes).into_owned(),
        );
    }

    /// A statement: its literals and comments are values.
    pub(in crate::record) fn statement(&mut self, text: &[u8], is_mysql: bool) {
        for (range, kind) in sql::cut(text, is_mysql) {
            let part = &text[range];
            match kind {
                sql::Kind::Plain | sql::Kind::Line => self.text(part),
                sql::Kind::Literal => self.value_in_text(Role::Literal, "literal", part),
                sql::Kind::Comment => self.value_in_text(Role::Literal, "comment", part),
            }
        }
    }
}

/// Bytes as they are told: a text, or hexadecimal digits; what is as long as a UUID as one.
pub(in crate::record) fn readable(bytes: &[u8], may_be_uuid: bool) -> String {
    if may_be_uuid && bytes.len() == 16 {
        let parts = [
            &bytes[..4],
            &bytes[4..6],
            &bytes[6..8],
            &bytes[8..10],
            &bytes[10..],
        ];
        return parts.map(hex).join("-");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => text.to_owned(),
        _ => format!("0x{}", hex(bytes)),
    }
}
