//! One file searched: the lines that match, their context, and nothing more than asked for.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use encoding_rs::Encoding;
use grep_matcher::Matcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use replay_base::budget::{Exhausted, Room, Share};
use replay_base::limits::{BINARY_SNIFF_BYTES, DECODING_COPIES};
use replay_base::text::encoding::{UTF8_BOM, is_utf16};
use replay_base::text::lines::line_at;
use replay_files::fs::OpenFile;
use replay_pattern::{Budget, Pattern, PatternError};

use super::window::excerpt;

/// Buffer of a search that reads a file in pieces, while its lines are short, in bytes
/// (`DEFAULT_BUFFER_CAPACITY` of `grep_searcher::line_buffer`).
const LINE_BUFFER_BYTES: usize = 64 * 1024;
/// Longest line that a search holds in memory, in bytes; a file with a longer one is skipped and
/// counted.
const MAX_LINE_BUFFER_BYTES: usize = 64 * 1024 * 1024;
/// Largest file that a search reads in one piece, in bytes; a larger one is read bit by bit.
const MAX_WHOLE_SEARCH_BYTES: u64 = 1024 * 1024;

/// One line of a result.
#[derive(Debug, PartialEq, Eq)]
pub struct Hit {
    /// Counted from 1.
    pub line: u64,
    /// Without its line ending; a very long one is cut.
    pub text: String,
    /// `true` for a match, `false` for a context line.
    pub is_match: bool,
    /// `true` if lines between the previous line and this one were left out.
    pub after_gap: bool,
}

/// Result of a search in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileMatches {
    /// In the order of the file; empty when only the number was asked for, or the bytes were used
    /// up.
    pub hits: Vec<Hit>,
    /// Lines that match, those without a hit included.
    pub matches: u64,
    /// `true` if the search ended at `most` matches and there are more.
    pub cut: bool,
}

/// Limits for one file.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The search ends when there are more matches than this.
    pub most: u64,
    /// Bytes of text that are kept, more or less; what comes after is only counted. At 0 the first
    /// match ends nothing, but no line is kept at all.
    pub bytes: usize,
}

/// Reason why a file was not searched to its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It is binary, and was not named.
    Binary,
    /// The disk, or a line that is too long to hold.
    Unreadable,
    /// The pattern, at this line.
    Pattern(PatternError, u64),
    /// There is not the memory for the file, or for a line of it.
    Memory(Exhausted),
}

/// Decoding of a file, as detected from its first [`BINARY_SNIFF_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Its bytes are searched if it is named.
    Binary,
    /// Its bytes are searched.
    Bytes,
    /// It is UTF-16, of which the text is searched.
    Decoded,
}

impl Reading {
    /// Detects the decoding from the beginning of a file.
    pub(super) fn of(head: &[u8]) -> Self {
        let head = &head[..head.len().min(BINARY_SNIFF_BYTES)];
        let is_wide = is_utf16(head);
        let is_binary = if is_wide {
            head.as_chunks::<2>().0.contains(&[0, 0])
        } else {
            memchr::memchr(0, head).is_some()
        };
        match (is_binary, is_wide) {
            (true, _) => Self::Binary,
            (_, true) => Self::Decoded,
            _ => Self::Bytes,
        }
    }
}

/// Options of a line search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// Lines around each match.
    pub context: usize,
    /// `true` if line numbers and text are left out; counting alone is cheaper.
    pub count_only: bool,
    /// `true` if a match may span lines. Then a file has to fit into [`MAX_LINE_BUFFER_BYTES`].
    pub multiline: bool,
    /// `true` if binary files are searched.
    pub binary: bool,
}

/// Searcher of files, one after the other, with reused buffers.
#[derive(Debug)]
pub struct FileSearcher<'a> {
    pattern: &'a Pattern,
    budget: &'a Budget<'a>,
    how: SearchOptions,
    plain: Searcher,
    /// For UTF-16, which is decoded on the way.
    wide: Searcher,
    buffer: Vec<u8>,
    room: Room<'a>,
    /// Share of the memory budget that the buffer takes.
    share: Share,
    /// The beginning of a file that is not read in one piece.
    head: Vec<u8>,
}

