//! Keeps what would be lost, and notes it, before a change is made.
//!
//! Whoever is about to change something says so here first, and goes on when the call has returned:
//! then what was there is on the disk. Everything is noted once, when it is in danger for the first
//! time. What the entry made needs no note, and neither does a name in such a directory. Birth
//! alone is no proof of that: an object is the entry's own if it stands under a name where the
//! entry was about to make something. Any other is somebody else's, however young, and is noted
//! like an old one.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, unlinkat};
use rustix::io::Errno;

use super::appended::{Digests, digest};
use super::bytes::Bytes;
use super::entry::{Entry, Old, file_name};
use super::error::JournalError;
use super::keeping::{Keeping, WhenFull, is_full};
use super::log::{Content, Event, Log};
use super::object::{self, Id, Stat, attributes, stat, stat_of};
use super::root::Root;

/// A name that a change is about: a handle of the directory (`O_PATH` will do), which root that
/// lies in, and its path below that now. The path is looked at only where the directory is not
/// known yet, and must lead to it.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub dir: BorrowedFd<'a>,
    pub name: &'a OsStr,
    pub root: usize,
    pub path: &'a Path,
    /// What was seen just now, if somebody has looked: the directory, and what stands under the
    /// name.
    pub seen: Option<(Id, Option<Stat>)>,
}

/// Memory of what is noted, for each byte of the log.
const NOTES_SHARE: u64 = 4;

/// Largest file that is copied although it is opened for appending alone, in bytes.
const APPENDED_COPY_BYTES: u64 = 1024 * 1024;
/// What failed.
const LOOKING: &str = "looking at it";

/// How content is about to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Only behind its end: the file is opened to be appended to and for nothing else.
    Appends,
    Anywhere,
}

/// One entry while it is made.
#[derive(Debug)]
pub struct Recorder {
    roots: Arc<[Root]>,
    root_ids: Arc<[Id]>,
    /// What the store keeps.
    pub(super) kept: Arc<OwnedFd>,
    /// Locked for as long as the entry is made.
    pub(super) log: Log,
    pub(super) entry: Entry,
    /// What the call noted before it went on, of which nothing is known here.
    pub(super) earlier: Option<Box<Entry>>,
    /// Directories in which names are noted, or need not be.
    pub(super) known: HashMap<Id, bool>,
    /// Objects that the entry made.
    pub(super) made: HashSet<Id>,
    /// Noted names under which the entry is about to make something.
    pub(super) gaining: HashSet<(Id, Bytes)>,
    /// Of what is only known by its length.
    pub(super) digests: Digests,
    /// What the copies take on the disk; `None` if it has to be looked up in the end.
    pub(super) copied_bytes: Option<u64>,
    pub(super) keeping: Keeping,
    /// If the entry is ended after a crash, the time up to which changes can be its own.
    pub(super) crashed: Option<i64>,
    has_skipped: bool,
}

/// What is about to change.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    At(At<'a>),
    Open(BorrowedFd<'a>, &'a Path),
}

impl Found<'_> {
    pub(super) fn handle(&self) -> Result<Option<OwnedFd>, Errno> {
        match self {
            Self::At(at) => object::handle(at.dir, at.name),
            Self::Open(object, _) => object::handle(object, OsStr::new("")),
        }
    }
}

impl Recorder {
    /// Memory of what is noted, about 1.2 KiB for a file.
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

    /// The number of the entry.
    pub fn number(&self) -> u64 {
        self.entry.number
    }

    /// Whether [`Self::gains`] has nothing to note of a name in this directory. Neither here nor
    /// below is the tree looked at.
    pub fn knows_gain(&self, dir: Id, name: &OsStr) -> bool {
        let is_awaited = || self.gaining.contains(&(dir, Bytes::of(name)));
        self.known
            .get(&dir)
            .is_some_and(|is_noted| !is_noted || is_awaited())
    }

    /// Whether [`Self::loses`], or a rename within such directories, has nothing to note of names
    /// in this one: it is new, and nothing old went into a new one.
    pub fn knows_loss(&self, dir: Id) -> bool {
        self.known.get(&dir) == Some(&false) && !self.entry.is_deep
    }

    /// Whether something is noted of an object.
    pub fn has(&self, object: Id) -> bool {
        self.entry.olds.contains_key(&object)
    }

