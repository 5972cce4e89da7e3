//! Undo of entries: options, conflicts and result. An undo is an entry of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::sync::Arc;

use replay_base::limits::JOURNAL_DEPTH;
use rustix::fs::{AtFlags, unlinkat};

use super::bytes::Bytes;
use super::conflict::{Check, Conflict, Part, select};
use super::entry::{Change, Entry, RootedPath, StoredFile};
use super::equivalences::{Equivalences, SelectedNames};
use super::error::JournalError;
use super::keeping::Keeping;
use super::log::{EntryKind, Event};
use super::memory::Memory;
use super::object::{self, Id, Stat};
use super::origin::Origins;
use super::restore::Restoration;
use super::scan::{Survey, SurveyGoal};
use super::store::Store;
use super::units::{KnownStates, Places, Search, Units};

/// Options of an undo.
#[derive(Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is set by itself, and named where it is set"
)]
pub struct Options<'a> {
    /// Only changes at or below these places, before or after; everything, if empty.
    pub paths: &'a [RootedPath],
    /// Exceptions: places whose content is left alone.
    pub except: &'a [RootedPath],
    /// Only reports the changes, without making them.
    pub dry_run: bool,
    /// Ignores conflicts. Objects of others are moved into the entry of the undo. For people only.
    pub force: bool,
    /// Skips the changer: the operator freezes these paths (--freeze-autorun).
    pub freezes: bool,
    /// Undoes single files of units. Set for undos by the server itself.
    pub splits_units: bool,
    /// Further places that must not be named.
    pub hides: Option<&'a dyn Fn(&RootedPath) -> bool>,
    /// Polled during the undo; if it returns false, the undo is rolled back.
    pub wanted: Option<&'a dyn Fn() -> bool>,
    /// Policy for the memory of entries.
    pub memory: Memory,
}

/// Result of an undo.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Changes that were undone, or would be.
    pub undone: Vec<(RootedPath, Change)>,
    /// Conflicts. If there are any, nothing was undone, unless forced.
    pub conflicts: Vec<Conflict>,
    /// Number of the undo's entry, if there is one.
    pub number: Option<u64>,
    /// Files and new directories beside the undone ones that others changed or made since. They
    /// stay.
    pub others: Vec<RootedPath>,
    /// Repositories that keep objects made by the calls, until `git gc` removes them.
    pub objects: Vec<RootedPath>,
}

/// Undo of some entries, under the lock of the store.
#[derive(Clone, Copy)]
pub(super) struct UndoRequest<'a> {
    pub(super) lock: &'a File,
    pub(super) numbers: &'a [u64],
    pub(super) title: &'a str,
    pub(super) options: Options<'a>,
    /// `true` if a failed undo is rolled back. A rollback itself is never cancelled.
    pub(super) takes_back: bool,
}

impl UndoRequest<'_> {
    fn goes_on(&self) -> bool {
        self.options.wanted.is_none_or(|wanted| wanted()) || !self.takes_back
    }
}

/// Checked undo, ready to be carried out.
struct UndoPlan<'a> {
    kind: EntryKind,
    entry: &'a Entry,
    survey: &'a Survey,
    /// Places of directories at the start of the entry.
    before: &'a HashMap<Id, RootedPath>,
    selected: &'a SelectedNames,
    /// Links saved by later entries, and copies saved by later undos.
    later: HashMap<Id, Vec<StoredFile>>,
    same: Equivalences,
}

/// Errors of an undo that has begun.
struct UndoEnd {
    /// Error of a step.
    failed: Option<JournalError>,
    /// Error of the end of its entry.
    ended: Option<JournalError>,
}

impl Store {
    /// Undoes these entries as one, under the title of the requesting call.
    pub fn undo(
        &self,
        numbers: &[u64],
        title: &str,
        options: Options<'_>,
    ) -> Result<Outcome, JournalError> {
        // Reserved before the lock is taken, so that no other process waits for this memory.
        let _working = self.memory_of_undo(numbers, options.memory)?;
        self.undo_locked(UndoRequest {
            lock: &self.lock()?,
            numbers,
            title,
            options,
            takes_back: true,
        })
    }

