//! Lines of all files of a scope that match a pattern, in path order.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use replay_base::budget::{Exhausted, Room, Share};
use replay_base::cancel::Bound;
use replay_base::limits::{FOUND_COPIES, MAX_NAMED_UNREADABLE, SEARCH_PROGRESS_STEP};
use replay_files::fs::{self, Ended, Entries, OpenDir, OpenFile, Visitor};
use replay_files::policy::{Checked, FileKind, Read};
use replay_pattern::{Budget, Pattern, PatternError};

use super::Call;
use super::error::SearchError;
use super::left_out::LeftOut;
use super::lines::{FileMatches, FileSearcher, Hit, Limits, SearchOptions, Stopped};
use super::memory::{self, Finding, Memory, Notes, Recall};
use super::scope::{Scope, Start, to_path};

/// Part of a file's matches that is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Lines,
    Files,
    /// Number of matching lines.
    Count,
}

/// Limits and options of a content search.
#[derive(Debug, Clone, Copy)]
pub struct GrepOptions {
    pub mode: Mode,
    /// Lines around each match; for [`Mode::Lines`].
    pub context: usize,
    /// `true` if a match may span lines; each match counts.
    pub multiline: bool,
    /// Most matches for [`Mode::Lines`], else most files.
    pub most: u64,
    /// Bytes of lines that are kept, more or less; matches after that are only counted.
    pub bytes: usize,
}

/// The matches of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct FileHits {
    /// Absolute, in the spelling of the directory that was asked for.
    pub path: PathBuf,
    /// The lines, as far as they are wanted.
    pub hits: Vec<Hit>,
    /// Number of matching lines, up to the limit of the search; 1 for [`Mode::Files`].
    pub matches: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// By the bytes of their paths. Their matches together are at most as many as were wanted.
    pub files: Vec<FileHits>,
    /// `true` if there are more results than the limit.
    pub more: bool,
    /// Files looked at, those included that came to nothing because there was enough before them.
    pub searched: u64,
    /// Files that could not be searched, links that lead out, directories that could not be read.
    pub skipped: u64,
    /// The first of those that lie inside and could not be read.
    pub unreadable: Vec<PathBuf>,
    pub left_out: LeftOut,
    /// Share of the memory budget that the results, and texts made of them, take.
    pub held: Share,
}

/// Searches every file of a scope.
pub fn grep(
    call: Call<'_>,
    scope: Scope,
    pattern: &Pattern,
    wanted: GrepOptions,
) -> Result<Hits, SearchError> {
    let budget = Budget::new(Bound {
        deadline: None,
        cancel: Some(call.cancel),
    });
    let mut gathered = Gathered::new(wanted, call.room());
    let seen = AtomicU64::new(0);
    let recall = recall(call.memory, pattern, wanted);
    let recall = recall.as_ref();
    for start in scope.starts() {
        if scope.overlaps() {
            gathered.begin_again();
        } else if gathered.is_full() {
            break;
        }
        let progress = ResultCounters {
            units: AtomicU64::new(gathered.units),
            bytes: AtomicUsize::new(gathered.bytes),
        };
        let (settled, seen, budget) = (&progress, &seen, &budget);
        let how = SearchOptions {
            binary: scope.names_files(),
            ..how_of(wanted)
        };
        let visit = Search {
            call,
            scope: &scope,
            start,
            pattern,
            budget,
            wanted,
            how,
            settled,
            seen,
            recall,
        };
        let ended = fs::walk(
            &start.dir,
            &scope.walk_options(start, call),
            &visit,
            |stretch| {
                let flow = gathered.add(stretch);
                progress.units.store(gathered.units, Ordering::Relaxed);
                progress.bytes.store(gathered.bytes, Ordering::Relaxed);
                flow
            },
        )?;
        if ended == Ended::Stopped && call.cancel.is_cancelled() {
            return Err(SearchError::Cancelled);
        }
    }
    let overlaps = scope.overlaps();
    if recall.is_some_and(Recall::has_news) {
        scope
            .into_directories()
            .for_each(|dir| call.memory.learn_below(dir));
    }
    gathered.searched = seen.into_inner();
    gathered.finish(overlaps)
}

