//! Moves an entry to a name that is free.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Gid, RenameFlags, Stat, Timespec, Timestamps, Uid, fchown, fstat, futimens, linkat, readlinkat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::journal::Changes;
use crate::policy::{Cause, Checked, Entry, Kind, Write, exists_below};

use super::attributes;
use super::dir::open_file;
use super::dirs::make_below;
use super::error::FsError;
use super::locks::{DirLocks, keep_writers_out};
use super::original::{Stamp, copy};
use super::read::reader_of;
use super::temp::{Privacy, Temp};

/// Moves `source` to `destination`, making missing parents. Never overwrites; a link is moved as a link.
///
/// To another filesystem a file is copied with its mode, times and extended attributes (and its owner where allowed) and
/// then removed; a directory cannot be moved there.
pub fn move_no_clobber(
    changes: &Changes<'_>,
    source: &Checked<Entry>,
    destination: &Checked<Write>,
) -> Result<(), FsError> {
    let failed = |errno| FsError::of(source.shown(), "move", errno);
    let stat = statat(source.dir(), source.name(), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let kind = Kind::from(FileType::from_raw_mode(stat.st_mode));
    if destination.wants_dir() && kind != Kind::Directory {
        return Err(FsError::NotADirectory { path: destination.shown().into() });
    }
    // What is moved is what the last server to change it has put there.
    let locked = DirLocks::if_readable(source.dir(), source.shown())?;
    let raced = || FsError::Changed { path: destination.shown().into() };
    let (mut above, mut held) = (None, None);
    if destination.rules().protected_below(destination.place()).next().is_some() {
        above = Some(destination.rules().hold_all(destination.era()).ok_or_else(raced)?);
    } else {
        held = Some(destination.hold().ok_or_else(raced)?);
    }
    keeps_protected_away(source, kind, destination)?;
    let parents = (destination.parents(), destination.place().parent().unwrap_or(destination.place()));
    let (dir, _) = make_below(changes, destination.dir(), parents, destination.shown())?;
    let spots = ((source.dir().as_fd(), source.place()), (dir.as_fd(), destination.place()));
    changes.renames(spots.0, spots.1).map_err(FsError::of_journal(source.shown()))?;
    let renamed = renameat_with(source.dir(), source.name(), &dir, destination.name(), RenameFlags::NOREPLACE);
    if let (Ok(()), Some(era)) = (renamed, above.as_deref_mut()) {
        *era += 1;
    }
    // A copy takes as long as the file is large, and holds off others only for its last step.
    drop((above, held));
    match renamed {
        Ok(()) => Ok(()),
        Err(Errno::XDEV) => {
            drop(locked);
            copy_and_remove(changes, source, kind, &dir, destination)
        }
        Err(Errno::NOSYS) => link_and_remove(changes, locked, source, kind, &dir, destination),
        Err(Errno::INVAL) if kind != Kind::Directory => {
            link_and_remove(changes, locked, source, kind, &dir, destination)
        }
        // Below itself (rename(2)); a filesystem that cannot promise not to overwrite says the same, and is not asked again.
        Err(Errno::INVAL) => Err(FsError::IntoItself { path: source.shown().into() }),
        Err(Errno::EXIST) => Err(FsError::AlreadyExists { path: destination.shown().into() }),
        Err(errno) => Err(failed(errno)),
    }
}

/// Refuses a move by which a protected path would come into being: only a directory that holds nothing of that name may
/// stand above one.
fn keeps_protected_away(source: &Checked<Entry>, kind: Kind, destination: &Checked<Write>) -> Result<(), FsError> {
    let (rules, place) = (destination.rules(), destination.place());
    let failed = |protected: PathBuf| {
        let why = rules.cause(&protected);
        Err(FsError::Protected { path: destination.shown().into(), protected, why })
    };
    for (protected, rest) in rules.protected_below(place) {
        if kind != Kind::Directory || exists_below(source.dir(), source.name(), &rest) {
            return failed(protected.into_owned());
        }
    }
    // Repositories of submodules and work trees lie there, so any directory could become one. Git writes through links.
    let is_refused = kind == Kind::Directory && rules.is_in_repository(place)
        || matches!(kind, Kind::Directory | Kind::Symlink) && rules.is_git_directory(place);
    if is_refused {
        return failed(place.into());
    }
    // What is open in it would get a hidden name, or the next directory of this name would be another one.
    let way = [source.place(), place].into_iter().find(|place| rules.is_on_the_way(place));
    if let Some(way) = way.filter(|_| matches!(kind, Kind::Directory | Kind::Symlink)) {
        return Err(FsError::Protected { path: destination.shown().into(), protected: way.into(), why: Cause::Hidden });
    }
    Ok(())
}

/// Where `RENAME_NOREPLACE` is unknown: a second name never overwrites either.
fn link_and_remove(
    changes: &Changes<'_>,
    locked: Option<DirLocks>,
    source: &Checked<Entry>,
    kind: Kind,
    dir: &Arc<OwnedFd>,
    destination: &Checked<Write>,
) -> Result<(), FsError> {
    let held = destination.hold().ok_or_else(|| FsError::Changed { path: destination.shown().into() })?;
    let linked = linkat(source.dir(), source.name(), dir, destination.name(), AtFlags::empty());
    drop(held);
    match linked {
        Ok(()) => remove_source(changes, source),
        Err(Errno::EXIST) => Err(FsError::AlreadyExists { path: destination.shown().into() }),
        Err(_) => {
            drop(locked);
            copy_and_remove(changes, source, kind, dir, destination)
        }
    }
}

fn copy_and_remove(
    changes: &Changes<'_>,
    source: &Checked<Entry>,
    kind: Kind,
    dir: &Arc<OwnedFd>,
    destination: &Checked<Write>,
) -> Result<(), FsError> {
    match kind {
        Kind::File => copy_file_and_remove(changes, source, dir, destination),
        Kind::Symlink => {
            let _locked = DirLocks::if_readable(source.dir(), source.shown())?;
            let target = readlinkat(source.dir(), source.name(), Vec::new())
                .map_err(|errno| FsError::of(source.shown(), "move", errno))?;
            let _held = destination.hold().ok_or_else(|| FsError::Changed { path: destination.shown().into() })?;
            symlinkat(target, dir, destination.name())
                .map_err(|errno| FsError::of(destination.shown(), "move something to", errno))?;
            remove_source(changes, source)
        }
        kind => {
            let (path, to) = (source.shown().into(), destination.shown().into());
            Err(FsError::OtherFilesystem { path, to, kind })
        }
    }
}

fn copy_file_and_remove(
    changes: &Changes<'_>,
    source: &Checked<Entry>,
    dir: &Arc<OwnedFd>,
    destination: &Checked<Write>,
) -> Result<(), FsError> {
    let failed = |errno| FsError::of(source.shown(), "move", errno);
    let shown = destination.shown();
    let old = open_file(source.dir(), source.name()).map_err(failed)?.handle;
    let stat = fstat(&old).map_err(failed)?;
    let copied = Stamp::of(&stat);
    let mut temp = Temp::create(dir, Privacy::Owner, shown)?;
    copy(&mut reader_of(old.as_fd()), &temp, shown)?;
    attributes::keep(&old, &owner_as_allowed(stat, &temp, shown)?, temp.file(), shown)?;
    let times = Timestamps {
        last_access: Timespec { tv_sec: stat.st_atime, tv_nsec: i64::try_from(stat.st_atime_nsec).unwrap_or(0) },
        last_modification: Timespec { tv_sec: stat.st_mtime, tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or(0) },
    };
    futimens(temp.file(), &times).map_err(failed)?;
    temp.sync(shown)?;
    keep_writers_out(&old, source.shown())?;
    let _locked = DirLocks::if_readable(source.dir(), source.shown())?;
    let there = statat(source.dir(), source.name(), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    if !copied.is(&there) {
        return Err(FsError::Changed { path: source.shown().into() });
    }
    let _held = destination.hold().ok_or_else(|| FsError::Changed { path: shown.into() })?;
    match renameat_with(dir, temp.name(), dir, destination.name(), RenameFlags::NOREPLACE) {
        Ok(()) => temp.disarm(),
        Err(Errno::INVAL | Errno::NOSYS) => {
            // The second name stays when the temporary one goes.
            linkat(dir, temp.name(), dir, destination.name(), AtFlags::empty())
                .map_err(|errno| FsError::of(shown, "move something to", errno))?;
        }
        Err(errno) => return Err(FsError::of(shown, "move something to", errno)),
    }
    remove_source(changes, source)
}

/// The status to keep; with the owner that the copy has anyway, where it may not be given away (as `mv` does).
fn owner_as_allowed(mut stat: Stat, temp: &Temp, shown: &Path) -> Result<Stat, FsError> {
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    if fchown(temp.file(), Some(owner), Some(group)).is_err() {
        let fresh = fstat(temp.file()).map_err(|errno| FsError::of(shown, "write", errno))?;
        (stat.st_uid, stat.st_gid) = (fresh.st_uid, fresh.st_gid);
    }
    Ok(stat)
}

fn remove_source(changes: &Changes<'_>, source: &Checked<Entry>) -> Result<(), FsError> {
    changes.makes_way(source.dir().as_fd(), source.place()).map_err(FsError::of_journal(source.shown()))?;
    unlinkat(source.dir(), source.name(), AtFlags::empty()).map_err(|errno| FsError::of(source.shown(), "move", errno))
}
