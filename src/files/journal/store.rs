//! Store of a tree: a directory that only its owner can read.
//!
//! `log/N` is the log of entry N, and `kept/N-1`, `kept/N-2`, ... are its saved files. An entry has
//! no directory of its own, because creating inodes is expensive. A log is locked while its entry
//! is being made. `lock` is locked while an entry begins or is undone, repaired or removed. It
//! holds the last assigned number, since numbers are never reused. Locks also work between servers.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at the store's handle"
)]

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use replay_base::budget::Account;
use replay_base::limits::JOURNAL_DEPTH;
use replay_base::removal;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, flock, linkat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::entry::{Change, Entry, RootedPath, file_name};
use super::equivalences::Equivalences;
use super::error::JournalError;
use super::keeping::Keeping;
use super::log::{self, End, EntryKind, Event, Log, VERSION};
use super::memory::{Memory, Readings};
use super::object::{self, Id, open_dir, stat, stat_of};
use super::recorder::Recorder;
use super::root::Root;
use super::scan::{Survey, SurveyGoal};
use crate::autorun::AutorunRule;

/// Digits of a number in `lock`, which holds the last assigned number, then the last removed one.
pub(super) const NUMBER_DIGITS: usize = 20;

/// Name prefix of store directories beside a tree; the user id follows. Hidden from agents.
pub const STORES: &str = ".replay-undo-";

/// An entry as its log contains it.
pub(super) struct LoggedEntry {
    /// Parts before the last one.
    pub(super) earlier: Option<Entry>,
    pub(super) last: Entry,
    /// Length up to the last complete line, in bytes.
    pub(super) length: u64,
}

/// Longest wait for the last processes of a killed server.
const DYING_WAIT: Duration = Duration::from_millis(500);

/// Journal of a tree.
#[derive(Debug)]
pub struct Store {
    pub(super) dir: OwnedFd,
    pub(super) logs: OwnedFd,
    pub(super) kept: Arc<OwnedFd>,
    pub(super) shown: PathBuf,
    pub(super) roots: Arc<[Root]>,
    pub(super) root_ids: Arc<[Id]>,
    /// Policy of its recorders on saved data.
    pub keeping: Keeping,
    /// Account for the memory of entries; `None` if memory is not limited.
    pub account: Option<Account>,
    pub(super) readings: Readings,
    /// Hooks directories of known repositories, if available.
    pub hooks: Option<Arc<dyn ConfiguredHooks>>,
    /// Judge of each step of an undo; `None` for people, who may undo everything.
    pub changer: Option<Arc<dyn Changer>>,
    /// Judge of protected paths for people: an undo puts nothing there that a call made. `None` if
    /// nothing is protected.
    pub guard: Option<Arc<dyn Changer>>,
    /// Longest wait for the last processes of a killed server.
    pub(super) dying_wait: Duration,
    /// Autorun files that gained a hard link, with their places.
    pub(super) linked: Mutex<HashMap<Id, (RootedPath, &'static AutorunRule)>>,
}

/// Hooks directories of the repositories that existed at the start.
pub trait ConfiguredHooks: std::fmt::Debug + Send + Sync {
    fn directories(&self) -> &[PathBuf];
}

/// Judge of changes for an agent, by the current place of an open directory.
pub trait Changer: std::fmt::Debug + Send + Sync {
    /// Fails if a name in the directory may not be made, changed or removed. The empty name stands
    /// for the directory itself.
    fn may_change(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), Misplaced>;

    /// Fails if an object may not have a name in the directory. If the object is a directory,
    /// `thing` gives access to it.
    fn may_bear(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        thing: Option<(BorrowedFd<'_>, &OsStr)>,
    ) -> Result<(), Misplaced>;

    /// Returns the protected path at or above a path, if any.
    fn protects(&self, path: &Path) -> Option<PathBuf>;

    /// Returns the protected paths at and below a place, without the configuration of repositories.
    fn protected_from(&self, place: &Path) -> Vec<PathBuf>;
}

/// Reason for a refusal.
#[derive(Debug)]
pub enum Misplaced {
    /// Protected path.
    Protected(PathBuf),
    /// The place is read-only, hidden or outside.
    Elsewhere,
    /// The kernel does not tell the place.
    Unknown(Errno),
}

impl Store {
    /// Opens the store under a name in a directory, and creates it if missing. It should lie on the
    /// filesystem of the roots, for hard links, and outside of writable directories.
    pub fn open(
        dir: BorrowedFd<'_>,
        name: &OsStr,
        shown: &Path,
        roots: Arc<[Root]>,
    ) -> Result<Self, JournalError> {
        Self::opened(dir, name, shown, roots, true)
    }

