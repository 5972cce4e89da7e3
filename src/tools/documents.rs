//! Pictures and documents for `read_file`, decoded by a confined process (`exec::read_apart`).

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::fd::AsFd as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use replay_base::budget::Purpose;
use replay_base::limits::MAX_DOCUMENT_TEXT_BYTES;
use replay_base::limits::{MAX_PICTURE_BYTES, MAX_PICTURE_SIDE};
use replay_base::text::encoding::is_binary;
use replay_base::text::escape::show_path;
use replay_base::text::mime::media;
use replay_files::fs::{FsError, Reader};
use replay_files::policy::{Checked, Read};
use replay_mcp::protocol::Content;
use replay_sandbox::exec::{ReaderError, ReaderLimits, read_apart};
use replay_search::documents::{
    ConvertedPicture, DocumentKind, Part, Question, ReaderAnswer, Size, claimed, kind,
    picture_size, read_answer,
};

use super::{Context, Reply};
use crate::error::Error;

/// Memory for a decoded pixel, in bytes, with room for 16 bits a colour or for a copy.
const PICTURE_BYTES_PER_PIXEL: usize = 8;
/// Memory for a pixel between the two steps of scaling, in bytes.
const PICTURE_BYTES_PER_SCALED_PIXEL: usize = 16;
/// Length of the beginning and of the end of a file that are read to detect its type, in bytes.
const DOCUMENT_HEAD_BYTES: usize = 64 * 1024;
/// Largest document or picture that is read, in bytes.
const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;
/// Base memory of a process that reads a document or a picture, in bytes, besides the part that
/// depends on the file's size.
const DOCUMENT_MEMORY_BYTES: usize = 128 * 1024 * 1024;
/// Memory of a process that reads a document, as a multiple of the length of the document.
const DOCUMENT_MEMORY_COPIES: usize = 8;
/// Most memory of a process that reads a document, in bytes.
const MAX_READER_MEMORY_BYTES: usize = 1024 * 1024 * 1024;
/// Longest answer of a reader, in bytes.
const MAX_ANSWER_BYTES: usize = MAX_DOCUMENT_TEXT_BYTES + 4096;

/// Decoded content of a picture or a document.
pub(super) enum DocumentContent {
    Picture(Reply<()>),
    Text(String),
    /// A picture that can be sent unchanged.
    Nothing,
}

/// Other tools see the lines of the JSON instead.
const NOTEBOOK_NOTE: &str = "cells and outputs; `encoding: \"utf-8\"` shows the JSON, whose line \
    numbers grep_files and edit_file use";

/// Returns true if the file name belongs to a format of [`read`].
pub(super) fn is_claimed(file: &Checked<Read>) -> bool {
    claimed(name(file)).is_some()
}

/// Reads a document or picture. Returns `None` for other files.
pub(super) fn read(
    context: &Context<'_>,
    file: &Checked<Read>,
    part: Part,
) -> Result<Option<DocumentContent>, Error> {
    let head = bytes_at(file, 0)?;
    let tail = if head.starts_with(b"PK") {
        bytes_at(file, file.size().saturating_sub(DOCUMENT_HEAD_BYTES as u64))?
    } else {
        Vec::new()
    };
    let Some(kind) = kind(name(file), &head, &tail) else {
        return claimed(name(file)).map_or(Ok(None), |claim| Err(is_not(file, claim, &head)));
    };
    let foreign = match (kind, part) {
        (DocumentKind::Picture, Part { pages: Some(_), .. }) => Some(("pages", "picture")),
        (
            DocumentKind::Notebook | DocumentKind::Pdf | DocumentKind::Office,
            Part {
                region: Some(_), ..
            },
        ) => Some(("region", "document")),
        _ => None,
    };
    if let Some((parameter, what)) = foreign {
        let path = show_path(file.display_path());
        return Err(Error::params(format!(
            "`{parameter}` of read_file does not apply: `{path}` is a {what}"
        )));
    }
    let wanted = if kind == DocumentKind::Picture {
        let size = picture_size(&head);
        let is_small = size.is_some_and(|size| size.width.max(size.height) <= MAX_PICTURE_SIDE);
        if part.region.is_none() && is_small && file.size() <= MAX_PICTURE_BYTES as u64 {
            return Ok(Some(DocumentContent::Nothing));
        }
        size.map_or(usize::MAX, pixels)
    } else {
        (file.size() as usize).saturating_mul(DOCUMENT_MEMORY_COPIES)
    };
    let memory_bytes = memory(context, wanted);
    let question = Question {
        kind,
        part,
        memory_bytes: memory_bytes as u64,
    };
    let limits = ReaderLimits {
        memory_bytes,
        file_bytes: MAX_DOCUMENT_BYTES,
        answer_bytes: MAX_ANSWER_BYTES,
    };
    let question = serde_json::to_string(&question).map_err(Error::output)?;
    let held = context.room().take(memory_bytes)?;
    let said = context.at_length(|| read_apart(file.as_fd(), &question, limits, context.cancel));
    drop(held);
    let said = said.map_err(|error| refused(file, &error))?;
    let unsound = || {
        failed(
            file,
            "the helper process that reads it sent an invalid answer",
        )
    };
    match read_answer(&said).ok_or_else(unsound)? {
        (ReaderAnswer::AsItIs, _) => Ok(Some(DocumentContent::Nothing)),
        (ReaderAnswer::Picture(shown), picture) => Ok(Some(DocumentContent::Picture(
            picture_reply(file, shown, picture),
        ))),
        (ReaderAnswer::Text, text) => {
            let text = String::from_utf8(text.to_vec()).map_err(|_| unsound())?;
            Ok(Some(DocumentContent::Text(match kind {
                DocumentKind::Notebook => format!("[{NOTEBOOK_NOTE}]\n{text}"),
                DocumentKind::Picture | DocumentKind::Pdf | DocumentKind::Office => text,
            })))
        }
        (ReaderAnswer::Fault(reason), _) => Err(Error::Unsuitable {
            message: format!("`{}` {reason}", show_path(file.display_path())),
            hint: "ask for a part that exists, or use a command that reads this format".into(),
        }),
    }
}

