//! Keeps what would be lost, and notes it, before a change is made.
//!
//! Whoever is about to change something says so here first, and goes on when the call has returned: then what was there is on the
//! disk. Everything is noted once, when it is in danger for the first time. What was born after the entry began needs no note, and
//! neither does a name in such a directory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::bytes::Bytes;
use super::entry::Entry;
use super::error::JournalError;
use super::log::{self, Content, Event};
use super::object::{self, Id, Stat, attributes, open_dir, stat, stat_of};
use super::root::Root;
use crate::limits::JOURNAL_COPY_BYTES;

/// A name that a change is about: a handle of the directory (`O_PATH` will do), which root that lies in, and its path below that now.
/// The path is looked at only where the directory is not known yet, and must lead to it.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub dir: BorrowedFd<'a>,
    pub name: &'a OsStr,
    pub root: usize,
    pub path: &'a Path,
}

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
    pub(super) roots: Arc<[Root]>,
    /// The entry's directory in the store.
    pub(super) dir: OwnedFd,
    /// Locked for as long as the entry is made.
    pub(super) log: File,
    pub(super) entry: Entry,
    /// Directories in which names are noted, or need not be.
    known: HashMap<Id, bool>,
    files: u32,
    /// Larger contents are not copied; bytes on the disk.
    pub(super) most_bytes: u64,
    /// Not in the log yet.
    pub(super) pending: Vec<Event>,
}

impl Recorder {
    pub(super) fn new(roots: Arc<[Root]>, dir: OwnedFd, log: File, entry: Entry) -> Self {
        Self {
            roots,
            dir,
            log,
            entry,
            known: HashMap::new(),
            files: 0,
            most_bytes: JOURNAL_COPY_BYTES,
            pending: Vec::new(),
        }
    }

    /// The number of the entry.
    pub fn number(&self) -> u64 {
        self.entry.number
    }

    /// What was born later is new: nothing is noted of it. In nanoseconds since 1970.
    pub fn start(&self) -> i64 {
        self.entry.start
    }

    /// Something new may stand under the name afterwards (`O_CREAT`, mkdir, symlink, mknod, bind, link). What stands there stays.
    pub fn gains(&mut self, at: At<'_>) -> Result<(), JournalError> {
        self.recording(at, |own| own.name(at).map(drop))
    }

    /// What stands under the name may be gone afterwards (unlink, rmdir).
    pub fn loses(&mut self, at: At<'_>) -> Result<(), JournalError> {
        self.recording(at, |own| {
            if let Some(stat) = own.name(at)? {
                own.keep(at, &stat)?;
            }
            Ok(())
        })
    }

    /// What stands under a name gets another, or, with `exchanges`, both get each other's. Both lie in the roots: what leaves them is
    /// lost, name by name.
    pub fn renames(&mut self, from: At<'_>, to: At<'_>, exchanges: bool) -> Result<(), JournalError> {
        self.recording(from, |own| {
            let source = own.name(from)?;
            let target = own.name(to)?;
            if let Some(stat) = source {
                own.moves(from, &stat, to)?;
            }
            match target {
                Some(stat) if exchanges => own.moves(to, &stat, from),
                // Of the same object rename(2) does nothing.
                Some(stat) => own.keep(to, &stat),
                None => Ok(()),
            }
        })
    }

    /// An object gets one more name.
    pub fn links(&mut self, from: At<'_>, to: At<'_>) -> Result<(), JournalError> {
        self.recording(from, |own| {
            own.name(to)?;
            // It may be changed by the new name where that is not noted.
            if own.name(from)?.is_some_and(|stat| !own.entry.is_new(stat.id)) {
                own.goes_deep(to)?;
            }
            Ok(())
        })
    }

    /// Mode, owner, times or attributes of an object may change; with an empty name, those of the directory itself.
    pub fn metadata(&mut self, at: At<'_>) -> Result<(), JournalError> {
        self.recording(at, |own| {
            let found = if at.name.is_empty() { Some(own.directory(at)?.0) } else { own.name(at)? };
            let Some(stat) = found.filter(|stat| !own.entry.is_new(stat.id)) else { return Ok(()) };
            own.note_object(&stat);
            own.note_attributes(at, &stat)
        })
    }

