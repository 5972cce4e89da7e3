//! Properties of globs that hold whatever each glob means.

use replay_base::text::glob::{GlobMatcher, Reading, is_glob};

use super::Source;

const GLOB_PIECES: [&str; 13] = [
    "a", "b", "/", "/", "*", "**", "**/", "?", "[ab]", "[!a]", "{a,b/a}", "\\*", "{",
];
const PATH_PIECES: [&str; 6] = ["a", "b", "/", "ab", "*", "\u{e9}"];

/// Compiles two globs and matches a path.
///
/// Any text is compiled or refused. A set matches if a member matches. A match lies below the fixed
/// part of its glob. Text without special characters, and any escaped text, matches only itself.
///
/// # Panics
/// If the property is violated.
pub fn globs_agree_with_each_other(bytes: &[u8]) {
    let mut source = Source(bytes);
    let case_insensitive = source.flag();
    // Either any bytes, or short texts that may match each other.
    let any_bytes = source.flag();
    let mut text = |pieces: &[&'static str]| {
        if any_bytes {
            return source.bytes().to_vec();
        }
        let count = source.byte() % 6;
        (0..count)
            .flat_map(|_| source.choice(pieces).bytes())
            .collect()
    };
    let globs = [text(&GLOB_PIECES), text(&GLOB_PIECES)];
    let [first, second] = globs.map(|glob| String::from_utf8_lossy(&glob).into_owned());
    let path = text(&PATH_PIECES);
    let path = path.as_slice();
    let compile = |globs: &[&str]| GlobMatcher::new(globs, case_insensitive);
    if let (Ok(one), Ok(other)) = (compile(&[&first]), compile(&[&second])) {
        let both = compile(&[&first, &second]).expect("each of them compiles");
        assert_eq!(
            both.is_match(path),
            one.is_match(path) || other.is_match(path),
            "{first:?} and {second:?}"
        );
        let reading = Reading::new(&first, |_| false);
        let prefix = reading
            .as_ref()
            .map_or("", |reading| reading.directory)
            .as_bytes();
        let starts = path.get(..prefix.len()).is_some_and(|start| {
            if case_insensitive {
                start.eq_ignore_ascii_case(prefix) || !prefix.is_ascii()
            } else {
                start == prefix
            }
        });
        assert!(
            starts || !one.is_match(path),
            "{first:?} matches outside of its beginning"
        );
        if !is_glob(&first) && !first.contains('\\') && !case_insensitive {
            assert_eq!(
                one.is_match(path),
                path == first.as_bytes(),
                "{first:?} is no pattern"
            );
        }
    }
    let Ok(text) = std::str::from_utf8(path) else {
        return;
    };
    let escaped: String = text
        .chars()
        .flat_map(|c| {
            [
                Some('\\').filter(|_| !c.is_alphanumeric() && c != '/'),
                Some(c),
            ]
        })
        .flatten()
        .collect();
    if let Ok(escaped) = compile(&[&escaped]) {
        assert!(
            escaped.is_match(path),
            "{text:?}, escaped, does not match itself"
        );
    }
}
