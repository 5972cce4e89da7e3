//! Directories of the operator as commands see them: an overlay, in whose upper layer the changes of
//! commands are. The operator's directory does not change.
//!
//! Requires Linux 5.11, in which users may mount an overlay
//! (<https://docs.kernel.org/filesystems/overlayfs.html>).
#![expect(
    clippy::disallowed_methods,
    reason = "the upper layers are the program's own"
)]

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use replay_base::limits::LAYER_IN_MEMORY_BYTES;
use replay_base::removal::PRIVATE;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, chmodat, fstat, mkdirat, mknodat, openat,
    openat2, statat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount,
};

use super::fault::{Fault, StepContext};
use super::mount::{file_system, no_devices, same};
use super::plan::PlannedLayer;

/// Directory of all layers, in the private directory.
const LAYERS: &str = "layers";
/// Directories of one layer: its changes, and the kernel's own.
const UPPER: &str = "up";
const WORK: &str = "work";

const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Creates the overlay of a layer, detached. `number` is different for each layer.
pub(crate) fn overlay(
    scratch: &Path,
    number: usize,
    layer: &PlannedLayer,
) -> Result<OwnedFd, Fault> {
    let from = layer.place.path.as_path();
    let fault = || {
        format!(
            "mount `{}` for commands (--downloads, which needs Linux 5.11)",
            from.display()
        )
    };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let lower = openat2(CWD, from, DIRECTORY, Mode::empty(), resolve).step_with(fault)?;
    same(&lower, &layer.place)?;
    let all = scratch.join(LAYERS);
    make(CWD, &all).step_with(fault)?;
    let place = all.join(number.to_string());
    make(CWD, &place).step_with(fault)?;
    match overlay_in(&place, &lower, layer) {
        // Its filesystem can be no upper layer, or holds no whiteouts, such as the overlay of a container.
        Err(Errno::INVAL | Errno::PERM) => {
            let memory = file_system(
                "tmpfs",
                &[
                    ("mode", "0700"),
                    ("size", &LAYER_IN_MEMORY_BYTES.to_string()),
                ],
                no_devices(),
            )?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(&memory, "", CWD, &place, flags).step_with(fault)?;
            overlay_in(&place, &lower, layer).step_with(fault)
        }
        done => done.step_with(fault),
    }
}

/// Creates the overlay with its upper layer in this directory.
fn overlay_in(place: &Path, lower: &OwnedFd, layer: &PlannedLayer) -> rustix::io::Result<OwnedFd> {
    let open = |name: &str| {
        let path = place.join(name);
        make(CWD, &path)?;
        openat(CWD, &path, DIRECTORY, Mode::empty())
    };
    let (upper, work) = (open(UPPER)?, open(WORK)?);
    // The overlay has the modes of the upper layer.
    let mode = Mode::from_raw_mode(fstat(lower)?.st_mode & 0o777);
    chmodat(CWD, place.join(UPPER), mode, AtFlags::empty())?;
    for private in &layer.private {
        white_out(&upper, lower, private.as_path())?;
    }
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let options = [
        ("lowerdir", lower),
        ("upperdir", &upper),
        ("workdir", &work),
    ];
    for (name, directory) in options {
        // By handle: a path would have to be escaped.
        let value = format!("/proc/self/fd/{}", directory.as_raw_fd());
        fsconfig_set_string(context.as_fd(), name, value)?;
    }
    // Its marks are attributes that users may set. Without the flag, directories that commands replace
    // cannot be read.
    fsconfig_set_flag(context.as_fd(), "userxattr")?;
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, no_devices())
}

/// Hides a path of the lower layer: a character device 0/0 is a whiteout, which any user may create.
fn white_out(upper: &OwnedFd, lower: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    let mut made = PathBuf::new();
    for part in path.parent().unwrap_or(Path::new("")).components() {
        made.push(part);
        let mode = match statat(lower, &made, AtFlags::SYMLINK_NOFOLLOW) {
            // It was removed meanwhile.
            Err(Errno::NOENT) => return Ok(()),
            found => found?.st_mode,
        };
        if FileType::from_raw_mode(mode) != FileType::Directory {
            // It was replaced meanwhile: a directory over a link would show the names behind it.
            return put_white_out(upper, &made);
        }
        match mkdirat(upper, &made, Mode::from_raw_mode(mode & 0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    put_white_out(upper, path)
}

fn put_white_out(upper: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    match mknodat(upper, path, FileType::CharacterDevice, Mode::empty(), 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn make(dir: rustix::fd::BorrowedFd<'_>, path: &Path) -> rustix::io::Result<()> {
    match mkdirat(dir, path, PRIVATE) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}
