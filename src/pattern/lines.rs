//! Matcher for `grep-searcher`: finds the next matching line.
//!
//! `grep-regex` searches many lines at a time with the translated pattern. Three cases need care,
//! since it would miss a line:
//!
//! - The pattern is not regular. Then the translation is an approximation that matches too much.
//!   Every line that it finds is a candidate, which the exact matcher confirms.
//! - The line is not UTF-8. Invalid bytes are read as U+FFFD, which the linear engine does not do.
//! - The line has U+2028 or U+2029, which are line ends to `^` and `$`. The linear engine knows
//!   only `\n` and `\r`.
//!
//! A line of the last two kinds is odd. It is always a candidate if the pattern can match U+FFFD or
//! has `^` or `$`. Other patterns skip this check. Chunks are checked for odd lines just before
//! they are searched, while they are in the CPU cache. Nearly all text is ASCII, and that check
//! costs a fraction of the search.
//!
//! The exact matcher sees a line with its `\n`, so `^` does not match behind the `\r` of a CRLF. It
//! is compiled from a tree in which no node matches `\n` ([`within_lines`]).

use replay_base::cancel::Bound;
use replay_base::limits::MAX_PATTERN_PROGRAM_BYTES;

use crate::limits::MAX_EXACT_ROUNDS;

use super::ast::{Class, Node, Tree};
use super::error::PatternError;
use super::facts::Facts;
use super::translate::{Approximation, Haystack, approximation};
use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use std::cell::OnceCell;
use std::ops::Range;

/// First part of a text that is looked at as a whole for odd bytes, in bytes; the next ones double.
const FIRST_CHUNK_BYTES: usize = 512;
/// Largest part of a text that is searched for odd bytes at once, in bytes. It should still be in
/// the processor's cache when it is searched for the pattern.
const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// Rounds of a repetition in a second attempt, when the first one gave a program that is too large.
pub(super) const FEW_ROUNDS: u32 = 8;

/// Prefilter for one pattern, made once and shared.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// `None` if no translation is small enough: then every line is a candidate.
    regex: Option<RegexMatcher>,
    /// A line that is not odd matches if and only if `regex` does.
    exact: bool,
    /// Lines that are not UTF-8 are odd.
    replacement: bool,
    /// Lines with U+2028 or U+2029 are odd.
    line_anchors: bool,
}

impl Candidates {
    pub(super) fn new(tree: &Tree, facts: Facts) -> Self {
        let compiled = [MAX_EXACT_ROUNDS, FEW_ROUNDS]
            .into_iter()
            .find_map(|most_rounds| {
                let Approximation { text, exact } =
                    approximation(tree, Haystack::Lines, most_rounds)?;
                let regex = RegexMatcherBuilder::new()
                    .line_terminator(Some(b'\n'))
                    .size_limit(MAX_PATTERN_PROGRAM_BYTES)
                    .dfa_size_limit(MAX_PATTERN_PROGRAM_BYTES)
                    .build(&text)
                    .ok()?;
                Some((regex, exact))
            });
        let (regex, exact) = compiled.map_or((None, false), |(regex, exact)| (Some(regex), exact));
        let exact = exact && !facts.inside_characters;
        Self {
            regex,
            exact,
            replacement: facts.replacement,
            line_anchors: facts.line_anchors,
        }
    }

