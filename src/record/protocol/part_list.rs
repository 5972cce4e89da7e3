//! Parts of a call: values, which may differ in each run, and the rest.
//!
//! The rest is compared byte for byte, except for the lengths of values. So the parser need not
//! agree with the server's: only named values are ignored, and two calls match only if nothing else
//! differs. Whether a value is NULL, and its type, belong to the rest.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use replay_base::text::escape::hex;

use crate::protocol::sql;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Message,
    /// Hidden bytes: types, formats, names of fields.
    Head,
    /// Text that all calls of this shape share.
    Text,
    /// Not a value, but may contain generated text: a path, a JSON key, a body without fields.
    Rest,
    /// A value in the text of the call.
    Literal,
    /// A value that identifies an object: the first argument of a Redis command.
    Key,
    /// A value beside the text.
    Bound,
    /// A JSON value that is not a string: a number, `true` or `null`.
    Word,
    /// A header field, which is compared only if it selects the answer.
    Field,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) role: Role,
    /// Name of a value: `literal.3`, `param.2`, `arg.2`, `comment.1`, `body.filter.at`, `query.t`,
    /// `header.range`, `text.1`, `bytes.12-19`. The items of a list share one name. Other parts of a document have the path
    /// of the document and a dot.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Text for messages and patterns; empty for a head.
    pub(crate) text: String,
}

impl Part {
    /// Returns true if it is a value, which may be ignored.
    pub(crate) fn is_value(&self) -> bool {
        matches!(
            self.role,
            Role::Literal | Role::Key | Role::Bound | Role::Word
        )
    }

    /// Returns true if it is a piece of bytes in an unknown format.
    pub(crate) fn is_piece(&self) -> bool {
        ["text.", "bytes."]
            .iter()
            .any(|kind| self.name.starts_with(kind))
    }

    pub(crate) fn is_in_text(&self) -> bool {
        matches!(self.role, Role::Text | Role::Literal | Role::Key)
    }
}

#[derive(Default)]
pub(crate) struct PartList {
    pub(crate) parts: Vec<Part>,
    /// Number of values of each kind so far in the call.
    pub(super) counts: BTreeMap<&'static str, usize>,
    /// Placeholders of a prepared `MySQL` statement that is executed later in the same call.
    pub(crate) prepared: Placeholders,
}

/// Placeholders of a prepared `MySQL` statement.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    pub(crate) parameters: usize,
    /// Parameters that were sent ahead, counted from 0.
    pub(crate) long: BTreeSet<usize>,
}

impl PartList {
    pub(crate) fn put(&mut self, role: Role, name: String, bytes: &[u8], text: String) {
        self.parts.push(Part {
            role,
            name,
            bytes: bytes.to_vec(),
            text,
        });
    }

    pub(crate) fn head(&mut self, bytes: &[u8]) {
        self.head_of(String::new(), bytes);
    }

    /// Adds hidden bytes of the document with this path.
    pub(crate) fn head_of(&mut self, name: String, bytes: &[u8]) {
        self.put(Role::Head, name, bytes, String::new());
    }

    pub(crate) fn text(&mut self, bytes: &[u8]) {
        self.put(
            Role::Text,
            String::new(),
            bytes,
            String::from_utf8_lossy(bytes).into_owned(),
        );
    }

    pub(crate) fn value(&mut self, name: String, bytes: &[u8], text: String) {
        self.put(Role::Bound, name, bytes, text);
    }

    /// Adds a value in the text. Values of one kind are numbered across the call.
    pub(crate) fn value_in_text(&mut self, role: Role, kind: &'static str, bytes: &[u8]) {
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

    /// Adds a statement, with its literals and comments as values.
    pub(crate) fn statement(&mut self, text: &[u8], is_mysql: bool) {
        for (range, kind) in sql::cut(text, is_mysql) {
            let part = &text[range];
            match kind {
                sql::LexemeKind::Plain | sql::LexemeKind::Line => self.text(part),
                sql::LexemeKind::Literal => self.value_in_text(Role::Literal, "literal", part),
                sql::LexemeKind::Comment => self.value_in_text(Role::Literal, "comment", part),
            }
        }
    }
}

/// Formats bytes as text or hexadecimal digits; 16 bytes as a UUID if `may_be_uuid`.
pub(crate) fn readable(bytes: &[u8], may_be_uuid: bool) -> String {
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
