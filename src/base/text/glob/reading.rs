//! Interpretation of text that may be a path or a glob.
//!
//! Brackets, braces and backslashes are patterns, but also occur in names (`app/[slug]/page.tsx`).
//! An existing name is taken literally. After it, each ambiguous part matches both as a name and as
//! a pattern.

use std::borrow::Cow;

use super::{GlobError, class_end, escape, measure};

/// Characters that can be escaped by a backslash, or by a class of one character.
const ESCAPABLE: [char; 9] = ['*', '?', '[', ']', '{', '}', ',', '!', '\\'];

/// A path or glob, split after the existing names.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    /// Path of the directory where `rest` begins; empty for the directory of the search.
    pub directory: &'a str,
    /// Glob below the directory.
    pub rest: Cow<'a, str>,
    /// `true` if the text is a path, so that `rest` is one name.
    pub is_path: bool,
    /// Last part that could be a pattern, but is an existing name.
    pub name: Option<&'a str>,
    /// First ambiguous part of `rest`: a name or a pattern.
    pub unclear: Option<&'a str>,
}

impl<'a> Reading<'a> {
    /// Interprets a path or glob; `exists` checks its leading paths.
    pub fn new(text: &'a str, mut exists: impl FnMut(&str) -> bool) -> Result<Self, GlobError> {
        if text.is_empty() {
            return Err(GlobError::Empty);
        }
        if text.ends_with('/') {
            return Err(GlobError::Directory {
                glob: text.to_owned(),
            });
        }
        let mut name = None;
        let mut start = 0;
        for part in text.split('/') {
            let end = start + part.len();
            let is_marked =
                part.contains(['[', '{', '}', '\\']) || start == 0 && part.starts_with('!');
            if part.contains(['*', '?']) || is_marked && !exists(&text[..end]) {
                break;
            }
            if is_marked {
                name = Some(part);
            }
            start = end + 1;
        }
        let is_path = start > text.len();
        if is_path {
            start = text.rfind('/').map_or(0, |slash| slash + 1);
        }
        let directory = match start {
            0 => "",
            1 => "/",
            _ => &text[..start - 1],
        };
        let rest = &text[start..];
        if is_path {
            let rest = escape(rest);
            measure(&rest)?;
            return Ok(Self {
                directory,
                rest,
                is_path,
                name,
                unclear: None,
            });
        }
        if rest.starts_with('!') && start == 0 {
            return Err(GlobError::Negated {
                glob: text.to_owned(),
            });
        }
        measure(if name.is_some() { rest } else { text })?;
        let unclear = parts(rest)
            .into_iter()
            .find(|part| LiteralGlob::new(part).is_unclear);
        let both = with_names(rest);
        let rest = if measure(&both).is_ok() {
            both
        } else {
            Cow::Borrowed(rest)
        };
        Ok(Self {
            directory,
            rest,
            is_path,
            name,
            unclear,
        })
    }

    /// Returns the interpretation as one glob.
    pub fn to_glob(&self) -> String {
        let slash = if self.directory.is_empty() || self.directory.ends_with('/') {
            ""
        } else {
            "/"
        };
        format!("{}{slash}{}", escape(self.directory), self.rest)
    }
}

/// Returns a glob that also matches each part with brackets, braces or backslashes literally.
pub fn with_names(glob: &str) -> Cow<'_, str> {
    const MARKS: [char; 4] = ['[', '{', '}', '\\'];
    if !glob.contains(MARKS) {
        return Cow::Borrowed(glob);
    }
    let both = |part: &&str| {
        if part.contains(MARKS) {
            format!("{{{part},{}}}", as_name(part))
        } else {
            (*part).to_owned()
        }
    };
    Cow::Owned(parts(glob).iter().map(both).collect::<Vec<_>>().join("/"))
}

