//! `PostgreSQL`, the oldest of Keploy's three layouts: the only one with a place for the bytes (`payload`).
//!
//! Source of the formats: the manual's chapter "Frontend/Backend Protocol", "Message Formats".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::Problem;
use super::super::databases::{PostgresMessage, PostgresSpec};
use super::wires::{joined, sides};
use super::{Base, Part, is_ours, key};
use crate::record::exchange::{Content, Message, Protocol, Side, Wire};

/// Codes in place of a version of the protocol that ask for something else.
const SSL_REQUEST: u32 = 80_877_103;

pub(super) fn to_spec(mut base: Base, wire: &Wire) -> PostgresSpec {
    let mut metadata = base.metadata(&[(key::TYPE, "mocks")]);
    let [requests, responses] = sides(wire, &mut metadata).map(|side| side.into_iter().map(message).collect());
    PostgresSpec { metadata, requests, responses, sent: base.sent, answered: base.answered, ..PostgresSpec::default() }
}

pub(super) fn from_spec(spec: &PostgresSpec) -> Result<Part, Problem> {
    // Others put all that was sent at once into one item.
    let take_apart = !is_ours(&spec.metadata);
    let requests =
        all(&spec.requests, Side::Client, take_apart).map_err(|problem| problem.inside("postgresrequests", 0))?;
    let responses =
        all(&spec.responses, Side::Server, take_apart).map_err(|problem| problem.inside("postgresresponses", 0))?;
    let content = Content::Wire(Protocol::Postgres, joined(requests, responses, &spec.metadata)?);
    Ok(Part::new(&spec.metadata, spec.sent, spec.answered, content))
}

fn all(items: &[PostgresMessage], from: Side, take_apart: bool) -> Result<Vec<Vec<u8>>, Problem> {
    let mut messages = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let bytes = bytes(item, from).map_err(|problem| problem.inside(&format!("[{index}]"), 0))?;
        let has_types = from == Side::Server || item.identifier != "StartupRequest";
        match parts(&bytes).filter(|_| take_apart && has_types) {
            Some(parts) => messages.extend(parts.into_iter().map(<[u8]>::to_vec)),
            None => messages.push(bytes),
        }
    }
    Ok(messages)
}

/// The messages of a run of them; `None` if it is none.
fn parts(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(*bytes.get(1..)?.first_chunk()?) as usize;
        let (part, rest) = bytes.split_at_checked(length.checked_add(1).filter(|_| length >= 4)?)?;
        parts.push(part);
        bytes = rest;
    }
    Some(parts)
}

fn message(message: &Message) -> PostgresMessage {
    let bytes = message.bytes.as_slice();
    let kind = bytes.first().copied().filter(|kind| *kind != 0);
    let body = bytes.get(if kind.is_some() { 5 } else { 8 }..).unwrap_or_default();
    let (identifier, rest) = match (message.from, kind) {
        (Side::Server, Some(kind)) => ("ServerResponse", response(kind, body)),
        (Side::Server, None) => ("ServerResponse", None),
        (Side::Client, Some(kind)) => ("ClientRequest", request(kind, body)),
        (Side::Client, None) => {
            let code = bytes.get(4..8).and_then(|code| code.first_chunk()).map(|code| u32::from_be_bytes(*code));
            ("StartupRequest", (code == Some(SSL_REQUEST)).then(|| json!({"ssl_request": {"is_ssl_request": true}})))
        }
    };
    let rest = match rest {
        Some(Value::Object(rest)) => rest,
        _ => Map::new(),
    };
    PostgresMessage {
        header: kind.filter(u8::is_ascii_graphic).map(|kind| char::from(kind).to_string()).into_iter().collect(),
        identifier: identifier.to_owned(),
        length: bytes.len() as u64,
        payload: STANDARD.encode(bytes),
        rest,
    }
}

/// The fields of a message, read one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        Some(i16::from_be_bytes(*self.take(2)?.first_chunk()?))
    }

    fn i32(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(*self.take(4)?.first_chunk()?))
    }

    fn text(&mut self) -> Option<String> {
        let end = memchr::memchr(0, self.0)?;
        let text = self.take(end + 1)?;
        Some(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    fn numbers(&mut self) -> Option<Vec<i16>> {
        let count = self.i16()?;
        (0..count).map(|_| self.i16()).collect()
    }

    /// A value with its length before it; -1 is NULL.
    #[expect(clippy::option_option, reason = "the outer one is a message that ends too early, the inner one is NULL")]
    fn value(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.i32()?) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Some(None),
        }
    }
}