    /// Opens a store read-only.
    pub fn look(
        dir: BorrowedFd<'_>,
        name: &OsStr,
        shown: &Path,
        roots: Arc<[Root]>,
    ) -> Result<Self, JournalError> {
        Self::opened(dir, name, shown, roots, false)
    }

    fn opened(
        dir: BorrowedFd<'_>,
        name: &OsStr,
        shown: &Path,
        roots: Arc<[Root]>,
        makes: bool,
    ) -> Result<Self, JournalError> {
        let failed = |what: &str| JournalError::io(format!("{}: {what}", shown.display()));
        let make = |dir: BorrowedFd<'_>, name: &OsStr| {
            match if makes {
                mkdirat(dir, name, Mode::RWXU)
            } else {
                Ok(())
            } {
                Err(Errno::EXIST) => {}
                made => made.map_err(failed("making the store"))?,
            }
            open_dir(dir, name).map_err(failed("opening the store"))
        };
        let mut root_ids = Vec::new();
        for root in roots.iter() {
            let found = stat_of(&root.handle).map_err(JournalError::io(format!(
                "{}: looking at it",
                root.shown.display()
            )))?;
            if found.id.born() == 0 {
                return Err(JournalError::Birthless {
                    path: root.shown.clone(),
                });
            }
            root_ids.push(found.id);
        }
        let user = geteuid().as_raw();
        let refused = |got: String| JournalError::Store {
            path: shown.into(),
            got,
            user,
        };
        let dir = make(dir, name)?.ok_or_else(|| refused("no directory".into()))?;
        let found = stat_of(&dir).map_err(failed("looking at the store"))?;
        if (found.uid, found.mode & 0o7777) != (user, 0o700) {
            return Err(refused(format!(
                "mode {:04o} of user {}",
                found.mode & 0o7777,
                found.uid
            )));
        }
        let part = |name: &str| {
            make(dir.as_fd(), OsStr::new(name))?
                .ok_or_else(|| refused(format!("no directory named `{name}` in it")))
        };
        let (logs, kept) = (part("log")?, Arc::new(part("kept")?));
        Ok(Self {
            dir,
            logs,
            kept,
            shown: shown.into(),
            roots,
            root_ids: root_ids.into(),
            keeping: Keeping::default(),
            account: None,
            readings: Readings::default(),
            hooks: None,
            dying_wait: DYING_WAIT,
            changer: None,
            guard: None,
            linked: Mutex::default(),
        })
    }

    /// Begins an entry. `title` names the call. Waits while an undo runs.
    pub fn begin(&self, title: &str) -> Result<Recorder, JournalError> {
        self.begin_in(None, title)
    }

    /// Begins an entry, or continues the one that the call has made before.
    pub fn begin_in(&self, call: Option<u64>, title: &str) -> Result<Recorder, JournalError> {
        let lock = self.lock()?;
        match call
            .map(|number| self.go_on(number, title))
            .transpose()?
            .flatten()
        {
            Some(recorder) => Ok(recorder),
            None => self.begin_as(&lock, title, Vec::new(), EntryKind::Call),
        }
    }

    /// Continues an entry; `None` if it was removed, is in use, or was undone. Its parts are read
    /// as one.
    fn go_on(&self, number: u64, title: &str) -> Result<Option<Recorder>, JournalError> {
        for later in self.numbers()?.into_iter().filter(|later| *later > number) {
            if self
                .head(later)?
                .is_some_and(|head| head.undoes.contains(&number))
            {
                return Ok(None);
            }
        }
        let failed = || {
            JournalError::io(format!(
                "{}: going on with it",
                self.log_path(number).display()
            ))
        };
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let read = self.read_whole(number, Memory::Overdrawn)?;
        let Some(LoggedEntry {
            earlier,
            last,
            length,
        }) = read.filter(|logged| logged.last.has_ended())
        else {
            return Ok(None);
        };
        // Its previous holder is about to release the lock.
        flock(&log, FlockOperation::LockExclusive).map_err(failed())?;
        let earlier = self.whole(earlier, last);
        // This sets its ctime to the current time of the filesystem.
        object::set_mode(&log, 0o600).map_err(failed())?;
        let start = stat_of(&log).map_err(failed())?.ctime;
        let begin = Event::Begin {
            version: VERSION,
            start,
            title: title.to_owned(),
            undoes: Vec::new(),
            kind: EntryKind::Call,
        };
        let log = Log::new(log, length, &self.root_ids);
        let mut recorder = self.recorder(
            log,
            Entry {
                number,
                files: earlier.files,
                ..Entry::default()
            },
        );
        recorder.copied_bytes = None;
        recorder.earlier = Some(Box::new(earlier));
        recorder.note(begin);
        recorder.log.write().map_err(|source| JournalError::Io {
            what: format!("{}: going on with it", self.log_path(number).display()),
            source,
        })?;
        Ok(Some(recorder))
    }

