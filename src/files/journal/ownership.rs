//! Distinguishes objects that an entry made from those of others, by the names at which the entry
//! was about to make one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::bytes::Bytes;
use super::error::JournalError;
use super::object::Id;
use super::recorder::{At, Recorder};

impl Recorder {
    /// Returns true if the entry made both the directory and the object under a name in it.
    pub fn made_both(&self, dir: Id, found: Option<Id>) -> bool {
        self.known.get(&dir) == Some(&false) && found.is_none_or(|found| self.entry.is_new(found))
    }

    /// Records the result of [`Self::before_create`]: the object that now has the name, if any.
    pub fn after_create(&mut self, dir: Id, name: &OsStr, found: Option<Id>) {
        if self.gaining.remove(&(dir, Bytes::of(name))) {
            self.made
                .extend(found.filter(|found| self.entry.is_new(*found)));
        }
    }

    /// Records a loss ([`Self::before_remove`]) of a name that the entry then gives to its own object.
    pub fn before_replace(&mut self, at: At<'_>) -> Result<(), JournalError> {
        self.before_remove(at)?;
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

    /// Returns true if the entry made the object that now has the name.
    pub fn is_own(&mut self, dir: Id, name: &OsStr, id: Id) -> bool {
        if !self.entry.is_new(id) {
            return false;
        }
        // An undo does not announce its gains, and holds the lock of the store.
        let is_own = !self.entry.undoes.is_empty()
            || self.known.get(&dir) == Some(&false)
            || self.made.contains(&id)
            || self.gaining.remove(&(dir, Bytes::of(name)));
        if is_own {
            self.made.insert(id);
        }
        is_own
    }

    /// Returns true if somebody else put this object under a recorded name that was unused or whose
    /// object the entry destroyed.
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

    /// Returns true if the entry may have put this object under a recorded name. Otherwise somebody
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
