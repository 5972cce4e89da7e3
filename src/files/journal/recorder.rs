//! Recorder: saves data that would be lost, and records each change before it is made.
//!
//! The caller announces a change and goes on after the call has returned: then the previous state
//! is on the disk. Everything is recorded once, when it is first at risk. Objects that the entry
//! made need no record, nor do names in such a directory. The birth time alone does not prove that:
//! the object must stand under a name where the entry was about to make something. Any other object
//! belongs to somebody else, however young, and is recorded like an old one.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, unlinkat};
use rustix::io::Errno;

use super::appended::{Digests, digest};
use super::bytes::Bytes;
use super::entry::{Entry, OldObject, file_name};
use super::error::JournalError;
use super::keeping::{Keeping, WhenFull, is_full};
use super::log::{Content, Event, Log};
use super::object::{self, Id, Stat, attributes, open_dir, stat, stat_of};
use super::root::Root;

/// Name of a change: its directory (an `O_PATH` descriptor suffices), the root index, and the
/// current path below the root. The path is used only if the directory is not yet known, and must
/// lead to it.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub dir: BorrowedFd<'a>,
    pub name: &'a OsStr,
    pub root: usize,
    pub path: &'a Path,
    /// Result of a recent lookup by the caller: the directory, and the object under the name.
    pub seen: Option<(Id, Option<Stat>)>,
}

/// Memory of the records, per byte of the log.
const NOTES_SHARE: u64 = 4;

/// Largest file that is copied even if it is opened only for appending, in bytes.
const APPENDED_COPY_BYTES: u64 = 1024 * 1024;
/// Operation named in errors.
const LOOKING: &str = "looking at it";

/// Way in which content is about to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Only beyond the end: the file is opened for appending only.
    Appends,
    Anywhere,
}

/// An entry being made.
#[derive(Debug)]
pub struct Recorder {
    roots: Arc<[Root]>,
    root_ids: Arc<[Id]>,
    /// Directory of saved files in the store.
    pub(super) kept: Arc<OwnedFd>,
    /// Locked as long as the entry is being made.
    pub(super) log: Log,
    pub(super) entry: Entry,
    /// Earlier part of a continued entry, which this recorder has not made.
    pub(super) earlier: Option<Box<Entry>>,
    /// Known directories; `true` if names in them must be recorded.
    pub(super) known: HashMap<Id, bool>,
    /// Objects that the entry made.
    pub(super) made: HashSet<Id>,
    /// Recorded names under which the entry is about to make an object.
    pub(super) gaining: HashSet<(Id, Bytes)>,
    /// Digests of files of which only the length is saved.
    pub(super) digests: Digests,
    /// Disk space of the copies; `None` if it must be measured at the end.
    pub(super) copied_bytes: Option<u64>,
    pub(super) keeping: Keeping,
    /// If the entry is ended after a crash: the latest time of its own changes.
    pub(super) crashed: Option<i64>,
    has_skipped: bool,
}

/// Object of an announced change.
#[derive(Clone, Copy)]
pub(super) enum ChangedObject<'a> {
    At(At<'a>),
    Open(BorrowedFd<'a>, &'a Path),
}

impl ChangedObject<'_> {
    pub(super) fn handle(&self) -> Result<Option<OwnedFd>, Errno> {
        match self {
            Self::At(at) => object::handle(at.dir, at.name),
            Self::Open(object, _) => object::handle(object, OsStr::new("")),
        }
    }
}

impl Recorder {
    /// Returns the memory of the records, about 1.2 KiB per file.
    pub fn held_bytes(&self) -> u64 {
        self.log.bytes() * NOTES_SHARE
    }

    pub(super) fn new(
        roots: Arc<[Root]>,
        root_ids: Arc<[Id]>,
        kept: Arc<OwnedFd>,
        keeping: Keeping,
        log: Log,
        entry: Entry,
    ) -> Self {
        Self {
            roots,
            root_ids,
            kept,
            log,
            entry,
            earlier: None,
            known: HashMap::new(),
            made: HashSet::new(),
            gaining: HashSet::new(),
            digests: Digests::new(),
            copied_bytes: Some(0),
            keeping,
            crashed: None,
            has_skipped: false,
        }
    }

