//! Matches, one and all.

use super::{Budget, Pattern, PatternError};
use memchr::memmem;
use std::ops::Range;

/// One match: the span of the whole and of each group. Offsets are bytes of the text; a group that
/// took no part is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    whole: Range<usize>,
    groups: Vec<Option<Range<usize>>>,
}

impl Match {
    pub(super) fn new(whole: Range<usize>, groups: Vec<Option<Range<usize>>>) -> Self {
        Self { whole, groups }
    }

    /// The span of the whole match.
    pub fn range(&self) -> Range<usize> {
        self.whole.clone()
    }

    /// The span of a group; 0 is the whole match. Without groups in a search for spans.
    pub fn group(&self, number: usize) -> Option<Range<usize>> {
        match number.checked_sub(1) {
            None => Some(self.range()),
            Some(index) => self.groups.get(index).cloned().flatten(),
        }
    }
}

/// Result that the caller needs of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchDetail {
    Span,
    /// Span of the match and of its groups.
    Groups,
}

/// See [`Pattern::find_iter`].
#[derive(Debug)]
pub struct Matches<'a> {
    pattern: &'a Pattern,
    text: &'a str,
    want: MatchDetail,
    budget: Budget<'a>,
    /// The text has no U+2028 or U+2029 that matters.
    plain: bool,
    /// Start of the next search; `None` at the end.
    next: Option<usize>,
    /// Matches until the next look at the bound.
    unchecked: u32,
}

/// Matches between two looks at the clock.
const CHECK_EVERY: u32 = 64;

impl<'a> Matches<'a> {
    pub(super) fn new(
        pattern: &'a Pattern,
        text: &'a str,
        want: MatchDetail,
        budget: Budget<'a>,
    ) -> Self {
        Self {
            pattern,
            text,
            want,
            budget,
            plain: !(pattern.engine().knows_separators() && has_separators(text)),
            next: Some(0),
            unchecked: 0,
        }
    }

    /// Returns true for an empty match that only strict JavaScript has. Behind a final line feed
    /// there is no line. A `$` that matches before a CRLF does not match again inside it.
    fn is_phantom(&self, range: &Range<usize>) -> bool {
        let text = self.text.as_bytes();
        let after = text[range.end..].first();
        match text[..range.start].last() {
            Some(b'\n') => after.is_none(),
            Some(b'\r') => after == Some(&b'\n') && self.pattern.engine().has_line_end(),
            _ => false,
        }
    }
}

/// Returns true if a text has U+2028 or U+2029.
pub(super) fn has_separators(text: &str) -> bool {
    let mut found = memmem::find_iter(text.as_bytes(), b"\xE2\x80");
    found.any(|at| matches!(text.as_bytes().get(at + 2), Some(0xA8 | 0xA9)))
}

impl Iterator for Matches<'_> {
    type Item = Result<Match, PatternError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let from = self.next.take()?;
            if self.unchecked == 0 {
                self.unchecked = CHECK_EVERY;
                if self.budget.bound().is_over() {
                    return Some(Err(PatternError::TooCostly));
                }
            }
            self.unchecked -= 1;
            let found = match self.pattern.engine().find(
                self.text,
                from,
                self.want,
                self.plain,
                &self.budget,
            ) {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some(found)) => found,
            };
            let range = found.range();
            if range.is_empty() {
                let step = self.text[range.end..].chars().next().map(char::len_utf8);
                self.next = step.map(|step| range.end + step);
                if self.is_phantom(&range) {
                    continue;
                }
            } else {
                self.next = Some(range.end);
            }
            return Some(Ok(found));
        }
    }
}
