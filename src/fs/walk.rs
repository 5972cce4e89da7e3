//! Walks a tree with several threads, opening one name at a time below open directories and
//! following nothing.
//!
//! Work is cut in the order of the tree, and what visitors bring leaves in that order as soon as
//! everything before it is there (`line`). So a walk that has enough after the first few files has
//! looked at little more than those.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::ffi::OsStr;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, Mode, openat};
use rustix::io::Errno;

use crate::budget::{Account, Room};
use crate::cancel::CancelToken;
use crate::limits::{MAX_WALK_DEPTH, MAX_WALK_OPEN_DIRS, MAX_WALK_THREADS, MAX_WALK_WAITING_BYTES};
use crate::policy::{Checked, Kind, Read, Rules};

use super::dir::{LIST, is_hidden, is_home, open_below, open_file, version_of};
use super::dirs::reopen;
use super::error::FsError;
use super::gitignore::Ignores;
use super::info::{Info, info_of};
use super::listing::{Entries, OpenDir, Order};
use super::read::OpenFile;
use super::temp::is_temp_name;
use super::version::Version;

mod line;
mod work;
use line::{Finished, Line};
use work::{Dir, Place, Rest, Start, Step, Task};

/// How a tree is walked.
pub struct WalkOptions<'a> {
    /// Threads, the caller's own included; `None` for one per processor.
    pub threads: Option<usize>,
    /// The order of the results.
    pub order: Order,
    /// Levels walked: 1 is the directory's own entries. Capped by `MAX_WALK_DEPTH`.
    pub max_depth: usize,
    /// Leaves out what `.gitignore` files name, and `.git` itself.
    pub respect_gitignore: bool,
    /// Directories above the start whose `.gitignore` files count too, the outermost first, each
    /// with the way from there to the start (`src/lib`).
    pub above: &'a [(Checked<Read>, Vec<u8>)],
    /// Who pays for the rules of `.gitignore` files; `None` where nothing is counted.
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

/// What is done with the entries of a walk.
pub trait Visitor: Sync {
    /// What a thread keeps from entry to entry: buffers.
    type Local;
    /// What a stretch of entries, one after the other, comes to.
    type Out: Default + Send;

    /// What it keeps with the entries of a directory, each by its place.
    type Notes: Default + Send + Sync;

    /// Made once for each thread.
    fn local(&self) -> Self::Local;

    /// Whether a directory, by its path below the start, is gone into. It is visited itself in
    /// either case.
    fn enters(&self, rel: &[u8]) -> bool {
        let _ = rel;
        true
    }

    /// The entries of a directory, all of them: listed now, or known from before.
    fn entries(&self, dir: &mut OpenDir<'_>) -> io::Result<Arc<Entries<Self::Notes>>> {
        Ok(Arc::new(dir.list()?.into()))
    }

    /// Looks at an entry; `notes` are those of its directory.
    fn visit(
        &self,
        local: &mut Self::Local,
        out: &mut Self::Out,
        found: &WalkEntry<'_>,
        notes: &Self::Notes,
    );

    /// An entry, by its path below the start, is left out because a `.gitignore` file names it; of
    /// a directory nothing is looked at.
    fn ignored(&self, out: &mut Self::Out, rel: &[u8], kind: Kind) {
        let _ = (out, rel, kind);
    }

    /// A directory, by its path below the start, could not be read or lies too deep.
    fn unreadable(&self, out: &mut Self::Out, rel: &[u8]);

    /// What `out` holds, in bytes, more or less: threads that are ahead wait when too much does. At
    /// 0 it is dropped.
    fn weight(out: &Self::Out) -> usize;
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Complete,
    /// `settle` or the token ended it.
    Stopped,
}

/// An entry that a walk came upon.
pub struct WalkEntry<'a> {
    rel: &'a [u8],
    name: usize,
    kind: Kind,
    inode: u64,
    place: usize,
    dir: BorrowedFd<'a>,
    rules: &'a Rules,
}

