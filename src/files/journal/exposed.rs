//! Paths inside a directory that the call made. The entry has no records of names there, so an undo
//! by such a path adds them.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at a handle of a root"
)]

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::{Entry, NameRecord, RootedPath};
use super::error::JournalError;
use super::object::{self, Id, open_dir, stat, stat_of};
use super::store::Store;
use super::unit_kind::{SQLITE_LOGS, UnitKind, sqlite_base};

/// A directory that the call made, under a recorded name.
struct MadeDir {
    place: RootedPath,
    id: Id,
}

/// Name in a directory, and its record.
type NewRecord = (Id, Bytes, NameRecord);

impl Store {
    /// Adds records for paths inside directories that the entry made. Returns the paths to undo.
    /// Fails for exceptions inside a directory that would be removed whole.
    pub(super) fn expose(
        &self,
        entry: &mut Entry,
        paths: &[RootedPath],
        except: &[RootedPath],
        first: &dyn Fn(Id) -> Id,
    ) -> Result<Vec<RootedPath>, JournalError> {
        if paths.is_empty() && except.is_empty() {
            return Ok(Vec::new());
        }
        let made = self.made_dirs(entry, paths, except);
        let around = |path: &RootedPath| {
            made.iter()
                .find(|dir| *path != dir.place && path.is_at_or_below(&dir.place))
        };
        let is_whole = |dir: &MadeDir| {
            let mut named = paths.iter();
            paths.is_empty() || named.any(|path| dir.place.is_at_or_below(path))
        };
        for path in except {
            if let Some(dir) = around(path)
                && is_whole(dir)
                && !except.iter().any(|path| dir.place.is_at_or_below(path))
                && self.exists(path)?
            {
                return Err(JournalError::InsideMade {
                    path: self.path(path),
                    made: self.path(&dir.place),
                });
            }
        }
        let mut all = Vec::new();
        for path in paths {
            match around(path).filter(|dir| !is_whole(dir)) {
                None => all.push(path.clone()),
                Some(dir) => all.extend(
                    self.expose_path(entry, dir, path, first)
                        .map_err(self.failed_at(path))?,
                ),
            }
        }
        Ok(all)
    }

    /// Returns the directories that the entry made above these paths. A directory that replaced
    /// another one is undone with that one.
    fn made_dirs(
        &self,
        entry: &Entry,
        paths: &[RootedPath],
        except: &[RootedPath],
    ) -> Vec<MadeDir> {
        let after = entry.places(&self.root_ids, |noted| noted.after);
        let remade = entry.remade(&after);
        let mut made = Vec::new();
        for (dir, name, noted) in entry.all_names() {
            let new = noted.after.filter(|id| {
                noted.before != Some(*id)
                    && entry.is_new(*id)
                    && entry.news.get(id).is_some_and(object::Stat::is_dir)
            });
            let Some((id, above)) = new.zip(after.get(&dir)) else {
                continue;
            };
            let place = above.join(name);
            let mut named = paths.iter().chain(except);
            if named.any(|path| path.is_at_or_below(&place)) && !remade.contains(&place) {
                made.push(MadeDir { place, id });
            }
        }
        made
    }

    fn exists(&self, path: &RootedPath) -> Result<bool, JournalError> {
        let found = || match path.parent() {
            None => Ok(true),
            Some(above) => match self.open_place(&above)? {
                None => Ok(false),
                Some(dir) => Ok(stat(&dir, Bytes(path.name().to_vec()).name())?.is_some()),
            },
        };
        found().map_err(self.failed_at(path))
    }

    /// Returns true if there is nothing at a place.
    pub fn is_gone(&self, place: &RootedPath) -> bool {
        self.exists(place).is_ok_and(|exists| !exists)
    }

    fn failed_at(&self, path: &RootedPath) -> impl FnOnce(Errno) -> JournalError + use<> {
        JournalError::io(format!("{}: looking at it", self.path(path).display()))
    }

