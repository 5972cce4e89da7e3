//! Versions of an object before and after an entry: the two sides of a diff.
//!
//! Content comes from the most recent copy: one that this or a later entry made before it changed
//! the object. If the object only grew since or did not change, content comes from the object
//! itself, by a link in the store or in the tree.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at a handle of a root or of the store"
)]

use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlinkat};
use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::{Entry, NameRecord, RootedPath, file_name};
use super::equivalences::Equivalences;
use super::error::JournalError;
use super::log::Content;
use super::memory::Memory;
use super::object::{self, Id, Stat, stat_of};
use super::store::Store;

/// Version of an object at a place.
#[derive(Debug)]
pub enum Version {
    File {
        /// Content up to `size`; later bytes were appended since.
        content: OwnedFd,
        /// Size in bytes.
        size: u64,
        /// Mode with the file type, as in stat(2).
        mode: u32,
    },
    /// Target of a symbolic link.
    Link(Bytes),
    Directory,
    /// A FIFO, a socket or a device.
    Special,
    /// The content was not saved, or somebody changed it since.
    Unknown,
}

/// An entry and all later ones.
#[derive(Debug)]
pub struct Versions<'a> {
    store: &'a Store,
    /// Oldest first.
    entries: Vec<Arc<Entry>>,
    same: Equivalences,
    before: HashMap<RootedPath, Id>,
    after: HashMap<RootedPath, Id>,
}

impl Store {
    /// Opens the versions of an entry's changes.
    pub fn versions(&self, number: u64) -> Result<Versions<'_>, JournalError> {
        self.versions_with(number, Memory::Free)
    }

    pub(super) fn versions_with(
        &self,
        number: u64,
        memory: Memory,
    ) -> Result<Versions<'_>, JournalError> {
        let own = self.entry_with(number, memory)?;
        let later = self.later(number, memory, &|| true)?;
        let same = Equivalences::of(&later);
        let dirs = |side: fn(&NameRecord) -> Option<Id>| {
            own.places(&self.root_ids, side)
                .into_iter()
                .map(|(id, place)| (place, id))
                .collect()
        };
        let (before, after) = (dirs(|noted| noted.before), dirs(|noted| noted.after));
        let first = |entry: Arc<Entry>| {
            if same.is_of_ids() {
                Arc::new(Arc::unwrap_or_clone(entry).with_ids(|id| same.first(id)))
            } else {
                entry
            }
        };
        let entries = std::iter::once(own)
            .chain(later.into_iter().map(first))
            .collect();
        Ok(Versions {
            store: self,
            entries,
            same,
            before,
            after,
        })
    }
}

