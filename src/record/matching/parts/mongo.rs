//! Commands of `MongoDB` (`OP_MSG`): a document, and lists of documents beside it.

use super::{Taken, readable};
use crate::limits::MAX_BSON_DEPTH;
use crate::record::matching::noise::Fields;
use crate::record::protocol::mongo::bson::{self, Element, kind};
use crate::text::escape::hex;

const HEAD_BYTES: usize = 16;
const OP_MSG: [u8; 4] = 2013_u32.to_le_bytes();

impl Taken {
    pub(super) fn mongo(&mut self, bytes: &[u8], noise: &Fields) -> Option<()> {
        let flags = bytes.get(HEAD_BYTES..HEAD_BYTES + 4).filter(|_| bytes[HEAD_BYTES - 4..HEAD_BYTES] == OP_MSG)?;
        self.head(flags);
        let mut rest = &bytes[HEAD_BYTES + 4..];
        while let Some((section, after)) = rest.split_first() {
            self.head(&[*section]);
            if *section == 0 {
                let (document, after) = after.split_at_checked(bson::length(after).ok()?)?;
                self.command(document, noise)?;
                rest = after;
            } else {
                let length = usize::try_from(i32::from_le_bytes(*after.first_chunk()?)).ok()?;
                let (list, after) = after.split_at_checked(length)?;
                let name = list.get(4..)?;
                let (name, mut documents) = name.split_at_checked(memchr::memchr(0, name)? + 1)?;
                self.head(name);
                let path = format!("body.{}", String::from_utf8_lossy(name.strip_suffix(b"\0")?));
                if noise.has(&path) {
                    self.value(path, documents, String::new());
                } else {
                    while !documents.is_empty() {
                        let (one, more) = documents.split_at_checked(bson::length(documents).ok()?)?;
                        self.document(one, &path, noise, 0)?;
                        documents = more;
                    }
                }
                rest = after;
            }
        }
        Some(())
    }

    /// A command: its name, its collection and its database are what all calls of its shape have.
    fn command(&mut self, document: &[u8], noise: &Fields) -> Option<()> {
        let elements = bson::elements(document).ok()?;
        for (index, element) in elements.iter().enumerate() {
            let is_name = element.kind == kind::STRING && (index == 0 || element.name == b"$db");
            if index == 0 {
                self.text(element.name);
            }
            if is_name {
                self.head(element.name);
                self.text(if index == 0 { b" " } else { b" in " });
                self.text(text(element.value));
            } else {
                self.element(element, "body", noise, 0)?;
            }
        }
        Some(())
    }

    fn document(&mut self, document: &[u8], path: &str, noise: &Fields, depth: usize) -> Option<()> {
        self.head(b"{");
        for element in bson::elements(document).ok()? {
            self.element(&element, path, noise, depth)?;
        }
        self.head(b"}");
        Some(())
    }

    fn element(&mut self, element: &Element<'_>, path: &str, noise: &Fields, depth: usize) -> Option<()> {
        self.head(&[&[element.kind], element.name].concat());
        let path = format!("{path}.{}", String::from_utf8_lossy(element.name));
        self.content(element, path, noise, depth)
    }

    fn content(&mut self, element: &Element<'_>, path: String, noise: &Fields, depth: usize) -> Option<()> {
        match element.kind {
            kind::DOCUMENT | kind::ARRAY if noise.has(&path) => self.value(path, element.value, String::new()),
            kind::DOCUMENT | kind::ARRAY if depth == MAX_BSON_DEPTH => return None,
            kind::DOCUMENT => self.document(element.value, &path, noise, depth + 1)?,
            kind::ARRAY => {
                self.head(b"[");
                for item in bson::elements(element.value).ok()? {
                    self.head(&[item.kind]);
                    self.content(&item, path.clone(), noise, depth + 1)?;
                }
                self.head(b"]");
            }
            // What has no bytes, such as null, has one value.
            _ if element.value.is_empty() => {}
            of => self.value(path, element.value, told(of, element.value)),
        }
        Some(())
    }
}

/// The text of a string, which has its length before it and a zero behind it.
fn text(value: &[u8]) -> &[u8] {
    let text = value.get(4..).unwrap_or_default();
    text.strip_suffix(b"\0").unwrap_or(text)
}

/// A value as it is told (`bsonspec.org`).
fn told(kind: u8, value: &[u8]) -> String {
    const BOOLEAN: u8 = 0x08;
    const BINARY: u8 = 0x05;
    const DATE: u8 = 0x09;
    let long = || <[u8; 8]>::try_from(value).ok();
    match (kind, value) {
        (kind::STRING, _) => String::from_utf8_lossy(text(value)).into_owned(),
        (BOOLEAN, &[byte]) => (byte != 0).to_string(),
        (kind::INT32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).to_string(),
        (kind::DOUBLE, _) => {
            long().map_or_else(|| readable(value, false), |bytes| f64::from_le_bytes(bytes).to_string())
        }
        (kind::INT64 | DATE, _) => {
            long().map_or_else(|| readable(value, false), |bytes| i64::from_le_bytes(bytes).to_string())
        }
        // Length and subtype.
        (BINARY, _) => readable(value.get(5..).unwrap_or_default(), true),
        (kind::OBJECT_ID, _) => hex(value),
        _ => readable(value, false),
    }
}
