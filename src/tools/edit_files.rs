//! `edit_files`: applies the same replacements to many files.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use replay_base::budget::{Room, Share};
use replay_base::limits::{CHANGE_ATTEMPTS, MAX_EDIT_BYTES};
use replay_base::text::count::counted;
use replay_base::text::diff;
use replay_base::text::encoding;
use replay_base::text::escape::show_path;
use replay_base::text::glob::{GlobError, LiteralGlob, few_enough, is_glob};
use replay_files::edit::{Applied, Edit};
use replay_files::fs::Stamp;
use replay_files::fs::{self, FsError, Prepared};
use replay_files::policy::{Checked, FileKind, Write};
use replay_mcp::protocol::Content;
use replay_mcp::sessions::Weight;
use replay_search::{LeftOut, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edits::{self, EditParam, EditReport};
use super::parallel;
use super::selection::{Selection, call, scope};
use super::status_line::Status;
use super::text_limit::TextLimit;
use super::{BadResult, Context, Hints, Reply, Tool, Toolset};
use crate::error::Error;

/// Most files in one `edit_files` call.
const MAX_EDIT_FILES: usize = 10_000;
/// Most that one `edit_files` call loads in all, in bytes; a single file may be larger.
const MAX_EDIT_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;

/// Most tokens that the changed lines of a dry run take, unless the call says how many.
const DRY_RUN_TOKENS: usize = 2000;

pub(super) struct EditFiles;

/// Arguments of `edit_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    /// Files and globs
    #[schemars(length(min = 1), extend("x-aliases" = ["globs"]))]
    paths: Option<Vec<String>>,
    /// See `edit_file`
    #[schemars(length(min = 1))]
    edits: Option<Vec<EditParam>>,
    /// Instead: files with edits of their own
    #[schemars(length(min = 1))]
    files: Option<Vec<FileEdits>>,
    /// Only show the diffs
    #[schemars(extend("x-aliases" = ["dry_run"]))]
    dry_run: Option<bool>,
    /// Write all files that match, or none if one fails
    atomic: Option<bool>,
    /// Globs take in ignored files (.gitignore, caches)
    ignored: Option<bool>,
}

/// A file with edits of its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct FileEdits {
    /// File
    path: String,
    /// See `edit_file`
    #[schemars(length(min = 1), extend("x-brief" = true))]
    edits: Vec<EditParam>,
}

/// A file to edit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    path: PathBuf,
    /// Position of its edits.
    edits: usize,
    /// `true` if a glob brought it in, so that it need not match.
    is_globbed: bool,
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

/// Files of a call, and the lists of edits that they name.
struct Selected {
    targets: Vec<Target>,
    edits: Vec<Vec<Edit>>,
    /// Ignored files that globs left out.
    left_out: LeftOut,
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
        let (atomic, dry_run) = (params.atomic == Some(true), params.dry_run == Some(true));
        let Selected {
            targets,
            edits,
            left_out,
        } = targets(context, params)?;
        if dry_run {
            let results = parallel::map(&targets, |target| preview(context, target, &edits));
            let is_preview = Some(&Preview { atomic });
            if context.is_lean() {
                return Ok(lean_report(
                    context, &targets, results, is_preview, left_out,
                ));
            }
            let results = fit_diffs(results, context.limit());
            return Ok(report(&targets, results, is_preview));
        }
        let batch = Batch {
            context,
            edits: &edits,
            steps: AtomicU64::new(0),
            files: targets.len() as u64,
        };
        let mut attempts = 1..CHANGE_ATTEMPTS;
        let results = loop {
            match batch.write(&targets, atomic) {
                // No file was written: all files are read again.
                Err(Error::Fs(FsError::Changed { .. })) if attempts.next().is_some() => {}
                results => break results?,
            }
        };
        Ok(if context.is_lean() {
            lean_report(context, &targets, results, None, left_out)
        } else {
            report(&targets, results, None)
        })
    }
}

