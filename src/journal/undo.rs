//! Puts back what entries have changed, as an entry of its own.
//!
//! Two passes over the tree, both from the roots by the names that were noted, with a handle for each directory on the way. On the way
//! up of the first, what stands where something else stood is taken away into the store. On the way down of the second, what stood there
//! gets its name back; on the way up, contents, metadata and the times of directories follow. Whatever is taken away was renamed into the
//! store, never removed: should somebody else put something there in that moment, it is kept as well.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ftruncate, mkdirat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::conflict::{Check, Conflict, Same, Selected, select};
use super::entry::{Change, Entry, Kept, Old, Place};
use super::error::JournalError;
use super::log::{self, Bytes, Content, Event};
use super::object::{self, Id, Stat, open_dir, stat_of, with_access};
use super::recorder::{At, Recorder, Writing, file_name};
use super::store::Store;
use super::survey::{Look, Survey};
use crate::limits::JOURNAL_DEPTH;

/// How to undo.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Only what is at or below these places, before or after; everything, if there are none.
    pub paths: &'a [Place],
    /// Says what would be done, and does nothing.
    pub dry_run: bool,
    /// In spite of conflicts. What others have made is taken away, and kept in the entry of the undo. For people only.
    pub force: bool,
}

/// What undoing came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What is undone, or would be.
    pub undone: Vec<(Place, Change)>,
    /// If there are any, nothing was done, unless it was forced.
    pub conflicts: Vec<Conflict>,
    /// The entry of the undo, if there is one.
    pub number: Option<u64>,
}

impl Store {
    /// Undoes these entries as one, under the title of the call that asks for it.
    pub fn undo(&self, numbers: &[u64], title: &str, options: Options<'_>) -> Result<Outcome, JournalError> {
        let _lock = self.lock()?;
        self.undo_locked(numbers, title, options, true)
    }

    /// `takes_back`: what fails half-way is undone again.
    pub(super) fn undo_locked(
        &self,
        numbers: &[u64],
        title: &str,
        options: Options<'_>,
        takes_back: bool,
    ) -> Result<Outcome, JournalError> {
        let mut entries = BTreeMap::new();
        for number in numbers {
            let entry = self.entry(*number)?;
            if !entry.has_ended() {
                return Err(JournalError::Running { number: *number });
            }
            entries.insert(*number, entry);
        }
        let Some(oldest) = entries.keys().next().copied() else {
            return Ok(Outcome { undone: Vec::new(), conflicts: Vec::new(), number: None });
        };
        let mut later = Vec::new();
        for number in self.numbers()?.into_iter().filter(|number| *number > oldest) {
            later.extend(self.read(number)?);
        }
        let same = Same::of(later.iter().filter(|entry| !entry.undoes.is_empty()));
        let first = |id: Id| same.first(id);
        let entry =
            entries.into_values().map(|entry| if entry.number == oldest { entry } else { entry.with_ids(first) });
        let entry = entry.reduce(|older, newer| older.join(newer, |one, other| same.is(one, other)));
        let Some(entry) = entry else { return Err(JournalError::Running { number: oldest }) };
        let survey = Survey::of(&self.roots, &entry, &first, Look::All)?;
        let before = entry.places(&self.root_ids, |noted| noted.before);
        let after = entry.places(&self.root_ids, |noted| noted.after);
        let selected = select(&entry, &survey, &before, &after, options.paths);
        let others = others(&later, numbers, oldest);
        let others: Vec<Entry> = others.into_iter().cloned().map(|entry| entry.with_ids(first)).collect();
        let kept = self.kept_now(&entry, &survey, &same)?;
        let check = Check {
            entry: &entry,
            survey: &survey,
            kept: &kept,
            same: &same,
            selected: &selected,
            before: &before,
            after: &after,
            others: &others,
        };
        let conflicts = check.conflicts();
        let undone = self.selected_changes(&entry, &selected);
        if options.dry_run || !conflicts.is_empty() && !options.force {
            return Ok(Outcome { undone, conflicts, number: None });
        }
        let mut recorder = self.begin_as(title, numbers.to_vec(), !options.paths.is_empty())?;
        // Nothing is taken away that is not kept.
        recorder.most_bytes = u64::MAX;
        let number = recorder.number();
        let kept = later.iter().filter(|entry| !entry.undoes.is_empty()).flat_map(|undo| {
            undo.olds.values().flat_map(|old| old.kept.iter().map(|kept| (first(old.stat.id), *kept)))
        });
        let mut later_kept: HashMap<Id, Vec<Kept>> = HashMap::new();
        for (id, kept) in kept {
            later_kept.entry(id).or_default().push(kept);
        }
        let wanted = selected.iter().filter_map(|(dir, name)| {
            let noted = entry.names[dir][name];
            let now = survey.names.get(&(*dir, name.clone())).copied().flatten();
            noted.before.filter(|before| now.is_none_or(|now| now.id != *before))
        });
        let mut undo = Undo {
            store: self,
            wanted: wanted.collect(),
            later: later_kept,
            entry: &entry,
            survey: &survey,
            selected: &selected,
            all: options.paths.is_empty(),
            recorder,
            same,
            is_leaving: false,
            away: HashMap::new(),
            back: HashSet::new(),
            remade: Vec::new(),
        };
        let done = undo.run();
        let Undo { recorder, same, back, remade, .. } = undo;
        let failed = done.and_then(|()| self.let_go(&entry, &back)).err();
        let ended = self.end_as(recorder, failed.is_some())?;
        if let Some(error) = failed {
            if takes_back {
                let options = Options { force: true, ..Options::default() };
                self.undo_locked(&[number], title, options, false)?;
            }
            return Err(error);
        }
        self.note_same(&entry, &selected, &ended, &same, remade)?;
        Ok(Outcome { undone, conflicts, number: Some(number) })
    }