    /// The next line of `text`, which is whole lines, that matches or may match, by some place in
    /// it.
    fn next(&self, text: &[u8]) -> Option<LineMatchKind> {
        let Some(regex) = &self.regex else {
            return (!text.is_empty()).then_some(LineMatchKind::Candidate(0));
        };
        if !self.replacement && !self.line_anchors {
            return self.ask(regex, text, 0..text.len());
        }
        let (mut start, mut size) = (0, FIRST_CHUNK_BYTES);
        while start < text.len() {
            let chunk = start..line_end(text, start + size);
            start = chunk.end;
            size = (size * 2).min(MAX_CHUNK_BYTES);
            let found = if self.is_odd(&text[chunk.clone()]) {
                self.next_or_odd(regex, text, chunk)
            } else {
                self.ask(regex, text, chunk)
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns true if `text` has a line that the regex may miss.
    fn is_odd(&self, text: &[u8]) -> bool {
        if text.is_ascii() {
            return false;
        }
        let has = |separator: char| {
            memchr::memmem::find(text, separator.encode_utf8(&mut [0; 4]).as_bytes()).is_some()
        };
        self.replacement && std::str::from_utf8(text).is_err()
            || self.line_anchors && (has('\u{2028}') || has('\u{2029}'))
    }

    /// The next odd line or match in a chunk that has odd lines.
    fn next_or_odd(
        &self,
        regex: &RegexMatcher,
        text: &[u8],
        chunk: Range<usize>,
    ) -> Option<LineMatchKind> {
        let mut even = chunk.start;
        let mut line = chunk.start;
        while line < chunk.end {
            let end = line_end(text, line);
            if self.is_odd(&text[line..end]) {
                return self
                    .ask(regex, text, even..line)
                    .or(Some(LineMatchKind::Candidate(line)));
            }
            line = end;
            if line - even > FIRST_CHUNK_BYTES {
                if let Some(found) = self.ask(regex, text, even..line) {
                    return Some(found);
                }
                even = line;
            }
        }
        self.ask(regex, text, even..chunk.end)
    }

    /// The next match in the lines at `lines`, none of which is odd.
    fn ask(&self, regex: &RegexMatcher, text: &[u8], lines: Range<usize>) -> Option<LineMatchKind> {
        let mut from = lines.start;
        while from < lines.end {
            let rest = &text[from..lines.end];
            // This matcher has no errors.
            let (place, certain) = match regex.find_candidate_line(rest).ok()?? {
                LineMatchKind::Confirmed(place) => (place, true),
                LineMatchKind::Candidate(place) => (place, false),
            };
            // Behind the last line feed there is no line.
            if place == rest.len() && rest.ends_with(b"\n") {
                return None;
            }
            if !self.exact {
                return Some(LineMatchKind::Candidate(from + place));
            }
            if certain {
                return Some(LineMatchKind::Confirmed(from + place));
            }
            let line = memchr::memrchr(b'\n', &rest[..place]).map_or(0, |feed| feed + 1)
                ..line_end(rest, place);
            // With its line feed, which keeps `^` from matching behind a final `\r`.
            let found = regex.shortest_match(&rest[line.clone()]).ok()?;
            if found.is_some_and(|end| end < line.len() || !rest[..line.end].ends_with(b"\n")) {
                return Some(LineMatchKind::Confirmed(from + place));
            }
            from += line.end;
        }
        None
    }
}

/// The end of the line that byte `at` lies in, its line feed included.
fn line_end(text: &[u8], at: usize) -> usize {
    text.get(at..)
        .and_then(|rest| memchr::memchr(b'\n', rest))
        .map_or(text.len(), |feed| at + feed + 1)
}

/// The same tree for texts that are one line each, with the `\n` behind it if there is one: nothing
/// matches that.
pub(super) fn within_lines(tree: &Tree) -> Tree {
    Tree {
        root: within_line(&tree.root),
        groups: tree.groups,
        names: tree.names.clone(),
    }
}

fn within_line(node: &Node) -> Node {
    let all = |nodes: &[Node]| nodes.iter().map(within_line).collect();
    let boxed = |body: &Node| Box::new(within_line(body));
    match node {
        Node::Char('\n') => Node::Class(Class::default()),
        Node::Class(class) => Node::Class(class.without('\n')),
        // Nothing follows but the line feed, if that.
        Node::End { lines: false } => {
            let body = Box::new(Node::Class(Class::any().without('\n')));
            Node::Look {
                behind: false,
                negated: true,
                body,
            }
        }
        Node::Concat(nodes) => Node::Concat(all(nodes)),
        Node::Alternation(nodes) => Node::Alternation(all(nodes)),
        Node::Group { index, body } => Node::Group {
            index: *index,
            body: boxed(body),
        },
        Node::Look {
            behind,
            negated,
            body,
        } => Node::Look {
            behind: *behind,
            negated: *negated,
            body: boxed(body),
        },
        Node::Repeat {
            min,
            max,
            greedy,
            body,
            groups,
        } => Node::Repeat {
            min: *min,
            max: *max,
            greedy: *greedy,
            body: boxed(body),
            groups: groups.clone(),
        },
        other => other.clone(),
    }
}

/// The exact matcher: the first match at or after a byte of a text, which may be any bytes.
pub trait Exact {
    /// Invalid bytes match as U+FFFD does.
    fn find_at(&self, text: &[u8], from: usize) -> Result<Option<Range<usize>>, PatternError>;
}

impl<F: Fn(&[u8], usize) -> Result<Option<Range<usize>>, PatternError>> Exact for F {
    fn find_at(&self, text: &[u8], from: usize) -> Result<Option<Range<usize>>, PatternError> {
        self(text, from)
    }
}

/// A pattern that `grep_searcher::Searcher` can search a file with; one for each search.
///
/// It tells the searcher no more about an error than that there was one; [`Finder::failure`] has
/// the error.
#[derive(Debug)]
pub struct Finder<'a, E> {
    /// `None` to search texts that are given whole, in which a match may go over lines.
    candidates: Option<&'a Candidates>,
    /// The text that is given whole. After each match the searcher asks about what is left of it
    /// alone, and what stands before that still counts for `^`, `\b` and lookbehind.
    whole: &'a [u8],
    exact: E,
    bound: Bound<'a>,
    failure: OnceCell<Failure>,
}

/// Error that ended a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub error: PatternError,
    /// Number of bytes from the start of the faulty line to the end of the searcher's buffer. If
    /// the file was searched as one slice, these are the last bytes of the file.
    pub rest: usize,
}

impl<'a, E: Exact> Finder<'a, E> {
    /// Finds lines. `exact` is the matcher for [`within_lines`].
    pub(super) fn lines(candidates: &'a Candidates, exact: E, bound: Bound<'a>) -> Self {
        Self {
            candidates: Some(candidates),
            whole: &[],
            exact,
            bound,
            failure: OnceCell::new(),
        }
    }