/// Returns the files of a call and the lists of edits that they name.
fn targets(context: &Context<'_>, params: Params) -> Result<Selected, Error> {
    let read = |edits: Vec<EditParam>| edits.into_iter().map(Edit::from).collect();
    match (params.paths, params.edits, params.files) {
        (Some(paths), Some(edits), None) => {
            let (targets, left_out) = resolve(context, &paths, params.ignored)?;
            Ok(Selected {
                targets,
                edits: vec![read(edits)],
                left_out,
            })
        }
        (None, None, Some(files)) => {
            let (mut targets, mut all, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
            for FileEdits { path, edits } in files {
                let policy = &context.services.policy;
                let absolute = policy.absolute(&path);
                let absolute = absolute.unwrap_or_else(|_| PathBuf::from(&path));
                let place = policy.try_write(&absolute);
                let place =
                    place.map_or_else(|_| absolute.clone(), |seen| seen.place().to_path_buf());
                if !seen.insert(place) {
                    return Err(Error::params(format!(
                        "`files` of edit_files has `{path}` twice; put all edits of a file into one entry"
                    )));
                }
                targets.push(Target {
                    path: absolute,
                    edits: all.len(),
                    is_globbed: false,
                });
                all.push(read(edits));
            }
            Ok(Selected {
                targets,
                edits: all,
                left_out: LeftOut::default(),
            })
        }
        _ => Err(Error::params(
            "edit_files needs `paths` with `edits`, or `files`, an array of objects with `path` and `edits`",
        )),
    }
}

/// The part of the reply about a file that was, or would be, edited.
struct EditedFile {
    text: String,
    notes: Vec<String>,
    edits: Vec<EditReport>,
}

type FileResult = Result<EditedFile, FileFault>;

/// Reason why a file was not edited.
struct FileFault {
    error: Box<Error>,
    /// `true` for a file that a glob brought in and in which no edit matches. That is no failure.
    is_unmatched: bool,
}

impl<E: Into<Error>> From<E> for FileFault {
    fn from(error: E) -> Self {
        Self {
            error: Box::new(error.into()),
            is_unmatched: false,
        }
    }
}

impl EditedFile {
    fn new(text: String, applied: &Applied<'_>, edits: &[Edit]) -> Self {
        Self {
            text,
            notes: edits::notes(applied, edits).into_iter().collect(),
            edits: applied.per_edit.iter().map(EditReport::from).collect(),
        }
    }
}

/// Returns literal paths and expanded globs in the given order, each path once.
fn resolve(
    context: &Context<'_>,
    patterns: &[String],
    ignored: Option<bool>,
) -> Result<(Vec<Target>, LeftOut), Error> {
    let policy = &context.services.policy;
    let mut targets: Vec<Target> = Vec::new();
    let mut left_out = LeftOut::default();
    let target = |path, is_globbed| Target {
        path,
        edits: 0,
        is_globbed,
    };
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
            let path = policy.absolute(path).unwrap_or_else(|_| path.into());
            targets.push(target(path, false));
            continue;
        }
        let globs = std::slice::from_ref(&named.glob);
        let selection = Selection {
            globs: Some(globs),
            skip_ignored: context.skips_ignored(ignored),
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
        left_out += found.left_out;
        if found.paths.is_empty() {
            let hint = if found.left_out.has_ignored() {
                ", but for ignored files, which `ignored: true` takes in"
            } else {
                ""
            };
            let names = if named.is_unclear {
                "; its brackets are taken literally, as parts of names"
            } else {
                ""
            };
            return Err(Error::NoMatch {
                what: format!("the glob `{pattern}` (`paths[{index}]`{names}){hint}"),
            });
        }
        let found = found.paths.iter();
        targets.extend(found.map(|path| target(OsStr::from_bytes(path).into(), true)));
    }
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    let mut all: Vec<Target> = Vec::with_capacity(targets.len());
    for target in targets {
        // A link and its target are one file.
        let place = policy.try_write(&target.path);
        let place = place.map_or_else(|_| target.path.clone(), |seen| seen.place().to_path_buf());
        if let Some(place) = places.get(&place) {
            all[*place].is_globbed &= target.is_globbed;
        } else {
            places.insert(place, all.len());
            all.push(target);
        }
    }
    if all.len() > MAX_EDIT_FILES {
        let message = format!(
            "`paths` matches {} files; at most {MAX_EDIT_FILES} can be edited in one call, so use \
             narrower globs or several calls",
            all.len()
        );
        return Err(Error::params(message));
    }
    Ok((all, left_out))
}

