//! The two passes of an undo over the tree.
//!
//! Both passes go from the roots along recorded names, with an open descriptor for each directory.
//! On its way up, the first pass moves objects that replaced others into the store. On its way
//! down, the second pass gives the original objects their names back. On its way up, it restores
//! contents, metadata and directory times. Objects are renamed into the store, never removed. So an
//! object that somebody else puts there at that moment is saved as well.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use replay_base::limits::JOURNAL_DEPTH;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ftruncate, mkdirat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::{Entry, OldObject, RootedPath, StoredFile, file_name};
use super::equivalences::{Equivalences, SelectedNames};
use super::error::JournalError;
use super::log::Content;
use super::object::{self, Id, Stat, open_dir, stat_of, with_access};
use super::origin::Origins;
use super::recorder::{At, Recorder, Writing};
use super::scan::Survey;
use super::store::{Changer, Misplaced, Store};

/// Restoration of the objects of an entry, in two passes.
pub(super) struct Restoration<'a> {
    pub(super) store: &'a Store,
    pub(super) goes_on: &'a dyn Fn() -> bool,
    pub(super) changer: Option<&'a dyn Changer>,
    /// Judge of protected paths, for an undo by people.
    pub(super) guard: Option<&'a dyn Changer>,
    pub(super) origins: Origins,
    /// Places of directories at the start of the entry.
    pub(super) before: &'a HashMap<Id, RootedPath>,
    pub(super) entry: &'a Entry,
    pub(super) survey: &'a Survey,
    pub(super) selected: &'a SelectedNames,
    /// `true` if everything is selected, not only a part.
    pub(super) all: bool,
    pub(super) recorder: Recorder,
    pub(super) same: Equivalences,
    /// `true` while inside a new directory that is removed.
    pub(super) is_leaving: bool,
    /// Objects that had a selected name and do not have it now.
    pub(super) wanted: HashSet<Id>,
    /// Links saved by later entries, and copies saved by later undos.
    pub(super) later: HashMap<Id, Vec<StoredFile>>,
    /// Objects that were moved or linked into the store, with the file number of this undo.
    pub(super) away: HashMap<Id, u32>,
    /// Objects staged outside of the store, because the store lies on another filesystem.
    pub(super) staged: HashMap<Id, Vec<StagedName>>,
    /// A directory that stays, on the current filesystem.
    pub(super) stage: Option<StagedName>,
    /// First name of each object restored as a copy: its other names are linked to it.
    pub(super) placed: HashMap<Id, StagedName>,
    /// Objects that have their name again.
    pub(super) back: HashSet<Id>,
    /// Recreated objects: original identity to new identity.
    pub(super) remade: HashMap<Id, Id>,
    /// State of the recreated objects.
    pub(super) versions: HashMap<Id, Stat>,
}

/// A name in a directory, stored for later.
#[derive(Debug)]
pub(super) struct StagedName {
    pub(super) dir: OwnedFd,
    pub(super) root: usize,
    pub(super) path: PathBuf,
    pub(super) name: Bytes,
}

impl StagedName {
    pub(super) fn of(at: At<'_>, name: Bytes) -> Result<Self, Errno> {
        let dir = object::handle(at.dir, OsStr::new(""))?.ok_or(Errno::NOENT)?;
        Ok(Self {
            dir,
            root: at.root,
            path: at.path.into(),
            name,
        })
    }

    pub(super) fn at(&self) -> At<'_> {
        At {
            dir: self.dir.as_fd(),
            name: self.name.name(),
            root: self.root,
            path: &self.path,
            seen: None,
        }
    }
}

/// The current directory of a pass.
#[derive(Clone, Copy)]
struct CurrentDir<'a> {
    dir: BorrowedFd<'a>,
    place: &'a RootedPath,
    depth: usize,
}

impl<'a> CurrentDir<'a> {
    fn at(self, name: &'a Bytes) -> At<'a> {
        self.at_name(name.name())
    }

    /// Returns the directory itself.
    fn itself(self) -> At<'a> {
        self.at_name(OsStr::new(""))
    }