fn request(kind: u8, body: &[u8]) -> Option<Value> {
    let mut fields = Fields(body);
    Some(match kind {
        b'Q' => json!({"query": {"string": fields.text()?}}),
        b'P' => {
            let (name, query) = (fields.text()?, fields.text()?);
            let count = fields.i16()?;
            let oids: Vec<i32> = (0..count).map(|_| fields.i32()).collect::<Option<_>>()?;
            json!({"parse": [{"name": name, "query": query, "parameter_oids": oids}]})
        }
        b'B' => {
            let (portal, statement) = (fields.text()?, fields.text()?);
            let formats = fields.numbers()?;
            let count = fields.i16()?;
            let values: Vec<Option<&[u8]>> = (0..count).map(|_| fields.value()).collect::<Option<_>>()?;
            json!({"bind": [{
                "portal": portal,
                "prepared_statement": statement,
                "parameter_format_codes": formats,
                "parameters": values,
                "result_format_codes": fields.numbers()?,
            }]})
        }
        b'E' => json!({"execute": [{"portal": fields.text()?, "max_rows": fields.i32()?}]}),
        b'D' => {
            let object = fields.take(1)?[0];
            json!({"describe": {"object_type": object, "name": fields.text()?}})
        }
        _ => return None,
    })
}

fn response(kind: u8, body: &[u8]) -> Option<Value> {
    let mut fields = Fields(body);
    Some(match kind {
        b'R' => match fields.i32()? {
            5 => json!({"authentication_md5_password": {"salt": fields.take(4)?}, "auth_type": 5}),
            auth => json!({"auth_type": auth}),
        },
        b'K' => json!({"backend_key_data": {"process_id": fields.i32()?, "secret_key": fields.i32()?}}),
        b'S' => json!({"parameter_status": [{"name": fields.text()?, "value": fields.text()?}]}),
        b'C' => json!({"command_complete": [{"command_tag_type": fields.text()?}]}),
        b'Z' => json!({"ready_for_query": {"txstatus": fields.take(1)?[0]}}),
        b'D' => {
            let count = fields.i16()?;
            let values: Vec<Value> = (0..count).map(|_| fields.value().map(row_value)).collect::<Option<_>>()?;
            json!({"data_row": [{"row_values": values}]})
        }
        b'T' => {
            let count = fields.i16()?;
            let columns: Vec<Value> = (0..count).map(|_| column(&mut fields)).collect::<Option<_>>()?;
            json!({"row_description": {"fields": columns}})
        }
        _ => return None,
    })
}

fn column(fields: &mut Fields<'_>) -> Option<Value> {
    // Go writes bytes without a type of their own as a list of numbers.
    let name = fields.text()?.into_bytes();
    Some(json!({
        "name": name,
        "table_oid": fields.i32()?.cast_unsigned(),
        "table_attribute_number": fields.i16()?.cast_unsigned(),
        "data_type_oid": fields.i32()?.cast_unsigned(),
        "data_type_size": fields.i16()?,
        "type_modifier": fields.i32()?,
        "format": fields.i16()?,
    }))
}

fn row_value(value: Option<&[u8]>) -> Value {
    match value.map(|bytes| (std::str::from_utf8(bytes), bytes)) {
        None => Value::Null,
        Some((Ok(text), _)) => text.into(),
        Some((Err(_), bytes)) => format!("b64:{}", STANDARD.encode(bytes)).into(),
    }
}

/// The bytes of an item: its payload, or what its fields say.
fn bytes(item: &PostgresMessage, from: Side) -> Result<Vec<u8>, Problem> {
    if !item.payload.is_empty() || item.header.is_empty() {
        let packed: Vec<u8> = item.payload.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let decoded = STANDARD.decode(packed);
        return decoded.map_err(|error| Problem::new(0, format!("no base64: {error}")).inside("payload", 0));
    }
    let fields = Value::Object(item.rest.clone());
    let mut counts = [0; 256];
    let mut out = Vec::new();
    for kind in &item.header {
        let [kind] = kind.as_bytes() else {
            return Err(Problem::new(0, format!("expected letters, got `{}`", kind.escape_debug())).inside("header", 0));
        };
        let index = counts[usize::from(*kind)];
        counts[usize::from(*kind)] += 1;
        let body = match from {
            Side::Server => built_response(*kind, &fields, index),
            Side::Client => built_request(*kind, &fields, index),
        };
        let body = body.ok_or_else(|| {
            let what = format!(
                "no payload, and no fields that message `{}` could be made of",
                char::from(*kind).escape_debug()
            );
            Problem::new(0, what)
        })?;
        out.push(*kind);
        out.extend_from_slice(&u32::try_from(body.len() + 4).unwrap_or(u32::MAX).to_be_bytes());
        out.extend(body);
    }
    Ok(out)
}

fn text_of(value: &Value) -> Option<Vec<u8>> {
    let mut bytes = bytes_of(value)?;
    bytes.push(0);
    Some(bytes)
}

/// A text, or a list of numbers.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(numbers) => numbers.iter().map(|number| u8::try_from(number.as_u64()?).ok()).collect(),
        Value::Null => Some(Vec::new()),
        _ => None,
    }
}

fn number_of<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_i64().unwrap_or(0)).ok()
}