    /// Joins the parts of an entry. No undo can run before it has ended.
    pub(super) fn whole(&self, earlier: Option<Entry>, last: Entry) -> Entry {
        match earlier {
            Some(earlier) => earlier.join(last, &self.root_ids, |one, other| {
                Equivalences::default().is(one, other)
            }),
            None => last,
        }
    }

    /// Begins an entry for an atomic call.
    pub(super) fn begin_atomic(&self, title: &str) -> Result<Recorder, JournalError> {
        let lock = self.lock()?;
        self.begin_as(&lock, title, Vec::new(), EntryKind::AtomicCall)
    }

    pub(super) fn begin_as(
        &self,
        lock: &File,
        title: &str,
        undoes: Vec<u64>,
        kind: EntryKind,
    ) -> Result<Recorder, JournalError> {
        let failed = |source| JournalError::Io {
            what: format!("{}: beginning an entry", self.shown.display()),
            source,
        };
        let mut digits = [0; NUMBER_DIGITS];
        let got = lock.read_at(&mut digits, 0).map_err(failed)?;
        let last = std::str::from_utf8(&digits[..got])
            .ok()
            .and_then(|digits| digits.parse().ok());
        let mut number =
            last.map_or_else(|| Ok(self.numbers()?.last().copied().unwrap_or(0)), Ok)?;
        let log = loop {
            number += 1;
            let flags =
                OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
            match openat(
                &self.logs,
                number.to_string(),
                flags,
                Mode::RUSR | Mode::WUSR,
            ) {
                Err(Errno::EXIST) => {}
                made => break made.map_err(|errno| failed(errno.into()))?,
            }
        };
        lock.write_all_at(format!("{number:0NUMBER_DIGITS$}").as_bytes(), 0)
            .map_err(failed)?;
        flock(&log, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| failed(errno.into()))?;
        // Objects born in the same clock tick count as older.
        let start = stat_of(&log)
            .map_err(|errno| failed(errno.into()))?
            .id
            .born();
        let begin = Event::Begin {
            version: VERSION,
            start,
            title: title.to_owned(),
            undoes,
            kind,
        };
        let mut recorder = self.recorder(
            Log::new(File::from(log), 0, &self.root_ids),
            Entry {
                number,
                ..Entry::default()
            },
        );
        recorder.note(begin);
        let written = recorder.log.write();
        if written.is_err() {
            let _ = unlinkat(&self.logs, number.to_string(), AtFlags::empty());
        }
        written.map(|()| recorder).map_err(failed)
    }

    /// Ends an entry: examines everything that may have changed, and records the final state.
    pub fn end(&self, recorder: Recorder) -> Result<Entry, JournalError> {
        self.end_as(recorder, false, &|| true, |_| Vec::new())
    }

    /// Ends an entry and appends the events that `more` returns.
    pub(super) fn end_as(
        &self,
        mut recorder: Recorder,
        interrupted: bool,
        wanted: &dyn Fn() -> bool,
        more: impl FnOnce(&Entry) -> Vec<Event>,
    ) -> Result<Entry, JournalError> {
        let number = recorder.number();
        let failed = |source| JournalError::Io {
            what: format!("{}: ending it", self.log_path(number).display()),
            source,
        };
        let goal = SurveyGoal::Changes(self.kept.as_fd(), &recorder.digests, recorder.crashed);
        let (own, same) = (&recorder.entry, |id| id);
        let mut survey = Survey::of(&self.roots, own, &same, goal, wanted)?;
        let moved = self.moved_by_others(own, &survey)?;
        if !moved.is_empty() {
            survey = Survey::with_moved(&self.roots, own, &same, goal, wanted, &moved)?;
        }
        let files = recorder.entry.files;
        let kept_bytes = match recorder.copied_bytes {
            Some(copied) => Ok(copied + survey.kept_bytes),
            None => (1..=files)
                .map(|file| disk_bytes(self.kept.as_fd(), &file_name(number, file), 0))
                .sum(),
        };
        let kept_bytes = kept_bytes.map_err(|errno: Errno| failed(errno.into()))?;
        for event in survey.events() {
            if let Event::Left { dir, name, after } = &event
                && !recorder.may_have_put(*dir, name, *after)
            {
                continue;
            }
            recorder.note(event);
            recorder.log.write_much().map_err(failed)?;
        }
        // This makes its time later than those of all changes of the entry.
        recorder.log.write().map_err(failed)?;
        let time = recorder.log.time().map_err(|errno| failed(errno.into()))?;
        let time = recorder.crashed.map_or(time, |crashed| time.min(crashed));
        for event in more(&recorder.entry) {
            recorder.note(event);
        }
        let bytes = recorder.log.bytes() + kept_bytes;
        recorder.note(Event::End(End {
            time,
            interrupted,
            bytes,
        }));
        recorder.log.write().map_err(failed)?;
        Ok(self.whole(recorder.earlier.map(|earlier| *earlier), recorder.entry))
    }