    /// Undoes the entries under the lock.
    pub(super) fn undo_locked(&self, request: UndoRequest<'_>) -> Result<Outcome, JournalError> {
        let UndoRequest {
            numbers, options, ..
        } = request;
        let goes_on = || request.goes_on();
        let ended = self.ended_entries(numbers)?;
        let Some(oldest) = ended.keys().next().copied() else {
            return Ok(Outcome::default());
        };
        let later = self.later(oldest, Memory::Counted, &goes_on)?;
        let mut same = Equivalences::of(&later);
        let entries = with_first_ids(ended, &same);
        let Some(mut entry) = self.joined(&entries, &same) else {
            return Err(JournalError::Running { number: oldest });
        };
        let paths = self.expose(&mut entry, options.paths, options.except, &|id| {
            same.first(id)
        })?;
        let survey = self.survey(&entry, &mut same, &goes_on)?;

        let first = |id: Id| same.first(id);
        let firsts = first_changes(&entries);
        let before = entry.places(&self.root_ids, |noted| noted.before);
        let after = entry.places(&self.root_ids, |noted| noted.after);
        let places = Places {
            survey: &survey,
            before: &before,
            after: &after,
        };
        let units = Units::of(&entry, places, &firsts, options.splits_units);
        let [selected, cut] = select(&entry, places, &units, &paths, options.except);
        let dirs = selected
            .iter()
            .flat_map(|(dir, _)| before.get(dir).into_iter().chain(after.get(dir)));
        self.check_depth(dirs)?;

        let undone_numbers = self.undone()?;
        let others: Vec<Entry> = other_entries(&later, numbers, oldest, &undone_numbers)
            .into_iter()
            .map(|entry| entry.clone().with_ids(first))
            .collect();
        let later_kept = stored_by_later(&later, first);
        let kept = self.stored_objects(&entry, &survey, &later_kept, &same, &goes_on)?;
        let movers = self.movers(&entry, numbers, &missing_after(&entry, &survey, &selected))?;
        let check = Check {
            movers: &movers,
            staying: &survey.staying_dirs(&selected),
            moving: &survey.moving_places(&entry, &selected),
            entry: &entry,
            survey: &survey,
            kept: &kept,
            same: &same,
            selected: &selected,
            before: &before,
            after: &after,
            others: &others,
            firsts: &firsts,
            units: &units,
            parts: &self.parts(&entries),
        };
        let custody = KnownStates::of(entries.iter().chain(later.iter().map(Arc::as_ref)), &same);
        let search = Search {
            units: &units,
            roots: &self.roots,
            entry: &entry,
            same: &same,
            custody: &custody,
            wanted: &goes_on,
            root_ids: &self.root_ids,
        };
        let is_back = |(dir, name): &(Id, Bytes)| check.is_back(*dir, name);
        let obstacles = search.obstacles(&selected, &cut, &others, &is_back)?;
        let hides = |place: &RootedPath| options.hides.is_some_and(|hides| hides(place));
        let conflicts = check.conflicts(obstacles, &hides);

        let left: SelectedNames = selected
            .iter()
            .filter(|key| !is_back(key))
            .cloned()
            .collect();
        let outcome = Outcome {
            undone: self.selected_changes(&entry, &left),
            conflicts,
            number: None,
            others: others_since(&entry, &survey, &left, &custody, &hides),
            objects: units
                .objects()
                .filter(|place| !hides(place))
                .cloned()
                .collect(),
        };
        let can_be_forced =
            options.force && !selected.iter().any(|(dir, _)| check.has_no_directory(*dir));
        if options.dry_run || !outcome.conflicts.is_empty() && !can_be_forced {
            return Ok(outcome);
        }
        // The last part completes an undo of the whole.
        let [all, _] = select(&entry, places, &units, &[], &[]);
        let is_whole = all.iter().all(|key| selected.contains(key) || is_back(key));
        let kind = if is_whole {
            EntryKind::Undo
        } else {
            EntryKind::PartialUndo
        };
        let number = self.restore(
            request,
            UndoPlan {
                kind,
                entry: &entry,
                survey: &survey,
                before: &before,
                selected: &selected,
                later: later_kept,
                same,
            },
        )?;
        Ok(Outcome {
            number: Some(number),
            ..outcome
        })
    }

