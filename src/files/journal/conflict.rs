//! Conflicts of an undo: changes by others to what the entry left.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::bytes::Bytes;
use super::entry::{Entry, NameRecord, RootedPath};
use super::equivalences::{Equivalences, SelectedNames};
use super::object::{Id, Stat};
use super::scan::Survey;
use super::units::{Obstacles, Places, Units};

const NOT_KEPT: &str = "not stored: too large, unreadable, no space in the store, moved to a path without undo, or in \
     a directory that can be made again";

const PUT_THERE: &str = "created or changed after the call";

/// A place that differs from the state in which the entry left it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    pub place: RootedPath,
    /// Description of the difference.
    pub why: String,
}

pub(super) struct Check<'a> {
    pub(super) entry: &'a Entry,
    pub(super) survey: &'a Survey,
    /// Current status of recorded objects that exist only in the store.
    pub(super) kept: &'a HashMap<Id, Stat>,
    pub(super) same: &'a Equivalences,
    pub(super) selected: &'a SelectedNames,
    /// Places of directories at the start and at the end of the entry.
    pub(super) before: &'a HashMap<Id, RootedPath>,
    pub(super) after: &'a HashMap<Id, RootedPath>,
    /// Later entries that are not undone with this one.
    pub(super) others: &'a [Entry],
    /// First undone entry that changed a name. Earlier changes by others stay.
    pub(super) firsts: &'a HashMap<(Id, Bytes), (u64, i64)>,
    pub(super) units: &'a Units,
    /// Parts of a combined undo; empty for a single entry.
    pub(super) parts: &'a [Part],
    /// Directories under recorded names that are not undone. They do not get other names.
    pub(super) staying: &'a HashSet<Id>,
    /// Current places of the selected names that lose their object.
    pub(super) moving: &'a HashSet<RootedPath>,
    /// Descriptions of the other entries that moved missing objects, by object.
    pub(super) movers: &'a HashMap<Id, String>,
}

/// One of several entries that are undone together.
#[derive(Debug)]
pub(super) struct Part {
    spans: Vec<(i64, i64)>,
    /// Names that the entry changed.
    names: HashSet<(Id, Bytes)>,
    /// Directories in which it changed names.
    dirs: HashSet<RootedPath>,
}

impl Part {
    pub(super) fn of(entry: &Entry, root_ids: &[Id]) -> Self {
        let changed = entry
            .all_names()
            .filter(|(.., noted)| entry.is_changed(noted));
        let names: HashSet<(Id, Bytes)> =
            changed.map(|(dir, name, _)| (dir, name.clone())).collect();
        let [before, after] = [
            entry.places(root_ids, |noted| noted.before),
            entry.places(root_ids, |noted| noted.after),
        ];
        let places = [before, after].into_iter().flatten();
        let changed: HashSet<Id> = names.iter().map(|(dir, _)| *dir).collect();
        let dirs = places
            .filter(|(id, _)| changed.contains(id))
            .map(|(_, place)| place)
            .collect();
        Self {
            spans: entry.spans.clone(),
            names,
            dirs,
        }
    }
}

