//! Gives prepared replacements their names: all of them, or none.
//!
//! A lock on the directory keeps other servers out. Other programs do not use it: one may rename
//! its own file to the name, or write to the old file. So the names are exchanged, and the old file
//! is examined. If it is not the expected one, it gets its name back.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_sys::leases::is_lease_undisturbed;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, RenameFlags, Stat, flock, fstat, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::journal::Changes;
use crate::policy::{Id, Rules};

use super::attributes;
use super::closer;
use super::error::FsError;
use super::giving::give;
use super::locks::{DirLocks, Locks, keep_writers_out};
use super::original::{Original, Stamp, copy, digest};
use super::read::reader_of;
use super::temp::{Privacy, Temp};

/// Rounds of exchanging a name again, to return it to files that other programs put there
/// meanwhile.
const GIVE_BACK_ROUNDS: usize = 64;

/// A replacement under a temporary name. Dropping it leaves everything unchanged.
#[derive(Debug)]
#[must_use = "nothing is replaced until it is committed"]
pub struct Prepared<'a> {
    pub(super) changes: &'a Changes<'a>,
    /// Real path of the target.
    pub(super) place: PathBuf,
    pub(super) temp: Temp,
    pub(super) name: OsString,
    pub(super) old: Option<Original>,
    pub(super) expected: Option<Stamp>,
    pub(super) shown: PathBuf,
    pub(super) rules: Arc<Rules>,
}

/// Policy on the mtime of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MtimePolicy {
    /// Later than the mtime of the old file, so that tools that compare times see the change.
    Later,
    /// The time that was set before.
    AsSet,
}

/// Replaces all these files or none. Fails with `Changed`, without changes, if one is not the
/// expected version.
///
/// `held` are locks on all their directories; if `None`, they are locked here.
pub fn commit_all(prepared: Vec<Prepared<'_>>, held: Option<&DirLocks>) -> Result<(), FsError> {
    commit_in_turn(prepared, held, None)
}

