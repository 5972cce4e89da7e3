//! Reports in JSON lines, and JSON documents that may be truncated.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use replay_base::cancel::Bound;
use replay_base::limits::MAX_TEST_LINE_BYTES;

/// Lines between two checks of the time limit.
const LINES_PER_CHECK: usize = 64;

/// Returns the lines of a text until the time limit, without overlong ones.
pub(crate) fn lines_with_empty<'a>(
    bytes: &'a [u8],
    bound: Bound<'a>,
) -> impl Iterator<Item = &'a [u8]> {
    bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .take_while(move |(index, _)| !index.is_multiple_of(LINES_PER_CHECK) || !bound.is_over())
        .map(|(_, line)| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| line.len() <= MAX_TEST_LINE_BYTES)
}

/// Like [`lines_with_empty`], without empty lines.
pub(crate) fn lines<'a>(bytes: &'a [u8], bound: Bound<'a>) -> impl Iterator<Item = &'a [u8]> {
    lines_with_empty(bytes, bound).filter(|line| !line.is_empty())
}

/// Parses the lines that are JSON of this type, and skips other output.
pub(crate) fn events<'a, T: DeserializeOwned>(
    bytes: &'a [u8],
    bound: Bound<'a>,
) -> impl Iterator<Item = T> {
    lines(bytes, bound)
        .filter(|line| line.starts_with(b"{"))
        .filter_map(|line| serde_json::from_slice(line).ok())
}

/// Parses a JSON object with a long array: `each` gets its elements, `other` the other members as
/// JSON text.
///
/// Elements are handed over one by one. Those before a truncation, or before an element that is no
/// `T`, are not lost. Returns true if the document is complete.
pub(crate) fn document<T: DeserializeOwned>(
    bytes: &[u8],
    array: &str,
    bound: Bound<'_>,
    mut each: impl FnMut(T),
    mut other: impl FnMut(&str, &str),
) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut read = || {
        // Programs that share the stream may have written before it.
        let (_, mut rest) = text.split_once('{')?;
        while !at_next(&mut rest).starts_with('}') {
            let key: String = parse_next(&mut rest)?;
            rest = rest.trim_start().strip_prefix(':')?.trim_start();
            let Some(elements) = rest.strip_prefix('[').filter(|_| key == array) else {
                other(&key, parse_next::<&RawValue>(&mut rest)?.get());
                continue;
            };
            rest = elements;
            let mut index = 0_usize;
            while !at_next(&mut rest).starts_with(']') {
                if index.is_multiple_of(LINES_PER_CHECK) && bound.is_over() {
                    return None;
                }
                index += 1;
                let element = parse_next::<&RawValue>(&mut rest)?;
                if let Ok(element) = serde_json::from_str(element.get()) {
                    each(element);
                }
            }
            rest = &rest[1..];
        }
        Some(())
    };
    read().is_some()
}

/// Moves to the next member or element, or to the closing bracket.
fn at_next<'t>(rest: &mut &'t str) -> &'t str {
    *rest = rest.trim_start();
    *rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    rest
}

/// Parses a value and moves behind it.
fn parse_next<'t, T: Deserialize<'t>>(rest: &mut &'t str) -> Option<T> {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter();
    let value = values.next()?.ok()?;
    *rest = &rest[values.byte_offset()..];
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (bool, Vec<u32>, Vec<String>) {
        let (mut elements, mut others) = (Vec::new(), Vec::new());
        let whole = document(
            text.as_bytes(),
            "list",
            Bound::default(),
            |element| elements.push(element),
            |key, value| others.push(format!("{key}={value}")),
        );
        (whole, elements, others)
    }

    #[test]
    fn truncated_document_keeps_earlier_elements() {
        assert_eq!(
            read("noise {\"a\":{\"b\":1},\"list\":[1,\"x\",2],\"c\":true}"),
            (
                true,
                vec![1, 2],
                vec!["a={\"b\":1}".to_owned(), "c=true".to_owned()]
            )
        );
        assert_eq!(read("{\"list\":[1,2,{\"x\""), (false, vec![1, 2], vec![]));
        assert_eq!(read("nothing"), (false, vec![], vec![]));
    }

    #[test]
    fn deeply_nested_document_is_rejected_safely() {
        let deep = format!("{{\"list\":[1,{}", "[".repeat(100_000));
        assert_eq!(read(&deep), (false, vec![1], vec![]));
    }

    #[test]
    fn lines_stop_at_deadline() {
        let over = Bound {
            deadline: Some(std::time::Instant::now()),
            cancel: None,
        };
        assert_eq!(lines(b"a\nb", over).count(), 0);
        assert_eq!(
            lines(b"a\r\n\nb", Bound::default()).collect::<Vec<_>>(),
            [b"a", b"b"]
        );
    }
}
