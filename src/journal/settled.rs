//! The end of an entry: what it changed of what runs outside is found, and put back where that is to stay as it is.

use serde::Serialize;

use super::call::Journal;
use super::entry::{Change, Place};
use super::outside::Outside;
use super::sinks::FoundOutside;
use super::undo::Options;

/// What an entry that puts back is called.
const TITLE: &str = "--freeze-sinks";

/// What of an entry runs outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// It stands.
    #[serde(rename = "changed", skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put_back: Vec<Outside>,
    /// Why not all was put back, or found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Settled {
    pub(super) const fn none() -> Self {
        Self { outside: Vec::new(), put_back: Vec::new(), failed: None }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::none()
    }

    /// With what came of another entry of the call before.
    pub(super) fn after(mut self, mut before: Self) -> Self {
        before.outside.retain(|known| !self.outside.contains(known));
        self.outside.splice(..0, before.outside.drain(..));
        self.after_parts(before)
    }

    /// With what came of earlier parts of the same entry: what stands is of the whole of it.
    pub(super) fn after_parts(self, before: Self) -> Self {
        let put_back = before.put_back.into_iter().chain(self.put_back).collect();
        Self { put_back, failed: self.failed.or(before.failed), ..self }
    }
}

impl Journal {
    /// Looks what an entry that has ended changed of what runs outside.
    pub fn settle(&self, number: u64, changes: &[(Place, Change)]) -> Settled {
        let FoundOutside { all, by } = match self.store.outside(number, changes) {
            Ok(found) => found,
            Err(error) => return Settled { failed: Some(error.to_string()), ..Settled::none() },
        };
        if all.is_empty() || !self.freezes() {
            return Settled { outside: all, ..Settled::none() };
        }
        let paths: Vec<Place> = by.into_iter().collect();
        let undone = self.store.undo(&[number], TITLE, Options { paths: &paths, ..Options::default() });
        let failed = match undone {
            Ok(undone) => match undone.conflicts.first() {
                None => return Settled { put_back: all, ..Settled::none() },
                Some(conflict) => format!("{}: {}", self.store.path(&conflict.place).display(), conflict.why),
            },
            Err(error) => error.to_string(),
        };
        Settled { outside: all, failed: Some(failed), ..Settled::none() }
    }

    /// The same of what is known by its number alone.
    pub fn settle_entry(&self, number: u64) -> Settled {
        match self.store.entry(number) {
            Ok(entry) => self.settle(number, &self.store.changes(&entry)),
            Err(error) => Settled { failed: Some(error.to_string()), ..Settled::none() },
        }
    }
}