    fn at_name(self, name: &'a OsStr) -> At<'a> {
        At {
            dir: self.dir,
            name,
            root: self.place.root,
            path: Path::new(OsStr::from_bytes(&self.place.path.0)),
            seen: None,
        }
    }
}

impl Restoration<'_> {
    pub(super) fn run(&mut self) -> Result<(), JournalError> {
        let store = self.store;
        for pass in [Self::take_away, Self::put_back] {
            for (number, root) in store.roots.iter().enumerate() {
                let place = RootedPath {
                    root: number,
                    path: Bytes(Vec::new()),
                };
                let here = CurrentDir {
                    dir: root.handle.as_fd(),
                    place: &place,
                    depth: 0,
                };
                pass(self, here, store.root_ids[number])?;
            }
        }
        self.check_all_back()?;
        self.clear_stages()
    }

    /// Fails if an object did not get its name back: its directory is in the store itself, or
    /// others moved it.
    fn check_all_back(&self) -> Result<(), JournalError> {
        let is_missing = |(dir, name): &&(Id, Bytes)| {
            let before = self.entry.names[dir][name].before;
            before.is_some_and(|before| !self.back.contains(&before))
        };
        let Some((dir, name)) = self.selected.iter().find(is_missing) else {
            return Ok(());
        };
        let place = self.before.get(dir).map(|dir| dir.join(name));
        let path = place.map_or_else(|| name.name().into(), |place| self.store.path(&place));
        Err(JournalError::Missing { path })
    }

    pub(super) fn failed(
        &self,
        at: At<'_>,
        what: &str,
    ) -> impl FnOnce(Errno) -> JournalError + use<> {
        JournalError::io(format!("{}: {what}", self.recorder.display_path(at)))
    }

    /// Returns the object under a name, with the identity that the entry knows.
    fn stat(&self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        (self.goes_on)()
            .then_some(())
            .ok_or(JournalError::Unwanted)?;
        let found = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        Ok(found.map(|stat| Stat {
            id: self.same.first(stat.id),
            ..stat
        }))
    }

    fn open(&self, at: At<'_>, id: Id) -> Result<Option<OwnedFd>, JournalError> {
        let failed = || self.failed(at, "opening it");
        let Some(dir) = open_dir(at.dir, at.name).map_err(failed())? else {
            return Ok(None);
        };
        Ok((self.same.first(stat_of(&dir).map_err(failed())?.id) == id).then_some(dir))
    }

    /// Returns true if directories with recorded names may lie in directories that the entry made.
    fn is_deep(&self) -> bool {
        self.entry.is_deep || self.survey.is_deep
    }

