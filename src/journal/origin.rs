//! Origin of content that an undo by the operator would put at a protected path.
//!
//! An undo must not put content of a call at a protected path. The entry may have found it at
//! another path, or there for a moment. The ctime of an object, which no program can set, tells when
//! its content was made. If a call was at work then, the content counts as made by it.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::{OldObject, Place};
use super::error::JournalError;
use super::log::{self, Event, Version};
use super::object::{self, Id, Stat, open_dir};
use super::recorder::At;
use super::restore::Undo;
use super::store::{Changer, Misplaced, Store};
use crate::limits::JOURNAL_DEPTH;

/// Maximum number of entries through which a version is traced.
const TRACED_ENTRIES: usize = 64;
/// Suffix of hooks that git does not run.
const SAMPLE: &[u8] = b".sample";

/// Time in which an entry was made.
#[derive(Clone, Copy, Debug)]
struct EntrySpan {
    number: u64,
    start: i64,
    end: i64,
}

/// The times of all entries of a store.
#[derive(Debug, Default)]
pub(super) struct Origins {
    spans: Vec<EntrySpan>,
    /// Birth of the store. Older content is older than all calls.
    born: i64,
    /// Removed entries began before this time.
    unknown_until: i64,
    /// True if no call ran beside the undone ones. Then what they found at a protected path had
    /// been allowed there when the calls before them ended.
    are_places_known: bool,
}

impl Store {
    /// Returns the times of all entries, for an undo of these numbers.
    pub(super) fn origins(&self, undone: &[u64]) -> Result<Origins, JournalError> {
        let failed = |errno: Errno| {
            JournalError::io(format!(
                "{}: reading the times of its calls",
                self.shown.display()
            ))(errno)
        };
        let mut spans = Vec::new();
        for number in self.numbers()? {
            let Some(log) = self.open_log(number)? else {
                continue;
            };
            let Some(head) = log::head(&log) else {
                continue;
            };
            let end = log::end(&log).ok().flatten();
            spans.push(EntrySpan {
                number,
                start: head.start,
                end: end.map_or(i64::MAX, |end| end.time),
            });
        }
        let unknown_until = match self.gone() {
            None => i64::MIN,
            Some(_) => spans.first().map_or(i64::MAX, |first| first.start),
        };
        let born = object::stat_of(&self.logs).map_err(failed)?.id.born();
        let is_alone = |one: &EntrySpan| {
            let mut others = spans.iter().filter(|other| other.number != one.number);
            others.all(|other| other.end < one.start || one.end < other.start)
        };
        let mut undone = spans.iter().filter(|span| undone.contains(&span.number));
        let are_places_known = undone.all(is_alone);
        Ok(Origins {
            spans,
            born,
            unknown_until,
            are_places_known,
        })
    }

    /// Returns true if a call may have made a version.
    fn is_by_call(&self, origins: &Origins, version: Version) -> Result<bool, JournalError> {
        let mut version = version;
        for _ in 0..TRACED_ENTRIES {
            let time = version.1;
            if time <= origins.born {
                return Ok(false);
            }
            let mut spans = origins
                .spans
                .iter()
                .filter(|span| (span.start..=span.end).contains(&time));
            let Some(first) = spans.next() else {
                return Ok(time < origins.unknown_until);
            };
            // Each entry around that time may have found the version, and left it as it was.
            let mut older = None;
            for span in std::iter::once(first).chain(spans) {
                older = self.older_version(span.number, version)?;
                if older.is_some() {
                    break;
                }
            }
            match older {
                Some(older) if older.1 < time => version = older,
                _ => return Ok(true),
            }
        }
        Ok(true)
    }

