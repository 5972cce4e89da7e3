//! Globs over relative paths: `**`, `*`, `?`, `[...]`, `{a,b}` and `\` before a literal character.
//!
//! `*`, `?` and classes never match `/`; `**` as a whole component matches any number of
//! components. `?` and a class match one character or, in a path that is not UTF-8, one invalid
//! byte sequence. A glob is measured before it is compiled, so that a glob with a million
//! alternatives costs nothing.

use crate::limits::MAX_PATTERN_PROGRAM_BYTES;
use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use regex_automata::meta::Regex;
use std::borrow::Cow;

mod characters;
mod reading;

pub use reading::{LiteralGlob, Reading, with_names};

/// Most globs in one list.
const MAX_GLOBS: usize = 1024;
/// Largest size of the globs of one list, in bytes.
const MAX_GLOBS_BYTES: usize = 64 * 1024;
/// Longest glob accepted, in bytes.
const MAX_GLOB_BYTES: usize = 4096;
/// Most alternatives that a glob's braces may stand for.
const MAX_GLOB_ALTERNATIVES: usize = 1024;
/// Deepest nesting of braces in a glob.
const MAX_GLOB_DEPTH: usize = 16;

/// Reason why a glob is refused. Offsets count bytes from the beginning of the glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// An empty glob matches nothing.
    #[error("the glob is empty")]
    Empty,
    /// A slash at the end: it matches no file.
    #[error("glob `{glob}` ends with a slash, so it matches no file")]
    Directory { glob: String },
    /// A `!` that is meant as an exclusion.
    #[error("glob `{glob}` begins with `!`, which does not exclude files here")]
    Negated { glob: String },
    /// Longer than [`MAX_GLOB_BYTES`].
    #[error("a glob of {bytes} bytes is too long: at most {MAX_GLOB_BYTES} bytes are allowed")]
    TooLong { bytes: usize },
    /// Braces with too many alternatives.
    #[error("the braces of glob `{glob}` stand for more than {MAX_GLOB_ALTERNATIVES} alternatives")]
    TooManyAlternatives { glob: String },
    /// Braces that are nested too deep.
    #[error(
        "the braces of glob `{glob}` are nested deeper than {MAX_GLOB_DEPTH}, at offset {offset}"
    )]
    TooDeep {
        glob: String,
        /// Offset of the brace that is too deep.
        offset: usize,
    },
    /// A syntax error.
    #[error("glob `{glob}` has {fault} at offset {offset}")]
    Syntax {
        glob: String,
        /// Description of the error, as a noun phrase.
        fault: &'static str,
        offset: usize,
    },
    /// A glob that the engine refuses as too large.
    #[error("glob `{glob}` is too large to compile")]
    TooLarge { glob: String },
}

impl GlobError {
    /// Returns a hint.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "`**` matches every file",
            Self::Directory { .. } => {
                "write `**` behind the slash for all files below the directory"
            }
            Self::Negated { .. } => {
                "exclude files with `excludeGlobs`, where a tool has it, without `!`; write `\\!` \
                 for a name that begins with `!`"
            }
            Self::TooLong { .. }
            | Self::TooManyAlternatives { .. }
            | Self::TooDeep { .. }
            | Self::TooLarge { .. } => "give several shorter globs instead",
            Self::Syntax { .. } => {
                "write `\\` before `*`, `?`, `[`, `{` or `}` to mean the character itself"
            }
        }
    }
}

/// A list of globs that would take too long to compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "has {count} globs of {bytes} bytes together; at most {MAX_GLOBS} globs of {MAX_GLOBS_BYTES} bytes together are allowed: \
     use `**` and `{{a,b}}`, or several calls"
)]
pub struct TooManyGlobs {
    /// Number of globs.
    pub count: usize,
    /// Total length in bytes.
    pub bytes: usize,
}

