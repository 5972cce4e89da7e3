//! A page of lines of a file, for `read_file`. Small files are read whole; large ones are streamed.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use memchr::memchr;
use replay_base::budget::Room;
use replay_base::limits::{DECODING_COPIES, MAX_PAGE_MS, MAX_READ_BYTES, READ_COPIES};
use replay_base::text::encoding::{self, Encoding};
use replay_base::text::escape::show_path;
use replay_base::text::lines::LineEndings;
use replay_base::text::page::{LineMap, Page};
use replay_files::fs::{self, FsError, Reader};
use replay_files::policy::{Checked, Read};
use replay_mcp::protocol::Content;

use super::Reply;
use super::reply_size::whole_lines;
use super::text_limit::TextLimit;
use crate::error::Error;

/// Size of one read of a large file.
const CHUNK_BYTES: usize = 256 * 1024;

/// Reads the lines of `page`, with a note about their position.
pub(super) fn read(
    file: &Checked<Read>,
    page: Page,
    forced: Option<&str>,
    limit: TextLimit,
    room: Room<'_>,
) -> Result<Reply<()>, Error> {
    let head = head(file)?;
    let utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let forced_wide = forced
        .map(encoding::by_name)
        .transpose()?
        .is_some_and(|encoding| encoding.name().starts_with("UTF-16"));
    if file.size() <= MAX_READ_BYTES {
        return from_memory(file, page, forced, limit, room);
    }
    if utf16 || forced_wide {
        // UTF-16 lines cannot be counted by bytes.
        return Err(too_large(file.display_path(), file.size()));
    }
    if forced.is_none() && encoding::is_binary(&head) {
        return Err(no_lines(file));
    }
    from_disk(file, page, forced, limit, room)
}

fn from_memory(
    file: &Checked<Read>,
    page: Page,
    forced: Option<&str>,
    limit: TextLimit,
    room: Room<'_>,
) -> Result<Reply<()>, Error> {
    let fs::Loaded {
        bytes,
        share: mut held,
    } = fs::load(file, MAX_READ_BYTES, room)?;
    let size = bytes.len() as u64;
    if std::str::from_utf8(&bytes).is_err() {
        room.cover(&mut held, bytes.len() * DECODING_COPIES)?;
    }
    let decoded = encoding::detect_and_decode(bytes, forced).map_err(|error| {
        if forced.is_some() {
            Error::from(error)
        } else {
            no_lines(file)
        }
    })?;
    Ok(of_text(&decoded.text, decoded.encoding, page, limit, size)?.holding(held))
}

pub(super) fn no_lines(file: &Checked<Read>) -> Error {
    Error::Unsuitable {
        message: format!(
            "`{}` is binary, so it has no lines",
            show_path(file.display_path())
        ),
        hint: "read it without offset and limit, or use a command that knows its format".into(),
    }
}

/// Returns the lines of a text. `size` is the size of the file in bytes.
pub(super) fn of_text(
    text: &str,
    encoding: Encoding,
    page: Page,
    limit: TextLimit,
    size: u64,
) -> Result<Reply<()>, Error> {
    let mut map = LineMap::default();
    map.feed(text.as_bytes());
    let lines = lines(page, &map)?;
    let text = PageText {
        text: cut(text, &lines).to_owned(),
        encoding,
        size,
        lines,
        total: map.total(),
    };
    reply(text, page, limit)
}

/// Returns the text of these lines.
fn cut<'t>(text: &'t str, lines: &Range<u64>) -> &'t str {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let mut skip = |count: u64| match count {
        0 => None,
        count => Some(ends.nth(count as usize - 1).unwrap_or(text.len())),
    };
    let start = skip(lines.start).unwrap_or(0);
    let end = skip(lines.end - lines.start).unwrap_or(start);
    &text[start..end]
}

fn from_disk(
    file: &Checked<Read>,
    page: Page,
    forced: Option<&str>,
    limit: TextLimit,
    room: Room<'_>,
) -> Result<Reply<()>, Error> {
    let failed = |source| read_failed(file, source);
    let mut map = LineMap::default();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut reader = Reader::new(file, 0);
    let deadline = Instant::now() + Duration::from_millis(MAX_PAGE_MS);
    // Reads up to the initial size: a growing file may have no end.
    while reader.offset() < file.size() {
        if room.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let read = reader.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        if Instant::now() >= deadline {
            return Err(Error::Unsuitable {
                message: format!(
                    "the lines of `{}` ({} bytes) could not be counted within {MAX_PAGE_MS} ms",
                    show_path(file.display_path()),
                    file.size()
                ),
                hint: "use a command that reads a part of it, such as head, tail or dd".into(),
            });
        }
        map.feed(&buffer[..read]);
    }
    let lines = lines(page, &map)?;
    let (from, mut skip) = map.before(lines.start);
    let mut wanted = lines.end - lines.start;
    let mut reader = Reader::new(file, from);
    let mut text = Vec::new();
    let mut held = room.share();
    // More than is shown, and cut after a whole line.
    let is_full = |text: &[u8]| {
        text.len() > limit.most_bytes().saturating_add(page.skip) && text.ends_with(b"\n")
    };
    while wanted > 0 {
        let read = reader.read(&mut buffer).map_err(failed)?;
        let mut chunk = &buffer[..read];
        if chunk.is_empty() || room.cancel.is_cancelled() {
            break;
        }
        while skip > 0 {
            let Some(at) = memchr(b'\n', chunk) else {
                break;
            };
            chunk = &chunk[at + 1..];
            skip -= 1;
        }
        if skip > 0 {
            continue;
        }
        while wanted > 0 && !chunk.is_empty() && !is_full(&text) {
            let end = memchr(b'\n', chunk).map_or(chunk.len(), |at| at + 1);
            wanted -= u64::from(chunk[end - 1] == b'\n');
            text.extend_from_slice(&chunk[..end]);
            chunk = &chunk[end..];
        }
        room.cover(&mut held, text.len() * READ_COPIES)?;
        if is_full(&text) {
            break;
        }
        if text.len() as u64 > MAX_READ_BYTES {
            return Err(Error::Unsuitable {
                message: format!(
                    "lines {}-{} of `{}` are more than {MAX_READ_BYTES} bytes",
                    lines.start + 1,
                    lines.end,
                    show_path(file.display_path())
                ),
                hint: "ask for fewer lines with limit; a line longer than that can be cut with a command".into(),
            });
        }
    }
    let decoded = encoding::detect_and_decode(text, forced)?;
    let text = PageText {
        text: decoded.text,
        encoding: decoded.encoding,
        size: file.size(),
        lines,
        total: map.total(),
    };
    Ok(reply(text, page, limit)?.holding(held))
}

