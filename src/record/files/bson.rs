//! BSON (<https://bsonspec.org/spec.html>) <-> canonical extended JSON (specification "`MongoDB` Extended JSON (v2)").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::hex;

/// Deepest nesting, the server's own limit.
const MAX_DEPTH: usize = 100;

/// The document at the beginning of these bytes, and what follows it. `None` if there is none, or one with a value that JSON
/// cannot hold.
pub fn read(bytes: &[u8]) -> Option<(Value, &[u8])> {
    read_document(bytes, false, 0)
}

fn read_document(bytes: &[u8], is_array: bool, depth: usize) -> Option<(Value, &[u8])> {
    let length = usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let (document, after) = bytes.split_at_checked(length)?;
    let mut rest = document.get(4..)?.strip_suffix(&[0])?;
    if depth > MAX_DEPTH {
        return None;
    }
    let (mut members, mut items) = (Map::new(), Vec::new());
    while let Some((kind, after)) = rest.split_first() {
        rest = after;
        let name = cstring(&mut rest)?;
        let value = read_value(*kind, &mut rest, depth)?;
        if is_array {
            items.push(value);
        } else if members.insert(name, value).is_some() {
            // A name that comes twice has no place in JSON.
            return None;
        }
    }
    Some((if is_array { Value::Array(items) } else { Value::Object(members) }, after))
}

fn cstring(rest: &mut &[u8]) -> Option<String> {
    let end = memchr::memchr(0, rest)?;
    let text = std::str::from_utf8(&rest[..end]).ok()?.to_owned();
    *rest = &rest[end + 1..];
    Some(text)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

fn take_i32(rest: &mut &[u8]) -> Option<i32> {
    take(rest, 4)?.first_chunk().map(|chunk| i32::from_le_bytes(*chunk))
}

fn take_i64(rest: &mut &[u8]) -> Option<i64> {
    take(rest, 8)?.first_chunk().map(|chunk| i64::from_le_bytes(*chunk))
}

fn string(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take_i32(rest)?).ok()?;
    let text = take(rest, length)?.strip_suffix(&[0])?;
    std::str::from_utf8(text).ok().map(str::to_owned)
}

fn read_value(kind: u8, rest: &mut &[u8], depth: usize) -> Option<Value> {
    Some(match kind {
        0x01 => {
            let value = f64::from_le_bytes(*take(rest, 8)?.first_chunk()?);
            json!({"$numberDouble": double(value)?})
        }
        0x02 => string(rest)?.into(),
        0x03 | 0x04 => {
            let (value, after) = read_document(rest, kind == 0x04, depth + 1)?;
            *rest = after;
            value
        }
        0x05 => {
            let length = usize::try_from(take_i32(rest)?).ok()?;
            let subtype = take(rest, 1)?[0];
            json!({"$binary": {"base64": STANDARD.encode(take(rest, length)?), "subType": format!("{subtype:02x}")}})
        }
        0x06 => json!({"$undefined": true}),
        0x07 => json!({"$oid": hex(take(rest, 12)?)}),
        0x08 => match take(rest, 1)? {
            [0] => false.into(),
            [1] => true.into(),
            _ => return None,
        },
        0x09 => json!({"$date": {"$numberLong": take_i64(rest)?.to_string()}}),
        0x0a => Value::Null,
        0x0b => json!({"$regularExpression": {"pattern": cstring(rest)?, "options": cstring(rest)?}}),
        0x0d => json!({"$code": string(rest)?}),
        0x0e => json!({"$symbol": string(rest)?}),
        0x10 => json!({"$numberInt": take_i32(rest)?.to_string()}),
        0x11 => {
            let both = take_i64(rest)?.cast_unsigned();
            json!({"$timestamp": {"t": both >> 32, "i": both & 0xffff_ffff}})
        }
        0x12 => json!({"$numberLong": take_i64(rest)?.to_string()}),
        0xff => json!({"$minKey": 1}),
        0x7f => json!({"$maxKey": 1}),
        // Decimal128, pointers and code with scope are rare; the bytes are kept beside in any case.
        _ => return None,
    })
}

/// A double as the specification writes it; `None` for a NaN that is not the usual one.
fn double(value: f64) -> Option<String> {
    if value.is_nan() {
        return (value.to_bits() == f64::NAN.to_bits()).then(|| "NaN".to_owned());
    }
    if value.is_infinite() {
        return Some(if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned());
    }
    Some(format!("{value:?}"))
}

/// A document as bytes; `None` if this is no document, or not canonical.
pub fn write(value: &Value) -> Option<Vec<u8>> {
    let Value::Object(members) = value else { return None };
    write_document(members.iter().map(|(name, value)| (name.clone(), value)), 0)
}

fn write_document<'a>(members: impl Iterator<Item = (String, &'a Value)>, depth: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; 4];
    if depth > MAX_DEPTH {
        return None;
    }
    for (name, value) in members {
        let (kind, bytes) = write_value(value, depth)?;
        out.push(kind);
        out.extend(zero_ended(&name)?);
        out.extend(bytes);
    }
    out.push(0);
    let length = i32::try_from(out.len()).ok()?.to_le_bytes();
    out[..4].copy_from_slice(&length);
    Some(out)
}

fn zero_ended(text: &str) -> Option<Vec<u8>> {
    (!text.contains('\0')).then(|| [text.as_bytes(), &[0]].concat())
}

