//! `grep_files`: lines of files that match a pattern.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line_search::{Found, Hit, Stopped, search};
use super::selection::{Entry, Selected, Selection, select, shallow_glob_note};
use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::fs::Reader;
use crate::limits::{DEFAULT_GREP_RESULTS, MAX_CONTEXT_LINES, MAX_GREP_RESULTS};
use crate::pattern::{LineMatcher, Options, Pattern};
use crate::policy::{Kind, PolicyError};
use crate::protocol::Content;
use crate::text::escape::show_path;

/// Searches contents.
pub struct GrepFiles;

/// Arguments of `grep_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// JavaScript regex, matched line by line
    #[schemars(extend("x-aliases" = ["pattern", "query"]))]
    regex: String,
    /// Where to search; without it globs start at the first allowed directory
    #[schemars(extend("x-aliases" = ["path", "dir"]))]
    directory: Option<String>,
    /// Only these files, such as **/*.rs (relative to directory, or absolute)
    #[schemars(length(min = 1), extend("x-aliases" = ["glob", "include"]))]
    globs: Option<Vec<String>>,
    /// Left out; a bare name at any depth
    #[schemars(extend("x-aliases" = ["excludePatterns", "exclude", "exclude_globs"]))]
    exclude_globs: Option<Vec<String>>,
    /// Ignore case
    #[schemars(extend("x-aliases" = ["case_insensitive", "ignoreCase"]))]
    case_insensitive: Option<bool>,
    /// Lines around each match
    #[schemars(range(min = 0, max = MAX_CONTEXT_LINES), extend("x-aliases" = ["context", "context_lines"]))]
    context_lines: Option<u64>,
    /// Most matches (default 500)
    #[schemars(range(min = 1, max = MAX_GREP_RESULTS), extend("x-aliases" = ["max_results", "limit"]))]
    max_results: Option<u64>,
    /// Leave out what .gitignore names
    respect_gitignore: Option<bool>,
}

/// Every line shown, typed.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub struct Output {
    matches: Vec<Shown>,
    count: u64,
    truncated: bool,
    skipped: u64,
}

/// A line that matches, or context.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    path: String,
    line: u64,
    text: String,
    is_match: bool,
}

impl Tool for GrepFiles {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "grep_files";
    const TITLE: &'static str = "Search contents";
    const DESCRIPTION: &'static str = "Search file contents by regex; path:line:text, context lines with -. Needs \
        directory or globs. Escape metacharacters to find literal text. Binary files are left out.";
    const HINTS: Hints = Hints::Observes;
    const TOOLSET: Toolset = Toolset::Files;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        if params.directory.is_none() && params.globs.is_none() {
            return Err(Error::params("grep_files needs `directory` or `globs`, so that it is clear what to search"));
        }
        let pattern =
            Pattern::new(&params.regex, Options { case_insensitive: params.case_insensitive.unwrap_or_default() })?;
        let selection = Selection {
            directory: params.directory.as_deref(),
            globs: params.globs.as_deref(),
            exclude: params.exclude_globs.as_deref().unwrap_or_default(),
            respect_gitignore: params.respect_gitignore.unwrap_or_default(),
        };
        let selected = match one_file(context, &selection) {
            Some(selected) => selected,
            None => select(context, &selection, |_, kind| matches!(kind, Kind::File | Kind::Symlink))?,
        };
        let job = Job {
            context,
            matcher: &pattern,
            entries: &selected.entries,
            context_lines: params.context_lines.unwrap_or(0) as usize,
            most: params.max_results.unwrap_or(DEFAULT_GREP_RESULTS),
            next: AtomicUsize::new(0),
            enough: AtomicBool::new(false),
            state: Mutex::default(),
        };
        let (mut output, text) = job.run()?;
        output.skipped += selected.skipped;
        let mut content = vec![Content::Text(text + &footer(&output))];
        if selected.entries.is_empty() {
            content.extend(shallow_glob_note(params.globs.as_deref()).map(Content::Text));
        }
        Ok(Reply::content(content).with(output))
    }
}

/// A `directory` that is a file stands for that file, which is what an agent means by it.
fn one_file(context: &Context<'_>, selection: &Selection<'_>) -> Option<Selected> {
    let file = context.services.policy.read(selection.directory?).ok().filter(|_| selection.globs.is_none())?;
    let entry = || Entry { path: file.shown().to_path_buf(), kind: Kind::File };
    (file.kind() == Kind::File).then(|| Selected { entries: vec![entry()], skipped: 0 })
}

fn footer(output: &Output) -> String {
    let mut footer = format!("[{} matches]", output.count);
    if output.skipped > 0 {
        // Writing to a String cannot fail.
        let _ =
            write!(footer, "\n[{} path(s) skipped: not readable, or outside the allowed directories]", output.skipped);
    }
    footer
}

/// One search over many files, each claimed by the next free thread, in order.
struct Job<'a> {
    context: &'a Context<'a>,
    matcher: &'a dyn LineMatcher,
    entries: &'a [Entry],
    context_lines: usize,
    most: u64,
    next: AtomicUsize,
    /// The files searched so far from the first on hold more matches than are wanted.
    enough: AtomicBool,
    state: Mutex<State>,
}

