//! A pattern as the searcher asks it. It declares no line terminator, so it is asked line by line.

use grep_matcher::{Match, Matcher, NoCaptures};

use crate::pattern::{LineMatcher, Pattern, PatternError};

/// Answers for one line at a time.
#[derive(Debug, Clone)]
pub struct LineFinder(pub Pattern);

impl Matcher for LineFinder {
    type Captures = NoCaptures;
    type Error = PatternError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Self::Error> {
        let line = &haystack[at..];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if !self.0.is_match_line(line)? {
            return Ok(None);
        }
        let span = std::str::from_utf8(line).ok().and_then(|text| self.0.find_at(text, 0).ok().flatten());
        let span = span.map_or(0..line.len(), |found| found.range());
        Ok(Some(Match::new(at + span.start, at + span.end)))
    }

    fn new_captures(&self) -> Result<Self::Captures, Self::Error> {
        Ok(NoCaptures::new())
    }
}
