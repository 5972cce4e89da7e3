//! Texts of statements, as far as what they do to a connection is read from them (manual, "Lexical Structure").

use std::ops::Range;

/// The statements of a query, without the comments and spaces around each. Semicolons in texts, names in quotes and brackets
/// cut nothing.
pub(super) fn statements(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut whole): (_, usize, Option<Range<usize>>) = (Vec::new(), 0, None);
    let mut at = 0;
    while let Some(token) = next(text, at) {
        at = token.end;
        match &text[token.clone()] {
            ";" if depth == 0 => {
                found.extend(whole.take().map(|range| &text[range]));
                continue;
            }
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        whole = Some(whole.map_or(token.start, |range| range.start)..token.end);
    }
    found.extend(whole.map(|range| &text[range]));
    found
}

/// Words, texts in quotes, and other characters, each by itself; without comments.
pub(super) fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let each = std::iter::from_fn(|| next(text, at).inspect(|token| at = token.end));
    each.collect()
}

/// A name: in lower case, unless it stands in quotes.
pub(super) fn name(token: &str) -> String {
    match token.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')) {
        Some(inside) => inside.to_owned(),
        None => token.to_ascii_lowercase(),
    }
}

fn next(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + blank(&text[from..]);
    let rest = &text[start..];
    let bytes = rest.as_bytes();
    let length = match (*bytes.first()?, bytes.get(1)) {
        (b'e' | b'E', Some(b'\'')) => 1 + quoted(&bytes[1..], true),
        (b'\'' | b'"', _) => quoted(bytes, false),
        (b'$', _) => dollar(rest).unwrap_or_else(|| 1 + word(&bytes[1..])),
        (first, _) if is_word(first) => word(bytes),
        _ => 1,
    };
    Some(start..start + length)
}

/// Bytes of spaces and comments before what comes next. Comments in comments count.
fn blank(text: &str) -> usize {
    let mut rest = text.trim_start();
    loop {
        let end = if rest.starts_with("--") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            comment(rest.as_bytes())
        } else {
            return text.len() - rest.len();
        };
        let Some(end) = end else { return text.len() };
        rest = rest[end..].trim_start();
    }
}

fn comment(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match bytes.get(at..at + 2)? {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
}

/// Bytes up to the closing quote. One that is doubled closes nothing.
fn quoted(bytes: &[u8], escapes: bool) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if escapes => at += 1,
            byte if *byte == bytes[0] => {
                if bytes.get(at + 1) != Some(&bytes[0]) {
                    return at + 1;
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Bytes of a text between `$tag$`.
fn dollar(text: &str) -> Option<usize> {
    let tag = text[1..].find('$').map(|end| &text[..end + 2])?;
    let inside = &tag.as_bytes()[1..tag.len() - 1];
    let is_tag = inside.iter().all(|byte| is_word(*byte)) && !inside.first().is_some_and(u8::is_ascii_digit);
    is_tag.then(|| text[tag.len()..].find(tag).map_or(text.len(), |end| end + 2 * tag.len()))
}

fn word(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_word(*byte) && *byte != b'$').unwrap_or(bytes.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