    /// Objects of which only the store's link is known any more, as they are.
    fn kept_now(&self, entry: &Entry, survey: &Survey, same: &Same) -> Result<HashMap<Id, Stat>, JournalError> {
        let mut found = HashMap::new();
        for (id, old) in entry.olds.iter().filter(|(id, old)| !old.stat.is_dir() && !survey.objects.contains_key(id)) {
            for kept in old.kept.iter().filter(|kept| !kept.is_copy) {
                let dir = self.entry_dir(kept.entry)?;
                let stat = object::stat(dir, OsStr::new(&file_name(kept.file)));
                let stat =
                    stat.map_err(JournalError::io(format!("{}: looking at what was kept", self.shown.display())))?;
                found.extend(
                    stat.map(|stat| (*id, Stat { id: same.first(stat.id), ..stat }))
                        .filter(|(id, stat)| stat.id == *id),
                );
            }
        }
        Ok(found)
    }

    fn selected_changes(&self, entry: &Entry, selected: &Selected) -> Vec<(Place, Change)> {
        let mut part = entry.clone();
        for (dir, names) in &mut part.names {
            for (name, noted) in names {
                if entry.is_changed(noted) && !selected.contains(&(*dir, name.clone())) {
                    noted.after = noted.before;
                }
            }
        }
        part.changes(&self.root_ids)
    }

    /// Lets go of links to what is in the tree again.
    fn let_go(&self, entry: &Entry, back: &HashSet<Id>) -> Result<(), JournalError> {
        let olds = back.iter().filter_map(|id| entry.olds.get(id)).filter(|old| !old.stat.is_dir());
        let kept = olds.flat_map(|old| &old.kept);
        for kept in kept.filter(|kept| !kept.is_copy) {
            let gone = object::there(unlinkat(self.entry_dir(kept.entry)?, file_name(kept.file), AtFlags::empty()));
            gone.map_err(JournalError::io(format!("{}: letting go of a link", self.shown.display())))?;
        }
        Ok(())
    }

