//! Identities and versions that newer entries know as the same.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};

use super::bytes::Bytes;
use super::entry::Entry;
use super::log::Version;
use super::object::{Id, Stat};

/// Objects that newer entries know as the same. An undo made one again, or an entry touched it, as
/// by a link in the store, and left it as it was. To the entry itself the two are different.
#[derive(Debug, Default)]
pub(super) struct Same {
    ids: HashMap<Id, Id>,
    versions: HashMap<Version, Version>,
    /// When undos were at work.
    spans: Vec<(i64, i64)>,
}

impl Same {
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

    /// Returns true if some objects had another identity before.
    pub(super) fn is_of_ids(&self) -> bool {
        !self.ids.is_empty()
    }

    pub(super) fn add_id(&mut self, new: Id, old: Id) {
        let old = self.first(old);
        if new != old {
            self.ids.insert(new, old);
        }
    }

    /// The identity that an object had before it was made again.
    pub(super) fn first(&self, mut id: Id) -> Id {
        while let Some(older) = self.ids.get(&id) {
            id = *older;
        }
        id
    }

    /// The time of the change after which an object was first as it is, of one that goes by its
    /// first identity.
    pub(super) fn changed(&self, stat: &Stat) -> i64 {
        let mut version = (stat.id, stat.ctime);
        // A forged log could lead in a circle.
        for _ in 0..=self.versions.len() {
            match self.versions.get(&version) {
                Some(older) => version = *older,
                None => break,
            }
        }
        version.1
    }

    /// Whether it is the same object with the same content and metadata. Links come and go with the
    /// store's own, and what an undo had its hands on last looks the same only if it is.
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

/// The names that are to be undone.
pub(super) type Selected = BTreeSet<(Id, Bytes)>;