    /// Joins the entries, oldest first, to one. Returns `None` without entries.
    fn joined(&self, entries: &[Entry], same: &Equivalences) -> Option<Entry> {
        entries.iter().cloned().reduce(|older, newer| {
            older.join(newer, &self.root_ids, |one, other| same.is(one, other))
        })
    }

    /// Returns the parts of an undo of several entries; none for a single entry.
    fn parts(&self, entries: &[Entry]) -> Vec<Part> {
        let several = entries.iter().filter(|_| entries.len() > 1);
        several
            .map(|entry| Part::of(entry, &self.root_ids))
            .collect()
    }

    /// Restores the selected names, recorded as an entry of its own. Returns the entry's number.
    fn restore(&self, request: UndoRequest<'_>, plan: UndoPlan<'_>) -> Result<u64, JournalError> {
        let UndoRequest {
            lock,
            numbers,
            title,
            options,
            takes_back,
        } = request;
        let UndoPlan {
            kind,
            entry,
            survey,
            selected,
            ..
        } = plan;
        let goes_on = || request.goes_on();
        let origins = match &self.guard {
            Some(_) => self.origins(numbers)?,
            None => Origins::default(),
        };
        let not_begun = |error: JournalError| JournalError::NotBegun {
            source: error.into(),
        };
        self.note_undoing()
            .map_err(JournalError::io(format!(
                "{}: marking it",
                self.display_path().display()
            )))
            .map_err(not_begun)?;
        let begun = self.begin_as(lock, title, numbers.to_vec(), kind);
        let mut recorder = begun.map_err(not_begun)?;
        // Nothing is removed without being saved.
        recorder.keeping = Keeping {
            most_bytes: u64::MAX,
            ..Keeping::default()
        };
        recorder.copied_bytes = None;
        let number = recorder.number();

        let mut restoration = Restoration {
            store: self,
            goes_on: &goes_on,
            changer: self.changer.as_deref().filter(|_| !options.freezes),
            // A rollback puts back what was there before the undo.
            guard: self.guard.as_deref().filter(|_| takes_back),
            origins,
            before: plan.before,
            wanted: missing_objects(entry, survey, selected),
            later: plan.later,
            entry,
            survey,
            selected,
            all: kind == EntryKind::Undo,
            recorder,
            same: plan.same,
            is_leaving: false,
            away: HashMap::new(),
            staged: HashMap::new(),
            stage: None,
            placed: HashMap::new(),
            back: HashSet::new(),
            remade: HashMap::new(),
            versions: HashMap::new(),
        };
        let done = restoration.run();
        let Restoration {
            recorder,
            same,
            back,
            remade,
            versions,
            ..
        } = restoration;
        let failed = done.and_then(|()| self.remove_links(entry, &back)).err();

        let to_the_end = || {
            goes_on();
            true
        };
        let ended = self.end_as(
            recorder,
            failed.is_some(),
            &to_the_end,
            |undo| match failed {
                None => events_of_same(entry, selected, undo, &same, remade, versions),
                Some(_) => Vec::new(),
            },
        );
        let ended = UndoEnd {
            failed,
            ended: ended.err(),
        };
        self.conclude(request, number, ended)?;
        self.note_undone();
        Ok(number)
    }

    /// Returns the entries of ended calls, by number.
    fn ended_entries(&self, numbers: &[u64]) -> Result<BTreeMap<u64, Entry>, JournalError> {
        let mut entries = BTreeMap::new();
        for number in numbers {
            let entry = Arc::unwrap_or_clone(self.entry_with(*number, Memory::Counted)?);
            if !entry.has_ended() {
                return Err(if self.is_at_work(*number)? {
                    JournalError::Running { number: *number }
                } else {
                    JournalError::Interrupted { number: *number }
                });
            }
            entries.insert(*number, entry);
        }
        Ok(entries)
    }

