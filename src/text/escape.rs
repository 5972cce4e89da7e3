//! Names and bytes as text. A file name is any bytes but `/` and NUL; a reply is lines of UTF-8.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes as hexadecimal digits, in lower case.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        // Writing into a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// A path or name for a listing: itself when that is safe to show, else in the `$'...'` quotes of ksh and bash.
///
/// Escaped are bytes that are not UTF-8, controls (line feed and ESC among them), line and paragraph separators, and
/// characters that turn the direction of writing. In quotes a backslash and a quote are escaped too, and a name that
/// begins with `$'` is always quoted, so no two names look the same. Quoted names work as they are in bash.
pub fn show(name: &[u8]) -> Cow<'_, str> {
    // Nearly all names; one look at each byte, without branches.
    if name.iter().fold(true, |safe, byte| safe & matches!(byte, b' '..=b'~')) && !name.starts_with(b"$'") {
        return String::from_utf8_lossy(name);
    }
    match std::str::from_utf8(name) {
        Ok(text) if !text.starts_with("$'") && !text.chars().any(is_unsafe) => Cow::Borrowed(text),
        _ => Cow::Owned(quote(name)),
    }
}

/// [`show`] for a path.
pub fn show_path(path: &Path) -> Cow<'_, str> {
    show(path.as_os_str().as_bytes())
}

/// Whether a character may do something to a terminal, or to how its neighbours are shown. All are in the first plane.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}')
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
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
                // Three octal digits end by themselves; `\x` would swallow a digit that follows in some shells.
                c if c.is_ascii() && is_unsafe(c) => octal(&mut out, c as u8),
                c if is_unsafe(c) => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
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

/// The `file://` URI of an absolute path: every byte but `/` and the unreserved characters of RFC 3986 is percent-encoded.
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
    fn safe_names_are_shown_as_they_are() {
        for name in ["a b.txt", "-rf", "naïve—😀", "back\\slash", "it's", "$x"] {
            assert_eq!(show(name.as_bytes()), name);
        }
    }

    #[test]
    fn unsafe_names_are_quoted_once() {
        let cases: &[(&[u8], &str)] = &[
            (b"a\nb", r"$'a\nb'"),
            (b"a\\nb\n", r"$'a\\nb\n'"),
            (b"\x1b[31m", r"$'\033[31m'"),
            ("x\u{202e}gpj.exe".as_bytes(), r"$'x\u202egpj.exe'"),
            (b"caf\xE9's", r"$'caf\351\'s'"),
            (b"$'x'", r"$'$\'x\''"),
            ("\u{85}".as_bytes(), r"$'\u0085'"),
        ];
        for (name, shown) in cases {
            assert_eq!(show(name), *shown);
        }
    }

    #[test]
    fn uris_are_percent_encoded() {
        assert_eq!(file_uri("/a b/é#?%.rs".as_bytes()), "file:///a%20b/%C3%A9%23%3F%25.rs");
        assert_eq!(file_uri(b"/\xff~"), "file:///%FF~");
    }

    proptest! {
        #[test]
        fn shown_names_differ_and_stay_on_a_line(
            a in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'\n'), Just(b'n'), Just(b'\'')], 0..6),
            b in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\\'), Just(b'\n'), Just(b'n'), Just(b'\'')], 0..6),
        ) {
            prop_assert!(!show(&a).contains(is_unsafe));
            prop_assert_eq!(show(&a) == show(&b), a == b);
        }
    }
}