    /// Whether it was told of a name that is skipped.
    pub fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// Whether there is nothing to note of the content of an object.
    pub fn knows_content(&self, object: Id, writing: Writing) -> bool {
        let known = |old: &Old| match old.content {
            Content::Same => false,
            Content::Grew => writing == Writing::Appends,
            Content::Copy(_) | Content::NotKept => true,
        };
        self.made.contains(&object) || self.entry.olds.get(&object).is_some_and(known)
    }

    /// Whether there is nothing to note of the metadata of an object.
    pub fn knows_metadata(&self, object: Id) -> bool {
        self.made.contains(&object)
            || self
                .entry
                .olds
                .get(&object)
                .is_some_and(|old| old.attributes.is_some())
    }

    /// Something new may stand under the name afterwards (`O_CREAT`, mkdir, symlink, mknod, bind,
    /// link). What stands there stays.
    pub fn gains(&mut self, at: At<'_>) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&Found::At(at), |own| match own.name(at)? {
            Some(_) => Ok(()),
            None => own.expect_at(at),
        })
    }

    /// What stands under the name may be gone afterwards (unlink, rmdir).
    pub fn loses(&mut self, at: At<'_>) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&Found::At(at), |own| match own.name(at)? {
            Some(stat) => own.keep(at, &stat),
            None => Ok(()),
        })
    }

    /// What stands under a name gets another, or, with `exchanges`, both get each other's. Both lie
    /// in the roots: what leaves them is lost, name by name.
    pub fn renames(
        &mut self,
        from: At<'_>,
        to: At<'_>,
        exchanges: bool,
    ) -> Result<(), JournalError> {
        let (from_skipped, to_skipped) = (self.skips(from), self.skips(to));
        self.recording(&Found::At(from), |own| {
            let source = if from_skipped { None } else { own.name(from)? };
            let target = if to_skipped { None } else { own.name(to)? };
            match source {
                Some(stat) if to_skipped => own.leaves(from, &stat)?,
                Some(stat) => own.moves(from, &stat, to)?,
                None if from_skipped && !to_skipped => own.expect_at(to)?,
                None => {}
            }
            match target {
                Some(stat) if exchanges && from_skipped => own.leaves(to, &stat),
                Some(stat) if exchanges => own.moves(to, &stat, from),
                // Of the same object rename(2) does nothing.
                Some(stat) => own.keep(to, &stat),
                None => Ok(()),
            }
        })
    }

    /// An object gets one more name.
    pub fn links(&mut self, from: At<'_>, to: At<'_>) -> Result<(), JournalError> {
        let (from_skipped, to_skipped) = (self.skips(from), self.skips(to));
        self.recording(&Found::At(from), |own| {
            if !to_skipped {
                own.name(to)?;
            }
            // It may be changed by the new name where that is not noted.
            if !from_skipped
                && own
                    .name(from)?
                    .is_some_and(|stat| !own.entry.is_new(stat.id))
                && !to_skipped
            {
                own.goes_deep(to)?;
            }
            Ok(())
        })
    }

    /// Mode, owner, times or attributes of an object may change; with an empty name, those of the
    /// directory itself.
    pub fn metadata(&mut self, at: At<'_>) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&Found::At(at), |own| {
            let found = if at.name.is_empty() {
                own.directory(at).map(|_| own.look(at))??
            } else {
                own.name(at)?
            };
            found.map_or(Ok(()), |stat| own.note_metadata(&Found::At(at), &stat))
        })
    }

    /// The content of a file may change in place, by opening it to write to it or by truncate(2).
    pub fn content(&mut self, at: At<'_>, writing: Writing) -> Result<(), JournalError> {
        if self.skips(at) {
            return Ok(());
        }
        self.recording(&Found::At(at), |own| {
            let found = own.name(at)?;
            found.map_or(Ok(()), |stat| {
                own.note_content(&Found::At(at), &stat, writing)
            })
        })
    }

    /// As [`Self::metadata`], of an open object; `O_PATH` will do. It may have lost its names: what
    /// the store has by a link changes with it. `shown` is for errors.
    pub fn metadata_of(
        &mut self,
        object: BorrowedFd<'_>,
        shown: &Path,
    ) -> Result<(), JournalError> {
        let found = Found::Open(object, shown);
        self.recording(&found, |own| {
            let stat = stat_of(object).map_err(|errno| own.failed(&found, LOOKING, errno))?;
            own.note_metadata(&found, &stat)
        })
    }

    /// As [`Self::content`], of an open object, as for ftruncate(2).
    pub fn content_of(
        &mut self,
        object: BorrowedFd<'_>,
        shown: &Path,
        writing: Writing,
    ) -> Result<(), JournalError> {
        let found = Found::Open(object, shown);
        self.recording(&found, |own| {
            let stat = stat_of(object).map_err(|errno| own.failed(&found, LOOKING, errno))?;
            own.note_content(&found, &stat, writing)
        })
    }

    /// What stands under the name is about to be renamed into the store, whole. The number of the
    /// file that it becomes.
    pub(super) fn takes(&mut self, at: At<'_>) -> Result<u32, JournalError> {
        self.recording(&Found::At(at), |own| {
            let found = own.name(at)?;
            let (file, _) = own.next_file();
            if let Some(stat) = found {
                own.note_attributes(&Found::At(at), &stat)?;
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

    /// What the store kept, which is like this, is about to stand under the name.
    pub(super) fn puts(&mut self, at: At<'_>, kept: Option<&Stat>) -> Result<(), JournalError> {
        self.recording(&Found::At(at), |own| {
            own.name(at)?;
            own.expect_at(at)?;
            if let Some(stat) = kept.filter(|stat| !own.entry.is_new(stat.id)) {
                // One more link stamps it.
                own.note_object(stat);
            }
            own.goes_deep(at).map(drop)
        })
    }

    fn recording<T>(
        &mut self,
        object: &Found<'_>,
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
        // What is noted here is in order.
        let _ = self.entry.apply(event);
    }

    pub(super) fn shown(&self, at: At<'_>) -> String {
        self.roots[at.root]
            .shown
            .join(at.path)
            .join(at.name)
            .display()
            .to_string()
    }

    fn name_of(&self, object: &Found<'_>) -> String {
        match object {
            Found::At(at) => self.shown(*at),
            Found::Open(_, shown) => shown.display().to_string(),
        }
    }

    fn failed(&self, object: &Found<'_>, what: &str, errno: Errno) -> JournalError {
        JournalError::io(format!("{}: {what}", self.name_of(object)))(errno)
    }

    /// Whether nothing is noted of a name; counts it.
    pub(super) fn skips(&mut self, at: At<'_>) -> bool {
        let skips = self
            .keeping
            .skips
            .as_ref()
            .is_some_and(|skips| skips(at.root, &at.path.join(at.name)));
        self.has_skipped |= skips;
        skips
    }

    /// Notes what stands under a name. What stands there now.
    fn name(&mut self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        let (dir, is_noted) = self.directory(at)?;
        let found = self.look(at)?;
        let old = found.filter(|stat| !self.is_own(dir, at.name, stat.id));
        if is_noted
            && (!self.is_noted(dir, at.name)
                || old.is_some_and(|old| self.is_overtaken(dir, at.name, old.id)))
        {
            if !self.has(dir) {
                self.note_object(
                    &stat_of(at.dir)
                        .map_err(|errno| self.failed(&Found::At(at), LOOKING, errno))?,
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

    /// The directory, and whether names in it are noted. When one is for the first time, so are
    /// those that lead to it from one that is known.
    pub(super) fn directory(&mut self, at: At<'_>) -> Result<(Id, bool), JournalError> {
        let known = |id: Id| Some((id, *self.known.get(&id)?));
        if let Some(known) = at.seen.and_then(|(dir, _)| known(dir)) {
            return Ok(known);
        }
        let failed = |errno| self.failed(&Found::At(at), "looking at its directory", errno);
        let own = stat_of(at.dir).map_err(failed)?;
        if let Some(known) = known(own.id) {
            return Ok(known);
        }
        let moved = || JournalError::Moved {
            path: self.roots[at.root].shown.join(at.path),
        };
        let (mut dir, mut above, mut leading) = (own, PathBuf::new(), Vec::new());
        for name in at.path.iter().rev() {
            above.push("..");
            let outer = stat(at.dir, above.as_os_str())
                .map_err(failed)?
                .ok_or_else(moved)?;
            let found = stat(at.dir, above.join(name).as_os_str()).map_err(failed)?;
            if found.is_none_or(|found| found.id != dir.id) {
                return Err(moved());
            }
            leading.push((outer, Bytes::of(name), dir));
            dir = outer;
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

    /// What stands under a name now.
    fn look(&self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        let looked = at
            .seen
            .map_or_else(|| stat(at.dir, at.name), |(_, found)| Ok(found));
        looked.map_err(|errno| self.failed(&Found::At(at), LOOKING, errno))
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

    fn note_metadata(&mut self, object: &Found<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self.entry.is_new(stat.id) {
            return Ok(());
        }
        self.note_object(stat);
        self.note_attributes(object, stat)
    }

    fn note_content(
        &mut self,
        object: &Found<'_>,
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

    fn note_attributes(&mut self, object: &Found<'_>, stat: &Stat) -> Result<(), JournalError> {
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

    /// An object gets another place. Where names are not noted it would be lost from sight.
    fn moves(&mut self, from: At<'_>, stat: &Stat, to: At<'_>) -> Result<(), JournalError> {
        if self.entry.is_new(stat.id) || !self.goes_deep(to)? {
            return Ok(());
        }
        self.keep(from, stat)
    }

    /// An object gets a name that is skipped.
    fn leaves(&mut self, from: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if stat.is_dir() && !self.entry.is_new(stat.id) {
            self.note(Event::Content {
                id: stat.id,
                content: Content::NotKept,
            });
        }
        self.keep(from, stat)
    }

    /// Something old gets this place: whether names are not noted there.
    fn goes_deep(&mut self, to: At<'_>) -> Result<bool, JournalError> {
        let is_noted = self.directory(to)?.1;
        if !is_noted && !self.entry.is_deep {
            self.note(Event::Deep);
        }
        Ok(!is_noted)
    }

    /// Keeps an object that may lose its last name.
    fn keep(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self
            .entry
            .olds
            .get(&stat.id)
            .is_none_or(|old| !old.kept.is_empty())
        {
            return Ok(());
        }
        let object = Found::At(at);
        if stat.is_dir() {
            return self.note_attributes(&object, stat);
        }
        let (id, (file, name)) = (stat.id, self.next_file());
        // A link stamps the object: a log that ends here says what it was. Who cannot write that
        // hears of it below.
        let _ = self.log.write();
        match object::link(at.dir, at.name, self.kept.as_fd(), &name) {
            Ok(()) => self.note(Event::Kept {
                id,
                file,
                is_copy: false,
            }),
            Err(Errno::NOENT) => {}
            // On another filesystem, somebody else's, or at its most links.
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
            Err(errno) => return self.lost(&object, id, "keeping a link to it", errno),
        }
        Ok(())
    }

    /// The store is to blame if something cannot be kept.
    fn lost(
        &mut self,
        object: &Found<'_>,
        id: Id,
        what: &str,
        errno: Errno,
    ) -> Result<(), JournalError> {
        if self.keeping.when_full == WhenFull::Refuse || !is_full(Some(errno)) {
            return Err(self.failed(object, what, errno));
        }
        // A copy of what it was will do.
        if !matches!(self.entry.olds[&id].content, Content::Copy(_)) {
            self.note(Event::Content {
                id,
                content: Content::NotKept,
            });
        }
        Ok(())
    }

    /// Copies an object into the store: whether it did. Notes what cannot be copied as not kept.
    fn copy_to(&mut self, object: &Found<'_>, id: Id, name: &OsStr) -> Result<bool, JournalError> {
        let copied = self.try_to_copy(object, id, name, self.keeping.most_bytes);
        match copied {
            Ok(true) => return Ok(true),
            Err(errno) => self.lost(object, id, "keeping a copy of it", errno)?,
            Ok(false) => self.note(Event::Content {
                id,
                content: Content::NotKept,
            }),
        }
        Ok(false)
    }

    /// The same of at most so many bytes, if they cannot be shared; notes nothing.
    fn try_to_copy(
        &mut self,
        object: &Found<'_>,
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
            // What was appended since is not wanted.
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

    /// A file of the store that is not there yet.
    pub(super) fn next_file(&mut self) -> (u32, OsString) {
        self.entry.files += 1;
        (
            self.entry.files,
            file_name(self.entry.number, self.entry.files),
        )
    }

    /// Takes the digest of a file of which only the length is kept. Without one, nothing is
    /// compared.
    fn take_digest(&mut self, object: &Found<'_>, id: Id) {
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