    /// Notes which objects are again what they were, so that older entries can be undone, too.
    fn note_same(
        &self,
        entry: &Entry,
        selected: &Selected,
        undo: &Entry,
        same: &Same,
        remade: Vec<(Id, Id)>,
    ) -> Result<(), JournalError> {
        let undone: HashSet<Id> = selected.iter().filter_map(|(dir, name)| entry.names[dir][name].before).collect();
        let mut now: HashMap<Id, Stat> = undo.news.iter().map(|(id, stat)| (same.first(*id), *stat)).collect();
        now.extend(undo.olds.iter().filter_map(|(id, old)| Some((same.first(*id), old.after?.stat))));
        let mut events: Vec<Event> =
            remade.into_iter().map(|(new, old)| Event::Same { new: (new, 0), old: (old, 0) }).collect();
        let olds = entry.olds.values().map(|old| {
            let is_content = undone.contains(&old.stat.id) || old.after.is_none_or(|after| !after.content);
            // What undoing did not touch is as the entry left it.
            (old.stat, old.after.map(|after| after.stat), is_content)
        });
        let news = entry.news.values().map(|new| (*new, None, true));
        for (was, left, is_content) in olds.chain(news).filter(|(was, ..)| !was.is_dir()) {
            let now = now.get(&was.id).copied().or(left).map(|stat| Stat { id: was.id, ..stat });
            let now = now.filter(|now| is_content && now.plain() == was.plain() && now.ctime != was.ctime);
            events.extend(now.map(|now| Event::Same { new: (was.id, now.ctime), old: (was.id, was.ctime) }));
        }
        if let Some(mut log) = self.open_log(undo.number)? {
            log::write(&mut log, &events).map_err(|source| JournalError::Io {
                what: format!("{}: ending it", self.log_path(undo.number).display()),
                source,
            })?;
        }
        Ok(())
    }
}

/// Entries later than the oldest that is undone, that are not undone with it, and whose changes still stand.
fn others<'e>(later: &'e [Entry], numbers: &[u64], oldest: u64) -> Vec<&'e Entry> {
    let mut gone = HashSet::new();
    // An undo that was undone does not count.
    for undo in later.iter().rev().filter(|entry| entry.is_whole_undo() && !entry.is_partial) {
        if !gone.contains(&undo.number) {
            gone.extend(undo.undoes.iter().copied());
        }
    }
    let stands = |entry: &&Entry| {
        let is_of_these = !entry.undoes.is_empty() && entry.undoes.iter().all(|number| *number >= oldest);
        entry.has_ended() && !numbers.contains(&entry.number) && !gone.contains(&entry.number) && !is_of_these
    };
    later.iter().filter(stands).collect()
}

struct Undo<'a> {
    store: &'a Store,
    entry: &'a Entry,
    survey: &'a Survey,
    selected: &'a Selected,
    /// Not only a part.
    all: bool,
    recorder: Recorder,
    same: Same,
    /// Whether the way leads through a new directory that is taken away.
    is_leaving: bool,
    /// Objects that stood under a selected name and do not now.
    wanted: HashSet<Id>,
    /// What later undos have kept.
    later: HashMap<Id, Vec<Kept>>,
    /// What was taken away, or linked: the file in the directory of this undo.
    away: HashMap<Id, u32>,
    /// What stands under its name again.
    back: HashSet<Id>,
    /// What was made again, and what it was.
    remade: Vec<(Id, Id)>,
}

/// A directory on the way.
#[derive(Clone, Copy)]
struct Here<'a> {
    dir: BorrowedFd<'a>,
    place: &'a Place,
    depth: usize,
}

impl<'a> Here<'a> {
    fn at(self, name: &'a Bytes) -> At<'a> {
        self.at_name(name.name())
    }

    /// The directory itself.
    fn itself(self) -> At<'a> {
        self.at_name(OsStr::new(""))
    }

    fn at_name(self, name: &'a OsStr) -> At<'a> {
        At { dir: self.dir, name, root: self.place.root, path: Path::new(OsStr::from_bytes(&self.place.path.0)) }
    }
}

impl<'a> Undo<'a> {
    fn run(&mut self) -> Result<(), JournalError> {
        let store = self.store;
        for pass in [Self::take_away, Self::put_back] {
            for (number, root) in store.roots.iter().enumerate() {
                let place = Place { root: number, path: Bytes(Vec::new()) };
                let here = Here { dir: root.handle.as_fd(), place: &place, depth: 0 };
                pass(self, here, store.root_ids[number])?;
            }
        }
        Ok(())
    }

    fn failed(&self, at: At<'_>, what: &str) -> impl FnOnce(Errno) -> JournalError + use<> {
        JournalError::io(format!("{}: {what}", self.recorder.shown(at)))
    }

    /// What stands under a name, by the identity that the entry knows.
    fn stat(&self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        let found = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        Ok(found.map(|stat| Stat { id: self.same.first(stat.id), ..stat }))
    }

