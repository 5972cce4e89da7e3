//! Protoscope, the text format in which Keploy's files hold gRPC messages
//! (<https://github.com/protocolbuffers/protoscope/blob/main/language.txt>). Only the subset for
//! messages without a schema is supported. It has `3:` tags, texts, `{...}` with a length, `!{...}`
//! groups and hexadecimal in backticks. Numbers are plain, with the suffix `i32` or `i64`, or with
//! a point.

use std::fmt::Write as _;

use replay_base::text::escape::hex;

use crate::protocol::protobuf::{self, Field, FieldValue, I32, I64, LEN, MAX_DEPTH, VARINT};

const START_GROUP: u64 = 3;
const END_GROUP: u64 = 4;

/// Formats bytes as text that parses back to the same bytes.
pub(super) fn write(bytes: &[u8]) -> String {
    let text = protobuf::fields(bytes).map(|fields| formatted(&fields, 0));
    match text.filter(|text| read(text).is_ok_and(|back| back == bytes)) {
        Some(text) => text,
        None => format!("`{}`\n", hex(bytes)),
    }
}

fn formatted(fields: &[Field<'_>], depth: usize) -> String {
    let mut out = String::new();
    let indent = "  ".repeat(depth);
    for Field { number, value } in fields {
        let value = match value {
            FieldValue::Varint(value) => value.to_string(),
            FieldValue::I64(value) => format!("{}i64", i64::from_le_bytes(*value)),
            FieldValue::I32(value) => format!("{}i32", i32::from_le_bytes(*value)),
            FieldValue::Text(text) => format!("{{\"{}\"}}", escaped(text)),
            FieldValue::Message(inner) => {
                format!("{{\n{}{indent}}}", formatted(inner, depth + 1))
            }
            FieldValue::Bytes(bytes) => format!("{{`{}`}}", hex(bytes)),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{indent}{number}: {value}");
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Parses a text to bytes. Fails, with the position, at unsupported syntax.
pub(super) fn read(text: &str) -> Result<Vec<u8>, String> {
    let mut rest = text;
    run(&mut rest, 0).ok_or_else(|| {
        let (at, shown) = (
            text.len() - rest.len(),
            rest.chars().take(20).collect::<String>(),
        );
        format!(
            "byte {at} of the protoscope text is invalid: `{}`",
            shown.escape_debug()
        )
    })
}

/// Parses up to the end, or to the brace that closes this run.
fn run(rest: &mut &str, depth: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // The field whose value comes next; the value decides the wire type.
    let mut field = None;
    loop {
        *rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return (depth == 0 && field.is_none()).then_some(out);
        };
        if matches!(first, '}' | '!' | '"' | '`') {
            *rest = &rest[1..];
        }
        match first {
            '#' => *rest = rest.find('\n').map_or("", |end| &rest[end..]),
            '}' => return (depth > 0 && field.is_none()).then_some(out),
            '{' => {
                let inner = braced(rest, depth)?;
                put_tag(field.take(), LEN, &mut out);
                put_varint(inner.len() as u64, &mut out);
                out.extend(inner);
            }
            '!' => {
                let number = Some(field.take()?);
                let inner = braced(rest, depth)?;
                put_tag(number, START_GROUP, &mut out);
                out.extend(inner);
                put_tag(number, END_GROUP, &mut out);
            }
            '"' => {
                put_tag(field.take(), LEN, &mut out);
                quoted(rest, &mut out)?;
            }
            '`' => {
                let (digits, after) = rest.split_once('`')?;
                *rest = after;
                put_tag(field.take(), LEN, &mut out);
                out.extend(unhex(digits)?);
            }
            _ => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.+".contains(c)));
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                let value = after.strip_prefix(':').filter(|_| field.is_none());
                *rest = value.unwrap_or(after);
                if value.is_some() {
                    field = Some(word.parse().ok().filter(|number| *number < 1 << 29)?);
                } else {
                    let (kind, value) = number(word)?;
                    put_tag(field.take(), kind, &mut out);
                    out.extend(value);
                }
            }
        }
    }
}

fn braced(rest: &mut &str, depth: usize) -> Option<Vec<u8>> {
    *rest = rest.strip_prefix('{').filter(|_| depth < MAX_DEPTH + 1)?;
    run(rest, depth + 1)
}

/// Parses a number with its wire type from the suffix; with a point it is a double.
fn number(word: &str) -> Option<(u64, Vec<u8>)> {
    if let Some(digits) = word.strip_suffix("i32") {
        let whole = integer(digits)
            .and_then(|value| i32::try_from(value).ok())
            .map(i32::to_le_bytes);
        let value = whole.or_else(|| digits.parse().ok().map(f32::to_le_bytes))?;
        return Some((I32, value.to_vec()));
    }
    let digits = word.strip_suffix("i64").unwrap_or(word);
    let Some(value) = integer(digits) else {
        return Some((I64, digits.parse::<f64>().ok()?.to_le_bytes().to_vec()));
    };
    let value = u64::try_from(value)
        .or_else(|_| i64::try_from(value).map(i64::cast_unsigned))
        .ok()?;
    if digits.len() < word.len() {
        return Some((I64, value.to_le_bytes().to_vec()));
    }
    let mut out = Vec::new();
    put_varint(value, &mut out);
    Some((VARINT, out))
}

fn quoted(rest: &mut &str, out: &mut Vec<u8>) -> Option<()> {
    loop {
        let end = rest.find(['"', '\\'])?;
        out.extend_from_slice(&rest.as_bytes()[..end]);
        let is_end = rest[end..].starts_with('"');
        *rest = &rest[end + 1..];
        if is_end {
            return Some(());
        }
        let escape = *rest.as_bytes().first()?;
        let (byte, length) = match escape {
            b'n' => (b'\n', 1),
            b't' => (b'\t', 1),
            b'r' => (b'\r', 1),
            b'x' => (*unhex(rest.get(1..3)?)?.first()?, 3),
            b'\\' | b'"' | b'\'' => (escape, 1),
            _ => return None,
        };
        out.push(byte);
        *rest = &rest[length..];
    }
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = digits
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let pairs = digits
        .chunks(2)
        .map(|pair| Some((pair[0] << 4 | *pair.get(1)?) as u8));
    pairs.collect()
}

fn put_tag(number: Option<u64>, kind: u64, out: &mut Vec<u8>) {
    if let Some(number) = number {
        put_varint(number << 3 | kind, out);
    }
}

fn integer(digits: &str) -> Option<i128> {
    match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn protobuf_message_is_written_as_protoscope() {
        let bytes = b"\x0a\x03abc\x10\x96\x01\x1a\x04\x08\x01\x12\x00\x25\x01\x00\x00\x00";
        let text = "1: {\"abc\"}\n2: 150\n3: {\n  1: 1\n  2: {\"\"}\n}\n4: 1i32\n";
        assert_eq!(write(bytes), text);
        assert_eq!(read(text).unwrap(), bytes);
    }

    #[test]
    fn protoscope_of_other_writers_is_parsed() {
        let cases: [(&str, &[u8]); 7] = [
            (
                "1: 1 # yes\n2: -1",
                b"\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            ),
            ("1: 0x7fi64", b"\x09\x7f\0\0\0\0\0\0\0"),
            ("1: 1.5", b"\x09\x00\x00\x00\x00\x00\x00\xf8\x3f"),
            ("1: 1.5i32", b"\x0d\x00\x00\xc0\x3f"),
            ("1: !{2: 3}", b"\x0b\x10\x03\x0c"),
            ("1: {`61` \"\\x62\\\"\"}", b"\x0a\x03ab\""),
            ("", b""),
        ];
        for (text, bytes) in cases {
            assert_eq!(read(text).unwrap(), bytes, "{text}");
        }
        for text in [
            "1:", "{", "}", "\"", "`0`", "1: a", "1: 2: 3", "!{}", "\u{e9}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(read(&write(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn parser_never_panics_on_any_text(text in "[0-9a-z:{}!`\"' \\\\\\n.-]{0,40}") {
            let _ = read(&text);
        }
    }
}
