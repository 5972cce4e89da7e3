//! One file searched line by line: the lines that match, their context, and nothing more than asked for.

use std::io::Read;
use std::sync::Mutex;

use grep_matcher::{Match, Matcher, NoCaptures};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use crate::cancel::CancelToken;
use crate::limits::{BINARY_SNIFF_BYTES, MAX_LINE_BUFFER_BYTES, MAX_SHOWN_BYTES};
use crate::pattern::{LineMatcher, PatternError};
use crate::text::encoding::UTF8_BOM;

/// One line of a result.
#[derive(Debug, PartialEq, Eq)]
pub struct Hit {
    /// Counted from 1.
    pub line: u64,
    /// Without its line ending; a very long one is cut.
    pub text: String,
    /// Whether it matches, or is context of one that does.
    pub is_match: bool,
    /// Whether lines between this one and the one before were left out.
    pub after_gap: bool,
}

/// What a search of one file came to.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order of the file.
    pub hits: Vec<Hit>,
    /// How many of them match.
    pub matches: u64,
    /// Whether the search ended at `most` matches.
    pub cut: bool,
}

/// Why a file was not searched to its end.
#[derive(Debug)]
pub enum Stopped {
    /// The disk, or a line that is too long to hold.
    Unreadable,
    /// The pattern, at this line.
    Pattern(PatternError, u64),
}

/// Searches what `source` gives, up to `most` matches. A file with a NUL near its beginning has none.
pub fn search(
    source: impl Read,
    matcher: &dyn LineMatcher,
    context: usize,
    most: u64,
    cancel: &CancelToken,
) -> Result<Found, Stopped> {
    let mut source = source;
    let mut head = Vec::with_capacity(BINARY_SNIFF_BYTES);
    source.by_ref().take(BINARY_SNIFF_BYTES as u64).read_to_end(&mut head).map_err(|_| Stopped::Unreadable)?;
    if memchr::memchr(0, &head).is_some() {
        return Ok(Found::default());
    }
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::none())
        // Byte order marks of UTF-16 would start a conversion; such files hold NULs and were left above.
        .bom_sniffing(false)
        .heap_limit(Some(MAX_LINE_BUFFER_BYTES))
        .build();
    // No part of the first line for whoever reads the file, so none for `^` either.
    let head = head.strip_prefix(UTF8_BOM).unwrap_or(&head);
    let adapter = Adapter { matcher, cancel, failed: Mutex::new(None) };
    let mut collector = Collector { found: Found::default(), most, gap: false };
    let searched = searcher.search_reader(&adapter, head.chain(source), &mut collector);
    if let Some(error) = adapter.failed.into_inner().ok().flatten() {
        return Err(Stopped::Pattern(error, collector.found.hits.last().map_or(1, |hit| hit.line)));
    }
    searched.map_err(|_| Stopped::Unreadable)?;
    Ok(collector.found)
}

/// A [`LineMatcher`] as the searcher wants it. It declares no line terminator, so it is asked line by line.
struct Adapter<'a> {
    matcher: &'a dyn LineMatcher,
    cancel: &'a CancelToken,
    failed: Mutex<Option<PatternError>>,
}

impl Matcher for &Adapter<'_> {
    type Captures = NoCaptures;
    type Error = &'static str;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Self::Error> {
        // One file may be larger than anybody wants to wait for.
        if self.cancel.is_cancelled() {
            return Err("cancelled");
        }
        // Where in the line a match lies is never asked for: whole lines are shown.
        let line = &haystack[at..];
        match self.matcher.is_match_line(line.strip_suffix(b"\n").unwrap_or(line)) {
            Ok(found) => Ok(found.then(|| Match::new(at, haystack.len()))),
            Err(error) => {
                if let Ok(mut failed) = self.failed.lock() {
                    *failed = Some(error);
                }
                Err("the pattern failed")
            }
        }
    }

    fn new_captures(&self) -> Result<Self::Captures, Self::Error> {
        Ok(NoCaptures::new())
    }
}

struct Collector {
    found: Found,
    most: u64,
    gap: bool,
}

impl Collector {
    fn push(&mut self, line: Option<u64>, bytes: &[u8], is_match: bool) {
        let after_gap = std::mem::take(&mut self.gap);
        self.found.hits.push(Hit { line: line.unwrap_or_default(), text: shown(bytes), is_match, after_gap });
    }
}

impl Sink for Collector {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.found.matches >= self.most {
            self.found.cut = true;
            return Ok(false);
        }
        self.found.matches += 1;
        self.push(found.line_number(), found.bytes(), true);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.push(context.line_number(), context.bytes(), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.gap = true;
        Ok(true)
    }
}

/// A line as text, without its ending. A line of megabytes would drown the rest, so it is cut and says so.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Not in the middle of a character.
    let end = (0..=MAX_SHOWN_BYTES).rev().find(|&end| line[end] & 0xc0 != 0x80).unwrap_or(MAX_SHOWN_BYTES);
    format!("{} [... {} more bytes]", String::from_utf8_lossy(&line[..end]), line.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Options, Pattern};
    use pretty_assertions::assert_eq;

    fn found(text: &str, pattern: &str, context: usize, most: u64) -> (Vec<String>, u64, bool) {
        let pattern = Pattern::new(pattern, Options { case_insensitive: false }).unwrap();
        let found = search(text.as_bytes(), &pattern, context, most, &CancelToken::new()).unwrap();
        let show = |hit: &Hit| {
            let separator = if hit.is_match { ':' } else { '-' };
            format!("{}{}{separator}{}", if hit.after_gap { "--" } else { "" }, hit.line, hit.text)
        };
        (found.hits.iter().map(show).collect(), found.matches, found.cut)
    }

    #[test]
    fn lines_context_gaps_and_the_cap() {
        let text = "a1\r\nb\nc\nd\na2\ne\na3";
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        assert_eq!(found(text, "^a", 0, 9), (lines(&["1:a1", "5:a2", "7:a3"]), 3, false));
        assert_eq!(found(text, "^a", 1, 9), (lines(&["1:a1", "2-b", "--4-d", "5:a2", "6-e", "7:a3"]), 3, false));
        assert_eq!(found(text, "^a", 0, 2), (lines(&["1:a1", "5:a2"]), 2, true));
        assert_eq!(found(text, "^a", 0, 3), (lines(&["1:a1", "5:a2", "7:a3"]), 3, false));
        assert_eq!(found("a\n\0", "a", 0, 9), (vec![], 0, false));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(found("\u{feff}a\nb\n", "^a$", 0, 9), (vec!["1:a".to_owned()], 1, false));
        assert_eq!(found("\u{feff}", "", 0, 9), (vec![], 0, false));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let line = "é".repeat(MAX_SHOWN_BYTES);
        let shown = shown(line.as_bytes());
        assert_eq!(shown, format!("{} [... {MAX_SHOWN_BYTES} more bytes]", &line[..MAX_SHOWN_BYTES]));
    }
}
