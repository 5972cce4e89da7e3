//! `MySQL`. The bytes of a packet stand beside its fields (`raw`).
//!
//! Source of the formats: "`MySQL` Internals", <https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html>.

use serde_json::{Value, json};

use super::super::Problem;
use super::super::databases::{MySqlHead, MySqlHeader, MySqlPacket, MySqlSpec};
use super::super::values::Raw;
use super::wires::{joined, sides};
use super::{Base, Part, key};
use crate::record::exchange::{Content, Message, Protocol, Side, Wire};

/// Bytes before each packet: its length in three, its number in one.
const HEAD_BYTES: usize = 4;
/// Commands by their first byte.
const COMMANDS: [(u8, &str); 11] = [
    (0x01, "COM_QUIT"),
    (0x02, "COM_INIT_DB"),
    (0x03, "COM_QUERY"),
    (0x0e, "COM_PING"),
    (0x11, "COM_CHANGE_USER"),
    (0x16, "COM_STMT_PREPARE"),
    (0x17, "COM_STMT_EXECUTE"),
    (0x18, "COM_STMT_SEND_LONG_DATA"),
    (0x19, "COM_STMT_CLOSE"),
    (0x1a, "COM_STMT_RESET"),
    (0x1f, "COM_RESET_CONNECTION"),
];

pub(super) fn to_spec(mut base: Base, wire: &Wire) -> MySqlSpec {
    let first = wire.messages.iter().find(|message| message.from == Side::Client);
    let asked = first.map_or("", |message| name(message, wire.session));
    let answer = wire.messages.iter().find(|message| message.from == Side::Server);
    let answered = answer.map_or("", |message| name(message, wire.session));
    let mut metadata =
        base.metadata(&[(key::TYPE, "mocks"), ("requestOperation", asked), ("responseOperation", answered)]);
    let [requests, responses] =
        sides(wire, &mut metadata).map(|side| side.into_iter().map(|message| packet(message, wire.session)).collect());
    MySqlSpec {
        metadata,
        requests,
        responses,
        created: base.created,
        sent: base.sent,
        answered: base.answered,
        ..MySqlSpec::default()
    }
}

pub(super) fn from_spec(spec: &MySqlSpec) -> Result<Part, Problem> {
    let requests = all(&spec.requests).map_err(|problem| problem.inside("requests", 0))?;
    let responses = all(&spec.responses).map_err(|problem| problem.inside("responses", 0))?;
    let content = Content::Wire(Protocol::MySql, joined(requests, responses, &spec.metadata)?);
    Ok(Part::new(&spec.metadata, spec.sent, spec.answered, content))
}

fn all(packets: &[MySqlPacket]) -> Result<Vec<Vec<u8>>, Problem> {
    let mut messages = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        if let Some(Raw(raw)) = &packet.raw {
            messages.push(raw.clone());
            continue;
        }
        let built = match packet.header.packet_type.as_str() {
            "TextResultSet" => text_result_set(packet),
            _ => built(packet).map(|bytes| vec![bytes]),
        };
        messages.extend(built.ok_or_else(|| {
            let what = format!(
                "`{}` without its bytes (`raw`) cannot be sent again",
                packet.header.packet_type.escape_debug()
            );
            Problem::new(0, what).inside(&format!("[{index}]"), 0)
        })?);
    }
    Ok(messages)
}

fn packet(message: &Message, is_session: bool) -> MySqlPacket {
    let bytes = message.bytes.as_slice();
    let (head, body) = bytes.split_at_checked(HEAD_BYTES).unwrap_or((&[0; HEAD_BYTES], &[]));
    let packet_type = name(message, is_session);
    MySqlPacket {
        header: MySqlHeader {
            header: MySqlHead {
                payload_length: u32::from_le_bytes([head[0], head[1], head[2], 0]),
                sequence_id: head[3],
            },
            packet_type: packet_type.to_owned(),
        },
        meta: None,
        message: fields(packet_type, body).unwrap_or(Value::Object(serde_json::Map::new())),
        raw: Some(Raw(bytes.to_vec())),
    }
}

