//! Parts of a message in an unknown format: runs of text, and the spans of bytes between.

use std::ops::Range;

use replay_base::text::escape::hex;

use super::part_list::{PartList, Role};

/// Fewest printable bytes of a text.
const MIN_TEXT_BYTES: usize = 4;
/// Longest span that is one value, so that noise ignores no more.
const MAX_SPAN_BYTES: usize = 8;
/// Length of the start of a message that is divided.
const MAX_DIVIDED_BYTES: usize = 64 << 10;

/// Adds the values of a message: `text.2`, counted in the call, and `bytes.12-19`, the place in the
/// message.
pub(crate) fn byte_parts(bytes: &[u8], taken: &mut PartList) {
    let (divided, rest) = bytes.split_at(bytes.len().min(MAX_DIVIDED_BYTES));
    let mut end = 0;
    for text in texts(divided) {
        spans(divided, end..text.start, taken);
        taken.value_in_text(Role::Literal, "text", &divided[text.clone()]);
        taken.put(Role::Text, "text.".to_owned(), b"", " ".to_owned());
        end = text.end;
    }
    spans(divided, end..divided.len(), taken);
    if !rest.is_empty() {
        taken.put(Role::Rest, "bytes.".to_owned(), rest, String::new());
    }
}

fn spans(bytes: &[u8], range: Range<usize>, taken: &mut PartList) {
    for start in range.clone().step_by(MAX_SPAN_BYTES) {
        let end = range.end.min(start + MAX_SPAN_BYTES);
        let span = &bytes[start..end];
        let name = format!("bytes.{start}-{}", end - 1);
        taken.value(name, span, format!("0x{}", hex(span)));
    }
}

/// Returns the runs of printable bytes, each without a length in front of it.
fn texts(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for run in bytes.split_inclusive(|byte| !(b' '..=b'~').contains(byte)) {
        let is_whole = run.last().is_some_and(|last| (b' '..=b'~').contains(last));
        let end = start + run.len() - usize::from(!is_whole);
        // A compact length is one more (Kafka, KIP-482).
        let has_length =
            end > start && (end - start - 1..=end - start).contains(&usize::from(bytes[start]));
        let text = start + usize::from(has_length)..end;
        start += run.len();
        if text.len() >= MIN_TEXT_BYTES {
            found.push(text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::part_list::Part;

    fn parts(bytes: &[u8]) -> Vec<Part> {
        let mut taken = PartList::default();
        byte_parts(bytes, &mut taken);
        taken.parts
    }

    fn values(bytes: &[u8]) -> Vec<String> {
        let parts = parts(bytes).into_iter().filter(Part::is_value);
        let value = |part: Part| format!("{}={}", part.name, part.text);
        parts.map(value).collect()
    }

    #[test]
    fn message_is_divided_into_texts_and_spans() {
        let binary: Vec<u8> = (0..10).collect();
        let uuid = "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b";
        let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04a-17";
        for (bytes, expected) in [
            (
                &connect[..],
                &[
                    "bytes.0-3=0x10100004",
                    "text.1=MQTT",
                    "bytes.8-13=0x0402003c0004",
                    "text.2=a-17",
                ][..],
            ),
            (
                &binary,
                &["bytes.0-7=0x0001020304050607", "bytes.8-9=0x0809"],
            ),
            (
                format!("\0${uuid}").as_bytes(),
                &["bytes.0-1=0x0024", &format!("text.1={uuid}")],
            ),
            (
                b"PUB a 1\r\nabc\r\n",
                &["text.1=PUB a 1", "bytes.7-13=0x0d0a6162630d0a"],
            ),
            (
                b"\0%group-a-0123456789-0123456789-abcdef",
                &[
                    "bytes.0-1=0x0025",
                    "text.1=group-a-0123456789-0123456789-abcdef",
                ],
            ),
            (b"", &[]),
        ] {
            assert_eq!(values(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn parts_concatenate_to_message() {
        let mut long = b"\x01text\x02".repeat(20_000);
        long.extend(0..=255);
        for bytes in [&long[..], b"\x03abc", b"text", b"\xfftext\xfe\xfd"] {
            let whole: Vec<u8> = parts(bytes)
                .into_iter()
                .flat_map(|part| part.bytes)
                .collect();
            assert_eq!(whole, bytes);
        }
    }
}