    fn open(&self, at: At<'_>, id: Id) -> Result<Option<OwnedFd>, JournalError> {
        let failed = || self.failed(at, "opening it");
        let Some(dir) = open_dir(at.dir, at.name).map_err(failed())? else { return Ok(None) };
        Ok((self.same.first(stat_of(&dir).map_err(failed())?.id) == id).then_some(dir))
    }

    /// Goes into a directory: one with noted names by those, and, with `through`, one that the entry made by what lies in it.
    fn into(
        &mut self,
        here: Here<'_>,
        name: &Bytes,
        stat: &Stat,
        through: bool,
        noted: fn(&mut Self, Here<'_>, Id) -> Result<(), JournalError>,
        new: fn(&mut Self, Here<'_>, &Bytes, &Stat) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let is_noted = self.entry.names.contains_key(&stat.id);
        if !stat.is_dir() || here.depth > JOURNAL_DEPTH || !is_noted && !(through && self.entry.is_new(stat.id)) {
            return Ok(());
        }
        let Some(dir) = self.open(here.at(name), stat.id)? else { return Ok(()) };
        let place = here.place.join(name);
        let below = Here { dir: dir.as_fd(), place: &place, depth: here.depth + 1 };
        if is_noted {
            return noted(self, below, stat.id);
        }
        let failed = self.failed(below.itself(), "listing it");
        for name in with_access(below.dir, || object::names(below.dir)).map_err(failed)? {
            let name = Bytes::of(&name);
            if let Some(stat) = self.stat(below.at(&name))? {
                self.into(below, &name, &stat, through, noted, new)?;
                new(self, below, &name, &stat)?;
            }
        }
        Ok(())
    }

    /// Takes away what stands where something else stood.
    fn take_away(&mut self, here: Here<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        for (name, noted) in entry.names.get(&id).into_iter().flatten() {
            let Some(stat) = self.stat(here.at(name))? else { continue };
            let leaves = self.selected.contains(&(id, name.clone())) && noted.before != Some(stat.id);
            let outer = self.is_leaving;
            self.is_leaving |= leaves && self.entry.is_new(stat.id);
            self.into(here, name, &stat, self.is_leaving || entry.is_deep, Self::take_away, Self::take_out)?;
            self.is_leaving = outer;
            if leaves {
                self.take(here.at(name), &stat)?;
            } else if self.wanted.contains(&stat.id) && !stat.is_dir() && !self.away.contains_key(&stat.id) {
                self.hold(here.at(name), &stat)?;
            } else if stat.links > 1 {
                // What is taken away by another name is known by this one.
                self.recorder.gains(here.at(name))?;
            }
        }
        Ok(())
    }

    /// Takes what is older than the entry, and goes or comes back, out of a directory that it made.
    fn take_out(&mut self, here: Here<'_>, name: &Bytes, stat: &Stat) -> Result<(), JournalError> {
        let is_old = self.is_leaving && self.entry.olds.contains_key(&stat.id);
        if is_old || self.wanted.contains(&stat.id) { self.take(here.at(name), stat) } else { Ok(()) }
    }

    /// Puts back what stood under the names in a directory.
    fn put_back(&mut self, here: Here<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        for (name, noted) in entry.names.get(&id).into_iter().flatten() {
            let at = here.at(name);
            let is_selected = self.selected.contains(&(id, name.clone()));
            if is_selected
                && let Some(before) = noted.before
                && self.stat(at)?.is_none()
            {
                self.put(at, before)?;
            }
            let Some(stat) = self.stat(at)? else { continue };
            let is_back = is_selected && noted.before == Some(stat.id) && self.back.insert(stat.id);
            self.into(here, name, &stat, entry.is_deep, Self::put_back, |_, _, _, _| Ok(()))?;
            if !is_back {
                continue;
            }
            if !stat.is_dir() {
                self.restore_file(at, stat.id)?;
            } else if !entry.names.contains_key(&stat.id) {
                self.restore_dir(at, stat.id)?;
            }
        }
        self.restore_dir(here.itself(), id)
    }

    fn restore_file(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        let Some(old) = entry.olds.get(&id) else { return Ok(()) };
        if !old.kept.is_empty() {
            // A link to it goes, which stamps it.
            self.recorder.gains(at)?;
        }
        self.restore_content(at, old)?;
        self.restore_metadata(at, old, old.stat.mtime)
    }

    fn restore_dir(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        let Some(old) = entry.olds.get(&id) else { return Ok(()) };
        let is_selected = |name: &Bytes| self.selected.contains(&(id, name.clone()));
        let mut names = entry.names.get(&id).into_iter().flatten().filter(|(_, noted)| entry.is_changed(noted));
        let is_whole = names.all(|(name, noted)| noted.before == noted.after || is_selected(name));
        // Somebody else may have changed it since.
        let left = old.after.map(|after| after.stat.mtime);
        let is_as_left = self.survey.objects.get(&id).is_none_or(|now| Some(now.mtime) == left);
        let Some(now) = self.stat(at)? else { return Ok(()) };
        let mtime = if is_whole && is_as_left { old.stat.mtime } else { now.mtime };
        if self.all || self.back.contains(&id) || self.wanted.contains(&id) {
            return self.restore_metadata(at, old, mtime);
        }
        let as_it_is = Old { stat: Stat { mtime, ..now }, attributes: None, ..old.clone() };
        self.restore_metadata(at, &as_it_is, mtime)
    }

    /// Takes an object away into the store.
    fn take(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if stat.links > 1 && !stat.is_dir() && !self.wanted.contains(&stat.id) {
            // By its other names it stays, as it was.
            self.restore_file(at, stat.id)?;
        }
        let file = self.recorder.takes(at)?;
        let to = file_name(file);
        let store = self.recorder.dir.as_fd();
        let renamed =
            with_access(at.dir, || match renameat_with(at.dir, at.name, store, &to, RenameFlags::NOREPLACE) {
                // Its `..` is to change.
                Err(Errno::ACCESS) if stat.is_dir() => {
                    let dir = open_dir(at.dir, at.name)?.ok_or(Errno::NOENT)?;
                    with_access(dir.as_fd(), || renameat_with(at.dir, at.name, store, &to, RenameFlags::NOREPLACE))
                }
                renamed => renamed,
            });
        let failed = || self.failed(at, "taking it away");
        renamed.map_err(failed())?;
        // One link to it is enough.
        let is_same = |one: &str, other: &str| {
            let id = |name: &str| object::stat(store, OsStr::new(name)).map(|found| found.map(|stat| stat.id));
            Ok(id(one)? == id(other)?)
        };
        if let Some(first) = self.away.get(&stat.id)
            && is_same(&file_name(*first), &to).map_err(failed())?
        {
            unlinkat(store, &to, AtFlags::empty()).map_err(failed())?;
        }
        self.away.entry(stat.id).or_insert(file);
        Ok(())
    }

    /// Makes sure that an object that stays can be given another name.
    fn hold(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        self.recorder.loses(at)?;
        let raw = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        let kept = raw.and_then(|raw| self.recorder.entry.olds.get(&raw.id)).and_then(|old| old.kept.first());
        self.away.extend(kept.map(|kept| (stat.id, kept.file)));
        Ok(())
    }

    /// Lets an object stand under a name again.
    fn put(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        let Some(old) = entry.olds.get(&id) else { return Err(self.failed(at, "putting it back")(Errno::NOENT)) };
        let own = self.away.get(&id).map(|file| Kept { entry: self.recorder.number(), file: *file, is_copy: false });
        let kept = own.iter().chain(&old.kept).chain(self.later.get(&id).into_iter().flatten());
        let kept: Vec<Kept> = kept.copied().collect();
        for source in kept {
            if self.put_from(at, old, source)? {
                return Ok(());
            }
        }
        if old.stat.is_dir() {
            self.recorder.puts(at, None)?;
            let made = with_access(at.dir, || mkdirat(at.dir, at.name, Mode::RWXU));
            made.map_err(self.failed(at, "making the directory again"))?;
            return self.remember(at, id);
        }
        if let Content::Copy(file) = old.content
            && self.put_from(at, old, Kept { entry: old.copied_by, file, is_copy: true })?
        {
            return Ok(());
        }
        Err(self.failed(at, "putting it back")(Errno::NOENT))
    }

    /// Puts an object back from a file of an entry. `false` if that is not there.
    fn put_from(&mut self, at: At<'_>, old: &Old, source: Kept) -> Result<bool, JournalError> {
        let dir = self.store.entry_dir(source.entry)?;
        let name = file_name(source.file);
        let name = OsStr::new(&name);
        let failed = || self.failed(at, "putting it back");
        let Some(found) = object::stat(&dir, name).map_err(failed())? else { return Ok(false) };
        if found.is_dir() != old.stat.is_dir() || !source.is_copy && self.same.first(found.id) != old.stat.id {
            return Ok(false);
        }
        self.recorder.puts(at, Some(&found).filter(|_| !source.is_copy))?;
        let failed = || self.failed(at, "putting it back");
        if found.is_dir() {
            let renamed =
                with_access(at.dir, || match renameat_with(&dir, name, at.dir, at.name, RenameFlags::NOREPLACE) {
                    Err(Errno::ACCESS) => {
                        let moved = open_dir(&dir, name)?.ok_or(Errno::NOENT)?;
                        with_access(moved.as_fd(), || {
                            renameat_with(&dir, name, at.dir, at.name, RenameFlags::NOREPLACE)
                        })
                    }
                    renamed => renamed,
                });
            return renamed.map(|()| true).map_err(failed());
        }
        if !source.is_copy {
            match with_access(at.dir, || object::link(dir.as_fd(), name, at.dir, at.name)) {
                Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => {}
                linked => return linked.map(|()| true).map_err(failed()),
            }
        }
        let Some(from) = object::handle(&dir, name).map_err(failed())? else { return Ok(false) };
        let copied = with_access(at.dir, || object::copy_object(from.as_fd(), at.dir, at.name, u64::MAX));
        copied.map_err(failed())?;
        self.remember(at, old.stat.id)?;
        Ok(true)
    }

    /// What stands under the name now is what an object was.
    fn remember(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let made = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        if let Some(made) = made {
            self.same.add_id(made.id, id);
            self.remade.push((made.id, id));
        }
        Ok(())
    }

    fn restore_content(&mut self, at: At<'_>, old: &Old) -> Result<(), JournalError> {
        let failed = || self.failed(at, "restoring its content");
        let Some(handle) = object::handle(at.dir, at.name).map_err(failed())? else { return Ok(()) };
        let now = stat_of(&handle).map_err(failed())?;
        if !now.is_file() {
            return Ok(());
        }
        let copy = match old.content {
            Content::Same | Content::NotKept => return Ok(()),
            Content::Grew if now.size == old.stat.size => return Ok(()),
            Content::Grew => None,
            Content::Copy(file) => {
                let dir = self.store.entry_dir(old.copied_by)?;
                let copy = object::handle(&dir, OsStr::new(&file_name(file))).map_err(failed())?;
                let copy = copy.ok_or(Errno::NOENT).and_then(|copy| object::reopen(&copy, OFlags::RDONLY));
                let copy = copy.map_err(failed())?;
                if now.size == old.stat.size
                    && object::reopen(&handle, OFlags::RDONLY)
                        .is_ok_and(|now| object::is_same_content(&copy, now) == Ok(true))
                {
                    return Ok(());
                }
                Some(copy)
            }
        };
        self.recorder.content(at, Writing::Anywhere)?;
        let failed = || self.failed(at, "restoring its content");
        let to = match object::reopen(&handle, OFlags::WRONLY) {
            Err(Errno::ACCESS) => {
                // Its own mode comes back with the rest.
                object::set_mode(&handle, now.mode | 0o600).and_then(|()| object::reopen(&handle, OFlags::WRONLY))
            }
            opened => opened,
        };
        let to = to.map_err(failed())?;
        match copy {
            Some(copy) => object::copy(to, copy, old.stat.size, u64::MAX).map(drop),
            None => ftruncate(to, old.stat.size),
        }
        .map_err(failed())
    }

    fn restore_metadata(&mut self, at: At<'_>, old: &Old, mtime: i64) -> Result<(), JournalError> {
        let failed = || self.failed(at, "restoring its metadata");
        let Some(handle) = object::handle(at.dir, at.name).map_err(failed())? else { return Ok(()) };
        let now = stat_of(&handle).map_err(failed())?;
        let was = Stat { mtime, ..old.stat };
        let attributes = match &old.attributes {
            Some(were) => object::attributes(&handle).map_err(failed())?.is_some_and(|now| now != *were),
            None => false,
        };
        if now.rights() == was.rights() && now.mtime == mtime && !attributes {
            return Ok(());
        }
        self.recorder.metadata(at)?;
        object::restore(handle.as_fd(), &was, old.attributes.as_ref())
            .map_err(self.failed(at, "restoring its metadata"))
    }
}