/// What a packet is, as far as its first byte tells; a packet of a result set is told from its place, not from itself.
fn name(message: &Message, is_session: bool) -> &'static str {
    let Some(first) = message.bytes.get(HEAD_BYTES) else { return "" };
    match message.from {
        Side::Client if is_session && message.bytes[HEAD_BYTES - 1] != 0 => {
            if message.bytes.len() == HEAD_BYTES + 32 {
                "SSLRequest"
            } else if message.bytes[HEAD_BYTES - 1] == 1 {
                "HandshakeResponse41"
            } else {
                "AuthSwitchResponse"
            }
        }
        Side::Client => COMMANDS.iter().find(|(byte, _)| byte == first).map_or("", |(_, name)| name),
        Side::Server if is_session && message.bytes[HEAD_BYTES - 1] == 0 && *first == 10 => "HandshakeV10",
        Side::Server if is_session && *first == 1 => "AuthMoreData",
        Side::Server if is_session && *first == 0xfe => "AuthSwitchRequest",
        Side::Server => match first {
            0x00 => "OK",
            0xff => "ERR",
            0xfe if message.bytes.len() < HEAD_BYTES + 9 => "EOF",
            _ => "TextResultSet",
        },
    }
}

fn fields(packet_type: &str, body: &[u8]) -> Option<Value> {
    let text = |from: usize| String::from_utf8_lossy(body.get(from..).unwrap_or_default()).into_owned();
    let number = |at: usize| Some(u16::from_le_bytes(*body.get(at..)?.first_chunk()?));
    Some(match packet_type {
        "COM_QUERY" | "COM_STMT_PREPARE" => json!({"command": body.first()?, "query": text(1)}),
        "COM_INIT_DB" => json!({"command": body.first()?, "schema": text(1)}),
        "OK" => {
            let mut rest = body.get(1..)?;
            let (rows, id) = (lenenc(&mut rest)?, lenenc(&mut rest)?);
            let at = body.len() - rest.len();
            json!({
                "header": 0,
                "affected_rows": rows,
                "last_insert_id": id,
                "status_flags": number(at)?,
                "warnings": number(at + 2)?,
                "info": text(at + 4),
            })
        }
        "ERR" => json!({
            "header": 255,
            "error_code": number(1)?,
            "sql_state_marker": "#",
            "sql_state": body.get(4..9).map(String::from_utf8_lossy)?,
            "error_message": text(9),
        }),
        "EOF" => json!({"header": 254, "warnings": number(1)?, "status_flags": number(3)?}),
        "HandshakeV10" => {
            let end = memchr::memchr(0, body)?;
            let id = u32::from_le_bytes(*body.get(end + 1..)?.first_chunk()?);
            json!({
                "protocol_version": body.first()?,
                "server_version": String::from_utf8_lossy(&body[1..end]),
                "connection_id": id,
            })
        }
        _ => json!({"command": body.first()?}),
    })
}

