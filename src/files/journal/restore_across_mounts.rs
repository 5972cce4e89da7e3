//! Undo on a different mount than the store's, which rules out renames and links between the two.
//!
//! Objects to be moved wait under a temporary name in a nearby directory (staging). New objects are
//! removed name by name, after a copy of each went into the store. One thing is not restored: a
//! hard link between a file restored as a copy and names that the call did not touch.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};

use replay_base::limits::JOURNAL_DEPTH;
use rustix::fs::{AtFlags, RenameFlags, StatxFlags, renameat_with, statx, unlinkat};
use rustix::io::Errno;

use super::bytes::Bytes;
use super::error::JournalError;
use super::object::{self, Id, Stat, open_dir, stat_of, with_access};
use super::recorder::At;
use super::restore::{Restoration, StagedName};

/// Prefix of temporary names, followed by the numbers of the undo and of the file.
const PREFIX: &str = ".replay-undo";

impl Restoration<'_> {
    /// Returns true if the object under a name lies on another mount than the store.
    pub(super) fn is_apart(&self, at: At<'_>) -> bool {
        let mount = |dir: BorrowedFd<'_>, name: &OsStr| {
            let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
            let found = with_access(dir, || statx(dir, name, flags, StatxFlags::MNT_ID));
            found.map(|stat| stat.stx_mnt_id)
        };
        mount(self.recorder.kept.as_fd(), OsStr::new("")) != mount(at.dir, at.name)
    }

    /// Returns a temporary name: in a directory that stays, or in the object's own.
    fn next_stage(&mut self, at: At<'_>) -> Result<StagedName, JournalError> {
        let (file, _) = self.recorder.next_file();
        let name = Bytes(format!("{PREFIX}-{}-{file}", self.recorder.number()).into_bytes());
        let stage = self.stage.as_ref().map_or(at, StagedName::at);
        StagedName::of(stage, name).map_err(self.failed(at, "duplicating a handle"))
    }

    pub(super) fn take_apart(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if !self.entry.olds.contains_key(&stat.id) {
            return self.remove_apart(at, 0);
        }
        if self.staged.contains_key(&stat.id) {
            self.recorder.before_remove(at)?;
            return with_access(at.dir, || unlinkat(at.dir, at.name, AtFlags::empty()))
                .map_err(self.failed(at, "taking it away"));
        }
        let stage = self.next_stage(at)?;
        self.recorder.before_rename(at, stage.at(), false)?;
        self.rename(at, stage.at())?;
        self.staged.entry(stat.id).or_default().push(stage);
        Ok(())
    }

    fn rename(&self, from: At<'_>, to: At<'_>) -> Result<(), JournalError> {
        let rename = || renameat_with(from.dir, from.name, to.dir, to.name, RenameFlags::NOREPLACE);
        let renamed = with_access(from.dir, || {
            with_access(to.dir, || match rename() {
                Err(Errno::ACCESS) => {
                    let dir = open_dir(from.dir, from.name)?.ok_or(Errno::ACCESS)?;
                    with_access(dir.as_fd(), rename)
                }
                renamed => renamed,
            })
        });
        renamed.map_err(self.failed(from, "taking it away"))
    }

    pub(super) fn hold_apart(&mut self, at: At<'_>, stat: &Stat) -> Result<(), JournalError> {
        if self.staged.contains_key(&stat.id) {
            return Ok(());
        }
        let stage = self.next_stage(at)?;
        self.recorder.links(at, stage.at())?;
        let linked = with_access(stage.at().dir, || {
            object::link(at.dir, at.name, stage.at().dir, stage.at().name)
        });
        linked.map_err(self.failed(at, "linking to it"))?;
        self.staged.entry(stat.id).or_default().push(stage);
        Ok(())
    }

    /// Removes a new object, after saving all of it.
    fn remove_apart(&mut self, at: At<'_>, depth: usize) -> Result<(), JournalError> {
        if depth > JOURNAL_DEPTH {
            return Err(JournalError::TooDeep {
                path: self.recorder.display_path(at).into(),
            });
        }
        let failed = || self.failed(at, "taking it away");
        let mut flags = AtFlags::empty();
        if let Some(dir) = open_dir(at.dir, at.name).map_err(failed())? {
            flags = AtFlags::REMOVEDIR;
            let path = at.path.join(at.name);
            for name in object::names(&dir).map_err(failed())? {
                let at = At {
                    dir: dir.as_fd(),
                    name: &name,
                    root: at.root,
                    path: &path,
                    seen: None,
                };
                self.remove_apart(at, depth + 1)?;
            }
        }
        self.recorder.before_remove(at)?;
        with_access(at.dir, || unlinkat(at.dir, at.name, flags))
            .map_err(self.failed(at, "taking it away"))
    }

    /// Restores a staged object, or links to one that was restored under another name. Returns
    /// `false` if there is none.
    pub(super) fn put_staged(&mut self, at: At<'_>, id: Id) -> Result<bool, JournalError> {
        let placed = self
            .placed
            .get(&id)
            .or_else(|| self.staged.get(&id).and_then(|all| all.first()));
        let Some(source) = placed else {
            return Ok(false);
        };
        let Some(found) = object::stat(source.at().dir, source.at().name)
            .map_err(self.failed(at, "putting it back"))?
        else {
            return Ok(false);
        };
        self.may_put(at, source.at().dir, source.at().name, found.is_dir())?;
        if found.is_dir() {
            self.recorder.before_rename(source.at(), at, false)?;
            // That directory may have its time back already.
            let time = stat_of(source.at().dir)
                .map_err(self.failed(at, "putting it back"))?
                .mtime;
            self.rename(source.at(), at)?;
            object::set_mtime(source.at().dir, time).map_err(self.failed(at, "putting it back"))?;
        } else {
            self.recorder.links(source.at(), at)?;
            let linked = with_access(at.dir, || {
                object::link(source.at().dir, source.at().name, at.dir, at.name)
            });
            linked.map_err(self.failed(at, "putting it back"))?;
        }
        Ok(true)
    }

    /// Removes the temporary names of objects that have their own names again.
    pub(super) fn clear_stages(&mut self) -> Result<(), JournalError> {
        for (id, stages) in std::mem::take(&mut self.staged) {
            for stage in stages.iter().filter(|_| self.back.contains(&id)) {
                let at = stage.at();
                let gone = stat_of(at.dir).and_then(|dir| {
                    with_access(at.dir, || {
                        object::there(unlinkat(at.dir, at.name, AtFlags::empty()))
                    })?;
                    object::set_mtime(at.dir, dir.mtime)
                });
                gone.map_err(self.failed(at, "letting go of it"))?;
            }
        }
        Ok(())
    }
}