/// Note on a text with lone carriage returns as line ends.
pub(super) const LONE_CR: &str = "this file ends its lines with CR alone, so it counts as one line";

/// Reads the start of the file, enough to detect binary data.
pub(super) fn head(file: &Checked<Read>) -> Result<Vec<u8>, Error> {
    let mut head = vec![0; 4096];
    let read = Reader::new(file, 0)
        .read(&mut head)
        .map_err(|source| read_failed(file, source))?;
    head.truncate(read);
    Ok(head)
}

fn read_failed(file: &Checked<Read>, source: io::Error) -> Error {
    Error::Fs(FsError::Io {
        path: file.display_path().into(),
        doing: "read",
        source,
    })
}

fn lines(page: Page, map: &LineMap) -> Result<Range<u64>, Error> {
    page.lines(map.total()).ok_or_else(|| {
        let (offset, total) = (page.offset, map.total());
        Error::params(format!(
            "`offset` of read_file is {offset}; the file has {total} lines"
        ))
    })
}

/// Lines of a file.
struct PageText {
    text: String,
    encoding: Encoding,
    /// Size of the file in bytes.
    size: u64,
    lines: Range<u64>,
    /// Number of lines of the file.
    total: u64,
}

/// Cuts the text to whole lines within the limit, starting at byte `skip` of the first line. A
/// longer first line is cut.
fn reply(page: PageText, asked: Page, limit: TextLimit) -> Result<Reply<()>, Error> {
    let PageText {
        mut text,
        encoding,
        size,
        mut lines,
        total,
    } = page;
    let skip = asked.skip;
    let (line, first) = (lines.start + 1, text.find('\n').unwrap_or(text.len()));
    if skip > first {
        let column = skip + 1;
        return Err(Error::params(format!(
            "`column` of read_file is {column}; line {line} has {first} bytes"
        )));
    }
    let skip = text.floor_char_boundary(skip);
    text.drain(..skip);
    if asked.has_numbers && skip == 0 {
        text = numbered(&text, line);
    }
    let mut part = None;
    if !limit.holds(&text) {
        let end = limit.bytes_of(&text);
        let whole = whole_lines(&text, end);
        if whole == 0 {
            let (from, to) = (skip + 1, skip + end);
            part = (to < first).then(|| {
                format!("line {line}: bytes {from}-{to} of {first}; column {} reads on, maxTokens shows more", to + 1)
            });
        }
        text.truncate(if whole == 0 { end } else { whole });
        let count = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        lines.end = lines.start + count + u64::from(whole == 0);
    }
    let ending = LineEndings::of(text.as_bytes());
    let mut content = vec![Content::Text(text)];
    if ending == LineEndings::Cr {
        content.push(Content::note(LONE_CR));
    }
    if !encoding.is_utf8() {
        content.push(Content::note(note(encoding.name())));
    }
    content.extend(part.map(Content::note));
    if lines.start > 0 || lines.end < total {
        let mut place = format!("lines {}-{} of {total}", lines.start + 1, lines.end);
        if lines.end < total {
            place.push_str("; next offset ");
            place.push_str(&(lines.end + 1).to_string());
        }
        content.push(Content::note(place));
    }
    Ok(Reply::content(content)
        .meta("encoding", encoding.name())
        .meta("binary", false)
        .meta("size", size)
        .meta("lineEnding", ending.name()))
}

/// Returns a text with the number of each line, of which the first has number `first`.
fn numbered(text: &str, first: u64) -> String {
    let mut numbered = String::with_capacity(text.len() + text.len() / 8);
    for (number, line) in (first..).zip(text.split_inclusive('\n')) {
        // A write to a `String` cannot fail.
        let _ = write!(numbered, "{number}: {line}");
    }
    numbered
}

/// Error for a file above the size limit.
pub(super) fn too_large(path: &Path, size: u64) -> Error {
    Error::Unsuitable {
        message: format!(
            "`{}` is {size} bytes; at most {MAX_READ_BYTES} bytes are read whole",
            show_path(path)
        ),
        hint: "page through it with offset and limit (lines), or find the place with grep_files"
            .into(),
    }
}

/// Note on a text that is not UTF-8.
pub(super) fn note(encoding: &str) -> String {
    format!(
        "decoded from {encoding}; edit_file keeps that encoding, write_file needs encoding: \"{encoding}\""
    )
}
