//! Decoder of messages of Protocol Buffers without their schema
//! (<https://protobuf.dev/programming-guides/encoding/>). Groups are not supported.

/// Maximum nesting depth.
pub(crate) const MAX_DEPTH: usize = 100;
/// Greatest field number (<https://protobuf.dev/programming-guides/proto3/#assigning>).
const MAX_NUMBER: u64 = (1 << 29) - 1;
/// Greatest field number inside a field. 0.2 % of random UUIDs look like a message, without this
/// limit 1 %.
const MAX_NESTED_NUMBER: u64 = 1000;
pub(crate) const VARINT: u64 = 0;
pub(crate) const I64: u64 = 1;
pub(crate) const LEN: u64 = 2;
pub(crate) const I32: u64 = 5;

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    pub(crate) value: FieldValue<'a>,
}

/// Value of a field by its wire type. Without a schema a value with a length is the first of a
/// line of text, a message, a text and bytes that it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldValue<'a> {
    Varint(u64),
    I64([u8; 8]),
    I32([u8; 4]),
    Text(&'a str),
    Message(Vec<Field<'a>>),
    Bytes(&'a [u8]),
}

impl FieldValue<'_> {
    pub(crate) fn wire_type(&self) -> u64 {
        match self {
            Self::Varint(_) => VARINT,
            Self::I64(_) => I64,
            Self::I32(_) => I32,
            Self::Text(_) | Self::Message(_) | Self::Bytes(_) => LEN,
        }
    }
}

/// Decodes the fields of a message; `None` if the bytes are not fields.
pub(crate) fn fields(bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    fields_at(bytes, 0)
}

fn fields_at(mut bytes: &[u8], depth: usize) -> Option<Vec<Field<'_>>> {
    let mut found = Vec::new();
    let last = if depth == 0 {
        MAX_NUMBER
    } else {
        MAX_NESTED_NUMBER
    };
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let is_number = |number: &u64| (1..=last).contains(number) && depth <= MAX_DEPTH;
        let number = Some(tag >> 3).filter(is_number)?;
        let value = match tag & 7 {
            VARINT => FieldValue::Varint(varint(&mut bytes)?),
            I64 => FieldValue::I64(chunk(&mut bytes)?),
            I32 => FieldValue::I32(chunk(&mut bytes)?),
            LEN => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (inner, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                length_prefixed(inner, depth)
            }
            _ => return None,
        };
        found.push(Field { number, value });
    }
    Some(found)
}

fn length_prefixed(inner: &[u8], depth: usize) -> FieldValue<'_> {
    let text = str::from_utf8(inner).ok();
    let has_only = |marks: &'static [char]| {
        text.filter(|text| text.chars().all(|c| !c.is_control() || marks.contains(&c)))
    };
    if let Some(text) = has_only(&[]) {
        return FieldValue::Text(text);
    }
    // A line feed may be the tag of a first field.
    if let Some(fields) = fields_at(inner, depth + 1) {
        return FieldValue::Message(fields);
    }
    has_only(&['\n', '\t']).map_or(FieldValue::Bytes(inner), FieldValue::Text)
}

fn chunk<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*chunk)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in 0..10 {
        let [byte] = chunk(bytes)?;
        value |= u64::from(byte & 0x7f).checked_shl(7 * shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns the value of field 1 of a message with this length-prefixed value.
    fn value_of(inner: &[u8]) -> String {
        let message = [b"\x0a", &[inner.len() as u8][..], inner].concat();
        let fields = fields(&message).unwrap();
        assert_eq!((fields.len(), fields[0].number), (1, 1));
        format!("{:?}", fields[0].value)
    }

    #[test]
    fn length_prefixed_value_is_text_message_or_bytes() {
        for (inner, expected) in [
            (&b"caf\xc3\xa9"[..], "Text(\"caf\u{e9}\")"),
            (b"", "Text(\"\")"),
            (b"one\n\ttwo", "Text(\"one\\n\\ttwo\")"),
            (
                b"\n a text with the length in front...",
                "Text(\"\\n a text with the length in front...\")",
            ),
            (
                b"\n%a text with the length in front of it",
                "Message([Field { number: 1, value: Text(\"a text with the length in front of it\") }])",
            ),
            (
                b"\x08\x01",
                "Message([Field { number: 1, value: Varint(1) }])",
            ),
            (
                b"\xc0\x3e\x01",
                "Message([Field { number: 1000, value: Varint(1) }])",
            ),
            (b"\xc8\x3e\x01", "Bytes([200, 62, 1])"),
            (b"\0\x01", "Bytes([0, 1])"),
        ] {
            assert_eq!(value_of(inner), expected, "{}", inner.escape_ascii());
        }
    }

    #[test]
    fn bytes_that_are_no_message_have_no_fields() {
        for bytes in [&b"\x08"[..], b"\0\x01", b"\x0a\x02a", b"\x0b", b"\x80"] {
            assert_eq!(fields(bytes), None, "{}", bytes.escape_ascii());
        }
        assert_eq!(fields(b""), Some(Vec::new()));
    }
}
