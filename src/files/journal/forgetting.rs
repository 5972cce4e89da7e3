//! Removal of saved data that nobody needs for long: of directories that can be made again.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at the handle of the store"
)]

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat, renameat};
use rustix::io::Errno;

use super::entry::{Entry, OldObject, file_name};
use super::error::JournalError;
use super::log::{self, Content, End, Event, Log};
use super::memory::Memory;
use super::object::{self, Id};
use super::store::{LoggedEntry, Store, disk_bytes, remove_tree};

/// Name of a rewritten log before it replaces the old one.
const NEW_LOG: &str = "log.new";

impl Store {
    /// Removes what an ended entry has saved of the files below some directories, so that their
    /// content can no longer be restored. Files that had another name elsewhere stay. Returns the
    /// freed bytes.
    pub fn forget(
        &self,
        number: u64,
        is_below: &dyn Fn(&Path) -> bool,
    ) -> Result<u64, JournalError> {
        let lock = self.lock()?;
        let read = self.read_whole(number, Memory::Overdrawn)?;
        let Some(LoggedEntry { earlier, last, .. }) = read.filter(|read| read.last.has_ended())
        else {
            return Ok(0);
        };
        let entry = self.whole(earlier, last);
        let forgotten = self.forgettable(&entry, is_below);
        if forgotten.is_empty() {
            return Ok(0);
        }
        let files: Vec<u32> = forgotten
            .iter()
            .flat_map(|id| own_files(&entry.olds[id]))
            .collect();
        let failed = |errno: Errno| {
            let what = format!("{}: forgetting a part", self.log_path(number).display());
            JournalError::io(what)(errno)
        };
        let freed = files
            .iter()
            .map(|file| disk_bytes(self.kept.as_fd(), &file_name(number, *file), 0));
        let freed = freed.sum::<Result<u64, Errno>>().map_err(failed)?;
        self.rewrite_log(number, &forgotten, freed)?;
        // No log names the files now, so other calls need not wait.
        drop(lock);
        for file in files {
            remove_tree(&self.kept, &file_name(number, file)).map_err(failed)?;
        }
        Ok(freed)
    }

    /// Returns the saved files whose every recorded name lies below the directories.
    fn forgettable(&self, entry: &Entry, is_below: &dyn Fn(&Path) -> bool) -> HashSet<Id> {
        let places = entry.places(&self.root_ids, |noted| noted.before);
        let mut is_inside: HashMap<Id, bool> = HashMap::new();
        for (dir, name, noted) in entry.all_names() {
            if let Some(before) = noted.before {
                let place = places.get(&dir).map(|dir| self.path(&dir.join(name)));
                *is_inside.entry(before).or_insert(true) &=
                    place.is_some_and(|place| is_below(&place));
            }
        }
        // The link to an object that the tree still has was removed at the end of the entry.
        let is_there = |file| {
            let name = file_name(entry.number, file);
            object::stat(&self.kept, &name).is_ok_and(|found| found.is_some())
        };
        let is_saved = |old: &&OldObject| !old.stat.is_dir() && own_files(old).any(is_there);
        let inside = entry
            .olds
            .values()
            .filter(|old| is_inside.get(&old.stat.id) == Some(&true));
        inside.filter(is_saved).map(|old| old.stat.id).collect()
    }

    /// Replaces a log by one without the saved files of these objects.
    fn rewrite_log(
        &self,
        number: u64,
        forgotten: &HashSet<Id>,
        freed: u64,
    ) -> Result<(), JournalError> {
        let path = self.log_path(number);
        let failed = |source: std::io::Error| JournalError::Io {
            what: format!("{}: rewriting it", path.display()),
            source,
        };
        let Some(old) = self.open_log(number)? else {
            return Ok(());
        };
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::RDWR | OFlags::APPEND;
        let new = openat(
            &self.dir,
            NEW_LOG,
            flags | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        );
        let mut new = Log::new(
            File::from(new.map_err(|errno| failed(errno.into()))?),
            0,
            &self.root_ids,
        );
        // A log may have several parts, each with its own objects.
        let mut known: Vec<Id> = Vec::new();
        log::read(old, &path, &self.root_ids, |event| {
            match event {
                Event::Kept { id, .. } if forgotten.contains(&id) => return Ok(()),
                // The state of the link in the store.
                Event::State {
                    stat,
                    content: false,
                    ..
                } if forgotten.contains(&stat.id) => return Ok(()),
                Event::Object(stat) if forgotten.contains(&stat.id) => known.push(stat.id),
                _ => {}
            }
            let event = match event {
                Event::End(end) => {
                    for id in known.drain(..) {
                        let content = Content::NotKept;
                        new.add(Event::Content { id, content });
                    }
                    let bytes = end.bytes.saturating_sub(freed);
                    Event::End(End { bytes, ..end })
                }
                event => event,
            };
            new.add(event);
            new.write_much().map_err(|error| error.to_string())
        })?;
        new.write().map_err(failed)?;
        renameat(&self.dir, NEW_LOG, &self.logs, number.to_string())
            .map_err(|errno| failed(errno.into()))
    }
}

/// Returns the numbers of an object's files in the store.
fn own_files(old: &OldObject) -> impl Iterator<Item = u32> {
    let copy = match old.content {
        Content::Copy(file) => Some(file),
        Content::Same | Content::Grew | Content::NotKept => None,
    };
    old.kept.iter().map(|kept| kept.file).chain(copy)
}
