//! Moves an entry to an unused name.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Gid, RenameFlags, Stat, Timespec, Timestamps, Uid, fchown, fstat, futimens,
    linkat, readlinkat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::journal::Changes;
use crate::policy::{Cause, Checked, Entry, FileKind, Write};

use super::attributes;
use super::dir::open_file;
use super::dirs::make_parents;
use super::error::FsError;
use super::locks::{DirLocks, keep_writers_out};
use super::original::{Stamp, copy};
use super::read::reader_of;
use super::temp::{Privacy, Temp};

/// Moves `source` to `destination` and creates missing parents. Never overwrites; a link is moved
/// as a link.
///
/// On another filesystem, a file is copied with mode, times and extended attributes (and its owner
/// if permitted) and then removed. A directory cannot be moved there.
pub fn move_no_clobber(
    changes: &Changes<'_>,
    source: &Checked<Entry>,
    destination: &Checked<Write>,
) -> Result<(), FsError> {
    let failed = |errno| FsError::of(source.display_path(), "move", errno);
    let stat = statat(source.dir(), source.name(), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let kind = FileKind::from(FileType::from_raw_mode(stat.st_mode));
    if destination.wants_dir() && kind != FileKind::Directory {
        return Err(FsError::NotADirectory {
            path: destination.display_path().into(),
        });
    }
    // Under the lock, the last change by another server is complete.
    let locked = DirLocks::if_readable(source.dir(), source.display_path())?;
    refuse_way(source.place(), destination.place(), destination, kind)?;
    let dir = make_parents(changes, destination)?;
    let arrival = Arrival {
        source,
        kind,
        dir: &dir,
        destination,
    };
    let spots = (
        (source.dir().as_fd(), source.place()),
        (dir.as_fd(), destination.place()),
    );
    changes
        .before_rename(spots.0, spots.1)
        .map_err(FsError::of_journal(source.display_path()))?;
    let rename = || {
        renameat_with(
            source.dir(),
            source.name(),
            &dir,
            destination.name(),
            RenameFlags::NOREPLACE,
        )
    };
    let move_back = || {
        renameat_with(
            &dir,
            destination.name(),
            source.dir(),
            source.name(),
            RenameFlags::NOREPLACE,
        )
        .map_err(|errno| FsError::of(destination.display_path(), "move back", errno))
    };
    match arrival.give(rename, move_back)? {
        Ok(()) => Ok(()),
        Err(Errno::XDEV) => {
            // A copy can take long, and needs the lock only for its last step.
            drop(locked);
            copy_and_remove(changes, &arrival)
        }
        Err(Errno::NOSYS) => link_and_remove(changes, locked, &arrival),
        Err(Errno::INVAL) if kind != FileKind::Directory => {
            link_and_remove(changes, locked, &arrival)
        }
        // The destination lies below the source (rename(2)). Filesystems without `RENAME_NOREPLACE`
        // return the same error, but are not asked again.
        Err(Errno::INVAL) => Err(FsError::IntoItself {
            path: source.display_path().into(),
        }),
        Err(Errno::EXIST) => Err(FsError::AlreadyExists {
            path: destination.display_path().into(),
        }),
        Err(errno) => Err(failed(errno)),
    }
}

/// A move, with the destination directory.
struct Arrival<'a> {
    source: &'a Checked<Entry>,
    kind: FileKind,
    dir: &'a Arc<OwnedFd>,
    destination: &'a Checked<Write>,
}

impl Arrival<'_> {
    /// Removes the new name of a file that has another one.
    fn remove(&self) -> Result<(), FsError> {
        unlinkat(self.dir, self.destination.name(), AtFlags::empty())
            .map_err(|errno| FsError::of(self.destination.display_path(), "take back", errno))
    }

    /// Creates the new name, if that creates no protected path: a moved directory above a protected
    /// path must not contain anything at that path. Its content is checked at the old place before,
    /// and at the new place after the move; not after a failure.
    fn give(
        &self,
        give: impl FnOnce() -> Result<(), Errno>,
        take_back: impl FnOnce() -> Result<(), FsError>,
    ) -> Result<Result<(), Errno>, FsError> {
        let Self {
            source,
            kind,
            dir,
            destination,
        } = *self;
        let rules = destination.rules();
        let misplaced = |misplaced| FsError::of_place(destination.display_path(), misplaced);
        rules
            .may_change(source.dir(), source.name())
            .map_err(|why| FsError::of_place(source.display_path(), why))?;
        let given = Cell::new(None);
        let may = || {
            let now = match given.get() {
                None => (source.dir().as_fd(), source.name()),
                Some(Ok(())) => (dir.as_fd(), destination.name()),
                // The object under the name was there before.
                Some(Err(_)) => return Ok(()),
            };
            let place = rules.may_bear(
                dir,
                destination.name(),
                (kind == FileKind::Directory).then_some(now),
            );
            refuse_way(
                source.place(),
                &place.map_err(misplaced)?,
                destination,
                kind,
            )
        };
        let give = || {
            let done = give();
            given.set(Some(done));
            Ok(done)
        };
        super::giving::give(may, give, |_| take_back())
    }
}

