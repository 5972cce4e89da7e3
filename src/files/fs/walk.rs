//! Walks a tree with several threads, opening one component at a time below open directories. Links
//! are never followed.
//!
//! Tasks are cut in the order of the tree, and results leave in that order as soon as all previous
//! ones are there (`line`). So a walk that stops after the first few files has examined little
//! more.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::ffi::OsStr;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use replay_base::budget::{Account, Room};
use replay_base::cancel::CancelToken;
use replay_base::limits::{MAX_WALK_DEPTH, MAX_WALK_OPEN_DIRS};
use rustix::fs::{AtFlags, Mode, openat};
use rustix::io::Errno;

use crate::policy::{Checked, FileKind, Read, Rules};

use super::derived_dir::is_derived;
use super::dir::{LIST, is_hidden, is_home, open_below, open_file, version_of};
use super::dirs::reopen;
use super::error::FsError;
use super::gitignore::Ignores;
use super::info::{Info, info_of};
use super::listing::{Entries, OpenDir, Order};
use super::read::OpenFile;
use super::temp::is_temp_name;
use super::version::Version;

mod task_queue;
mod work;
use task_queue::{TaskOutcome, TaskQueue};
use work::{Dir, ListedDir, ListingPosition, RemainingWork, Start, Task};

/// Most threads of one walk.
const MAX_WALK_THREADS: usize = 12;
/// Results of a walk that may wait for those before them until the threads that are ahead wait too,
/// in bytes.
const MAX_WALK_WAITING_BYTES: usize = 8 * 1024 * 1024;

/// Options of a walk.
pub struct WalkOptions<'a> {
    /// Number of threads, including the caller's; `None` for one per processor.
    pub threads: Option<usize>,
    /// Order of the results.
    pub order: Order,
    /// Levels walked: 1 for the directory's own entries. Capped by `MAX_WALK_DEPTH`.
    pub max_depth: usize,
    /// `true` to skip files matched by `.gitignore`, `.git` itself, and what lies in directories that
    /// a program can make again (`CACHEDIR.TAG`, `pyvenv.cfg`).
    pub skip_ignored: bool,
    /// Directories above the start whose `.gitignore` files apply too, outermost first, each with
    /// the path from there to the start (`src/lib`).
    pub above: &'a [(Checked<Read>, Vec<u8>)],
    /// Account for the memory of `.gitignore` rules; `None` if memory is not limited.
    pub account: Option<&'a Account>,
    pub cancel: &'a CancelToken,
}

impl<'a> WalkOptions<'a> {
    fn room(&self) -> Room<'a> {
        Room {
            account: self.account,
            cancel: self.cancel,
        }
    }
}

/// Processing of the entries of a walk.
pub trait Visitor: Sync {
    /// Per-thread state, such as buffers.
    type Local;
    /// Result of a sequence of entries.
    type Out: Default + Send;

    /// Notes on the entries of a directory, by position.
    type Notes: Default + Send + Sync;

    /// Creates the state of a thread.
    fn local(&self) -> Self::Local;

    /// Returns true if a directory, given by its path below the start, is entered. It is visited
    /// itself in either case.
    fn enters(&self, rel: &[u8]) -> bool {
        let _ = rel;
        true
    }

    /// Returns all entries of a directory: from a new listing, or from a cache.
    fn entries(&self, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Self::Notes>>> {
        Ok(Arc::new(dir.list()?.into()))
    }

    /// Visits an entry; `notes` are those of its directory.
    fn visit(
        &self,
        local: &mut Self::Local,
        out: &mut Self::Out,
        found: &WalkEntry<'_>,
        notes: &Self::Notes,
    );

    /// Called for an entry, given by its path below the start, that a `.gitignore` rule excludes;
    /// an excluded directory is not entered.
    fn ignored(&self, out: &mut Self::Out, rel: &[u8], kind: FileKind) {
        let _ = (out, rel, kind);
    }

    /// Called for a directory, given by its path below the start, that is not read since a program
    /// can make its content again. It was visited.
    fn derived(&self, out: &mut Self::Out, rel: &[u8]) {
        self.ignored(out, rel, FileKind::Directory);
    }

    /// Called for a directory, given by its path below the start, that is unreadable or too deep.
    fn unreadable(&self, out: &mut Self::Out, rel: &[u8]);

    /// Returns the approximate size of `out` in bytes: threads that are ahead wait when too much is
    /// pending. With 0 it is dropped.
    fn weight(out: &Self::Out) -> usize;
}

/// End of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Complete,
    /// Stopped by `settle` or by the token.
    Stopped,
}