/// Fails if a list of globs is too long to be compiled.
pub fn few_enough<S: AsRef<str>>(globs: &[S]) -> Result<(), TooManyGlobs> {
    let (count, bytes) = (
        globs.len(),
        globs.iter().map(|glob| glob.as_ref().len()).sum(),
    );
    if count > MAX_GLOBS || bytes > MAX_GLOBS_BYTES {
        Err(TooManyGlobs { count, bytes })
    } else {
        Ok(())
    }
}

/// Fails if a glob is malformed, without building a matcher.
pub fn check(glob: &str) -> Result<(), GlobError> {
    compile(glob, false).map(drop)
}

/// Several globs that are matched together.
#[derive(Debug, Clone)]
pub struct GlobMatcher {
    set: GlobSet,
    /// Matcher for non-ASCII paths, if that makes a difference.
    characters: Option<Regex>,
}

impl GlobMatcher {
    /// Compiles the globs; fails with the first bad one.
    pub fn new<S: AsRef<str>>(globs: &[S], case_insensitive: bool) -> Result<Self, GlobError> {
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            builder.add(compile(glob.as_ref(), case_insensitive)?);
        }
        let set = builder.build().map_err(|error| GlobError::TooLarge {
            glob: error.glob().unwrap_or_default().to_owned(),
        })?;
        let mut characters = None;
        if globs.iter().any(|glob| glob.as_ref().contains(['?', '['])) {
            let each: Vec<String> = globs
                .iter()
                .map(|glob| characters::to_regex(&for_engine(glob.as_ref()), case_insensitive))
                .collect();
            let regex = Regex::builder().configure(limits()).build_many(&each);
            let first = || {
                globs
                    .first()
                    .map_or(String::new(), |glob| glob.as_ref().to_owned())
            };
            characters = Some(regex.map_err(|_| GlobError::TooLarge { glob: first() })?);
        }
        Ok(Self { set, characters })
    }

    /// Returns true if any glob matches a whole path, given as bytes with `/` between its
    /// components.
    pub fn is_match(&self, path: &[u8]) -> bool {
        match &self.characters {
            Some(regex) if !path.is_ascii() => {
                regex.is_match(String::from_utf8_lossy(path).as_ref())
            }
            _ => self.set.is_match_candidate(&Candidate::from_bytes(path)),
        }
    }

    /// Returns true if there is no glob.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

fn limits() -> regex_automata::meta::Config {
    regex_automata::meta::Config::new().nfa_size_limit(Some(MAX_PATTERN_PROGRAM_BYTES))
}

fn compile(glob: &str, case_insensitive: bool) -> Result<Glob, GlobError> {
    measure(glob)?;
    GlobBuilder::new(&for_engine(glob))
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .case_insensitive(case_insensitive)
        .build()
        .map_err(|_| GlobError::TooLarge {
            glob: glob.to_owned(),
        })
}

/// Adapts a glob to the engine, whose negated classes match `/`, unlike ours. Also shortens
/// `**/**/` to `**/`, which matches the same at lower cost.
fn for_engine(glob: &str) -> Cow<'_, str> {
    if !glob.contains(['[', '\\']) {
        let mut short = Cow::Borrowed(glob);
        while short.contains("**/**/") {
            short = Cow::Owned(short.replace("**/**/", "**/"));
        }
        return short;
    }
    let mut out = String::with_capacity(glob.len() + 8);
    let mut rest = glob;
    while let Some(at) = rest.find(['[', '\\']) {
        let end = if rest.as_bytes()[at] == b'[' {
            class_end(rest, at).map_or(rest.len(), |end| end + 1)
        } else {
            at + 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8)
        };
        out.push_str(&rest[..at]);
        push_class(&mut out, &rest[at..end]);
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Adds `/` to a negated class, at a position where it neither closes the class nor forms a range.
fn push_class(out: &mut String, class: &str) {
    let (open, members) = match class
        .strip_prefix("[!")
        .or_else(|| class.strip_prefix("[^"))
    {
        Some(members) => class.split_at(class.len() - members.len()),
        None => (class, ""),
    };
    out.push_str(open);
    if !members.is_empty() {
        let first = usize::from(members.starts_with([']', '-']) && !members[1..].starts_with('-'));
        out.push_str(&members[..first]);
        out.push('/');
        out.push_str(&members[first..]);
    }
}