fn name(file: &Checked<Read>) -> &[u8] {
    file.display_path()
        .file_name()
        .unwrap_or_default()
        .as_encoded_bytes()
}

fn bytes_at(file: &Checked<Read>, offset: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = Reader::new(file, offset)
        .take(DOCUMENT_HEAD_BYTES as u64)
        .read_to_end(&mut bytes);
    read.map_err(|source| {
        Error::Fs(FsError::Io {
            path: file.display_path().into(),
            doing: "read",
            source,
        })
    })?;
    Ok(bytes)
}

/// Memory to decode a picture of this size, and to scale it.
fn pixels(size: Size) -> usize {
    let (width, height) = (size.width as usize, size.height as usize);
    let scaled = width.saturating_mul(MAX_PICTURE_SIDE as usize * PICTURE_BYTES_PER_SCALED_PIXEL);
    width
        .saturating_mul(height)
        .saturating_mul(PICTURE_BYTES_PER_PIXEL)
        .saturating_add(scaled)
}

/// Limits the memory to that of one reader.
fn memory(context: &Context<'_>, wanted: usize) -> usize {
    let most = context.services.account.most(Purpose::Work) / 2;
    wanted
        .saturating_add(DOCUMENT_MEMORY_BYTES)
        .min(MAX_READER_MEMORY_BYTES)
        .min(most)
}

fn picture_reply(file: &Checked<Read>, shown: ConvertedPicture, picture: &[u8]) -> Reply<()> {
    let ConvertedPicture {
        form,
        size,
        region,
        original,
        is_animated,
    } = shown;
    let [x, y, width, height] = region;
    let said = |size: Size| format!("{} x {}", size.width, size.height);
    let mut note = if [width, height] == [original.width, original.height] {
        format!("{} pixels", said(original))
    } else {
        format!(
            "region [{x}, {y}, {width}, {height}] of {} pixels",
            said(original)
        )
    };
    if size != (Size { width, height }) {
        // A write to a `String` cannot fail.
        let _ = write!(
            note,
            ", scaled to {}; `region` gives a part at full size",
            said(size)
        );
    }
    if is_animated {
        note.push_str("; the first picture of an animation");
    }
    let image = Content::Image {
        data: STANDARD.encode(picture),
        mime: form.media_type().to_owned(),
    };
    Reply::content(vec![image, Content::note(note)])
        .meta("encoding", "base64")
        .meta("binary", true)
        .meta("size", file.size())
}

fn is_not(file: &Checked<Read>, claim: &str, head: &[u8]) -> Error {
    let (is, hint) = match head {
        [] => ("an empty file", "write it first"),
        head if is_binary(head) => (
            media(b"", head).media_type,
            "use a command that knows its format",
        ),
        _ => ("text", "`encoding`, such as utf-8, reads it as text"),
    };
    let (path, size) = (show_path(file.display_path()), file.size());
    Error::Unsuitable {
        message: format!(
            "`{path}` has the name of {claim}, but its content is {is} ({size} bytes)"
        ),
        hint: hint.into(),
    }
}

fn refused(file: &Checked<Read>, error: &ReaderError) -> Error {
    match error {
        ReaderError::Cancelled => Error::Cancelled,
        ReaderError::Start(_) | ReaderError::Unwalled(_) => Error::Refused {
            what: "reading pictures and documents",
            reason: error.to_string(),
            hint: "ask the operator to look at the reason, or read the file with a command",
        },
        ReaderError::Failed(_) | ReaderError::TooSlow | ReaderError::TooLong(_) => {
            failed(file, &error.to_string())
        }
    }
}

fn failed(file: &Checked<Read>, why: &str) -> Error {
    Error::Unsuitable {
        message: format!("`{}` cannot be read: {why}", show_path(file.display_path())),
        hint: "the file may be damaged; ask for less of it with `pages` or `region`, or use a \
            command that reads this format"
            .into(),
    }
}