/// What is known so far. Results come in any order; what counts is the unbroken run from the first file on.
#[derive(Default)]
struct State {
    /// Files with something to show, by index.
    found: Vec<(usize, Found)>,
    /// Finished files behind the unbroken run.
    ahead: std::collections::BTreeMap<usize, u64>,
    /// Length of the unbroken run, and the matches in it.
    run: usize,
    run_matches: u64,
    skipped: u64,
    failed: Option<(usize, Error)>,
}

impl Job<'_> {
    fn run(&self) -> Result<(Output, String), Error> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(self.entries.len());
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.work());
            }
            self.work();
        });
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let mut state = std::mem::take(&mut *self.lock());
        state.found.sort_unstable_by_key(|(index, _)| *index);
        if let Some((failed_at, error)) = state.failed {
            // What comes after enough results does not matter, so neither does a failure there.
            let before: u64 =
                state.found.iter().filter(|(at, _)| *at < failed_at).map(|(_, found)| found.matches).sum();
            if before <= self.most {
                return Err(error);
            }
        }
        Ok(self.assemble(state.found, state.skipped))
    }

    fn work(&self) {
        while !self.enough.load(Ordering::Relaxed) && !self.context.cancel.is_cancelled() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = self.entries.get(index) else { return };
            let result = self.one(entry, self.most);
            self.finished(index, result);
        }
    }

    /// Searches one file. `None`: it was skipped.
    fn one(&self, entry: &Entry, most: u64) -> Result<Option<Found>, Error> {
        // A link is not followed: what it leads to inside is searched where it lies, and what is outside is none of ours.
        if entry.kind == Kind::Symlink {
            let inside = self.context.services.policy.leads_to(&entry.path).is_some();
            return Ok(inside.then(Found::default));
        }
        let file = match self.context.services.policy.read(&entry.path) {
            Ok(file) if file.kind() == Kind::File => file,
            // Gone, or something else by now.
            Ok(_) | Err(PolicyError::NotFound { .. }) => return Ok(Some(Found::default())),
            Err(_) => return Ok(None),
        };
        match search(Reader::new(&file, 0), self.matcher, self.context_lines, most, self.context.cancel) {
            Ok(found) => Ok(Some(found)),
            Err(Stopped::Unreadable) => Ok(None),
            Err(Stopped::Pattern(source, line)) => {
                Err(Error::PatternAt { path: show_path(&entry.path).into_owned(), line, source })
            }
        }
    }

    fn finished(&self, index: usize, result: Result<Option<Found>, Error>) {
        let mut state = self.lock();
        let mut matches = 0;
        match result {
            Ok(Some(found)) => {
                matches = found.matches + u64::from(found.cut);
                if matches > 0 {
                    state.found.push((index, found));
                }
            }
            Ok(None) => state.skipped += 1,
            Err(error) => {
                if state.failed.as_ref().is_none_or(|(at, _)| index < *at) {
                    state.failed = Some((index, error));
                }
                self.enough.store(true, Ordering::Relaxed);
            }
        }
        state.ahead.insert(index, matches);
        loop {
            let run = state.run;
            let Some(matches) = state.ahead.remove(&run) else { break };
            state.run += 1;
            state.run_matches += matches;
        }
        if state.run_matches > self.most {
            self.enough.store(true, Ordering::Relaxed);
        }
        if state.run.is_multiple_of(1024) {
            let (run, total) = (state.run as u64, self.entries.len() as u64);
            self.context.progress.report(run, Some(total), &format!("{run} of {total} files searched"));
        }
    }

    fn assemble(&self, found: Vec<(usize, Found)>, skipped: u64) -> (Output, String) {
        let mut output = Output { skipped, ..Output::default() };
        let mut text = String::new();
        for (index, mut found) in found {
            let entry = &self.entries[index];
            let left = self.most - output.count;
            if left == 0 {
                output.truncated = true;
                break;
            }
            output.truncated |= found.cut || found.matches > left;
            if found.matches > left {
                // Once more with the smaller cap, so that no context of a match that is left out shows.
                found = self.one(entry, left).ok().flatten().unwrap_or_default();
            }
            if self.context_lines > 0 && !text.is_empty() {
                text.push_str("--\n");
            }
            output.count += found.matches;
            self.add(&entry.path, found.hits, &mut output.matches, &mut text);
        }
        let files = self.entries.len() as u64;
        self.context.progress.report_now(files, Some(files), &format!("{files} files searched"));
        if output.truncated {
            let notice =
                format!("[truncated: the first {} matches; narrow the search or raise maxResults]\n", output.count);
            text.insert_str(0, &notice);
        }
        if output.count == 0 {
            text.push_str("(no matches found)\n");
        }
        (output, text)
    }

    fn add(&self, path: &Path, hits: Vec<Hit>, lines: &mut Vec<Shown>, text: &mut String) {
        let path = show_path(path);
        for hit in hits {
            let separator = if hit.is_match { ':' } else { '-' };
            if hit.after_gap && self.context_lines > 0 {
                text.push_str("--\n");
            }
            let _ = writeln!(text, "{path}{separator}{}{separator}{}", hit.line, hit.text);
            lines.push(Shown {
                path: path.clone().into_owned(),
                line: hit.line,
                text: hit.text,
                is_match: hit.is_match,
            });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
