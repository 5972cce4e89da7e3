//! `MongoDB`. The bytes of a message stand beside its fields (`raw`).
//!
//! Source of the formats: "`MongoDB` Wire Protocol" of the manual; documents as canonical extended JSON.

use serde_json::{Map, Value, json};

use super::super::Problem;
use super::super::bson;
use super::super::databases::{MongoHeader, MongoMessage, MongoSpec};
use super::super::values::Raw;
use super::wires::{joined, sides};
use super::{Base, Part};
use crate::record::exchange::{Content, Message, Protocol, Wire};

const HEAD_BYTES: usize = 16;
const OP_REPLY: i32 = 1;
const OP_QUERY: i32 = 2004;
const OP_MSG: i32 = 2013;
/// Bit 0 of the flags of `OP_MSG`: a checksum of four bytes follows the sections.
const CHECKSUM_PRESENT: u32 = 1;

pub(super) fn to_spec(mut base: Base, wire: &Wire) -> MongoSpec {
    let mut metadata = base.metadata(&[("operation", "mongo")]);
    let [requests, responses] = sides(wire, &mut metadata).map(|side| side.into_iter().map(message).collect());
    MongoSpec {
        metadata,
        requests,
        responses,
        created: base.created,
        sent: base.sent,
        answered: base.answered,
        ..MongoSpec::default()
    }
}

pub(super) fn from_spec(spec: &MongoSpec) -> Result<Part, Problem> {
    let requests = all(&spec.requests).map_err(|problem| problem.inside("requests", 0))?;
    let responses = all(&spec.responses).map_err(|problem| problem.inside("responses", 0))?;
    let content = Content::Wire(Protocol::Mongo, joined(requests, responses, &spec.metadata)?);
    Ok(Part::new(&spec.metadata, spec.sent, spec.answered, content))
}

fn all(messages: &[MongoMessage]) -> Result<Vec<Vec<u8>>, Problem> {
    let bytes = messages.iter().enumerate().map(|(index, message)| {
        if let Some(Raw(raw)) = &message.raw {
            return Ok(raw.clone());
        }
        built(message).map_err(|reason| Problem::new(0, reason).inside("message", 0).inside(&format!("[{index}]"), 0))
    });
    bytes.collect()
}

fn message(message: &Message) -> MongoMessage {
    let bytes = message.bytes.as_slice();
    let number =
        |at: usize| bytes.get(at..at + 4).and_then(|it| it.first_chunk()).map_or(0, |it| i32::from_le_bytes(*it));
    let opcode = number(12);
    let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
    let fields = match opcode {
        OP_MSG => op_msg(body),
        OP_QUERY => op_query(body),
        OP_REPLY => op_reply(body),
        _ => None,
    };
    MongoMessage {
        header: MongoHeader { length: number(0), request_id: number(4), response_to: number(8), opcode },
        message: fields.unwrap_or(Value::Object(Map::new())),
        read_delay: None,
        raw: Some(Raw(bytes.to_vec())),
    }
}

/// The first document of a message as JSON, without the fields that drivers add (`lsid`, `$clusterTime`, ...).
pub fn mongo_text(bytes: &[u8]) -> Option<String> {
    let opcode = i32::from_le_bytes(*bytes.get(12..)?.first_chunk()?);
    let body = bytes.get(HEAD_BYTES..)?;
    let start = match opcode {
        // Flags, then the kind of the first section.
        OP_MSG if body.get(4) == Some(&0) => 5,
        OP_QUERY => 4 + memchr::memchr(0, body.get(4..)?)? + 1 + 8,
        _ => return None,
    };
    let (document, _) = bson::read(body.get(start..)?)?;
    let Value::Object(mut members) = document else { return None };
    members.retain(|name, _| !matches!(name.as_str(), "lsid" | "$clusterTime" | "txnNumber" | "$readPreference"));
    Some(Value::Object(members).to_string())
}

fn le32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

fn text(bytes: &mut &[u8]) -> Option<String> {
    let end = memchr::memchr(0, bytes)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?.to_owned();
    *bytes = &bytes[end + 1..];
    Some(text)
}

