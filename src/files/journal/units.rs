//! Units: groups of files that are consistent only together. An undo reverts a unit as a whole or
//! not at all.
//!
//! A unit is recognised by the current or recorded names in a directory: a git repository, a
//! database, or an `SQLite` database with its logs. If somebody else changed a member since the
//! call, even one that the call never touched, the unit is a conflict. Nothing below `objects` of a
//! git repository is removed: later commits may need it, and `git gc` removes unreferenced objects.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use replay_base::limits::JOURNAL_DEPTH;
use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::{Entry, RootedPath};
use super::equivalences::{Equivalences, SelectedNames};
use super::error::{JournalError, UNWANTED};
use super::object::{self, Id, Stat, open_dir};
use super::root::Root;
use super::scan::Survey;
use super::unit_kind::{SQLITE_LOGS, UnitKind, noted_names, sqlite_base};

/// Maximum number of members named in a conflict.
const NAMED_MEMBERS: usize = 3;

type Key = (Id, Bytes);

#[derive(Debug)]
struct Unit {
    kind: UnitKind,
    /// The directory, or the main file of an `SQLite` database.
    place: RootedPath,
    /// The directory, or the one that contains the files of an `SQLite` database.
    dir: Id,
    /// Changed names; they are selected together.
    keys: BTreeSet<Key>,
    /// Number and start of the first undone entry that changed it.
    first: (u64, i64),
}

#[derive(Debug, Default)]
pub(super) struct Units {
    all: Vec<Unit>,
    of: HashMap<Key, usize>,
    /// Names below the objects of a git repository, which stay.
    stays: HashSet<Key>,
    /// Repositories with such names.
    objects: BTreeSet<RootedPath>,
    /// Directories below objects that an undo would remove.
    blocked: BTreeSet<Key>,
}

/// Current or former places of directories.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) survey: &'a Survey,
    pub(super) before: &'a HashMap<Id, RootedPath>,
    pub(super) after: &'a HashMap<Id, RootedPath>,
}

impl<'a> Places<'a> {
    pub(super) fn of(&self, dir: Id) -> Option<&'a RootedPath> {
        self.survey
            .dirs
            .get(&dir)
            .or_else(|| self.after.get(&dir))
            .or_else(|| self.before.get(&dir))
    }
}

impl RootedPath {
    /// Returns the last component; empty for a root.
    pub(super) fn name(&self) -> &[u8] {
        let path = &self.path.0;
        path.iter()
            .rposition(|byte| *byte == b'/')
            .map_or(&path[..], |at| &path[at + 1..])
    }

    /// Returns the path relative to a directory; empty if it does not lie below it.
    pub(super) fn below(&self, dir: &Self) -> &[u8] {
        if self == dir || !self.is_at_or_below(dir) {
            return &[];
        }
        let rest = &self.path.0[dir.path.0.len()..];
        rest.strip_prefix(b"/").unwrap_or(rest)
    }
}

