//! `grep_files`: searches files for lines that match a pattern.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use replay_base::limits::MAX_GREP_RESULTS;
use replay_base::text::count::counted;
use replay_base::text::escape::show_path;
use replay_files::fs::OpenFile;
use replay_files::policy::FileKind;
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_pattern::{Options, Pattern, slip};
use replay_sandbox::exec::LOGS;
use replay_search::{FileHits, GrepOptions, Hits, Mode, grep, grep_one, grep_open};
use schemars::JsonSchema;
use serde::Deserialize;

use super::grep_reply::{Assembled, Output, assemble, bulk_note};
use super::lean_search::{GrepForm, MAX_HIDDEN, grep_text};
use super::list_directory::as_directory;
use super::notes::globs::{Outcome, glob_notes};
use super::notes::not_searched::NotSearched;
use super::odd_files;
use super::read_file::read_log;
use super::selection::{Selection, call, scope, unreadable_note};
use super::status_line::Status;
use super::text_limit::TextLimit;
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Default and largest number of grep matches.
const DEFAULT_GREP_RESULTS: u64 = 500;
/// Largest `contextLines` of grep.
const MAX_CONTEXT_LINES: u64 = 50;
/// Default `maxBytes` of grep: what the text of a reply comes to before matches are only counted,
/// in bytes.
const DEFAULT_GREP_BYTES: usize = 256 * 1024;
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
    /// Search root, a file or a log; without it globs start at the first allowed directory
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
    /// Take in ignored files (.gitignore, caches)
    #[schemars(extend("x-aliases" = ["includeIgnored", "include_ignored", "no_ignore"]))]
    ignored: Option<bool>,
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
    const DESCRIPTION: &'static str = "Grep file contents by regex; context lines have a - after their number. Needs \
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
        let limit = match params.max_bytes {
            Some(most) => context.limit_of_measured().at_most(most as usize),
            None => context.limit().at_most(DEFAULT_GREP_BYTES),
        };
        let wanted = GrepOptions {
            mode: match params.output_mode {
                OutputMode::Content => Mode::Lines,
                OutputMode::Files => Mode::Files,
                OutputMode::Count => Mode::Count,
            },
            context: params.context_lines.unwrap_or(0) as usize,
            multiline: params.multiline.unwrap_or_default(),
            most: params.max_results.unwrap_or(DEFAULT_GREP_RESULTS),
            bytes: limit.most_bytes(),
        };
        let is_bound_by_client = TextLimit::of_client(context.replies).most_bytes() <= wanted.bytes;
        let select = || Selection {
            directory: None,
            globs: params.globs.as_deref(),
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            types: params.file_types.as_deref().unwrap_or_default(),
            skip_ignored: context.skips_ignored(params.ignored),
        };
        let progress = |files| {
            context
                .progress
                .report(files, None, &format!("{files} files searched"));
        };
        let call = call(context, &progress);
        let log = params.directory.as_deref();
        let log = log.filter(|path| path.starts_with(LOGS) && params.globs.is_none());
        let in_directory = params.directory.as_deref().filter(|_| log.is_none());
        let place = in_directory
            .map(|path| context.services.policy.read(path))
            .transpose()?;
        // A `directory` that is a file means that file.
        let file = place
            .as_ref()
            .filter(|place| place.kind() == FileKind::File && params.globs.is_none());
        let is_file = file.is_some() || log.is_some();
        let (hits, root, globs) = if let Some(path) = log {
            let bytes = read_log(context, path)?;
            let open = (path.into(), OpenFile::in_memory(&bytes));
            (grep_open(call, open, &pattern, wanted)?, None, [].into())
        } else if let Some(file) = file {
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
        let mut notes = Vec::new();
        let outcome = match hits.files.is_empty() {
            _ if hits.more => Outcome::Cut,
            true => Outcome::Nothing,
            false => Outcome::Found,
        };
        notes.extend(glob_notes(
            context,
            &globs,
            outcome,
            params.directory.as_deref(),
            select(),
        ));
        if hits.files.is_empty() {
            if hits.searched == 0 && hits.left_out.is_empty() {
                notes.push(
                    "no file was searched: directory, globs and fileTypes together match no file"
                        .to_owned(),
                );
            } else if !wanted.multiline && may_cross_lines(&params.regex) {
                notes.push(
                    "a match cannot span lines: set `multiline: true` to allow it".to_owned(),
                );
            }
            notes.extend(slip(&params.regex).map(ToOwned::to_owned));
        }
        let unreadable = hits
            .unreadable
            .iter()
            .map(|path| path.as_os_str().as_bytes());
        let unreadable = unreadable_note(unreadable);
        let mut last_notes = Vec::new();
        let directory_again = || {
            let place = in_directory.map(|path| context.services.policy.read(path));
            place.transpose()
        };
        if !params.regex.is_ascii() {
            let place = directory_again()?;
            last_notes.extend(if is_file {
                odd_files::note(context, place.into_iter())
            } else {
                let directory = place.map(as_directory).transpose()?;
                let selection = Selection {
                    directory,
                    ..select()
                };
                odd_files::note_of(context, &scope(context, selection)?)?
            });
        }
        let has_lone_cr = |file: &&FileHits| {
            file.hits
                .iter()
                .any(|hit| hit.text.trim_end_matches('\r').contains('\r'))
        };
        last_notes.extend(hits.files.iter().find(has_lone_cr).map(|file| {
            let path = show_path(&file.path);
            format!("lines of `{path}` that end with CR alone are matched, and count as one line")
        }));
        // Skipped images are expected; a skipped binary source file is not.
        let is_narrow = params.globs.is_some() || params.file_types.is_some();
        let not_searched = NotSearched::of(hits.left_out)
            .filter(|_| hits.files.is_empty() || is_narrow && hits.left_out.binary_files > 0);
        if context.is_lean() {
            let ignored = if hits.files.is_empty() && !is_file && hits.left_out.has_ignored() {
                let directory = directory_again()?.map(as_directory).transpose()?;
                let selection = Selection {
                    directory,
                    skip_ignored: false,
                    ..select()
                };
                let few = GrepOptions {
                    mode: Mode::Files,
                    most: MAX_HIDDEN as u64,
                    ..wanted
                };
                let found = grep(call, scope(context, selection)?, &pattern, few)?;
                found.files.into_iter().map(|file| file.path).collect()
            } else {
                Vec::new()
            };
            notes.extend(unreadable.into_iter().chain(last_notes));
            return Ok(lean_reply(
                context,
                hits,
                GrepForm {
                    mode: wanted.mode,
                    limit,
                    is_named: is_file,
                },
                &ignored,
                notes,
            ));
        }
        let Assembled {
            mut output,
            text,
            notes: of_text,
        } = assemble(&hits, wanted, is_bound_by_client);
        let bulk = root.and_then(|root| bulk_note(&hits, &output, &root, text.len()));
        let notes = notes.into_iter().chain(bulk).chain(unreadable);
        let notes = notes
            .chain(last_notes)
            .chain(not_searched.as_ref().map(NotSearched::note));
        let content = std::iter::once(Content::Text(text)).chain(notes.map(Content::note));
        output.not_searched = not_searched;
        Ok(Reply::content(content.collect())
            .with_structured(output)
            .with_notes(of_text)
            .holding(hits.held))
    }
}

/// Returns the reply for a model. `ignored` has files that match among the ignored ones, if no
/// other does.
fn lean_reply(
    context: &Context<'_>,
    hits: Hits,
    form: GrepForm,
    ignored: &[PathBuf],
    notes: Vec<String>,
) -> Reply<Output> {
    let mut status = Status::default();
    let text = grep_text(context, &hits, form, &mut status);
    let binary = hits.left_out.binary_files;
    if binary > 0 && hits.files.is_empty() {
        status.add(counted(binary, "binary file", "binary files") + " not searched");
    }
    if hits.skipped > 0 {
        let paths = counted(hits.skipped, "path", "paths");
        status.add(format!("{paths} skipped: not readable, or leading out"));
    }
    status.add_hidden(
        ignored
            .iter()
            .map(|path| context.shown(path.as_os_str().as_bytes())),
    );
    status.add_ignored(hits.left_out);
    status.reply(text, notes).holding(hits.held)
}

/// Returns true if the pattern probably means more than one line.
fn may_cross_lines(source: &str) -> bool {
    ["\\n", "\n", "[^]", "[\\s\\S]", "[\\S\\s]", "(?s:"]
        .iter()
        .any(|sign| source.contains(sign))
}