/// Returns a part of a path with everything but wildcards escaped.
fn as_name(part: &str) -> String {
    let mut out = String::with_capacity(part.len() + 8);
    for character in part.chars() {
        if matches!(character, '[' | ']' | '{' | '}' | ',' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Splits a glob at the slashes outside of classes and braces.
fn parts(glob: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut at) = (Vec::new(), 0, 0_usize, 0);
    let bytes = glob.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => at = class_end(glob, at).unwrap_or(at),
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'/' if depth == 0 => {
                parts.push(&glob[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&glob[start..]);
    parts
}

/// A path or glob in which only wildcards and alternatives are patterns.
#[derive(Debug, PartialEq, Eq)]
pub struct LiteralGlob {
    pub glob: String,
    /// The path, if there is no pattern.
    pub path: Option<String>,
    /// `true` if a bracket, brace or backslash that could be a pattern was taken literally.
    pub is_unclear: bool,
}

impl LiteralGlob {
    /// Takes classes, braces without a comma and backslashes literally, unless they escape a
    /// character.
    pub fn new(text: &str) -> Self {
        let (mut glob, mut has_pattern, mut is_unclear) =
            (String::with_capacity(text.len() + 8), false, false);
        // Open braces: their offset in the glob, and whether they have a comma.
        let mut braces: Vec<(usize, bool)> = Vec::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let after = &rest[next.len_utf8()..];
            let escaped = after
                .chars()
                .next()
                .filter(|escaped| ESCAPABLE.contains(escaped));
            let is_class_of_one =
                || escaped.is_some_and(|escaped| after[escaped.len_utf8()..].starts_with(']'));
            rest = after;
            match (next, escaped) {
                ('\\', Some(escaped)) => {
                    glob.extend(['\\', escaped]);
                    rest = &after[escaped.len_utf8()..];
                }
                ('[', Some(escaped)) if is_class_of_one() => {
                    glob.extend(['\\', escaped]);
                    rest = &after[escaped.len_utf8() + 1..];
                }
                ('\\' | '[' | ']', _) => {
                    is_unclear |= next != ']';
                    glob.extend(['\\', next]);
                }
                ('{', _) => {
                    braces.push((glob.len(), false));
                    glob.push(next);
                }
                ('}', _) => match braces.pop() {
                    Some((_, true)) => {
                        has_pattern = true;
                        glob.push(next);
                    }
                    open => {
                        is_unclear = true;
                        glob.extend(['\\', next]);
                        if let Some((open, _)) = open {
                            glob.insert(open, '\\');
                        }
                    }
                },
                _ => {
                    has_pattern |= matches!(next, '*' | '?');
                    if let Some((_, has_comma)) = braces.last_mut().filter(|_| next == ',') {
                        *has_comma = true;
                    }
                    glob.push(next);
                }
            }
        }
        for (open, _) in braces.into_iter().rev() {
            is_unclear = true;
            glob.insert(open, '\\');
        }
        let path = (!has_pattern).then(|| unescaped(&glob));
        Self {
            glob,
            path,
            is_unclear,
        }
    }
}

fn unescaped(glob: &str) -> String {
    let mut characters = glob.chars();
    let next = || match characters.next() {
        Some('\\') => characters.next(),
        next => next,
    };
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::glob::GlobMatcher;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn read<'a>(text: &'a str, there: &[&str]) -> (&'a str, String, bool) {
        let reading = Reading::new(text, |path| there.contains(&path)).unwrap();
        (
            reading.directory,
            reading.rest.into_owned(),
            reading.is_path,
        )
    }

    #[test]
    fn existing_names_are_literal() {
        let slug = ["app/[slug]"];
        for (text, there, directory, rest, is_path) in [
            ("app/[slug]/**", &slug[..], "app/[slug]", "**", false),
            ("app/[slug]/page.tsx", &slug, "app/[slug]", "page.tsx", true),
            ("app/[slug]", &slug, "app", "\\[slug\\]", true),
            ("a/b.c", &[], "a", "b.c", true),
            ("/b", &[], "/", "b", true),
            ("b", &[], "", "b", true),
            ("/a/*.c", &[], "/a", "*.c", false),
            ("app/[slug/x*", &["app/[slug"], "app/[slug", "x*", false),
            ("!a/x", &["!a"], "!a", "x", true),
            ("{a,b}", &["{a,b}"], "", "\\{a\\,b\\}", true),
            (
                "back\\slash.txt",
                &["back\\slash.txt"],
                "",
                "back\\\\slash.txt",
                true,
            ),
            // A wildcard matches the name that it looks like.
            ("*/x", &["*"], "", "*/x", false),
        ] {
            assert_eq!(
                read(text, there),
                (directory, rest.to_owned(), is_path),
                "{text}"
            );
        }
        assert_eq!(
            Reading::new("app/[slug]/**", |path| path == "app/[slug]")
                .unwrap()
                .name,
            Some("[slug]")
        );
    }

    #[test]
    fn missing_names_match_literally_and_as_patterns() {
        let matches = |glob: &str, path: &str| {
            let reading = Reading::new(glob, |_| false).unwrap();
            GlobMatcher::new(&[reading.to_glob()], false)
                .unwrap()
                .is_match(path.as_bytes())
        };
        for (glob, path, expected) in [
            ("app/[ab]/x", "app/[ab]/x", true),
            ("app/[ab]/x", "app/a/x", true),
            ("app/[ab]/x", "app/ab/x", false),
            ("**/[...all]/*.ts", "app/[...all]/p.ts", true),
            ("**/[[...x]]/*", "app/[[...x]]/p.ts", true),
            ("[id]-*.env", "[id]-1.env", true),
            ("[a]/[b].key", "[a]/b.key", true),
            ("{prod}.key", "{prod}.key", true),
            ("{prod}.key", "prod.key", true),
            ("{a,b/c}/x", "b/c/x", true),
            ("{a,b/c}/x", "{a,b/c}/x", true),
            ("a\\b*", "a\\b.txt", true),
            ("a\\b*", "ab.txt", true),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn reading_reports_ambiguous_part() {
        let unclear = |text: &'static str| Reading::new(text, |_| false).unwrap().unclear;
        let found = ["a/[slug]/*", "**/{prod}.key", "a\\b*", "[A-Z]*"].map(unclear);
        assert_eq!(
            found,
            [
                Some("[slug]"),
                Some("{prod}.key"),
                Some("a\\b*"),
                Some("[A-Z]*")
            ]
        );
        assert_eq!(
            ["*.{js,ts}", "\\[id\\]/*", "[[]id]/*", "**"].map(unclear),
            [None; 4]
        );
    }

    #[test]
    fn exclusions_and_directories_are_refused() {
        let refusal = |text: &str| Reading::new(text, |_| false).unwrap_err();
        assert_eq!(
            refusal("!sub/**"),
            GlobError::Negated {
                glob: "!sub/**".to_owned()
            }
        );
        assert_eq!(
            refusal("!a"),
            GlobError::Negated {
                glob: "!a".to_owned()
            }
        );
        assert_eq!(
            refusal("sub/"),
            GlobError::Directory {
                glob: "sub/".to_owned()
            }
        );
        assert_eq!(refusal(""), GlobError::Empty);
        assert_eq!(
            refusal("a/[b").to_string(),
            "glob `a/[b` has a `[` without its `]` at offset 2"
        );
        assert_eq!(read("\\!a*", &[]).2, false);
    }

    #[test]
    fn brackets_without_pattern_are_literal() {
        for (text, glob, path) in [
            (
                "app/[id]/page.tsx",
                "app/\\[id\\]/page.tsx",
                Some("app/[id]/page.tsx"),
            ),
            ("\\[id\\]/[[]x[*]", "\\[id\\]/\\[x\\*", Some("[id]/[x*")),
            ("keys/{prod}", "keys/\\{prod\\}", Some("keys/{prod}")),
            ("{a,{b}}", "{a,\\{b\\}}", None),
            ("{a{b,c}", "\\{a{b,c}", None),
            ("[id]/*.ts", "\\[id\\]/*.ts", None),
            ("a\\b", "a\\\\b", Some("a\\b")),
            ("a}é,", "a\\}é,", Some("a}é,")),
        ] {
            let named = LiteralGlob::new(text);
            assert_eq!(
                (named.glob.as_str(), named.path.as_deref()),
                (glob, path),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn with_names_matches_superset(glob in "([ab*?{},/]|\\*\\*/|\\[a\\]|\\[ab\\]|\\\\a){1,6}", path in "[ab/\\[\\]{}]{0,6}") {
            if let (Ok(one), Ok(both)) = (GlobMatcher::new(&[&glob], false), GlobMatcher::new(&[with_names(&glob)], false)) {
                prop_assert!(both.is_match(path.as_bytes()) || !one.is_match(path.as_bytes()), "{} on {}", glob, path);
            }
        }

        #[test]
        fn literal_glob_always_compiles(text in "[a*?{},!\\[\\]^/\\\\-]{1,12}") {
            prop_assert!(GlobMatcher::new(&[LiteralGlob::new(&text).glob], false).is_ok(), "{}", text);
        }
    }
}