impl Units {
    /// Finds the units. `firsts` are the numbers and starts of the first entries that changed each
    /// name. With `splits`, no unit is kept together, but git objects still stay.
    pub(super) fn of(
        entry: &Entry,
        places: Places<'_>,
        firsts: &HashMap<Key, (u64, i64)>,
        splits: bool,
    ) -> Self {
        let mut dirs = BTreeMap::new();
        for (dir, names) in &entry.names {
            let Some(place) = places.of(*dir) else {
                continue;
            };
            let kind = if places.survey.dirs.contains_key(dir) {
                places.survey.kinds.get(dir).copied()
            } else {
                UnitKind::of_dir(place.name(), noted_names(names))
            };
            dirs.extend(kind.map(|kind| (place.clone(), (*dir, kind))));
        }
        let mut units = Self::default();
        let mut numbers: HashMap<RootedPath, usize> = HashMap::new();
        for (dir, name, noted) in entry
            .all_names()
            .filter(|(.., noted)| entry.is_changed(noted))
        {
            let Some(place) = places.of(dir) else {
                continue;
            };
            let key = (dir, name.clone());
            let outer = outermost(&dirs, place);
            let unit = outer.or_else(|| {
                // In a directory that the entry made, the files of a database come together.
                if entry.is_new(dir) {
                    return None;
                }
                let base = sqlite_unit(entry, places.survey, dir, &name.0)?;
                Some((place.join(&Bytes(base.to_vec())), dir, UnitKind::Sqlite))
            });
            let Some((root, unit_dir, kind)) = unit else {
                continue;
            };
            let full = place.join(name);
            if kind == UnitKind::Git && full.below(&root).starts_with(b"objects/") {
                let is_taken_away =
                    |id: Id| entry.olds.get(&id).is_some_and(|old| old.stat.is_dir());
                let now = || places.survey.names.get(&key).copied().flatten();
                match (noted.before, noted.after) {
                    (None, Some(after)) if is_taken_away(after) => {
                        units.blocked.insert(key.clone());
                    }
                    (Some(before), Some(after)) if before != after && is_taken_away(before) => {
                        units.blocked.insert(key.clone());
                    }
                    (None, _) => {
                        units.objects.insert(root);
                        units.stays.insert(key);
                        continue;
                    }
                    (_, None) if now().is_some() => {
                        units.stays.insert(key);
                        continue;
                    }
                    _ => {}
                }
            }
            if splits {
                continue;
            }
            let first = firsts
                .get(&key)
                .copied()
                .unwrap_or((entry.number, entry.start));
            let number = *numbers.entry(root.clone()).or_insert_with(|| {
                units.all.push(Unit {
                    kind,
                    place: root,
                    dir: unit_dir,
                    keys: BTreeSet::new(),
                    first,
                });
                units.all.len() - 1
            });
            units.all[number].first = units.all[number].first.min(first);
            units.all[number].keys.insert(key.clone());
            units.of.insert(key, number);
        }
        units
    }

    pub(super) fn stays(&self, key: &Key) -> bool {
        self.stays.contains(key)
    }

    /// Returns the names that are undone together with this one.
    pub(super) fn together_with(&self, key: &Key) -> impl Iterator<Item = &Key> {
        self.of
            .get(key)
            .into_iter()
            .flat_map(|unit| &self.all[*unit].keys)
    }

    /// Returns the unit's place, which stands for all of its names.
    pub(super) fn place(&self, key: &Key) -> Option<&RootedPath> {
        self.of.get(key).map(|unit| &self.all[*unit].place)
    }

    /// Returns repositories whose new objects stay although the entry is undone.
    pub(super) fn objects(&self) -> impl Iterator<Item = &RootedPath> {
        self.objects.iter()
    }

    fn selected(&self, selected: &SelectedNames) -> impl Iterator<Item = &Unit> {
        self.all
            .iter()
            .filter(|unit| unit.keys.iter().any(|key| selected.contains(key)))
    }
}

/// Returns the unit of a directory: the innermost, or, if that is a database, the outermost
/// database around it. A `PostgreSQL` cluster has a `PG_VERSION` in each of its databases.
fn outermost(
    dirs: &BTreeMap<RootedPath, (Id, UnitKind)>,
    place: &RootedPath,
) -> Option<(RootedPath, Id, UnitKind)> {
    let mut found: Option<(RootedPath, Id, UnitKind)> = None;
    for above in std::iter::successors(Some(place.clone()), RootedPath::parent) {
        let Some((dir, kind)) = dirs.get(&above) else {
            continue;
        };
        if found.as_ref().is_some_and(|(_, _, inner)| {
            (*inner, *kind) != (UnitKind::Database, UnitKind::Database)
        }) {
            break;
        }
        found = Some((above, *dir, *kind));
    }
    found
}

/// Returns the name of the `SQLite` database that a file belongs to.
fn sqlite_unit<'n>(entry: &Entry, survey: &Survey, dir: Id, name: &'n [u8]) -> Option<&'n [u8]> {
    let base = sqlite_base(name).unwrap_or(name);
    let noted = entry.names.get(&dir)?;
    let stands = |name: &[u8]| {
        noted
            .get(name)
            .is_some_and(|noted| noted.before.or(noted.after).is_some())
            || survey
                .beside
                .get(&dir)
                .is_some_and(|beside| beside.contains_key(name))
    };
    SQLITE_LOGS
        .iter()
        .any(|suffix| stands(&[base, *suffix].concat()))
        .then_some(base)
}

/// State of an object before and after an entry.
type ObjectTransition = (Option<Stat>, Option<Stat>);