fn document(bytes: &mut &[u8]) -> Option<String> {
    let (value, rest) = bson::read(bytes)?;
    *bytes = rest;
    Some(value.to_string())
}

fn op_msg(mut rest: &[u8]) -> Option<Value> {
    let flags = le32(&mut rest)?;
    let mut checksum = 0;
    if flags & CHECKSUM_PRESENT != 0 {
        let (sections, mut sum) = rest.split_at_checked(rest.len().checked_sub(4)?)?;
        checksum = le32(&mut sum)?;
        rest = sections;
    }
    let mut sections = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        rest = after;
        match kind {
            0 => sections.push(format!("{{ SectionSingle msg: {} }}", document(&mut rest)?)),
            1 => {
                let size = u32::from_le_bytes(*rest.first_chunk()?) as usize;
                let (mut section, after) = rest.split_at_checked(size)?;
                rest = after;
                le32(&mut section)?;
                let name = text(&mut section)?;
                let mut documents = Vec::new();
                while !section.is_empty() {
                    documents.push(document(&mut section)?);
                }
                sections.push(format!("{{ SectionSingle identifier: {name} , msgs: [ {} ] }}", documents.join(", ")));
            }
            _ => return None,
        }
    }
    Some(json!({"flagBits": flags, "sections": sections, "checksum": checksum}))
}

fn op_query(mut rest: &[u8]) -> Option<Value> {
    let flags = le32(&mut rest)?;
    let name = text(&mut rest)?;
    let (skip, count) = (le32(&mut rest)?.cast_signed(), le32(&mut rest)?.cast_signed());
    let query = document(&mut rest)?;
    let selector = if rest.is_empty() { String::new() } else { document(&mut rest)? };
    Some(json!({
        "flags": flags,
        "collection_name": name,
        "number_to_skip": skip,
        "number_to_return": count,
        "query": query,
        "return_fields_selector": selector,
    }))
}

fn op_reply(mut rest: &[u8]) -> Option<Value> {
    let flags = le32(&mut rest)?;
    let (cursor, after) = rest.split_first_chunk()?;
    rest = after;
    let (from, count) = (le32(&mut rest)?, le32(&mut rest)?);
    let mut documents = Vec::new();
    while !rest.is_empty() {
        documents.push(document(&mut rest)?);
    }
    Some(json!({
        "response_flags": flags,
        "cursor_id": i64::from_le_bytes(*cursor),
        "starting_from": from,
        "number_returned": count,
        "documents": documents,
    }))
}

/// The bytes of a message of another recorder. Fails, with the reason, when its fields are not enough.
fn built(message: &MongoMessage) -> Result<Vec<u8>, String> {
    let fields = &message.message;
    let number = |key: &str| fields[key].as_i64().unwrap_or(0);
    // Flags stand in files with and without a sign.
    let flags = |key: &str| (number(key) as i32).to_le_bytes();
    let json = |text: &str| -> Result<Vec<u8>, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("a document is not JSON: {error}"))?;
        bson::write(&value).ok_or_else(|| "a document is not canonical extended JSON".to_owned())
    };
    let word = |key: &str| fields[key].as_str().unwrap_or_default();
    let mut body = Vec::new();
    match message.header.opcode {
        OP_MSG => {
            // Nothing says what the checksum would be of, and it may be left out.
            let flags = u32::try_from(number("flagBits")).unwrap_or(0) & !CHECKSUM_PRESENT;
            body.extend(flags.to_le_bytes());
            for section in fields["sections"].as_array().into_iter().flatten() {
                section_bytes(section.as_str().unwrap_or_default(), &mut body)?;
            }
        }
        OP_QUERY => {
            body.extend(flags("flags"));
            body.extend(word("collection_name").as_bytes());
            body.push(0);
            body.extend((number("number_to_skip") as i32).to_le_bytes());
            body.extend((number("number_to_return") as i32).to_le_bytes());
            body.extend(json(word("query"))?);
            if !word("return_fields_selector").is_empty() {
                body.extend(json(word("return_fields_selector"))?);
            }
        }
        OP_REPLY => {
            let documents = fields["documents"].as_array().cloned().unwrap_or_default();
            body.extend(flags("response_flags"));
            body.extend(number("cursor_id").to_le_bytes());
            body.extend((number("starting_from") as i32).to_le_bytes());
            body.extend((documents.len() as u32).to_le_bytes());
            for document in &documents {
                body.extend(json(document.as_str().unwrap_or_default())?);
            }
        }
        other => return Err(format!("messages of opcode {other} without their bytes (`raw`) cannot be sent again")),
    }
    let length = i32::try_from(HEAD_BYTES + body.len()).map_err(|_| "the message is too long".to_owned())?;
    let mut out = Vec::with_capacity(HEAD_BYTES + body.len());
    for number in [length, message.header.request_id, message.header.response_to, message.header.opcode] {
        out.extend(number.to_le_bytes());
    }
    out.extend(body);
    Ok(out)
}

