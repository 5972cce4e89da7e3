//! Lists a directory.
#![expect(clippy::disallowed_methods, reason = "fs opens files")]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use replay_base::limits::LIST_BUFFER_BYTES;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

use crate::policy::{Checked, FileKind, Read, Rules};

use super::error::FsError;
use super::info::{Info, info_of};
use super::read::OpenFile;
use super::version::Version;

/// Entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Name: any bytes but `/` and NUL.
    pub name: OsString,
    /// File type; links are not followed.
    pub kind: FileKind,
    /// Inode number from the directory (`getdents64(2)`).
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

/// Returns all entries that are not hidden, sorted by the bytes of their names.
pub fn entries(dir: &Checked<Read>) -> Result<Vec<DirEntry>, FsError> {
    let failed = |errno| FsError::of(dir.display_path(), "list", errno);
    // A separate open file description: it holds the position in the directory, which two listings
    // would share.
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

/// Returns the metadata of one entry of a directory; links are not followed.
///
/// `name` is a single component. Anything else is `NotFound`, because no entry can have such a
/// name.
pub fn entry_info(dir: &Checked<Read>, name: &OsStr) -> Result<Info, FsError> {
    let shown = dir.display_path().join(name);
    if matches!(name.as_bytes(), b"" | b"." | b"..") || name.as_bytes().contains(&b'/') {
        return Err(FsError::NotFound { path: shown });
    }
    info_of(dir, name, AtFlags::empty(), &shown)
}

/// Returns all entries of an open directory from its file offset on, in the order of the
/// filesystem.
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

/// Entry as returned by the kernel.
pub(super) struct RawEntry<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: FileKind,
    pub(super) inode: u64,
    /// `true` if the directory did not contain the file type, which required a stat.
    pub(super) was_asked: bool,
}

/// Visits the entries of an open directory from its file offset on. `buffer` is used by the kernel.
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
        let mut kind = FileKind::from(entry.file_type());
        let was_asked = kind == FileKind::Unknown;
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

/// Returns true if an entry of this directory is hidden; `place` returns its path.
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

/// Opens a subdirectory without following links. Fails with EXDEV if it is on a pseudo filesystem
/// of the kernel.
pub(super) fn open_below(rules: &Rules, dir: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let name = OsStr::from_bytes(name);
    match openat2(&dir, name, LIST, Mode::empty(), ResolveFlags::NO_XDEV) {
        // A mount point, or openat2 is not available.
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

/// Returns true if a hidden path had this name, whatever has it now; also if that is unknown.
pub(super) fn is_home(rules: &Rules, dir: impl AsFd, name: &[u8]) -> bool {
    rules.is_home(name, || {
        fstat(&dir).ok().map(|stat| (stat.st_dev, stat.st_ino))
    })
}

/// Returns the current version of an entry, if it is a regular file.
pub(super) fn version_of(dir: impl AsFd, name: &OsStr) -> Option<Version> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| Version::of(&stat))
}

/// Opens an entry if it is a regular file, without blocking and without following links.
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