fn counted(text: &str) -> Option<Vec<u8>> {
    let length = i32::try_from(text.len() + 1).ok()?;
    Some([&length.to_le_bytes()[..], text.as_bytes(), &[0]].concat())
}

fn write_value(value: &Value, depth: usize) -> Option<(u8, Vec<u8>)> {
    Some(match value {
        Value::Null => (0x0a, Vec::new()),
        Value::Bool(value) => (0x08, vec![u8::from(*value)]),
        Value::String(text) => (0x02, counted(text)?),
        // Relaxed JSON has plain numbers.
        Value::Number(number) => match number.as_i64() {
            Some(long) => match i32::try_from(long) {
                Ok(int) => (0x10, int.to_le_bytes().to_vec()),
                Err(_) => (0x12, long.to_le_bytes().to_vec()),
            },
            None => (0x01, number.as_f64()?.to_le_bytes().to_vec()),
        },
        Value::Array(items) => {
            let members = items.iter().enumerate().map(|(index, item)| (index.to_string(), item));
            (0x04, write_document(members, depth + 1)?)
        }
        Value::Object(members) if is_special(members) => special(members)?,
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), value));
            (0x03, write_document(members, depth + 1)?)
        }
    })
}

/// Whether an object with one `$` key is a value. An operator of a query, such as `$gt`, is a document like any other.
fn is_special(members: &Map<String, Value>) -> bool {
    const KEYS: [&str; 13] = [
        "$numberInt",
        "$numberLong",
        "$numberDouble",
        "$oid",
        "$undefined",
        "$minKey",
        "$maxKey",
        "$code",
        "$symbol",
        "$date",
        "$timestamp",
        "$binary",
        "$regularExpression",
    ];
    members.len() == 1 && members.keys().all(|key| KEYS.contains(&key.as_str()))
}

/// A value that is written as an object with one `$` key; `None` if it is not well-formed.
fn special(members: &Map<String, Value>) -> Option<(u8, Vec<u8>)> {
    let (key, value) = members.iter().next()?;
    let text = value.as_str();
    match key.as_str() {
        "$numberInt" => text.and_then(|it| it.parse::<i32>().ok()).map(|it| (0x10, it.to_le_bytes().to_vec())),
        "$numberLong" => text.and_then(|it| it.parse::<i64>().ok()).map(|it| (0x12, it.to_le_bytes().to_vec())),
        "$numberDouble" => text.and_then(|it| it.parse::<f64>().ok()).map(|it| (0x01, it.to_le_bytes().to_vec())),
        "$oid" => text.and_then(unhex).filter(|bytes| bytes.len() == 12).map(|bytes| (0x07, bytes)),
        "$undefined" => Some((0x06, Vec::new())),
        "$minKey" => Some((0xff, Vec::new())),
        "$maxKey" => Some((0x7f, Vec::new())),
        "$code" => text.and_then(counted).map(|bytes| (0x0d, bytes)),
        "$symbol" => text.and_then(counted).map(|bytes| (0x0e, bytes)),
        "$date" => {
            let millis = value["$numberLong"].as_str().and_then(|it| it.parse::<i64>().ok());
            millis.map(|it| (0x09, it.to_le_bytes().to_vec()))
        }
        "$timestamp" => {
            let both = value["t"].as_u64().zip(value["i"].as_u64());
            both.map(|(seconds, number)| (0x11, (seconds << 32 | number & 0xffff_ffff).to_le_bytes().to_vec()))
        }
        "$binary" => binary(value),
        "$regularExpression" => {
            let (pattern, options) = (value["pattern"].as_str(), value["options"].as_str());
            pattern
                .zip(options)
                .and_then(|(pattern, options)| Some((0x0b, [zero_ended(pattern)?, zero_ended(options)?].concat())))
        }
        _ => None,
    }
}

fn binary(value: &Value) -> Option<(u8, Vec<u8>)> {
    let bytes = STANDARD.decode(value["base64"].as_str()?).ok()?;
    let subtype = u8::from_str_radix(value["subType"].as_str()?, 16).ok()?;
    let length = i32::try_from(bytes.len()).ok()?.to_le_bytes();
    Some((0x05, [&length[..], &[subtype], &bytes].concat()))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_type_comes_back() {
        let value = json!({
            "double": {"$numberDouble": "1.5"}, "whole": {"$numberDouble": "2.0"}, "inf": {"$numberDouble": "-Infinity"},
            "text": "a\u{0}b", "doc": {"x": {"$gt": {"$numberInt": "3"}}}, "list": [null, true],
            "bin": {"$binary": {"base64": "AAE=", "subType": "04"}}, "id": {"$oid": "0123456789abcdef01234567"},
            "date": {"$date": {"$numberLong": "-1"}}, "re": {"$regularExpression": {"pattern": "^a", "options": "i"}},
            "code": {"$code": "x"}, "int": {"$numberInt": "-7"}, "ts": {"$timestamp": {"t": 5, "i": 6}},
            "long": {"$numberLong": "9007199254740993"}, "min": {"$minKey": 1}, "max": {"$maxKey": 1},
        });
        let bytes = write(&value).unwrap();
        assert_eq!(read(&[bytes.as_slice(), b"x"].concat()), Some((value, b"x".as_slice())));
        assert_eq!(read(&bytes[..bytes.len() - 1]), None);
        assert_eq!(write(&json!({"a": {"$oid": "xy"}})), None);
    }
}
