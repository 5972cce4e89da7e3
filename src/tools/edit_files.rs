//! `edit_files`: applies the same replacements to many files.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use replay_base::budget::{Room, Share};
use replay_base::limits::{CHANGE_ATTEMPTS, MAX_EDIT_BYTES};
use replay_base::text::encoding;
use replay_base::text::escape::show_path;
use replay_base::text::glob::{GlobError, LiteralGlob, few_enough, is_glob};
use replay_files::edit::{Applied, Edit};
use replay_files::fs::Stamp;
use replay_files::fs::{self, FsError, Prepared};
use replay_files::policy::{Checked, FileKind, Write};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_search::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edits::{self, EditParam, EditReport};
use super::parallel;
use super::selection::{Selection, call, scope};
use super::{Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Most files in one `edit_files` call.
const MAX_EDIT_FILES: usize = 10_000;
/// Most that one `edit_files` call loads in all, in bytes; a single file may be larger.
const MAX_EDIT_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;

pub(super) struct EditFiles;

/// Arguments of `edit_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Files and globs
    #[schemars(length(min = 1), extend("x-aliases" = ["files", "globs"]))]
    paths: Vec<String>,
    /// See `edit_file`
    #[schemars(length(min = 1))]
    edits: Vec<EditParam>,
    /// Only show the diffs
    #[schemars(extend("x-aliases" = ["dry_run"]))]
    dry_run: Option<bool>,
    /// Write nothing unless every file's edits succeed
    atomic: Option<bool>,
}

/// Results by file.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Output {
    files: Vec<FileReport>,
    edited: usize,
    failed: usize,
}

/// One file.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct FileReport {
    path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edits: Vec<EditReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Of a dry run, for clients that show their model nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for EditFiles {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "edit_files";
    const TITLE: &'static str = "Edit many files";
    const DESCRIPTION: &'static str = "Apply the same edits to many files. A file that fails is \
        reported, the others are written, unless atomic. Use dryRun first.";
    const HINTS: Hints = Hints::Mutates;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let paths = resolve(context, &params.paths)?;
        let edits: Vec<Edit> = params.edits.into_iter().map(Edit::from).collect();
        if params.dry_run == Some(true) {
            let results = parallel::map(&paths, |path| preview(context, path, &edits));
            let results = fit_diffs(results, context.most_bytes(None));
            return Ok(report(
                &paths,
                results,
                Some(&Preview {
                    atomic: params.atomic == Some(true),
                }),
            ));
        }
        let batch = Batch {
            context,
            edits: &edits,
            steps: AtomicU64::new(0),
            files: paths.len() as u64,
        };
        let mut attempts = 1..CHANGE_ATTEMPTS;
        let results = loop {
            match batch.write(&paths, params.atomic == Some(true)) {
                // No file was written: all files are read again.
                Err(Error::Fs(FsError::Changed { .. })) if attempts.next().is_some() => {}
                results => break results?,
            }
        };
        batch.report_finished();
        Ok(report(&paths, results, None))
    }
}

/// The reply text of a file, and its edits.
type FileResult = Result<(String, Vec<EditReport>), Error>;