impl<'a> FileSearcher<'a> {
    /// Returns a searcher. Each thread has its own; they share the budget of the call.
    pub fn new(
        pattern: &'a Pattern,
        budget: &'a Budget<'a>,
        how: SearchOptions,
        room: Room<'a>,
    ) -> Self {
        let build = |wide: bool| {
            let context = if how.count_only { 0 } else { how.context };
            SearcherBuilder::new()
                .line_number(!how.count_only)
                .before_context(context)
                .after_context(context)
                .multi_line(how.multiline)
                .binary_detection(BinaryDetection::none())
                .bom_sniffing(wide)
                .heap_limit(Some(MAX_LINE_BUFFER_BYTES))
                .build()
        };
        let (plain, wide) = (build(false), build(true));
        let share = room.share();
        Self {
            pattern,
            budget,
            how,
            plain,
            wide,
            buffer: Vec::new(),
            room,
            share,
            head: Vec::new(),
        }
    }

    /// Searches an open file. One with a NUL near its beginning is binary.
    pub fn search(&mut self, file: &OpenFile, limits: Limits) -> Result<FileMatches, Stopped> {
        if self.how.multiline {
            return self.search_over_lines(file, limits);
        }
        let finder = &self.pattern.finder(self.budget);
        let (bytes, most) = if file.size() <= MAX_WHOLE_SEARCH_BYTES {
            self.room
                .cover(&mut self.share, file.size() as usize)
                .map_err(Stopped::Memory)?;
            (&mut self.buffer, MAX_WHOLE_SEARCH_BYTES)
        } else {
            (&mut self.head, BINARY_SNIFF_BYTES as u64)
        };
        let is_whole = file
            .read_start(bytes, most)
            .map_err(|_| Stopped::Unreadable)?;
        let reading = Reading::of(bytes);
        if reading == Reading::Binary && !self.how.binary {
            return Err(Stopped::Binary);
        }
        // No part of the first line for whoever reads the file, so none for `^` either.
        let bom = if bytes.starts_with(UTF8_BOM) {
            UTF8_BOM.len()
        } else {
            0
        };
        let mut collector = Collector {
            finder,
            found: FileMatches::default(),
            limits,
            kept: 0,
            gap: false,
        };
        let searcher = if reading == Reading::Decoded {
            &mut self.wide
        } else {
            &mut self.plain
        };
        let (room, share) = (self.room, self.room.share());
        let mut source = Source {
            inner: file.reader(bom as u64),
            room,
            share,
            short: None,
        };
        let searched = if is_whole {
            searcher.search_slice(finder, &bytes[bom..], &mut collector)
        } else {
            searcher.search_reader(finder, &mut source, &mut collector)
        };
        if let Some(short) = source.short {
            return Err(Stopped::Memory(short));
        }
        if let Some(failure) = finder.failure() {
            let line = if reading == Reading::Decoded {
                collector.found.hits.last().map_or(1, |hit| hit.line)
            } else if is_whole {
                line_at(bytes, bytes.len().saturating_sub(failure.rest)) as u64
            } else {
                line_in(
                    file,
                    source.inner.offset().saturating_sub(failure.rest as u64),
                )
            };
            return Err(Stopped::Pattern(failure.error.clone(), line));
        }
        searched.map_err(|_| Stopped::Unreadable)?;
        Ok(collector.found)
    }