    /// Returns the older version that equals this one, if the entry only restored or touched it.
    fn older_version(
        &self,
        number: u64,
        (mut id, time): Version,
    ) -> Result<Option<Version>, JournalError> {
        let Some(log) = self.open_log(number)? else {
            return Ok(None);
        };
        let (mut before, mut same, mut left) = (None, None, None);
        log::read(log, &self.log_path(number), &self.root_ids, |event| {
            match event {
                Event::Object(stat) if stat.id == id => before = before.or(Some(stat.ctime)),
                Event::State {
                    stat,
                    content: false,
                    metadata: false,
                } if stat.id == id && stat.ctime == time => left = before,
                Event::Same { new, old } if new == (id, 0) => id = old.0,
                Event::Same { new, old } if new == (id, time) => same = Some(old),
                _ => {}
            }
            Ok(())
        })?;
        Ok(same.or(left.map(|ctime| (id, ctime))))
    }
}

impl Undo<'_> {
    /// Fails if an old object would come to a protected path and a call may have made it.
    pub(super) fn check_origin(&self, at: At<'_>, old: &OldObject) -> Result<(), JournalError> {
        let Some(guard) = self.guard.filter(|_| !old.stat.is_dir()) else {
            return Ok(());
        };
        match guard.may_change(at.dir, at.name) {
            Err(Misplaced::Protected(protected)) => {
                let place = Place {
                    root: at.root,
                    path: Bytes::of(at.path.as_os_str()),
                };
                let place = place.join(&Bytes::of(at.name));
                self.check_version(at.name, &place, &old.stat, protected)
            }
            _ => Ok(()),
        }
    }

    /// Fails if a directory would come to a place where protected paths in it have content that a
    /// call may have made.
    pub(super) fn check_origins_below(
        &self,
        at: At<'_>,
        (dir, name): (BorrowedFd<'_>, &OsStr),
    ) -> Result<(), JournalError> {
        let Some(guard) = self.guard else {
            return Ok(());
        };
        let path = Path::new(at.path).join(at.name);
        self.check_dir(guard, at.root, (dir, name), &path, 0)
    }

    fn check_dir(
        &self,
        guard: &dyn Changer,
        root: usize,
        (above, name): (BorrowedFd<'_>, &OsStr),
        path: &Path,
        depth: usize,
    ) -> Result<(), JournalError> {
        let place = |path: &Path| Place {
            root,
            path: Bytes::of(path.as_os_str()),
        };
        let failed = || {
            let path = self.store.path(&place(path));
            JournalError::io(format!(
                "{}: looking at what is protected in it",
                path.display()
            ))
        };
        if depth > JOURNAL_DEPTH {
            return Err(JournalError::TooDeep {
                path: self.store.path(&place(path)),
            });
        }
        let Some(dir) = open_dir(above, name).map_err(failed())? else {
            return Ok(());
        };
        for name in object::with_access(dir.as_fd(), || object::names(&dir)).map_err(failed())? {
            let Some(found) = object::stat(&dir, &name).map_err(failed())? else {
                continue;
            };
            let inner = path.join(&name);
            if found.is_dir() {
                self.check_dir(guard, root, (dir.as_fd(), &name), &inner, depth + 1)?;
            } else if let Some(protected) = guard.protects(&self.store.path(&place(&inner))) {
                let found = Stat {
                    id: self.same.first(found.id),
                    ..found
                };
                self.check_version(&name, &place(&inner), &found, protected)?;
            }
        }
        Ok(())
    }

    fn check_version(
        &self,
        name: &OsStr,
        place: &Place,
        stat: &Stat,
        protected: PathBuf,
    ) -> Result<(), JournalError> {
        if name.as_bytes().ends_with(SAMPLE) {
            return Ok(());
        }
        let version = (stat.id, self.same.changed(stat));
        let mut found = self.found_places(stat.id);
        if self.origins.are_places_known && found.any(|found| found == *place) {
            return Ok(());
        }
        if self.store.is_by_call(&self.origins, version)? {
            return Err(JournalError::MadeByCall {
                path: self.store.path(place),
                protected,
            });
        }
        Ok(())
    }

    /// Returns the places where the entry found an object.
    fn found_places(&self, id: Id) -> impl Iterator<Item = Place> {
        let names = self
            .entry
            .all_names()
            .filter(move |(.., noted)| noted.before == Some(id));
        names.filter_map(|(dir, name, _)| Some(self.before.get(&dir)?.join(name)))
    }
}