    /// Rolls a failed undo back. Returns an error that tells the state of the files.
    fn conclude(
        &self,
        request: UndoRequest<'_>,
        number: u64,
        UndoEnd { failed, ended }: UndoEnd,
    ) -> Result<(), JournalError> {
        let error = match (failed, ended) {
            (None, None) => return Ok(()),
            (None, Some(error)) => {
                return Err(JournalError::Unrecorded {
                    source: error.into(),
                });
            }
            (Some(error), Some(back)) => {
                return Err(JournalError::HalfDone {
                    source: error.into(),
                    back: back.into(),
                });
            }
            (Some(error), None) if !request.takes_back => return Err(error),
            (Some(error), None) => error,
        };
        let options = Options {
            force: true,
            splits_units: true,
            wanted: request.options.wanted,
            freezes: request.options.freezes,
            ..Options::default()
        };
        let back = self.undo_locked(UndoRequest {
            numbers: &[number],
            options,
            takes_back: false,
            ..request
        });
        Err(match (back, error) {
            (Ok(_), error @ JournalError::Io { .. }) => JournalError::RolledBack {
                source: error.into(),
            },
            (Ok(_), error) => error,
            (Err(back), error) => JournalError::HalfDone {
                source: error.into(),
                back: back.into(),
            },
        })
    }

    /// Returns the newer entries.
    pub(super) fn later(
        &self,
        oldest: u64,
        memory: Memory,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Arc<Entry>>, JournalError> {
        let mut later = Vec::new();
        for number in self
            .numbers()?
            .into_iter()
            .filter(|number| *number > oldest)
        {
            goes_on().then_some(()).ok_or(JournalError::Unwanted)?;
            later.extend(self.read(number, memory)?);
        }
        Ok(later)
    }

    /// Fails for directories that are too deep for the passes.
    fn check_depth<'p>(
        &self,
        mut dirs: impl Iterator<Item = &'p RootedPath>,
    ) -> Result<(), JournalError> {
        let deep = dirs.find(|place| place.depth() > JOURNAL_DEPTH);
        deep.map_or(Ok(()), |place| {
            Err(JournalError::TooDeep {
                path: self.path(place),
            })
        })
    }