/// States in which entries found and left objects; all other states are changes by others.
pub(super) struct KnownStates<'a> {
    same: &'a Equivalences,
    steps: HashMap<Id, Vec<ObjectTransition>>,
}

impl<'a> KnownStates<'a> {
    pub(super) fn of<'e>(entries: impl Iterator<Item = &'e Entry>, same: &'a Equivalences) -> Self {
        let mut steps: HashMap<Id, Vec<_>> = HashMap::new();
        let first = |stat: Stat| Stat {
            id: same.first(stat.id),
            ..stat
        };
        for entry in entries {
            for old in entry.olds.values() {
                let was = first(old.stat);
                steps
                    .entry(was.id)
                    .or_default()
                    .push((Some(was), old.after.map(|after| first(after.stat))));
            }
            for left in entry.news.values().copied().map(first) {
                steps.entry(left.id).or_default().push((None, Some(left)));
            }
        }
        Self { same, steps }
    }

    /// Returns true if somebody else changed the object after this time, before or after the
    /// entries changed it.
    pub(super) fn is_others(&self, now: &Stat, start: i64) -> bool {
        let steps = self.steps.get(&now.id).map_or(&[][..], Vec::as_slice);
        let is_left = |stat: &Stat| {
            let is_of = |left: &Stat| self.is(left, stat);
            self.time(stat) <= start
                || steps
                    .iter()
                    .any(|(_, left)| left.as_ref().is_some_and(is_of))
        };
        // An unfinished entry may have a link to it.
        let is_held = steps
            .iter()
            .any(|(was, left)| left.is_none() && was.is_some_and(|was| self.is(&was, now)));
        !(is_held || is_left(now))
            || !steps
                .iter()
                .filter_map(|(was, _)| was.as_ref())
                .all(is_left)
    }

    fn time(&self, stat: &Stat) -> i64 {
        if stat.is_dir() {
            stat.mtime
        } else {
            self.same.changed(stat)
        }
    }

    fn is(&self, one: &Stat, other: &Stat) -> bool {
        if one.is_dir() {
            one.mtime == other.mtime
        } else {
            self.same.is(one, other)
        }
    }
}

/// Search for members of units that others changed.
pub(super) struct Search<'a> {
    pub(super) units: &'a Units,
    pub(super) roots: &'a [Root],
    pub(super) entry: &'a Entry,
    pub(super) same: &'a Equivalences,
    pub(super) custody: &'a KnownStates<'a>,
    pub(super) wanted: &'a dyn Fn() -> bool,
    pub(super) root_ids: &'a [Id],
}