    /// The content of a file may change in place, by opening it to write to it or by truncate(2).
    pub fn content(&mut self, at: At<'_>, writing: Writing) -> Result<(), JournalError> {
        self.recording(at, |own| {
            let Some(stat) = own.name(at)?.filter(Stat::is_file) else { return Ok(()) };
            if own.entry.is_new(stat.id) {
                return Ok(());
            }
            own.note_attributes(at, &stat)?;
            match (own.entry.olds[&stat.id].content, writing) {
                (Content::Same, Writing::Appends) => own.note(Event::Content { id: stat.id, content: Content::Grew }),
                (Content::Same | Content::Grew, Writing::Anywhere) => return own.copy(at, &stat),
                _ => {}
            }
            Ok(())
        })
    }

    /// What stands under the name is about to be renamed into the entry's directory, whole. The number of the file that it becomes.
    pub(super) fn takes(&mut self, at: At<'_>) -> Result<u32, JournalError> {
        self.recording(at, |own| {
            let found = own.name(at)?;
            let (file, _) = own.next_file();
            if let Some(stat) = found {
                own.note_attributes(at, &stat)?;
                if own.entry.olds.get(&stat.id).is_some_and(|old| old.kept.is_empty()) {
                    own.note(Event::Kept { id: stat.id, file, is_copy: false });
                }
            }
            Ok(file)
        })
    }

    /// What the store kept, which is like this, is about to stand under the name.
    pub(super) fn puts(&mut self, at: At<'_>, kept: Option<&Stat>) -> Result<(), JournalError> {
        self.recording(at, |own| {
            own.name(at)?;
            if let Some(stat) = kept.filter(|stat| !own.entry.is_new(stat.id)) {
                // One more link stamps it.
                own.note_object(stat);
            }
            own.goes_deep(at).map(drop)
        })
    }

    fn recording<T>(
        &mut self,
        at: At<'_>,
        note: impl FnOnce(&mut Self) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        #[cfg(test)]
        super::tests::crashes::maybe_end();
        let noted = note(self);
        let lines = std::mem::take(&mut self.pending);
        if let Err(source) = log::write(&mut self.log, &lines) {
            // They come first when there is room again.
            self.pending = lines;
            return Err(JournalError::Io { what: format!("{}: writing down what was there", self.shown(at)), source });
        }
        #[cfg(test)]
        super::tests::crashes::maybe_end();
        noted
    }

    fn note(&mut self, event: Event) {
        self.pending.push(event.clone());
        // What is noted here is in order.
        let _ = self.entry.apply(event);
    }

    pub(super) fn shown(&self, at: At<'_>) -> String {
        self.roots[at.root].shown.join(at.path).join(at.name).display().to_string()
    }

    fn failed(&self, at: At<'_>, what: &str) -> impl FnOnce(Errno) -> JournalError + use<> {
        JournalError::io(format!("{}: {what}", self.shown(at)))
    }

    /// Notes what stands under a name. What stands there now.
    fn name(&mut self, at: At<'_>) -> Result<Option<Stat>, JournalError> {
        let (dir, is_noted) = self.directory(at)?;
        let found = stat(at.dir, at.name).map_err(self.failed(at, "looking at it"))?;
        let name = Bytes::of(at.name);
        if is_noted && self.entry.names.get(&dir.id).is_none_or(|names| !names.contains_key(&name)) {
            self.note_object(&dir);
            // What is new has come by nobody's call, or somebody else's, and was not there when the entry began.
            let before = found.filter(|stat| !self.entry.is_new(stat.id));
            if let Some(stat) = &before {
                self.note_object(stat);
            }
            self.note(Event::Name { dir: dir.id, name, before: before.map(|stat| stat.id) });
        }
        if let Some(stat) = &found
            && !self.entry.is_new(stat.id)
        {
            self.note_object(stat);
        }
        Ok(found)
    }

