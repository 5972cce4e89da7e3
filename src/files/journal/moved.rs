//! Objects that another call moved while an entry was made.
//!
//! The entry no longer finds them under the names that it recorded. The other entry has recorded
//! the name under which it met the object. If both are the same name, the entry left the object
//! there, wherever the object is now.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::{Entry, RootedPath};
use super::error::JournalError;
use super::log::{self, Event};
use super::memory::Memory;
use super::object::{Id, stat};
use super::scan::{MovedObject, Survey};
use super::store::{LoggedEntry, Store};

/// Number of the newest entries that are searched.
const SEARCHED_ENTRIES: usize = 64;
/// Maximum number of names that are looked at for one object.
const SEARCHED_NAMES: usize = 10_000;

impl Store {
    /// Finds the old objects that a survey missed, by the records of entries that overlap in time.
    pub(super) fn moved_by_others(
        &self,
        entry: &Entry,
        survey: &Survey,
    ) -> Result<Vec<MovedObject>, JournalError> {
        let missing: BTreeSet<Id> = entry
            .all_names()
            .filter_map(|(.., noted)| noted.before)
            .filter(|id| !survey.objects.contains_key(id))
            .collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let (mut met, mut others) = (BTreeMap::new(), Vec::new());
        for number in self.numbers()?.into_iter().rev().take(SEARCHED_ENTRIES) {
            if number == entry.number {
                continue;
            }
            let names = self.met_names(number, entry.start, &missing)?;
            let known = names
                .into_iter()
                .filter(|(_, (dir, name))| is_recorded(entry, *dir, name));
            let known: Vec<_> = known.collect();
            if known.is_empty() {
                continue;
            }
            met.extend(known);
            if let Some(LoggedEntry { earlier, last, .. }) =
                self.read_whole(number, Memory::Overdrawn)?
            {
                others.push(self.whole(earlier, last));
            }
        }
        let mut moved = Vec::new();
        for (id, key) in met {
            let found = others
                .iter()
                .find_map(|other| self.find_moved(other, id, &key).transpose());
            let found = found.transpose();
            moved.extend(found.map_err(JournalError::io("looking for what another call moved"))?);
        }
        Ok(moved)
    }

    /// Returns the first names under which another entry met these objects, if that entry had not
    /// ended at this time.
    fn met_names(
        &self,
        number: u64,
        start: i64,
        objects: &BTreeSet<Id>,
    ) -> Result<HashMap<Id, (Id, Bytes)>, JournalError> {
        let mut met = HashMap::new();
        let Some(log) = self.open_log(number)? else {
            return Ok(met);
        };
        if matches!(log::end(&log), Ok(Some(end)) if end.time <= start) {
            return Ok(met);
        }
        let read = log::read(log, &self.log_path(number), &self.root_ids, |event| {
            if let Event::Name {
                dir,
                name,
                before: Some(id),
            } = event
                && objects.contains(&id)
            {
                met.entry(id).or_insert((dir, name));
            }
            Ok(())
        });
        // A damaged log of another call does not concern this one.
        Ok(read.map(|_| met).unwrap_or_default())
    }

    /// Finds an object where another entry put it, in the tree or in the store.
    fn find_moved(
        &self,
        other: &Entry,
        id: Id,
        key: &(Id, Bytes),
    ) -> Result<Option<MovedObject>, Errno> {
        let moved = |dir, name, place| MovedObject {
            key: key.clone(),
            dir,
            name,
            place,
        };
        for place in self.possible_places(other, id) {
            let dir = place
                .parent()
                .map(|above| self.open_place(&above))
                .transpose()?;
            let name = Bytes(place.name().to_vec());
            if let Some(Some(dir)) = dir
                && stat(&dir, name.name())?.is_some_and(|found| found.id == id)
            {
                return Ok(Some(moved(dir, name, place)));
            }
        }
        let kept = other.olds.get(&id).map_or(&[][..], |old| &old.kept);
        for link in kept.iter().filter(|kept| !kept.is_copy) {
            let name = Bytes::of(&link.name());
            if stat(&self.kept, name.name())?.is_some_and(|found| found.id == id && !found.is_dir())
            {
                let dir = rustix::io::fcntl_dupfd_cloexec(&self.kept, 0)?;
                let place = RootedPath {
                    root: 0,
                    path: name.clone(),
                };
                return Ok(Some(moved(dir, name, place)));
            }
        }
        Ok(None)
    }

    /// Returns places where another entry may have put an object: of an entry without an end all
    /// recorded names.
    fn possible_places(&self, other: &Entry, id: Id) -> Vec<RootedPath> {
        let dirs = [
            other.places(&self.root_ids, |noted| noted.after),
            other.places(&self.root_ids, |noted| noted.before),
        ];
        let is_over = other.has_ended();
        let names = other
            .all_names()
            .filter(|(.., noted)| !is_over || noted.after == Some(id));
        let places = names.flat_map(|(dir, name, _)| {
            let above = dirs.iter().filter_map(move |dirs| dirs.get(&dir));
            above.map(|above| above.join(name))
        });
        let inside = other.inside.get(&id).cloned();
        inside
            .into_iter()
            .chain(places)
            .take(SEARCHED_NAMES)
            .collect()
    }

    /// Returns descriptions of the entries that moved these objects, or deleted them, by object.
    pub(super) fn movers(
        &self,
        entry: &Entry,
        numbers: &[u64],
        objects: &BTreeSet<Id>,
    ) -> Result<HashMap<Id, String>, JournalError> {
        let mut movers = HashMap::new();
        if objects.is_empty() {
            return Ok(movers);
        }
        let undone = self.undone()?;
        for number in self.ended_since(entry.start)? {
            if numbers.contains(&number) || undone.contains(&number) {
                continue;
            }
            let Some(other) = self.read(number, Memory::Overdrawn)? else {
                continue;
            };
            for (.., noted) in other.all_names() {
                let Some(id) = noted.before.filter(|id| objects.contains(id)) else {
                    continue;
                };
                if noted.after == Some(id) {
                    continue;
                }
                let mut afters = other.all_names().map(|(.., noted)| noted.after);
                let is_moved =
                    other.inside.contains_key(&id) || afters.any(|after| after == Some(id));
                let what = if is_moved { "moved" } else { "deleted" };
                let (title, number) = (&other.title, other.number);
                movers.entry(id).or_insert_with(|| {
                    format!(
                        "{what} by another call since: {title} (call {number}); undo both together"
                    )
                });
            }
        }
        Ok(movers)
    }
}

fn is_recorded(entry: &Entry, dir: Id, name: &Bytes) -> bool {
    entry
        .names
        .get(&dir)
        .is_some_and(|names| names.contains_key(name))
}
