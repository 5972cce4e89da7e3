//! Requests part of a rule: HTTP or HTTPS, the methods and the paths.
//!
//! A path has one reading: its segments, each decoded once. A path that servers read differently
//! (`/a/../b`, `/a%2Fb`, `/a;b`, `//`) has none. An allow rule matches such a path only if it
//! matches all paths; a deny rule always matches it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Longest path in a rule that is proposed for a request, in bytes; for a longer one it is all
/// paths.
const MAX_PROPOSED_PATH_BYTES: usize = 160;

/// Characters that a rule writes percent-encoded in a segment. A bare `*` would be a wildcard, and
/// a shell must not expand anything.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'@')
    .remove(b'+');

/// Line of a request, as far as rules use it.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    pub is_tls: bool,
    pub method: &'a str,
    /// Without the query.
    pub path: &'a str,
    /// `true` if the request may switch the connection to another protocol.
    pub may_switch: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Requests {
    pub(super) is_tls: bool,
    /// Allowed methods; empty for all.
    pub(super) methods: BTreeSet<String>,
    pub(super) path: PathPattern,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PathPattern {
    segments: Vec<Segment>,
    /// `true` if at least one more segment, possibly empty, may follow.
    is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Segment {
    Is(String),
    /// Any one that is not empty.
    Any,
}

/// The segments of a path, or nothing if it can be read in several ways. Only the last one may be
/// empty.
pub(super) struct Path<'a>(Option<Vec<Cow<'a, str>>>);

impl<'a> Path<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let Some(rest) = text.strip_prefix('/') else {
            return Self(None);
        };
        let last = rest.split('/').count() - 1;
        let segments = rest.split('/').enumerate();
        Self(
            segments
                .map(|(at, text)| segment(text).filter(|segment| at == last || !segment.is_empty()))
                .collect(),
        )
    }

    pub(super) fn is_odd(&self) -> bool {
        self.0.is_none()
    }
}

/// Returns the decoded segment if all servers read it alike.
fn segment(text: &str) -> Option<Cow<'_, str>> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    // Also what stands for nothing (`%zz`), or is decoded twice by some (`%2541`), leaves a `%`.
    let is_odd =
        |next: char| matches!(next, '/' | '\\' | '%' | ';' | '?' | '#') || next.is_control();
    (!decoded.contains(is_odd) && decoded != "." && decoded != "..").then_some(decoded)
}

impl PathPattern {
    /// All paths.
    pub(super) fn all() -> Self {
        Self {
            segments: Vec::new(),
            is_open: true,
        }
    }

    fn is_all(&self) -> bool {
        *self == Self::all()
    }

    pub(super) fn read(text: &str) -> Result<Self, Cow<'static, str>> {
        if let Some(mark) = text.find(['?', '#']) {
            return Err(format!(
                "has `{}`, which cannot be in a path of a rule; end the path before it",
                &text[mark..=mark]
            )
            .into());
        }
        let rest = text.strip_prefix('/').unwrap_or(text);
        let (rest, is_open) = match rest.strip_suffix("**") {
            Some("") => return Ok(Self::all()),
            Some(before) => (before.strip_suffix('/').ok_or(STAR)?, true),
            None => (rest, false),
        };
        let last = if is_open {
            None
        } else {
            Some(rest.split('/').count() - 1)
        };
        let read = |(at, text)| match text {
            "*" => Ok(Segment::Any),
            text if text.contains('*') => Err(STAR),
            text => match segment(text) {
                Some(text) if Some(at) == last || !text.is_empty() => {
                    Ok(Segment::Is(text.into_owned()))
                }
                _ => Err(
                    "has an ambiguous path; `.`, `..`, `//`, `;`, `\\` and encoded `/` or `%` are \
                     not allowed in it",
                ),
            },
        };
        let segments = rest
            .split('/')
            .enumerate()
            .map(read)
            .collect::<Result<_, &str>>()?;
        Ok(Self { segments, is_open })
    }

    /// Returns the requests for this path, or for all paths if it is odd or long.
    fn of(path: &Path<'_>) -> Self {
        let segments = path
            .0
            .iter()
            .flatten()
            .map(|text| Segment::Is(text.clone().into_owned()));
        let one = Self {
            segments: segments.collect(),
            is_open: path.0.is_none(),
        };
        if one.to_string().len() > MAX_PROPOSED_PATH_BYTES {
            Self::all()
        } else {
            one
        }
    }

    fn has(&self, path: &[Cow<'_, str>], is_same: fn(&str, &str) -> bool) -> bool {
        let fits = |(segment, text): (&Segment, &Cow<'_, str>)| match segment {
            Segment::Is(one) => is_same(one, text),
            Segment::Any => !text.is_empty(),
        };
        let long_enough = if self.is_open {
            path.len() > self.segments.len()
        } else {
            path.len() == self.segments.len()
        };
        long_enough && self.segments.iter().zip(path).all(fits)
    }

    fn covers(&self, other: &Self) -> bool {
        let covers = |(one, other): (&Segment, &Segment)| match (one, other) {
            (Segment::Any, Segment::Is(text)) => !text.is_empty(),
            (one, other) => one == other,
        };
        let (own, others) = (self.segments.len(), other.segments.len());
        let long_enough = if self.is_open {
            others + usize::from(other.is_open) > own
        } else {
            own == others
        };
        long_enough
            && (self.is_open || !other.is_open)
            && self.segments.iter().zip(&other.segments).all(covers)
    }
}

const STAR: &str = "has a `*` in the wrong place of its path; `*` must be a whole segment, and \
    `**` the last one";