    /// Searches the whole file in memory, since a match may begin and end anywhere. A larger file
    /// is not searched.
    fn search_over_lines(
        &mut self,
        file: &OpenFile,
        limits: Limits,
    ) -> Result<FileMatches, Stopped> {
        let bytes = &mut self.buffer;
        let size = file.size().min(MAX_LINE_BUFFER_BYTES as u64);
        self.room
            .cover(&mut self.share, size as usize)
            .map_err(Stopped::Memory)?;
        // It may have grown a little since.
        let most = (size + MAX_WHOLE_SEARCH_BYTES).min(MAX_LINE_BUFFER_BYTES as u64);
        if !file
            .read_start(bytes, most)
            .map_err(|_| Stopped::Unreadable)?
        {
            return Err(Stopped::Unreadable);
        }
        let text = match Reading::of(bytes) {
            Reading::Binary if !self.how.binary => return Err(Stopped::Binary),
            Reading::Decoded => {
                let (encoding, bom) = Encoding::for_bom(bytes).ok_or(Stopped::Unreadable)?;
                self.room
                    .cover(&mut self.share, bytes.len() * DECODING_COPIES)
                    .map_err(Stopped::Memory)?;
                Cow::Owned(
                    encoding
                        .decode_without_bom_handling(&bytes[bom..])
                        .0
                        .into_owned()
                        .into_bytes(),
                )
            }
            Reading::Binary | Reading::Bytes => {
                Cow::Borrowed(bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes))
            }
        };
        let finder = &self.pattern.text_finder(&text, self.budget);
        let mut collector = Collector {
            finder,
            found: FileMatches::default(),
            limits,
            kept: 0,
            gap: false,
        };
        let searched = self.plain.search_slice(finder, &text, &mut collector);
        if let Some(failure) = finder.failure() {
            let line = line_at(&text, text.len().saturating_sub(failure.rest)) as u64;
            return Err(Stopped::Pattern(failure.error.clone(), line));
        }
        searched.map_err(|_| Stopped::Unreadable)?;
        Ok(collector.found)
    }
}

/// Returns the line number of a byte of a large file, counted from 1. If the file is no longer
/// readable, returns the last known one.
fn line_in(file: &OpenFile, offset: u64) -> u64 {
    let mut lines = io::BufReader::with_capacity(256 * 1024, file.reader(0).take(offset));
    let mut line = 1;
    while let Ok(bytes) = lines.fill_buf()
        && !bytes.is_empty()
    {
        line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let length = bytes.len();
        lines.consume(length);
    }
    line
}

/// Reader with limits: a file may be too large for the timeout, and a line too long for the memory.
struct Source<'a, R> {
    inner: R,
    room: Room<'a>,
    share: Share,
    /// Memory error that ended the search, if any.
    short: Option<Exhausted>,
}

/// A buffer that is full becomes three times as long (`grep_searcher::line_buffer`), and what it
/// gives to be read into is then two thirds of it. So the next buffer is at most so many times as
/// long as what was given last.
const NEXT_BUFFER: usize = 5;

impl<R: Read> Read for Source<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.room.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        if buffer.len() > LINE_BUFFER_BYTES {
            let next = (buffer.len() * NEXT_BUFFER).min(MAX_LINE_BUFFER_BYTES + LINE_BUFFER_BYTES);
            if let Err(short) = self.room.cover(&mut self.share, next) {
                self.short = Some(short);
                return Err(io::Error::other(short));
            }
        }
        self.inner.read(buffer)
    }
}

struct Collector<'a, M> {
    finder: &'a M,
    found: FileMatches,
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
        let span = |line: &[u8]| {
            self.finder
                .find(line)
                .ok()
                .flatten()
                .map(|found| found.start()..found.end())
        };
        let text = excerpt(bytes, |line| is_match.then(|| span(line)).flatten());
        self.kept += text.len() + 1;
        self.found.hits.push(Hit {
            line: line.unwrap_or_default(),
            text,
            is_match,
            after_gap,
        });
    }
}

impl<M: Matcher> Sink for Collector<'_, M> {
    type Error = io::Error;

    /// A match over several lines counts as each of them.
    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        for (line, bytes) in (0..).zip(found.lines()) {
            if self.found.matches >= self.limits.most {
                self.found.cut = true;
                return Ok(false);
            }
            self.found.matches += 1;
            self.push(found.line_number().map(|first| first + line), bytes, true);
        }
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