/// An entry found by a walk.
pub struct WalkEntry<'a> {
    rel: &'a [u8],
    name: usize,
    kind: FileKind,
    inode: u64,
    place: usize,
    dir: BorrowedFd<'a>,
    rules: &'a Rules,
}

impl WalkEntry<'_> {
    /// Returns the path below the start, as bytes separated by slashes.
    pub fn rel(&self) -> &[u8] {
        self.rel
    }

    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.rel[self.name..])
    }

    /// Returns the file type; links are not followed.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns the inode number from the directory (`getdents64(2)`); for a mount point, that of
    /// the underlying directory.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Returns the position in the listing of its directory.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Returns the current version; `None` if it is gone or not a regular file.
    pub fn version(&self) -> Option<Version> {
        version_of(self.dir, self.name())
    }

    /// Opens the entry for reading if it is a regular file now; anything else fails at once.
    pub fn open(&self) -> io::Result<OpenFile> {
        let file = open_file(self.dir, self.name())?;
        let Version { device, inode, .. } = file.version;
        // The file may have got this name after the directory was listed.
        let is_hidden = self.rules.is_hidden((device, inode))
            || is_home(self.rules, self.dir, self.name().as_bytes());
        let is_kernels = self.rules.is_kernels(device, &file.handle);
        if is_hidden || is_kernels {
            Err(io::ErrorKind::PermissionDenied.into())
        } else {
            Ok(file)
        }
    }

    /// Returns the metadata; links are not followed. `None` if it is gone.
    pub fn info(&self) -> Option<Info> {
        let name = self.name();
        info_of(self.dir, name, AtFlags::empty(), name.as_ref()).ok()
    }
}

/// Walks the tree below `start`. Entries are visited on several threads. `settle` receives the
/// results in order, one at a time, and may end the walk. Fails if a `.gitignore` cannot be obeyed.
pub fn walk<V: Visitor>(
    start: &Checked<Read>,
    options: &WalkOptions<'_>,
    visitor: &V,
    settle: impl FnMut(V::Out) -> ControlFlow<()> + Send,
) -> Result<Ended, FsError> {
    if start.kind() != FileKind::Directory {
        return Err(FsError::NotADirectory {
            path: start.display_path().into(),
        });
    }
    let mut ignores = None;
    for (dir, lead) in options.above.iter().filter(|_| options.skip_ignored) {
        ignores = Ignores::above_start(ignores, dir, lead, options.room())?;
    }
    let first = Start {
        ignores,
        taken: false,
    };
    let line = TaskQueue::new(RemainingWork::Start(first), MAX_WALK_WAITING_BYTES, settle);
    let walker = Walker {
        start,
        options,
        visitor,
        open: Arc::default(),
        failed: OnceLock::new(),
    };
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options
        .threads
        .unwrap_or_else(processors)
        .clamp(1, MAX_WALK_THREADS);
    let mut own = ThreadState::new(visitor);
    // Most walks end before another thread would have started.
    if walker.work_alone(&line, &mut own) && threads > 1 {
        std::thread::scope(|scope| {
            let run = || {
                let mut own = ThreadState::new(visitor);
                walker.work(&line, &mut own);
            };
            // If no thread can be started, the others do its share.
            let helpers: Vec<_> = (1..threads)
                .filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, run).ok())
                .collect();
            walker.work(&line, &mut own);
            for helper in helpers {
                if let Err(panic) = helper.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
    } else {
        walker.work(&line, &mut own);
    }
    if let Some(error) = walker.failed.into_inner() {
        return Err(error);
    }
    Ok(if line.is_stopped() {
        Ended::Stopped
    } else {
        Ended::Complete
    })
}

/// State of a thread.
struct ThreadState<L> {
    local: L,
    path: Vec<u8>,
    buffer: Vec<u8>,
    steps: Vec<ListingPosition>,
}

impl<L> ThreadState<L> {
    fn new(visitor: &impl Visitor<Local = L>) -> Self {
        Self {
            local: visitor.local(),
            path: Vec::new(),
            buffer: Vec::new(),
            steps: Vec::new(),
        }
    }
}

/// Action for an entry.
#[derive(PartialEq, Eq)]
enum EntryAction {
    Nothing,
    /// Excluded by a `.gitignore` rule.
    Ignored,
    Entry,
    /// Visit the entry, and later its content.
    EntryAndBelow,
}

struct Walker<'a, V> {
    start: &'a Checked<Read>,
    options: &'a WalkOptions<'a>,
    visitor: &'a V,
    open: Arc<AtomicUsize>,
    /// Error that ended the walk, if any.
    failed: OnceLock<FsError>,
}

