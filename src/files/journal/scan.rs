//! Survey: current objects under the names of an entry, and in the directories that it made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use replay_base::limits::JOURNAL_DEPTH;
use rustix::fs::{AtFlags, OFlags, unlinkat};
use rustix::io::Errno;

use super::appended::{Digests, digest};
use super::bytes::Bytes;
use super::entry::{Entry, OldObject, RootedPath, file_name};
use super::equivalences::SelectedNames;
use super::error::{JournalError, UNWANTED};
use super::log::{Content, Event};
use super::object::{self, Id, Stat, open_dir, stat};
use super::root::Root;
use super::unit_kind::{UnitKind, noted_names, sqlite_base};

/// An object that another call moved.
#[derive(Debug)]
pub(super) struct MovedObject {
    /// Recorded name under which the entry left it.
    pub(super) key: (Id, Bytes),
    /// Current directory and name, in the tree or in the store.
    pub(super) dir: OwnedFd,
    pub(super) name: Bytes,
    pub(super) place: RootedPath,
}

#[derive(Debug, Default)]
pub(super) struct Survey {
    /// All recorded names in existing directories.
    pub(super) names: BTreeMap<(Id, Bytes), Option<Stat>>,
    /// Existing directories with recorded names.
    pub(super) dirs: HashMap<Id, RootedPath>,
    /// Current state of objects that the entry knows, or that have recorded names.
    pub(super) objects: BTreeMap<Id, Stat>,
    /// Known objects in directories that the entry made, and new objects in a directory that
    /// replaced another one.
    pub(super) inside: BTreeMap<Id, RootedPath>,
    /// Content of directories that the entry made, each with its place and the recorded name that
    /// leads there.
    pub(super) inner: Vec<(RootedPath, Stat, (Id, Bytes))>,
    /// `true` if directories with recorded names lie in directories that the entry made.
    pub(super) is_deep: bool,
    /// Directories unknown to the entry, each with the directory that it replaced at a recorded
    /// name.
    pub(super) stand_ins: Vec<(Id, Id)>,
    /// Files whose content is lost: only their length was saved, and they were overwritten.
    overwritten: Vec<Id>,
    /// Directories with recorded names that are units.
    pub(super) kinds: HashMap<Id, UnitKind>,
    /// Other names in directories with changed names: those changed since the entry began, and
    /// `SQLite` logs.
    pub(super) beside: HashMap<Id, BTreeMap<Bytes, Stat>>,
    /// Differences of old objects: content and metadata.
    differences: HashMap<Id, (bool, bool)>,
    /// Disk space of objects that exist only in the store.
    pub(super) kept_bytes: u64,
}

/// Goal of the survey.
#[derive(Clone, Copy)]
pub(super) enum SurveyGoal<'a> {
    /// Find the changes of the entry. The descriptor is the store's directory of saved files; links
    /// to objects that still exist are removed. Directories that the entry made are searched only
    /// if an old object was moved into one. After a crash, changes later than the given time belong
    /// to others.
    Changes(BorrowedFd<'a>, &'a Digests, Option<i64>),
    /// Find the current state.
    All,
}

struct SurveyWalk<'a> {
    entry: &'a Entry,
    first: &'a dyn Fn(Id) -> Id,
    look: SurveyGoal<'a>,
    wanted: &'a dyn Fn() -> bool,
    survey: Survey,
}

impl Survey {
    /// Returns the current places of the selected names that lose their object.
    pub(super) fn moving_places(
        &self,
        entry: &Entry,
        selected: &SelectedNames,
    ) -> HashSet<RootedPath> {
        let moving = selected.iter().filter(|(dir, name)| {
            let noted = entry.names[dir][name];
            noted.before != noted.after
        });
        moving
            .filter_map(|(dir, name)| Some(self.dirs.get(dir)?.join(name)))
            .collect()
    }

    /// Returns the directories under recorded names that are not selected.
    pub(super) fn staying_dirs(&self, selected: &SelectedNames) -> HashSet<Id> {
        let names = self
            .names
            .iter()
            .filter(|(key, _)| !selected.contains(*key));
        let found = names.filter_map(|(_, found)| *found);
        found.filter(Stat::is_dir).map(|dir| dir.id).collect()
    }

    /// Makes a survey. All identities are those known to the entry; `first` maps them.
    pub(super) fn of(
        roots: &[Root],
        entry: &Entry,
        first: &dyn Fn(Id) -> Id,
        look: SurveyGoal<'_>,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Self, JournalError> {
        Self::with_moved(roots, entry, first, look, wanted, &[])
    }