fn built_request(kind: u8, fields: &Value, index: usize) -> Option<Vec<u8>> {
    match kind {
        b'Q' => text_of(fields.pointer("/query/string").or_else(|| fields.pointer("/query/query_string"))?),
        b'S' | b'H' | b'X' => Some(Vec::new()),
        b'P' => {
            let parse = fields.get("parse")?.get(index)?;
            let oids = parse["parameter_oids"].as_array().cloned().unwrap_or_default();
            let mut out = [text_of(&parse["name"])?, text_of(&parse["query"])?].concat();
            out.extend(u16::try_from(oids.len()).ok()?.to_be_bytes());
            for oid in &oids {
                out.extend(number_of::<u32>(oid)?.to_be_bytes());
            }
            Some(out)
        }
        b'E' => {
            let execute = fields.get("execute")?.get(index)?;
            Some(
                [text_of(&execute["portal"])?, number_of::<u32>(&execute["max_rows"])?.to_be_bytes().to_vec()].concat(),
            )
        }
        _ => None,
    }
}

fn built_response(kind: u8, fields: &Value, index: usize) -> Option<Vec<u8>> {
    match kind {
        b'1' | b'2' | b'3' | b'n' | b'I' | b's' => Some(Vec::new()),
        b'R' => {
            let auth: u32 = number_of(&fields["auth_type"])?;
            let salt = fields.pointer("/authentication_md5_password/salt").and_then(bytes_of).unwrap_or_default();
            Some([&auth.to_be_bytes()[..], if auth == 5 { &salt } else { &[] }].concat())
        }
        b'K' => {
            let data = fields.get("backend_key_data")?;
            let (id, secret): (u32, u32) = (number_of(&data["process_id"])?, number_of(&data["secret_key"])?);
            Some([id.to_be_bytes(), secret.to_be_bytes()].concat())
        }
        b'S' => {
            let status = fields.get("parameter_status")?.get(index)?;
            Some([text_of(&status["name"])?, text_of(&status["value"])?].concat())
        }
        b'C' => text_of(fields.get("command_complete")?.get(index)?.get("command_tag_type")?),
        b'Z' => Some(vec![number_of(fields.pointer("/ready_for_query/txstatus")?)?]),
        b'D' => {
            let values = fields.get("data_row")?.get(index)?.get("row_values")?.as_array()?;
            let mut out = u16::try_from(values.len()).ok()?.to_be_bytes().to_vec();
            for value in values {
                let bytes = match value.as_str() {
                    None => {
                        out.extend((-1_i32).to_be_bytes());
                        continue;
                    }
                    Some(text) => match text.strip_prefix("b64:") {
                        Some(packed) => STANDARD.decode(packed).ok()?,
                        None => text.as_bytes().to_vec(),
                    },
                };
                out.extend(i32::try_from(bytes.len()).ok()?.to_be_bytes());
                out.extend(bytes);
            }
            Some(out)
        }
        b'T' => {
            let columns = fields.pointer("/row_description/fields")?.as_array()?;
            let mut out = u16::try_from(columns.len()).ok()?.to_be_bytes().to_vec();
            for column in columns {
                out.extend(text_of(&column["name"])?);
                out.extend(number_of::<u32>(&column["table_oid"])?.to_be_bytes());
                out.extend(number_of::<u16>(&column["table_attribute_number"])?.to_be_bytes());
                out.extend(number_of::<u32>(&column["data_type_oid"])?.to_be_bytes());
                out.extend(number_of::<i16>(&column["data_type_size"])?.to_be_bytes());
                out.extend(number_of::<i32>(&column["type_modifier"])?.to_be_bytes());
                out.extend(number_of::<i16>(&column["format"])?.to_be_bytes());
            }
            Some(out)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    #[test]
    fn what_is_taken_apart_can_be_put_together() {
        let row = b"\x00\x02\x00\x00\x00\x011\xff\xff\xff\xff";
        let columns = b"\x00\x01id\0\x00\x00\x40\x02\x00\x01\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00";
        let bodies: [(u8, &[u8]); 8] = [
            (b'T', columns),
            (b'D', row),
            (b'C', b"SELECT 1\0"),
            (b'Z', b"I"),
            (b'S', b"client_encoding\0UTF8\0"),
            (b'K', b"\0\0\0\x01\0\0\0\x02"),
            (b'R', b"\0\0\0\x05abcd"),
            (b'1', b""),
        ];
        for (kind, body) in bodies {
            let bytes_sent = framed(kind, body);
            let mut item = message(&Message { from: Side::Server, bytes: bytes_sent.clone() });
            item.payload.clear();
            assert_eq!(bytes(&item, Side::Server).unwrap(), bytes_sent, "{item:?}");
        }
        let parse = framed(b'P', b"s1\0SELECT $1\0\x00\x01\x00\x00\x00\x17");
        let mut item = message(&Message { from: Side::Client, bytes: parse.clone() });
        assert_eq!(item.rest["parse"][0]["query"], "SELECT $1");
        item.payload.clear();
        assert_eq!(bytes(&item, Side::Client).unwrap(), parse);
    }
}
