//! Mounts, made by handle (`open_tree(2)`, `fsopen(2)`, `move_mount(2)`).
#![expect(
    clippy::disallowed_methods,
    reason = "what commands see is put together from the system's own directories"
)]

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use replay_base::limits::CERTIFICATES_BYTES;
use replay_base::mounts::{self, Mount};
use replay_sys::{self as sys, MountAttributes};
use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, accessat, fstat, fstatvfs,
    mkdirat, open, openat, openat2, statat, statx,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_remount, move_mount, open_tree,
};

use super::fault::{Fault, StepContext};
use super::plan::CanonicalPath;

pub(super) fn read_only() -> MountAttributes {
    MountAttributes::READ_ONLY
        .and(MountAttributes::NO_SET_UID)
        .and(MountAttributes::NO_DEVICES)
}

/// Sets attributes on an attached mount, and on those below it if `recursive`.
///
/// It must be attached, and no command may be in this mount namespace yet. Kernels before Linux
/// 5.12 have no `mount_setattr(2)`, and mount(2) accepts no detached mount.
pub(super) fn set(mount: &OwnedFd, attributes: MountAttributes, recursive: bool) -> io::Result<()> {
    match sys::mount_setattr(mount.as_fd(), attributes, recursive) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            set_each(mount, attributes, recursive)
        }
        done => done,
    }
}

/// Does [`set`] with mount(2).
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
                // No process inside can unmount its cover.
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

/// Adds attributes to one mount and keeps its others: a user namespace may not clear flags from
/// outside (`mount_namespaces(7)`). Access time settings stay unless changed explicitly.
fn remount(mount: &OwnedFd, attributes: MountAttributes) -> io::Result<()> {
    // These flags have the same values in statvfs(3), mount(2) and mount_setattr(2).
    let kept = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let has = fstatvfs(mount)?.f_flag.bits() as u32;
    let flags = MountFlags::from_bits_truncate(has | attributes.bits()) & kept;
    Ok(mount_remount(
        format!("/proc/self/fd/{}", mount.as_raw_fd()),
        flags | MountFlags::BIND,
        "",
    )?)
}

/// Opens a mount point. Returns the ID of its mount, too.
pub(super) fn mount_at(place: &Path) -> Option<(u64, OwnedFd)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let there = openat2(CWD, place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    Some((mount_of(&there).ok()?, there))
}

/// Returns the mount ID: `STATX_MNT_ID` of statx(2).
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

/// Makes the entry of this name in `dir`, if any, read-only in this mount namespace. A symlink is
/// not followed.
pub(crate) fn make_read_only(dir: &OwnedFd, name: &OsStr) -> Result<(), Fault> {
    let fault = || format!("make `{}` read-only", name.display());
    match find(dir, name, OFlags::NOFOLLOW).step_with(fault)? {
        Some(there) => DetachedMount::of(there)
            .and_then(DetachedMount::attach)
            .step_with(fault),
        None => Ok(()),
    }
}

/// A detached bind mount that is read-only once it is mounted over its source.
///
/// The kernel walks all mounts of a directory tree when a part of it is copied (`copy_tree` of
/// fs/namespace.c). So all copies are made before the first one is attached.
pub(crate) struct DetachedMount {
    there: OwnedFd,
    copy: OwnedFd,
}

impl DetachedMount {
    /// Clones the mount of an open file or directory.
    pub(crate) fn of(there: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            copy: copy(&there)?,
            there,
        })
    }

    pub(crate) fn attach(self) -> io::Result<()> {
        if attach(&self.copy, &self.there)? {
            set(&self.copy, MountAttributes::READ_ONLY, true)
        } else {
            Ok(())
        }
    }
}

/// Bind-mounts a directory, found in `above`, over itself, so that it cannot be moved in this mount
/// namespace. It stays as writable as before. Returns the mounted directory; `None` if it was
/// removed meanwhile.
pub(crate) fn nail(above: &OwnedFd, dir: OwnedFd) -> Result<Option<OwnedFd>, Fault> {
    let step = "hold a directory in its place";
    // It is a mount point already.
    if mount_of(above).step(step)? != mount_of(&dir).step(step)? {
        return Ok(Some(dir));
    }
    let copy = copy(&dir).step(step)?;
    Ok(attach(&copy, &dir).step(step)?.then_some(copy))
}

/// Bind-mounts the file at a path, read-only, over an open one.
pub(crate) fn cover(file: &OwnedFd, with: &Path) -> io::Result<()> {
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

/// Attaches a mount. Returns false if the mount point was removed.
fn attach(copy: &OwnedFd, there: &OwnedFd) -> io::Result<bool> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    match move_mount(copy, "", there, "", flags) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Copies one mount, without those below it.
pub(super) fn clone_mount(from: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, from, flags)
}

pub(super) fn clone_tree(from: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, from, flags)
}

/// Creates a small detached tmpfs.
pub(crate) fn file_system_in_memory() -> Result<OwnedFd, Fault> {
    file_system(
        "tmpfs",
        &[("mode", "0755"), ("size", &CERTIFICATES_BYTES.to_string())],
        no_devices(),
    )
}

/// Fails unless the tree is the file or directory that was checked when the server started.
pub(crate) fn same(tree: &OwnedFd, place: &CanonicalPath) -> Result<(), Fault> {
    let stat = fstat(tree).step("fstat")?;
    if (stat.st_dev, stat.st_ino) == (place.dev, place.ino) {
        return Ok(());
    }
    let path = place.path.as_path().display();
    Err(Fault::because(
        format!("mount `{path}`"),
        "it was replaced while the server started; start again",
    ))
}

/// Creates a directory and its parents below the new root.
pub(super) fn directory(root: &OwnedFd, at: &Path) -> Result<(), Fault> {
    let mut made = PathBuf::new();
    for part in at.components() {
        made.push(part);
        match mkdirat(root, &made, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // The parent is read-only: a missing directory is noticed when it is used.
            Err(Errno::ROFS | Errno::ACCESS) if statat(root, &made, AtFlags::empty()).is_ok() => {}
            Err(errno) => return Err(errno).step_with(|| format!("make `/{}`", made.display())),
        }
    }
    Ok(())
}

pub(super) fn no_devices() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV
}

/// Creates a detached filesystem.
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

/// Opens a path of the view for the rules of Landlock.
pub(crate) fn open_path(path: &Path) -> Result<OwnedFd, Fault> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .step_with(|| format!("open `{}`", path.display()))
}