    /// The directory, and whether names in it are noted. When one is for the first time, so are those that lead to it.
    fn directory(&mut self, at: At<'_>) -> Result<(Stat, bool), JournalError> {
        let own = stat_of(at.dir).map_err(self.failed(at, "looking at its directory"))?;
        if let Some(known) = self.known.get(&own.id) {
            return Ok((own, *known));
        }
        let moved = || JournalError::Moved { path: self.roots[at.root].shown.join(at.path) };
        let root = object::handle(&self.roots[at.root].handle, OsStr::new(""));
        let mut dir =
            root.and_then(|root| root.ok_or(Errno::NOENT)).map_err(self.failed(at, "looking for its directory"))?;
        let mut noted = Vec::new();
        for name in at.path {
            let above = stat_of(&dir).map_err(self.failed(at, "looking for its directory"))?;
            dir = open_dir(&dir, name).map_err(self.failed(at, "looking for its directory"))?.ok_or_else(moved)?;
            let found = stat_of(&dir).map_err(self.failed(at, "looking for its directory"))?;
            noted.push((above, Bytes::of(name), found));
        }
        if stat_of(&dir).map_err(self.failed(at, "looking for its directory"))?.id != own.id {
            return Err(moved());
        }
        for (above, name, found) in noted {
            if self.entry.is_new(above.id) || self.entry.names.get(&above.id).is_some_and(|all| all.contains_key(&name))
            {
                continue;
            }
            let before = Some(found.id).filter(|id| !self.entry.is_new(*id));
            self.note_object(&above);
            if before.is_some() {
                self.note_object(&found);
            }
            self.known.insert(above.id, true);
            self.note(Event::Name { dir: above.id, name, before });
        }
        let is_noted = !self.entry.is_new(own.id);
        self.known.insert(own.id, is_noted);
        Ok((own, is_noted))
    }

    fn note_object(&mut self, stat: &Stat) {
        if !self.entry.olds.contains_key(&stat.id) {
            self.note(Event::Object(*stat));
        }
    }

    fn note_attributes(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self.entry.olds.get(&stat.id).is_none_or(|old| old.attributes.is_some()) || stat.is_link() {
            return Ok(());
        }
        if let Some(handle) = object::handle(at.dir, at.name).map_err(self.failed(at, "opening it"))? {
            let all = attributes(&handle).map_err(self.failed(at, "reading its attributes"))?;
            if let Some(all) = all {
                self.note(Event::Attributes { id: stat.id, all });
            }
        }
        Ok(())
    }

    /// An object gets another place. Where names are not noted it would be lost from sight.
    fn moves(&mut self, from: At<'_>, stat: &Stat, to: At<'_>) -> Result<(), JournalError> {
        if self.entry.is_new(stat.id) || !self.goes_deep(to)? {
            return Ok(());
        }
        if stat.is_dir() { self.note_attributes(from, stat) } else { self.keep(from, stat) }
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
        if self.entry.olds.get(&stat.id).is_none_or(|old| !old.kept.is_empty()) {
            return Ok(());
        }
        if stat.is_dir() {
            return self.note_attributes(at, stat);
        }
        let (id, (file, name)) = (stat.id, self.next_file());
        match object::link(at.dir, at.name, self.dir.as_fd(), OsStr::new(&name)) {
            Ok(()) => self.note(Event::Kept { id, file, is_copy: false }),
            Err(Errno::NOENT) => {}
            // On another filesystem, somebody else's, or at its most links.
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::ACCESS) => {
                if matches!(self.entry.olds[&id].content, Content::Copy(_)) {
                    return Ok(());
                }
                self.note_attributes(at, stat)?;
                if self.copy_to(at, id, &name)? {
                    self.note(Event::Kept { id, file, is_copy: true });
                }
            }
            Err(errno) => {
                self.note(Event::Content { id, content: Content::NotKept });
                return Err(self.failed(at, "keeping a link to it")(errno));
            }
        }
        Ok(())
    }

    fn copy(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        let (file, name) = self.next_file();
        if self.copy_to(at, stat.id, &name)? {
            self.note(Event::Content { id: stat.id, content: Content::Copy(file) });
        }
        Ok(())
    }

    /// Copies an object into the entry's directory. Notes it if it cannot be kept, which is an error only if the store is to blame.
    fn copy_to(&mut self, at: At<'_>, id: Id, name: &str) -> Result<bool, JournalError> {
        let name = OsStr::new(name);
        let copied = object::handle(at.dir, at.name).and_then(|handle| {
            let Some(handle) = handle.filter(|handle| stat_of(handle).is_ok_and(|stat| stat.id == id)) else {
                return Ok(None);
            };
            object::copy_object(handle.as_fd(), self.dir.as_fd(), name, self.most_bytes)
        });
        if copied != Ok(Some(())) {
            self.note(Event::Content { id, content: Content::NotKept });
            let _ = unlinkat(&self.dir, name, AtFlags::empty());
        }
        copied.map(|copied| copied.is_some()).map_err(self.failed(at, "keeping a copy of it"))
    }

    /// A file of the entry's directory that is not there yet.
    pub(super) fn next_file(&mut self) -> (u32, String) {
        self.files += 1;
        (self.files, file_name(self.files))
    }
}

/// What a file of an entry is called.
pub(super) fn file_name(file: u32) -> String {
    format!("f{file}")
}
