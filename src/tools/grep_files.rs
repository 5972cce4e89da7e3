//! `grep_files`: searches files for lines that match a pattern.

use std::os::unix::ffi::OsStrExt;

use replay_base::limits::MAX_GREP_RESULTS;
use replay_base::text::escape::show_path;
use replay_files::policy::FileKind;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_pattern::{Options, Pattern, slip};
use replay_search::{FileHits, GrepOptions, Mode, grep, grep_one};
use schemars::JsonSchema;
use serde::Deserialize;

use super::grep_reply::{Output, assemble, bulk_note};
use super::list_directory::as_directory;
use super::notes::globs::{Outcome, glob_notes};
use super::notes::not_searched::NotSearched;
use super::odd_files;
use super::selection::{Selection, call, scope, unreadable_note};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Default and largest number of grep matches.
const DEFAULT_GREP_RESULTS: u64 = 500;
/// Largest `contextLines` of grep.
const MAX_CONTEXT_LINES: u64 = 50;
/// Default `maxBytes` of grep: what the text of a reply comes to before matches are only counted,
/// in bytes.
const DEFAULT_GREP_BYTES: u64 = 256 * 1024;
/// Largest `maxBytes` of grep.
const MAX_GREP_BYTES: u64 = 16 * 1024 * 1024;

pub(super) struct GrepFiles;

/// Arguments of `grep_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// JavaScript regex, matched line by line unless multiline
    #[schemars(extend("x-aliases" = ["pattern", "query"]))]
    regex: String,
    /// Search root; without it globs start at the first allowed directory
    #[schemars(extend("x-aliases" = ["path", "dir"]))]
    directory: Option<String>,
    /// Only these files: **/*.rs (relative to directory, or absolute)
    #[schemars(length(min = 1), extend("x-aliases" = ["glob", "include"]))]
    globs: Option<Vec<String>>,
    /// Left out; a bare name at any depth
    #[schemars(extend("x-aliases" = ["excludePatterns", "exclude", "exclude_globs"]))]
    exclude_globs: Option<Vec<String>>,
    /// Only these types (ripgrep's names): rust, py
    #[schemars(length(min = 1), extend("x-aliases" = ["type", "types", "fileType", "file_types"]))]
    file_types: Option<Vec<String>>,
    /// Ignore case
    #[schemars(extend("x-aliases" = ["case_insensitive", "ignoreCase"]))]
    case_insensitive: Option<bool>,
    /// Let matches span lines: \n and [^] match line breaks
    #[schemars(extend("x-aliases" = ["multi_line"]))]
    multiline: Option<bool>,
    /// Lines around each match
    #[schemars(range(min = 0, max = MAX_CONTEXT_LINES), extend("x-aliases" = ["context", "context_lines"]))]
    context_lines: Option<u64>,
    /// content: lines; files: paths; count: lines of each file
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["output_mode", "mode"]))]
    output_mode: OutputMode,
    /// Most matches (default 500); of files and count: most files
    #[schemars(range(min = 1, max = MAX_GREP_RESULTS), extend("x-aliases" = ["max_results", "limit"]))]
    max_results: Option<u64>,
    /// Most text in bytes (default 256 KiB)
    #[schemars(range(min = 1, max = MAX_GREP_BYTES), extend("x-aliases" = ["max_bytes"]))]
    max_bytes: Option<u64>,
    /// Obey .gitignore
    respect_gitignore: Option<bool>,
}

/// Kind of output.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum OutputMode {
    #[default]
    Content,
    Files,
    Count,
}