/// Returns literal paths and expanded globs in the given order, each path once.
fn resolve(context: &Context<'_>, patterns: &[String]) -> Result<Vec<PathBuf>, Error> {
    let policy = &context.services.policy;
    let mut paths: Vec<PathBuf> = Vec::new();
    let globs: Vec<&String> = patterns.iter().filter(|pattern| is_glob(pattern)).collect();
    few_enough(&globs).map_err(|source| Error::params(format!("`paths` {source}")))?;
    for (index, pattern) in patterns.iter().enumerate() {
        // An existing name with glob characters is that file.
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let may_be_glob = is_glob(pattern) || pattern.starts_with('!');
        let is_there = !may_be_glob || policy.look(pattern).is_ok();
        if pattern.starts_with('!') && !is_there {
            let source = GlobError::Negated {
                glob: pattern.clone(),
            };
            return Err(Error::Glob {
                parameter: format!("paths[{index}]"),
                source,
            });
        }
        // A character set could match another file than the literal name.
        let named = LiteralGlob::new(pattern);
        let path = if is_there {
            Some(pattern)
        } else {
            named.path.as_ref()
        };
        if let Some(path) = path {
            // Normalized, so that no file is edited twice. A path without an absolute form is
            // reported with the others.
            paths.push(policy.absolute(path).unwrap_or_else(|_| path.into()));
            continue;
        }
        let globs = std::slice::from_ref(&named.glob);
        let selection = Selection {
            globs: Some(globs),
            ..Selection::default()
        };
        let scope = scope(context, selection).map_err(|error| match error {
            Error::Glob { source, .. } => Error::Glob {
                parameter: format!("paths[{index}]"),
                source,
            },
            error => error,
        })?;
        let found = names(call(context, &|_| {}), &scope, usize::MAX, &|_, kind| {
            kind == FileKind::File
        })?;
        if found.paths.is_empty() {
            let names = if named.is_unclear {
                "; its brackets are taken literally, as parts of names"
            } else {
                ""
            };
            return Err(Error::NoMatch {
                what: format!("the glob `{pattern}` (`paths[{index}]`{names})"),
            });
        }
        paths.extend(
            found
                .paths
                .iter()
                .map(|path| PathBuf::from(OsStr::from_bytes(path))),
        );
    }
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    if paths.len() > MAX_EDIT_FILES {
        let message = format!(
            "`paths` matches {} files; at most {MAX_EDIT_FILES} can be edited in one call, so use \
             narrower globs or several calls",
            paths.len()
        );
        return Err(Error::params(message));
    }
    Ok(paths)
}

fn preview(context: &Context<'_>, path: &Path, edits: &[Edit]) -> FileResult {
    let file = context.services.policy.read(path)?;
    let fs::Loaded {
        bytes,
        share: _held,
    } = fs::load(&file, MAX_EDIT_BYTES, context.room())?;
    let applied = apply(
        file.display_path(),
        Cow::Borrowed(&bytes),
        edits,
        context.room(),
    )?;
    let text = edits::preview(
        &show_path(file.display_path()),
        &bytes,
        &applied,
        context.room(),
    )?;
    Ok((
        text,
        applied.per_edit.iter().map(EditReport::from).collect(),
    ))
}

/// Fits diffs into a reply of `most` bytes: the first ones whole, then a line for each.
fn fit_diffs(results: Vec<FileResult>, most: usize) -> Vec<FileResult> {
    let mut room = most;
    let fit = |result: FileResult| {
        result.map(|(diff, edits)| {
            let diff = edits::truncate_diff(diff, room);
            room = room.saturating_sub(diff.len());
            (diff, edits)
        })
    };
    results.into_iter().map(fit).collect()
}

/// Applies the edits. Binary files are refused, since a glob may match some by accident.
fn apply<'a>(
    shown: &Path,
    bytes: Cow<'a, [u8]>,
    edits: &[Edit],
    room: Room<'_>,
) -> Result<Applied<'a>, Error> {
    if encoding::is_binary(&bytes) {
        return Err(Error::Unsuitable {
            message: format!("`{}` is binary", show_path(shown)),
            hint: "if it is text all the same, edit it with edit_file".into(),
        });
    }
    edits::apply(bytes, edits, room).map_err(|source| Error::Edit {
        path: show_path(shown).into_owned(),
        source: Box::new(source),
    })
}

/// A call that writes files.
struct Batch<'a> {
    context: &'a Context<'a>,
    edits: &'a [Edit],
    /// Number of steps: each file is first computed, then written.
    steps: AtomicU64,
    files: u64,
}

/// New content of a file, and the version it is based on.
struct Computed {
    applied: Applied<'static>,
    stamp: Stamp,
    /// Memory share of the old content.
    _share: Share,
}

