//! File names and bytes as text. A file name is any bytes but `/` and NUL; a reply is lines of
//! UTF-8.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Formats bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(
        String::with_capacity(2 * bytes.len()),
        |mut digits, byte| {
            // Writing into a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        },
    )
}

/// Returns a path or name for a listing: unchanged if it is safe to show, otherwise in the `$'...'`
/// quotes of ksh and bash.
///
/// Escapes invalid UTF-8, control characters (such as line feed and ESC), line and paragraph
/// separators, bidirectional controls and invisible characters. In quotes, backslashes and quotes
/// are escaped too, and a name that begins with `$'` is always quoted. So no two names look the
/// same. Quoted names can be pasted into bash.
pub fn show(name: &[u8]) -> Cow<'_, str> {
    // Fast path for nearly all names: one check per byte, without branches.
    if name
        .iter()
        .fold(true, |safe, byte| safe & matches!(byte, b' '..=b'~'))
        && !name.starts_with(b"$'")
    {
        return String::from_utf8_lossy(name);
    }
    match std::str::from_utf8(name) {
        Ok(text) if !text.starts_with("$'") && !text.chars().any(is_unsafe) => Cow::Borrowed(text),
        _ => Cow::Owned(quote(name)),
    }
}

/// Returns [`show`] of a path.
pub fn show_path(path: &Path) -> Cow<'_, str> {
    show(path.as_os_str().as_bytes())
}

/// Returns true if a character may act on a terminal, or change the display of its neighbours.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}'
        )
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns true if a character is active or invisible, so that two different names could look the
/// same.
pub fn is_unsafe(c: char) -> bool {
    is_active(c) || is_invisible(c)
}

/// Returns true for `Default_Ignorable_Code_Point` of Unicode and interlinear annotations, except
/// for the variation selectors of emoji and ideographs.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{34F}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}')
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FFA0}')
        || matches!(c, '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}')
        || matches!(c, '\u{E0000}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}')
}

/// Escapes unsafe characters except tabs and line feeds with JSON escapes. JSON keeps its value.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let escaped = text
        .chars()
        .fold(String::with_capacity(text.len()), |mut escaped, c| {
            if is_bad(c) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing into a string cannot fail.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            } else {
                escaped.push(c);
            }
            escaped
        });
    Cow::Owned(escaped)
}

fn quote(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    out.push_str("$'");
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\\' | '\'' => out.extend(['\\', c]),
                // Three octal digits are self-delimiting; `\x` would consume a following digit in
                // some shells.
                c if c.is_ascii() && is_unsafe(c) => octal(&mut out, c as u8),
                c if is_unsafe(c) => {
                    let _ = match u32::from(c) {
                        code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                        code => write!(out, "\\U{code:08x}"),
                    };
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            octal(&mut out, *byte);
        }
    }
    out.push('\'');
    out
}

fn octal(out: &mut String, byte: u8) {
    let _ = write!(out, "\\{byte:03o}");
}

/// Returns the `file://` URI of an absolute path: every byte but `/` and the unreserved characters
/// of RFC 3986 is percent-encoded.
pub fn file_uri(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len() + 16);
    out.push_str("file://");
    for byte in path {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                out.push(char::from(*byte));
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn safe_names_are_unchanged() {
        for name in ["a b.txt", "-rf", "naïve—😀", "back\\slash", "it's", "$x"] {
            assert_eq!(show(name.as_bytes()), name);
        }
    }

    #[test]
    fn unsafe_names_are_quoted() {
        let cases: &[(&[u8], &str)] = &[
            (b"a\nb", r"$'a\nb'"),
            (b"a\\nb\n", r"$'a\\nb\n'"),
            (b"\x1b[31m", r"$'\033[31m'"),
            ("x\u{202e}gpj.exe".as_bytes(), r"$'x\u202egpj.exe'"),
            (b"caf\xE9's", r"$'caf\351\'s'"),
            (b"$'x'", r"$'$\'x\''"),
            ("\u{85}".as_bytes(), r"$'\u0085'"),
            ("a\u{200b}b".as_bytes(), r"$'a\u200bb'"),
            ("a\u{e0041}".as_bytes(), r"$'a\U000e0041'"),
        ];
        for (name, shown) in cases {
            assert_eq!(show(name), *shown);
        }
    }

    #[test]
    fn harmless_json_has_the_same_value() {
        let text = "{\"path\":\t\"\u{9b}2J\u{202e}\u{7f}\u{200b}\u{e0041}é\"}\n";
        let shown = harmless(text);
        assert_eq!(
            shown,
            "{\"path\":\t\"\\u009b2J\\u202e\\u007f\\u200b\\udb40\\udc41é\"}\n"
        );
        let [one, other] =
            [text, &shown].map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(one, other);
        assert_eq!(harmless("a\r\n\u{1b}[0m"), "a\\u000d\n\\u001b[0m");
    }

    #[test]
    fn uris_are_percent_encoded() {
        assert_eq!(
            file_uri("/a b/é#?%.rs".as_bytes()),
            "file:///a%20b/%C3%A9%23%3F%25.rs"
        );
        assert_eq!(file_uri(b"/\xff~"), "file:///%FF~");
    }

    proptest! {
        #[test]
        fn shown_names_are_distinct_single_lines(
            a in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'\n'), Just(b'n'), Just(b'\'')], 0..6),
            b in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'\n'), Just(b'n'), Just(b'\'')], 0..6),
        ) {
            prop_assert!(!show(&a).contains(is_unsafe));
            prop_assert_eq!(show(&a) == show(&b), a == b);
        }
    }
}
