//! What stands under the names of an entry now, and what lies in the directories that it made.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, OFlags, unlinkat};
use rustix::io::Errno;

use super::appended::{Digests, digest};
use super::bytes::Bytes;
use super::entry::{Entry, Old, Place, file_name};
use super::error::{JournalError, UNWANTED};
use super::log::{Content, Event};
use super::object::{self, Id, Stat, open_dir, stat};
use super::root::Root;
use super::unit_kind::{UnitKind, noted_names, sqlite_base};
use crate::limits::JOURNAL_DEPTH;

#[derive(Debug, Default)]
pub(super) struct Survey {
    /// For all noted names in directories that are there.
    pub(super) names: BTreeMap<(Id, Bytes), Option<Stat>>,
    /// Directories with noted names that are there.
    pub(super) dirs: HashMap<Id, Place>,
    /// Objects that the entry knows, or that stand under noted names, as they are.
    pub(super) objects: BTreeMap<Id, Stat>,
    /// What the entry knows and lies in directories that it made, and what is new in one that
    /// stands where another one stood.
    pub(super) inside: BTreeMap<Id, Place>,
    /// What lies in directories that the entry made, each with the place, and with the noted name
    /// that leads there.
    pub(super) inner: Vec<(Place, Stat, (Id, Bytes))>,
    /// Directories that the entry does not know, each with the one with noted names that the entry
    /// left in its place.
    pub(super) stand_ins: Vec<(Id, Id)>,
    /// Files whose content is lost: only their length was kept, and more was changed.
    overwritten: Vec<Id>,
    /// Directories with noted names that are units.
    pub(super) kinds: HashMap<Id, UnitKind>,
    /// By directory with changed names, other names in it: what changed since the entry began, and
    /// logs of `SQLite`.
    pub(super) beside: HashMap<Id, BTreeMap<Bytes, Stat>>,
    /// Of old objects: whether content and metadata are others.
    differences: HashMap<Id, (bool, bool)>,
    /// What only the store has any more, on the disk.
    pub(super) kept_bytes: u64,
}

/// What is looked for.
#[derive(Clone, Copy)]
pub(super) enum Look<'a> {
    /// What the entry has changed; this is what the store keeps, where links to what is still there
    /// are let go of. Directories that the entry made are looked through only if something old was
    /// put into one. After a crash, later changes than this are those of others.
    Changes(BorrowedFd<'a>, &'a Digests, Option<i64>),
    /// What is there.
    All,
}

struct Walk<'a> {
    entry: &'a Entry,
    first: &'a dyn Fn(Id) -> Id,
    look: Look<'a>,
    wanted: &'a dyn Fn() -> bool,
    survey: Survey,
}

impl Survey {
    /// All identities are those that the entry knows the objects by: `first` says.
    pub(super) fn of(
        roots: &[Root],
        entry: &Entry,
        first: &dyn Fn(Id) -> Id,
        look: Look<'_>,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Self, JournalError> {
        let mut walk = Walk {
            entry,
            first,
            look,
            wanted,
            survey: Self::default(),
        };
        for (number, root) in roots.iter().enumerate() {
            let place = Place {
                root: number,
                path: Bytes(Vec::new()),
            };
            let looked = object::stat_of(&root.handle).and_then(|mut stat| {
                stat.id = first(stat.id);
                walk.object(root.handle.as_fd(), OsStr::new(""), stat)?;
                walk.dir(root.handle.as_fd(), stat.id, &place, 0)
            });
            looked.map_err(JournalError::io(format!(
                "{}: looking through it",
                root.shown.display()
            )))?;
        }
        if let Look::Changes(store, ..) = look {
            walk.kept(store)
                .map_err(JournalError::io("looking through what was kept"))?;
        }
        Ok(walk.survey)
    }

