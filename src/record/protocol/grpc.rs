//! Parser of gRPC bodies: messages with a length
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>), read without their schema.
//! Fields have the numbers of their path as names: `body.3.2`. Messages of a stream share them, like
//! items of a list.

use super::part_list::{Part, PartList, Role, readable};
use super::protobuf::{self, Field, FieldValue};

/// Seconds since 1970 with ten digits, the usual form of a time.
const SECS: std::ops::Range<u64> = 1_000_000_000..10_000_000_000;
const NANOS_PER_SEC: u64 = 1_000_000_000;
/// Magnitudes of doubles that are read as such; other 64 bits are integers.
const DOUBLES: std::ops::Range<f64> = 1e-9..1e18;

/// Returns the parts of a body; `None` if its messages are compressed or in another format.
pub(super) fn parts(mut body: &[u8]) -> Option<Vec<Part>> {
    let mut taken = PartList::default();
    while let Some(([0, length @ ..], rest)) = body.split_first_chunk::<5>() {
        let length = u32::from_be_bytes(*length) as usize;
        let bytes;
        (bytes, body) = rest.split_at_checked(length)?;
        message(&protobuf::fields(bytes)?, "body", &mut taken);
    }
    body.is_empty().then_some(taken.parts)
}

fn message(fields: &[Field<'_>], path: &str, taken: &mut PartList) {
    let here = format!("{path}.");
    taken.head_of(here.clone(), b"{");
    for Field { number, value } in fields {
        let tag = format!("{number}:{}", value.wire_type());
        taken.head_of(here.clone(), tag.as_bytes());
        self::value(value, format!("{here}{number}"), taken);
    }
    taken.head_of(here, b"}");
}

fn value(value: &FieldValue<'_>, name: String, taken: &mut PartList) {
    let number = match value {
        FieldValue::Text(text) => {
            return taken.value(name, text.as_bytes(), (*text).to_owned());
        }
        FieldValue::Bytes(bytes) => return taken.value(name, bytes, readable(bytes, true)),
        FieldValue::Message(fields) => match timestamp(fields) {
            Some(time) => time,
            None => return message(fields, &name, taken),
        },
        FieldValue::Varint(value) => value.to_string(),
        FieldValue::I64(value) => match f64::from_le_bytes(*value) {
            double if DOUBLES.contains(&double.abs()) => format!("{double:?}"),
            _ => i64::from_le_bytes(*value).to_string(),
        },
        FieldValue::I32(value) => i32::from_le_bytes(*value).to_string(),
    };
    taken.put(Role::Word, name, number.as_bytes(), number.clone());
}

/// Formats a message that looks like a `google.protobuf.Timestamp`: seconds and nanoseconds. Zero
/// nanoseconds have no field.
fn timestamp(fields: &[Field<'_>]) -> Option<String> {
    let mut numbers = [0; 2];
    for (at, field) in fields.iter().enumerate() {
        match field.value {
            FieldValue::Varint(value) if at < 2 && field.number == at as u64 + 1 => {
                numbers[at] = value;
            }
            _ => return None,
        }
    }
    let [secs, nanos] = numbers;
    let is_time = SECS.contains(&secs) && nanos < NANOS_PER_SEC;
    is_time.then(|| format!("{secs}.{nanos:09}"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns the values of a body with these messages.
    fn values(messages: &[&[u8]]) -> Option<Vec<(String, String)>> {
        let framed = |message: &&[u8]| {
            let length = (message.len() as u32).to_be_bytes();
            [&[0][..], &length, message].concat()
        };
        let body: Vec<u8> = messages.iter().flat_map(framed).collect();
        let values = parts(&body)?.into_iter().filter(Part::is_value);
        Some(values.map(|part| (part.name, part.text)).collect())
    }

    #[test]
    fn fields_are_values_with_paths_of_numbers() {
        let text = b"\x0a\x02hi\x1a\x06\x12\x04\x08\x01\x10\x02";
        let numbers = [
            &b"\x10\x96\x01\x11"[..],
            &1.5_f64.to_le_bytes(),
            b"\x19\x05\0\0\0\0\0\0\0\x25\xff\xff\xff\xff\x2a\x02\0\xff",
        ];
        let found = values(&[text, &numbers.concat()]).unwrap();
        let expected = [
            ("body.1", "hi"),
            ("body.3.2.1", "1"),
            ("body.3.2.2", "2"),
            ("body.2", "150"),
            ("body.2", "1.5"),
            ("body.3", "5"),
            ("body.4", "-1"),
            ("body.5", "0x00ff"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
    }

    #[test]
    fn timestamp_is_one_value() {
        let time = |message: &[u8]| values(&[&[&[0x0a, message.len() as u8], message].concat()]);
        for (message, name, text) in [
            (
                &b"\x08\x87\xb8\xa8\xd8\x06\x10\x05"[..],
                "body.1",
                "1795824647.000000005",
            ),
            (
                b"\x08\x87\xb8\xa8\xd8\x06",
                "body.1",
                "1795824647.000000000",
            ),
            (b"\x08\x07", "body.1.1", "7"),
        ] {
            let expected = vec![(name.to_owned(), text.to_owned())];
            assert_eq!(time(message), Some(expected));
        }
    }

    #[test]
    fn compressed_or_incomplete_body_has_no_parts() {
        for body in [
            &b"\x01\0\0\0\0"[..],
            b"\0\0\0\0\x01",
            b"\0\0\0\0",
            b"\0\0\0\0\x01\0",
        ] {
            assert_eq!(parts(body), None, "{}", body.escape_ascii());
        }
        assert_eq!(parts(b""), Some(Vec::new()));
    }
}