    /// Returns the number of the entry.
    pub fn number(&self) -> u64 {
        self.entry.number
    }

    /// Returns true if [`Self::before_create`] has nothing to record for a name in this directory. Does not
    /// access the tree, like the methods below.
    pub fn knows_gain(&self, dir: Id, name: &OsStr) -> bool {
        let is_awaited = || self.gaining.contains(&(dir, Bytes::of(name)));
        self.known
            .get(&dir)
            .is_some_and(|is_noted| !is_noted || is_awaited())
    }

    /// Returns true if [`Self::before_remove`] has nothing to record in this directory, nor has a rename
    /// between such directories. It is new, and no old object went into a new directory.
    pub fn knows_loss(&self, dir: Id) -> bool {
        self.known.get(&dir) == Some(&false) && !self.entry.is_deep
    }

    /// Returns true if an object is recorded.
    pub fn has(&self, object: Id) -> bool {
        self.entry.olds.contains_key(&object)
    }

    /// Returns true if a skipped name was announced.
    pub fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// Returns true if the content of an object needs no record.
    pub fn knows_content(&self, object: Id, writing: Writing) -> bool {
        let known = |old: &OldObject| match old.content {
            Content::Same => false,
            Content::Grew => writing == Writing::Appends,
            Content::Copy(_) | Content::NotKept => true,
        };
        self.made.contains(&object) || self.entry.olds.get(&object).is_some_and(known)
    }

    /// Returns true if the metadata of an object needs no record.
    pub fn knows_metadata(&self, object: Id) -> bool {
        self.made.contains(&object)
            || self
                .entry
                .olds
                .get(&object)
                .is_some_and(|old| old.attributes.is_some())
    }