/// A number whose first byte says how long it is.
fn lenenc(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    let size = match first {
        0..=0xfa => 0,
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(size)?;
    *bytes = rest;
    if size == 0 {
        return Some(u64::from(*first));
    }
    Some(number.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The bytes of a packet of another recorder, where its fields say them all.
fn built(packet: &MySqlPacket) -> Option<Vec<u8>> {
    let message = &packet.message;
    let number = |key: &str| message[key].as_u64().unwrap_or(0);
    let short = |key: &str| u16::try_from(number(key)).ok().map(u16::to_le_bytes);
    let text = |key: &str| message[key].as_str().unwrap_or("").as_bytes().to_vec();
    let name = packet.header.packet_type.as_str();
    let body = match name {
        "COM_QUERY" => [&[3][..], &text("query")].concat(),
        "COM_STMT_PREPARE" => [&[0x16][..], &text("query")].concat(),
        "COM_INIT_DB" => [&[2][..], &text("schema")].concat(),
        "COM_QUIT" => vec![1],
        "COM_PING" => vec![14],
        "OK" => {
            let mut body = vec![0];
            put_lenenc(number("affected_rows"), &mut body);
            put_lenenc(number("last_insert_id"), &mut body);
            [body, short("status_flags")?.to_vec(), short("warnings")?.to_vec(), text("info")].concat()
        }
        "ERR" => {
            let state = text("sql_state");
            let state = if state.len() == 5 { [&b"#"[..], &state].concat() } else { b"#HY000".to_vec() };
            [vec![0xff], short("error_code")?.to_vec(), state, text("error_message")].concat()
        }
        "EOF" => [vec![0xfe], short("warnings")?.to_vec(), short("status_flags")?.to_vec()].concat(),
        _ => return None,
    };
    framed(packet.header.header.sequence_id, &body)
}

/// The packets of a result set of another recorder: their number, the columns, the rows, and what ends each list.
fn text_result_set(packet: &MySqlPacket) -> Option<Vec<Vec<u8>>> {
    let message = &packet.message;
    let list = |key: &str| message[key].as_array().cloned().unwrap_or_default();
    let bytes = |value: &Value| -> Option<Vec<u8>> {
        value.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
    };
    let mut count = Vec::new();
    put_lenenc(message["columnCount"].as_u64()?, &mut count);
    let mut packets = vec![framed(packet.header.header.sequence_id, &count)?];
    for column in list("columns") {
        let mut body = Vec::new();
        for key in ["catalog", "schema", "table", "org_table", "name", "org_name"] {
            let text = column[key].as_str().unwrap_or_default();
            put_lenenc(text.len() as u64, &mut body);
            body.extend(text.as_bytes());
        }
        let number = |key: &str| column[key].as_u64().unwrap_or(0);
        put_lenenc(0x0c, &mut body);
        body.extend(u16::try_from(number("character_set")).ok()?.to_le_bytes());
        body.extend(u32::try_from(number("column_length")).ok()?.to_le_bytes());
        body.push(u8::try_from(number("type")).ok()?);
        body.extend(u16::try_from(number("flags")).ok()?.to_le_bytes());
        body.extend([u8::try_from(number("decimals")).ok()?, 0, 0]);
        packets.push(framed(sequence(&column)?, &body)?);
    }
    packets.extend(bytes(&message["eofAfterColumns"]).filter(|bytes| !bytes.is_empty()));
    for row in list("rows") {
        let mut body = Vec::new();
        for value in row["values"].as_array()? {
            let text = match &value["value"] {
                Value::Null => {
                    body.push(0xfb);
                    continue;
                }
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            put_lenenc(text.len() as u64, &mut body);
            body.extend(text.as_bytes());
        }
        packets.push(framed(sequence(&row)?, &body)?);
    }
    packets.extend(bytes(&message["FinalResponse"]["data"]).filter(|bytes| !bytes.is_empty()));
    Some(packets)
}

fn sequence(item: &Value) -> Option<u8> {
    u8::try_from(item["header"]["sequence_id"].as_u64()?).ok()
}

fn framed(sequence_id: u8, body: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(body.len()).ok().filter(|length| *length < 1 << 24)?;
    Some([&length.to_le_bytes()[..3], &[sequence_id], body].concat())
}

fn put_lenenc(value: u64, out: &mut Vec<u8>) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => out.extend([0xfc, bytes[0], bytes[1]]),
        0x1_0000..=0xff_ffff => out.extend([0xfd, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xfe);
            out.extend(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn simple_packets_can_be_made_of_their_fields() {
        let cases: [(Side, &[u8], &str); 5] = [
            (Side::Client, b"\x09\0\0\0\x03SELECT 1", "COM_QUERY"),
            (Side::Client, b"\x01\0\0\0\x0e", "COM_PING"),
            (Side::Server, b"\x09\0\0\x01\0\xfc\xfb\x00\x02\x02\x00\x00\x00", "OK"),
            (Side::Server, b"\x0b\0\0\x01\xff\x28\x04#42000no", "ERR"),
            (Side::Server, b"\x05\0\0\x05\xfe\0\0\x02\0", "EOF"),
        ];
        for (from, bytes, name) in cases {
            let mut item = packet(&Message { from, bytes: bytes.to_vec() }, false);
            assert_eq!(item.header.packet_type, name);
            item.raw = None;
            assert_eq!(built(&item).unwrap(), bytes, "{item:?}");
        }
    }
}