    /// Makes a survey that finds moved objects under the names under which the entry left them.
    pub(super) fn with_moved(
        roots: &[Root],
        entry: &Entry,
        first: &dyn Fn(Id) -> Id,
        look: SurveyGoal<'_>,
        wanted: &dyn Fn() -> bool,
        moved: &[MovedObject],
    ) -> Result<Self, JournalError> {
        let mut walk = SurveyWalk {
            entry,
            first,
            look,
            wanted,
            survey: Self::default(),
        };
        for (number, root) in roots.iter().enumerate() {
            let place = RootedPath {
                root: number,
                path: Bytes(Vec::new()),
            };
            let looked = object::stat_of(&root.handle).and_then(|mut stat| {
                stat.id = first(stat.id);
                walk.collect_object(root.handle.as_fd(), OsStr::new(""), stat)?;
                walk.examine_dir(root.handle.as_fd(), stat.id, &place, 0)
            });
            looked.map_err(JournalError::io(format!(
                "{}: looking through it",
                root.shown.display()
            )))?;
        }
        walk.collect_moved(moved)
            .map_err(JournalError::io("looking through what another call moved"))?;
        if let SurveyGoal::Changes(store, ..) = look {
            walk.collect_stored(store)
                .map_err(JournalError::io("looking through what was kept"))?;
        }
        Ok(walk.survey)
    }

    /// Returns the events that record the final state.
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
                .map(|(id, RootedPath { root, path })| Event::Inside { id, root, path }),
        )
    }
}

