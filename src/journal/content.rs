//! What a file held before an entry and what the entry left in it, for whoever wants to see the difference.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use rustix::io::{Errno, pread};

use super::bytes::Bytes;
use super::entry::file_name;
use super::entry::{Change, Entry, Name, Old, Place};
use super::error::JournalError;
use super::log::Content;
use super::object::{self, Id, Stat};
use super::store::Store;
use crate::limits::UNDO_ENTRIES_LOOKED_THROUGH;

/// One side of a difference.
#[derive(Debug, PartialEq, Eq)]
pub enum Side {
    /// Nothing stood there.
    Nothing,
    /// All of a file.
    Bytes(Vec<u8>),
    /// Something else, or a file that cannot be shown: what it is, or why.
    Other(&'static str),
}

impl Entry {
    /// When the call made its first change.
    pub fn began(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.start.try_into().unwrap_or(0))
    }

    /// Whether the call is over.
    pub fn is_over(&self) -> bool {
        self.has_ended()
    }
}

impl Store {
    /// This entry and those after it whose changes still stand: neither whole undos among them, nor what those have undone.
    pub fn standing(&self, since: u64) -> Result<Vec<u64>, JournalError> {
        let mut standing = Vec::new();
        let mut undone = HashSet::new();
        for number in self.numbers()?.into_iter().filter(|number| *number >= since).rev() {
            let Some(entry) = self.read(number)? else { continue };
            if undone.contains(&number) {
                continue;
            }
            let is_whole = entry.is_whole_undo() && !entry.is_partial;
            if is_whole && entry.undoes.iter().all(|undone| *undone >= since) {
                undone.extend(entry.undoes);
            } else {
                standing.push(number);
            }
        }
        Ok(standing)
    }

    /// The true path of a place.
    pub fn path(&self, place: &Place) -> PathBuf {
        self.roots[place.root].shown.join(place.path.name())
    }

    /// The place of a true path; `None` if it lies in no root.
    pub fn place(&self, path: &Path) -> Option<Place> {
        let below = |(root, known): (usize, &super::Root)| {
            let below = path.strip_prefix(&known.shown).ok()?;
            Some(Place { root, path: Bytes::of(below.as_os_str()) })
        };
        self.roots.iter().enumerate().find_map(below)
    }

    /// Both sides of each of these changes of an entry, of files that have at most so many bytes.
    pub fn sides(
        &self,
        entry: &Entry,
        changes: &[(Place, Change)],
        most: u64,
    ) -> Result<Vec<(Side, Side)>, JournalError> {
        let mut names: HashMap<Place, &Name> = HashMap::new();
        for places in
            [entry.places(&self.root_ids, |noted| noted.after), entry.places(&self.root_ids, |noted| noted.before)]
        {
            for (dir, name, noted) in entry.all_names() {
                if let Some(dir) = places.get(&dir) {
                    names.entry(dir.join(name)).or_insert(noted);
                }
            }
        }
        let mut later = Vec::new();
        for number in self.numbers()?.into_iter().filter(|number| *number > entry.number) {
            if later.len() == UNDO_ENTRIES_LOOKED_THROUGH {
                break;
            }
            later.extend(self.read(number)?);
        }
        let look = Look { store: self, entry, later: &later, most };
        let sides = changes.iter().map(|(place, change)| {
            let noted = names.get(place).copied().copied().unwrap_or_default();
            let before = match change {
                Change::Renamed { .. } => noted.after,
                _ => noted.before,
            };
            let after = noted.after.filter(|_| *change != Change::Deleted);
            (look.side(place, before, true), look.side(place, after, false))
        });
        Ok(sides.collect())
    }
}

struct Look<'a> {
    store: &'a Store,
    entry: &'a Entry,
    /// The entries after this one.
    later: &'a [Entry],
    most: u64,
}

impl Look<'_> {
    fn side(&self, place: &Place, id: Option<Id>, is_before: bool) -> Side {
        let Some(id) = id else { return Side::Nothing };
        let own = self.entry.olds.get(&id);
        let was = if is_before { own.map(|old| old.stat) } else { own.and_then(|old| Some(old.after?.stat)) };
        let Some(was) = was.or_else(|| self.entry.news.get(&id).copied()) else {
            return Side::Other("made by the call itself");
        };
        if was.is_dir() {
            return Side::Other("a directory");
        }
        if was.is_link() {
            return Side::Other("a symbolic link");
        }
        if !was.is_file() {
            return Side::Other("no regular file");
        }
        if was.size > self.most {
            return Side::Other("too large to show");
        }
        let found = is_before.then(|| own.and_then(|old| self.kept(self.entry.number, old))).flatten();
        let elsewhere = || {
            let places = self.later.iter().flat_map(|entry| {
                let dirs = entry.places(&self.store.root_ids, |noted| noted.after);
                let names = entry.all_names().filter(|(.., noted)| noted.after == Some(id));
                names.filter_map(|(dir, name, _)| Some(dirs.get(&dir)?.join(name))).collect::<Vec<_>>()
            });
            places.into_iter().find_map(|place| self.in_tree(&place, &was, own))
        };
        let found = found.or_else(|| self.in_tree(place, &was, own)).or_else(elsewhere).or_else(|| {
            let of_later = self.later.iter().filter_map(|entry| Some((entry.number, entry.olds.get(&id)?)));
            of_later.filter(|(_, old)| old.stat.plain() == was.plain()).find_map(|(number, old)| self.kept(number, old))
        });
        match found.map(|file| read(&file, was.size)) {
            Some(Ok(bytes)) => Side::Bytes(bytes),
            _ if is_before => Side::Other("a content that was not kept"),
            _ => Side::Other("a content that was changed since"),
        }
    }

    /// What an entry kept of an object.
    fn kept(&self, number: u64, old: &Old) -> Option<OwnedFd> {
        let open = |number: u64, file: u32| object::handle(&*self.store.kept, &file_name(number, file)).ok()?;
        match old.content {
            Content::Copy(file) => return open(number, file),
            Content::NotKept => return None,
            Content::Same | Content::Grew => {}
        }
        old.kept.iter().find_map(|kept| {
            let handle = open(kept.entry, kept.file)?;
            let found = object::stat_of(&handle).ok()?;
            (kept.is_copy || found.id == old.stat.id && found.mtime == old.stat.mtime).then_some(handle)
        })
    }

    /// What is at a place now, if it is still that version, or has only grown since.
    fn in_tree(&self, place: &Place, was: &Stat, own: Option<&Old>) -> Option<OwnedFd> {
        let mut dir: Option<OwnedFd> = None;
        let path = Path::new(place.path.name());
        let root = self.store.roots[place.root].handle.as_fd();
        for name in path.parent()? {
            let at: BorrowedFd<'_> = dir.as_ref().map_or(root, |dir| dir.as_fd());
            dir = Some(object::open_dir(at, name).ok()??);
        }
        let at = dir.as_ref().map_or(root, |dir| dir.as_fd());
        let handle = object::handle(at, path.file_name()?).ok()??;
        let now = object::stat_of(&handle).ok()?;
        let grew = own.is_some_and(|old| old.content == Content::Grew) && now.id == was.id;
        (now.is_file() && (grew || now.plain() == was.plain())).then_some(handle)
    }
}

fn read(handle: &OwnedFd, size: u64) -> Result<Vec<u8>, Errno> {
    let file = object::reopen(handle, OFlags::RDONLY)?;
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let mut at = 0;
    while at < bytes.len() {
        match pread(&file, &mut bytes[at..], at as u64)? {
            0 => break,
            got => at += got,
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}