fn preview(context: &Context<'_>, target: &Target, edits: &[Vec<Edit>]) -> FileResult {
    let edits = &edits[target.edits];
    let file = context.services.policy.read(&target.path)?;
    let fs::Loaded {
        bytes,
        share: _held,
    } = fs::load(&file, MAX_EDIT_BYTES, context.room())?;
    let applied = apply(
        (file.display_path(), target.is_globbed),
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
    Ok(EditedFile::new(text, &applied, edits))
}

/// Fits diffs into a reply: the first ones whole, then a line for each.
fn fit_diffs(results: Vec<FileResult>, limit: TextLimit) -> Vec<FileResult> {
    let mut room = limit;
    let fit = |result: FileResult| {
        result.map(|file| {
            let (text, cut) = edits::truncate_diff(file.text, room);
            room = room.after(&text);
            let notes = file.notes.into_iter().chain(cut).collect();
            EditedFile {
                text,
                notes,
                ..file
            }
        })
    };
    results.into_iter().map(fit).collect()
}

/// Applies the edits. Binary files are refused, since a glob may match some by accident.
fn apply<'a>(
    (shown, is_globbed): (&Path, bool),
    bytes: Cow<'a, [u8]>,
    edits: &[Edit],
    room: Room<'_>,
) -> Result<Applied<'a>, FileFault> {
    if encoding::is_binary(&bytes) {
        let error = Error::Unsuitable {
            message: format!("`{}` is binary", show_path(shown)),
            hint: "if it is text all the same, edit it with edit_file".into(),
        };
        return Err(error.into());
    }
    // The edits apply to a copy of what other edits need once more.
    let again = (is_globbed && edits.len() > 1).then(|| bytes.to_vec());
    edits::apply(bytes, edits, room).map_err(|source| {
        let has_other = || {
            let bytes = again.as_deref().unwrap_or_default();
            edits.iter().skip(1).any(|edit| {
                let one = std::slice::from_ref(edit);
                !edits::apply(bytes, one, room).is_err_and(|error| error.is_not_found())
            })
        };
        let is_unmatched = is_globbed && source.index == 0 && source.is_not_found() && !has_other();
        FileFault {
            error: Box::new(Error::Edit {
                path: show_path(shown).into_owned(),
                source: Box::new(source),
            }),
            is_unmatched,
        }
    })
}