/// Does the same. With `locks`, the threads of this process that commit one file each take turns.
pub(super) fn commit_in_turn(
    mut prepared: Vec<Prepared<'_>>,
    held: Option<&DirLocks>,
    locks: Option<&Locks>,
) -> Result<(), FsError> {
    for one in &mut prepared {
        one.keep_writers_out()?;
    }
    let turn = match (held, locks, &*prepared) {
        (None, Some(locks), [one]) => locks.turn(one.temp.dir()),
        _ => None,
    };
    let own = match held {
        Some(_) => None,
        None => Some(DirLocks::take(
            prepared
                .iter()
                .map(|one| (one.temp.dir().as_ref(), one.shown.as_path())),
        )?),
    };
    // All before the first change: with two links to the same file, a change of one is visible at
    // the other.
    for one in &prepared {
        one.check_version()?;
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
        outcome = Err(one.prepared.changed_error());
    }
    let Err(mut failure) = outcome else {
        // The old files are removed without the lock.
        drop((own, turn));
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
    /// Gives the file its name with a single rename, replacing any existing file.
    pub(super) fn overwrite(
        self,
        held: Option<&DirLocks>,
        dating: MtimePolicy,
    ) -> Result<(), FsError> {
        let dir = Arc::clone(self.temp.dir());
        let _own = self.lock_if_readable(held)?;
        if dating == MtimePolicy::Later
            && let Some(there) = self.current_stat()
        {
            self.temp.date_after(Some(&there), &self.shown)?;
        }
        self.record_loss()?;
        // The old file is kept until the final place of the directory is known.
        if let Some(old) = &self.old {
            let _ = flock(&old.file, FlockOperation::NonBlockingLockExclusive);
        }
        self.give_name(|mut own| {
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
                    return Ok(own.committed(RevertMethod::Exchange));
                }
                Err(Errno::NOENT) if renamed(RenameFlags::NOREPLACE).is_ok() => {
                    return Ok(own.committed(RevertMethod::Remove));
                }
                Err(_) => {}
            }
            let undo = if own.old.is_some() {
                RevertMethod::Rewrite
            } else {
                RevertMethod::Remove
            };
            renameat(&dir, own.temp.name(), &dir, &own.name).map_err(|errno| own.failed(errno))?;
            own.temp.disarm();
            Ok(own.committed(undo))
        })
        .map(Committed::finish)
    }

    /// Gives the file its name. Reverts that if the directory was moved meanwhile to a place where
    /// the name is refused.
    fn give_name(
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

    /// Gives the file its name if that is unused.
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

    /// Prevents new writers of the old file while it is examined and replaced.
    pub(super) fn keep_writers_out(&mut self) -> Result<(), FsError> {
        let (Some(old), Some(expected)) = (&mut self.old, &self.expected) else {
            return Ok(());
        };
        old.leased = keep_writers_out(&old.file, &self.shown)?;
        match expected.content {
            Some(content) if digest(&mut reader_of(old.file.as_fd()), &self.shown)? != content => {
                Err(self.changed_error())
            }
            _ => Ok(()),
        }
    }

    /// Fails unless the name still belongs to the expected version; then dates the replacement
    /// later than that.
    fn check_version(&self) -> Result<(), FsError> {
        if self.old.is_none() {
            return Ok(());
        }
        let there = self.current_stat().ok_or_else(|| self.changed_error())?;
        if self
            .expected
            .as_ref()
            .is_some_and(|expected| !expected.is(&there))
        {
            return Err(self.changed_error());
        }
        self.temp.date_after(Some(&there), &self.shown)
    }

    /// Replaces the file. The old one keeps the temporary name as long as the result lives.
    pub(super) fn commit(self) -> Result<Committed<'a>, FsError> {
        self.give_name(Self::exchange)
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
                Ok(()) => Ok(self.committed(RevertMethod::Remove)),
                Err(Errno::EXIST) => Err(self.changed_error()),
                Err(Errno::INVAL | Errno::NOSYS) => self.rename_over(RevertMethod::Remove),
                Err(errno) => Err(self.failed(errno)),
            };
        };
        self.record_loss()?;
        // Locked while the old file has a temporary name, so that no sweep removes it.
        let _ = flock(&old.file, FlockOperation::NonBlockingLockExclusive);
        match renameat_with(
            &dir,
            self.temp.name(),
            &dir,
            &self.name,
            RenameFlags::EXCHANGE,
        ) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.changed_error()),
            // Filesystems without exchange, such as NFS: the old content is still accessible
            // through the descriptor.
            Err(Errno::INVAL | Errno::NOSYS) => return self.rename_over(RevertMethod::Rewrite),
            Err(errno) => return Err(self.failed(errno)),
        }
        if let Some(expected) = &self.expected {
            let swapped = statat(&dir, self.temp.name(), AtFlags::SYMLINK_NOFOLLOW);
            if !swapped.is_ok_and(|stat| expected.is_content_of(&stat)) {
                self.give_back(true)?;
                return Err(self.changed_error());
            }
        }
        Ok(self.committed(RevertMethod::Exchange))
    }

    /// Gives the name back to the file with the temporary name. Returns false if a newer file of
    /// another program has the name now.
    ///
    /// Usually one exchange suffices, which returns the replacement. If it returns another file,
    /// that is newer than the file that just got the name, so the two are exchanged again. This
    /// repeats until an exchange returns the file put in before.
    ///
    /// An unused name is only taken again if `may_be_new`.
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
                // The name is unused now.
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

    /// Records the loss of the file that now has the name.
    fn record_loss(&self) -> Result<(), FsError> {
        self.changes
            .before_replace(self.temp.dir().as_fd(), &self.place)
            .map_err(FsError::of_journal(&self.shown))
    }

    fn rename_over(mut self, undo: RevertMethod) -> Result<Committed<'a>, FsError> {
        let there = self.current_stat();
        let is_expected = match (&self.expected, &self.old) {
            (Some(expected), _) => there.is_some_and(|there| expected.is_content_of(&there)),
            (None, Some(_)) => true,
            (None, None) => there.is_none(),
        };
        if !is_expected {
            return Err(self.changed_error());
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

    fn committed(mut self, undo: RevertMethod) -> Committed<'a> {
        if undo == RevertMethod::Remove {
            self.temp.disarm();
        }
        Committed {
            prepared: self,
            undo,
        }
    }

    /// Returns the metadata of the file that now has the name.
    fn current_stat(&self) -> Option<Stat> {
        statat(self.temp.dir(), &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    fn changed_error(&self) -> FsError {
        FsError::Changed {
            path: self.shown.clone(),
        }
    }

    fn failed(&self, errno: Errno) -> FsError {
        FsError::of(&self.shown, "replace", errno)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RevertMethod {
    /// The file is new: remove it.
    Remove,
    /// The old file has the temporary name: give it its name back.
    Exchange,
    /// The old file has no name: write its content again.
    Rewrite,
}

/// A replacement that can still be reverted; dropping it releases the old file.
#[derive(Debug)]
pub(super) struct Committed<'a> {
    prepared: Prepared<'a>,
    undo: RevertMethod,
}

impl Committed<'_> {
    /// Returns true if a program waits to write to the old file: its changes would be lost with the
    /// file.
    pub(super) fn is_wanted(&self) -> bool {
        self.undo == RevertMethod::Exchange
            && self
                .prepared
                .old
                .as_ref()
                .is_some_and(|old| old.leased && !is_lease_undisturbed(old.file.as_fd()))
    }

    /// Removes the name from a file that must not have it. If another program moved that file
    /// aside, the name stays unused.
    fn withdraw(mut self) -> Result<(), FsError> {
        let taken = if self.undo == RevertMethod::Exchange {
            self.prepared.give_back(false)
        } else {
            self.take_back()
        };
        taken.map(drop)
    }

    /// Removes the old file for good.
    fn finish(mut self) {
        let Some(old) = self.prepared.old.take() else {
            return;
        };
        // The name first.
        drop(self);
        closer::close(old.file);
    }

    /// Restores the old file, with its inode if the filesystem can exchange names. Returns `false`
    /// if another program has put a different file there meanwhile, which stays.
    pub(super) fn take_back(mut self) -> Result<bool, FsError> {
        if self.undo == RevertMethod::Exchange {
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
            .current_stat()
            .is_none_or(|there| (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino))
        {
            return Ok(false);
        }
        match old.as_ref().filter(|_| self.undo == RevertMethod::Rewrite) {
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
