//! Identities and versions that newer entries declare equal.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};

use super::bytes::Bytes;
use super::entry::Entry;
use super::log::Version;
use super::object::{Id, Stat};

/// Objects that newer entries declare equal. An undo recreated one, or an entry touched one (with a
/// link in the store) and left it unchanged. To the entry itself the two are different.
#[derive(Debug, Default)]
pub(super) struct Equivalences {
    ids: HashMap<Id, Id>,
    versions: HashMap<Version, Version>,
    /// Time spans of undos.
    spans: Vec<(i64, i64)>,
}

impl Equivalences {
    pub(super) fn of(later: &[impl Borrow<Entry>]) -> Self {
        let later = later.iter().map(Borrow::borrow);
        let undos = later.clone().filter(|entry| !entry.undoes.is_empty());
        let mut same = Self {
            spans: undos
                .clone()
                .flat_map(|undo| undo.spans.iter().copied())
                .collect(),
            ..Self::default()
        };
        let all = undos.flat_map(|undo| &undo.same);
        for (new, old) in all.clone().filter(|(new, _)| new.1 == 0) {
            same.add_id(new.0, old.0);
        }
        for (new, old) in all.filter(|(new, _)| new.1 != 0) {
            let (new, old) = ((same.first(new.0), new.1), (same.first(old.0), old.1));
            if new != old {
                same.versions.insert(new, old);
            }
        }
        for (was, left) in later.flat_map(Entry::left_alone) {
            let id = same.first(was.id);
            same.versions
                .entry((id, left.ctime))
                .or_insert((id, was.ctime));
        }
        same
    }

    /// Returns true if any object had another identity before.
    pub(super) fn is_of_ids(&self) -> bool {
        !self.ids.is_empty()
    }

    pub(super) fn add_id(&mut self, new: Id, old: Id) {
        let old = self.first(old);
        if new != old {
            self.ids.insert(new, old);
        }
    }

    /// Returns the identity that an object had before it was recreated.
    pub(super) fn first(&self, mut id: Id) -> Id {
        while let Some(older) = self.ids.get(&id) {
            id = *older;
        }
        id
    }

    /// Returns the ctime at which an object first had its current state. `stat` carries the
    /// original identity.
    pub(super) fn changed(&self, stat: &Stat) -> i64 {
        let mut version = (stat.id, stat.ctime);
        // A forged log could contain a cycle.
        for _ in 0..=self.versions.len() {
            match self.versions.get(&version) {
                Some(older) => version = *older,
                None => break,
            }
        }
        version.1
    }

    /// Returns true if this is the same object with the same content and metadata. The ctime is
    /// ignored where links of the store or an undo have changed it.
    pub(super) fn is(&self, one: &Stat, other: &Stat) -> bool {
        let by_undo = |stat: &Stat| {
            self.spans
                .iter()
                .any(|(start, end)| (*start..=*end).contains(&stat.ctime))
        };
        let is_stamped = one.links != other.links || by_undo(one) || by_undo(other);
        one.plain() == other.plain() && (is_stamped || self.changed(one) == self.changed(other))
    }
}

/// Names selected for undo.
pub(super) type SelectedNames = BTreeSet<(Id, Bytes)>;
