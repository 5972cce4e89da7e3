//! Filesystem objects: identity, metadata and content, accessed by descriptors.
#![expect(
    clippy::disallowed_methods,
    reason = "everything starts at a handle of a root or of the store"
)]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::LazyLock;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, SeekFrom, Statx, StatxFlags, StatxTimestamp,
    Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chmodat, chownat, copy_file_range,
    ftruncate, getxattr, ioctl_ficlone, linkat, listxattr, makedev, mkfifoat, openat, readlinkat,
    removexattr, seek, setxattr, statx, symlinkat, utimensat,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec, pread, pwrite};
use rustix::process::{getegid, geteuid};
use serde::{Deserialize, Serialize};

use super::bytes::Bytes;

/// Set-user-ID and set-group-ID bits of a mode.
pub(super) const SET_ID: u32 = 0o6000;
const NANOSECONDS: i64 = 1_000_000_000;
/// Largest list of names, and largest value (xattr(7)).
const ATTRIBUTE_BYTES: usize = 64 * 1024;
/// Bytes compared or copied at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Files up to this size are copied without a look for holes or a try to share all blocks. The
/// kernel shares blocks itself where it can (`copy_file_range(2)`).
const SMALL_FILE_BYTES: u64 = 64 * 1024;

/// Identity of an object: device, inode number, birth time in nanoseconds since 1970. Inode numbers
/// are reused; birth times are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id(pub u64, pub u64, pub i64);

impl Id {
    /// Returns the identity of an open object.
    pub fn of(handle: impl AsFd) -> std::io::Result<Self> {
        Ok(stat_of(handle)?.id)
    }

    pub(super) fn born(self) -> i64 {
        self.2
    }
}

/// Metadata from statx(2). Times are in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    pub id: Id,
    /// Includes the file type.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub links: u32,
    pub mtime: i64,
    pub ctime: i64,
    /// Size on the disk.
    pub bytes: u64,
}

/// Extended attributes: names and values, sorted.
pub(super) type Attributes = Vec<(Bytes, Bytes)>;

impl From<Statx> for Stat {
    fn from(raw: Statx) -> Self {
        let nanos = |time: StatxTimestamp| time.tv_sec * NANOSECONDS + i64::from(time.tv_nsec);
        // Without a birth time it is 0, which a store refuses for its roots.
        let born = if raw.stx_mask & StatxFlags::BTIME.bits() == 0 {
            0
        } else {
            nanos(raw.stx_btime)
        };
        Self {
            id: Id(
                makedev(raw.stx_dev_major, raw.stx_dev_minor),
                raw.stx_ino,
                born,
            ),
            mode: raw.stx_mode.into(),
            uid: visible_id(raw.stx_uid, OWN.0),
            gid: visible_id(raw.stx_gid, OWN.1),
            size: raw.stx_size,
            links: raw.stx_nlink,
            mtime: nanos(raw.stx_mtime),
            ctime: nanos(raw.stx_ctime),
            bytes: raw.stx_blocks * 512,
        }
    }
}

