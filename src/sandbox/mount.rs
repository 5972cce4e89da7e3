//! Mounts, made by handle (`open_tree(2)`, `fsopen(2)`, `move_mount(2)`).
#![expect(
    clippy::disallowed_methods,
    reason = "what commands see is put together from the system's own directories"
)]

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, accessat, fstat, fstatvfs,
    mkdirat, open, openat, openat2, statat, statx,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_remount, move_mount, open_tree,
};

use super::fault::{Fault, Step};
use super::plan::Place;
use super::sys::{self, MountAttributes};
use crate::limits::CERTIFICATES_BYTES;
use crate::mounts::{self, Mount};

pub(super) fn read_only() -> MountAttributes {
    MountAttributes::READ_ONLY
        .and(MountAttributes::NO_SET_UID)
        .and(MountAttributes::NO_DEVICES)
}

/// Sets attributes on a mount that is at its place, and on those below it if `recursive`.
///
/// Only there, and so only before anybody is let into this mount namespace, since kernels before
/// Linux 5.12 have no `mount_setattr(2)`, and mount(2) takes no mount that is nowhere.
pub(super) fn set(mount: &OwnedFd, attributes: MountAttributes, recursive: bool) -> io::Result<()> {
    match sys::mount_setattr(mount.as_fd(), attributes, recursive) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            set_each(mount, attributes, recursive)
        }
        done => done,
    }
}

/// [`set`], by mount(2).
fn set_each(mount: &OwnedFd, attributes: MountAttributes, recursive: bool) -> io::Result<()> {
    remount(mount, attributes)?;
    if !recursive {
        return Ok(());
    }
    let table = mounts::table()?;
    let mut above = vec![mount_of(mount)?];
    while let Some(id) = above.pop() {
        for below in table.iter().filter(|below| below.parent == id) {
            above.push(below.id);
            match mount_at(&below.place).filter(|(id, _)| *id == below.id) {
                Some((_, there)) => remount(&there, attributes)?,
                // Nobody inside can take away what lies over it.
                None if mounts::is_covered(below, &table) => {}
                None => return Err(unreached(below)),
            }
        }
    }
    Ok(())
}

fn unreached(mount: &Mount) -> io::Error {
    io::Error::other(format!(
        "`{}`, where something else is mounted, cannot be opened",
        mount.place.display()
    ))
}

/// One mount keeps what it has: a user namespace may not take away what comes from outside it
/// (`mount_namespaces(7)`). Times of access stay as they are when nothing is said of them.
fn remount(mount: &OwnedFd, attributes: MountAttributes) -> io::Result<()> {
    // Of statvfs(3), mount(2) and mount_setattr(2) these have the same numbers.
    let kept = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let has = fstatvfs(mount)?.f_flag.bits() as u32;
    let flags = MountFlags::from_bits_truncate(has | attributes.bits()) & kept;
    Ok(mount_remount(
        format!("/proc/self/fd/{}", mount.as_raw_fd()),
        flags | MountFlags::BIND,
        "",
    )?)
}

/// What is mounted at a place, and the number of the mount.
pub(super) fn mount_at(place: &Path) -> Option<(u64, OwnedFd)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let there = openat2(CWD, place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    Some((mount_of(&there).ok()?, there))
}