impl WalkEntry<'_> {
    /// Its path below the start, as bytes with slashes between.
    pub fn rel(&self) -> &[u8] {
        self.rel
    }

    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.rel[self.name..])
    }

    /// What it is; a link is a link.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its inode number as the directory has it (`getdents64(2)`); of a mount point it is the
    /// number of what lies under.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Its place in the listing of its directory.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Which version it is at this moment; `None` if it is gone or no regular file.
    pub fn version(&self) -> Option<Version> {
        version_of(self.dir, self.name())
    }

    /// Opens it for reading if it is a regular file at this moment; anything else is an error at
    /// once.
    pub fn open(&self) -> io::Result<OpenFile> {
        let file = open_file(self.dir, self.name())?;
        let Version { device, inode, .. } = file.version;
        // It may have got its name since the directory was listed.
        let is_hidden = self.rules.is_hidden((device, inode))
            || is_home(self.rules, self.dir, self.name().as_bytes());
        let is_kernels = self.rules.is_kernels(device, &file.handle);
        if is_hidden || is_kernels {
            Err(io::ErrorKind::PermissionDenied.into())
        } else {
            Ok(file)
        }
    }

    /// Its metadata; a link is not followed. `None` if it is gone.
    pub fn info(&self) -> Option<Info> {
        let name = self.name();
        info_of(self.dir, name, AtFlags::empty(), name.as_ref()).ok()
    }
}

