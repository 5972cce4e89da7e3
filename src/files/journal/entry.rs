//! Entry: the objects and names that a call found at its start and left at its end.
//!
//! An entry is a graph, not a list of paths: a name in a directory (by its identity) leads to an
//! object. The path of a directory follows from the names that lead to it, so a move of a directory
//! needs no new records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use replay_base::budget::Share;
use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::log::{Content, End, EntryKind, Event, Version};
use super::object::{Attributes, Id, Stat, is_name};

/// A place in one of the roots: the index of the root, and the path below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RootedPath {
    pub root: usize,
    pub path: Bytes,
}

impl RootedPath {
    pub(super) fn join(&self, name: &Bytes) -> Self {
        let path = if self.path.0.is_empty() {
            name.0.clone()
        } else {
            [&self.path.0, &b"/"[..], &name.0].concat()
        };
        Self {
            root: self.root,
            path: Bytes(path),
        }
    }

    /// Returns the parent directory, `None` for a root.
    pub(super) fn parent(&self) -> Option<Self> {
        let path = &self.path.0;
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        (!path.is_empty()).then(|| Self {
            root: self.root,
            path: Bytes(path[..end].to_vec()),
        })
    }

    /// Returns the number of path components below the root.
    pub(super) fn depth(&self) -> usize {
        self.path
            .0
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
            .count()
    }

    /// Returns true if this is the other place, or lies below it.
    pub(super) fn is_at_or_below(&self, other: &Self) -> bool {
        let rest = self.path.0.strip_prefix(other.path.0.as_slice());
        self.root == other.root
            && rest
                .is_some_and(|rest| rest.is_empty() || other.path.0.is_empty() || rest[0] == b'/')
    }
}

/// Objects under a name, before and after the entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NameRecord {
    pub(super) before: Option<Id>,
    pub(super) after: Option<Id>,
}

/// A file in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StoredFile {
    pub(super) entry: u64,
    pub(super) file: u32,
    pub(super) is_copy: bool,
}

impl StoredFile {
    pub(super) fn name(self) -> OsString {
        file_name(self.entry, self.file)
    }
}

/// Returns the name of an entry's file in the store.
pub(super) fn file_name(entry: u64, file: u32) -> OsString {
    format!("{entry}-{file}").into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StateAfter {
    pub(super) stat: Stat,
    /// `true` if the content differs from before.
    pub(super) content: bool,
    pub(super) metadata: bool,
}

/// An object that is older than the entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OldObject {
    pub(super) stat: Stat,
    pub(super) attributes: Option<Attributes>,
    pub(super) content: Content,
    /// Number of the entry that holds the copied content.
    pub(super) copied_by: u64,
    /// Files in the store, one per entry that saved the object; some may have been removed.
    pub(super) kept: Vec<StoredFile>,
    pub(super) after: Option<StateAfter>,
}

/// Change that an entry made at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Created,
    Deleted,
    /// The content changed, or another object has the name.
    Edited,
    /// Mode, owner, times or attributes changed.
    Metadata,
    Renamed {
        /// Original place.
        from: RootedPath,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub number: u64,
    /// Title given by the caller.
    pub title: String,
    /// Numbers of the entries that this one undoes; empty if it is not an undo.
    pub undoes: Vec<u64>,
    pub(super) kind: EntryKind,
    pub(super) start: i64,
    pub(super) end: Option<End>,
    pub(super) is_deep: bool,
    /// Largest number of a file in the store.
    pub(super) files: u32,
    /// Names by directory.
    pub(super) names: BTreeMap<Id, BTreeMap<Bytes, NameRecord>>,
    pub(super) olds: BTreeMap<Id, OldObject>,
    /// New objects under recorded names, at the end of the entry.
    pub(super) news: BTreeMap<Id, Stat>,
    pub(super) inside: BTreeMap<Id, RootedPath>,
    pub(super) same: Vec<(Version, Version)>,
    /// Time spans of the entries that were joined into this one.
    pub(super) spans: Vec<(i64, i64)>,
    /// Objects that changed between two of these spans.
    pub(super) between: BTreeSet<Id>,
    /// Memory reserved for the entry.
    pub(super) _memory: Option<Arc<Share>>,
}

