//! Walks a tree with several threads, opening one name at a time below open directories and following nothing.
//!
//! Work lies on one stack: directories to list, and batches of files to look at, so that one large directory is shared too.
//! The newest work is taken first, which keeps few directories open at once.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, Mode, openat};
use rustix::io::Errno;

use crate::cancel::CancelToken;
use crate::limits::{MAX_WALK_DEPTH, MAX_WALK_OPEN_DIRS, MAX_WALK_THREADS, WALK_BATCH_FILES};
use crate::policy::{Checked, Kind, Read};

use super::dir::{DirEntry, LIST, list, open_file, version_of};
use super::dirs::reopen;
use super::error::FsError;
use super::ignores::Ignores;
use super::info::{Info, info_of};
use super::read::OpenFile;
use super::temp::is_temp_name;
use super::version::Version;

mod queue;
use queue::Queue;

/// How a tree is walked.
pub struct WalkOptions<'a> {
    /// Threads, the caller's own included; `None` for one per processor.
    pub threads: Option<usize>,
    /// Levels walked: 1 is the directory's own entries. Capped by `MAX_WALK_DEPTH`.
    pub max_depth: usize,
    /// Leaves out what `.gitignore` files name, and `.git` itself.
    pub respect_gitignore: bool,
    /// Directories above the start whose `.gitignore` files count too, the outermost first, each with the way from there to
    /// the start (`src/lib`).
    pub above: &'a [(Checked<Read>, Vec<u8>)],
    /// Whether a directory, by its path below the start, is gone into. It is visited itself in either case.
    pub enter: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// Stops the walk.
    pub cancel: &'a CancelToken,
}

/// What a walk gives back.
#[derive(Debug)]
pub struct Walked<C> {
    /// What each thread collected, in no order.
    pub collected: Vec<C>,
    /// Directories that could not be read, or lie too deep.
    pub skipped: u64,
    /// Whether the visitor or the token ended it early.
    pub stopped: bool,
}

/// An entry that a walk came upon.
pub struct Found<'a> {
    rel: &'a [u8],
    name: usize,
    kind: Kind,
    inode: u64,
    dir: &'a OwnedFd,
}

impl Found<'_> {
    /// Its path below the start, as bytes with slashes between.
    pub fn rel(&self) -> &[u8] {
        self.rel
    }

    /// Its name.
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.rel[self.name..])
    }

    /// What it is; a link is a link.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its inode number as the directory has it (`getdents64(2)`); of a mount point it is the number of what lies under.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Which version it is at this moment; `None` if it is gone or no regular file.
    pub fn version(&self) -> Option<Version> {
        version_of(self.dir, self.name())
    }

    /// Opens it for reading if it is a regular file at this moment; anything else is an error at once.
    pub fn open(&self) -> io::Result<OpenFile> {
        Ok(open_file(self.dir, self.name())?)
    }

    /// Its metadata; a link is not followed. `None` if it is gone.
    pub fn info(&self) -> Option<Info> {
        let name = self.name();
        info_of(self.dir, name, AtFlags::empty(), name.as_ref()).ok()
    }
}