/// Checks the syntax of a glob and counts the alternatives of its braces, in one pass.
fn measure(glob: &str) -> Result<(), GlobError> {
    if glob.is_empty() {
        return Err(GlobError::Empty);
    }
    if glob.len() > MAX_GLOB_BYTES {
        return Err(GlobError::TooLong { bytes: glob.len() });
    }
    let fault = |fault, offset| GlobError::Syntax {
        glob: glob.to_owned(),
        fault,
        offset,
    };
    // For each open brace: its offset, the alternatives before the last comma, and those of the
    // part since then.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    let mut count = 1_usize;
    let bytes = glob.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 == bytes.len() => {
                return Err(fault("a `\\` without a character after it", at));
            }
            b'\\' => at += 1,
            b'[' => at = class_end(glob, at)?,
            b'{' if open.len() == MAX_GLOB_DEPTH => {
                return Err(GlobError::TooDeep {
                    glob: glob.to_owned(),
                    offset: at,
                });
            }
            b'{' => {
                open.push((at, 0, count));
                count = 1;
            }
            b',' => {
                if let Some((_, sum, _)) = open.last_mut() {
                    *sum = sum.saturating_add(count);
                    count = 1;
                }
            }
            b'}' => {
                let Some((_, sum, before)) = open.pop() else {
                    return Err(fault("a `}` without a `{`", at));
                };
                count = sum.saturating_add(count).saturating_mul(before);
            }
            _ => {}
        }
        at += 1;
    }
    if let Some((offset, ..)) = open.first() {
        return Err(fault("a `{` without its `}`", *offset));
    }
    if count > MAX_GLOB_ALTERNATIVES {
        return Err(GlobError::TooManyAlternatives {
            glob: glob.to_owned(),
        });
    }
    Ok(())
}

/// Returns the offset of the `]` that closes the class opened at `open`.
fn class_end(glob: &str, open: usize) -> Result<usize, GlobError> {
    let fault = |fault, offset| GlobError::Syntax {
        glob: glob.to_owned(),
        fault,
        offset,
    };
    let start = open + 1 + usize::from(glob[open + 1..].starts_with(['!', '^']));
    let mut members = glob[start..].char_indices().peekable();
    let mut first = true;
    while let Some((at, low)) = members.next() {
        if low == ']' && !first {
            return Ok(start + at);
        }
        first = false;
        let mut ahead = members.clone();
        if let (Some((_, '-')), Some((_, high))) = (ahead.next(), ahead.next())
            && high != ']'
        {
            if low > high {
                return Err(fault("a class range that runs backwards", start + at));
            }
            members = ahead;
        }
    }
    Err(fault("a `[` without its `]`", open))
}

/// Returns true if a given path is a glob: it contains `*`, `?`, `{`, `}` or `[`.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '{', '}', '['])
}