impl SurveyWalk<'_> {
    fn stat(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, Errno> {
        (self.wanted)().then_some(()).ok_or(UNWANTED)?;
        Ok(stat(dir, name)?.map(|stat| Stat {
            id: (self.first)(stat.id),
            ..stat
        }))
    }

    /// Examines a directory with recorded names.
    fn examine_dir(
        &mut self,
        dir: BorrowedFd<'_>,
        id: Id,
        place: &RootedPath,
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
                *stat = self.collect_object(dir, name.name(), *stat)?;
                self.examine_content(
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
                    self.collect_recreated(dir, name, before, &place.join(name), depth)?;
                }
            }
            self.survey.names.insert((id, name.clone()), found);
        }
        if matches!(self.look, SurveyGoal::All) {
            self.examine_siblings(dir, id, place)
        } else {
            Ok(())
        }
    }

    /// Examines the names in a directory that the entry did not change.
    fn examine_siblings(
        &mut self,
        dir: BorrowedFd<'_>,
        id: Id,
        place: &RootedPath,
    ) -> Result<(), Errno> {
        let Some(noted) = self.entry.names.get(&id) else {
            return Ok(());
        };
        let names = match object::names(dir) {
            // An unreadable directory counts as no unit.
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

    fn examine_content(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &Bytes,
        stat: &Stat,
        place: &RootedPath,
        key: &(Id, Bytes),
        depth: usize,
    ) -> Result<(), Errno> {
        let is_noted = self.entry.names.contains_key(&stat.id);
        let is_wanted = self.entry.is_new(stat.id)
            && (self.entry.is_deep || matches!(self.look, SurveyGoal::All));
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
            return self.examine_dir(inner.as_fd(), stat.id, place, depth + 1);
        }
        for name in object::names(&inner)? {
            let name = Bytes::of(&name);
            let Some(stat) = self.stat(inner.as_fd(), name.name())? else {
                continue;
            };
            let place = place.join(&name);
            self.survey.inner.push((place.clone(), stat, key.clone()));
            self.survey.is_deep |= stat.is_dir() && self.entry.names.contains_key(&stat.id);
            if self.entry.olds.contains_key(&stat.id) {
                self.collect_object(inner.as_fd(), name.name(), stat)?;
                self.survey.inside.insert(stat.id, place.clone());
            }
            self.examine_content(inner.as_fd(), &name, &stat, &place, key, depth + 1)?;
        }
        Ok(())
    }

    /// Returns true if a new directory replaced another one.
    fn is_remade(&self, before: Id, now: &Stat) -> bool {
        let was_dir = self
            .entry
            .olds
            .get(&before)
            .is_some_and(|old| old.stat.is_dir());
        matches!(self.look, SurveyGoal::Changes(..))
            && was_dir
            && now.is_dir()
            && self.entry.is_new(now.id)
    }

    /// Collects new objects in a directory that replaced another one, whose names were all recorded
    /// when it was emptied.
    fn collect_recreated(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &Bytes,
        before: Id,
        place: &RootedPath,
        depth: usize,
    ) -> Result<(), Errno> {
        let opened = if depth > JOURNAL_DEPTH {
            None
        } else {
            open_dir(dir, name.name())?
        };
        let Some(inner) = opened else { return Ok(()) };
        for name in object::names(&inner)? {
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
                self.collect_recreated(inner.as_fd(), &name, before, &place, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Collects an object and returns its state.
    fn collect_object(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        mut stat: Stat,
    ) -> Result<Stat, Errno> {
        if let Some(known) = self.survey.objects.get(&stat.id) {
            return Ok(*known);
        }
        let late = if let SurveyGoal::Changes(_, _, Some(crashed)) = self.look {
            Some(crashed)
        } else {
            None
        };
        let late = late.filter(|crashed| !stat.is_dir() && stat.ctime > *crashed);
        if let (SurveyGoal::Changes(store, ..), Some(old)) =
            (self.look, self.entry.olds.get(&stat.id))
        {
            if let Some(kept) = old
                .kept
                .first()
                .filter(|kept| !kept.is_copy && !stat.is_dir())
            {
                // It still exists, so the link is not needed.
                object::there(unlinkat(store, kept.name(), AtFlags::empty()))?;
                stat = self.stat(dir, name)?.unwrap_or(stat);
            }
            self.compare(dir, name, &stat, old, store)?;
        }
        if let Some(crashed) = late {
            // No version equals this one, so undoing it is a conflict.
            (stat.ctime, stat.mtime) = (crashed, crashed);
        }
        self.survey.objects.insert(stat.id, stat);
        Ok(stat)
    }

    /// Collects objects that another call moved.
    fn collect_moved(&mut self, moved: &[MovedObject]) -> Result<(), Errno> {
        for object in moved {
            let Some(found) = self.stat(object.dir.as_fd(), object.name.name())? else {
                continue;
            };
            let found = self.collect_object(object.dir.as_fd(), object.name.name(), found)?;
            if found.is_dir() && self.entry.names.contains_key(&found.id) {
                let Some(dir) = open_dir(&object.dir, object.name.name())? else {
                    continue;
                };
                if object::stat_of(&dir)?.id == found.id {
                    let depth = object.place.depth();
                    self.examine_dir(dir.as_fd(), found.id, &object.place, depth)?;
                }
            }
        }
        for object in moved {
            let id = self.entry.names[&object.key.0][&object.key.1].before;
            let found = id.and_then(|id| self.survey.objects.get(&id).copied());
            self.survey.names.insert(object.key.clone(), found);
        }
        Ok(())
    }

    /// Collects objects that exist only in the store, or under unrecorded names.
    fn collect_stored(&mut self, store: BorrowedFd<'_>) -> Result<(), Errno> {
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
        old: &OldObject,
        store: BorrowedFd<'_>,
    ) -> Result<(), Errno> {
        let (mut content, metadata) = differences(old, stat, dir, name, store)?;
        if self.is_overwritten(dir, name, stat, old)? {
            self.survey.overwritten.push(stat.id);
            content = true;
        }
        // The times of a directory follow from recorded names in it, if any.
        let is_dated = stat.is_dir() && self.entry.names.contains_key(&stat.id)
            || old.stat.mtime == stat.mtime;
        self.survey
            .differences
            .insert(stat.id, (content, metadata || !is_dated));
        Ok(())
    }

    /// Returns true if a file of which only the length was saved did more than grow.
    fn is_overwritten(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        now: &Stat,
        old: &OldObject,
    ) -> Result<bool, Errno> {
        let SurveyGoal::Changes(_, digests, _) = self.look else {
            return Ok(false);
        };
        let was = digests
            .get(&now.id)
            .filter(|_| old.content == Content::Grew && old.stat.ctime != now.ctime);
        let Some(was) = was else { return Ok(false) };
        match object::open_file(dir, name, OFlags::RDONLY) {
            Ok(Some(file)) => Ok(digest(file, old.stat.size)?.as_ref() != Some(was)),
            // An unreadable file cannot be compared.
            Ok(None) | Err(Errno::ACCESS) => Ok(false),
            Err(errno) => Err(errno),
        }
    }
}

/// Returns whether content and metadata (except for the ctime) of an object differ from before.
fn differences(
    old: &OldObject,
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
