//! `read_file`: one file as text, picture, sound or bytes; whole, or a page of lines.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;

use super::page::{self, note, too_large};
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::fs;
use crate::limits::{DECODING_COPIES, MAX_READ_BYTES, QUICK_BYTES, READ_COPIES};
use crate::policy::{Checked, Kind, Read};
use crate::protocol::Content;
use crate::text::encoding::{self, Decoded};
use crate::text::escape::{file_uri, show_path};
use crate::text::lines::LineEndings;
use crate::text::mime::{MediaKind, media};
use crate::text::page::Page;

pub struct ReadFile;

/// Arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// File to read
    #[schemars(extend("x-aliases" = ["file_path", "filePath", "file"]))]
    path: String,
    /// First line, from 1; negative counts from the end
    offset: Option<i64>,
    /// Most lines to return
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Force an encoding, such as latin1 (default: detected)
    encoding: Option<String>,
    /// As `limit`, from the first line.
    #[schemars(range(min = 1), extend("x-hidden" = true))]
    head: Option<u64>,
    /// As `offset` with a minus.
    #[schemars(range(min = 1), extend("x-hidden" = true))]
    tail: Option<i64>,
}

impl Tool for ReadFile {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read a file";
    const DESCRIPTION: &'static str = "Read a file: text in any common encoding, images and audio as such, other binary \
        as a blob. Files over 10 MiB need offset and limit (lines).";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Quick;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        let file = open(context, &params.path)?;
        if file.size() > QUICK_BYTES as u64 {
            return context.at_length(|| read(context, &file, &params));
        }
        read(context, &file, &params)
    }
}

fn read(context: &Context<'_>, file: &Checked<Read>, params: &Params) -> Result<Reply<()>, Error> {
    let offset = params.offset.or(params.tail.map(|lines| -lines));
    let limit = params.limit.or(params.head);
    if offset.is_none() && limit.is_none() {
        return whole(context, file, params.encoding.as_deref());
    }
    let page = Page { offset: offset.unwrap_or(1), limit };
    if page.offset == 0 {
        return Err(Error::params("`offset` of read_file is 0; it must be 1 or more, or negative from the end"));
    }
    page::read(file, page, params.encoding.as_deref(), context.room())
}

/// Opens a file for reading; a directory is an error that names the right tool.
pub(super) fn open(context: &Context<'_>, path: &str) -> Result<Checked<Read>, Error> {
    let file = context.services.policy.read(path)?;
    if file.kind() == Kind::Directory {
        return Err(Error::Unsuitable {
            message: format!("`{}` is a directory", show_path(file.shown())),
            hint: "use list_directory or directory_tree".into(),
        });
    }
    Ok(file)
}

fn whole(context: &Context<'_>, file: &Checked<Read>, forced: Option<&str>) -> Result<Reply<()>, Error> {
    if file.size() > MAX_READ_BYTES {
        return Err(too_large(file.shown(), file.size()));
    }
    let mut held = context.room().share();
    context.room().cover(&mut held, file.size() as usize * READ_COPIES)?;
    let bytes = fs::read_all(file, MAX_READ_BYTES)?;
    let size = bytes.len();
    let is_text = std::str::from_utf8(&bytes).is_ok() && forced.is_none();
    if !is_text {
        context.room().cover(&mut held, size * (READ_COPIES + DECODING_COPIES))?;
    }
    let reply = if let Some(label) = forced {
        text(encoding::detect_and_decode(bytes, Some(label))?, size)
    } else {
        by_content(file, bytes)?
    };
    Ok(reply.holding(held))
}

/// As text, as a picture or sound, or as bytes.
fn by_content(file: &Checked<Read>, bytes: Vec<u8>) -> Result<Reply<()>, Error> {
    let size = bytes.len();
    let is_binary = encoding::is_binary(&bytes);
    if !is_binary && std::str::from_utf8(&bytes).is_ok() {
        return Ok(text(encoding::detect_and_decode(bytes, None)?, size));
    }
    let name = file.shown().file_name().unwrap_or_default().as_bytes();
    let media = media(name, &bytes[..size.min(64)]);
    // A picture that is text, such as SVG, is more use as text.
    if is_binary || media.kind != MediaKind::Other {
        return Ok(binary(file.shown(), &bytes, media.kind, media.media_type));
    }
    // What turns out to be no text is still wanted as bytes.
    match encoding::detect_and_decode(bytes.clone(), None) {
        Ok(decoded) => Ok(text(decoded, size)),
        Err(_) => Ok(binary(file.shown(), &bytes, media.kind, media.media_type)),
    }
}

fn text(decoded: Decoded, size: usize) -> Reply<()> {
    let Decoded { text, encoding, had_bom } = decoded;
    let ending = LineEndings::of(text.as_bytes());
    let mut content = vec![Content::Text(text)];
    if !encoding.is_utf8() {
        content.push(Content::text(note(encoding.name())));
    }
    Reply::content(content)
        .meta("encoding", encoding.name())
        .meta("bom", had_bom)
        .meta("binary", false)
        .meta("size", size)
        .meta("lineEnding", ending.name())
}

fn binary(path: &Path, bytes: &[u8], kind: MediaKind, mime: &'static str) -> Reply<()> {
    let (data, mime, uri) = (STANDARD.encode(bytes), mime.to_owned(), file_uri(path.as_os_str().as_bytes()));
    let block = match kind {
        MediaKind::Image => Content::Image { data, mime },
        MediaKind::Audio => Content::Audio { data, mime, uri },
        MediaKind::Other => Content::Blob { uri, mime, blob: data },
    };
    Reply::content(vec![block]).meta("encoding", "base64").meta("binary", true).meta("size", bytes.len())
}