impl Check<'_> {
    /// Returns all conflicts. `obstacles` are those of units; `hides` selects places that must not
    /// be named.
    pub(super) fn conflicts(
        &self,
        mut obstacles: Obstacles,
        hides: &dyn Fn(&RootedPath) -> bool,
    ) -> Vec<Conflict> {
        let places = Places {
            survey: self.survey,
            before: self.before,
            after: self.after,
        };
        let mut found = BTreeSet::new();
        // Objects that the entry left somewhere in the tree.
        let left = self.entry.all_names().filter_map(|(.., noted)| noted.after);
        let left: BTreeSet<Id> = left.chain(self.entry.inside.keys().copied()).collect();
        for (dir, name) in self.selected {
            if let Some(why) = self.name(*dir, name, &left)
                && let Some(place) = places.of(*dir).map(|dir| dir.join(name))
                && !obstacles.add(self.units, &(*dir, name.clone()), place.clone(), &why)
            {
                found.insert(Conflict { place, why });
            }
        }
        let back: BTreeSet<Id> = self
            .selected
            .iter()
            .filter_map(|(dir, name)| self.entry.names[dir][name].before)
            .collect();
        let mut spans: HashMap<&(Id, Bytes), Vec<(i64, i64)>> = HashMap::new();
        for (place, stat, below) in &self.survey.inner {
            let spans = spans
                .entry(below)
                .or_insert_with(|| self.spans_below(below, &places));
            let leads = &self.entry.names[&below.0][&below.1];
            let goes = self.selected.contains(below) && leads.before != leads.after;
            let why = PUT_THERE;
            if (goes || back.contains(&stat.id))
                && !self.is_own(stat, spans)
                && !obstacles.add(self.units, below, place.clone(), why)
            {
                found.insert(Conflict {
                    place: place.clone(),
                    why: why.into(),
                });
            }
        }
        found.extend(
            obstacles
                .texts(self.units, hides)
                .into_iter()
                .map(|(place, why)| Conflict { place, why }),
        );
        found.into_iter().collect()
    }

    /// Returns the time spans of entries that may have changed objects below a name. An entry that
    /// overlaps with another one counts only if it changed a recorded name there.
    fn spans_below(&self, below: &(Id, Bytes), places: &Places<'_>) -> Vec<(i64, i64)> {
        let Some(place) = places
            .of(below.0)
            .map(|dir| dir.join(&below.1))
            .filter(|_| !self.parts.is_empty())
        else {
            return self.entry.spans.clone();
        };
        let is_below = |part: &&Part| part.dirs.iter().any(|dir| dir.is_at_or_below(&place));
        let overlap = |one: &(i64, i64), other: &(i64, i64)| one.0 < other.1 && other.0 < one.1;
        let is_beside = |part: &Part| {
            let others = self
                .parts
                .iter()
                .filter(|other| !std::ptr::eq(*other, part))
                .flat_map(|other| &other.spans);
            others
                .into_iter()
                .any(|other| part.spans.iter().any(|own| overlap(own, other)))
        };
        let parts = self.parts.iter();
        let parts =
            parts.filter(|part| !is_beside(part) || part.names.contains(below) || is_below(part));
        parts.flat_map(|part| part.spans.iter().copied()).collect()
    }

    /// Returns true if an object in a new directory is as the entry left it: unchanged, or last
    /// changed within one of these spans.
    fn is_own(&self, stat: &Stat, spans: &[(i64, i64)]) -> bool {
        if let Some(old) = self.entry.olds.get(&stat.id)
            && let Some(after) = old.after
        {
            // It may be partly undone already.
            let is_as_left =
                stat.is_dir() || self.same.is(&after.stat, stat) || self.same.is(&old.stat, stat);
            return self.entry.inside.contains_key(&stat.id) && is_as_left;
        }
        let time = if stat.is_dir() {
            stat.id.born()
        } else {
            self.same.changed(stat)
        };
        spans
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&time))
    }

    /// Returns true if a directory neither exists nor is restored.
    pub(super) fn has_no_directory(&self, dir: Id) -> bool {
        let comes_back = || {
            self.selected
                .iter()
                .any(|(above, name)| self.entry.names[above][name].before == Some(dir))
        };
        !self.survey.dirs.contains_key(&dir) && !comes_back()
    }

    /// Returns true if the original object stands under its name again, unchanged.
    pub(super) fn is_back(&self, dir: Id, name: &Bytes) -> bool {
        let before = self.entry.names[&dir][name].before;
        let now = self
            .survey
            .names
            .get(&(dir, name.clone()))
            .copied()
            .flatten();
        match before.zip(now) {
            None => before.is_none() && now.is_none(),
            Some((before, now)) => {
                let old = self.entry.olds.get(&before);
                before == now.id && old.is_none_or(|old| self.is_as(&old.stat, &now))
            }
        }
    }

    fn is_as(&self, was: &Stat, now: &Stat) -> bool {
        if now.is_dir() {
            was.id == now.id && was.rights() == now.rights()
        } else {
            self.same.is(was, now)
        }
    }

    /// Returns true if a directory lies in another one, and does not leave it.
    fn lies_in(&self, dir: Id, outer: Id) -> bool {
        let Survey { dirs, inside, .. } = self.survey;
        let outer = dirs.get(&outer).or_else(|| inside.get(&outer));
        let (Some(outer), Some(place)) = (outer, dirs.get(&dir)) else {
            return false;
        };
        let mut above = std::iter::successors(Some(place.clone()), RootedPath::parent)
            .take_while(|above| above != outer);
        place.is_at_or_below(outer) && !above.any(|above| self.moving.contains(&above))
    }

    fn name(&self, dir: Id, name: &Bytes, left: &BTreeSet<Id>) -> Option<String> {
        let entry = self.entry;
        let noted = entry.names[&dir][name];
        let old = noted.before.and_then(|id| entry.olds.get(&id));
        if noted.before.is_some_and(|id| entry.is_lost(id)) {
            return Some(NOT_KEPT.into());
        }
        let ids = noted.before.into_iter().chain(noted.after);
        if ids.clone().any(|id| entry.between.contains(&id)) {
            return Some("changed between two of the calls".into());
        }
        let is_kept = noted.before.is_some_and(|id| self.kept.contains_key(&id))
            || old.is_some_and(|old| old.kept.iter().any(|kept| kept.is_copy));
        let is_moved =
            |id: &Id| left.contains(id) && !self.survey.objects.contains_key(id) && !is_kept;
        let is_elsewhere = |id: &Id| is_moved(id) || self.staying.contains(id);
        if noted.before != noted.after && noted.before.as_ref().is_some_and(is_elsewhere) {
            return Some("no longer where the call moved it".into());
        }
        if noted.before.or(noted.after).is_some() && self.has_no_directory(dir) {
            if let Some(mover) = self.movers.get(&dir) {
                return Some(format!("its directory was {mover}"));
            }
            return Some("its directory no longer exists; create it first".into());
        }
        if noted.before != noted.after && noted.before.is_some_and(|id| self.lies_in(dir, id)) {
            return Some("its directory lies now in the one that would come back".into());
        }
        let first = self
            .firsts
            .get(&(dir, name.clone()))
            .map_or(0, |(number, _)| *number);
        for other in self.others.iter().filter(|other| other.number > first) {
            // A later entry may have made its change first. Then this entry found the result of
            // that one.
            let changes = |id: &Id| {
                let is_left = |after: &Stat| {
                    entry
                        .olds
                        .get(id)
                        .is_some_and(|old| self.same.is(after, &old.stat))
                };
                let after = other.olds.get(id).and_then(|old| old.after);
                after
                    .is_some_and(|after| (after.content || after.metadata) && !is_left(&after.stat))
            };
            let was_first = |its: &NameRecord| {
                its.after == noted.before && (its.after.is_some() || its.before != noted.after)
            };
            let its = other.names.get(&dir).and_then(|names| names.get(name));
            let renames = its.is_some_and(|its| its.before != its.after && !was_first(its));
            if renames || ids.clone().any(|id| changes(&id)) {
                return Some(format!(
                    "{} (call {}) changed it later",
                    other.title, other.number
                ));
            }
        }
        let now = self
            .survey
            .names
            .get(&(dir, name.clone()))
            .copied()
            .flatten();
        // The object may have another name now, or lie in the store.
        let lies = noted
            .before
            .and_then(|id| self.survey.objects.get(&id).or(self.kept.get(&id)));
        if let Some((now, old)) = lies.filter(|now| !now.is_dir()).zip(old)
            && let Some(after) = old.after
            && !self.same.is(&after.stat, now)
            && !self.same.is(&old.stat, now)
        {
            return Some("changed after the call".into());
        }
        match (noted.after, now) {
            (None, None) => None,
            // It was undone already.
            (_, Some(now)) if old.is_some_and(|old| self.is_as(&old.stat, &now)) => None,
            (None, Some(_)) => {
                Some("the call deleted it, and another file or directory has its name now".into())
            }
            (Some(_), None) if noted.before.is_none() => None,
            (Some(after), None) => Some(match self.movers.get(&after) {
                Some(mover) => format!("it was {mover}"),
                None => "no longer exists".into(),
            }),
            (Some(after), Some(now)) if after != now.id => {
                Some("another file or directory has its name now".into())
            }
            (Some(after), Some(now)) => {
                let left = entry
                    .olds
                    .get(&after)
                    .and_then(|old| old.after)
                    .map(|after| after.stat);
                let left = left.or_else(|| entry.news.get(&after).copied());
                let Some(left) = left else {
                    // Only names in a directory that the call made have no state.
                    let is_own = !entry.is_new(dir) || self.is_own(&now, &entry.spans);
                    return (!is_own).then(|| PUT_THERE.into());
                };
                let what = if now.is_dir() {
                    "its mode or owner changed after the call"
                } else {
                    "changed after the call"
                };
                (!self.is_as(&left, &now)).then(|| what.into())
            }
        }
    }
}