impl Stat {
    /// Fields to request from statx(2).
    pub const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    pub fn is_dir(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    pub fn is_link(&self) -> bool {
        self.kind() == FileType::Symlink
    }

    pub(super) fn rights(&self) -> (u32, u32, u32) {
        (self.mode, self.uid, self.gid)
    }

    /// Returns the fields that hard links do not affect.
    pub(super) fn plain(&self) -> (Id, (u32, u32, u32), u64, i64) {
        (self.id, self.rights(), self.size, self.mtime)
    }
}

/// Turns a missing file into `None`.
pub(super) fn there<T>(found: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the metadata of the object under a name; with an empty name, of the open object.
pub fn stat(dir: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    Ok(there(with_access(dir.as_fd(), || {
        statx(&dir, name, flags, Stat::WANTED)
    }))?
    .map(Stat::from))
}

/// User and group of this process.
static OWN: LazyLock<(u32, u32)> = LazyLock::new(|| (geteuid().as_raw(), getegid().as_raw()));
/// Id of unmapped users in a user namespace (`user_namespaces(7)`, `overflowuid`).
const NOBODY: u32 = 65_534;

/// In the user namespace of a user's commands, all other users appear as nobody. The same holds
/// here: a user cannot give files to others.
fn visible_id(id: u32, own: u32) -> u32 {
    if OWN.0 == 0 || id == own { id } else { NOBODY }
}

pub(super) fn stat_of(handle: impl AsFd) -> Result<Stat, Errno> {
    stat(handle, OsStr::new(""))?.ok_or(Errno::NOENT)
}

/// Opens the object under a name with `O_PATH`; with an empty name, the directory itself.
pub(super) fn handle(dir: impl AsFd, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    if name.is_empty() {
        return fcntl_dupfd_cloexec(dir, 0).map(Some);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    there(with_access(dir.as_fd(), || {
        openat(&dir, name, flags, Mode::empty())
    }))
}

pub(super) fn open_dir(dir: impl AsFd, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match with_access(dir.as_fd(), || openat(&dir, name, flags, Mode::empty())) {
        Err(Errno::LOOP) => Ok(None),
        found => there(found),
    }
}

/// Returns the names in a directory, sorted.
pub(super) fn names(dir: impl AsFd) -> Result<Vec<OsString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listing = with_access(dir.as_fd(), || openat(&dir, ".", flags, Mode::empty()))?;
    let mut all = Vec::new();
    for entry in Dir::new(listing)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            all.push(OsString::from_vec(name));
        }
    }
    all.sort();
    Ok(all)
}