impl Tool for GrepFiles {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "grep_files";
    const TITLE: &'static str = "Search contents";
    const DESCRIPTION: &'static str = "Search file contents by regex; path:line:text, context lines with -. Needs \
        directory or globs. Binary files are searched only if named.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        if params.directory.is_none() && params.globs.is_none() {
            return Err(Error::params(
                "grep_files needs `directory` or `globs`; give at least one of them",
            ));
        }
        let pattern = Pattern::new(
            &params.regex,
            Options {
                case_insensitive: params.case_insensitive.unwrap_or_default(),
            },
        )?;
        let wanted = GrepOptions {
            mode: match params.output_mode {
                OutputMode::Content => Mode::Lines,
                OutputMode::Files => Mode::Files,
                OutputMode::Count => Mode::Count,
            },
            context: params.context_lines.unwrap_or(0) as usize,
            multiline: params.multiline.unwrap_or_default(),
            most: params.max_results.unwrap_or(DEFAULT_GREP_RESULTS),
            bytes: params.max_bytes.unwrap_or(DEFAULT_GREP_BYTES) as usize,
        };
        let select = || Selection {
            directory: None,
            globs: params.globs.as_deref(),
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            types: params.file_types.as_deref().unwrap_or_default(),
            respect_gitignore: params.respect_gitignore.unwrap_or_default(),
        };
        let progress = |files| {
            context
                .progress
                .report(files, None, &format!("{files} files searched"));
        };
        let call = call(context, &progress);
        let place = params
            .directory
            .as_deref()
            .map(|path| context.services.policy.read(path))
            .transpose()?;
        // A `directory` that is a file means that file.
        let file = place
            .as_ref()
            .filter(|place| place.kind() == FileKind::File && params.globs.is_none());
        let is_file = file.is_some();
        let (hits, root, globs) = if let Some(file) = file {
            (grep_one(call, file, &pattern, wanted)?, None, [].into())
        } else {
            let directory = place.map(as_directory).transpose()?;
            let scope = scope(
                context,
                Selection {
                    directory,
                    ..select()
                },
            )?;
            let (root, globs) = (scope.root().map(<[u8]>::to_vec), scope.globs());
            (grep(call, scope, &pattern, wanted)?, root, globs)
        };
        let (mut output, text) = assemble(&hits, wanted);
        if !params.regex.is_ascii() {
            let place = params
                .directory
                .as_deref()
                .map(|path| context.services.policy.read(path))
                .transpose()?;
            output.notes.extend(if is_file {
                odd_files::note(context, place.into_iter())
            } else {
                let directory = place.map(as_directory).transpose()?;
                odd_files::note_of(
                    context,
                    &scope(
                        context,
                        Selection {
                            directory,
                            ..select()
                        },
                    )?,
                )?
            });
        }
        let has_lone_cr = |file: &&FileHits| {
            file.hits
                .iter()
                .any(|hit| hit.text.trim_end_matches('\r').contains('\r'))
        };
        if let Some(file) = hits.files.iter().find(has_lone_cr) {
            let path = show_path(&file.path);
            output.notes.push(format!(
                "lines of `{path}` that end with CR alone are matched, and count as one line"
            ));
        }
        // Skipped images are expected; a skipped binary source file is not.
        let is_narrow = params.globs.is_some() || params.file_types.is_some();
        if hits.files.is_empty() || is_narrow && hits.left_out.binary_files > 0 {
            output.not_searched = NotSearched::of(hits.left_out);
        }
        let files = hits.searched;
        context
            .progress
            .report_now(files, Some(files), &format!("{files} files searched"));
        let note = root.and_then(|root| bulk_note(&hits, &output, &root, text.len()));
        let mut content = vec![Content::Text(text)];
        let outcome = match hits.files.is_empty() {
            _ if hits.more => Outcome::Cut,
            true => Outcome::Nothing,
            false => Outcome::Found,
        };
        let of_globs = glob_notes(
            context,
            &globs,
            outcome,
            params.directory.as_deref(),
            select(),
        );
        content.extend(
            of_globs
                .iter()
                .map(|note| Content::Text(format!("[{note}]"))),
        );
        if hits.files.is_empty() {
            if hits.searched == 0 && hits.left_out.is_empty() {
                content.push(Content::text(
                    "[no file was searched: directory, globs and fileTypes together match no file]",
                ));
            } else if !wanted.multiline && may_cross_lines(&params.regex) {
                content.push(Content::text(
                    "[a match cannot span lines: set `multiline: true` to allow it]",
                ));
            }
            content.extend(slip(&params.regex).map(|slip| Content::text(format!("[{slip}]"))));
        }
        content.extend(note.map(Content::Text));
        let unreadable = hits
            .unreadable
            .iter()
            .map(|path| path.as_os_str().as_bytes());
        content.extend(unreadable_note(unreadable).map(Content::Text));
        content.extend(
            output
                .notes
                .iter()
                .map(|note| Content::Text(format!("[{note}]"))),
        );
        output.notes.extend(of_globs);
        content.extend(
            output
                .not_searched
                .as_ref()
                .map(|left_out| Content::Text(left_out.note())),
        );
        Ok(Reply::content(content)
            .with_structured(output)
            .holding(hits.held))
    }
}

/// Returns true if the pattern probably means more than one line.
fn may_cross_lines(source: &str) -> bool {
    ["\\n", "\n", "[^]", "[\\s\\S]", "[\\S\\s]", "(?s:"]
        .iter()
        .any(|sign| source.contains(sign))
}