/// Searches one file.
pub fn grep_one(
    call: Call<'_>,
    file: &Checked<Read>,
    pattern: &Pattern,
    wanted: GrepOptions,
) -> Result<Hits, SearchError> {
    let path = file.display_path().to_path_buf();
    grep_open(call, (path, OpenFile::of(file)), pattern, wanted)
}

/// Searches an open file, which has this name in the reply.
pub fn grep_open(
    call: Call<'_>,
    (path, file): (PathBuf, io::Result<OpenFile>),
    pattern: &Pattern,
    wanted: GrepOptions,
) -> Result<Hits, SearchError> {
    let budget = Budget::new(Bound {
        deadline: None,
        cancel: Some(call.cancel),
    });
    let mut gathered = Gathered {
        searched: 1,
        ..Gathered::new(wanted, call.room())
    };
    let mut stretch = Stretch::default();
    let limits = limits_of(wanted, 0, 0);
    let searched = match file {
        Ok(file) => {
            let how = SearchOptions {
                binary: true,
                ..how_of(wanted)
            };
            FileSearcher::new(pattern, &budget, how, call.room()).search(&file, limits)
        }
        Err(_) => Err(Stopped::Unreadable),
    };
    stretch.add(searched, || path, wanted.mode);
    if call.cancel.is_cancelled() {
        return Err(SearchError::Cancelled);
    }
    let _ = gathered.add(stretch);
    gathered.finish(false)
}

/// Returns the remembered results for the pattern and its line mode.
fn recall(memory: &Memory, pattern: &Pattern, wanted: GrepOptions) -> Option<Recall> {
    let key = format!(
        "{}{}",
        if wanted.multiline { "multiline/" } else { "" },
        pattern.key()
    );
    memory.recall(key.as_bytes(), || {
        pattern.over_approximation(wanted.multiline)
    })
}

fn how_of(wanted: GrepOptions) -> SearchOptions {
    let (count_only, multiline) = (wanted.mode != Mode::Lines, wanted.multiline);
    SearchOptions {
        context: wanted.context,
        count_only,
        multiline,
        binary: false,
    }
}

/// Returns the limits for one more file after these results.
fn limits_of(wanted: GrepOptions, units: u64, bytes: usize) -> Limits {
    match wanted.mode {
        Mode::Lines => Limits {
            most: wanted.most.saturating_sub(units),
            bytes: wanted.bytes.saturating_sub(bytes),
        },
        Mode::Files => Limits { most: 0, bytes: 0 },
        Mode::Count => Limits {
            most: u64::MAX,
            bytes: 0,
        },
    }
}

/// Counters of the results so far, shared with the searching threads.
struct ResultCounters {
    units: AtomicU64,
    bytes: AtomicUsize,
}

/// Results of a consecutive run of files.
#[derive(Default)]
struct Stretch {
    results: Vec<Result<(PathBuf, FileMatches), Failure>>,
    skipped: u64,
    unreadable: Vec<PathBuf>,
    left_out: LeftOut,
    weight: usize,
}

enum Failure {
    Pattern {
        path: PathBuf,
        line: u64,
        source: PatternError,
    },
    Memory(Exhausted),
}

impl Stretch {
    fn add(
        &mut self,
        searched: Result<FileMatches, Stopped>,
        path: impl FnOnce() -> PathBuf,
        mode: Mode,
    ) {
        let result = match searched {
            Ok(mut found) => {
                if mode == Mode::Files && found.cut {
                    (found.matches, found.cut) = (1, false);
                }
                if found.matches == 0 && !found.cut {
                    return;
                }
                Ok((path(), found))
            }
            Err(Stopped::Unreadable) => return self.skip(path()),
            Err(Stopped::Binary) => return self.left_out.binary_files += 1,
            Err(Stopped::Pattern(source, line)) => Err(Failure::Pattern {
                path: path(),
                line,
                source,
            }),
            Err(Stopped::Memory(short)) => Err(Failure::Memory(short)),
        };
        self.weight += size_of_val(&result);
        if let Ok((path, found)) = &result {
            let text: usize = found
                .hits
                .iter()
                .map(|hit| hit.text.len() + size_of::<Hit>())
                .sum();
            self.weight += path.as_os_str().len() + text;
        }
        self.results.push(result);
    }

    fn skip(&mut self, path: PathBuf) {
        self.skipped += 1;
        self.weight += 1;
        if self.unreadable.len() < MAX_NAMED_UNREADABLE {
            self.unreadable.push(path);
        }
    }
}

