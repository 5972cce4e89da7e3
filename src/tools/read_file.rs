//! `read_file`: reads a file as text, picture, sound or bytes; whole, or a page of lines.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_base::limits::{DECODING_COPIES, MAX_READ_BYTES, QUICK_BYTES, READ_COPIES};
use replay_base::text::encoding::{self, Decoded, Encoding};
use replay_base::text::escape::{file_uri, show, show_path};
use replay_base::text::fold::plain;
use replay_base::text::lines::LineEndings;
use replay_base::text::mime::{MediaKind, media};
use replay_base::text::page::Page;
use replay_files::fs;
use replay_files::policy::{Checked, FileKind, Read};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_sandbox::exec::{ExecError, LOGS, Log};
use replay_search::documents::{Part, Region};
use schemars::JsonSchema;
use serde::Deserialize;

use super::documents::{self, DocumentContent};
use super::page::{self, note, too_large};
use super::text_limit::TextLimit;
use super::{Context, Hints, Reply, Tool, Toolset, hash};
use crate::error::Error;

/// Largest binary file that is sent as it is, unless it is a picture, in bytes.
const MAX_BLOB_BYTES: usize = 64 * 1024;

/// Files that a note names of those for which a reply has no room.
const MAX_HIDDEN_FILES: usize = 20;
/// Logs that the error about an unknown one names.
const MAX_NAMED_LOGS: usize = 5;
/// Most ranges of one call.
const MAX_RANGES: usize = 50;
/// Tokens of a file longer than two replies that are shown at first.
const BEGINNING_TOKENS: usize = 1800;

pub(super) struct ReadFile;

/// Arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// File
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: Option<String>,
    /// Instead: lines of several files, as a.rs:10-40
    #[schemars(length(min = 1, max = MAX_RANGES))]
    ranges: Option<Vec<String>>,
    /// First line, from 1; negative: from the end
    offset: Option<i64>,
    /// Most lines
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Such as latin1 (default: detected)
    encoding: Option<String>,
    /// Number the lines
    numbers: Option<bool>,
    /// Most text
    #[serde(rename = "maxTokens")]
    #[schemars(range(min = 1), extend("x-aliases" = ["max_tokens"]))]
    #[expect(dead_code, reason = "it is read for all tools")]
    max_tokens: Option<u64>,
    /// Pages, sheets, slides or cells: 3, 3-7
    pages: Option<String>,
    /// Part of a picture: x, y, width, height
    region: Option<Region>,
    /// First byte of the first line, from 1. Replies that cut a line name it.
    #[schemars(range(min = 1), extend("x-hidden" = true))]
    column: Option<usize>,
    /// Same as `limit`, from the first line.
    #[schemars(range(min = 1), extend("x-hidden" = true))]
    head: Option<u64>,
    /// Same as `offset` with a minus.
    #[schemars(range(min = 1), extend("x-hidden" = true))]
    tail: Option<i64>,
}

impl Tool for ReadFile {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read a file";
    const DESCRIPTION: &'static str = "Read a file: text in any encoding; pictures, scaled if large; PDF, Office and notebooks as \
        text; other binary up to 64 KiB. Text over 10 MiB needs offset and limit.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Quick;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let path = match (&params.path, &params.ranges) {
            (Some(path), None) => path,
            (None, Some(ranges)) => {
                return context.at_length(|| read_ranges(context, ranges, &params));
            }
            _ => {
                return Err(Error::params(
                    "read_file needs either `path` or `ranges`; give one of them",
                ));
            }
        };
        if path.starts_with(LOGS) {
            return log(context, path, &params);
        }
        let file = open(context, path)?;
        if file.size() > QUICK_BYTES as u64 {
            return context.at_length(|| read(context, &file, &params));
        }
        read(context, &file, &params)
    }
}

fn read(context: &Context<'_>, file: &Checked<Read>, params: &Params) -> Result<Reply<()>, Error> {
    let (forced, limit) = (params.encoding.as_deref(), limit(context, params));
    let (page, part) = (page(params)?, part(params)?);
    let is_partial = part.region.is_some() || part.pages.is_some();
    // A file that is read whole as text is recognized only by its name.
    let may_be =
        is_partial || page.is_some() || file.size() > MAX_READ_BYTES || documents::is_claimed(file);
    if forced.is_none() && may_be {
        match documents::read(context, file, part)? {
            Some(DocumentContent::Picture(_)) if page.is_some() => {
                return Err(page::no_lines(file));
            }
            Some(DocumentContent::Picture(reply)) => return Ok(reply),
            Some(DocumentContent::Text(text)) => {
                return page::of_text(
                    &text,
                    Encoding::UTF_8,
                    page.unwrap_or(WHOLE),
                    limit,
                    file.size(),
                );
            }
            Some(DocumentContent::Nothing) | None => {}
        }
    }
    if is_partial {
        let path = show_path(file.display_path());
        let message = format!(
            "`region` and `pages` of read_file apply to pictures and documents, and `{path}` is \
             neither; leave them out"
        );
        return Err(Error::params(message));
    }
    match page {
        Some(page) => page::read(file, page, forced, limit, context.room()),
        None => whole(context, file, forced, limit),
    }
}

