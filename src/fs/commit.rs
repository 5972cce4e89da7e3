//! Gives replacements that lie ready their names: all of them, or none.
//!
//! Other servers are kept away by a lock on the directory. Other programs know no lock: one may
//! give the name to a file of its own, or write to the old file. So the names are exchanged, and
//! what came out is looked at. If it is not what was expected, it gets its name back.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, RenameFlags, Stat, flock, fstat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::journal::Changes;
use crate::limits::GIVE_BACK_ROUNDS;
use crate::policy::{Id, Rules};
use crate::sandbox::is_lease_undisturbed;

use super::attributes;
use super::closer;
use super::error::FsError;
use super::giving::give;
use super::locks::{DirLocks, keep_writers_out};
use super::original::{Original, Stamp, copy, digest};
use super::read::reader_of;
use super::temp::{Privacy, Temp};

/// A replacement that lies ready under a temporary name. Dropping it leaves everything as it was.
#[derive(Debug)]
#[must_use = "nothing is replaced until it is committed"]
pub struct Prepared<'a> {
    pub(super) changes: &'a Changes<'a>,
    /// The true path.
    pub(super) place: PathBuf,
    pub(super) temp: Temp,
    pub(super) name: OsString,
    pub(super) old: Option<Original>,
    pub(super) expected: Option<Stamp>,
    pub(super) shown: PathBuf,
    pub(super) rules: Arc<Rules>,
}

/// The time of the last change of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dating {
    /// Later than that of the file that it replaces: who goes by it sees the change.
    Later,
    /// What it was set to.
    Kept,
}