impl Versions<'_> {
    /// Returns the version before the entry; `None` if there was no recorded object. A renamed
    /// object is found by its old place.
    pub fn before(&self, place: &RootedPath) -> Result<Option<Version>, JournalError> {
        self.stat_before(place)
            .map(|stat| self.version(place, &stat, 0))
            .transpose()
    }

    /// Returns true if the place, by its old name, is recorded.
    pub(super) fn is_noted(&self, place: &RootedPath) -> bool {
        self.name_record(&self.before, place).is_some()
    }

    /// Returns the object that was there before.
    pub(super) fn stat_before(&self, place: &RootedPath) -> Option<Stat> {
        let id = self.name_record(&self.before, place)?.before?;
        self.entries[0].olds.get(&id).map(|old| old.stat)
    }

    /// Returns the version at the end of the entry.
    pub fn after(&self, place: &RootedPath) -> Result<Option<Version>, JournalError> {
        let own = &self.entries[0];
        let Some(id) = self
            .name_record(&self.after, place)
            .and_then(|noted| noted.after)
        else {
            return Ok(None);
        };
        let left = own
            .olds
            .get(&id)
            .and_then(|old| old.after)
            .map(|after| after.stat);
        let Some(stat) = left.or_else(|| own.news.get(&id).copied()) else {
            return Ok(None);
        };
        self.version(place, &stat, 1).map(Some)
    }

    fn name_record(
        &self,
        dirs: &HashMap<RootedPath, Id>,
        place: &RootedPath,
    ) -> Option<&NameRecord> {
        let path = &place.path.0;
        let (above, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&[][..], &path[..]),
        };
        let dir = dirs.get(&RootedPath {
            root: place.root,
            path: Bytes(above.to_vec()),
        })?;
        self.entries[0].names.get(dir)?.get(name)
    }

    /// Returns the version of an object before the entries from this one on.
    fn version(
        &self,
        place: &RootedPath,
        was: &Stat,
        from: usize,
    ) -> Result<Version, JournalError> {
        if was.is_dir() {
            return Ok(Version::Directory);
        }
        let failed = || {
            let path = self.store.roots[place.root].shown.join(place.path.name());
            JournalError::io(format!("{}: looking at what it was", path.display()))
        };
        let kept = &self.store.kept;
        let (mut last, mut links) = (*was, Vec::new());
        for entry in &self.entries[from..] {
            let Some(old) = entry.olds.get(&was.id) else {
                continue;
            };
            // Somebody else changed the content between two entries.
            if !has_same_content(&old.stat, &last) {
                return Ok(Version::Unknown);
            }
            let copy = match old.content {
                Content::Copy(file) => Some(file_name(old.copied_by, file)),
                _ => old
                    .kept
                    .iter()
                    .find(|kept| kept.is_copy)
                    .map(|kept| kept.name()),
            };
            if let Some(copy) = copy {
                let copy = object::handle(kept, &copy).map_err(failed())?;
                return copy.map_or(Ok(Version::Unknown), |copy| {
                    open(copy, was).map_err(failed())
                });
            }
            if entry.is_lost(was.id) {
                return Ok(Version::Unknown);
            }
            last = old.after.map_or(last, |after| after.stat);
            links.extend(old.kept.iter().map(|kept| kept.name()));
        }
        for name in links {
            let link = object::handle(kept, &name).map_err(failed())?;
            if let Some(link) = link.filter(|link| self.is(link, &last)) {
                return open(link, was).map_err(failed());
            }
        }
        let found = self
            .in_tree(was.id)
            .map_err(failed())?
            .filter(|found| self.is(found, &last));
        found.map_or(Ok(Version::Unknown), |found| {
            open(found, was).map_err(failed())
        })
    }

    fn is(&self, object: &OwnedFd, last: &Stat) -> bool {
        stat_of(object)
            .is_ok_and(|stat| self.same.first(stat.id) == last.id && has_same_content(&stat, last))
    }

    /// Opens an object where the last entry that knows its name left it, or at its place before.
    fn in_tree(&self, id: Id) -> Result<Option<OwnedFd>, Errno> {
        let place = self.entries.iter().rev().find_map(|entry| {
            let named = |side: fn(&NameRecord) -> Option<Id>| {
                let (dir, name, _) = entry
                    .all_names()
                    .find(|(.., noted)| side(noted) == Some(id))?;
                Some(
                    entry
                        .places(&self.store.root_ids, side)
                        .get(&dir)?
                        .join(name),
                )
            };
            named(|noted| noted.after)
                .or_else(|| entry.inside.get(&id).cloned())
                .or_else(|| named(|noted| noted.before))
        });
        let Some(place) = place else { return Ok(None) };
        let Some(root) = self.store.roots.get(place.root) else {
            return Ok(None);
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(
            &root.handle,
            place.path.name(),
            flags,
            Mode::empty(),
            beneath,
        ) {
            Err(Errno::LOOP | Errno::XDEV) => Ok(None),
            found => object::there(found),
        }
    }
}

/// Returns true if nobody wrote to an object between two states of it, as its size and time tell.
fn has_same_content(one: &Stat, other: &Stat) -> bool {
    (one.size, one.mtime) == (other.size, other.mtime)
}

fn open(object: OwnedFd, was: &Stat) -> Result<Version, Errno> {
    let now = stat_of(&object)?;
    if now.is_link() {
        return Ok(Version::Link(Bytes(
            readlinkat(object, "", Vec::new())?.into_bytes(),
        )));
    }
    if !now.is_file() {
        return Ok(Version::Special);
    }
    match object::reopen(&object.as_fd(), OFlags::RDONLY) {
        Err(Errno::ACCESS) => Ok(Version::Unknown),
        content => Ok(Version::File {
            content: content?,
            size: was.size,
            mode: was.mode,
        }),
    }
}