fn part(params: &Params) -> Result<Part, Error> {
    let pages = params.pages.as_ref().map(|pages| {
        let wrong = || {
            format!(
                "`pages` of read_file is \"{pages}\"; it must be one number from 1 or a range, such as 3, 3-7 or 3-"
            )
        };
        pages.parse().map_err(|()| Error::params(wrong()))
    });
    Ok(Part {
        region: params.region,
        pages: pages.transpose()?,
    })
}

/// Returns the limit for a file that is read whole. The beginning of a very long one is enough to
/// see what it is.
fn limit_of_whole(context: &Context<'_>, limit: TextLimit, text: &str) -> TextLimit {
    let is_asked = context.max_tokens.is_some() || !context.is_lean();
    if is_asked || limit.doubled().holds(text) {
        limit
    } else {
        limit.at_most_tokens(BEGINNING_TOKENS)
    }
}

/// Returns the limit of the reply's text.
fn limit(context: &Context<'_>, params: &Params) -> TextLimit {
    let from_end = params.tail.is_some() || params.offset.is_some_and(|offset| offset < 0);
    if from_end || params.limit.or(params.head).is_some() {
        context.limit_of_measured()
    } else {
        context.limit()
    }
}

/// Returns the requested lines; `None` for all.
fn page(params: &Params) -> Result<Option<Page>, Error> {
    let offset = params.offset.or(params.tail.map(|lines| -lines));
    let limit = params.limit.or(params.head);
    if offset == Some(0) {
        return Err(Error::params(
            "`offset` of read_file is 0; it must be 1 or more, or negative from the end",
        ));
    }
    let has_numbers = params.numbers == Some(true);
    let is_part = offset.is_some() || limit.is_some() || params.column.is_some() || has_numbers;
    let skip = params.column.map_or(0, |column| column - 1);
    Ok(is_part.then(|| Page {
        offset: offset.unwrap_or(1),
        limit,
        skip,
        has_numbers,
    }))
}

const WHOLE: Page = Page {
    offset: 1,
    limit: None,
    skip: 0,
    has_numbers: false,
};

/// Lines of a file, as `a.rs:10-40`, `a.rs:10` or `a.rs`.
#[derive(Debug, PartialEq, Eq)]
struct LineRange<'a> {
    path: &'a str,
    first: i64,
    count: Option<u64>,
}

impl<'a> LineRange<'a> {
    fn parse(text: &'a str) -> Self {
        let whole = Self {
            path: text,
            first: 1,
            count: None,
        };
        let Some((path, lines)) = text.rsplit_once(':') else {
            return whole;
        };
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        match (first.parse::<i64>(), last.parse::<i64>()) {
            (Ok(first), Err(_)) if 0 < first && last.is_empty() => Self {
                path,
                first,
                count: None,
            },
            (Ok(first), Ok(last)) if 0 < first && first <= last => Self {
                path,
                first,
                count: Some(first.abs_diff(last) + 1),
            },
            _ => whole,
        }
    }
}

/// Note on files for which a reply has no room.
pub(super) fn hidden_note(hidden: &[&str]) -> Option<Content> {
    let named: Vec<String> = hidden
        .iter()
        .take(MAX_HIDDEN_FILES)
        .map(|path| format!("`{}`", show(path.as_bytes())))
        .collect();
    let more = match hidden.len().saturating_sub(MAX_HIDDEN_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| {
        Content::note(format_args!(
            "not shown, since the reply is full: {}{more}",
            named.join(", ")
        ))
    })
}