/// Returns the only path to an open object of any type. Without it, mode and attributes of an
/// unreadable file are out of reach, and so is opening exactly this object for reading or writing.
fn magic(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Reopens an open object. Only for regular files: opening others can have side effects.
pub(super) fn reopen(handle: &impl AsFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(
        CWD,
        magic(handle.as_fd()),
        flags | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Opens a regular file. Objects of other types are left alone.
pub(super) fn open_file(
    dir: impl AsFd,
    name: &OsStr,
    flags: OFlags,
) -> Result<Option<OwnedFd>, Errno> {
    let Some(handle) = handle(dir, name)? else {
        return Ok(None);
    };
    if stat_of(&handle)?.is_file() {
        reopen(&handle, flags).map(Some)
    } else {
        Ok(None)
    }
}

/// Returns all extended attributes, including access control lists; `None` if they are not
/// readable.
pub(super) fn attributes(handle: &impl AsFd) -> Result<Option<Attributes>, Errno> {
    let path = magic(handle.as_fd());
    match with_access(handle.as_fd(), || attributes_at(&path)) {
        Err(Errno::ACCESS) => Ok(None),
        all => all.map(Some),
    }
}

fn attributes_at(path: &str) -> Result<Attributes, Errno> {
    let mut list = Vec::with_capacity(ATTRIBUTE_BYTES);
    match listxattr(path, spare_capacity(&mut list)) {
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut all = Vec::new();
    for name in list
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let mut value = Vec::with_capacity(ATTRIBUTE_BYTES);
        getxattr(path, name, spare_capacity(&mut value))?;
        all.push((Bytes(name.to_vec()), Bytes(value)));
    }
    all.sort();
    Ok(all)
}

/// Restores owner, mode, attributes and modification time, each only if it differs.
pub(super) fn restore(
    handle: BorrowedFd<'_>,
    was: &Stat,
    attributes_were: Option<&Attributes>,
) -> Result<(), Errno> {
    let now = stat_of(handle)?;
    if OWN.0 != 0 && now.uid != OWN.0 {
        // Only the owner can change it, so no command of this user did.
        return Ok(());
    }
    if (now.uid, now.gid) != (was.uid, was.gid) {
        let own = |id: u32| (OWN.0 == 0 || id != NOBODY).then_some(id);
        chownat(
            handle,
            "",
            own(was.uid).map(Uid::from_raw),
            own(was.gid).map(Gid::from_raw),
            AtFlags::EMPTY_PATH,
        )?;
    }
    if !was.is_link() {
        if let Some(were) = attributes_were {
            match set_attributes(handle, were) {
                // The owner can still set those of a write-protected file.
                Err(Errno::ACCESS) => {
                    set_mode(&handle, now.mode | 0o600)?;
                    set_attributes(handle, were)?;
                }
                set => set?,
            }
        }
        // Last, because a new owner and an access control list change the mode too.
        if stat_of(handle)?.mode != was.mode {
            set_mode(&handle, was.mode)?;
        }
    }
    if now.mtime == was.mtime {
        Ok(())
    } else {
        set_mtime(handle, was.mtime)
    }
}

fn set_attributes(handle: BorrowedFd<'_>, were: &Attributes) -> Result<(), Errno> {
    let path = magic(handle);
    let present = attributes(&handle)?.unwrap_or_default();
    for (name, _) in present
        .iter()
        .filter(|(name, _)| !were.iter().any(|(other, _)| other == name))
    {
        match removexattr(&path, name.0.as_slice()) {
            // Attributes can be aliases: xfs shows access control lists twice.
            Err(Errno::NODATA) => {}
            removed => removed?,
        }
    }
    // Access control lists come last in this order, because they may forbid the rest.
    for (name, value) in were
        .iter()
        .rev()
        .filter(|attribute| !present.contains(attribute))
    {
        setxattr(&path, name.0.as_slice(), &value.0, XattrFlags::empty())?;
    }
    Ok(())
}

pub(super) fn set_mode(handle: &impl AsFd, mode: u32) -> Result<(), Errno> {
    chmodat(
        CWD,
        magic(handle.as_fd()),
        Mode::from_raw_mode(mode & 0o7777),
        AtFlags::empty(),
    )
}

pub(super) fn set_mtime(handle: impl AsFd, mtime: i64) -> Result<(), Errno> {
    let changed = Timespec {
        tv_sec: mtime.div_euclid(NANOSECONDS),
        tv_nsec: mtime.rem_euclid(NANOSECONDS),
    };
    let last_access = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_OMIT,
    };
    utimensat(
        handle,
        "",
        &Timestamps {
            last_access,
            last_modification: changed,
        },
        AtFlags::EMPTY_PATH,
    )
}

/// Runs an operation on an object, or on the names in a directory. If only the mode forbids it, the
/// mode is changed meanwhile.
pub(super) fn with_access<T>(
    object: BorrowedFd<'_>,
    mut act: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS) => {
            let mode = stat_of(object)?.mode;
            set_mode(&object, mode | 0o700).map_err(|_| Errno::ACCESS)?;
            let done = act();
            set_mode(&object, mode)?;
            done
        }
        done => done,
    }
}

/// Copies `size` bytes of the second file to the first one. Blocks are shared if possible; holes
/// stay holes.
pub(super) fn copy(to: impl AsFd, from: impl AsFd, size: u64) -> Result<(), Errno> {
    copy_sparse(&to, from, size)?;
    set_size(to, size).map(drop)
}

fn copy_sparse(to: impl AsFd, from: impl AsFd, size: u64) -> Result<(), Errno> {
    if ioctl_ficlone(&to, &from).is_ok() {
        return Ok(());
    }
    ftruncate(&to, 0)?;
    let mut at = 0;
    while at < size {
        let Some(data) = data_from(&from, at)? else {
            break;
        };
        at = data.min(size);
        let end = seek(&from, SeekFrom::Hole(at))?.min(size);
        at = copy_range(&to, &from, at, end)?;
    }
    Ok(())
}

/// Sets the size of a file, if it differs: even to its own size, xfs would copy shared blocks.
fn set_size(file: impl AsFd, size: u64) -> Result<Stat, Errno> {
    let now = stat_of(&file)?;
    if now.size == size {
        return Ok(now);
    }
    ftruncate(&file, size)?;
    stat_of(file)
}