    /// Ends an entry; `None` if nothing has changed. Such an entry is dropped, unless it holds
    /// links: removing one changes the object's ctime, which would look like a change by others.
    pub fn end_if_changed(&self, recorder: Recorder) -> Result<Option<Entry>, JournalError> {
        let entry = self.end(recorder)?;
        if !self.changes(&entry).is_empty() {
            return Ok(Some(entry));
        }
        if !entry
            .olds
            .values()
            .flat_map(|old| &old.kept)
            .any(|kept| !kept.is_copy)
        {
            self.remove(entry.number, 1..=entry.files)?;
        }
        Ok(None)
    }

    /// Returns the numbers of the entries, oldest first.
    pub fn numbers(&self) -> Result<Vec<u64>, JournalError> {
        let names = object::names(&self.logs).map_err(JournalError::io(format!(
            "{}: listing it",
            self.shown.display()
        )))?;
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|name| name.to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads the first line of an entry; `None` if it never began, or was removed.
    pub(super) fn head(&self, number: u64) -> Result<Option<log::EntryHead>, JournalError> {
        Ok(self.open_log(number)?.and_then(|log| log::head(&log)))
    }

    /// Reads an entry in its parts; `None` if it never began, or was removed.
    pub(super) fn read_whole(
        &self,
        number: u64,
        memory: Memory,
    ) -> Result<Option<LoggedEntry>, JournalError> {
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let memory = self.memory_of(&log, number, memory)?.map(Arc::new);
        let new = || Entry {
            number,
            _memory: memory.clone(),
            ..Entry::default()
        };
        let (mut earlier, mut last) = (None, new());
        let length = log::read(log, &self.log_path(number), &self.root_ids, |event| {
            if matches!(event, Event::Begin { .. }) && last.has_ended() {
                earlier = Some(self.whole(earlier.take(), std::mem::replace(&mut last, new())));
            }
            last.apply(event)
        })?;
        Ok((length > 0).then_some(LoggedEntry {
            earlier,
            last,
            length,
        }))
    }

    /// Returns the changes of an entry, ordered by place: the current place, or the previous one of
    /// a removed object.
    pub fn changes(&self, entry: &Entry) -> Vec<(RootedPath, Change)> {
        entry.changes(&self.root_ids)
    }

    /// Returns the places whose content an entry changed and could not save, sorted.
    pub fn not_kept(&self, entry: &Entry) -> Vec<RootedPath> {
        let before = entry.places(&self.root_ids, |noted| noted.before);
        let lost = entry
            .all_names()
            .filter(|(.., noted)| noted.before.is_some_and(|id| entry.is_lost(id)));
        let mut places: Vec<RootedPath> = lost
            .filter_map(|(dir, name, _)| Some(before.get(&dir)?.join(name)))
            .collect();
        places.sort();
        places
    }

    /// Moves all entries into a new directory below the store, which is a store itself. This store
    /// is empty afterwards.
    pub(super) fn set_aside(&self) -> Result<PathBuf, JournalError> {
        let _lock = self.lock()?;
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        let aside = self.shown.join(format!("damaged-{now}"));
        let moved = || {
            let name = aside.file_name().unwrap_or_default();
            // Another server may have done it.
            if stat(&self.dir, OsStr::new("log"))?.map(|log| log.id)
                != Some(stat_of(&self.logs)?.id)
            {
                return Ok(());
            }
            mkdirat(&self.dir, name, Mode::RWXU)?;
            let dir = open_dir(&self.dir, name)?.ok_or(Errno::NOENT)?;
            // Identifies the directories that the entries belong to.
            object::there(linkat(&self.dir, "roots", &dir, "roots", AtFlags::empty()))?;
            renameat(&self.dir, "kept", &dir, "kept")?;
            renameat(&self.dir, "log", &dir, "log")
        };
        moved().map_err(JournalError::io(format!("{}: making it", aside.display())))?;
        Ok(aside)
    }

    pub(super) fn recorder(&self, log: Log, entry: Entry) -> Recorder {
        let (roots, root_ids, kept) = (
            Arc::clone(&self.roots),
            Arc::clone(&self.root_ids),
            Arc::clone(&self.kept),
        );
        Recorder::new(roots, root_ids, kept, self.keeping.clone(), log, entry)
    }

    pub(super) fn open_log(&self, number: u64) -> Result<Option<File>, JournalError> {
        let failed = JournalError::io(format!("{}: opening it", self.log_path(number).display()));
        let flags = OFlags::RDWR | OFlags::APPEND;
        Ok(
            object::open_file(&self.logs, OsStr::new(&number.to_string()), flags)
                .map_err(failed)?
                .map(File::from),
        )
    }

    pub(super) fn log_path(&self, number: u64) -> PathBuf {
        self.shown.join("log").join(number.to_string())
    }

    /// Locks the store: no other process undoes, repairs or removes entries while the result lives.
    pub(super) fn lock(&self) -> Result<File, JournalError> {
        let failed = || JournalError::io(format!("{}: locking it", self.shown.display()));
        let flags =
            OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let lock = openat(&self.dir, "lock", flags, Mode::RUSR | Mode::WUSR).map_err(failed())?;
        flock(&lock, FlockOperation::LockExclusive).map_err(failed())?;
        Ok(lock.into())
    }

    /// Removes an entry and its saved files.
    pub(super) fn remove(
        &self,
        number: u64,
        files: impl IntoIterator<Item = u32>,
    ) -> Result<(), JournalError> {
        // Files left by a crash belong to no log, and are removed by the recovery.
        let log =
            object::there(unlinkat(&self.logs, number.to_string(), AtFlags::empty())).map(drop);
        let mut files = files
            .into_iter()
            .map(|file| remove_tree(&self.kept, &file_name(number, file)));
        let removed = log.and_then(|()| files.try_for_each(|removed| removed));
        removed.map_err(JournalError::io(format!(
            "{}: removing it",
            self.log_path(number).display()
        )))
    }

    /// Returns the numbers of the saved files, by entry.
    pub(super) fn files(&self) -> Result<HashMap<u64, Vec<u32>>, JournalError> {
        let names = object::names(&self.kept).map_err(JournalError::io(format!(
            "{}: listing what it keeps",
            self.shown.display()
        )))?;
        let mut files: HashMap<u64, Vec<u32>> = HashMap::new();
        for name in names {
            let parts = name.to_str().and_then(|name| name.split_once('-'));
            if let Some((Ok(entry), Ok(file))) =
                parts.map(|(entry, file)| (entry.parse(), file.parse()))
            {
                files.entry(entry).or_default().push(file);
            }
        }
        Ok(files)
    }
}

/// Returns the disk space of the object under a name and of all below it, up to the depth limit.
/// Objects with another hard link count as 0.
pub(super) fn disk_bytes(dir: BorrowedFd<'_>, name: &OsStr, depth: usize) -> Result<u64, Errno> {
    match stat(dir, name)? {
        Some(found) if found.is_dir() && depth < JOURNAL_DEPTH => {
            let Some(inner) = open_dir(dir, name)? else {
                return Ok(0);
            };
            let names = object::names(&inner)?;
            names
                .iter()
                .map(|name| disk_bytes(inner.as_fd(), name, depth + 1))
                .sum()
        }
        Some(found) if found.links == 1 => Ok(found.bytes),
        _ => Ok(0),
    }
}

/// Removes the object under a name and all below it.
pub(super) fn remove_tree(dir: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match object::there(unlinkat(dir, name, AtFlags::empty())) {
        Err(Errno::ISDIR) => {}
        removed => return removed.map(drop),
    }
    removal::remove(
        dir,
        &CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?,
        None,
    );
    object::there(unlinkat(dir, name, AtFlags::REMOVEDIR)).map(drop)
}

/// Returns the error for an unknown number.
pub(super) fn unknown(number: u64, known: &[u64]) -> JournalError {
    let known = match known {
        [] => "none".into(),
        [only] => format!("call {only}"),
        [first, .., last] => format!("calls {first} to {last}"),
    };
    JournalError::Unknown { number, known }
}
