//! `read_multiple_files`: reads several files in one call, in the given order. One failure does not
//! affect the others.

use std::fmt::Write as _;

use replay_base::limits::{DECODING_COPIES, MAX_READ_BYTES, READ_COPIES};
use replay_base::text::encoding;
use replay_base::text::mime::media;
use replay_files::fs;
use replay_files::policy::{Checked, Read};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_search::documents::Part;
use schemars::JsonSchema;
use serde::Deserialize;

use super::documents::{self, DocumentContent};
use super::text_limit::TextLimit;
use super::{Context, Hints, Reply, Tool, Toolset};
use super::{page, parallel, read_file};
use crate::error::Error;

/// Most files in one `read_multiple_files` call.
const MAX_READ_FILES: usize = 50;
/// Most that one `read_multiple_files` call reads in all, in bytes.
const MAX_READ_TOTAL_BYTES: u64 = 32 * 1024 * 1024;

/// Reads up to fifty files.
pub(super) struct ReadMultipleFiles;

/// Arguments of `read_multiple_files`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Files to read; globs are not expanded
    #[schemars(length(min = 1, max = MAX_READ_FILES))]
    paths: Vec<String>,
}

impl Tool for ReadMultipleFiles {
    type Params = Params;
    type Output = ();
    const NAME: &'static str = "read_multiple_files";
    const TITLE: &'static str = "Read several files";
    const DESCRIPTION: &'static str = "Read up to 50 text files in order, each as path:\\ncontent. A file that \
        cannot be read is reported in its place.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<()>, Error> {
        // Opened in order, so that the files above the total limit do not depend on chance.
        let mut left = MAX_READ_TOTAL_BYTES;
        let opened: Vec<(&String, Result<Checked<Read>, Error>)> = params
            .paths
            .iter()
            .map(|path| {
                let file = read_file::open(context, path).and_then(|file| fits(file, &mut left));
                (path, file)
            })
            .collect();
        let mut held = context.room().share();
        context.room().cover(
            &mut held,
            (MAX_READ_TOTAL_BYTES - left) as usize * READ_COPIES,
        )?;
        let texts = parallel::map(&opened, |(_, file)| {
            match file.as_ref().map(|file| read(context, file)) {
                Ok(Ok(read)) => read,
                Ok(Err(error)) => (format!("[error: {error}]"), None),
                Err(error) => (format!("[error: {error}]"), None),
            }
        });
        let mut left = context.limit();
        let (mut content, mut hidden) = (Vec::new(), Vec::new());
        for (path, (mut text, note)) in params.paths.iter().zip(texts) {
            if context.is_lean() && left.is_spent() {
                hidden.push(path.as_str());
                continue;
            }
            let room = if context.is_lean() {
                left.without_frame(path)
            } else {
                left
            };
            let rest = cut(&mut text, room);
            if !context.is_lean() {
                left = left.after(&text);
            }
            for note in note.into_iter().chain(rest) {
                // A write to a `String` cannot fail.
                let _ = write!(text, "\n[{note}]");
            }
            let block = format!("{path}:\n{text}");
            if context.is_lean() {
                left = left.after(&block);
            }
            content.push(Content::Text(block));
        }
        content.extend(read_file::hidden_note(&hidden));
        Ok(Reply {
            held,
            ..Reply::content(content)
        })
    }
}

/// Cuts the text to whole lines within a limit. Returns a note on the rest.
fn cut(text: &mut String, limit: TextLimit) -> Option<String> {
    if limit.holds(text) {
        return None;
    }
    let all = text.lines().count();
    text.truncate(limit.lines_of(text));
    let shown = text.lines().count();
    Some(format!(
        "{shown} of {all} lines are shown, since the reply is full; read_file with offset {} reads on",
        shown + 1
    ))
}

fn fits(file: Checked<Read>, left: &mut u64) -> Result<Checked<Read>, Error> {
    let size = file.size();
    if size > MAX_READ_BYTES {
        return Err(page::too_large(file.display_path(), size));
    }
    match left.checked_sub(size) {
        Some(rest) => {
            *left = rest;
            Ok(file)
        }
        None => Err(Error::Unsuitable {
            message: format!(
                "the file has {size} bytes, and the files before it used up the \
                 {MAX_READ_TOTAL_BYTES} bytes of one call; read it in another call"
            ),
            hint: "read fewer files in one call".into(),
        }),
    }
}

/// Returns the text or a placeholder, and a note on it.
fn read(context: &Context<'_>, file: &Checked<Read>) -> Result<(String, Option<String>), Error> {
    if documents::is_claimed(file)
        && let Some(DocumentContent::Text(text)) = documents::read(context, file, Part::default())?
    {
        return Ok((text, None));
    }
    let bytes = fs::read_all(file, MAX_READ_BYTES)?;
    let size = bytes.len();
    let mut held = context.room().share();
    if std::str::from_utf8(&bytes).is_err() {
        context.room().cover(&mut held, size * DECODING_COPIES)?;
    }
    let name = file.display_path().file_name().unwrap_or_default();
    let media_type = media(name.as_encoded_bytes(), &bytes[..size.min(64)]).media_type;
    Ok(match encoding::detect_and_decode(bytes, None) {
        Ok(decoded) if decoded.encoding.is_utf8() => (decoded.text, None),
        Ok(decoded) => (decoded.text, Some(page::note(decoded.encoding.name()))),
        Err(_) => (
            format!("[binary: {media_type}, {size} bytes; read_file returns it]"),
            None,
        ),
    })
}