/// Reads lines of several files, each below its range. A file that cannot be read is reported in
/// its place.
fn read_ranges(
    context: &Context<'_>,
    ranges: &[String],
    params: &Params,
) -> Result<Reply<()>, Error> {
    let mut limit = context.limit();
    let mut content = Vec::with_capacity(ranges.len());
    let mut held = context.room().share();
    let mut hidden = Vec::new();
    for range in ranges {
        if limit.is_spent() {
            hidden.push(range.as_str());
            continue;
        }
        let LineRange { path, first, count } = LineRange::parse(range);
        let page = Page {
            offset: first,
            limit: count,
            skip: 0,
            has_numbers: params.numbers == Some(true),
        };
        let (encoding, room) = (params.encoding.as_deref(), context.room());
        let most = limit.without_frame(range);
        let read = if path.starts_with(LOGS) {
            read_log(context, path).and_then(|log| {
                let text = String::from_utf8_lossy(&log);
                page::of_text(&text, Encoding::UTF_8, page, most, log.len() as u64)
            })
        } else {
            open(context, path).and_then(|file| page::read(&file, page, encoding, most, room))
        };
        let mut text = format!("{range}\n");
        match read {
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => {
                // A write to a `String` cannot fail.
                let _ = writeln!(text, "[error: {error}]");
            }
            Ok(mut reply) => {
                let lines = reply.content.remove(0);
                let lines = lines.as_text().unwrap_or_default();
                text.push_str(lines);
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                let is_whole = count.is_some_and(|count| lines.lines().count() as u64 == count);
                let notes = reply.content.iter().filter_map(Content::as_text);
                for note in notes.filter(|_| !is_whole) {
                    let _ = writeln!(text, "{note}");
                }
                held.join(reply.held);
            }
        }
        limit = limit.after(&text);
        content.push(Content::Text(text));
    }
    content.extend(hidden_note(&hidden));
    Ok(Reply::content(content).holding(held))
}

/// Returns a log of a program's output, without colours.
pub(super) fn read_log(context: &Context<'_>, path: &str) -> Result<Vec<u8>, Error> {
    let log = find_log(context, path)?;
    let bytes = log.kept.read(0, log.kept.len());
    Ok(plain(&bytes.map_err(ExecError::Follow)?).into_owned())
}

fn find_log(context: &Context<'_>, path: &str) -> Result<Arc<Log>, Error> {
    context.services.logs.find(path).ok_or_else(|| {
        let kept: Vec<String> = context
            .services
            .logs
            .all()
            .iter()
            .rev()
            .take(MAX_NAMED_LOGS)
            .map(|log| format!("`{}`", log.uri))
            .collect();
        let kept = match kept.len() {
            0 => "none is kept".to_owned(),
            _ => format!("the latest are {}", kept.join(", ")),
        };
        Error::params(format!("no log `{}`; {kept}", show_path(Path::new(path))))
    })
}

/// Reads a log of a program's output.
fn log(context: &Context<'_>, path: &str, params: &Params) -> Result<Reply<()>, Error> {
    let log = find_log(context, path)?;
    let (page, size) = (page(params)?.unwrap_or(WHOLE), log.kept.len());
    let read = || {
        let mut held = context.room().share();
        context.room().cover(&mut held, size * READ_COPIES)?;
        let bytes = log.kept.read(0, size).map_err(ExecError::Follow)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(page::of_text(
            &text,
            Encoding::UTF_8,
            page,
            limit(context, params),
            size as u64,
        )?
        .holding(held))
    };
    if size > QUICK_BYTES {
        context.at_length(read)
    } else {
        read()
    }
}

/// Opens a file for reading; for a directory, the error names the right tool.
pub(super) fn open(context: &Context<'_>, path: &str) -> Result<Checked<Read>, Error> {
    let file = context.services.policy.read(path)?;
    if file.kind() == FileKind::Directory {
        return Err(Error::Unsuitable {
            message: format!("`{}` is a directory", show_path(file.display_path())),
            hint: "use list_directory or directory_tree".into(),
        });
    }
    Ok(file)
}

fn whole(
    context: &Context<'_>,
    file: &Checked<Read>,
    forced: Option<&str>,
    limit: TextLimit,
) -> Result<Reply<()>, Error> {
    if file.size() > MAX_READ_BYTES {
        let head = page::head(file)?;
        return Err(if encoding::is_binary(&head) && forced.is_none() {
            let name = file
                .display_path()
                .file_name()
                .unwrap_or_default()
                .as_bytes();
            too_large_blob(context, file, media(name, &head).media_type)?
        } else {
            too_large(file.display_path(), file.size())
        });
    }
    let mut held = context.room().share();
    context
        .room()
        .cover(&mut held, file.size() as usize * READ_COPIES)?;
    let bytes = fs::read_all(file, MAX_READ_BYTES)?;
    let size = bytes.len();
    let is_text = std::str::from_utf8(&bytes).is_ok() && forced.is_none();
    if !is_text {
        context
            .room()
            .cover(&mut held, size * (READ_COPIES + DECODING_COPIES))?;
    }
    let reply = if let Some(label) = forced {
        text(
            context,
            encoding::detect_and_decode(bytes, Some(label))?,
            size,
            limit,
        )?
    } else {
        read_by_content(context, file, bytes, limit)?
    };
    Ok(reply.holding(held))
}

