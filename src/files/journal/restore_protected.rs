//! Checks of an undo by people: no content of a call comes to a protected path.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;

use replay_base::limits::JOURNAL_DEPTH;

use super::bytes::Bytes;
use super::entry::{OldObject, RootedPath};
use super::error::JournalError;
use super::object::{self, Id, Stat, open_dir};
use super::recorder::At;
use super::restore::Restoration;
use super::store::{Changer, Misplaced};

/// Directory that an undo moves to another place, or one in it.
struct ComingDir {
    /// Place after the undo.
    place: RootedPath,
    /// Place before the undo.
    from: Option<RootedPath>,
    /// Number of directories between it and the moved one.
    depth: usize,
    /// True if nothing was added to it since the entry began: rename(2) and link(2) change the
    /// ctime of what they add, and of its directory.
    is_unchanged: bool,
}

impl Restoration<'_> {
    /// Fails if an old object would come to a protected path and a call may have made it.
    pub(super) fn check_origin(&self, at: At<'_>, old: &OldObject) -> Result<(), JournalError> {
        let Some(guard) = self.guard.filter(|_| !old.stat.is_dir()) else {
            return Ok(());
        };
        match guard.may_change(at.dir, at.name) {
            Err(Misplaced::Protected(protected)) => {
                let place = RootedPath {
                    root: at.root,
                    path: Bytes::of(at.path.as_os_str()),
                };
                let place = place.join(&Bytes::of(at.name));
                self.check_version(&place, &old.stat, false, protected)
            }
            _ => Ok(()),
        }
    }

    /// Fails if a directory would come to a place where protected paths in it have content that a
    /// call may have made.
    pub(super) fn check_origins_below(
        &self,
        at: At<'_>,
        dir: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<(), JournalError> {
        let Some(guard) = self.guard else {
            return Ok(());
        };
        let path = Bytes::of(at.path.join(at.name).as_os_str());
        let moved = object::stat(dir, name)
            .map_err(JournalError::io("looking at a moved directory".to_owned()))?;
        let coming = ComingDir {
            place: RootedPath {
                root: at.root,
                path,
            },
            from: moved.and_then(|moved| self.surveyed_place(self.same.first(moved.id))),
            depth: 0,
            is_unchanged: self.origins.are_places_known,
        };
        self.check_dir(guard, dir, name, &coming)
    }

    fn check_dir(
        &self,
        guard: &dyn Changer,
        above: BorrowedFd<'_>,
        name: &OsStr,
        coming: &ComingDir,
    ) -> Result<(), JournalError> {
        let failed = || {
            let path = self.store.path(&coming.place);
            let step = "looking at what is protected in it";
            JournalError::io(format!("{}: {step}", path.display()))
        };
        if coming.depth > JOURNAL_DEPTH {
            return Err(JournalError::TooDeep {
                path: self.store.path(&coming.place),
            });
        }
        let Some(dir) = open_dir(above, name).map_err(failed())? else {
            return Ok(());
        };
        let protects = |place: &RootedPath| guard.protects(&self.store.path(place));
        for name in object::names(&dir).map_err(failed())? {
            let Some(found) = object::stat(&dir, &name).map_err(failed())? else {
                continue;
            };
            let part = Bytes::of(&name);
            let inner = ComingDir {
                place: coming.place.join(&part),
                from: coming.from.as_ref().map(|from| from.join(&part)),
                depth: coming.depth + 1,
                is_unchanged: coming.is_unchanged && found.ctime < self.entry.start,
            };
            if found.is_dir() {
                self.check_dir(guard, dir.as_fd(), &name, &inner)?;
                continue;
            }
            // A file that was at a protected path before the undo was judged when it came there.
            let was_protected = inner.from.as_ref().and_then(protects).is_some();
            if !was_protected && let Some(protected) = protects(&inner.place) {
                let found = Stat {
                    id: self.same.first(found.id),
                    ..found
                };
                self.check_version(&inner.place, &found, inner.is_unchanged, protected)?;
            }
        }
        Ok(())
    }

    /// Returns the place where the survey found an object.
    fn surveyed_place(&self, id: Id) -> Option<RootedPath> {
        let mut names = self.survey.names.iter();
        let is_it = |stat: &Option<Stat>| stat.is_some_and(|stat| self.same.first(stat.id) == id);
        let ((dir, name), _) = names.find(|(_, stat)| is_it(stat))?;
        Some(self.survey.dirs.get(dir)?.join(name))
    }

    /// `is_unchanged` is true if the object was at this place before the entry, in a directory that
    /// the entry moved.
    fn check_version(
        &self,
        place: &RootedPath,
        stat: &Stat,
        is_unchanged: bool,
        protected: PathBuf,
    ) -> Result<(), JournalError> {
        let version = (stat.id, self.same.changed(stat));
        let mut found = self.found_places(stat.id);
        let is_known = self.origins.are_places_known && found.any(|found| found == *place);
        if is_unchanged || is_known {
            return Ok(());
        }
        if self.store.is_by_call(&self.origins, version)? {
            return Err(JournalError::MadeByCall {
                path: self.store.path(place),
                protected,
            });
        }
        Ok(())
    }

    /// Returns the places where the entry found an object.
    fn found_places(&self, id: Id) -> impl Iterator<Item = RootedPath> {
        let names = self
            .entry
            .all_names()
            .filter(move |(.., noted)| noted.before == Some(id));
        names.filter_map(|(dir, name, _)| Some(self.before.get(&dir)?.join(name)))
    }
}