impl Entry {
    /// Applies a log event; fails if no valid entry contains it.
    pub(super) fn apply(&mut self, event: Event) -> Result<(), String> {
        let unknown = |id: Id| format!("nothing was said of object {id:?} before");
        match event {
            Event::Begin {
                start,
                title,
                undoes,
                kind,
                ..
            } => {
                (self.start, self.title, self.undoes, self.kind) = (start, title, undoes, kind);
            }
            Event::Name { name, .. } | Event::Left { name, .. } if !is_name(name.name()) => {
                return Err(format!("{name:?} is no name of a file"));
            }
            Event::Inside { path, .. }
                if !path
                    .0
                    .split(|byte| *byte == b'/')
                    .all(|name| is_name(OsStr::from_bytes(name))) =>
            {
                return Err(format!("{path:?} is no path below a root"));
            }
            Event::Name { dir, name, before } => {
                self.names
                    .entry(dir)
                    .or_default()
                    .entry(name)
                    .or_default()
                    .before = before;
            }
            Event::Object(stat) => {
                let old = OldObject {
                    stat,
                    attributes: None,
                    content: Content::Same,
                    copied_by: self.number,
                    kept: Vec::new(),
                    after: None,
                };
                self.olds.entry(stat.id).or_insert(old);
            }
            Event::Attributes { id, all } => {
                self.olds
                    .get_mut(&id)
                    .ok_or_else(|| unknown(id))?
                    .attributes = Some(all);
            }
            Event::Content { id, content } => {
                self.olds.get_mut(&id).ok_or_else(|| unknown(id))?.content = content;
                if let Content::Copy(file) = content {
                    self.files = self.files.max(file);
                }
            }
            Event::Kept { id, file, is_copy } => {
                let entry = self.number;
                self.files = self.files.max(file);
                self.olds
                    .get_mut(&id)
                    .ok_or_else(|| unknown(id))?
                    .kept
                    .push(StoredFile {
                        entry,
                        file,
                        is_copy,
                    });
            }
            Event::Deep => self.is_deep = true,
            Event::Left { dir, name, after } => {
                let noted = self
                    .names
                    .get_mut(&dir)
                    .and_then(|names| names.get_mut(&name));
                noted
                    .ok_or_else(|| format!("the name {name:?} was not noted before"))?
                    .after = Some(after);
            }
            Event::State {
                stat,
                content,
                metadata,
            } => match self.olds.get_mut(&stat.id) {
                Some(old) => {
                    old.after = Some(StateAfter {
                        stat,
                        content,
                        metadata,
                    });
                }
                None => drop(self.news.insert(stat.id, stat)),
            },
            Event::Inside { id, root, path } => {
                self.inside.insert(id, RootedPath { root, path });
            }
            Event::End(end) => {
                self.end = Some(end);
                self.spans = vec![(self.start, end.time)];
            }
            Event::Same { new, old } => self.same.push((new, old)),
        }
        Ok(())
    }