/// Copies a range of the file at the same offset. Returns the offset at which it stopped: the end
/// of the range, or of the file.
fn copy_range(to: impl AsFd, from: impl AsFd, mut at: u64, end: u64) -> Result<u64, Errno> {
    while at < end {
        match copy_part(to.as_fd(), from.as_fd(), at, end - at)? {
            0 => break,
            got => at += got,
        }
    }
    Ok(at)
}

/// Copies a part of the file at the same offset. Returns the number of bytes; 0 at the end of the
/// file.
fn copy_part(to: BorrowedFd<'_>, from: BorrowedFd<'_>, at: u64, wanted: u64) -> Result<u64, Errno> {
    let most = usize::try_from(wanted).unwrap_or(usize::MAX);
    match copy_file_range(from, Some(&mut { at }), to, Some(&mut { at }), most) {
        // The filesystems are of different types.
        Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP) => {}
        copied => return copied.map(|got| got as u64),
    }
    let mut part = vec![0; most.min(CHUNK_BYTES)];
    let got = pread(from, part.as_mut_slice(), at)?;
    let mut done = 0;
    while done < got {
        done += pwrite(to, &part[done..got], at + done as u64)?;
    }
    Ok(got as u64)
}

/// Copies an object that cannot be linked (file, symlink, FIFO) to a name. Returns the bytes used
/// on the disk; `None` if it was not copied, because it takes more than `most` bytes or is not
/// readable.
pub(super) fn copy_object(
    object: BorrowedFd<'_>,
    stat: &Stat,
    dir: BorrowedFd<'_>,
    name: &OsStr,
    most: u64,
) -> Result<Option<u64>, Errno> {
    match stat.kind() {
        FileType::RegularFile => {
            let Ok(from) = reopen(&object, OFlags::RDONLY) else {
                return Ok(None);
            };
            let to = openat(
                dir,
                name,
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC,
                Mode::RUSR | Mode::WUSR,
            )?;
            let has_holes = stat.bytes < stat.size;
            if stat.bytes > most {
                // Shared blocks cost nothing, for any size.
                if ioctl_ficlone(&to, &from).is_err() {
                    return Ok(None);
                }
            } else if has_holes || stat.size > SMALL_FILE_BYTES {
                copy_sparse(&to, &from, stat.size)?;
            } else {
                copy_range(&to, &from, 0, stat.size)?;
            }
            return Ok(Some(set_size(&to, stat.size)?.bytes));
        }
        FileType::Symlink => symlinkat(&readlinkat(object, "", Vec::new())?, dir, name)?,
        FileType::Fifo => mkfifoat(dir, name, Mode::RUSR | Mode::WUSR)?,
        _ => return Ok(None),
    }
    Ok(Some(0))
}

/// Returns true if two files have the same content. Common holes are not read.
pub(super) fn is_same_content(one: impl AsFd, other: impl AsFd) -> Result<bool, Errno> {
    if stat_of(&one)?.size != stat_of(&other)?.size {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let mut at = 0;
    loop {
        at = match (data_from(&one, at)?, data_from(&other, at)?) {
            (None, None) => return Ok(true),
            (Some(first), Some(second)) => first.min(second),
            (first, second) => first.or(second).unwrap_or(at),
        };
        let got = pread(&one, left.as_mut_slice(), at)?;
        let other_got = pread(&other, right.as_mut_slice(), at)?;
        // Reads of regular files return all available bytes.
        if left[..got] != right[..other_got] {
            return Ok(false);
        }
        if got == 0 {
            return Ok(true);
        }
        at += got as u64;
    }
}

/// Returns the offset of the next data; `None` if only a hole follows.
fn data_from(file: &impl AsFd, at: u64) -> Result<Option<u64>, Errno> {
    match seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => Ok(None),
        data => data.map(Some),
    }
}

/// Creates a hard link.
pub(super) fn link(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    to_name: &OsStr,
) -> Result<(), Errno> {
    with_access(from, || linkat(from, name, to, to_name, AtFlags::empty()))
}

pub(super) fn is_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !matches!(bytes, b"" | b"." | b"..")
        && bytes.len() <= 255
        && !bytes.contains(&b'/')
        && !bytes.contains(&0)
}