/// `{ SectionSingle msg: {...} }`, or `{ SectionSingle identifier: NAME , msgs: [ {...}, ... ] }`.
fn section_bytes(section: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let shown: String = section.chars().take(60).collect();
    let unknown = || format!("a section that is not read: `{}`", shown.escape_debug());
    let bson_of = |value: &Value| bson::write(value).ok_or_else(unknown);
    let inner = section.trim().strip_prefix('{').and_then(|it| it.strip_suffix('}')).ok_or_else(unknown)?.trim();
    let inner = inner
        .strip_prefix("SectionSingle")
        .or_else(|| inner.strip_prefix("SectionSequence"))
        .ok_or_else(unknown)?
        .trim();
    if let Some(json) = inner.strip_prefix("msg:") {
        let value: Value = serde_json::from_str(json).map_err(|_| unknown())?;
        out.push(0);
        out.extend(bson_of(&value)?);
        return Ok(());
    }
    let (name, list) = inner.strip_prefix("identifier:").and_then(|it| it.split_once("msgs:")).ok_or_else(unknown)?;
    let name = name.trim().trim_end_matches(',').trim_end();
    let documents: Vec<Value> = serde_json::from_str(list).map_err(|_| unknown())?;
    let mut section = name.as_bytes().to_vec();
    section.push(0);
    for document in &documents {
        section.extend(bson_of(document)?);
    }
    out.push(1);
    out.extend(u32::try_from(section.len() + 4).map_err(|_| unknown())?.to_le_bytes());
    out.extend(section);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::exchange::Side;
    use pretty_assertions::assert_eq;

    fn sent(request: i32, opcode: i32, body: &[u8]) -> Vec<u8> {
        let head = [16 + i32::try_from(body.len()).unwrap(), request, 0, opcode].map(i32::to_le_bytes).concat();
        [head, body.to_vec()].concat()
    }

    #[test]
    fn messages_can_be_made_of_their_fields() {
        let hello = bson::write(&json!({"hello": {"$numberInt": "1"}, "$db": "admin"})).unwrap();
        let row = bson::write(&json!({"_id": {"$numberLong": "7"}, "x": null})).unwrap();
        let sequence = [&b"documents\0"[..], &row, &row].concat();
        let size = (sequence.len() as u32 + 4).to_le_bytes();
        let bodies = [
            (OP_MSG, [&[0; 5][..], &hello, &[1], &size, &sequence].concat()),
            (OP_QUERY, [&[4, 0, 0, 0][..], b"admin.$cmd\0", &[0; 4], &[0xff; 4], &hello].concat()),
            (OP_REPLY, [&[8, 0, 0, 0][..], &[0; 8], &[0; 4], &[1, 0, 0, 0], &row].concat()),
        ];
        for (opcode, body) in bodies {
            let bytes = sent(5, opcode, &body);
            let mut item = message(&Message { from: Side::Client, bytes: bytes.clone() });
            item.raw = None;
            assert_eq!(built(&item).unwrap(), bytes, "{item:?}");
        }
        let item = message(&Message { from: Side::Client, bytes: sent(1, OP_MSG, &[&[0; 5][..], &hello].concat()) });
        let expected = r#"{ SectionSingle msg: {"hello":{"$numberInt":"1"},"$db":"admin"} }"#;
        assert_eq!(item.message["sections"][0], expected);
    }
}