/// `STATX_MNT_ID` of statx(2).
pub(super) fn mount_of(fd: &OwnedFd) -> rustix::io::Result<u64> {
    Ok(statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// Opens a name in a directory. Returns `None` if nothing has it, or if this user can neither look
/// nor give itself the right to.
pub(super) fn find(dir: &OwnedFd, name: &OsStr, how: OFlags) -> Result<Option<OwnedFd>, Errno> {
    match openat(
        dir,
        name,
        OFlags::PATH | OFlags::CLOEXEC | how,
        Mode::empty(),
    ) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(None),
        Err(Errno::ACCESS) if !may_change(dir) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns true if a command can change the directory, or can give itself the right to.
pub(super) fn may_change(dir: &OwnedFd) -> bool {
    let is_own = fstat(dir).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw());
    is_own || accessat(dir, ".", Access::WRITE_OK, AtFlags::empty()).is_ok()
}

/// Makes what has this name in `dir`, if anything, read-only in this mount namespace; a link
/// itself, not what it leads to.
pub fn make_read_only(dir: &OwnedFd, name: &OsStr) -> Result<(), Fault> {
    let fault = || format!("make `{}` read-only", name.display());
    match find(dir, name, OFlags::NOFOLLOW).step_with(fault)? {
        Some(there) => Unattached::of(there)
            .and_then(Unattached::attach)
            .step_with(fault),
        None => Ok(()),
    }
}

/// What will be read-only as soon as it is mounted over itself.
///
/// The kernel looks at all mounts of a directory tree when a part of it is copied (`copy_tree` of
/// fs/namespace.c). So of many the copies are made before the first is mounted.
pub struct Unattached {
    there: OwnedFd,
    copy: OwnedFd,
}

impl Unattached {
    /// Clones the mount of an open file or directory.
    pub fn of(there: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            copy: copy(&there)?,
            there,
        })
    }

    pub fn attach(self) -> io::Result<()> {
        if attach(&self.copy, &self.there)? {
            set(&self.copy, MountAttributes::READ_ONLY, true)
        } else {
            Ok(())
        }
    }
}

/// Mounts a directory, found in `above`, on itself, so that it cannot be moved in this mount
/// namespace; it is as writable as before. The directory as it is from now on; `None` if it was
/// removed meanwhile.
pub fn nail(above: &OwnedFd, dir: OwnedFd) -> Result<Option<OwnedFd>, Fault> {
    let step = "hold a directory in its place";
    // Something is mounted here already.
    if mount_of(above).step(step)? != mount_of(&dir).step(step)? {
        return Ok(Some(dir));
    }
    let copy = copy(&dir).step(step)?;
    Ok(attach(&copy, &dir).step(step)?.then_some(copy))
}

/// Mounts the file of this name, read-only, over an open one.
pub fn cover(file: &OwnedFd, with: &Path) -> io::Result<()> {
    let copy = clone_tree(with)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&copy, "", file, "", flags)?;
    set(&copy, read_only(), true)
}

fn copy(of: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(of, "", flags)
}

/// Whether it could be: what has no name any more is no place.
fn attach(copy: &OwnedFd, there: &OwnedFd) -> io::Result<bool> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    match move_mount(copy, "", there, "", flags) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

pub(super) fn clone_tree(from: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, from, flags)
}

/// A small file system in memory, mounted nowhere yet.
pub fn file_system_in_memory() -> Result<OwnedFd, Fault> {
    file_system(
        "tmpfs",
        &[("mode", "0755"), ("size", &CERTIFICATES_BYTES.to_string())],
        no_devices(),
    )
}

/// Whether the tree is the directory that policy opened when the server started.
pub fn same(tree: &OwnedFd, place: &Place) -> Result<(), Fault> {
    let stat = fstat(tree).step("fstat")?;
    if (stat.st_dev, stat.st_ino) == (place.dev, place.ino) {
        return Ok(());
    }
    let path = place.path.as_path().display();
    Err(Fault::because(
        format!("mount `{path}`"),
        "another directory took its name while the server started",
    ))
}

/// Makes a directory below the new root, and those above it.
pub(super) fn directory(root: &OwnedFd, at: &Path) -> Result<(), Fault> {
    let mut made = PathBuf::new();
    for part in at.components() {
        made.push(part);
        match mkdirat(root, &made, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // Below something read-only: whether it is there shows when it is used.
            Err(Errno::ROFS | Errno::ACCESS) if statat(root, &made, AtFlags::empty()).is_ok() => {}
            Err(errno) => return Err(errno).step_with(|| format!("make `/{}`", made.display())),
        }
    }
    Ok(())
}

pub(super) fn no_devices() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
}

/// A file system of its own, mounted nowhere yet.
pub(super) fn file_system(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Fault> {
    let fault = || format!("make a {kind}");
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).step_with(fault)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value).step_with(fault)?;
    }
    fsconfig_create(context.as_fd()).step_with(fault)?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).step_with(fault)
}

/// Handles of the places that commands may write to, in the view; for the rules of Landlock.
pub fn open_path(path: &Path) -> Result<OwnedFd, Fault> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .step_with(|| format!("open `{}`", path.display()))
}
