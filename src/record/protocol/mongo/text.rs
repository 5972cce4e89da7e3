//! What a person reads of a message.

use serde_json::{Map, Value};

use super::bson::{Element, elements, kind};
use crate::limits::MAX_BSON_DEPTH;
use crate::text::escape::hex;

const HEAD_BYTES: usize = 16;
const OP_QUERY: i32 = 2004;
const OP_MSG: i32 = 2013;

/// The first document of a message as JSON, without the fields that drivers add. Numbers and times are numbers, and what JSON
/// has no word for is its bytes.
pub(in crate::record) fn text(bytes: &[u8]) -> Option<String> {
    let opcode = i32::from_le_bytes(*bytes.get(12..)?.first_chunk()?);
    let body = bytes.get(HEAD_BYTES..)?;
    let start = match opcode {
        // Flags, then the kind of the first section.
        OP_MSG if body.get(4) == Some(&0) => 5,
        OP_QUERY => 4 + memchr::memchr(0, body.get(4..)?)? + 1 + 8,
        _ => return None,
    };
    let mut members = object(body.get(start..)?, 0)?;
    members.retain(|name, _| !matches!(name.as_str(), "lsid" | "$clusterTime" | "txnNumber" | "$readPreference"));
    Some(Value::Object(members).to_string())
}

fn object(document: &[u8], depth: usize) -> Option<Map<String, Value>> {
    let elements = elements(document).ok().filter(|_| depth < MAX_BSON_DEPTH)?;
    let member = |element: &Element<'_>| {
        (String::from_utf8_lossy(element.name).into_owned(), value(element, depth).unwrap_or(Value::Null))
    };
    Some(elements.iter().map(member).collect())
}

fn value(element: &Element<'_>, depth: usize) -> Option<Value> {
    const BOOLEAN: u8 = 0x08;
    const DATE: u8 = 0x09;
    const NULL: u8 = 0x0a;
    let bytes = element.value;
    Some(match element.kind {
        kind::STRING => String::from_utf8_lossy(bytes.get(4..)?.strip_suffix(b"\0")?).into(),
        kind::DOCUMENT => Value::Object(object(bytes, depth + 1)?),
        kind::ARRAY => object(bytes, depth + 1)?.into_iter().map(|(_, item)| item).collect(),
        BOOLEAN => (bytes.first()? != &0).into(),
        NULL => Value::Null,
        kind::INT32 => i32::from_le_bytes(*bytes.first_chunk()?).into(),
        kind::INT64 | DATE => i64::from_le_bytes(*bytes.first_chunk()?).into(),
        kind::DOUBLE => f64::from_le_bytes(*bytes.first_chunk()?).into(),
        _ => hex(bytes).into(),
    })
}
