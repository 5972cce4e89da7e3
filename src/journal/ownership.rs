//! Objects that an entry made itself, told apart from those of others by the names under which it
//! was about to make something.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::bytes::Bytes;
use super::error::JournalError;
use super::object::Id;
use super::recorder::{At, Recorder};

impl Recorder {
    /// Returns true if the entry made the directory and what stands under a name there.
    pub fn made_both(&self, dir: Id, found: Option<Id>) -> bool {
        self.known.get(&dir) == Some(&false) && found.is_none_or(|found| self.entry.is_new(found))
    }

    /// Takes down what came of [`Self::gains`]: the object that stands under the name now, if any.
    pub fn gained(&mut self, dir: Id, name: &OsStr, found: Option<Id>) {
        if self.gaining.remove(&(dir, Bytes::of(name))) {
            self.made
                .extend(found.filter(|found| self.entry.is_new(*found)));
        }
    }

    /// Notes a loss ([`Self::loses`]) of a name under which the entry then puts an object of its
    /// own.
    pub fn makes_way(&mut self, at: At<'_>) -> Result<(), JournalError> {
        self.loses(at)?;
        if self.skips(at) {
            Ok(())
        } else {
            self.expect_at(at)
        }
    }

    pub(super) fn expect_at(&mut self, at: At<'_>) -> Result<(), JournalError> {
        let (dir, is_noted) = self.directory(at)?;
        if is_noted {
            self.gaining.insert((dir, Bytes::of(at.name)));
        }
        Ok(())
    }

    /// Returns true if the entry made the object that stands under a name now.
    pub(super) fn is_own(&mut self, dir: Id, name: &OsStr, id: Id) -> bool {
        if !self.entry.is_new(id) {
            return false;
        }
        // An undo says of nothing that it gains it, and holds the lock of the store.
        let is_own = !self.entry.undoes.is_empty()
            || self.known.get(&dir) == Some(&false)
            || self.made.contains(&id)
            || self.gaining.remove(&(dir, Bytes::of(name)));
        if is_own {
            self.made.insert(id);
        }
        is_own
    }

    /// Returns true if somebody else let this object stand under a noted name, where there was
    /// nothing, or what the entry destroyed.
    pub(super) fn is_overtaken(&mut self, dir: Id, name: &OsStr, now: Id) -> bool {
        if self.has(now) || self.gaining.remove(&(dir, Bytes::of(name))) {
            return false;
        }
        let noted = self
            .entry
            .names
            .get(&dir)
            .and_then(|names| names.get(name.as_bytes()));
        let before = noted.and_then(|noted| self.entry.olds.get(&noted.before?));
        before.is_none_or(|before| !before.kept.is_empty())
    }

    /// Returns true if the entry may have put this object under a noted name. Otherwise somebody
    /// else did meanwhile.
    pub(super) fn may_have_put(&self, dir: Id, name: &Bytes, now: Id) -> bool {
        let noted = self.entry.names.get(&dir).and_then(|names| names.get(name));
        if self.has(now) || noted.is_some_and(|noted| noted.before == Some(now)) {
            return true;
        }
        match self.crashed {
            Some(crashed) => now.born() <= crashed,
            None => {
                !self.entry.undoes.is_empty()
                    || self.known.get(&dir) == Some(&false)
                    || self.made.contains(&now)
                    || self.gaining.contains(&(dir, name.clone()))
            }
        }
    }
}