    /// Returns true if the entry made this object. Objects that others made since are recorded as
    /// old ones.
    pub(super) fn is_new(&self, id: Id) -> bool {
        id.born() > self.start && !self.olds.contains_key(&id)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns true if this is a completed undo.
    pub(super) fn is_whole_undo(&self) -> bool {
        !self.undoes.is_empty() && self.end.is_some_and(|end| !end.interrupted)
    }

    pub(super) fn all_names(&self) -> impl Iterator<Item = (Id, &Bytes, &NameRecord)> {
        self.names
            .iter()
            .flat_map(|(dir, names)| names.iter().map(move |(name, noted)| (*dir, name, noted)))
    }

    /// Returns objects that the entry recorded but did not change, before and after.
    pub(super) fn left_alone(&self) -> impl Iterator<Item = (&Stat, &Stat)> {
        let olds = self
            .olds
            .values()
            .filter(|old| !self.between.contains(&old.stat.id));
        let both = olds.filter_map(|old| Some((&old.stat, old.after.as_ref()?)));
        let alone = both.filter(|(was, after)| {
            !after.content
                && !after.metadata
                && was.ctime != after.stat.ctime
                && was.plain() == after.stat.plain()
        });
        alone.map(|(was, after)| (was, &after.stat))
    }

    /// Returns true if an object has changed and its previous state was not saved.
    pub(super) fn is_lost(&self, id: Id) -> bool {
        let old = self
            .olds
            .get(&id)
            .filter(|old| old.content == Content::NotKept);
        old.is_some_and(|old| old.after.is_none_or(|after| after.content))
    }

    /// Returns the size on the disk.
    pub fn bytes(&self) -> u64 {
        self.end.map_or(0, |end| end.bytes)
    }

    /// Returns true if an undo must do something under a name.
    pub(super) fn is_changed(&self, noted: &NameRecord) -> bool {
        let own = |old: &OldObject| {
            old.after
                .is_some_and(|after| after.content || after.metadata)
        };
        noted.before != noted.after
            || noted
                .before
                .and_then(|id| self.olds.get(&id))
                .is_some_and(own)
    }

    /// Returns the places of the directories with recorded names, derived from the names that lead
    /// to them. `side` selects the start or the end of the entry.
    pub(super) fn places(
        &self,
        roots: &[Id],
        side: impl Fn(&NameRecord) -> Option<Id>,
    ) -> HashMap<Id, RootedPath> {
        let mut found = HashMap::new();
        let mut waiting: Vec<(Id, RootedPath)> = roots
            .iter()
            .enumerate()
            .map(|(root, id)| {
                (
                    *id,
                    RootedPath {
                        root,
                        path: Bytes(Vec::new()),
                    },
                )
            })
            .collect();
        waiting.extend(self.inside.iter().map(|(id, place)| (*id, place.clone())));
        while let Some((id, place)) = waiting.pop() {
            if found.contains_key(&id) {
                continue;
            }
            for (name, noted) in self.names.get(&id).into_iter().flatten() {
                if let Some(next) = side(noted).filter(|next| self.names.contains_key(next)) {
                    waiting.push((next, place.join(name)));
                }
            }
            found.insert(id, place);
        }
        found
    }

    /// Returns objects that gained a hard link, with their recorded names.
    pub(super) fn linked(&self, roots: &[Id]) -> Vec<(Id, RootedPath)> {
        let after = self.places(roots, |noted| noted.after);
        let has_more = |old: &OldObject| {
            old.after
                .is_some_and(|after| after.stat.links > old.stat.links)
        };
        let is_linked = |id: &Id| {
            self.olds
                .get(id)
                .is_some_and(|old| !old.stat.is_dir() && has_more(old))
        };
        let linked = |(dir, name, noted): (Id, &Bytes, &NameRecord)| {
            Some((noted.after.filter(is_linked)?, after.get(&dir)?.join(name)))
        };
        self.all_names().filter_map(linked).collect()
    }

    fn is_dir(&self, id: Id) -> bool {
        self.olds
            .get(&id)
            .map(|old| &old.stat)
            .or_else(|| self.news.get(&id))
            .is_some_and(Stat::is_dir)
    }

    /// Returns objects that gained a name, or lie in a directory that the entry made.
    fn remaining_objects(&self) -> BTreeSet<Id> {
        // An object with a second name from before was not moved.
        let moved = self
            .all_names()
            .filter(|(.., noted)| noted.before != noted.after);
        moved
            .filter_map(|(.., noted)| noted.after)
            .chain(self.inside.keys().copied())
            .collect()
    }

    /// Returns the places where a new directory replaced a removed one; `after` holds the places of
    /// directories at the end of the entry.
    pub(super) fn remade(&self, after: &HashMap<Id, RootedPath>) -> BTreeSet<RootedPath> {
        let left = self.remaining_objects();
        let remade = |(dir, name, noted): (Id, &Bytes, &NameRecord)| {
            let (was, is) = noted.before.zip(noted.after)?;
            let is_other = was != is
                && self.is_dir(was)
                && self.is_dir(is)
                && self.is_new(is)
                && !left.contains(&was);
            is_other.then(|| Some(after.get(&dir)?.join(name)))?
        };
        self.all_names().filter_map(remade).collect()
    }

    /// Returns the changes, ordered by place.
    pub(super) fn changes(&self, roots: &[Id]) -> Vec<(RootedPath, Change)> {
        let before = self.places(roots, |noted| noted.before);
        let after = self.places(roots, |noted| noted.after);
        let (still, remade) = (self.remaining_objects(), self.remade(&after));
        let mut sources = HashMap::new();
        for (dir, name, noted) in self.all_names() {
            if let (Some(id), Some(dir)) = (noted.before, before.get(&dir))
                && noted.after != Some(id)
            {
                sources.insert(id, dir.join(name));
            }
        }
        let (mut changes, mut dirs) = (BTreeMap::new(), BTreeSet::new());
        for (dir, name, noted) in self
            .all_names()
            .filter(|(.., noted)| self.is_changed(noted))
        {
            let change = match (noted.before, noted.after) {
                (None, None) => continue,
                (Some(id), None) if still.contains(&id) => continue,
                (Some(_), None) => Change::Deleted,
                (Some(before), Some(after)) if before == after => {
                    let edited = self
                        .olds
                        .get(&before)
                        .and_then(|old| old.after)
                        .is_some_and(|after| after.content);
                    if edited {
                        Change::Edited
                    } else {
                        Change::Metadata
                    }
                }
                (before, Some(after)) => match sources.get(&after) {
                    Some(from) => Change::Renamed { from: from.clone() },
                    // The old directory was moved away, so this one is new, not edited.
                    None if before.is_some_and(|id| !still.contains(&id) || !self.is_dir(id)) => {
                        Change::Edited
                    }
                    None => Change::Created,
                },
            };
            let dir = if change == Change::Deleted {
                before.get(&dir)
            } else {
                after.get(&dir).or(before.get(&dir))
            };
            let Some(place) = dir.map(|dir| dir.join(name)) else {
                continue;
            };
            if change == Change::Deleted && noted.before.is_some_and(|id| self.is_dir(id)) {
                dirs.insert(place.clone());
            }
            let change = if remade.contains(&place) {
                Change::Metadata
            } else {
                change
            };
            changes.insert(place, change);
        }
        for (id, place) in &self.inside {
            let change = match sources.get(id) {
                Some(from) if from == place => continue,
                Some(from) => Change::Renamed { from: from.clone() },
                None if !self.is_new(*id)
                    || !remade.iter().any(|above| place.is_at_or_below(above)) =>
                {
                    continue;
                }
                None if dirs.contains(place) && self.is_dir(*id) => Change::Metadata,
                None if changes.contains_key(place) => Change::Edited,
                None => Change::Created,
            };
            changes.insert(place.clone(), change);
        }
        changes.into_iter().collect()
    }

    /// Joins this entry with a newer one: the state before this one, and the state after that.
    /// `is_same` compares versions of an object.
    pub(super) fn join(
        mut self,
        newer: Self,
        roots: &[Id],
        is_same: impl Fn(&Stat, &Stat) -> bool,
    ) -> Self {
        let start = self.start;
        let olds: BTreeSet<Id> = self.olds.keys().copied().collect();
        let is_new = |id: Id| id.born() > start && !olds.contains(&id);
        // At its end this entry saw objects that the newer one had made meanwhile.
        let overlaps = self.end.is_some_and(|end| end.time > newer.start);
        let left: BTreeSet<Id> = newer
            .all_names()
            .filter_map(|(.., noted)| noted.after)
            .collect();
        // A directory has only one place.
        let is_dir = |id: &Id| self.olds.get(id).is_some_and(|old| old.stat.is_dir());
        let gone = newer
            .all_names()
            .filter(|(.., noted)| noted.before != noted.after);
        let gone: BTreeSet<Id> = gone
            .filter_map(|(.., noted)| noted.before)
            .filter(|id| is_new(*id))
            .collect();
        self.inside.retain(|id, _| {
            !gone.contains(id) && (!is_dir(id) || !newer.olds.contains_key(id) || left.contains(id))
        });
        // Names in new directories are not recorded; old objects there are listed in `inside`.
        let after = newer.places(roots, |noted| noted.after);
        for (dir, name, noted) in newer.all_names().filter(|(dir, ..)| is_new(*dir)) {
            if let (Some(id), Some(dir)) = (noted.after.filter(|id| !is_new(*id)), after.get(&dir))
            {
                self.inside.insert(id, dir.join(name));
            }
        }
        for (dir, names) in newer.names.into_iter().filter(|(dir, _)| !is_new(*dir)) {
            let own = self.names.entry(dir).or_default();
            for (name, noted) in names {
                match own.get_mut(&name) {
                    None => {
                        // This entry did not touch the name, so a new object there was made between
                        // the two.
                        self.between.extend(noted.before.filter(|id| is_new(*id)));
                        own.insert(name, noted);
                    }
                    // The newer entry began later, but changed this name first.
                    Some(known)
                        if overlaps
                            && known.after != noted.before
                            && known.before == noted.after =>
                    {
                        known.before = noted.before;
                    }
                    Some(known) => {
                        if known.after != noted.before && !(overlaps && known.after == noted.after)
                        {
                            self.between
                                .extend(known.after.into_iter().chain(noted.before));
                        }
                        known.after = noted.after;
                    }
                }
            }
        }
        let spans = [(start, self.end), (newer.start, newer.end)].map(|(start, end)| {
            let end = end.map_or(i64::MAX, |end| end.time);
            move |stat: &Stat| (start..=end).contains(&stat.ctime)
        });
        for (id, old) in newer.olds {
            // If only one of the two wrote the content, it made the versions in its time span.
            let is_written = |own: &OldObject, [by_own, by_newer]: [&Stat; 2]| {
                let wrote = [own, &old].map(|old| old.after.is_some_and(|after| after.content));
                overlaps
                    && match wrote {
                        [true, false] => spans[0](by_own),
                        [false, true] => spans[1](by_newer),
                        _ => false,
                    }
            };
            let was_first = |own: &OldObject| {
                let leads =
                    |after: StateAfter| own.stat.is_dir() || is_same(&after.stat, &own.stat);
                overlaps
                    && old.stat.ctime < own.stat.ctime
                    && (old.after.is_some_and(leads) || is_written(own, [&old.stat, &own.stat]))
            };
            if let Some(own) = self.olds.get_mut(&id).filter(|own| was_first(own)) {
                let later = std::mem::replace(own, old);
                own.join(later);
                continue;
            }
            let known = self
                .olds
                .get(&id)
                .and_then(|own| own.after)
                .map(|after| after.stat);
            let is_seen =
                |left: &Stat| overlaps && old.after.is_some_and(|after| is_same(left, &after.stat));
            let is_own = |left: &Stat| {
                let own = self.olds.get(&id);
                own.is_some_and(|own| is_written(own, [&old.stat, left]))
            };
            let is_between = |left: Stat| {
                !left.is_dir() && !is_same(&left, &old.stat) && !is_seen(&left) && !is_own(&left)
            };
            if known
                .or(self.news.get(&id).copied())
                .is_some_and(is_between)
            {
                self.between.insert(id);
            }
            match self.olds.get_mut(&id) {
                None if is_new(id) => self.news.extend(old.after.map(|after| (id, after.stat))),
                None => drop(self.olds.insert(id, old)),
                Some(own) => own.join(old),
            }
        }
        self.news.extend(newer.news);
        self.inside.extend(newer.inside);
        self.is_deep |= newer.is_deep;
        self.files = self.files.max(newer.files);
        self.spans.extend(newer.spans);
        self.between.extend(newer.between);
        self.end = newer.end;
        self
    }

    /// Returns the entry with the original identities of recreated objects.
    pub(super) fn with_ids(self, first: impl Fn(Id) -> Id) -> Self {
        let noted = |noted: NameRecord| NameRecord {
            before: noted.before.map(&first),
            after: noted.after.map(&first),
        };
        let stat = |stat: Stat| Stat {
            id: first(stat.id),
            ..stat
        };
        let names = self.names.into_iter().map(|(dir, names)| {
            (
                first(dir),
                names
                    .into_iter()
                    .map(|(name, known)| (name, noted(known)))
                    .collect(),
            )
        });
        let olds = self.olds.into_iter().map(|(id, old)| {
            let after = old.after.map(|after| StateAfter {
                stat: stat(after.stat),
                ..after
            });
            (
                first(id),
                OldObject {
                    stat: stat(old.stat),
                    after,
                    ..old
                },
            )
        });
        Self {
            names: names.collect(),
            olds: olds.collect(),
            news: self
                .news
                .into_iter()
                .map(|(id, left)| (first(id), stat(left)))
                .collect(),
            inside: self
                .inside
                .into_iter()
                .map(|(id, place)| (first(id), place))
                .collect(),
            between: self.between.into_iter().map(&first).collect(),
            ..self
        }
    }
}

impl OldObject {
    fn join(&mut self, newer: Self) {
        // If the older entry only saw the file grow, the newer one's copy begins with the same
        // bytes.
        if matches!(self.content, Content::Same | Content::Grew) && newer.content != Content::Same {
            (self.content, self.copied_by) = (newer.content, newer.copied_by);
        }
        self.kept.extend(newer.kept);
        self.attributes = self.attributes.take().or(newer.attributes);
        self.after = match (self.after, newer.after) {
            (Some(first), Some(last)) => Some(StateAfter {
                // Of two calls at the same time, the older one may have ended last.
                stat: if first.stat.ctime > last.stat.ctime {
                    first.stat
                } else {
                    last.stat
                },
                content: first.content || last.content,
                metadata: first.metadata || last.metadata,
            }),
            (first, last) => last.or(first),
        };
    }
}
