//! One file searched: the lines that match, their context, and nothing more than asked for.

use std::cell::RefCell;
use std::io::{self, Read};

use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::window::shown;
use crate::cancel::CancelToken;
use crate::fs::OpenFile;
use crate::limits::{BINARY_SNIFF_BYTES, MAX_LINE_BUFFER_BYTES, MAX_WHOLE_SEARCH_BYTES};
use crate::pattern::PatternError;
use crate::text::encoding::{UTF8_BOM, is_utf16};

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
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In the order of the file; empty when only the number was asked for, or the bytes were used up.
    pub hits: Vec<Hit>,
    /// Lines that match, those without a hit included.
    pub matches: u64,
    /// Whether the search ended at `most` matches and there are more.
    pub cut: bool,
}

/// What is wanted of one file.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The search ends when there are more matches than this.
    pub most: u64,
    /// Bytes of text that are kept, more or less; what comes after is only counted. At 0 the first match ends nothing, but
    /// no line is kept at all.
    pub bytes: usize,
}

/// Why a file was not searched to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The disk, or a line that is too long to hold.
    Unreadable,
    /// The pattern, at this line.
    Pattern(PatternError, u64),
}

/// How lines are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct How {
    /// Lines around each match.
    pub context: usize,
    /// Whether line numbers and text are wanted; counting alone is cheaper.
    pub count_only: bool,
}

/// Searches files one after the other, with the same buffers.
#[derive(Debug)]
pub struct FileSearcher<M> {
    matcher: M,
    plain: Searcher,
    /// For UTF-16, which is decoded on the way.
    wide: Searcher,
    buffer: Vec<u8>,
    /// The beginning of a file that is not read in one piece.
    head: Vec<u8>,
}

impl<M: Matcher<Error = PatternError>> FileSearcher<M> {
    /// Each thread has one of its own.
    pub fn new(matcher: M, how: How) -> Self {
        let build = |wide: bool| {
            let context = if how.count_only { 0 } else { how.context };
            SearcherBuilder::new()
                .line_number(!how.count_only)
                .before_context(context)
                .after_context(context)
                .binary_detection(BinaryDetection::none())
                .bom_sniffing(wide)
                .heap_limit(Some(MAX_LINE_BUFFER_BYTES))
                .build()
        };
        Self { matcher, plain: build(false), wide: build(true), buffer: Vec::new(), head: Vec::new() }
    }

    /// Searches an open file. One with a NUL near its beginning is binary and has no lines.
    pub fn search(&mut self, file: &OpenFile, limits: Limits, cancel: &CancelToken) -> Result<Found, Stopped> {
        let (bytes, most) = if file.size() <= MAX_WHOLE_SEARCH_BYTES {
            (&mut self.buffer, MAX_WHOLE_SEARCH_BYTES)
        } else {
            (&mut self.head, BINARY_SNIFF_BYTES as u64)
        };
        let is_whole = file.read_start(bytes, most).map_err(|_| Stopped::Unreadable)?;
        let head = &bytes[..bytes.len().min(BINARY_SNIFF_BYTES)];
        let wide = is_utf16(head);
        let is_binary =
            if wide { head.as_chunks::<2>().0.contains(&[0, 0]) } else { memchr::memchr(0, head).is_some() };
        if is_binary {
            return Ok(Found::default());
        }
        // No part of the first line for whoever reads the file, so none for `^` either.
        let bom = if bytes.starts_with(UTF8_BOM) { UTF8_BOM.len() } else { 0 };
        let watched = Watched { inner: &self.matcher, failed: RefCell::new(None) };
        let mut collector = Collector { matcher: &self.matcher, found: Found::default(), limits, kept: 0, gap: false };
        let searcher = if wide { &mut self.wide } else { &mut self.plain };
        let searched = if is_whole {
            searcher.search_slice(&watched, &bytes[bom..], &mut collector)
        } else {
            let source = Cancellable { inner: file.reader(bom as u64), cancel };
            searcher.search_reader(&watched, source, &mut collector)
        };
        if let Some(error) = watched.failed.into_inner() {
            return Err(Stopped::Pattern(error, collector.found.hits.last().map_or(1, |hit| hit.line)));
        }
        searched.map_err(|_| Stopped::Unreadable)?;
        Ok(collector.found)
    }
}

/// One file may be larger than anybody wants to wait for.
struct Cancellable<'a, R> {
    inner: R,
    cancel: &'a CancelToken,
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() { Err(io::Error::other("cancelled")) } else { self.inner.read(buffer) }
    }
}

/// Keeps the error of a matcher: the searcher would make words of it.
struct Watched<'a, M> {
    inner: &'a M,
    failed: RefCell<Option<PatternError>>,
}

impl<M: Matcher<Error = PatternError>> Watched<'_, M> {
    fn watch<T>(&self, result: Result<T, PatternError>) -> Result<T, PatternError> {
        result.inspect_err(|error| *self.failed.borrow_mut() = Some(error.clone()))
    }
}

impl<M: Matcher<Error = PatternError>> Matcher for Watched<'_, M> {
    type Captures = NoCaptures;
    type Error = PatternError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, PatternError> {
        self.watch(self.inner.find_at(haystack, at))
    }

    fn new_captures(&self) -> Result<NoCaptures, PatternError> {
        Ok(NoCaptures::new())
    }

    fn is_match_at(&self, haystack: &[u8], at: usize) -> Result<bool, PatternError> {
        self.watch(self.inner.is_match_at(haystack, at))
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, PatternError> {
        self.watch(self.inner.shortest_match_at(haystack, at))
    }

    fn non_matching_bytes(&self) -> Option<&grep_matcher::ByteSet> {
        self.inner.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.inner.line_terminator()
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, PatternError> {
        self.watch(self.inner.find_candidate_line(haystack))
    }
}

struct Collector<'a, M> {
    matcher: &'a M,
    found: Found,
    limits: Limits,
    /// Bytes of text in the hits.
    kept: usize,
    gap: bool,
}

impl<M: Matcher> Collector<'_, M> {
    fn push(&mut self, line: Option<u64>, bytes: &[u8], is_match: bool) {
        if self.kept >= self.limits.bytes {
            return;
        }
        let after_gap = std::mem::take(&mut self.gap);
        let span = |line: &[u8]| self.matcher.find(line).ok().flatten().map(|found| found.start()..found.end());
        let text = shown(bytes, |line| is_match.then(|| span(line)).flatten());
        self.kept += text.len() + 1;
        self.found.hits.push(Hit { line: line.unwrap_or_default(), text, is_match, after_gap });
    }
}

impl<M: Matcher> Sink for Collector<'_, M> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.found.matches >= self.limits.most {
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

#[cfg(test)]
mod tests;