/// Replaces all these files or none. Fails with `Changed`, and changes nothing, if one is not what
/// it was.
///
/// `held` are locks on all their directories; without it they are locked here.
pub fn commit_all(prepared: Vec<Prepared<'_>>, held: Option<&DirLocks>) -> Result<(), FsError> {
    let mut prepared = prepared;
    for one in &mut prepared {
        one.keep_writers_out()?;
    }
    let own = match held {
        Some(_) => None,
        None => Some(DirLocks::take(
            prepared
                .iter()
                .map(|one| (one.temp.dir().as_ref(), one.shown.as_path())),
        )?),
    };
    // All before the first change: of a file with two names among them the change of one shows at
    // the other.
    for one in &prepared {
        one.look()?;
    }
    let mut done = Vec::with_capacity(prepared.len());
    let mut outcome = Ok(());
    for one in prepared {
        match one.commit() {
            Ok(one) => done.push(one),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    if outcome.is_ok()
        && let Some(one) = done.iter().find(|one| one.is_wanted())
    {
        outcome = Err(one.prepared.changed());
    }
    let Err(mut failure) = outcome else {
        // The old files go without it.
        drop(own);
        done.into_iter().for_each(Committed::finish);
        return Ok(());
    };
    for one in done.into_iter().rev() {
        let shown = one.prepared.shown.clone();
        match one.take_back() {
            Ok(true) => {}
            Ok(false) => {
                failure = FsError::NotTakenBack {
                    path: shown,
                    source: Box::new(failure),
                }
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

impl<'a> Prepared<'a> {
    /// Gives the file its name, whatever is there: one rename.
    pub(super) fn overwrite(self, held: Option<&DirLocks>, dating: Dating) -> Result<(), FsError> {
        let dir = Arc::clone(self.temp.dir());
        let _own = self.lock_if_readable(held)?;
        if dating == Dating::Later
            && let Some(there) = self.there()
        {
            self.temp.date_after(Some(&there), &self.shown)?;
        }
        self.loses()?;
        // What was there stays at hand until it is known where the directory lies.
        if let Some(old) = &self.old {
            let _ = flock(&old.file, FlockOperation::NonBlockingLockExclusive);
        }
        self.given(|mut own| {
            let renamed = |how| renameat_with(&dir, own.temp.name(), &dir, &own.name, how);
            match renamed(RenameFlags::EXCHANGE) {
                Ok(()) => {
                    let out = statat(&dir, own.temp.name(), AtFlags::SYMLINK_NOFOLLOW);
                    if out.is_ok_and(|out| {
                        FileType::from_raw_mode(out.st_mode) == FileType::Directory
                    }) {
                        own.give_back(true)?;
                        return Err(own.failed(Errno::ISDIR));
                    }
                    return Ok(own.committed(Undo::Exchange));
                }
                Err(Errno::NOENT) if renamed(RenameFlags::NOREPLACE).is_ok() => {
                    return Ok(own.committed(Undo::Remove));
                }
                Err(_) => {}
            }
            let undo = if own.old.is_some() {
                Undo::Rewrite
            } else {
                Undo::Remove
            };
            renameat(&dir, own.temp.name(), &dir, &own.name).map_err(|errno| own.failed(errno))?;
            own.temp.disarm();
            Ok(own.committed(undo))
        })
        .map(Committed::finish)
    }

    /// Gives the name. Takes it back if the directory was moved meanwhile to where the name is
    /// refused.
    fn given(
        self,
        commit: impl FnOnce(Self) -> Result<Committed<'a>, FsError>,
    ) -> Result<Committed<'a>, FsError> {
        let (rules, dir, name) = (
            Arc::clone(&self.rules),
            Arc::clone(self.temp.dir()),
            self.name.clone(),
        );
        let shown = self.shown.clone();
        let may = || {
            let bears = rules.may_bear(&dir, &name, None);
            bears
                .map(drop)
                .map_err(|misplaced| FsError::of_place(&shown, misplaced))
        };
        give(may, || commit(self), Committed::withdraw)
    }

    /// Gives the file its name if nothing has that.
    pub(super) fn create(self, held: Option<&DirLocks>) -> Result<(), FsError> {
        let _own = self.lock_if_readable(held)?;
        self.temp.date_after(None, &self.shown)?;
        self.commit().map(drop)
    }

    fn lock_if_readable(&self, held: Option<&DirLocks>) -> Result<Option<DirLocks>, FsError> {
        if held.is_some() {
            Ok(None)
        } else {
            DirLocks::if_readable(self.temp.dir(), &self.shown)
        }
    }

    /// While the old file is looked at and replaced nobody begins to write to it.
    pub(super) fn keep_writers_out(&mut self) -> Result<(), FsError> {
        let (Some(old), Some(expected)) = (&mut self.old, &self.expected) else {
            return Ok(());
        };
        old.leased = keep_writers_out(&old.file, &self.shown)?;
        match expected.content {
            Some(content) if digest(&mut reader_of(old.file.as_fd()), &self.shown)? != content => {
                Err(self.changed())
            }
            _ => Ok(()),
        }
    }

    /// Whether the name still stands for what is to be replaced; then the replacement is made later
    /// than that.
    fn look(&self) -> Result<(), FsError> {
        if self.old.is_none() {
            return Ok(());
        }
        let there = self.there().ok_or_else(|| self.changed())?;
        if self
            .expected
            .as_ref()
            .is_some_and(|expected| !expected.is(&there))
        {
            return Err(self.changed());
        }
        self.temp.date_after(Some(&there), &self.shown)
    }

    /// Replaces the file and keeps the old one under the temporary name as long as the result
    /// lives.
    pub(super) fn commit(self) -> Result<Committed<'a>, FsError> {
        self.given(Self::exchange)
    }

    fn exchange(mut self) -> Result<Committed<'a>, FsError> {
        let dir = Arc::clone(self.temp.dir());
        let Some(old) = &self.old else {
            return match renameat_with(
                &dir,
                self.temp.name(),
                &dir,
                &self.name,
                RenameFlags::NOREPLACE,
            ) {
                Ok(()) => Ok(self.committed(Undo::Remove)),
                Err(Errno::EXIST) => Err(self.changed()),
                Err(Errno::INVAL | Errno::NOSYS) => self.rename_over(Undo::Remove),
                Err(errno) => Err(self.failed(errno)),
            };
        };
        self.loses()?;
        // For the time that the old file bears a temporary name: no sweep may take it for left
        // over.
        let _ = flock(&old.file, FlockOperation::NonBlockingLockExclusive);
        match renameat_with(
            &dir,
            self.temp.name(),
            &dir,
            &self.name,
            RenameFlags::EXCHANGE,
        ) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.changed()),
            // Filesystems without exchange, NFS for one: the old bytes stay reachable by the open
            // handle.
            Err(Errno::INVAL | Errno::NOSYS) => return self.rename_over(Undo::Rewrite),
            Err(errno) => return Err(self.failed(errno)),
        }
        if let Some(expected) = &self.expected {
            let swapped = statat(&dir, self.temp.name(), AtFlags::SYMLINK_NOFOLLOW);
            if !swapped.is_ok_and(|stat| expected.is_content_of(&stat)) {
                self.give_back(true)?;
                return Err(self.changed());
            }
        }
        Ok(self.committed(Undo::Exchange))
    }

    /// Gives the name back to what bears the temporary name. Whether this file has left the name:
    /// others may have put there something newer than both, and then that has it.
    ///
    /// One exchange does it if it brings this file out again. If it brings out another, that is
    /// newer than what has the name now, and the two are exchanged; so on, until what comes out is
    /// what was put in the time before.
    ///
    /// A name that nothing has any more is given again only if it `may_be_new`.
    pub(super) fn give_back(&mut self, may_be_new: bool) -> Result<bool, FsError> {
        let dir = Arc::clone(self.temp.dir());
        let id = |stat: Stat| -> Id { (stat.st_dev, stat.st_ino) };
        let out = |temp: &Temp| statat(&dir, temp.name(), AtFlags::SYMLINK_NOFOLLOW).map(id);
        let exchanged = |temp: &Temp, how| renameat_with(&dir, temp.name(), &dir, &self.name, how);
        let own = fstat(self.temp.file()).map(id);
        let mut put_in = own;
        for _ in 0..GIVE_BACK_ROUNDS {
            let putting = out(&self.temp);
            match exchanged(&self.temp, RenameFlags::EXCHANGE) {
                Ok(()) if put_in.is_ok() && out(&self.temp) == put_in => return Ok(put_in == own),
                Ok(()) => put_in = putting,
                // Nothing has the name any more.
                Err(Errno::NOENT) if may_be_new => {
                    match exchanged(&self.temp, RenameFlags::NOREPLACE) {
                        Ok(()) => {
                            self.temp.disarm();
                            return Ok(true);
                        }
                        Err(Errno::EXIST) => {}
                        Err(_) => break,
                    }
                }
                Err(_) => break,
            }
        }
        let at = self.shown.with_file_name(self.temp.keep_aside());
        Err(FsError::KeptAside {
            path: self.shown.clone(),
            at,
        })
    }

    /// Whatever has the name is kept.
    fn loses(&self) -> Result<(), FsError> {
        self.changes
            .makes_way(self.temp.dir().as_fd(), &self.place)
            .map_err(FsError::of_journal(&self.shown))
    }

    fn rename_over(mut self, undo: Undo) -> Result<Committed<'a>, FsError> {
        let there = self.there();
        let is_expected = match (&self.expected, &self.old) {
            (Some(expected), _) => there.is_some_and(|there| expected.is_content_of(&there)),
            (None, Some(_)) => true,
            (None, None) => there.is_none(),
        };
        if !is_expected {
            return Err(self.changed());
        }
        renameat(
            self.temp.dir(),
            self.temp.name(),
            self.temp.dir(),
            &self.name,
        )
        .map_err(|errno| self.failed(errno))?;
        self.temp.disarm();
        Ok(self.committed(undo))
    }

    fn committed(mut self, undo: Undo) -> Committed<'a> {
        if undo == Undo::Remove {
            self.temp.disarm();
        }
        Committed {
            prepared: self,
            undo,
        }
    }

    /// What has the name now.
    fn there(&self) -> Option<Stat> {
        statat(self.temp.dir(), &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    fn changed(&self) -> FsError {
        FsError::Changed {
            path: self.shown.clone(),
        }
    }

    fn failed(&self, errno: Errno) -> FsError {
        FsError::of(&self.shown, "replace", errno)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// The file is new: remove it.
    Remove,
    /// The old file bears the temporary name: give it its name back.
    Exchange,
    /// The old file has no name any more: write its bytes again.
    Rewrite,
}

/// A replacement that can still be taken back; dropping it lets go of the old file.
#[derive(Debug)]
pub(super) struct Committed<'a> {
    prepared: Prepared<'a>,
    undo: Undo,
}

impl Committed<'_> {
    /// Whether a program waits to write to the old file: what it writes would be lost with it.
    pub(super) fn is_wanted(&self) -> bool {
        self.undo == Undo::Exchange
            && self
                .prepared
                .old
                .as_ref()
                .is_some_and(|old| old.leased && !is_lease_undisturbed(old.file.as_fd()))
    }

    /// Takes the name from a file that may not have it. If another program moved that file aside,
    /// the old file stays without the name.
    fn withdraw(mut self) -> Result<(), FsError> {
        let taken = if self.undo == Undo::Exchange {
            self.prepared.give_back(false)
        } else {
            self.take_back()
        };
        taken.map(drop)
    }

    /// Lets go of the old file for good.
    fn finish(mut self) {
        let Some(old) = self.prepared.old.take() else {
            return;
        };
        // First its name.
        drop(self);
        closer::close(old.file);
    }

    /// Puts the old file back, under its own identity where the filesystem can exchange names.
    /// `false` if another program has put something else there meanwhile, which stays.
    pub(super) fn take_back(mut self) -> Result<bool, FsError> {
        if self.undo == Undo::Exchange {
            return self.prepared.give_back(true);
        }
        let Prepared {
            temp,
            name,
            old,
            shown,
            ..
        } = &self.prepared;
        let failed = |errno| FsError::of(shown, "put back", errno);
        let ours = fstat(temp.file()).map_err(failed)?;
        if self
            .prepared
            .there()
            .is_none_or(|there| (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino))
        {
            return Ok(false);
        }
        match old.as_ref().filter(|_| self.undo == Undo::Rewrite) {
            Some(old) => rewrite(temp.dir(), name, old, shown)?,
            None => unlinkat(temp.dir(), name, AtFlags::empty()).map_err(failed)?,
        }
        Ok(true)
    }
}

fn rewrite(
    dir: &Arc<OwnedFd>,
    name: &OsString,
    old: &Original,
    shown: &Path,
) -> Result<(), FsError> {
    let mut temp = Temp::create(dir, Privacy::Owner, shown)?;
    copy(&mut reader_of(old.file.as_fd()), &temp, shown)?;
    attributes::keep(&old.file, &old.stat, temp.file(), shown)?;
    temp.sync(shown)?;
    renameat(dir, temp.name(), dir, name).map_err(|errno| FsError::of(shown, "put back", errno))?;
    temp.disarm();
    Ok(())
}
