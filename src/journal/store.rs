//! The store of a tree: a directory of one number an entry, readable by its owner alone.
//!
//! `N/log` is the entry's log and `N/f1`, `N/f2`, ... what it kept. The log is locked while the entry is made; `lock` is, while something
//! begins, is undone, mended or removed. All of that holds between servers too.
#![expect(clippy::disallowed_methods, reason = "everything starts at the store's handle")]

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, openat, renameat, unlinkat};
use rustix::io::{Errno, pwrite};
use rustix::process::geteuid;

use super::entry::{Change, Entry, Place};
use super::error::JournalError;
use super::log::{self, Event, VERSION};
use super::object::{self, Id, open_dir, stat, stat_of};
use super::recorder::Recorder;
use super::root::Root;
use super::survey::{Look, Survey};

/// The journal of a tree.
#[derive(Debug)]
pub struct Store {
    pub(super) dir: OwnedFd,
    pub(super) shown: PathBuf,
    pub(super) roots: Arc<[Root]>,
    pub(super) root_ids: Vec<Id>,
}

impl Store {
    /// Opens the store under a name of a directory, and makes it where there is none. It lies best on the filesystem of the roots, where
    /// links can be made, and outside of what may be written to.
    pub fn open(dir: BorrowedFd<'_>, name: &OsStr, shown: &Path, roots: Arc<[Root]>) -> Result<Self, JournalError> {
        let failed = |what: &str| JournalError::io(format!("{}: {what}", shown.display()));
        match mkdirat(dir, name, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            made => made.map_err(failed("making the store"))?,
        }
        let user = geteuid().as_raw();
        let refused = |got: String| JournalError::Store { path: shown.into(), got, user };
        let dir = open_dir(dir, name).map_err(failed("opening the store"))?;
        let dir = dir.ok_or_else(|| refused("no directory".into()))?;
        let found = stat_of(&dir).map_err(failed("looking at the store"))?;
        if (found.uid, found.mode & 0o7777) != (user, 0o700) {
            return Err(refused(format!("mode {:04o} of user {}", found.mode & 0o7777, found.uid)));
        }
        let mut root_ids = Vec::new();
        for root in roots.iter() {
            let found =
                stat_of(&root.handle).map_err(JournalError::io(format!("{}: looking at it", root.shown.display())))?;
            if found.id.born() == 0 {
                return Err(JournalError::Birthless { path: root.shown.clone() });
            }
            root_ids.push(found.id);
        }
        Ok(Self { dir, shown: shown.into(), roots, root_ids })
    }

    /// Begins an entry. `title` names the call. Waits while something is undone.
    pub fn begin(&self, title: &str) -> Result<Recorder, JournalError> {
        let _lock = self.lock()?;
        self.begin_as(title, Vec::new(), false)
    }

    pub(super) fn begin_as(&self, title: &str, undoes: Vec<u64>, partial: bool) -> Result<Recorder, JournalError> {
        let failed = || JournalError::io(format!("{}: beginning an entry", self.shown.display()));
        let number = self.numbers()?.last().map_or(1, |last| last + 1);
        mkdirat(&self.dir, number.to_string(), Mode::RWXU).map_err(failed())?;
        let dir = self.entry_dir(number)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        let log = openat(&dir, "new", flags, Mode::RUSR | Mode::WUSR).map_err(failed())?;
        flock(&log, FlockOperation::NonBlockingLockExclusive).map_err(failed())?;
        // What is born in the same tick of the clock counts as older.
        let start = stat_of(&log).map_err(failed())?.id.born();
        let begin = Event::Begin { version: VERSION, start, title: title.to_owned(), undoes, partial };
        let mut log = File::from(log);
        log::write(&mut log, std::slice::from_ref(&begin)).map_err(|source| JournalError::Io {
            what: format!("{}: beginning an entry", self.shown.display()),
            source,
        })?;
        renameat(&dir, "new", &dir, "log").map_err(failed())?;
        let mut entry = Entry { number, ..Entry::default() };
        // It is of this version.
        let _ = entry.apply(begin);
        Ok(Recorder::new(Arc::clone(&self.roots), dir, log, entry))
    }

    /// Ends an entry: looks at everything that may have changed, and notes how it was left.
    pub fn end(&self, recorder: Recorder) -> Result<Entry, JournalError> {
        self.end_as(recorder, false)
    }