/// A call that writes files.
struct Batch<'a> {
    context: &'a Context<'a>,
    edits: &'a [Vec<Edit>],
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

    /// Computes all files before the first write, so that a call cancelled early has changed
    /// nothing.
    fn write(&self, targets: &[Target], atomic: bool) -> Result<Vec<FileResult>, Error> {
        let policy = &self.context.services.policy;
        let budget = AtomicU64::new(0);
        let computed = parallel::map(targets, |target| {
            self.step();
            self.compute(target, &budget)
        });
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if atomic {
            return self.write_all(targets, computed);
        }
        let items: Vec<(&Target, Result<Computed, FileFault>)> =
            targets.iter().zip(computed).collect();
        let written = parallel::map_writing(&items, |(file, computed)| {
            self.step();
            let Ok(computed) = computed else {
                return Ok(None);
            };
            if !computed.applied.changed {
                return Ok(None);
            }
            let writer = self.context.writer();
            let target = policy.write(&file.path)?;
            let _locked = writer.lock(&target);
            // The stamp detects changes since the file was read, so no update is lost.
            match writer.replace(
                &target,
                computed.applied.content.pieces(),
                Some(&computed.stamp),
            ) {
                Err(FsError::Changed { .. }) => edits::attempts(&target, |held| {
                    let again = self
                        .compute_at(file, &target, &AtomicU64::new(0))
                        .map_err(|fault| *fault.error)?;
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
            .map(|((file, computed), written)| {
                file_result(file, &self.edits[file.edits], computed, written)
            })
            .collect())
    }

    fn compute(&self, file: &Target, budget: &AtomicU64) -> Result<Computed, FileFault> {
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        self.compute_at(
            file,
            &self.context.services.policy.write(&file.path)?,
            budget,
        )
    }

    fn compute_at(
        &self,
        file: &Target,
        target: &Checked<Write>,
        budget: &AtomicU64,
    ) -> Result<Computed, FileFault> {
        let current = fs::current(target, MAX_EDIT_BYTES, Some(self.context.room()))?;
        let held = budget.fetch_add(current.bytes.len() as u64, Ordering::Relaxed);
        if held + current.bytes.len() as u64 > MAX_EDIT_TOTAL_BYTES && held > 0 {
            let message = format!(
                "the files of this call have more than {MAX_EDIT_TOTAL_BYTES} bytes together"
            );
            let hint = "edit fewer files in one call".into();
            return Err(Error::Unsuitable { message, hint }.into());
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
            (target.display_path(), file.is_globbed),
            Cow::Owned(bytes),
            &self.edits[file.edits],
            self.context.room(),
        )?;
        Ok(Computed {
            applied,
            stamp,
            _share: share,
        })
    }

    /// Writes all files that match, or none. Everything that can fail for lack of space or
    /// permission precedes the first rename. A failed rename reverts the earlier ones.
    fn write_all(
        &self,
        targets: &[Target],
        computed: Vec<Result<Computed, FileFault>>,
    ) -> Result<Vec<FileResult>, Error> {
        let (policy, writer) = (&self.context.services.policy, self.context.writer());
        let has_failed = |computed: &Result<Computed, FileFault>| {
            computed.as_ref().is_err_and(|fault| !fault.is_unmatched)
        };
        if computed.iter().any(has_failed) {
            let unwritten = |computed: Result<Computed, FileFault>| match computed {
                Ok(_) => Err(skipped_error().into()),
                Err(fault) => Err(fault),
            };
            return Ok(computed.into_iter().map(unwritten).collect());
        }
        self.context.changes.are_atomic();
        let items: Vec<(&Target, &Computed)> = targets
            .iter()
            .zip(&computed)
            .filter_map(|(target, file)| Some((target, file.as_ref().ok()?)))
            .filter(|(_, file)| file.applied.changed)
            .collect();
        let writable: Vec<_> = items
            .iter()
            .map(|(target, _)| policy.write(&target.path))
            .collect::<Result<_, _>>()?;
        let names: Vec<&dyn fs::locks::Lockable> =
            writable.iter().map(|target| target as _).collect();
        let _locked = writer.lock_all(&names);
        let pairs: Vec<_> = writable.iter().zip(&items).collect();
        let prepared: Vec<Prepared<'_>> = parallel::map_writing(&pairs, |(target, (_, file))| {
            writer.prepare(target, file.applied.content.pieces(), Some(&file.stamp))
        })
        .into_iter()
        .collect::<Result<_, _>>()?;
        fs::commit_all(prepared, None)?;
        Ok(targets
            .iter()
            .zip(computed)
            .map(|(target, file)| file_result(target, &self.edits[target.edits], file, Ok(None)))
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
    target: &Target,
    edits: &[Edit],
    computed: Result<Computed, FileFault>,
    written: Result<Option<Computed>, Error>,
) -> FileResult {
    let computed = computed?;
    let computed = written?.unwrap_or(computed);
    let text = format!("Successfully edited {}", show_path(&target.path));
    Ok(EditedFile::new(text, &computed.applied, edits))
}

/// A call that writes nothing.
struct Preview {
    /// `true` if one failed file would prevent all writes.
    atomic: bool,
}

fn report(
    targets: &[Target],
    results: Vec<FileResult>,
    preview: Option<&Preview>,
) -> Reply<Output> {
    let verb = if preview.is_some() {
        "would be edited"
    } else {
        "edited"
    };
    let mut content = Vec::with_capacity(results.len() + 1);
    let mut files = Vec::with_capacity(results.len());
    let mut hints = HashSet::new();
    let mut unmatched = 0;
    for (target, result) in targets.iter().zip(results) {
        let path = show_path(&target.path).into_owned();
        match result {
            Ok(EditedFile { text, notes, edits }) => {
                let diff = preview.is_some().then(|| text.clone());
                if !text.is_empty() {
                    content.push(Content::Text(text));
                }
                let notes = notes.iter();
                content.extend(notes.map(|note| Content::note(format_args!("{path}: {note}"))));
                files.push(FileReport {
                    path,
                    edits,
                    error: None,
                    diff,
                });
            }
            Err(FileFault {
                error,
                is_unmatched,
            }) => {
                unmatched += usize::from(is_unmatched);
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
    let not_edited = files.iter().filter(|file| file.error.is_some()).count();
    let (edited, failed) = (files.len() - not_edited, not_edited - unmatched);
    if failed == 0 && unmatched > 0 {
        content.push(Content::note(format_args!(
            "{edited} {verb}, {}",
            counted(
                unmatched as u64,
                "other has no match",
                "others have no match"
            )
        )));
    }
    if failed > 0 {
        let advice = match preview {
            Some(Preview { atomic: true }) => "; with `atomic` none would be",
            None if edited > 0 => "; do not repeat those that succeeded",
            _ => "",
        };
        let others = match unmatched {
            0 => String::new(),
            count => format!(
                ", {}",
                counted(count as u64, "other has no match", "others have no match")
            ),
        };
        content.push(Content::note(format_args!(
            "{edited} {verb}, {failed} failed{others}{advice}"
        )));
    }
    let mut reply = Reply::content(content).with_structured(Output {
        files,
        edited,
        failed,
    });
    reply.bad = (edited == 0).then_some(BadResult::Tool);
    reply
}

/// Returns the reply for a model: the files with their numbers of replacements or their changed
/// lines, the failures, and the sums.
fn lean_report(
    context: &Context<'_>,
    targets: &[Target],
    results: Vec<FileResult>,
    preview: Option<&Preview>,
    left_out: LeftOut,
) -> Reply<Output> {
    let mut limit = context.limit();
    if context.max_tokens.is_none() && preview.is_some() {
        limit = limit.at_most_tokens(DRY_RUN_TOKENS);
    }
    let (mut text, mut counts, mut notes) = (String::new(), Vec::new(), Vec::new());
    let (mut edited, mut replacements, mut unmatched, mut failed, mut hidden) = (0, 0, 0, 0, 0);
    let mut hints = HashSet::new();
    for (target, result) in targets.iter().zip(results) {
        let path = context.shown(target.path.as_os_str().as_bytes());
        let part = match result {
            Ok(file) => {
                let count: u64 = file.edits.iter().map(|edit| edit.replacements).sum();
                (edited, replacements) = (edited + 1, replacements + count);
                notes.extend(file.notes.iter().map(|note| format!("{path}: {note}")));
                if preview.is_none() {
                    counts.push(format!("{path} {count}"));
                    continue;
                }
                format!("{path}\n{}", diff::changed_lines(&file.text))
            }
            Err(fault) if fault.is_unmatched => {
                unmatched += 1;
                continue;
            }
            Err(FileFault { error, .. }) => {
                failed += 1;
                let hint = error
                    .hint()
                    .filter(|hint| !hint.is_empty() && hints.insert(hint.to_string()));
                let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
                let told = error.to_string();
                let shown = show_path(&target.path);
                let told = told.strip_prefix(&*shown).unwrap_or(&told);
                format!("{path}: {}{hint}\n", told.trim_start_matches(": "))
            }
        };
        if limit.take(&part) {
            text.push_str(&part);
        } else {
            hidden += 1;
        }
    }
    if !counts.is_empty() {
        let counts = counts.join(", ");
        text.insert_str(0, &format!("{}\n", &counts[..limit.bytes_of(&counts)]));
    }
    let mut status = Status::default();
    let verb = if preview.is_some() {
        "would be edited"
    } else {
        "edited"
    };
    let others = match unmatched {
        0 => String::new(),
        count => format!(
            " ({})",
            counted(count, "other has no match", "others have no match")
        ),
    };
    status.add(format!(
        "{} {verb}, {}{others}",
        counted(edited, "file", "files"),
        counted(replacements, "replacement", "replacements"),
    ));
    if failed > 0 {
        let advice = match preview {
            Some(Preview { atomic: true }) => ": with `atomic` none would be edited",
            None if edited > 0 => ": do not repeat those that succeeded",
            _ => "",
        };
        status.add(format!("{failed} failed{advice}"));
    }
    if hidden > 0 {
        let files = counted(hidden, "file is", "files are");
        status.add(format!(
            "{files} not shown: narrow the globs{}",
            limit.or_raise()
        ));
    }
    status.add_ignored(left_out);
    let mut reply = status.reply(text, notes);
    reply.bad = (edited == 0).then_some(BadResult::Tool);
    reply
}
