//! Patterns in JavaScript's syntax, and the replacement texts that go with them.
//!
//! One constructor, one error type; nothing outside this module knows the engine. `^` and `$` match at every line
//! boundary, `.` matches no line ending, and a `$` in a CRLF file matches before the `\r`, while `^` never matches
//! between `\r` and `\n` (strict JavaScript does; it would take the gap of every CRLF for a line).

mod ast;
mod class;
mod error;
mod facts;
mod fancy;
mod fold;
mod lines;
mod parse;
mod replacement;
mod translate;

pub use error::PatternError;
pub use lines::{Exact, Finder};
pub use replacement::{Replacement, ReplacementError};

use crate::cancel::Bound;
use crate::limits::{MAX_PATTERN_BACKTRACKS, MAX_PATTERN_BYTES, MAX_PATTERN_PROGRAM_BYTES};
use fancy_regex::{CompileError, Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;

/// How a pattern is matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Upper and lower case are the same.
    pub case_insensitive: bool,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
}

/// Answers whether a line matches. Behind it stands whatever engine is fastest for a pattern.
pub trait LineMatcher: Send + Sync {
    /// Whether `line`, given without its `\n`, matches. Bytes that are not UTF-8 match as U+FFFD does.
    fn is_match_line(&self, line: &[u8]) -> Result<bool, PatternError>;
}

impl LineMatcher for Pattern {
    fn is_match_line(&self, line: &[u8]) -> Result<bool, PatternError> {
        let line = match std::str::from_utf8(line) {
            Ok(line) => Cow::Borrowed(line),
            Err(_) => String::from_utf8_lossy(line),
        };
        self.regex.is_match(line.as_ref()).map_err(|_| PatternError::TooCostly)
    }
}

/// One match: the span of the whole, then of each group. Offsets are bytes of the text; a group that took no part is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    groups: Vec<Option<Range<usize>>>,
}

impl Match {
    /// The span of the whole match.
    pub fn range(&self) -> Range<usize> {
        self.group(0).unwrap_or_default()
    }

    /// The span of a group; 0 is the whole match.
    pub fn group(&self, number: usize) -> Option<Range<usize>> {
        self.groups.get(number).cloned().flatten()
    }
}

impl Pattern {
    /// Compiles JavaScript syntax, the text between the slashes.
    pub fn new(source: &str, options: Options) -> Result<Self, PatternError> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong { bytes: source.len() });
        }
        parse::parse(source, options)?;
        Self::compile(&fancy::translate(source)?, options)
    }

    /// A pattern that matches `text` itself in upper, lower or mixed case (Unicode simple case folding).
    pub fn literal_ignoring_case(text: &str) -> Result<Self, PatternError> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(PatternError::TooLong { bytes: text.len() });
        }
        let options = Options { case_insensitive: true };
        Self::compile(&fancy_regex::escape(text), options)
    }

    fn compile(engine_source: &str, options: Options) -> Result<Self, PatternError> {
        RegexBuilder::new(engine_source)
            .multi_line(true)
            .crlf(true)
            .case_insensitive(options.case_insensitive)
            .backtrack_limit(MAX_PATTERN_BACKTRACKS)
            .delegate_size_limit(MAX_PATTERN_PROGRAM_BYTES)
            .delegate_dfa_size_limit(MAX_PATTERN_PROGRAM_BYTES)
            .build()
            .map(|regex| Self { regex })
            .map_err(|error| refusal(&error))
    }

    /// The number of groups, the whole match included: at least 1.
    pub fn captures_len(&self) -> usize {
        self.regex.captures_len()
    }

    /// The number of the group with this name.
    pub fn group_named(&self, name: &str) -> Option<usize> {
        self.regex.capture_names().position(|known| known == Some(name))
    }

    /// The first match at or after byte `from`, which must be a character boundary.
    pub fn find_at(&self, text: &str, from: usize) -> Result<Option<Match>, PatternError> {
        if self.captures_len() == 1 {
            let found = self.regex.find_from_pos(text, from).map_err(|_| PatternError::TooCostly)?;
            return Ok(found.map(|found| Match { groups: vec![Some(found.range())] }));
        }
        let found = self.regex.captures_from_pos(text, from).map_err(|_| PatternError::TooCostly)?;
        Ok(found.map(|found| Match { groups: found.iter().map(|group| group.map(|group| group.range())).collect() }))
    }

    /// All matches, in the order and by the rule of JavaScript's `matchAll`.
    ///
    /// An empty match may follow right behind another match, but never stands behind a final line feed. The item
    /// is an error when the engine's budget or the `bound` ran out; nothing follows an error.
    pub fn find_iter<'a>(&'a self, text: &'a str, bound: Bound<'a>) -> Matches<'a> {
        Matches { pattern: self, text, bound, next: Some(0) }
    }
}

fn refusal(error: &fancy_regex::Error) -> PatternError {
    if let fancy_regex::Error::CompileError(inside) = error {
        match inside.as_ref() {
            CompileError::InnerError(inner) if inner.size_limit().is_some() => {
                return PatternError::TooLarge;
            }
            CompileError::PatternTooComplex => return PatternError::TooLarge,
            _ => {}
        }
    }
    PatternError::TooLarge
}

/// See [`Pattern::find_iter`].
#[derive(Debug)]
pub struct Matches<'a> {
    pattern: &'a Pattern,
    text: &'a str,
    bound: Bound<'a>,
    /// Where the next search begins; `None` at the end.
    next: Option<usize>,
}

impl Iterator for Matches<'_> {
    type Item = Result<Match, PatternError>;

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.next.take()?;
        if self.bound.is_over() {
            return Some(Err(PatternError::TooCostly));
        }
        match self.pattern.find_at(self.text, from) {
            Err(error) => Some(Err(error)),
            Ok(None) => None,
            Ok(Some(found)) => {
                let range = found.range();
                if range.is_empty() && range.start == self.text.len() && self.text.ends_with('\n') {
                    return None;
                }
                self.next = if range.is_empty() {
                    let step = self.text[range.end..].chars().next().map(char::len_utf8);
                    step.map(|step| range.end + step)
                } else {
                    Some(range.end)
                };
                Some(Ok(found))
            }
        }
    }
}

#[cfg(test)]
mod against_node;
#[cfg(test)]
mod tests;