impl<V: Visitor> Walker<'_, V> {
    /// Works alone until there is work for others; returns true if there is.
    fn work_alone<F>(
        &self,
        line: &TaskQueue<RemainingWork<V::Notes>, V::Out, F>,
        own: &mut ThreadState<V::Local>,
    ) -> bool
    where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        while let Some(taken) = line.take() {
            let done = self.run_task(line, taken.task, own);
            if line.give(taken.turn, done) {
                return true;
            }
        }
        false
    }

    fn work<F>(
        &self,
        line: &TaskQueue<RemainingWork<V::Notes>, V::Out, F>,
        own: &mut ThreadState<V::Local>,
    ) where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        let mut taken = line.take();
        while let Some(now) = taken {
            let done = self.run_task(line, now.task, own);
            taken = line.exchange(now.turn, done);
        }
    }

    fn run_task<F>(
        &self,
        line: &TaskQueue<RemainingWork<V::Notes>, V::Out, F>,
        task: Task<V::Notes>,
        own: &mut ThreadState<V::Local>,
    ) -> TaskOutcome<RemainingWork<V::Notes>, V::Out>
    where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        let mut out = V::Out::default();
        let mut more = None;
        if self.options.cancel.is_cancelled() {
            line.stop();
        } else {
            match task {
                Task::Entries(place, range) => self.entries(line, &place, range, own, &mut out),
                Task::Start(ignores) => {
                    let opened = openat(self.start, ".", LIST, Mode::empty());
                    more = self.list(line, opened, Vec::new(), ignores, 0, own, &mut out);
                }
                Task::Below(place, step) => {
                    let name = place.entries.listing.name(step.place()).unwrap_or_default();
                    let mut rel = Vec::with_capacity(place.rel.len() + name.len() + 1);
                    rel.extend_from_slice(&place.rel);
                    rel.extend_from_slice(name);
                    let rules = self.start.rules();
                    let opened = match &place.dir {
                        Some(dir) => open_below(rules, &dir.handle, name),
                        None => reopen(self.start, &place.rel)
                            .and_then(|at| open_below(rules, &at, name)),
                    };
                    more = self.list(
                        line,
                        opened,
                        rel,
                        place.ignores,
                        place.depth + 1,
                        own,
                        &mut out,
                    );
                }
            }
        }
        let weight = V::weight(&out);
        let close_one = more.is_some() && self.open.load(Ordering::Relaxed) > MAX_WALK_OPEN_DIRS;
        TaskOutcome {
            result: (weight > 0).then_some((out, weight)),
            more,
            close_one,
        }
    }

    fn entries<F>(
        &self,
        line: &TaskQueue<RemainingWork<V::Notes>, V::Out, F>,
        place: &ListedDir<V::Notes>,
        range: Range<usize>,
        own: &mut ThreadState<V::Local>,
        out: &mut V::Out,
    ) where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        let reopened;
        let dir = match &place.dir {
            Some(dir) => dir.handle.as_fd(),
            None => match reopen(self.start, &place.rel) {
                Ok(handle) => {
                    reopened = handle;
                    reopened.as_fd()
                }
                Err(_) => {
                    return self
                        .visitor
                        .unreadable(out, place.rel.strip_suffix(b"/").unwrap_or(&place.rel));
                }
            },
        };
        own.path.clear();
        own.path.extend_from_slice(&place.rel);
        let Entries { listing, notes } = &*place.entries;
        for step in place.steps.get(range).unwrap_or_default() {
            let Some(listed) = listing.get(step.place()) else {
                return;
            };
            if line.is_stopped() {
                return;
            }
            if self.options.cancel.is_cancelled() {
                return line.stop();
            }
            own.path.truncate(place.rel.len());
            own.path.extend_from_slice(listed.name);
            let (name, at) = (place.rel.len(), step.place());
            let (kind, inode, rules) = (listed.kind, listed.inode, &**self.start.rules());
            let found = WalkEntry {
                rel: &own.path,
                name,
                kind,
                inode,
                place: at,
                dir,
                rules,
            };
            self.visitor.visit(&mut own.local, out, &found, notes);
        }
    }

    /// Lists a directory that was just opened; returns the work in it.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a directory is listed with has no name of its own"
    )]
    fn list<F>(
        &self,
        line: &TaskQueue<RemainingWork<V::Notes>, V::Out, F>,
        opened: Result<OwnedFd, Errno>,
        mut rel: Vec<u8>,
        above: Option<Arc<Ignores>>,
        depth: usize,
        own: &mut ThreadState<V::Local>,
        out: &mut V::Out,
    ) -> Option<RemainingWork<V::Notes>>
    where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        let Ok(handle) = opened else {
            self.visitor.unreadable(out, &rel);
            return None;
        };
        let mut ignores = above;
        if self.options.skip_ignored {
            ignores = match Ignores::inside(ignores, &handle, &rel, self.options.room()) {
                Ok(ignores) => ignores,
                Err(error) => {
                    let dir = self.start.display_path().join(OsStr::from_bytes(&rel));
                    // Only the first error is reported.
                    let _ = self.failed.set(error.below(&dir));
                    line.stop();
                    return None;
                }
            };
        }
        if !rel.is_empty() {
            rel.push(b'/');
        }
        let Ok(entries) = self
            .visitor
            .entries(&mut OpenDir::new(&handle, &mut own.buffer))
        else {
            self.visitor
                .unreadable(out, rel.strip_suffix(b"/").unwrap_or(&rel));
            return None;
        };
        let start = rel.strip_suffix(b"/");
        if let Some(rel) = start.filter(|_| self.options.skip_ignored)
            && is_derived(&handle, &entries.listing)
        {
            self.visitor.derived(out, rel);
            return None;
        }
        let inside = DirContext {
            walker: self,
            dir: &handle,
            ignores: ignores.as_deref(),
            depth: depth + 1,
        };
        let steps = inside.steps(&entries, &rel, own, out);
        self.open.fetch_add(1, Ordering::Relaxed);
        let dir = Some(Arc::new(Dir {
            handle,
            open: Arc::clone(&self.open),
        }));
        let place = ListedDir {
            dir,
            rel: rel.into(),
            entries,
            steps,
            ignores,
            depth,
        };
        Some(RemainingWork::Listed { place, next: 0 })
    }
}