    pub(super) fn end_as(&self, mut recorder: Recorder, interrupted: bool) -> Result<Entry, JournalError> {
        let survey = Survey::of(&self.roots, &recorder.entry, &|id| id, Look::Changes(recorder.dir.as_fd()))?;
        let mut events = survey.events(&recorder.entry);
        let failed = || JournalError::io(format!("{}: ending it", self.log_path(recorder.number()).display()));
        // What the entry takes, for who bounds the store.
        let stamp =
            openat(&recorder.dir, "end", OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let stamp = stamp.map_err(failed())?;
        let bytes = disk_bytes(recorder.dir.as_fd()).map_err(failed())?;
        pwrite(&stamp, format!("{bytes:020}").as_bytes(), 0).map_err(failed())?;
        let time = stat_of(&stamp).map_err(failed())?.ctime;
        events.push(Event::End { time, interrupted });
        let written =
            log::write(&mut recorder.log, &recorder.pending).and_then(|()| log::write(&mut recorder.log, &events));
        written.map_err(|source| JournalError::Io {
            what: format!("{}: ending it", self.log_path(recorder.number()).display()),
            source,
        })?;
        let mut entry = recorder.entry;
        for event in events {
            // It was made here.
            let _ = entry.apply(event);
        }
        Ok(entry)
    }

    /// Ends an entry, and drops it if all is as it was.
    pub fn end_if_changed(&self, recorder: Recorder) -> Result<Option<Entry>, JournalError> {
        let entry = self.end(recorder)?;
        if self.changes(&entry).is_empty() {
            self.remove(entry.number)?;
            return Ok(None);
        }
        Ok(Some(entry))
    }

    /// The numbers of the entries, the oldest first.
    pub fn numbers(&self) -> Result<Vec<u64>, JournalError> {
        let names =
            object::names(&self.dir).map_err(JournalError::io(format!("{}: listing it", self.shown.display())))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads an entry.
    pub fn entry(&self, number: u64) -> Result<Entry, JournalError> {
        self.read(number)?.ok_or_else(|| {
            let known = self.numbers().unwrap_or_default();
            let known = match (known.first(), known.last()) {
                (Some(first), Some(last)) => format!("entries {first} to {last}"),
                _ => "none".into(),
            };
            JournalError::Unknown { number, known }
        })
    }

    /// Reads an entry; `None` if it never began, or is gone.
    pub(super) fn read(&self, number: u64) -> Result<Option<Entry>, JournalError> {
        Ok(self.read_whole(number)?.map(|(entry, _)| entry))
    }

    /// The same, and how long its log is to the last whole line, in bytes.
    pub(super) fn read_whole(&self, number: u64) -> Result<Option<(Entry, u64)>, JournalError> {
        let Some(log) = self.open_log(number)? else { return Ok(None) };
        let mut entry = Entry { number, ..Entry::default() };
        let length = log::read(log, &self.log_path(number), |event| entry.apply(event))?;
        Ok(Some((entry, length)))
    }

    /// What an entry did, in the order of the places, as it is called where it is now, or was if it is gone.
    pub fn changes(&self, entry: &Entry) -> Vec<(Place, Change)> {
        entry.changes(&self.root_ids)
    }

    pub(super) fn open_log(&self, number: u64) -> Result<Option<File>, JournalError> {
        let path = self.log_path(number);
        let failed = || JournalError::io(format!("{}: opening it", path.display()));
        let Some(dir) = open_dir(&self.dir, OsStr::new(&number.to_string())).map_err(failed())? else {
            return Ok(None);
        };
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(object::there(openat(dir, "log", flags, Mode::empty())).map_err(failed())?.map(File::from))
    }

    pub(super) fn log_path(&self, number: u64) -> PathBuf {
        self.shown.join(number.to_string()).join("log")
    }

    pub(super) fn entry_dir(&self, number: u64) -> Result<OwnedFd, JournalError> {
        let failed = JournalError::io(format!("{}: opening it", self.shown.join(number.to_string()).display()));
        open_dir(&self.dir, OsStr::new(&number.to_string())).and_then(|found| found.ok_or(Errno::NOENT)).map_err(failed)
    }

    /// Nobody else undoes, mends or removes entries while the result lives.
    pub(super) fn lock(&self) -> Result<OwnedFd, JournalError> {
        let failed = || JournalError::io(format!("{}: locking it", self.shown.display()));
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&self.dir, "lock", flags, Mode::RUSR | Mode::WUSR).map_err(failed())?;
        flock(&lock, FlockOperation::LockExclusive).map_err(failed())?;
        Ok(lock)
    }

    /// Removes an entry and all that it kept.
    pub(super) fn remove(&self, number: u64) -> Result<(), JournalError> {
        let name = number.to_string();
        let removed = remove_tree(self.dir.as_fd(), OsStr::new(&name));
        removed.map_err(JournalError::io(format!("{}: removing it", self.shown.join(name).display())))
    }
}

/// What a directory of the store takes on the disk. What has another name elsewhere is held by that.
fn disk_bytes(dir: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut bytes = 0;
    for name in object::with_access(dir, || object::names(dir))? {
        match stat(dir, &name)? {
            Some(found) if found.is_dir() => {
                if let Some(inner) = open_dir(dir, &name)? {
                    bytes += disk_bytes(inner.as_fd())?;
                }
            }
            Some(found) if found.links == 1 => bytes += found.bytes,
            _ => {}
        }
    }
    Ok(bytes)
}

/// Removes what stands under a name and all below it.
pub(super) fn remove_tree(dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let Some(inner) = open_dir(dir, name)? else {
        return object::there(unlinkat(dir, name, AtFlags::empty())).map(drop);
    };
    for below in object::with_access(inner.as_fd(), || object::names(&inner))? {
        object::with_access(inner.as_fd(), || remove_tree(inner.as_fd(), &below))?;
    }
    object::there(unlinkat(dir, name, AtFlags::REMOVEDIR)).map(drop)
}