/// Walks the tree below `start`. Entries are visited on several threads; `settle` is given what
/// they came to in order, one at a time, and may end the walk. Fails where a `.gitignore` that is
/// to be obeyed cannot be.
pub fn walk<V: Visitor>(
    start: &Checked<Read>,
    options: &WalkOptions<'_>,
    visitor: &V,
    settle: impl FnMut(V::Out) -> ControlFlow<()> + Send,
) -> Result<Ended, FsError> {
    if start.kind() != Kind::Directory {
        return Err(FsError::NotADirectory {
            path: start.shown().into(),
        });
    }
    let mut ignores = None;
    for (dir, lead) in options.above.iter().filter(|_| options.respect_gitignore) {
        ignores = Ignores::above_start(ignores, dir, lead, options.room())?;
    }
    let first = Start {
        ignores,
        taken: false,
    };
    let line = Line::new(Rest::Start(first), MAX_WALK_WAITING_BYTES, settle);
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
    let mut own = Own::new(visitor);
    // Most walks are over before another thread would have started.
    if walker.alone(&line, &mut own) && threads > 1 {
        std::thread::scope(|scope| {
            let run = || {
                let mut own = Own::new(visitor);
                walker.work(&line, &mut own);
            };
            // Where no thread can be started the others do its share.
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

/// What a thread has for itself.
struct Own<L> {
    local: L,
    path: Vec<u8>,
    buffer: Vec<u8>,
    steps: Vec<Step>,
}

impl<L> Own<L> {
    fn new(visitor: &impl Visitor<Local = L>) -> Self {
        Self {
            local: visitor.local(),
            path: Vec::new(),
            buffer: Vec::new(),
            steps: Vec::new(),
        }
    }
}

/// What is done with an entry.
#[derive(PartialEq, Eq)]
enum Take {
    Nothing,
    /// Nothing, because a `.gitignore` file says so.
    Ignored,
    Entry,
    /// The entry, and later what is below it.
    EntryAndBelow,
}

struct Walker<'a, V> {
    start: &'a Checked<Read>,
    options: &'a WalkOptions<'a>,
    visitor: &'a V,
    open: Arc<AtomicUsize>,
    /// Why the walk has ended, if that is a failure.
    failed: OnceLock<FsError>,
}

impl<V: Visitor> Walker<'_, V> {
    /// Works until there is something that others could do; whether there is.
    fn alone<F>(&self, line: &Line<Rest<V::Notes>, V::Out, F>, own: &mut Own<V::Local>) -> bool
    where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        while let Some(taken) = line.take() {
            let done = self.one(line, taken.task, own);
            if line.give(taken.turn, done) {
                return true;
            }
        }
        false
    }

    fn work<F>(&self, line: &Line<Rest<V::Notes>, V::Out, F>, own: &mut Own<V::Local>)
    where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        let mut taken = line.take();
        while let Some(now) = taken {
            let done = self.one(line, now.task, own);
            taken = line.exchange(now.turn, done);
        }
    }

    fn one<F>(
        &self,
        line: &Line<Rest<V::Notes>, V::Out, F>,
        task: Task<V::Notes>,
        own: &mut Own<V::Local>,
    ) -> Finished<Rest<V::Notes>, V::Out>
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
        Finished {
            result: (weight > 0).then_some((out, weight)),
            more,
            close_one,
        }
    }

    fn entries<F>(
        &self,
        line: &Line<Rest<V::Notes>, V::Out, F>,
        place: &Place<V::Notes>,
        range: Range<usize>,
        own: &mut Own<V::Local>,
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

    /// Lists a directory that was just opened: what there is to do in it.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a directory is listed with has no name of its own"
    )]
    fn list<F>(
        &self,
        line: &Line<Rest<V::Notes>, V::Out, F>,
        opened: Result<OwnedFd, Errno>,
        mut rel: Vec<u8>,
        above: Option<Arc<Ignores>>,
        depth: usize,
        own: &mut Own<V::Local>,
        out: &mut V::Out,
    ) -> Option<Rest<V::Notes>>
    where
        F: FnMut(V::Out) -> ControlFlow<()>,
    {
        let Ok(handle) = opened else {
            self.visitor.unreadable(out, &rel);
            return None;
        };
        let mut ignores = above;
        if self.options.respect_gitignore {
            ignores = match Ignores::inside(ignores, &handle, &rel, self.options.room()) {
                Ok(ignores) => ignores,
                Err(error) => {
                    let dir = self.start.shown().join(OsStr::from_bytes(&rel));
                    // The first is told.
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
        let inside = Inside {
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
        let place = Place {
            dir,
            rel: rel.into(),
            entries,
            steps,
            ignores,
            depth,
        };
        Some(Rest::Listed { place, next: 0 })
    }
}

/// What decides about the entries of one directory.
struct Inside<'a, V> {
    walker: &'a Walker<'a, V>,
    dir: &'a OwnedFd,
    ignores: Option<&'a Ignores>,
    depth: usize,
}

impl<V: Visitor> Inside<'_, V> {
    /// What is taken of a directory whose path with a slash is `rel`.
    fn steps(
        &self,
        entries: &Entries<V::Notes>,
        rel: &[u8],
        own: &mut Own<V::Local>,
        out: &mut V::Out,
    ) -> Arc<[Step]> {
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
                Take::Nothing
            } else {
                self.take(&own.path, listed.name, listed.kind)
            };
            match take {
                Take::Entry | Take::EntryAndBelow if !listed.below => {
                    own.steps.push(Step::new(place, false))
                }
                Take::Ignored if !listed.below => {
                    self.walker.visitor.ignored(out, &own.path, listed.kind)
                }
                _ => {}
            }
            // In the order of names, what is below follows its directory at once; in that of paths
            // it has its own place.
            if take == Take::EntryAndBelow && listed.below != by_names {
                if self.depth < MAX_WALK_DEPTH {
                    own.steps.push(Step::new(place, true));
                } else {
                    self.walker.visitor.unreadable(out, &own.path);
                }
            }
        }
        Arc::from(&own.steps[..])
    }

    fn take(&self, path: &[u8], name: &[u8], kind: Kind) -> Take {
        let options = self.walker.options;
        let is_dir = kind == Kind::Directory;
        // What a write is just replacing a file with is no file yet; found here, it would be a
        // match twice, or be edited.
        if options.respect_gitignore && name == b".git"
            || !is_dir && is_temp_name(OsStr::from_bytes(name))
        {
            return Take::Nothing;
        }
        if options.respect_gitignore
            && self
                .ignores
                .is_some_and(|ignores| ignores.ignored(path, is_dir))
        {
            return Take::Ignored;
        }
        if is_dir && self.depth < options.max_depth && self.walker.visitor.enters(path) {
            Take::EntryAndBelow
        } else {
            Take::Entry
        }
    }
}