impl Search<'_> {
    /// Returns the obstacles of each unit besides the changed names themselves. `cut` are excluded
    /// names, `others` are later calls.
    pub(super) fn obstacles(
        &self,
        selected: &SelectedNames,
        cut: &SelectedNames,
        others: &[Entry],
        is_back: &dyn Fn(&Key) -> bool,
    ) -> Result<Obstacles, JournalError> {
        let mut found = Obstacles::default();
        for unit in self.units.selected(selected) {
            let mut obstacles = Vec::new();
            for (_, name) in unit.keys.iter().filter(|key| cut.contains(key)) {
                obstacles.push(Obstacle {
                    place: None,
                    why: format!(
                        "{} is left out, but all of it can be",
                        name.name().display()
                    ),
                });
            }
            // The content of an SQLite log may have moved into the database.
            if unit.kind == UnitKind::Sqlite || !unit.keys.iter().all(is_back) {
                obstacles.extend(self.later_calls(unit, others));
                let changed = self.changed(unit);
                let changed = changed.map_err(JournalError::io(format!(
                    "{}: looking through it",
                    self.roots[unit.place.root]
                        .shown
                        .join(unit.place.path.path())
                        .display()
                )))?;
                obstacles.extend(changed.into_iter().map(|place| Obstacle {
                    why: format!(
                        "{} was changed by somebody else since",
                        unit.name_of(&place)
                    ),
                    place: Some(place),
                }));
            }
            found.0.insert(unit.place.clone(), obstacles);
        }
        for key in self
            .units
            .blocked
            .iter()
            .filter(|key| selected.contains(*key))
        {
            let Some(unit) = self.units.of.get(key).map(|unit| &self.units.all[*unit]) else {
                continue;
            };
            let why = format!(
                "the directory {} was made or moved below its objects, where nothing is taken away",
                key.1.name().display()
            );
            found
                .0
                .entry(unit.place.clone())
                .or_default()
                .push(Obstacle { place: None, why });
        }
        Ok(found)
    }

    fn later_calls(&self, unit: &Unit, others: &[Entry]) -> Option<Obstacle> {
        others
            .iter()
            .filter(|other| other.number > unit.first.0)
            .find_map(|other| {
                let before = other.places(self.root_ids, |noted| noted.before);
                let after = other.places(self.root_ids, |noted| noted.after);
                let mut changed = other
                    .all_names()
                    .filter(|(.., noted)| other.is_changed(noted));
                let place = changed.find_map(|(dir, name, _)| {
                    let places = [after.get(&dir), before.get(&dir)];
                    places
                        .into_iter()
                        .flatten()
                        .map(|dir| dir.join(name))
                        .find(|place| unit.contains_member(place))
                })?;
                let why = format!(
                    "{} (call {}) changed {} later",
                    other.title,
                    other.number,
                    unit.name_of(&place)
                );
                Some(Obstacle {
                    place: Some(place),
                    why,
                })
            })
    }

    /// Returns the members that somebody else changed.
    fn changed(&self, unit: &Unit) -> Result<Vec<RootedPath>, Errno> {
        let mut found = Vec::new();
        let dir_place = if unit.kind == UnitKind::Sqlite {
            unit.place.parent()
        } else {
            Some(unit.place.clone())
        };
        let Some(place) = dir_place else {
            return Ok(found);
        };
        let Some(dir) = self.open(&place, unit.dir)? else {
            return Ok(found);
        };
        if unit.kind == UnitKind::Sqlite {
            let base = unit.place.name();
            for suffix in [&b""[..]].iter().chain(&SQLITE_LOGS) {
                let name = Bytes([base, *suffix].concat());
                let stat = self.stat(dir.as_fd(), &name)?;
                found.extend(
                    stat.filter(|stat| self.custody.is_others(stat, unit.first.1))
                        .map(|_| place.join(&name)),
                );
            }
            return Ok(found);
        }
        let names = object::names(&dir)?;
        let mut walk = UnitWalk {
            search: self,
            unit,
            found,
        };
        walk.dir(dir.as_fd(), unit.dir, &place, &names, 0)?;
        Ok(walk.found)
    }

    fn stat(&self, dir: BorrowedFd<'_>, name: &Bytes) -> Result<Option<Stat>, Errno> {
        (self.wanted)().then_some(()).ok_or(UNWANTED)?;
        Ok(object::stat(dir, name.name())?.map(|stat| Stat {
            id: self.same.first(stat.id),
            ..stat
        }))
    }

    /// Opens the directory at a place; `None` if it is a different one.
    fn open(&self, place: &RootedPath, id: Id) -> Result<Option<OwnedFd>, Errno> {
        let Some(mut dir) = object::handle(&self.roots[place.root].handle, "".as_ref())? else {
            return Ok(None);
        };
        for name in place.path.path() {
            let Some(inner) = open_dir(&dir, name)? else {
                return Ok(None);
            };
            dir = inner;
        }
        Ok((self.same.first(object::stat_of(&dir)?.id) == id).then_some(dir))
    }
}

/// Walk through the directory of a unit.
struct UnitWalk<'a> {
    search: &'a Search<'a>,
    unit: &'a Unit,
    /// Members that somebody else changed.
    found: Vec<RootedPath>,
}