    /// Enters a directory: along recorded names, or, with `through`, along all names if the entry
    /// made it.
    fn enter(
        &mut self,
        here: CurrentDir<'_>,
        name: &Bytes,
        stat: &Stat,
        through: bool,
        noted: fn(&mut Self, CurrentDir<'_>, Id) -> Result<(), JournalError>,
        new: fn(&mut Self, CurrentDir<'_>, &Bytes, &Stat) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let is_noted = self.entry.names.contains_key(&stat.id);
        let is_wanted = is_noted || through && self.entry.is_new(stat.id);
        if !stat.is_dir() || here.depth > JOURNAL_DEPTH || !is_wanted {
            return Ok(());
        }
        let Some(dir) = self.open(here.at(name), stat.id)? else {
            return Ok(());
        };
        let place = here.place.join(name);
        let below = CurrentDir {
            dir: dir.as_fd(),
            place: &place,
            depth: here.depth + 1,
        };
        if is_noted {
            return noted(self, below, stat.id);
        }
        let failed = self.failed(below.itself(), "listing it");
        for name in object::names(below.dir).map_err(failed)? {
            let name = Bytes::of(&name);
            if let Some(stat) = self.stat(below.at(&name))? {
                self.enter(below, &name, &stat, through, noted, new)?;
                new(self, below, &name, &stat)?;
            }
        }
        Ok(())
    }

    /// Moves objects that replaced others into the store.
    fn take_away(&mut self, here: CurrentDir<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        for (name, noted) in entry.names.get(&id).into_iter().flatten() {
            let Some(stat) = self.stat(here.at(name))? else {
                continue;
            };
            let leaves =
                self.selected.contains(&(id, name.clone())) && noted.before != Some(stat.id);
            self.remember_stage_dir(here, here.at(name))?;
            let outer = self.is_leaving;
            self.is_leaving |= leaves && self.entry.is_new(stat.id);
            self.enter(
                here,
                name,
                &stat,
                self.is_leaving || self.is_deep(),
                Self::take_away,
                Self::take_out,
            )?;
            self.is_leaving = outer;
            self.remember_stage_dir(here, here.at(name))?;
            if leaves {
                self.take(here.at(name), &stat)?;
            } else if self.wanted.contains(&stat.id)
                && !stat.is_dir()
                && !self.away.contains_key(&stat.id)
            {
                self.keep_reachable(here.at(name), &stat)?;
            } else if stat.links > 1 {
                // An object that another name moves away is found by this record.
                self.recorder.before_create(here.at(name))?;
            }
        }
        Ok(())
    }

    /// Remembers a directory that stays as a place for staging.
    fn remember_stage_dir(&mut self, here: CurrentDir<'_>, at: At<'_>) -> Result<(), JournalError> {
        if !self.is_leaving && self.is_apart(at) {
            let stage = StagedName::of(here.itself(), Bytes(Vec::new()));
            self.stage = Some(stage.map_err(self.failed(here.itself(), "duplicating its handle"))?);
        }
        Ok(())
    }

    /// Moves old objects that are removed or restored out of a directory that the entry made.
    fn take_out(
        &mut self,
        here: CurrentDir<'_>,
        name: &Bytes,
        stat: &Stat,
    ) -> Result<(), JournalError> {
        let is_old = self.is_leaving && self.entry.olds.contains_key(&stat.id);
        if is_old || self.wanted.contains(&stat.id) {
            self.take(here.at(name), stat)
        } else {
            Ok(())
        }
    }

    /// Restores the objects under the names in a directory.
    fn put_back(&mut self, here: CurrentDir<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        for (name, noted) in entry.names.get(&id).into_iter().flatten() {
            let at = here.at(name);
            let is_selected = self.selected.contains(&(id, name.clone()));
            // A directory has one name. A second record means that somebody else moved it, or
            // forged the log.
            if is_selected
                && let Some(before) = noted.before
                && !(self.back.contains(&before)
                    && entry.olds.get(&before).is_some_and(|old| old.stat.is_dir()))
                && self.stat(at)?.is_none()
            {
                self.put(at, before)?;
            }
            let Some(stat) = self.stat(at)? else { continue };
            let is_back = is_selected && noted.before == Some(stat.id) && self.back.insert(stat.id);
            self.enter(
                here,
                name,
                &stat,
                self.is_deep(),
                Self::put_back,
                |_, _, _, _| Ok(()),
            )?;
            if stat.is_dir() {
                if is_back && !entry.names.contains_key(&stat.id) {
                    self.restore_dir(at, stat.id)?;
                }
                continue;
            }
            if is_back {
                self.restore_file(at, stat.id)?;
            }
            // One more link changes the ctime.
            if self.remade.contains_key(&stat.id) {
                self.versions
                    .extend(self.stat(at)?.map(|made| (made.id, made)));
            }
        }
        self.restore_dir(here.itself(), id)
    }

    fn restore_file(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        let Some(old) = entry.olds.get(&id) else {
            return Ok(());
        };
        if !old.kept.is_empty() {
            // Removing the link changes the ctime.
            self.recorder.before_create(at)?;
        }
        self.restore_content(at, old)?;
        self.restore_metadata(at, old, old.stat.mtime)
    }

    fn restore_dir(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        let Some(old) = entry.olds.get(&id) else {
            return Ok(());
        };
        let is_selected = |name: &Bytes| self.selected.contains(&(id, name.clone()));
        let mut names = entry
            .names
            .get(&id)
            .into_iter()
            .flatten()
            .filter(|(_, noted)| entry.is_changed(noted));
        let is_whole = names.all(|(name, noted)| noted.before == noted.after || is_selected(name));
        // Somebody else may have changed it since.
        let left = old.after.map(|after| after.stat.mtime);
        let is_as_left = self
            .survey
            .objects
            .get(&id)
            .is_none_or(|now| Some(now.mtime) == left);
        let Some(now) = self.stat(at)? else {
            return Ok(());
        };
        let mtime = if is_whole && is_as_left {
            old.stat.mtime
        } else {
            now.mtime
        };
        if self.all || self.back.contains(&id) || self.wanted.contains(&id) {
            return self.restore_metadata(at, old, mtime);
        }
        let as_it_is = OldObject {
            stat: Stat { mtime, ..now },
            attributes: None,
            ..old.clone()
        };
        self.restore_metadata(at, &as_it_is, mtime)
    }

    /// Fails if the changer refuses a step at the directory's current place.
    fn check_place(
        &self,
        at: At<'_>,
        ask: impl FnOnce(&dyn Changer) -> Result<(), Misplaced>,
    ) -> Result<(), JournalError> {
        self.changer.map_or(Ok(()), ask).map_err(|misplaced| {
            let path = self.recorder.display_path(at).into();
            match misplaced {
                Misplaced::Protected(protected) => JournalError::Protected { path, protected },
                Misplaced::Elsewhere => JournalError::Moved { path },
                Misplaced::Unknown(errno) => self.failed(at, "finding its place")(errno),
            }
        })
    }

    fn may_change(&self, at: At<'_>) -> Result<(), JournalError> {
        self.check_place(at, |changer| changer.may_change(at.dir, at.name))
    }

    /// Fails if the object at `from` may not have this name.
    pub(super) fn may_put(
        &self,
        at: At<'_>,
        from_dir: BorrowedFd<'_>,
        from_name: &OsStr,
        is_dir: bool,
    ) -> Result<(), JournalError> {
        self.check_place(at, |changer| {
            changer.may_bear(at.dir, at.name, is_dir.then_some((from_dir, from_name)))
        })?;
        if is_dir {
            self.check_origins_below(at, from_dir, from_name)?;
        }
        Ok(())
    }

    /// Moves an object into the store.
    fn take(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        self.may_change(at)?;
        if stat.links > 1 && !stat.is_dir() && !self.wanted.contains(&stat.id) {
            // It stays under its other names, as it was.
            self.restore_file(at, stat.id)?;
        }
        self.take_as_it_is(at, stat)
    }

    fn take_as_it_is(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self.is_apart(at) {
            return self.take_apart(at, stat);
        }
        let file = self.recorder.before_store(at)?;
        let to = file_name(self.recorder.number(), file);
        let store = self.store.kept.as_fd();
        let renamed = with_access(at.dir, || {
            match renameat_with(at.dir, at.name, store, &to, RenameFlags::NOREPLACE) {
                // The rename changes its `..`.
                Err(Errno::ACCESS) if stat.is_dir() => {
                    let dir = open_dir(at.dir, at.name)?.ok_or(Errno::NOENT)?;
                    with_access(dir.as_fd(), || {
                        renameat_with(at.dir, at.name, store, &to, RenameFlags::NOREPLACE)
                    })
                }
                renamed => renamed,
            }
        });
        let failed = || self.failed(at, "taking it away");
        renamed.map_err(failed())?;
        // One link to it is enough.
        let is_same = |one: &OsStr, other: &OsStr| {
            let id =
                |name: &OsStr| object::stat(store, name).map(|found| found.map(|stat| stat.id));
            Ok(id(one)? == id(other)?)
        };
        if let Some(first) = self.away.get(&stat.id)
            && is_same(&file_name(self.recorder.number(), *first), &to).map_err(failed())?
        {
            unlinkat(store, &to, AtFlags::empty()).map_err(failed())?;
        }
        self.away.entry(stat.id).or_insert(file);
        Ok(())
    }

    /// Makes sure that an object that stays can get another name.
    fn keep_reachable(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self.is_apart(at) {
            return self.hold_apart(at, stat);
        }
        self.recorder.before_remove(at)?;
        let raw = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        let kept = raw
            .and_then(|raw| self.recorder.entry.olds.get(&raw.id))
            .and_then(|old| old.kept.first());
        self.away.extend(kept.map(|kept| (stat.id, kept.file)));
        Ok(())
    }

    /// Gives an object its name back. Removes it again if the directory was moved meanwhile to a
    /// place where the name is refused.
    fn put(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        self.restore_object(at, id)?;
        let Some(stat) = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?
        else {
            return Ok(());
        };
        let may = self.may_put(at, at.dir, at.name, stat.is_dir());
        if may.is_err() {
            self.take_as_it_is(at, &stat)?;
        }
        may
    }

    fn restore_object(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let entry = self.entry;
        let Some(old) = entry.olds.get(&id) else {
            return Err(self.failed(at, "putting it back")(Errno::NOENT));
        };
        self.check_origin(at, old)?;
        if self.put_staged(at, id)? {
            return Ok(());
        }
        let own = self.away.get(&id).map(|file| StoredFile {
            entry: self.recorder.number(),
            file: *file,
            is_copy: false,
        });
        let kept = own
            .iter()
            .chain(&old.kept)
            .chain(self.later.get(&id).into_iter().flatten());
        let kept: Vec<StoredFile> = kept.copied().collect();
        for source in kept {
            if self.put_from(at, old, source)? {
                return Ok(());
            }
        }
        if old.stat.is_dir() {
            self.may_put(at, at.dir, at.name, true)?;
            self.recorder.before_restore(at, None)?;
            let made = with_access(at.dir, || mkdirat(at.dir, at.name, Mode::RWXU));
            made.map_err(self.failed(at, "making the directory again"))?;
            return self.remember(at, id);
        }
        if let Content::Copy(file) = old.content
            && self.put_from(
                at,
                old,
                StoredFile {
                    entry: old.copied_by,
                    file,
                    is_copy: true,
                },
            )?
        {
            return Ok(());
        }
        Err(self.failed(at, "putting it back")(Errno::NOENT))
    }

    /// Restores an object from a file in the store. Returns `false` if that does not exist.
    fn put_from(
        &mut self,
        at: At<'_>,
        old: &OldObject,
        source: StoredFile,
    ) -> Result<bool, JournalError> {
        let dir = self.store.kept.as_fd();
        let name = &source.name();
        let failed = || self.failed(at, "putting it back");
        let Some(found) = object::stat(dir, name).map_err(failed())? else {
            return Ok(false);
        };
        if found.is_dir() != old.stat.is_dir()
            || !source.is_copy && self.same.first(found.id) != old.stat.id
        {
            return Ok(false);
        }
        self.may_put(at, dir, name, found.is_dir())?;
        self.recorder
            .before_restore(at, Some(&found).filter(|_| !source.is_copy))?;
        let failed = || self.failed(at, "putting it back");
        if found.is_dir() {
            let renamed = with_access(at.dir, || {
                match renameat_with(dir, name, at.dir, at.name, RenameFlags::NOREPLACE) {
                    Err(Errno::ACCESS) => {
                        let moved = open_dir(dir, name)?.ok_or(Errno::NOENT)?;
                        with_access(moved.as_fd(), || {
                            renameat_with(dir, name, at.dir, at.name, RenameFlags::NOREPLACE)
                        })
                    }
                    renamed => renamed,
                }
            });
            return renamed.map(|()| true).map_err(failed());
        }
        if !source.is_copy {
            match with_access(at.dir, || object::link(dir, name, at.dir, at.name)) {
                Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => {}
                linked => return linked.map(|()| true).map_err(failed()),
            }
        }
        let Some(from) = object::handle(dir, name).map_err(failed())? else {
            return Ok(false);
        };
        let copied = with_access(at.dir, || {
            object::copy_object(from.as_fd(), &found, at.dir, at.name, u64::MAX)
        });
        copied.map_err(failed())?;
        self.remember(at, old.stat.id)?;
        Ok(true)
    }

    /// Records that the object now under a name is the restored one.
    fn remember(&mut self, at: At<'_>, id: Id) -> Result<(), JournalError> {
        let made = object::stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        if let Some(made) = made {
            self.same.add_id(made.id, id);
            if !made.is_dir()
                && self
                    .entry
                    .olds
                    .get(&id)
                    .is_some_and(|old| old.stat.links > 1)
            {
                let placed = StagedName::of(at, Bytes::of(at.name))
                    .map_err(self.failed(at, "duplicating a handle"))?;
                self.placed.insert(id, placed);
            }
            self.remade.insert(id, made.id);
        }
        Ok(())
    }

    fn restore_content(&mut self, at: At<'_>, old: &OldObject) -> Result<(), JournalError> {
        let failed = || self.failed(at, "restoring its content");
        let Some(handle) = object::handle(at.dir, at.name).map_err(failed())? else {
            return Ok(());
        };
        let now = stat_of(&handle).map_err(failed())?;
        if !now.is_file() {
            return Ok(());
        }
        let copy = match old.content {
            Content::Same | Content::NotKept => return Ok(()),
            Content::Grew if now.size == old.stat.size => return Ok(()),
            Content::Grew => None,
            Content::Copy(file) => {
                let copy = object::open_file(
                    &self.store.kept,
                    &file_name(old.copied_by, file),
                    OFlags::RDONLY,
                );
                let copy = copy
                    .and_then(|copy| copy.ok_or(Errno::NOENT))
                    .map_err(failed())?;
                if now.size == old.stat.size
                    && object::reopen(&handle, OFlags::RDONLY)
                        .is_ok_and(|now| object::is_same_content(&copy, now) == Ok(true))
                {
                    return Ok(());
                }
                Some(copy)
            }
        };
        self.may_change(at)?;
        self.check_origin(at, old)?;
        self.recorder.content(at, Writing::Anywhere)?;
        let failed = || self.failed(at, "restoring its content");
        if now.mode & object::SET_ID != 0 {
            // Restored content never runs with another user's privileges.
            object::set_mode(&handle, now.mode & !object::SET_ID).map_err(failed())?;
        }
        let to = match object::reopen(&handle, OFlags::WRONLY) {
            Err(Errno::ACCESS) => {
                // Its own mode is restored with the rest.
                object::set_mode(&handle, now.mode | 0o600)
                    .and_then(|()| object::reopen(&handle, OFlags::WRONLY))
            }
            opened => opened,
        };
        let to = to.map_err(failed())?;
        match copy {
            Some(copy) => object::copy(to, copy, old.stat.size),
            None => ftruncate(to, old.stat.size),
        }
        .map_err(failed())
    }

    fn restore_metadata(
        &mut self,
        at: At<'_>,
        old: &OldObject,
        mtime: i64,
    ) -> Result<(), JournalError> {
        let failed = || self.failed(at, "restoring its metadata");
        let Some(handle) = object::handle(at.dir, at.name).map_err(failed())? else {
            return Ok(());
        };
        let now = stat_of(&handle).map_err(failed())?;
        // A log never adds a set-ID bit; an existing one may stay.
        let was = Stat {
            mtime,
            mode: old.stat.mode & (now.mode | !object::SET_ID),
            ..old.stat
        };
        let attributes = match &old.attributes {
            Some(were) => object::attributes(&handle)
                .map_err(failed())?
                .is_some_and(|now| now != *were),
            None => false,
        };
        if now.rights() == was.rights() && now.mtime == mtime && !attributes {
            return Ok(());
        }
        self.may_change(at)?;
        self.recorder.metadata(at)?;
        object::restore(handle.as_fd(), &was, old.attributes.as_ref())
            .map_err(self.failed(at, "restoring its metadata"))
    }
}