    /// Finds matches over lines in `whole`; the searcher must be set to `multi_line(true)` and be
    /// given it as one slice. `exact` is the matcher for whole texts.
    pub(super) fn texts(whole: &'a [u8], exact: E, bound: Bound<'a>) -> Self {
        Self {
            candidates: None,
            whole,
            exact,
            bound,
            failure: OnceCell::new(),
        }
    }

    /// Returns the pattern error that ended the search early, if any.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    fn failed(&self, error: PatternError, rest: usize) -> &'static str {
        self.failure.get_or_init(|| Failure { error, rest });
        "the pattern failed"
    }

    /// A match in `text`, unless it lies behind a final line feed, where there is no line. `rest`
    /// is for [`Failure`].
    fn find(
        &self,
        text: &[u8],
        at: usize,
        rest: usize,
    ) -> Result<Option<Range<usize>>, &'static str> {
        if self.bound.is_over() {
            return Err(self.failed(PatternError::TooCostly, rest));
        }
        let found = self
            .exact
            .find_at(text, at)
            .map_err(|error| self.failed(error, rest))?;
        Ok(found.filter(|range| range.start < text.len() || !text.ends_with(b"\n")))
    }
}

impl<E: Exact> Matcher for Finder<'_, E> {
    type Captures = NoCaptures;
    type Error = &'static str;

    /// `text` is the rest of a whole text, or a line without its line feed.
    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, Self::Error> {
        if std::ptr::eq(text.as_ptr_range().end, self.whole.as_ptr_range().end)
            && text.len() < self.whole.len()
        {
            let before = self.whole.len() - text.len();
            let found = self.find(self.whole, before + at, text.len() - at)?;
            return Ok(found.map(|range| Match::new(range.start - before, range.end - before)));
        }
        Ok(self
            .find(text, at, text.len() - at)?
            .map(|range| Match::new(range.start, range.end)))
    }

    fn new_captures(&self) -> Result<Self::Captures, Self::Error> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.candidates.map(|_| LineTerminator::byte(b'\n'))
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, Self::Error> {
        let Some(candidates) = self.candidates else {
            return Ok(self
                .find_at(text, 0)?
                .map(|found| LineMatchKind::Confirmed(found.start())));
        };
        let mut from = 0;
        while from < text.len() {
            if self.bound.is_over() {
                return Err(self.failed(PatternError::TooCostly, text.len() - from));
            }
            let place = match candidates.next(&text[from..]) {
                None => return Ok(None),
                Some(LineMatchKind::Confirmed(place)) => {
                    return Ok(Some(LineMatchKind::Confirmed(from + place)));
                }
                Some(LineMatchKind::Candidate(place)) => from + place,
            };
            let start =
                memchr::memrchr(b'\n', &text[from..place]).map_or(from, |feed| from + feed + 1);
            let end = line_end(text, place);
            if self
                .find(&text[start..end], 0, text.len() - start)?
                .is_some()
            {
                return Ok(Some(LineMatchKind::Confirmed(place)));
            }
            from = end;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