impl UnitWalk<'_> {
    fn dir(
        &mut self,
        dir: BorrowedFd<'_>,
        id: Id,
        place: &RootedPath,
        names: &[OsString],
        depth: usize,
    ) -> Result<(), Errno> {
        let (unit, start) = (self.unit, self.unit.first.1);
        for name in names {
            if depth == 0 && unit.kind == UnitKind::Git && name == "objects" {
                continue;
            }
            let key = (id, Bytes::of(name));
            let Some(stat) = self.search.stat(dir, &key.1)? else {
                continue;
            };
            let member = place.join(&key.1);
            if !stat.is_dir() {
                // Changed names are compared one by one.
                let is_member = (stat.is_file() || stat.is_link()) && !unit.keys.contains(&key);
                if is_member && self.search.custody.is_others(&stat, start) {
                    self.found.push(member);
                }
                continue;
            }
            // Content of a directory that the entry made is compared separately.
            if depth > JOURNAL_DEPTH
                || unit.keys.contains(&key) && self.search.entry.is_new(stat.id)
            {
                continue;
            }
            let Some(inner) = open_dir(dir, name)? else {
                continue;
            };
            let inner_names = object::names(&inner)?;
            let inner_kind = UnitKind::of_dir(
                name.as_bytes(),
                inner_names.iter().map(|name| name.as_bytes()),
            );
            if inner_kind
                .is_some_and(|inner| (unit.kind, inner) != (UnitKind::Database, UnitKind::Database))
            {
                continue;
            }
            let had = self.found.len();
            self.dir(inner.as_fd(), stat.id, &member, &inner_names, depth + 1)?;
            // Read-only git commands briefly create `index.lock` beside `HEAD`.
            let is_locked_by_readers = inner_names.iter().any(|name| name == "HEAD");
            if self.found.len() == had
                && !is_locked_by_readers
                && self.search.custody.is_others(&stat, start)
            {
                self.found.push(member);
            }
        }
        Ok(())
    }
}

impl Unit {
    /// Returns true if the place is a member's.
    fn contains_member(&self, place: &RootedPath) -> bool {
        if self.kind == UnitKind::Sqlite {
            let rest = place.path.0.strip_prefix(self.place.path.0.as_slice());
            let is_part = |rest: &[u8]| rest.is_empty() || SQLITE_LOGS.contains(&rest);
            return place.root == self.place.root && rest.is_some_and(is_part);
        }
        let below = place.below(&self.place);
        !(below.is_empty() || self.kind == UnitKind::Git && below.starts_with(b"objects/"))
    }

    /// Returns the name of a member for messages.
    fn name_of(&self, place: &RootedPath) -> String {
        let name = if self.kind == UnitKind::Sqlite {
            place.name()
        } else {
            place.below(&self.place)
        };
        Bytes(name.to_vec()).name().display().to_string()
    }
}

/// An obstacle to undoing a unit.
#[derive(Debug)]
struct Obstacle {
    /// Place of the member, which may be hidden from the caller.
    place: Option<RootedPath>,
    why: String,
}

/// Obstacles by the place of a unit.
#[derive(Debug, Default)]
pub(super) struct Obstacles(BTreeMap<RootedPath, Vec<Obstacle>>);

impl Obstacles {
    /// Adds an obstacle for one of the unit's names. Returns false if the name belongs to no unit.
    pub(super) fn add(&mut self, units: &Units, key: &Key, place: RootedPath, why: &str) -> bool {
        let Some(unit) = units.of.get(key).map(|unit| &units.all[*unit]) else {
            return false;
        };
        let why = format!("{}: {why}", unit.name_of(&place));
        self.0.entry(unit.place.clone()).or_default().insert(
            0,
            Obstacle {
                place: Some(place),
                why,
            },
        );
        true
    }

    /// Returns a text for each unit with obstacles. Members that `hides` selects are only counted.
    pub(super) fn texts(
        self,
        units: &Units,
        hides: &dyn Fn(&RootedPath) -> bool,
    ) -> Vec<(RootedPath, String)> {
        let kind = |place: &RootedPath| {
            units
                .all
                .iter()
                .find(|unit| unit.place == *place)
                .map_or("unit", |unit| unit.kind.word())
        };
        let text = |(place, obstacles): (RootedPath, Vec<Obstacle>)| {
            let shown = obstacles
                .iter()
                .filter(|obstacle| !obstacle.place.as_ref().is_some_and(hides));
            let shown: Vec<&str> = shown
                .map(|obstacle| obstacle.why.as_str())
                .take(NAMED_MEMBERS)
                .collect();
            let more = match obstacles.len() - shown.len() {
                0 => String::new(),
                more if shown.is_empty() => format!("{more} of its files were changed since"),
                more => format!("; and {more} more"),
            };
            let why = format!(
                "this {} is undone as a whole or not at all: {}{more}",
                kind(&place),
                shown.join("; ")
            );
            (place, why)
        };
        self.0
            .into_iter()
            .filter(|(_, obstacles)| !obstacles.is_empty())
            .map(text)
            .collect()
    }
}