/// The visitor of a walk.
struct Search<'a> {
    call: Call<'a>,
    scope: &'a Scope,
    start: &'a Start,
    pattern: &'a Pattern,
    budget: &'a Budget<'a>,
    wanted: GrepOptions,
    how: SearchOptions,
    settled: &'a ResultCounters,
    seen: &'a AtomicU64,
    recall: Option<&'a Recall>,
}

impl<'a> Visitor for Search<'a> {
    type Local = FileSearcher<'a>;
    type Out = Stretch;
    type Notes = Notes;

    fn local(&self) -> Self::Local {
        FileSearcher::new(self.pattern, self.budget, self.how, self.call.room())
    }

    fn enters(&self, rel: &[u8]) -> bool {
        self.scope.enters(self.start, rel)
    }

    fn entries(&self, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Notes>>> {
        memory::entries(self.recall, dir)
    }

    fn visit(
        &self,
        local: &mut Self::Local,
        out: &mut Stretch,
        found: &fs::WalkEntry<'_>,
        notes: &Notes,
    ) {
        let kind = found.kind();
        if !matches!(kind, FileKind::File | FileKind::Symlink)
            || !self.scope.holds(self.start, found.rel())
        {
            return;
        }
        let path = || self.start.path(found.rel());
        if kind == FileKind::Symlink {
            // A link is not followed: what it leads to inside is searched where it lies, and what
            // is outside is none of ours.
            if self.call.policy.leads_to(path()).is_none() {
                out.skipped += 1;
                out.weight += 1;
            }
            return;
        }
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        if seen.is_multiple_of(SEARCH_PROGRESS_STEP) {
            (self.call.progress)(seen);
        }
        // Where binary files are searched, what is remembered of others does not hold.
        let recall = self.recall.filter(|_| !self.how.binary);
        match recall.and_then(|recall| recall.rules_out(found, notes)) {
            Some(Finding::Binary) => return out.left_out.binary_files += 1,
            Some(_) => return,
            None => {}
        }
        let file = match found.open() {
            Ok(file) => file,
            // Gone, or something else by now.
            Err(error) if is_gone(&error) => return,
            Err(_) => return out.skip(path()),
        };
        // Before it is read: what changes from now on has another version.
        let settled = recall.and_then(|recall| {
            recall
                .settled(&file, notes)
                .map(|version| (recall, version))
        });
        let (units, bytes) = (&self.settled.units, &self.settled.bytes);
        let limits = limits_of(
            self.wanted,
            units.load(Ordering::Relaxed),
            bytes.load(Ordering::Relaxed),
        );
        let searched = local.search(&file, limits);
        let found_at = found.place();
        let finding = match &searched {
            Ok(found) if found.matches > 0 || found.cut => Some(Finding::Match),
            Ok(_) => Some(Finding::NoMatch),
            Err(Stopped::Binary) => Some(Finding::Binary),
            Err(_) => None,
        };
        if let (Some((recall, version)), Some(finding)) = (settled, finding)
            && !self.call.cancel.is_cancelled()
        {
            recall.learn(notes, found_at, &version, finding);
        }
        out.add(searched, path, self.wanted.mode);
    }

    fn ignored(&self, out: &mut Stretch, rel: &[u8], kind: FileKind) {
        let is_of_scope = match kind {
            FileKind::File => self.scope.holds(self.start, rel),
            FileKind::Directory => self.start.is_above(rel) && self.scope.enters(self.start, rel),
            _ => false,
        };
        if is_of_scope {
            out.left_out.add_ignored(kind);
        }
    }

    fn unreadable(&self, out: &mut Stretch, rel: &[u8]) {
        out.skip(self.start.path(rel));
    }

    fn weight(out: &Stretch) -> usize {
        out.weight.max(usize::from(!out.left_out.is_empty()))
    }
}

/// Returns true if a listed name is no longer a regular file.
pub(super) fn is_gone(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let gone = [
        Errno::NOENT,
        Errno::NXIO,
        Errno::NODEV,
        Errno::ISDIR,
        Errno::LOOP,
        Errno::NOTDIR,
    ];
    Errno::from_io_error(error).is_some_and(|errno| gone.contains(&errno))
}

/// Results as they come, in order.
struct Gathered<'a> {
    wanted: GrepOptions,
    room: Room<'a>,
    /// Share of the memory budget that the results take.
    share: Share,
    files: Vec<(PathBuf, FileMatches)>,
    /// Matches, or files, since the last time it began.
    units: u64,
    bytes: usize,
    searched: u64,
    skipped: u64,
    unreadable: Vec<PathBuf>,
    left_out: LeftOut,
    failed: Option<Failure>,
}