    /// Announces a possible new object under a name (`O_CREAT`, mkdir, symlink, mknod, bind, link).
    /// An existing object stays.
    pub fn before_create(&mut self, at: At<'_>) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&ChangedObject::At(at), |own| match own.name(at)? {
            Some(_) => Ok(()),
            None => own.expect_at(at),
        })
    }

    /// Announces that the object under a name may be removed (unlink, rmdir).
    pub fn before_remove(&mut self, at: At<'_>) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&ChangedObject::At(at), |own| match own.name(at)? {
            Some(stat) => own.save(at, &stat),
            None => Ok(()),
        })
    }

    /// Announces a rename or, with `exchanges`, an exchange of two names. Both lie in the roots:
    /// objects that leave the roots are announced as lost, name by name.
    pub fn before_rename(
        &mut self,
        from: At<'_>,
        to: At<'_>,
        exchanges: bool,
    ) -> Result<(), JournalError> {
        let (from_skipped, to_skipped) = (self.skips(from), self.skips(to));
        self.recording(&ChangedObject::At(from), |own| {
            let source = if from_skipped { None } else { own.name(from)? };
            let target = if to_skipped { None } else { own.name(to)? };
            match source {
                Some(stat) if to_skipped => own.record_exit(from, &stat)?,
                Some(stat) => own.record_move(from, &stat, to)?,
                None if from_skipped && !to_skipped => own.expect_at(to)?,
                None => {}
            }
            match target {
                Some(stat) if exchanges && from_skipped => own.record_exit(to, &stat),
                Some(stat) if exchanges => own.record_move(to, &stat, from),
                // For two links to the same object, rename(2) does nothing.
                Some(stat) => own.save(to, &stat),
                None => Ok(()),
            }
        })
    }

    /// Announces a hard link. The kernel refuses it for a directory, which may have an empty name.
    pub fn links(&mut self, from: At<'_>, to: At<'_>) -> Result<(), JournalError> {
        let (from_skipped, to_skipped) = (from.name.is_empty() || self.skips(from), self.skips(to));
        self.recording(&ChangedObject::At(from), |own| {
            if !to_skipped {
                own.name(to)?;
            }
            // The object may be changed under a new name that is not recorded.
            if !from_skipped
                && own
                    .name(from)?
                    .is_some_and(|stat| !own.entry.is_new(stat.id))
                && !to_skipped
            {
                own.enters_new_dir(to)?;
            }
            Ok(())
        })
    }

    /// Announces a change of mode, owner, times or attributes; with an empty name, those of the
    /// directory itself.
    pub fn metadata(&mut self, at: At<'_>) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&ChangedObject::At(at), |own| {
            let found = if at.name.is_empty() {
                own.directory(at).map(|_| own.lookup(at))??
            } else {
                own.name(at)?
            };
            found.map_or(Ok(()), |stat| {
                own.note_metadata(&ChangedObject::At(at), &stat)
            })
        })
    }

    /// Announces a change of content in place: an open for writing, or truncate(2).
    pub fn content(&mut self, at: At<'_>, writing: Writing) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&ChangedObject::At(at), |own| {
            let found = own.name(at)?;
            found.map_or(Ok(()), |stat| {
                own.note_content(&ChangedObject::At(at), &stat, writing)
            })
        })
    }

    /// Announces a metadata change of an open object, like [`Self::metadata`]; `O_PATH` suffices.
    /// The object may have lost its names: a link in the store changes with it. `shown` is used in
    /// errors.
    pub fn metadata_of(
        &mut self,
        object: BorrowedFd<'_>,
        shown: &Path,
    ) -> Result<(), JournalError> {
        let found = ChangedObject::Open(object, shown);
        self.recording(&found, |own| {
            let stat = stat_of(object).map_err(|errno| own.failed(&found, LOOKING, errno))?;
            own.note_metadata(&found, &stat)
        })
    }

    /// Announces a content change of an open object, as for ftruncate(2), like [`Self::content`].
    pub fn content_of(
        &mut self,
        object: BorrowedFd<'_>,
        shown: &Path,
        writing: Writing,
    ) -> Result<(), JournalError> {
        let found = ChangedObject::Open(object, shown);
        self.recording(&found, |own| {
            let stat = stat_of(object).map_err(|errno| own.failed(&found, LOOKING, errno))?;
            own.note_content(&found, &stat, writing)
        })
    }

    /// Announces that the object under the name is about to be renamed into the store. Returns the
    /// number of its file there.
    pub(super) fn before_store(&mut self, at: At<'_>) -> Result<u32, JournalError> {
        self.recording(&ChangedObject::At(at), |own| {
            let found = own.name(at)?;
            let (file, _) = own.next_file();
            if let Some(stat) = found {
                own.note_attributes(&ChangedObject::At(at), &stat)?;
                if own
                    .entry
                    .olds
                    .get(&stat.id)
                    .is_some_and(|old| old.kept.is_empty())
                {
                    own.note(Event::Kept {
                        id: stat.id,
                        file,
                        is_copy: false,
                    });
                }
            }
            Ok(file)
        })
    }

    /// Announces that a saved object, with this metadata, is about to get the name.
    pub(super) fn before_restore(
        &mut self,
        at: At<'_>,
        kept: Option<&Stat>,
    ) -> Result<(), JournalError> {
        self.recording(&ChangedObject::At(at), |own| {
            own.name(at)?;
            own.expect_at(at)?;
            if let Some(stat) = kept.filter(|stat| !own.entry.is_new(stat.id)) {
                // One more link changes the ctime.
                own.note_object(stat);
            }
            own.enters_new_dir(at).map(drop)
        })
    }

    fn recording<T>(
        &mut self,
        object: &ChangedObject<'_>,
        note: impl FnOnce(&mut Self) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        #[cfg(test)]
        super::tests::crashes::maybe_end();
        let noted = note(self);
        if let Err(source) = self.log.write()
            && !(self.keeping.when_full == WhenFull::Drop && is_full(Errno::from_io_error(&source)))
        {
            let what = format!("{}: writing down what was there", self.name_of(object));
            return Err(JournalError::Io { what, source });
        }
        #[cfg(test)]
        super::tests::crashes::maybe_end();
        noted
    }

    pub(super) fn note(&mut self, event: Event) {
        self.log.add(event.clone());
        // Events made here are always valid.
        let _ = self.entry.apply(event);
    }

    pub(super) fn display_path(&self, at: At<'_>) -> String {
        self.roots[at.root]
            .shown
            .join(at.path)
            .join(at.name)
            .display()
            .to_string()
    }

    fn name_of(&self, object: &ChangedObject<'_>) -> String {
        match object {
            ChangedObject::At(at) => self.display_path(*at),
            ChangedObject::Open(_, shown) => shown.display().to_string(),
        }
    }

    fn failed(&self, object: &ChangedObject<'_>, what: &str, errno: Errno) -> JournalError {
        JournalError::io(format!("{}: {what}", self.name_of(object)))(errno)
    }

    /// Returns true if a name is excluded from recording, and remembers that.
    pub(super) fn skips(&mut self, at: At<'_>) -> bool {
        let skips = self
            .keeping
            .skips
            .as_ref()
            .is_some_and(|skips| skips(at.root, &at.path.join(at.name)));
        self.has_skipped |= skips;
        skips
    }

    /// Records the object under a name. Returns the current one.
    fn name(&mut self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        let (dir, is_noted) = self.directory(at)?;
        let found = self.lookup(at)?;
        let old = found.filter(|stat| !self.is_own(dir, at.name, stat.id));
        if is_noted
            && (!self.is_noted(dir, at.name)
                || old.is_some_and(|old| self.is_overtaken(dir, at.name, old.id)))
        {
            if !self.has(dir) {
                self.note_object(
                    &stat_of(at.dir)
                        .map_err(|errno| self.failed(&ChangedObject::At(at), LOOKING, errno))?,
                );
            }
            if let Some(stat) = &old {
                self.note_object(stat);
            }
            self.note(Event::Name {
                dir,
                name: Bytes::of(at.name),
                before: old.map(|stat| stat.id),
            });
        }
        if let Some(stat) = &old {
            self.note_object(stat);
        }
        Ok(found)
    }

    /// Returns the directory, and whether names in it are recorded. At the first record in it, the
    /// names that lead to it from a known directory are recorded, too.
    pub(super) fn directory(&mut self, at: At<'_>) -> Result<(Id, bool), JournalError> {
        let known = |id: Id| Some((id, *self.known.get(&id)?));
        if let Some(known) = at.seen.and_then(|(dir, _)| known(dir)) {
            return Ok(known);
        }
        let failed = |errno| self.failed(&ChangedObject::At(at), "looking at its directory", errno);
        let own = stat_of(at.dir).map_err(failed)?;
        if let Some(known) = known(own.id) {
            return Ok(known);
        }
        let moved = || JournalError::Moved {
            path: self.roots[at.root].shown.join(at.path),
        };
        let (mut dir, mut handle, mut leading) = (own, None, Vec::new());
        for name in at.path.iter().rev() {
            let inner = handle.as_ref().map_or(at.dir, OwnedFd::as_fd);
            let above = open_dir(inner, OsStr::new(".."))
                .map_err(failed)?
                .ok_or_else(moved)?;
            let outer = stat_of(&above).map_err(failed)?;
            let found = stat(&above, name).map_err(failed)?;
            if found.is_none_or(|found| found.id != dir.id) {
                return Err(moved());
            }
            leading.push((outer, Bytes::of(name), dir));
            (dir, handle) = (outer, Some(above));
            if self.known.contains_key(&dir.id) {
                break;
            }
        }
        if dir.id != self.root_ids[at.root] && !self.known.contains_key(&dir.id) {
            return Err(moved());
        }
        for (outer, name, found) in leading.into_iter().rev() {
            let is_own = self.is_own(outer.id, name.name(), found.id);
            let is_outer_noted = *self.known.entry(outer.id).or_insert(true);
            let is_noted = self.is_noted(outer.id, name.name())
                && (is_own || !self.is_overtaken(outer.id, name.name(), found.id));
            if is_outer_noted && !is_noted {
                self.note_object(&outer);
                if !is_own {
                    self.note_object(&found);
                }
                self.note(Event::Name {
                    dir: outer.id,
                    name,
                    before: (!is_own).then_some(found.id),
                });
            }
            self.known.insert(found.id, !is_own);
        }
        Ok((own.id, *self.known.entry(own.id).or_insert(true)))
    }

    /// Returns the object that now has the name.
    fn lookup(&self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        let looked = at
            .seen
            .map_or_else(|| stat(at.dir, at.name), |(_, found)| Ok(found));
        looked.map_err(|errno| self.failed(&ChangedObject::At(at), LOOKING, errno))
    }

    fn is_noted(&self, dir: Id, name: &OsStr) -> bool {
        self.entry
            .names
            .get(&dir)
            .is_some_and(|names| names.contains_key(name.as_bytes()))
    }

    fn note_object(&mut self, stat: &Stat) {
        if !self.entry.olds.contains_key(&stat.id) {
            self.note(Event::Object(*stat));
        }
    }

    fn note_metadata(
        &mut self,
        object: &ChangedObject<'_>,
        stat: &Stat,
    ) -> Result<(), JournalError> {
        if self.entry.is_new(stat.id) {
            return Ok(());
        }
        self.note_object(stat);
        self.note_attributes(object, stat)
    }

    fn note_content(
        &mut self,
        object: &ChangedObject<'_>,
        stat: &Stat,
        writing: Writing,
    ) -> Result<(), JournalError> {
        if !stat.is_file() || self.knows_content(stat.id, writing) {
            return Ok(());
        }
        self.note_metadata(object, stat)?;
        match writing {
            Writing::Appends => {
                let (file, name) = self.next_file();
                let most = APPENDED_COPY_BYTES.min(self.keeping.most_bytes);
                let is_copied = self.try_to_copy(object, stat.id, &name, most) == Ok(true);
                let content = if is_copied {
                    Content::Copy(file)
                } else {
                    Content::Grew
                };
                self.note(Event::Content {
                    id: stat.id,
                    content,
                });
                if !is_copied {
                    self.take_digest(object, stat.id);
                }
            }
            Writing::Anywhere => {
                let (file, name) = self.next_file();
                if self.copy_to(object, stat.id, &name)? {
                    self.note(Event::Content {
                        id: stat.id,
                        content: Content::Copy(file),
                    });
                }
            }
        }
        Ok(())
    }

    fn note_attributes(
        &mut self,
        object: &ChangedObject<'_>,
        stat: &Stat,
    ) -> Result<(), JournalError> {
        if self
            .entry
            .olds
            .get(&stat.id)
            .is_none_or(|old| old.attributes.is_some())
            || stat.is_link()
        {
            return Ok(());
        }
        let handle = object
            .handle()
            .map_err(|errno| self.failed(object, "opening it", errno))?;
        let Some(handle) = handle else { return Ok(()) };
        let all = attributes(&handle)
            .map_err(|errno| self.failed(object, "reading its attributes", errno))?;
        if let Some(all) = all {
            self.note(Event::Attributes { id: stat.id, all });
        }
        Ok(())
    }

    /// Records a move. A move to where names are not recorded would lose track of the object.
    fn record_move(&mut self, from: At<'_>, stat: &Stat, to: At<'_>) -> Result<(), JournalError> {
        if self.entry.is_new(stat.id) || !self.enters_new_dir(to)? {
            return Ok(());
        }
        self.save(from, stat)
    }

    /// Records a move to an excluded name.
    fn record_exit(&mut self, from: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if stat.is_dir() && !self.entry.is_new(stat.id) {
            self.note(Event::Content {
                id: stat.id,
                content: Content::NotKept,
            });
        }
        self.save(from, stat)
    }

    /// Records that an old object gets this place; returns true if names are not recorded there.
    fn enters_new_dir(&mut self, to: At<'_>) -> Result<bool, JournalError> {
        let is_noted = self.directory(to)?.1;
        if !is_noted && !self.entry.is_deep {
            self.note(Event::Deep);
        }
        Ok(!is_noted)
    }

    /// Saves an object that may lose its last name.
    fn save(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self
            .entry
            .olds
            .get(&stat.id)
            .is_none_or(|old| !old.kept.is_empty())
        {
            return Ok(());
        }
        let object = ChangedObject::At(at);
        if stat.is_dir() {
            return self.note_attributes(&object, stat);
        }
        let (id, (file, name)) = (stat.id, self.next_file());
        // A link changes the ctime, so the log must hold the old one before. A write error is
        // reported below.
        let _ = self.log.write();
        match object::link(at.dir, at.name, self.kept.as_fd(), &name) {
            Ok(()) => self.note(Event::Kept {
                id,
                file,
                is_copy: false,
            }),
            Err(Errno::NOENT) => {}
            // It lies on another filesystem, belongs to somebody else, or has the maximum number of
            // links.
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::ACCESS) => {
                if matches!(self.entry.olds[&id].content, Content::Copy(_)) {
                    return Ok(());
                }
                self.note_attributes(&object, stat)?;
                if self.copy_to(&object, id, &name)? {
                    self.note(Event::Kept {
                        id,
                        file,
                        is_copy: true,
                    });
                }
            }
            Err(errno) => return self.handle_unsaved(&object, id, "keeping a link to it", errno),
        }
        Ok(())
    }

    /// Handles data that the store cannot save.
    fn handle_unsaved(
        &mut self,
        object: &ChangedObject<'_>,
        id: Id,
        what: &str,
        errno: Errno,
    ) -> Result<(), JournalError> {
        if self.keeping.when_full == WhenFull::Refuse || !is_full(Some(errno)) {
            return Err(self.failed(object, what, errno));
        }
        // A copy of the old content suffices.
        if !matches!(self.entry.olds[&id].content, Content::Copy(_)) {
            self.note(Event::Content {
                id,
                content: Content::NotKept,
            });
        }
        Ok(())
    }

    /// Copies an object into the store; returns true on success. Otherwise it is recorded as not
    /// saved.
    fn copy_to(
        &mut self,
        object: &ChangedObject<'_>,
        id: Id,
        name: &OsStr,
    ) -> Result<bool, JournalError> {
        let copied = self.try_to_copy(object, id, name, self.keeping.most_bytes);
        match copied {
            Ok(true) => return Ok(true),
            Err(errno) => self.handle_unsaved(object, id, "keeping a copy of it", errno)?,
            Ok(false) => self.note(Event::Content {
                id,
                content: Content::NotKept,
            }),
        }
        Ok(false)
    }

    /// Copies at most `most` bytes, if blocks cannot be shared; records nothing.
    fn try_to_copy(
        &mut self,
        object: &ChangedObject<'_>,
        id: Id,
        name: &OsStr,
        most: u64,
    ) -> Result<bool, Errno> {
        let copied = object.handle().and_then(|handle| {
            let Some(handle) = handle else {
                return Ok(None);
            };
            let now = stat_of(&handle)?;
            if now.id != id {
                return Ok(None);
            }
            // Bytes appended since are left out.
            let was = Stat {
                size: self.entry.olds[&id].stat.size.min(now.size),
                ..now
            };
            object::copy_object(handle.as_fd(), &was, self.kept.as_fd(), name, most)
        });
        if let Ok(Some(bytes)) = copied {
            self.copied_bytes = self.copied_bytes.map(|all| all + bytes);
            return Ok(true);
        }
        let _ = unlinkat(&self.kept, name, AtFlags::empty());
        copied.map(|_| false)
    }

    /// Returns the next unused file name in the store.
    pub(super) fn next_file(&mut self) -> (u32, OsString) {
        self.entry.files += 1;
        (
            self.entry.files,
            file_name(self.entry.number, self.entry.files),
        )
    }

    /// Computes the digest of a file of which only the length is saved. Without one, nothing is
    /// compared at the end.
    fn take_digest(&mut self, object: &ChangedObject<'_>, id: Id) {
        let size = self.entry.olds[&id].stat.size;
        let taken = || {
            let file = object.handle()?.ok_or(Errno::NOENT)?;
            digest(object::reopen(&file, OFlags::RDONLY)?, size)
        };
        if size <= self.keeping.most_bytes
            && let Ok(Some(digest)) = taken()
        {
            self.digests.insert(id, digest);
        }
    }
}
