//! Parser of `MongoDB` messages: a document, and sequences of documents beside it.

use replay_base::text::escape::hex;

use super::bson::{self, Element, kind};
use super::message::{self, Section};
use crate::protocol::part_list::{PartList, readable};

/// Deepest nesting of documents of `MongoDB` in which values are looked for, as deep as the server
/// takes.
const MAX_BSON_DEPTH: usize = 100;

/// Parses `OP_MSG`, and the command of an `OP_QUERY`.
pub(crate) fn parts(bytes: &[u8], taken: &mut PartList) -> Option<()> {
    // The operation and flags; for `OP_QUERY` also the collection.
    taken.head(bytes.get(message::OPERATION..message::body(bytes).ok()?)?);
    for section in message::sections(bytes).ok()? {
        match section {
            Section::Document(document) => {
                taken.head(&[0]);
                command(document, taken)?;
            }
            Section::Sequence(name, documents) => {
                taken.head(&[&[1], name].concat());
                let path = format!("body.{}", String::from_utf8_lossy(name));
                for one in documents {
                    document(one, &path, taken, 0)?;
                }
            }
        }
    }
    Some(())
}

/// Parses a command: its name, collection and database are text that all calls of its shape share.
fn command(document: &[u8], taken: &mut PartList) -> Option<()> {
    for (index, one) in bson::elements(document).ok()?.iter().enumerate() {
        let is_name = one.kind == kind::STRING && (index == 0 || one.name == b"$db");
        if index == 0 {
            taken.text(one.name);
        }
        if is_name {
            taken.head(one.name);
            taken.text(if index == 0 { b" " } else { b" in " });
            taken.text(one.content());
        } else {
            element(one, "body", taken, 0)?;
        }
    }
    Some(())
}

fn document(document: &[u8], path: &str, taken: &mut PartList, depth: usize) -> Option<()> {
    taken.head_of(format!("{path}."), b"{");
    for one in bson::elements(document).ok()? {
        element(&one, path, taken, depth)?;
    }
    taken.head_of(format!("{path}."), b"}");
    Some(())
}

fn element(element: &Element<'_>, path: &str, taken: &mut PartList, depth: usize) -> Option<()> {
    taken.head_of(
        format!("{path}."),
        &[&[element.kind], element.name].concat(),
    );
    content(
        element,
        format!("{path}.{}", String::from_utf8_lossy(element.name)),
        taken,
        depth,
    )
}

fn content(element: &Element<'_>, path: String, taken: &mut PartList, depth: usize) -> Option<()> {
    match element.kind {
        kind::DOCUMENT | kind::ARRAY if depth == MAX_BSON_DEPTH => return None,
        kind::DOCUMENT => document(element.value, &path, taken, depth + 1)?,
        kind::ARRAY => {
            taken.head_of(format!("{path}."), b"[");
            for item in bson::elements(element.value).ok()? {
                taken.head_of(format!("{path}."), &[item.kind]);
                content(&item, path.clone(), taken, depth + 1)?;
            }
            taken.head_of(format!("{path}."), b"]");
        }
        // Types without bytes, such as null, have only one value.
        _ if element.value.is_empty() => {}
        _ => taken.value(path, element.value, format_value(element)),
    }
    Some(())
}

/// Formats a value (`bsonspec.org`).
fn format_value(element: &Element<'_>) -> String {
    const BOOLEAN: u8 = 0x08;
    const BINARY: u8 = 0x05;
    const DATE: u8 = 0x09;
    let value = element.content();
    let long = || value.first_chunk().copied().unwrap_or_default();
    match (element.kind, value) {
        (kind::STRING, _) => String::from_utf8_lossy(value).into_owned(),
        (BOOLEAN, &[byte]) => (byte != 0).to_string(),
        (kind::INT32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).to_string(),
        (kind::DOUBLE, _) => f64::from_le_bytes(long()).to_string(),
        (kind::INT64 | DATE, _) => i64::from_le_bytes(long()).to_string(),
        (BINARY, _) => readable(value, true),
        (kind::OBJECT_ID, _) => hex(value),
        _ => readable(value, false),
    }
}
