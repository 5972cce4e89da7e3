//! Directory entries themselves, not what they lead to: what is deleted, moved away, or moved to.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_base::limits::MAX_RESOLVE_STEPS;
use rustix::io::Errno;

use super::resolve::{LastPart, WalkTarget};
use super::rules::below;
use super::spelling::Spelling;
use super::{
    AccessKind, Checked, Entry, FileKind, Policy, PolicyError, Write, access_record, exists_below,
    record_access, split,
};

impl Policy {
    /// A directory entry itself, for deleting it or moving it away: a link in the last part is not
    /// followed.
    ///
    /// Refuses an allowed directory, what contains one, and protected paths, what contains one that
    /// exists included.
    pub fn entry(&self, requested: impl AsRef<Path>) -> Result<Checked<Entry>, PolicyError> {
        record_access(
            |_| AccessKind::Remove,
            |real| self.find_entry(requested.as_ref(), real),
        )
    }

    fn find_entry(
        &self,
        requested: &Path,
        real: &mut Option<PathBuf>,
    ) -> Result<Checked<Entry>, PolicyError> {
        let spelling = self.spell(requested)?;
        let (dir, name, place) = if let Some(entry) = self.direct_entry(&spelling)? {
            // Where nothing may be changed it does not matter whether anything is there.
            self.may_replace(requested, &entry.place)?;
            self.may_change(requested, &entry.place)?;
            if entry.kind.is_none() {
                return Err(PolicyError::NotFound {
                    path: spelling.into_path(),
                });
            }
            (entry.dir, entry.name, entry.place)
        } else {
            let spot = self.keep(requested, &spelling)?;
            let place = below(&spot.place, &spot.tail);
            self.may_replace(requested, &place)?;
            self.may_change(requested, &place)?;
            if spot.found.is_none() {
                let errno = spot.stuck.unwrap_or(Errno::NOENT);
                return Err(PolicyError::inside(spelling.into_path(), errno));
            }
            match split(spot) {
                Ok((dir, _, name, place)) => (dir, name, place),
                Err(errno) => return Err(PolicyError::inside(spelling.into_path(), errno)),
            }
        };
        for (protected, rest) in self.rules.protected_below(&place) {
            if exists_below(&dir, &name, &rest) {
                return Err(self.protected_by(requested, &protected));
            }
        }
        if self.rules.holds_hidden(&dir, &name, &place) {
            return Err(PolicyError::HoldsHidden {
                path: requested.into(),
            });
        }
        access_record::keep(real, &place);
        let rules = Arc::clone(&self.rules);
        Ok(Checked::new(
            spelling.into_path(),
            Entry {
                dir,
                name,
                place,
                rules,
            },
        ))
    }

    /// Resolves the destination of a move. A link in the last part is not followed, and missing
    /// parents may be created.
    pub fn destination(&self, requested: impl AsRef<Path>) -> Result<Checked<Write>, PolicyError> {
        record_access(
            |_| AccessKind::Write,
            |real| self.find_destination(requested.as_ref(), real),
        )
    }

    fn find_destination(
        &self,
        requested: &Path,
        real: &mut Option<PathBuf>,
    ) -> Result<Checked<Write>, PolicyError> {
        let spelling = self.spell(requested)?;
        let mut wants_dir = false;
        let (dir, parents, name, place) = if let Some(entry) = self.direct_entry(&spelling)? {
            (entry.dir, Vec::new(), entry.name, entry.place)
        } else {
            let spot = self.keep(requested, &spelling)?;
            wants_dir = spot.wants_dir;
            match split(spot) {
                Ok(found) => found,
                Err(errno) => return Err(PolicyError::inside(spelling.into_path(), errno)),
            }
        };
        self.may_replace(requested, &place)?;
        self.may_change(requested, &place)?;
        access_record::keep(real, &place);
        let rules = Arc::clone(&self.rules);
        Ok(Checked::new(
            spelling.into_path(),
            Write {
                dir,
                parents,
                name,
                place,
                wants_dir,
                rules,
            },
        ))
    }

    /// Fails if an object may not come to a true place again. This is for a plan: each step asks
    /// `Rules::may_bear` when it is done. `now` is the current place of an object that still
    /// exists: a directory must not hold what would be protected at the new place.
    pub fn may_return(&self, place: &Path, now: Option<&Path>) -> Result<(), PolicyError> {
        self.may_change(place, place)?;
        let Some(now) = now else { return Ok(()) };
        let is_there = |(_, rest): &(Cow<'_, Path>, PathBuf)| self.is_there(now.join(rest));
        match self.rules.protected_below(place).find(is_there) {
            Some((protected, _)) => Err(self.protected_by(place, &protected)),
            None if self.rules.is_in_repository(place) => Err(self.protected_by(place, place)),
            None => Ok(()),
        }
    }

    /// A walk that ends at a directory entry: a path with a slash at the end names the directory it
    /// leads to.
    fn keep(&self, requested: &Path, spelling: &Spelling) -> Result<WalkTarget, PolicyError> {
        let halted = |halt| self.halted(requested, spelling, halt);
        let mut spot = self.walk(spelling, LastPart::Keep).map_err(halted)?;
        if spot.through_link {
            // As rename(2) and unlink(2) have it: `link/` is neither the link nor what it leads to.
            return Err(PolicyError::NotADirectory {
                path: spelling.clone().into_path(),
            });
        }
        if spot.tail.is_empty() {
            self.may_replace(requested, &spot.place)?;
            let name = spot.place.file_name().map(OsStr::to_os_string);
            let parent = spot.place.parent().unwrap_or(Path::new("/")).to_path_buf();
            let dir = self
                .reopen(&parent, &mut MAX_RESOLVE_STEPS.clone())
                .map_err(halted)?;
            spot.found = Some((spot.dir, FileKind::Directory));
            spot.tail = name.into_iter().collect();
            spot.place = parent;
            spot.dir = dir;
        }
        Ok(spot)
    }

    /// Refuses a place where an allowed directory is, or below which one is.
    fn may_replace(&self, requested: &Path, place: &Path) -> Result<(), PolicyError> {
        if self.rules.leads_in(place) {
            return Err(PolicyError::AllowedDirectory {
                path: requested.into(),
            });
        }
        Ok(())
    }
}