impl Batch<'_> {
    fn step(&self) {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        // A retry reports no progress.
        if self.context.progress.is_wanted() && step <= self.files * 2 {
            let done = step.saturating_sub(self.files);
            let message = format!(
                "{} of {} files computed, {done} written",
                step.min(self.files),
                self.files
            );
            self.context
                .progress
                .report(step, Some(self.files * 2), &message);
        }
    }

    fn report_finished(&self) {
        let message = format!("{} files done", self.files);
        self.context
            .progress
            .report_now(self.files * 2, Some(self.files * 2), &message);
    }

    /// Computes all files before the first write, so that a call cancelled early has changed
    /// nothing.
    fn write(&self, paths: &[PathBuf], atomic: bool) -> Result<Vec<FileResult>, Error> {
        let policy = &self.context.services.policy;
        let budget = AtomicU64::new(0);
        let computed = parallel::map(paths, |path| {
            self.step();
            self.compute(path, &budget)
        });
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if atomic {
            return self.write_all(paths, computed);
        }
        let items: Vec<(&PathBuf, Result<Computed, Error>)> = paths.iter().zip(computed).collect();
        let written = parallel::map_writing(&items, |(path, computed)| {
            self.step();
            let Ok(computed) = computed else {
                return Ok(None);
            };
            if !computed.applied.changed {
                return Ok(None);
            }
            let writer = self.context.writer();
            let target = policy.write(path)?;
            let _locked = writer.lock(&target);
            // The stamp detects changes since the file was read, so no update is lost.
            match writer.replace(
                &target,
                computed.applied.content.pieces(),
                Some(&computed.stamp),
            ) {
                Err(FsError::Changed { .. }) => edits::attempts(&target, |held| {
                    let again = self.compute_at(&target, &AtomicU64::new(0))?;
                    writer.replace_under(
                        held,
                        &target,
                        again.applied.content.pieces(),
                        Some(&again.stamp),
                    )?;
                    Ok(Some(again))
                }),
                written => Ok(written.map(|_| None)?),
            }
        });
        Ok(items
            .into_iter()
            .zip(written)
            .map(|((path, computed), written)| file_result(path, self.edits, computed, written))
            .collect())
    }

    fn compute(&self, path: &Path, budget: &AtomicU64) -> Result<Computed, Error> {
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        self.compute_at(&self.context.services.policy.write(path)?, budget)
    }

    fn compute_at(&self, target: &Checked<Write>, budget: &AtomicU64) -> Result<Computed, Error> {
        let current = fs::current(target, MAX_EDIT_BYTES, Some(self.context.room()))?;
        let held = budget.fetch_add(current.bytes.len() as u64, Ordering::Relaxed);
        if held + current.bytes.len() as u64 > MAX_EDIT_TOTAL_BYTES && held > 0 {
            let message = format!(
                "the files of this call have more than {MAX_EDIT_TOTAL_BYTES} bytes together"
            );
            return Err(Error::Unsuitable {
                message,
                hint: "edit fewer files in one call".into(),
            });
        }
        let fs::Current {
            bytes,
            mut share,
            stamp,
        } = current;
        // There may be many small files, which are not charged yet.
        let uncounted = bytes.len().saturating_sub(share.bytes());
        self.context.room().grow(&mut share, uncounted)?;
        let applied = apply(
            target.display_path(),
            Cow::Owned(bytes),
            self.edits,
            self.context.room(),
        )?;
        Ok(Computed {
            applied,
            stamp,
            _share: share,
        })
    }

    /// Writes all files or none. Everything that can fail for lack of space or permission precedes
    /// the first rename. A failed rename reverts the earlier ones.
    fn write_all(
        &self,
        paths: &[PathBuf],
        computed: Vec<Result<Computed, Error>>,
    ) -> Result<Vec<FileResult>, Error> {
        let (policy, writer) = (&self.context.services.policy, self.context.writer());
        if computed.iter().any(Result::is_err) {
            let unwritten = |computed: Result<Computed, Error>| match computed {
                Ok(_) => Err(skipped_error()),
                Err(error) => Err(error),
            };
            return Ok(computed.into_iter().map(unwritten).collect());
        }
        self.context.changes.are_atomic();
        let computed: Vec<Computed> = computed.into_iter().flatten().collect();
        let items: Vec<(&PathBuf, &Computed)> = paths
            .iter()
            .zip(&computed)
            .filter(|(_, file)| file.applied.changed)
            .collect();
        let targets: Vec<_> = items
            .iter()
            .map(|(path, _)| policy.write(path))
            .collect::<Result<_, _>>()?;
        let names: Vec<&dyn fs::locks::Lockable> =
            targets.iter().map(|target| target as _).collect();
        let _locked = writer.lock_all(&names);
        let pairs: Vec<_> = targets.iter().zip(&items).collect();
        let prepared: Vec<Prepared<'_>> = parallel::map_writing(&pairs, |(target, (_, file))| {
            writer.prepare(target, file.applied.content.pieces(), Some(&file.stamp))
        })
        .into_iter()
        .collect::<Result<_, _>>()?;
        fs::commit_all(prepared, None)?;
        Ok(paths
            .iter()
            .zip(computed)
            .map(|(path, file)| file_result(path, self.edits, Ok(file), Ok(None)))
            .collect())
    }
}