/// Names that an entry changed, with their records.
type ChangedNames<'a> = BTreeMap<(Id, &'a Bytes), &'a NameRecord>;

/// Returns the moves of directories that lie now in a selected directory that moves away, if
/// another directory has to come back into them. They come out first: else that directory would
/// have to come back into itself.
fn moved_below_leaving<'a>(
    entry: &Entry,
    survey: &Survey,
    changed: &ChangedNames<'a>,
    selected: &BTreeSet<(Id, &'a Bytes)>,
) -> Vec<(Id, &'a Bytes)> {
    let moves = |key: &&(Id, &Bytes)| changed[*key].before != changed[*key].after;
    let place = |(dir, name): &(Id, &Bytes)| Some(survey.dirs.get(dir)?.join(name));
    let is_dir = |id: Id| entry.olds.get(&id).is_some_and(|old| old.stat.is_dir());
    let moving = selected.iter().filter(moves);
    let targets: HashSet<&RootedPath> = moving
        .clone()
        .filter(|key| changed[*key].before.is_some_and(is_dir))
        .filter_map(|(dir, _)| survey.dirs.get(dir))
        .collect();
    if targets.is_empty() {
        return Vec::new();
    }
    let is_inside = |key: &(Id, &Bytes)| survey.inside.get(&changed[key].before?).cloned();
    let inside = moving.clone().filter_map(is_inside);
    let leaving: HashSet<RootedPath> = moving.filter_map(place).chain(inside).collect();
    let mut inner = HashSet::new();
    for target in targets {
        let above = std::iter::successors(Some(target.clone()), RootedPath::parent);
        let above: Vec<RootedPath> = above.collect();
        if let Some(top) = above.iter().rposition(|place| leaving.contains(place)) {
            inner.extend(above.into_iter().take(top));
        }
    }
    let is_inner = |key: &&(Id, &Bytes)| place(key).is_some_and(|place| inner.contains(&place));
    changed
        .keys()
        .filter(moves)
        .filter(is_inner)
        .copied()
        .collect()
}