impl Requests {
    /// The rule's method and what follows the scheme. Methods are `None` if it names none.
    pub(super) fn read(
        is_tls: bool,
        methods: Option<&str>,
        path: Option<&str>,
    ) -> Result<Self, Cow<'static, str>> {
        let methods: BTreeSet<String> = methods
            .into_iter()
            .flat_map(|all| all.split(','))
            .map(str::to_owned)
            .collect();
        if let Some(method) = methods.iter().find(|method| !is_method(method)) {
            return Err(format!(
                "has the method `{method}`; capital letters are allowed, and commas: GET,HEAD https://..."
            )
            .into());
        }
        Ok(Self {
            is_tls,
            methods,
            path: path.map_or_else(|| Ok(PathPattern::all()), PathPattern::read)?,
        })
    }

    /// Returns the narrowest requests that include this one.
    pub(super) fn of(asked: RequestLine<'_>) -> Self {
        let methods = if asked.may_switch {
            BTreeSet::new()
        } else {
            BTreeSet::from([asked.method.to_owned()])
        };
        Self {
            is_tls: asked.is_tls,
            methods,
            path: PathPattern::of(&Path::read(asked.path)),
        }
    }

    pub(super) fn allow(&self, asked: RequestLine<'_>, path: &Path<'_>) -> bool {
        let has_path = path
            .0
            .as_ref()
            .map_or(self.path.is_all(), |path| self.path.has(path, str::eq));
        let has_method =
            self.methods.is_empty() || !asked.may_switch && self.methods.contains(asked.method);
        self.is_tls == asked.is_tls && has_method && has_path
    }

    /// Like [`Self::allow`] for a deny rule, which also matches where servers differ.
    pub(super) fn deny(&self, asked: RequestLine<'_>, path: &Path<'_>) -> bool {
        let has_path = path
            .0
            .as_ref()
            .is_none_or(|path| self.path.has(path, str::eq_ignore_ascii_case));
        let has_method = self.methods.is_empty() || self.methods.contains(asked.method);
        self.is_tls == asked.is_tls && has_method && has_path
    }

    pub(super) fn cover(&self, other: &Self) -> bool {
        let methods = self.methods.is_empty()
            || !other.methods.is_empty() && other.methods.is_subset(&self.methods);
        self.is_tls == other.is_tls && methods && self.path.covers(&other.path)
    }
}

/// Returns true if all servers read a method alike. Some accept lower case, too.
pub(super) fn is_method(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

impl fmt::Display for PathPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::Is(text) => write!(out, "/{}", utf8_percent_encode(text, ENCODED))?,
                Segment::Any => out.write_str("/*")?,
            }
        }
        if self.is_open {
            out.write_str("/**")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in crate::rules) fn any_requests() -> impl Strategy<Value = Requests> {
        let segment = prop_oneof![
            3 => "[ab]".prop_map(Segment::Is),
            1 => "[a-c%*;'/ü ]{1,3}".prop_filter("one reading", |text| {
                let encoded = utf8_percent_encode(text, ENCODED).to_string();
                super::segment(&encoded).is_some()
            }).prop_map(Segment::Is),
            2 => Just(Segment::Any),
        ];
        let path = (
            proptest::collection::vec(segment, 0..4),
            any::<bool>(),
            any::<bool>(),
        );
        let path = path.prop_map(|(mut segments, is_open, ends_in_slash)| {
            if !is_open && (segments.is_empty() || ends_in_slash) {
                segments.push(Segment::Is(String::new()));
            }
            PathPattern { segments, is_open }
        });
        let methods = proptest::collection::btree_set(prop_oneof!["GET", "PUT"], 0..3);
        (any::<bool>(), methods, path).prop_map(|(is_tls, methods, path)| Requests {
            is_tls,
            methods,
            path,
        })
    }

    /// Reads a pattern as a regular expression over paths in which nothing is encoded.
    fn naive(pattern: &PathPattern, path: &str) -> bool {
        let segment = |segment: &Segment| match segment {
            Segment::Is(text) => regex_syntax::escape(text),
            Segment::Any => "[^/]+".to_owned(),
        };
        let segments: String = pattern
            .segments
            .iter()
            .map(|one| "/".to_owned() + &segment(one))
            .collect();
        let rest = if pattern.is_open { "/.*" } else { "" };
        regex_automata::meta::Regex::new(&format!("^{segments}{rest}$"))
            .unwrap()
            .is_match(path)
    }

    proptest! {
        #[test]
        fn path_matching_agrees_with_naive_matcher(
            requests in any_requests(),
            other in any_requests(),
            path in "(/[abc]?){0,4}/?",
            encoded in any::<u8>(),
        ) {
            let asked = |path| RequestLine { is_tls: requests.is_tls, method: "GET", path, may_switch: false };
            let has_method = requests.methods.is_empty() || requests.methods.contains("GET");
            let is_odd = path.is_empty() || path.contains("//");
            let expected = has_method && if is_odd { requests.path.is_all() } else { naive(&requests.path, &path) };
            prop_assert_eq!(requests.allow(asked(&path), &Path::read(&path)), expected);
            // Percent-encoding does not change the meaning.
            let written: String = path.chars().enumerate().map(|(at, next)| {
                if next != '/' && encoded >> (at % 8) & 1 == 1 { format!("%{:02x}", next as u32) } else { next.to_string() }
            }).collect();
            prop_assert_eq!(requests.allow(asked(&written), &Path::read(&written)), expected);
            // A covering pattern allows everything that the covered one allows.
            if other.cover(&requests) {
                prop_assert!(!expected || other.allow(asked(&path), &Path::read(&path)));
            }
            // A deny rule matches everything that the allow rule would, and odd paths.
            let denied = requests.deny(asked(&path), &Path::read(&path));
            prop_assert!(denied || !expected);
            prop_assert!(denied || !(is_odd && has_method));
        }
    }
}
