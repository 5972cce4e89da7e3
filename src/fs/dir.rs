//! Lists one directory.
#![expect(clippy::disallowed_methods, reason = "fs is the disk door")]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

use crate::limits::LIST_BUFFER_BYTES;
use crate::policy::{Checked, Kind, Read, Rules};

use super::error::FsError;
use super::info::{Info, info_of};
use super::read::OpenFile;
use super::version::Version;

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Its name, any bytes but `/` and NUL.
    pub name: OsString,
    /// What it is; a link is a link.
    pub kind: Kind,
    /// Its number as the directory has it (`getdents64(2)`).
    pub inode: u64,
}

pub(super) const LIST: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
const READ_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// All entries but what is hidden, sorted by the bytes of their names.
pub fn entries(dir: &Checked<Read>) -> Result<Vec<DirEntry>, FsError> {
    let failed = |errno| FsError::of(dir.shown(), "list", errno);
    // A handle of its own: the position in a directory belongs to the open file, and two listings
    // would share it.
    let own = openat(dir, ".", LIST, Mode::empty()).map_err(failed)?;
    let mut entries = list(&own).map_err(failed)?;
    let is_hidden = |entry: &DirEntry| {
        is_hidden(
            dir.rules(),
            &own,
            entry.name.as_bytes(),
            entry.inode,
            || dir.place().join(&entry.name),
        )
    };
    entries.retain(|entry| !is_hidden(entry));
    entries.sort_unstable();
    Ok(entries)
}

/// Metadata of one entry of a directory; a link is not followed.
///
/// `name` is one name: anything else is `NotFound`, as no entry can be called so.
pub fn entry_info(dir: &Checked<Read>, name: &OsStr) -> Result<Info, FsError> {
    let shown = dir.shown().join(name);
    if matches!(name.as_bytes(), b"" | b"." | b"..") || name.as_bytes().contains(&b'/') {
        return Err(FsError::NotFound { path: shown });
    }
    info_of(dir, name, AtFlags::empty(), &shown)
}

/// Everything in an open directory, from where its position is, in the order of the filesystem.
pub(super) fn list(dir: &OwnedFd) -> Result<Vec<DirEntry>, Errno> {
    let mut found = Vec::new();
    each_entry(dir, &mut Vec::new(), |entry| {
        let name = OsStr::from_bytes(entry.name).to_os_string();
        found.push(DirEntry {
            name,
            kind: entry.kind,
            inode: entry.inode,
        });
        Ok(())
    })?;
    Ok(found)
}

/// An entry as a directory gives it.
pub(super) struct RawEntry<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: Kind,
    pub(super) inode: u64,
    /// The filesystem did not say what it is, so it was asked itself.
    pub(super) was_asked: bool,
}

/// Visits what is in an open directory, from where its position is. `buffer` is for the kernel.
pub(super) fn each_entry(
    dir: &OwnedFd,
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(RawEntry<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    buffer.clear();
    buffer.reserve(LIST_BUFFER_BYTES);
    let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let mut kind = Kind::from(entry.file_type());
        let was_asked = kind == Kind::Unknown;
        if was_asked {
            let asked = statat(
                dir,
                OsStr::from_bytes(name),
                AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT,
            );
            kind = asked.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode).into());
        }
        visit(RawEntry {
            name,
            kind,
            inode: entry.ino(),
            was_asked,
        })?;
    }
    Ok(())
}

/// Whether an entry of this directory, as the directory gives it, is hidden; `place` is its own.
pub(super) fn is_hidden(
    rules: &Rules,
    dir: impl AsFd,
    name: &[u8],
    inode: u64,
    place: impl FnOnce() -> PathBuf,
) -> bool {
    is_home(rules, &dir, name)
        || rules.hides_entry(name, place)
        || rules.may_be_hidden(name, inode)
            && statat(
                dir,
                OsStr::from_bytes(name),
                AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT,
            )
            .is_ok_and(|stat| rules.is_hidden((stat.st_dev, stat.st_ino)))
}

/// Opens a directory in another one, following nothing. EXDEV if it is on a filesystem of the
/// kernel's own.
pub(super) fn open_below(rules: &Rules, dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let name = OsStr::from_bytes(name);
    match openat2(&dir, name, LIST, Mode::empty(), ResolveFlags::NO_XDEV) {
        // Something is mounted there, or openat2 is not to be had.
        Err(Errno::XDEV | Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
        opened => return opened,
    }
    let opened = openat(dir, name, LIST, Mode::empty())?;
    if rules.is_kernels(fstat(&opened)?.st_dev, &opened) {
        Err(Errno::XDEV)
    } else {
        Ok(opened)
    }
}

/// Whether this is where something hidden was, whatever is there now; where it cannot be known, it
/// is.
pub(super) fn is_home(rules: &Rules, dir: impl AsFd, name: &[u8]) -> bool {
    rules.is_home(name, || {
        fstat(&dir).ok().map(|stat| (stat.st_dev, stat.st_ino))
    })
}

/// Which version of a regular file an entry is at this moment.
pub(super) fn version_of(dir: impl AsFd, name: &OsStr) -> Option<Version> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| Version::of(&stat))
}

/// Opens an entry if it is a regular file, without waiting for anything and without following a
/// link.
pub(super) fn open_file(dir: impl AsFd, name: &OsStr) -> Result<OpenFile, Errno> {
    let handle = openat(dir, name, READ_FILE, Mode::empty())?;
    let stat = fstat(&handle)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(OpenFile {
            handle,
            version: Version::of(&stat),
        }),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::NXIO),
    }
}