/// Returns the glob that matches only `text` itself.
pub fn escape(text: &str) -> Cow<'_, str> {
    const SPECIAL: [char; 8] = ['*', '?', '{', '}', '[', ']', '\\', ','];
    if !text.contains(SPECIAL) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if SPECIAL.contains(&character) {
            out.push('\\');
        }
        out.push(character);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(glob: &str, path: &str) -> bool {
        let globs = GlobMatcher::new(&[glob], false).expect("a good glob");
        globs.is_match(path.as_bytes())
    }

    #[test]
    fn glob_syntax_matches_as_documented() {
        for (glob, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/x/a.rs", true),
            ("**/**/**/*.rs", "src/x/a.rs", true),
            ("src/**", "src/x/a.rs", true),
            ("src/**", "src", false),
            ("a?c", "a/c", false),
            ("a?c", "aéc", true),
            ("a??c", "aéc", false),
            ("**/a?c", "x/y/aéc", true),
            ("a[é-ü]c", "aöc", true),
            ("a[é-ü]c", "a/c", false),
            ("aé*", "aéc", true),
            ("a[!b]c", "a/c", false),
            ("a[!b]c", "aéc", true),
            ("a[!é]c", "aéc", false),
            ("[!]]é", "/é", false),
            ("[!b]", "a", true),
            ("[!]]", "]", false),
            ("[!-a]", ".", true),
            ("\\[!a]", "[!a]", true),
            ("[]x]", "]", true),
            ("{a,b{c,d}}.x", "bd.x", true),
            ("{a,b{c,d}}.x", "b.x", false),
            ("a{,.bak}", "a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("A", "a", false),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} on {path}");
        }
        let globs = GlobMatcher::new(&["*.c", "B"], true).expect("good globs");
        assert_eq!(
            [&b"b"[..], b"x.C", b"\xff.c", b"c"].map(|p| globs.is_match(p)),
            [true, true, true, false]
        );
    }

    #[test]
    fn glob_error_reports_offset() {
        let refusal = |glob: &str| GlobMatcher::new(&[glob], false).unwrap_err().to_string();
        for (glob, expected) in [
            ("", "the glob is empty"),
            ("a/[b", "glob `a/[b` has a `[` without its `]` at offset 2"),
            ("[]", "glob `[]` has a `[` without its `]` at offset 0"),
            (
                "a{b,{c}",
                "glob `a{b,{c}` has a `{` without its `}` at offset 1",
            ),
            ("a}", "glob `a}` has a `}` without a `{` at offset 1"),
            (
                "a\\",
                "glob `a\\` has a `\\` without a character after it at offset 1",
            ),
            (
                "[z-a]",
                "glob `[z-a]` has a class range that runs backwards at offset 1",
            ),
        ] {
            assert_eq!(refusal(glob), expected);
        }
        assert_eq!(
            refusal(&"x".repeat(5000)),
            "a glob of 5000 bytes is too long: at most 4096 bytes are allowed"
        );
        let bomb = "{a,b}".repeat(40);
        assert_eq!(
            refusal(&bomb),
            format!("the braces of glob `{bomb}` stand for more than 1024 alternatives")
        );
        let deep = "{".repeat(17) + &"}".repeat(17);
        assert_eq!(
            refusal(&deep),
            format!("the braces of glob `{deep}` are nested deeper than 16, at offset 16")
        );
    }

    #[test]
    fn is_glob_detects_special_characters() {
        let globs = ["a*", "a?", "{a", "a}", "[a", "a]", "a\\b"].map(is_glob);
        assert_eq!(globs, [true, true, true, true, true, false, false]);
    }

    #[test]
    fn question_mark_matches_one_invalid_byte() {
        let globs = GlobMatcher::new(&["a?c"], false).expect("a good glob");
        assert_eq!(
            [&b"a\xffc"[..], b"a\xff\xffc"].map(|path| globs.is_match(path)),
            [true, false]
        );
    }

    proptest! {
        /// Checks that both engines give the same result: one treats non-ASCII characters like the
        /// other treats letters.
        #[test]
        fn both_glob_engines_agree(glob in "([ab*?{},/]|\\*\\*/|/\\*\\*|\\[!a\\]|\\[ab\\]){1,8}", path in "[ab/]{0,6}") {
            if let Ok(globs) = GlobMatcher::new(&[&glob], false) {
                let regex = Regex::new(&characters::to_regex(&for_engine(&glob), false)).unwrap();
                prop_assert_eq!(regex.is_match(&path), globs.is_match(path.as_bytes()), "{} on {}", glob, path);
            }
        }

        #[test]
        fn measured_glob_compiles(glob in "[a*?{},!\\[\\]^/\\\\-]{1,12}") {
            let _ = GlobMatcher::new(&[&glob], false)
                .map_err(|error| assert!(!matches!(error, GlobError::TooLarge { .. }), "{error}"));
        }
    }
}