/// Selects the names to undo for these paths (all, if there are none), without those at or below
/// `except`. Related names are included: both ends of a move, required directories, the content of
/// a new directory that is removed, and units. The second value holds names of units that were
/// included in spite of `except`.
pub(super) fn select(
    entry: &Entry,
    Places {
        survey,
        before,
        after,
    }: Places<'_>,
    units: &Units,
    paths: &[RootedPath],
    except: &[RootedPath],
) -> [SelectedNames; 2] {
    let changed: ChangedNames<'_> = entry
        .all_names()
        .filter(|(dir, name, noted)| {
            entry.is_changed(noted) && !units.stays(&(*dir, (*name).clone()))
        })
        .map(|(dir, name, noted)| ((dir, name), noted))
        .collect();
    // A recreated directory is undone as a whole: its previous content can only return with it.
    let remade = entry.remade(after);
    let whole = |path: &RootedPath| {
        remade
            .iter()
            .find(|above| path.is_at_or_below(above))
            .unwrap_or(path)
            .clone()
    };
    let paths: Vec<RootedPath> = paths.iter().map(whole).collect();
    let is_in = |dir: &Id, name: &Bytes, among: &[RootedPath]| {
        let places = before
            .get(dir)
            .into_iter()
            .chain(after.get(dir))
            .map(|dir| dir.join(name));
        let mut places = places.chain(units.place(&(*dir, name.clone())).cloned());
        places.any(|place| among.iter().any(|path| place.is_at_or_below(path)))
    };
    let is_asked_for = |dir: &Id, name: &Bytes| {
        (paths.is_empty() || is_in(dir, name, &paths)) && !is_in(dir, name, except)
    };
    let mut selected: BTreeSet<(Id, &Bytes)> = changed
        .keys()
        .filter(|(dir, name)| is_asked_for(dir, name))
        .copied()
        .collect();
    loop {
        let had = selected.len();
        let mut wanted: BTreeSet<Id> = BTreeSet::new();
        for key in &selected {
            wanted.extend(changed[key].before.into_iter().chain(changed[key].after));
            if !survey.dirs.contains_key(&key.0) {
                wanted.insert(key.0);
            }
        }
        for (_, stat, (dir, name)) in &survey.inner {
            if selected.contains(&(*dir, name)) {
                wanted.insert(stat.id);
            }
        }
        let belongs = |id: Option<Id>| id.is_some_and(|id| wanted.contains(&id));
        selected.extend(
            changed
                .iter()
                .filter(|(_, noted)| belongs(noted.before) || belongs(noted.after))
                .map(|(key, _)| *key),
        );
        let together: Vec<_> = selected
            .iter()
            .map(|(dir, name)| (*dir, (*name).clone()))
            .collect();
        for (dir, name) in together.iter().flat_map(|key| units.together_with(key)) {
            selected.insert((*dir, name));
        }
        selected.extend(moved_below_leaving(entry, survey, &changed, &selected));
        if selected.len() == had {
            break;
        }
    }
    let selected: SelectedNames = selected
        .into_iter()
        .map(|(dir, name)| (dir, name.clone()))
        .collect();
    let is_cut = |(dir, name): &&(Id, Bytes)| {
        units.place(&(*dir, name.clone())).is_some() && is_in(dir, name, except)
    };
    let cut = selected.iter().filter(is_cut).cloned().collect();
    [selected, cut]
}