    /// Adds the records that lead to a path. Returns the places of what is undone for it.
    fn expose_path(
        &self,
        entry: &mut Entry,
        made: &MadeDir,
        path: &RootedPath,
        first: &dyn Fn(Id) -> Id,
    ) -> Result<Vec<RootedPath>, Errno> {
        let as_named = || Ok(vec![path.clone()]);
        if self.is_in_unit(&made.place)? {
            return Ok(vec![made.place.clone()]);
        }
        let Some(mut dir) = self.open_place(&made.place)? else {
            return as_named();
        };
        if first(stat_of(&dir)?.id) != made.id {
            return as_named();
        }
        let (mut place, mut id) = (made.place.clone(), made.id);
        let mut records: Vec<NewRecord> = Vec::new();
        let rest = path.below(&made.place).to_vec();
        let mut names = rest
            .split(|byte| *byte == b'/')
            .map(|name| Bytes(name.to_vec()))
            .peekable();
        while let Some(name) = names.next() {
            if is_unit(&dir, &place)? {
                // A unit goes whole.
                if let Some((.., unit)) = records.last_mut() {
                    unit.before = None;
                }
                add_records(entry, made, records);
                return Ok(vec![place]);
            }
            let Some(found) = stat(&dir, name.name())? else {
                return as_named();
            };
            let below = first(found.id);
            if !entry.is_new(below) {
                return Ok(self.previous_places(entry, below, path));
            }
            if names.peek().is_none() {
                let group = database_files(&dir, &name, first)?;
                let places = group.iter().map(|(name, _)| place.join(name)).collect();
                let group = group.into_iter().map(|(name, after)| {
                    let noted = NameRecord {
                        before: None,
                        after: Some(after),
                    };
                    (id, name, noted)
                });
                records.extend(group);
                add_records(entry, made, records);
                return Ok(places);
            }
            let Some(inner) = open_dir(&dir, name.name())? else {
                return as_named();
            };
            let noted = NameRecord {
                before: Some(below),
                after: Some(below),
            };
            place = place.join(&name);
            records.push((id, name, noted));
            (dir, id) = (inner, below);
        }
        as_named()
    }

    /// Returns the places that an old object had before the entry moved it.
    fn previous_places(&self, entry: &Entry, id: Id, path: &RootedPath) -> Vec<RootedPath> {
        let before = entry.places(&self.root_ids, |noted| noted.before);
        let sources = entry
            .all_names()
            .filter(|(.., noted)| noted.before == Some(id) && noted.after != Some(id));
        let mut places: Vec<RootedPath> = sources
            .filter_map(|(dir, name, _)| Some(before.get(&dir)?.join(name)))
            .collect();
        if places.is_empty() {
            places.push(path.clone());
        }
        places
    }

    /// Returns true if a directory lies in a unit.
    fn is_in_unit(&self, place: &RootedPath) -> Result<bool, Errno> {
        for above in std::iter::successors(place.parent(), RootedPath::parent) {
            if let Some(dir) = self.open_place(&above)?
                && is_unit(&dir, &above)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the directory at a place, without following links.
    pub(super) fn open_place(&self, place: &RootedPath) -> Result<Option<OwnedFd>, Errno> {
        let Some(root) = self.roots.get(place.root) else {
            return Ok(None);
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let below = Path::new(".").join(place.path.name());
        match openat2(&root.handle, below, flags, Mode::empty(), resolve) {
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => Ok(None),
            opened => object::there(opened),
        }
    }
}

fn add_records(entry: &mut Entry, made: &MadeDir, records: Vec<NewRecord>) {
    // The place of the directory, also where its own name is not selected.
    entry.inside.insert(made.id, made.place.clone());
    for (dir, name, noted) in records {
        let names = entry.names.entry(dir).or_default();
        let known = names.entry(name).or_insert(noted);
        // A second path may lead through what the first one removes.
        known.before = known.before.and(noted.before);
    }
}

fn is_unit(dir: &OwnedFd, place: &RootedPath) -> Result<bool, Errno> {
    let names = match object::names(dir) {
        Err(Errno::ACCESS) => Vec::new(),
        names => names?,
    };
    let names = names.iter().map(|name| name.as_encoded_bytes());
    Ok(UnitKind::of_dir(place.name(), names).is_some())
}

/// Returns the files that are undone together with this one: those of an `SQLite` database.
fn database_files(
    dir: &OwnedFd,
    name: &Bytes,
    first: &dyn Fn(Id) -> Id,
) -> Result<Vec<(Bytes, Id)>, Errno> {
    let base = sqlite_base(&name.0).unwrap_or(&name.0);
    let logs = SQLITE_LOGS.iter().map(|log| Bytes([base, *log].concat()));
    let mut found = Vec::new();
    for name in std::iter::once(Bytes(base.to_vec())).chain(logs) {
        let stat = stat(dir, name.name())?;
        found.extend(stat.map(|stat| (name, first(stat.id))));
    }
    Ok(found)
}