/// Refuses to move a directory or link into a repository, since git writes through links. Refuses
/// to move the parent directories of a hidden path: files opened in them would get another path, or
/// another directory would get theirs.
fn refuse_way(
    from: &Path,
    to: &Path,
    destination: &Checked<Write>,
    kind: FileKind,
) -> Result<(), FsError> {
    let rules = destination.rules();
    let refuse = |protected: &Path, why| {
        Err(FsError::Protected {
            path: destination.display_path().into(),
            protected: protected.into(),
            why,
        })
    };
    if !matches!(kind, FileKind::Directory | FileKind::Symlink) {
        return Ok(());
    }
    if rules.is_git_directory(to) {
        return refuse(to, rules.cause(to));
    }
    let way = [from, to]
        .into_iter()
        .find(|place| rules.is_on_the_way(place));
    way.map_or(Ok(()), |way| refuse(way, Cause::Hidden))
}

/// Fallback without `RENAME_NOREPLACE`: a hard link never overwrites either.
fn link_and_remove(
    changes: &Changes<'_>,
    locked: Option<DirLocks>,
    arrival: &Arrival<'_>,
) -> Result<(), FsError> {
    let Arrival {
        source,
        dir,
        destination,
        ..
    } = *arrival;
    let link = || {
        linkat(
            source.dir(),
            source.name(),
            dir,
            destination.name(),
            AtFlags::empty(),
        )
    };
    match arrival.give(link, || arrival.remove())? {
        Ok(()) => remove_source(changes, source),
        Err(Errno::EXIST) => Err(FsError::AlreadyExists {
            path: destination.display_path().into(),
        }),
        Err(_) => {
            drop(locked);
            copy_and_remove(changes, arrival)
        }
    }
}

fn copy_and_remove(changes: &Changes<'_>, arrival: &Arrival<'_>) -> Result<(), FsError> {
    let Arrival {
        source,
        kind,
        dir,
        destination,
    } = *arrival;
    match kind {
        FileKind::File => copy_file_and_remove(changes, arrival),
        FileKind::Symlink => {
            let _locked = DirLocks::if_readable(source.dir(), source.display_path())?;
            let target = readlinkat(source.dir(), source.name(), Vec::new())
                .map_err(|errno| FsError::of(source.display_path(), "move", errno))?;
            let link = || symlinkat(&target, dir, destination.name());
            let linked = arrival.give(link, || arrival.remove())?;
            linked.map_err(|errno| {
                FsError::of(destination.display_path(), "move something to", errno)
            })?;
            remove_source(changes, source)
        }
        kind => {
            let (path, to) = (
                source.display_path().into(),
                destination.display_path().into(),
            );
            Err(FsError::OtherFilesystem { path, to, kind })
        }
    }
}

fn copy_file_and_remove(changes: &Changes<'_>, arrival: &Arrival<'_>) -> Result<(), FsError> {
    let Arrival {
        source,
        dir,
        destination,
        ..
    } = *arrival;
    let failed = |errno| FsError::of(source.display_path(), "move", errno);
    let shown = destination.display_path();
    let old = open_file(source.dir(), source.name())
        .map_err(failed)?
        .handle;
    let stat = fstat(&old).map_err(failed)?;
    let copied = Stamp::of(&stat);
    let mut temp = Temp::create(dir, Privacy::Owner, shown)?;
    copy(&mut reader_of(old.as_fd()), &temp, shown)?;
    attributes::keep(
        &old,
        &owner_as_allowed(stat, &temp, shown)?,
        temp.file(),
        shown,
    )?;
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: stat.st_atime,
            tv_nsec: i64::try_from(stat.st_atime_nsec).unwrap_or(0),
        },
        last_modification: Timespec {
            tv_sec: stat.st_mtime,
            tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or(0),
        },
    };
    futimens(temp.file(), &times).map_err(failed)?;
    temp.sync(shown)?;
    keep_writers_out(&old, source.display_path())?;
    let _locked = DirLocks::if_readable(source.dir(), source.display_path())?;
    let there = statat(source.dir(), source.name(), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    if !copied.is(&there) {
        return Err(FsError::Changed {
            path: source.display_path().into(),
        });
    }
    let mut is_renamed = true;
    let name = || match renameat_with(
        dir,
        temp.name(),
        dir,
        destination.name(),
        RenameFlags::NOREPLACE,
    ) {
        // The hard link stays when the temporary name is removed.
        Err(Errno::INVAL | Errno::NOSYS) => {
            is_renamed = false;
            linkat(dir, temp.name(), dir, destination.name(), AtFlags::empty())
        }
        renamed => renamed,
    };
    arrival
        .give(name, || arrival.remove())?
        .map_err(|errno| FsError::of(shown, "move something to", errno))?;
    if is_renamed {
        temp.disarm();
    }
    remove_source(changes, source)
}

/// Returns the metadata to copy; with the copy's own owner if the original one is not permitted
/// (like `mv`).
fn owner_as_allowed(mut stat: Stat, temp: &Temp, shown: &Path) -> Result<Stat, FsError> {
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    if fchown(temp.file(), Some(owner), Some(group)).is_err() {
        let fresh = fstat(temp.file()).map_err(|errno| FsError::of(shown, "write", errno))?;
        (stat.st_uid, stat.st_gid) = (fresh.st_uid, fresh.st_gid);
    }
    Ok(stat)
}

fn remove_source(changes: &Changes<'_>, source: &Checked<Entry>) -> Result<(), FsError> {
    changes
        .before_replace(source.dir().as_fd(), source.place())
        .map_err(FsError::of_journal(source.display_path()))?;
    unlinkat(source.dir(), source.name(), AtFlags::empty())
        .map_err(|errno| FsError::of(source.display_path(), "move", errno))
}