    /// Surveys the current state. A new directory at the place of a removed one stands for it.
    fn survey(
        &self,
        entry: &Entry,
        same: &mut Equivalences,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Survey, JournalError> {
        loop {
            let survey = Survey::of(
                &self.roots,
                entry,
                &|id| same.first(id),
                SurveyGoal::All,
                wanted,
            )?;
            // Each match may reveal further ones.
            let is_gone = |(_, gone): &&(Id, Id)| !survey.dirs.contains_key(gone);
            let Some((there, gone)) = survey.stand_ins.iter().find(is_gone) else {
                return Ok(survey);
            };
            same.add_id(*there, *gone);
        }
    }

    /// Returns the current state of objects of which only a link in the store is known.
    fn stored_objects(
        &self,
        entry: &Entry,
        survey: &Survey,
        later: &HashMap<Id, Vec<StoredFile>>,
        same: &Equivalences,
        wanted: &dyn Fn() -> bool,
    ) -> Result<HashMap<Id, Stat>, JournalError> {
        let mut found = HashMap::new();
        for (id, old) in entry
            .olds
            .iter()
            .filter(|(id, old)| !old.stat.is_dir() && !survey.objects.contains_key(id))
        {
            wanted().then_some(()).ok_or(JournalError::Unwanted)?;
            let links = old.kept.iter().chain(later.get(id).into_iter().flatten());
            for kept in links.filter(|kept| !kept.is_copy) {
                let stat = object::stat(&self.kept, &kept.name());
                let stat = stat.map_err(JournalError::io(format!(
                    "{}: looking at what was kept",
                    self.shown.display()
                )))?;
                found.extend(
                    stat.map(|stat| {
                        (
                            *id,
                            Stat {
                                id: same.first(stat.id),
                                ..stat
                            },
                        )
                    })
                    .filter(|(id, stat)| stat.id == *id),
                );
            }
        }
        Ok(found)
    }

    fn selected_changes(
        &self,
        entry: &Entry,
        selected: &SelectedNames,
    ) -> Vec<(RootedPath, Change)> {
        let mut part = entry.clone();
        for (dir, names) in &mut part.names {
            for (name, noted) in names {
                if entry.is_changed(noted) && !selected.contains(&(*dir, name.clone())) {
                    noted.after = noted.before;
                }
            }
        }
        let undone = restored_objects(entry, selected);
        for (_, old) in part.olds.iter_mut().filter(|(id, _)| !undone.contains(id)) {
            old.after = None;
        }
        part.changes(&self.root_ids)
    }

    /// Removes links to objects that exist in the tree again.
    fn remove_links(&self, entry: &Entry, back: &HashSet<Id>) -> Result<(), JournalError> {
        let olds = back
            .iter()
            .filter_map(|id| entry.olds.get(id))
            .filter(|old| !old.stat.is_dir());
        let kept = olds.flat_map(|old| &old.kept);
        for kept in kept.filter(|kept| !kept.is_copy) {
            let gone = object::there(unlinkat(&self.kept, kept.name(), AtFlags::empty()));
            gone.map_err(JournalError::io(format!(
                "{}: letting go of a link",
                self.shown.display()
            )))?;
        }
        Ok(())
    }
}

/// Returns the links saved by later entries, and the copies saved by undos. Copies of other entries
/// hold other versions.
fn stored_by_later(later: &[Arc<Entry>], first: impl Fn(Id) -> Id) -> HashMap<Id, Vec<StoredFile>> {
    let mut by_object: HashMap<Id, Vec<StoredFile>> = HashMap::new();
    for entry in later {
        for old in entry.olds.values().filter(|old| !old.kept.is_empty()) {
            let kept = old
                .kept
                .iter()
                .filter(|kept| !kept.is_copy || !entry.undoes.is_empty());
            by_object
                .entry(first(old.stat.id))
                .or_default()
                .extend(kept);
        }
    }
    by_object
}

/// Returns events that declare restored objects equal to their old versions, so that older entries
/// can be undone, too.
fn events_of_same(
    entry: &Entry,
    selected: &SelectedNames,
    undo: &Entry,
    same: &Equivalences,
    remade: HashMap<Id, Id>,
    versions: HashMap<Id, Stat>,
) -> Vec<Event> {
    let undone = restored_objects(entry, selected);
    let mut now = versions;
    now.extend(undo.news.iter().map(|(id, stat)| (same.first(*id), *stat)));
    now.extend(
        undo.olds
            .iter()
            .filter_map(|(id, old)| Some((same.first(*id), old.after?.stat))),
    );
    let mut events: Vec<Event> = remade
        .into_iter()
        .map(|(old, new)| Event::Same {
            new: (new, 0),
            old: (old, 0),
        })
        .collect();
    let olds = entry.olds.values().map(|old| {
        let is_content =
            undone.contains(&old.stat.id) || old.after.is_none_or(|after| !after.content);
        // Objects that the undo did not touch are as the entry left them.
        (old.stat, old.after.map(|after| after.stat), is_content)
    });
    let news = entry.news.values().map(|new| (*new, None, true));
    for (was, left, is_content) in olds.chain(news).filter(|(was, ..)| !was.is_dir()) {
        let now = now
            .get(&was.id)
            .copied()
            .or(left)
            .map(|stat| Stat { id: was.id, ..stat });
        let now =
            now.filter(|now| is_content && now.plain() == was.plain() && now.ctime != was.ctime);
        events.extend(now.map(|now| Event::Same {
            new: (was.id, now.ctime),
            old: (was.id, was.ctime),
        }));
    }
    events
}

/// Returns the entries, oldest first, with the first known identity of each object. The oldest has
/// no earlier one.
fn with_first_ids(entries: BTreeMap<u64, Entry>, same: &Equivalences) -> Vec<Entry> {
    let mut entries = entries.into_values();
    let oldest = entries.next();
    oldest
        .into_iter()
        .chain(entries.map(|entry| entry.with_ids(|id| same.first(id))))
        .collect()
}

/// Returns the first of these entries that changed each name: its number and start.
fn first_changes(entries: &[Entry]) -> HashMap<(Id, Bytes), (u64, i64)> {
    let mut firsts = HashMap::new();
    for entry in entries {
        for (dir, name, _) in entry
            .all_names()
            .filter(|(.., noted)| entry.is_changed(noted))
        {
            firsts
                .entry((dir, name.clone()))
                .or_insert((entry.number, entry.start));
        }
    }
    firsts
}

/// Returns the objects that had selected names and do not have them now.
fn missing_objects(entry: &Entry, survey: &Survey, selected: &SelectedNames) -> HashSet<Id> {
    let wanted = selected.iter().filter_map(|(dir, name)| {
        let now = survey.names.get(&(*dir, name.clone())).copied().flatten();
        entry.names[dir][name]
            .before
            .filter(|before| now.is_none_or(|now| now.id != *before))
    });
    wanted.collect()
}

/// Returns the objects that the entry left in the tree, and the directories of selected names, that
/// are not there now.
fn missing_after(entry: &Entry, survey: &Survey, selected: &SelectedNames) -> BTreeSet<Id> {
    let dirs = selected.iter().map(|(dir, _)| *dir);
    let dirs = dirs.filter(|dir| !survey.dirs.contains_key(dir));
    let objects = selected
        .iter()
        .filter_map(|(dir, name)| entry.names[dir][name].after);
    let objects = objects.filter(|id| !survey.objects.contains_key(id));
    dirs.chain(objects).collect()
}

/// Returns files that others changed or made since, in the directories of the undone ones.
fn others_since(
    entry: &Entry,
    survey: &Survey,
    left: &SelectedNames,
    custody: &KnownStates<'_>,
    hides: &dyn Fn(&RootedPath) -> bool,
) -> Vec<RootedPath> {
    // Of a directory that the entry made, it has no records.
    let dirs = left
        .iter()
        .map(|(dir, _)| *dir)
        .filter(|dir| !entry.is_new(*dir));
    let dirs: BTreeSet<Id> = dirs.collect();
    let beside = dirs
        .iter()
        .filter_map(|dir| Some((survey.dirs.get(dir)?, survey.beside.get(dir)?)));
    let others = beside.flat_map(|(dir, beside)| {
        let is_others = |(_, stat): &(&Bytes, &Stat)| {
            let is_told =
                stat.is_file() || stat.is_link() || stat.is_dir() && stat.id.born() > entry.start;
            is_told && custody.is_others(stat, entry.start)
        };
        beside
            .iter()
            .filter(is_others)
            .map(|(name, _)| dir.join(name))
    });
    others.filter(|place| !hides(place)).collect()
}

/// Returns the objects that had the selected names.
fn restored_objects(entry: &Entry, selected: &SelectedNames) -> HashSet<Id> {
    selected
        .iter()
        .filter_map(|(dir, name)| entry.names[dir][name].before)
        .collect()
}

/// Returns entries that are later than the oldest undone one, are not undone with it, and are still
/// in effect.
fn other_entries<'e>(
    later: &'e [Arc<Entry>],
    numbers: &[u64],
    oldest: u64,
    gone: &HashSet<u64>,
) -> Vec<&'e Entry> {
    let stands = |entry: &&Entry| {
        let is_of_these =
            !entry.undoes.is_empty() && entry.undoes.iter().all(|number| *number >= oldest);
        entry.has_ended()
            && !numbers.contains(&entry.number)
            && !gone.contains(&entry.number)
            && !is_of_these
    };
    later.iter().map(Arc::as_ref).filter(stands).collect()
}