/// Error for a valid file in a failed atomic call.
fn skipped_error() -> Error {
    Error::Unsuitable {
        message: "not written, because another file of this atomic call failed".to_owned(),
        hint: "".into(),
    }
}

/// Returns the result of a file. `written` has the recomputed content if the file changed
/// meanwhile.
fn file_result(
    path: &Path,
    edits: &[Edit],
    computed: Result<Computed, Error>,
    written: Result<Option<Computed>, Error>,
) -> FileResult {
    let computed = computed?;
    let computed = written?.unwrap_or(computed);
    let mut text = format!("Successfully edited {}", show_path(path));
    if let Some(note) = edits::notes(&computed.applied, edits) {
        text.push('\n');
        text.push_str(&note);
    }
    Ok((
        text,
        computed
            .applied
            .per_edit
            .iter()
            .map(EditReport::from)
            .collect(),
    ))
}

/// A call that writes nothing.
struct Preview {
    /// `true` if one failed file would prevent all writes.
    atomic: bool,
}

fn report(paths: &[PathBuf], results: Vec<FileResult>, preview: Option<&Preview>) -> Reply<Output> {
    let verb = if preview.is_some() {
        "would be edited"
    } else {
        "edited"
    };
    let mut content = Vec::with_capacity(results.len() + 1);
    let mut files = Vec::with_capacity(results.len());
    let mut hints = HashSet::new();
    for (path, result) in paths.iter().zip(results) {
        let path = show_path(path).into_owned();
        match result {
            Ok((text, edits)) => {
                let diff = preview.is_some().then(|| text.clone());
                content.push(Content::Text(text));
                files.push(FileReport {
                    path,
                    edits,
                    error: None,
                    diff,
                });
            }
            Err(error) => {
                let told = error.to_string();
                // The path precedes the message anyway.
                let told = told
                    .strip_prefix(&path)
                    .and_then(|rest| rest.strip_prefix(": "))
                    .unwrap_or(&told);
                // Shown once: many files often fail for the same reason.
                let hint = error
                    .hint()
                    .filter(|hint| !hint.is_empty() && hints.insert(hint.to_string()));
                let message = match hint {
                    Some(hint) => format!("{told}\nhint: {hint}"),
                    None => told.to_owned(),
                };
                content.push(Content::text(format!(
                    "{path}: [error {}] {message}",
                    error.code().number()
                )));
                files.push(FileReport {
                    path,
                    edits: Vec::new(),
                    error: Some(message),
                    diff: None,
                });
            }
        }
    }
    let failed = files.iter().filter(|file| file.error.is_some()).count();
    let edited = files.len() - failed;
    if failed > 0 {
        let advice = match preview {
            Some(Preview { atomic: true }) => "; with `atomic` none would be",
            None if edited > 0 => "; do not repeat those that succeeded",
            _ => "",
        };
        content.push(Content::text(format!(
            "[{edited} {verb}, {failed} failed{advice}]"
        )));
    }
    let mut reply = Reply::content(content).with_structured(Output {
        files,
        edited,
        failed,
    });
    reply.is_error = edited == 0;
    reply
}