/// Context for decisions about the entries of one directory.
struct DirContext<'a, V> {
    walker: &'a Walker<'a, V>,
    dir: &'a OwnedFd,
    ignores: Option<&'a Ignores>,
    depth: usize,
}

impl<V: Visitor> DirContext<'_, V> {
    /// Returns the steps for a directory whose path with a slash is `rel`.
    fn steps(
        &self,
        entries: &Entries<V::Notes>,
        rel: &[u8],
        own: &mut ThreadState<V::Local>,
        out: &mut V::Out,
    ) -> Arc<[ListingPosition]> {
        let by_names = self.walker.options.order == Order::Names;
        own.steps.clear();
        own.path.clear();
        own.path.extend_from_slice(rel);
        for place in 0..entries.listing.places() {
            let Some(listed) = entries.listing.get(place) else {
                break;
            };
            if listed.below && by_names {
                continue;
            }
            own.path.truncate(rel.len());
            own.path.extend_from_slice(listed.name);
            let start = self.walker.start;
            let at = || start.place().join(OsStr::from_bytes(&own.path));
            let take = if is_hidden(start.rules(), self.dir, listed.name, listed.inode, at) {
                EntryAction::Nothing
            } else {
                self.take(&own.path, listed.name, listed.kind)
            };
            match take {
                EntryAction::Entry | EntryAction::EntryAndBelow if !listed.below => {
                    own.steps.push(ListingPosition::new(place, false));
                }
                EntryAction::Ignored if !listed.below => {
                    self.walker.visitor.ignored(out, &own.path, listed.kind);
                }
                _ => {}
            }
            // By names, the content of a directory follows it at once; by paths, it has its own
            // position.
            if take == EntryAction::EntryAndBelow && listed.below != by_names {
                if self.depth < MAX_WALK_DEPTH {
                    own.steps.push(ListingPosition::new(place, true));
                } else {
                    self.walker.visitor.unreadable(out, &own.path);
                }
            }
        }
        Arc::from(&own.steps[..])
    }

    fn take(&self, path: &[u8], name: &[u8], kind: FileKind) -> EntryAction {
        let options = self.walker.options;
        let is_dir = kind == FileKind::Directory;
        // Temporary files of a running write are skipped: they would give duplicate matches, or be
        // edited.
        if options.skip_ignored && name == b".git"
            || !is_dir && is_temp_name(OsStr::from_bytes(name))
        {
            return EntryAction::Nothing;
        }
        if options.skip_ignored
            && self
                .ignores
                .is_some_and(|ignores| ignores.ignored(path, is_dir))
        {
            return EntryAction::Ignored;
        }
        if is_dir && self.depth < options.max_depth && self.walker.visitor.enters(path) {
            EntryAction::EntryAndBelow
        } else {
            EntryAction::Entry
        }
    }
}