    /// How the entry is left.
    pub(super) fn events(self) -> impl Iterator<Item = Event> {
        let Self {
            names,
            objects,
            inside,
            differences,
            overwritten,
            ..
        } = self;
        let lost = overwritten.into_iter().map(|id| Event::Content {
            id,
            content: Content::NotKept,
        });
        let left = names.into_iter().filter_map(|((dir, name), found)| {
            Some(Event::Left {
                dir,
                name,
                after: found?.id,
            })
        });
        let states = objects.into_iter().map(move |(id, stat)| {
            let (content, metadata) = differences.get(&id).copied().unwrap_or_default();
            Event::State {
                stat,
                content,
                metadata,
            }
        });
        lost.chain(left).chain(states).chain(
            inside
                .into_iter()
                .map(|(id, Place { root, path })| Event::Inside { id, root, path }),
        )
    }
}

impl Walk<'_> {
    fn stat(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, Errno> {
        (self.wanted)().then_some(()).ok_or(UNWANTED)?;
        Ok(stat(dir, name)?.map(|stat| Stat {
            id: (self.first)(stat.id),
            ..stat
        }))
    }

    /// A directory whose names were noted.
    fn dir(
        &mut self,
        dir: BorrowedFd<'_>,
        id: Id,
        place: &Place,
        depth: usize,
    ) -> Result<(), Errno> {
        let entry = self.entry;
        if self.survey.dirs.insert(id, place.clone()).is_some() {
            return Ok(());
        }
        for name in entry.names.get(&id).into_iter().flat_map(BTreeMap::keys) {
            let mut found = self.stat(dir, name.name())?;
            if let Some(stat) = &mut found {
                let is_known =
                    entry.names.contains_key(&stat.id) || entry.olds.contains_key(&stat.id);
                let left = entry.names[&id][name]
                    .after
                    .filter(|left| stat.is_dir() && entry.names.contains_key(left));
                self.survey
                    .stand_ins
                    .extend(left.filter(|_| !is_known).map(|left| (stat.id, left)));
                *stat = self.object(dir, name.name(), *stat)?;
                self.below(
                    dir,
                    name,
                    stat,
                    &place.join(name),
                    &(id, name.clone()),
                    depth,
                )?;
                let before = entry.names[&id][name]
                    .before
                    .filter(|before| self.is_remade(*before, stat));
                if let Some(before) = before {
                    self.remade(dir, name, before, &place.join(name), depth)?;
                }
            }
            self.survey.names.insert((id, name.clone()), found);
        }
        if matches!(self.look, Look::All) {
            self.beside(dir, id, place)
        } else {
            Ok(())
        }
    }

    /// Looks at the names in a directory that the entry did not change.
    fn beside(&mut self, dir: BorrowedFd<'_>, id: Id, place: &Place) -> Result<(), Errno> {
        let Some(noted) = self.entry.names.get(&id) else {
            return Ok(());
        };
        let names = match object::names(dir) {
            // Without its names a directory counts as none of these.
            Err(Errno::ACCESS) => Vec::new(),
            names => names?,
        };
        let all = names
            .iter()
            .map(|name| name.as_bytes())
            .chain(noted_names(noted));
        self.survey
            .kinds
            .extend(UnitKind::of_dir(place.name(), all).map(|kind| (id, kind)));
        if !noted.values().any(|noted| self.entry.is_changed(noted)) {
            return Ok(());
        }
        let mut beside = BTreeMap::new();
        let is_changed = |name: &OsStr| {
            noted
                .get(name.as_bytes())
                .is_some_and(|noted| self.entry.is_changed(noted))
        };
        for name in names.iter().filter(|name| !is_changed(name)) {
            let stat = self.stat(dir, name)?;
            let is_kept = |stat: &Stat| {
                stat.ctime > self.entry.start || sqlite_base(name.as_bytes()).is_some()
            };
            beside.extend(stat.filter(is_kept).map(|stat| (Bytes::of(name), stat)));
        }
        self.survey.beside.insert(id, beside);
        Ok(())
    }

    fn below(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &Bytes,
        stat: &Stat,
        place: &Place,
        key: &(Id, Bytes),
        depth: usize,
    ) -> Result<(), Errno> {
        let is_noted = self.entry.names.contains_key(&stat.id);
        let is_wanted =
            self.entry.is_new(stat.id) && (self.entry.is_deep || matches!(self.look, Look::All));
        if !stat.is_dir() || depth > JOURNAL_DEPTH || !is_noted && !is_wanted {
            return Ok(());
        }
        let Some(inner) = open_dir(dir, name.name())? else {
            return Ok(());
        };
        if (self.first)(object::stat_of(&inner)?.id) != stat.id {
            return Ok(());
        }
        if is_noted {
            return self.dir(inner.as_fd(), stat.id, place, depth + 1);
        }
        for name in object::with_access(inner.as_fd(), || object::names(&inner))? {
            let name = Bytes::of(&name);
            let Some(stat) = self.stat(inner.as_fd(), name.name())? else {
                continue;
            };
            let place = place.join(&name);
            self.survey.inner.push((place.clone(), stat, key.clone()));
            if self.entry.olds.contains_key(&stat.id) {
                self.object(inner.as_fd(), name.name(), stat)?;
                self.survey.inside.insert(stat.id, place.clone());
            }
            self.below(inner.as_fd(), &name, &stat, &place, key, depth + 1)?;
        }
        Ok(())
    }

    /// Whether a new directory stands where another one stood.
    fn is_remade(&self, before: Id, now: &Stat) -> bool {
        let was_dir = self
            .entry
            .olds
            .get(&before)
            .is_some_and(|old| old.stat.is_dir());
        matches!(self.look, Look::Changes(..))
            && was_dir
            && now.is_dir()
            && self.entry.is_new(now.id)
    }

    /// Takes down what is new in a directory that stands where another one stood, whose names were
    /// all noted when it was emptied.
    fn remade(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &Bytes,
        before: Id,
        place: &Place,
        depth: usize,
    ) -> Result<(), Errno> {
        let opened = if depth > JOURNAL_DEPTH {
            None
        } else {
            open_dir(dir, name.name())?
        };
        let Some(inner) = opened else { return Ok(()) };
        for name in object::with_access(inner.as_fd(), || object::names(&inner))? {
            let name = Bytes::of(&name);
            let Some(stat) = self.stat(inner.as_fd(), name.name())? else {
                continue;
            };
            if !self.entry.is_new(stat.id) {
                continue;
            }
            let place = place.join(&name);
            self.survey.objects.insert(stat.id, stat);
            self.survey.inside.insert(stat.id, place.clone());
            let before = self
                .entry
                .names
                .get(&before)
                .and_then(|names| names.get(&name)?.before);
            if let Some(before) = before.filter(|before| self.is_remade(*before, &stat)) {
                self.remade(inner.as_fd(), &name, before, &place, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Takes down an object; what it is like then.
    fn object(&mut self, dir: BorrowedFd<'_>, name: &OsStr, mut stat: Stat) -> Result<Stat, Errno> {
        if let Some(known) = self.survey.objects.get(&stat.id) {
            return Ok(*known);
        }
        let late = if let Look::Changes(_, _, Some(crashed)) = self.look {
            Some(crashed)
        } else {
            None
        };
        let late = late.filter(|crashed| !stat.is_dir() && stat.ctime > *crashed);
        if let (Look::Changes(store, ..), Some(old)) = (self.look, self.entry.olds.get(&stat.id)) {
            if let Some(kept) = old
                .kept
                .first()
                .filter(|kept| !kept.is_copy && !stat.is_dir())
            {
                // It is still there, so the link is not needed.
                object::there(unlinkat(store, kept.name(), AtFlags::empty()))?;
                stat = self.stat(dir, name)?.unwrap_or(stat);
            }
            self.compare(dir, name, &stat, old, store)?;
        }
        if let Some(crashed) = late {
            // No version is like this one, so undoing it is a conflict.
            (stat.ctime, stat.mtime) = (crashed, crashed);
        }
        self.survey.objects.insert(stat.id, stat);
        Ok(stat)
    }

    /// Takes down what is only in the store any more, or has names that were not noted.
    fn kept(&mut self, store: BorrowedFd<'_>) -> Result<(), Errno> {
        let entry = self.entry;
        for (id, old) in entry.olds.iter().filter(|(_, old)| !old.stat.is_dir()) {
            let kept = old
                .kept
                .first()
                .filter(|kept| !kept.is_copy && !self.survey.objects.contains_key(id));
            let Some(kept) = kept else { continue };
            let name = kept.name();
            if let Some(stat) = self.stat(store, &name)?.filter(|stat| stat.id == *id) {
                if stat.links == 1 {
                    self.survey.kept_bytes += stat.bytes;
                }
                self.compare(store, &name, &stat, old, store)?;
                self.survey.objects.insert(*id, stat);
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        stat: &Stat,
        old: &Old,
        store: BorrowedFd<'_>,
    ) -> Result<(), Errno> {
        let (mut content, metadata) = differences(old, stat, dir, name, store)?;
        if self.is_overwritten(dir, name, stat, old)? {
            self.survey.overwritten.push(stat.id);
            content = true;
        }
        // The times of a directory follow from what is noted in it, if anything is.
        let is_dated = stat.is_dir() && self.entry.names.contains_key(&stat.id)
            || old.stat.mtime == stat.mtime;
        self.survey
            .differences
            .insert(stat.id, (content, metadata || !is_dated));
        Ok(())
    }

    /// Returns true if a file of which only the length was kept has not only grown.
    fn is_overwritten(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        now: &Stat,
        old: &Old,
    ) -> Result<bool, Errno> {
        let Look::Changes(_, digests, _) = self.look else {
            return Ok(false);
        };
        let was = digests
            .get(&now.id)
            .filter(|_| old.content == Content::Grew && old.stat.ctime != now.ctime);
        let Some(was) = was else { return Ok(false) };
        match object::open_file(dir, name, OFlags::RDONLY) {
            Ok(Some(file)) => Ok(digest(file, old.stat.size)?.as_ref() != Some(was)),
            // Nobody can compare what may not be read.
            Ok(None) | Err(Errno::ACCESS) => Ok(false),
            Err(errno) => Err(errno),
        }
    }
}

/// Whether an object has other content, and other metadata but for the time of its last change,
/// than it had.
fn differences(
    old: &Old,
    now: &Stat,
    dir: BorrowedFd<'_>,
    name: &OsStr,
    kept: BorrowedFd<'_>,
) -> Result<(bool, bool), Errno> {
    let was = &old.stat;
    if was.ctime == now.ctime {
        return Ok((false, false));
    }
    let content = now.is_file()
        && match old.content {
            Content::Same => false,
            Content::Copy(file) if was.size == now.size => {
                let copy =
                    object::open_file(kept, &file_name(old.copied_by, file), OFlags::RDONLY)?
                        .ok_or(Errno::NOENT)?;
                match object::open_file(dir, name, OFlags::RDONLY) {
                    Ok(Some(now)) => !object::is_same_content(copy, now)?,
                    _ => was.mtime != now.mtime,
                }
            }
            Content::NotKept if was.size == now.size => was.mtime != now.mtime,
            _ => was.size != now.size,
        };
    let attributes = match &old.attributes {
        Some(were) => match object::handle(dir, name)? {
            Some(handle) => object::attributes(&handle)?.is_some_and(|now| now != *were),
            None => false,
        },
        None => false,
    };
    Ok((content, was.rights() != now.rights() || attributes))
}