/// Walks the tree below `start`. `visit` is called for each entry, on some thread, with what that thread has collected;
/// `ControlFlow::Break` ends the whole walk soon.
pub fn walk<C, V>(start: &Checked<Read>, options: &WalkOptions<'_>, visit: V) -> Result<Walked<C>, FsError>
where
    C: Default + Send,
    V: Fn(&mut C, &Found<'_>) -> ControlFlow<()> + Sync,
{
    if start.kind() != Kind::Directory {
        return Err(FsError::NotADirectory { path: start.shown().into() });
    }
    let mut ignores = None;
    for (dir, lead) in options.above.iter().filter(|_| options.respect_gitignore) {
        ignores = Ignores::above_start(ignores, dir, lead);
    }
    let walker =
        Walker { start, options, visit, open: Arc::default(), queue: Queue::new(), skipped: AtomicUsize::new(0) };
    walker.queue.push(vec![Work::Dir(DirWork { parent: None, rel: Vec::new(), ignores, depth: 0 })]);
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(processors).clamp(1, MAX_WALK_THREADS);
    let mut mine = C::default();
    // Most walks are over before another thread would have started.
    walker.work(&mut mine, |waiting| threads > 1 && waiting > 1);
    let mut collected = Vec::with_capacity(threads);
    if walker.queue.has_work() {
        std::thread::scope(|scope| {
            let run = || {
                let mut own = C::default();
                walker.work(&mut own, |_| false);
                own
            };
            // Where no thread can be started the others do its share.
            let helpers: Vec<_> =
                (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, run).ok()).collect();
            walker.work(&mut mine, |_| false);
            for helper in helpers {
                match helper.join() {
                    Ok(own) => collected.push(own),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
    collected.push(mine);
    let skipped = walker.skipped.load(Ordering::Relaxed) as u64;
    Ok(Walked { collected, skipped, stopped: walker.queue.is_stopped() })
}

enum Work {
    Dir(DirWork),
    Files { dir: Arc<Dir>, rel: Arc<[u8]>, files: Vec<DirEntry> },
}

struct DirWork {
    /// The open directory above; without it the directory is opened from the start, name by name.
    parent: Option<Arc<Dir>>,
    /// Path below the start, empty for the start itself.
    rel: Vec<u8>,
    ignores: Option<Arc<Ignores>>,
    depth: usize,
}

/// An open directory, counted.
struct Dir {
    handle: OwnedFd,
    open: Arc<AtomicUsize>,
}

impl Drop for Dir {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Walker<'a, V> {
    start: &'a Checked<Read>,
    options: &'a WalkOptions<'a>,
    visit: V,
    open: Arc<AtomicUsize>,
    queue: Queue<Work>,
    skipped: AtomicUsize,
}

impl<V> Walker<'_, V> {
    /// Takes work until there is none, or until `leave` says so of the amount that waits.
    fn work<C>(&self, collected: &mut C, leave: impl Fn(usize) -> bool)
    where
        V: Fn(&mut C, &Found<'_>) -> ControlFlow<()>,
    {
        while let Some(taken) = self.queue.take() {
            let flow = if self.options.cancel.is_cancelled() {
                ControlFlow::Break(())
            } else {
                self.one(taken.work, collected)
            };
            match flow {
                ControlFlow::Continue(more) => {
                    let waiting = self.queue.done(taken.turn, more);
                    if leave(waiting) {
                        return;
                    }
                }
                ControlFlow::Break(()) => self.queue.stop(),
            }
        }
    }

    fn one<C>(&self, work: Work, collected: &mut C) -> ControlFlow<(), Vec<Work>>
    where
        V: Fn(&mut C, &Found<'_>) -> ControlFlow<()>,
    {
        match work {
            Work::Files { dir, rel, files } => {
                self.files(&dir, &rel, &files, collected)?;
                ControlFlow::Continue(Vec::new())
            }
            Work::Dir(work) => self.directory(work, collected),
        }
    }

    fn files<C>(&self, dir: &Dir, rel: &[u8], files: &[DirEntry], collected: &mut C) -> ControlFlow<()>
    where
        V: Fn(&mut C, &Found<'_>) -> ControlFlow<()>,
    {
        let mut path = Vec::with_capacity(rel.len() + 64);
        for file in files {
            path.clear();
            path.extend_from_slice(rel);
            path.extend_from_slice(file.name.as_bytes());
            if self.options.cancel.is_cancelled() {
                return ControlFlow::Break(());
            }
            (self.visit)(collected, &Found { rel: &path, name: rel.len(), kind: file.kind, inode: file.inode, dir: &dir.handle })?;
        }
        ControlFlow::Continue(())
    }

    fn directory<C>(&self, work: DirWork, collected: &mut C) -> ControlFlow<(), Vec<Work>>
    where
        V: Fn(&mut C, &Found<'_>) -> ControlFlow<()>,
    {
        let opened = self.open(&work).and_then(|handle| list(&handle).map(|entries| (handle, entries)));
        let Ok((handle, entries)) = opened else {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return ControlFlow::Continue(Vec::new());
        };
        let held = self.open.fetch_add(1, Ordering::Relaxed);
        let dir = Arc::new(Dir { handle, open: Arc::clone(&self.open) });
        let mut ignores = work.ignores;
        if self.options.respect_gitignore && entries.iter().any(|entry| entry.name == ".gitignore") {
            ignores = Ignores::inside(ignores, &dir.handle, &work.rel);
        }
        let mut rel = work.rel;
        if !rel.is_empty() {
            rel.push(b'/');
        }
        let (mut files, mut more) = (Vec::new(), Vec::new());
        let depth = work.depth + 1;
        for entry in entries {
            let is_dir = entry.kind == Kind::Directory;
            let path = [&rel, entry.name.as_bytes()].concat();
            let left_out = self.options.respect_gitignore
                && (entry.name == ".git" || ignores.as_ref().is_some_and(|ignores| ignores.ignored(&path, is_dir)));
            // What a write is just replacing a file with is no file yet; found here, it would be a match twice, or be edited.
            if left_out || (!is_dir && is_temp_name(&entry.name)) {
                continue;
            }
            if !is_dir {
                files.push(entry);
                continue;
            }
            (self.visit)(collected, &Found { rel: &path, name: rel.len(), kind: entry.kind, inode: entry.inode, dir: &dir.handle })?;
            if depth >= self.options.max_depth || !(self.options.enter)(&path) {
                continue;
            }
            if depth >= MAX_WALK_DEPTH {
                self.skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let parent = (held < MAX_WALK_OPEN_DIRS).then(|| Arc::clone(&dir));
            more.push(Work::Dir(DirWork { parent, rel: path, ignores: ignores.as_ref().map(Arc::clone), depth }));
        }
        // What is taken next finds its parent open even when too many are: it lets go of it at once.
        if let Some(Work::Dir(next)) = more.last_mut() {
            next.parent = Some(Arc::clone(&dir));
        }
        let rel: Arc<[u8]> = rel.into();
        while files.len() > WALK_BATCH_FILES {
            let batch = files.split_off(files.len() - WALK_BATCH_FILES);
            more.push(Work::Files { dir: Arc::clone(&dir), rel: Arc::clone(&rel), files: batch });
        }
        if more.iter().any(|work| matches!(work, Work::Files { .. })) {
            // Others can begin with the rest while this thread looks at the first batch.
            more.push(Work::Files { dir, rel, files });
        } else {
            self.files(&dir, &rel, &files, collected)?;
        }
        ControlFlow::Continue(more)
    }

    fn open(&self, work: &DirWork) -> Result<OwnedFd, Errno> {
        if work.rel.is_empty() {
            return openat(self.start, ".", LIST, Mode::empty());
        }
        let name = memchr::memrchr(b'/', &work.rel).map_or(0, |slash| slash + 1);
        if let Some(parent) = &work.parent {
            return openat(&parent.handle, &work.rel[name..], LIST, Mode::empty());
        }
        let at = reopen(self.start, &work.rel[..name])?;
        openat(&at, &work.rel[name..], LIST, Mode::empty())
    }
}