impl<'a> Gathered<'a> {
    fn new(wanted: GrepOptions, room: Room<'a>) -> Self {
        Self {
            wanted,
            room,
            share: room.share(),
            files: Vec::new(),
            units: 0,
            bytes: 0,
            searched: 0,
            skipped: 0,
            unreadable: Vec::new(),
            left_out: LeftOut::default(),
            failed: None,
        }
    }

    /// Resets the counters, as the next results may come first in path order.
    fn begin_again(&mut self) {
        (self.units, self.bytes) = (0, 0);
    }

    fn is_full(&self) -> bool {
        self.units > self.wanted.most || self.failed.is_some()
    }

    fn add(&mut self, stretch: Stretch) -> ControlFlow<()> {
        self.skipped += stretch.skipped;
        self.left_out += stretch.left_out;
        let room = MAX_NAMED_UNREADABLE.saturating_sub(self.unreadable.len());
        self.unreadable
            .extend(stretch.unreadable.into_iter().take(room));
        for result in stretch.results {
            match result {
                Ok((path, mut found)) => {
                    if self.bytes >= self.wanted.bytes {
                        found.hits = Vec::new();
                    }
                    self.units += if self.wanted.mode == Mode::Lines {
                        found.matches + u64::from(found.cut)
                    } else {
                        1
                    };
                    self.bytes += found
                        .hits
                        .iter()
                        .map(|hit| hit.text.len() + 1)
                        .sum::<usize>();
                    self.files.push((path, found));
                    if let Err(short) = self.room.cover(&mut self.share, self.bytes * FOUND_COPIES)
                    {
                        self.failed = Some(Failure::Memory(short));
                    }
                }
                // Results after the limit do not matter, so neither does a failure there.
                Err(failure) => self.failed = Some(failure),
            }
            if self.is_full() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(mut self, overlapping: bool) -> Result<Hits, SearchError> {
        match self.failed {
            Some(Failure::Pattern { path, line, source }) => {
                return Err(SearchError::PatternAt { path, line, source });
            }
            Some(Failure::Memory(short)) => return Err(SearchError::Memory(short)),
            None => {}
        }
        if overlapping {
            let bytes = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
            self.files.sort_by_cached_key(|(path, _)| bytes(path));
            self.files.dedup_by(|(a, _), (b, _)| a == b);
        }
        let mut hits = Hits {
            searched: self.searched,
            skipped: self.skipped,
            unreadable: self.unreadable,
            left_out: self.left_out,
            held: self.share,
            ..Hits::default()
        };
        let mut left = self.wanted.most;
        for (path, mut found) in self.files {
            if left == 0 {
                hits.more = true;
                break;
            }
            if self.wanted.mode == Mode::Lines {
                hits.more |= found.cut || found.matches > left;
                if found.cut || found.matches > left {
                    cut(&mut found, left, self.wanted.context);
                }
                left -= found.matches;
            } else {
                left -= 1;
            }
            hits.files.push(FileHits {
                path,
                hits: found.hits,
                matches: found.matches,
            });
        }
        Ok(hits)
    }
}

/// Leaves the first `most` matches, and no context of those that are left out: a search that ends
/// at a match has already brought the lines before it.
fn cut(found: &mut FileMatches, most: u64, context: usize) {
    found.matches = found.matches.min(most);
    let mut matches = 0;
    let kept = found.hits.iter().take_while(|hit| {
        matches += u64::from(hit.is_match);
        matches <= most
    });
    let kept = kept.count();
    found.hits.truncate(kept);
    let last = found
        .hits
        .iter()
        .rposition(|hit| hit.is_match)
        .map_or(0, |at| found.hits[at].line);
    found
        .hits
        .retain(|hit| hit.line <= last.saturating_add(context as u64));
}

/// The path of an entry below a start.
impl Start {
    fn path(&self, rel: &[u8]) -> PathBuf {
        to_path([&self.prefix, rel].concat())
    }
}