/// Returns the content as text, picture, sound or bytes.
fn read_by_content(
    context: &Context<'_>,
    file: &Checked<Read>,
    bytes: Vec<u8>,
    limit: TextLimit,
) -> Result<Reply<()>, Error> {
    let size = bytes.len();
    let is_binary = encoding::is_binary(&bytes);
    if !is_binary && std::str::from_utf8(&bytes).is_ok() {
        let decoded = encoding::detect_and_decode(bytes, None)?;
        return text(context, decoded, size, limit);
    }
    let name = file
        .display_path()
        .file_name()
        .unwrap_or_default()
        .as_bytes();
    let media = media(name, &bytes[..size.min(64)]);
    // A textual picture, such as SVG, is more useful as text.
    if is_binary || media.kind != MediaKind::Other {
        return match documents::read(context, file, Part::default())? {
            Some(DocumentContent::Picture(reply)) => Ok(reply),
            Some(DocumentContent::Text(text)) => {
                page::of_text(&text, Encoding::UTF_8, WHOLE, limit, size as u64)
            }
            None if size > MAX_BLOB_BYTES => Err(too_large_blob(context, file, media.media_type)?),
            Some(DocumentContent::Nothing) | None => Ok(binary(
                file.display_path(),
                &bytes,
                media.kind,
                media.media_type,
            )),
        };
    }
    // Bytes that turn out not to be text are returned as bytes.
    match encoding::detect_and_decode(bytes.clone(), None) {
        Ok(decoded) => text(context, decoded, size, limit),
        Err(_) if size > MAX_BLOB_BYTES => Err(too_large_blob(context, file, media.media_type)?),
        Err(_) => Ok(binary(
            file.display_path(),
            &bytes,
            media.kind,
            media.media_type,
        )),
    }
}

fn text(
    context: &Context<'_>,
    decoded: Decoded,
    size: usize,
    limit: TextLimit,
) -> Result<Reply<()>, Error> {
    let limit = limit_of_whole(context, limit, &decoded.text);
    if !limit.holds(&decoded.text) {
        return page::of_text(&decoded.text, decoded.encoding, WHOLE, limit, size as u64);
    }
    let Decoded {
        text,
        encoding,
        had_bom,
    } = decoded;
    let ending = LineEndings::of(text.as_bytes());
    let mut content = vec![Content::Text(text)];
    if ending == LineEndings::Cr {
        content.push(Content::note(page::LONE_CR));
    }
    if !encoding.is_utf8() {
        content.push(Content::note(note(encoding.name())));
    }
    Ok(Reply::content(content)
        .meta("encoding", encoding.name())
        .meta("bom", had_bom)
        .meta("binary", false)
        .meta("size", size)
        .meta("lineEnding", ending.name()))
}

/// Error that describes a binary file above the size limit.
fn too_large_blob(
    context: &Context<'_>,
    file: &Checked<Read>,
    media_type: &str,
) -> Result<Error, Error> {
    let hash = hash::of_file(file, context.cancel)?
        .map(|hash| format!(", SHA-256 {hash}"))
        .unwrap_or_default();
    let (path, size) = (show_path(file.display_path()), file.size());
    Ok(Error::Unsuitable {
        message: format!(
            "`{path}` is {media_type}, {size} bytes{hash}; binary files over {MAX_BLOB_BYTES} bytes are not sent"
        ),
        hint: "use a command that knows its format".into(),
    })
}

fn binary(path: &Path, bytes: &[u8], kind: MediaKind, mime: &'static str) -> Reply<()> {
    let (data, mime, uri) = (
        STANDARD.encode(bytes),
        mime.to_owned(),
        file_uri(path.as_os_str().as_bytes()),
    );
    let block = match kind {
        MediaKind::Image => Content::Image { data, mime },
        MediaKind::Audio => Content::Audio { data, mime, uri },
        MediaKind::Other => Content::Blob {
            uri,
            mime,
            blob: data,
        },
    };
    Reply::content(vec![block])
        .meta("encoding", "base64")
        .meta("binary", true)
        .meta("size", bytes.len())
}
