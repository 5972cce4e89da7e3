//! Overlays (Documentation/filesystems/overlayfs.rst in the kernel) over all places that a command
//! can write to, in its own mount namespace. Its changes go to memory that only the overlays lead
//! to.
#![expect(
    clippy::disallowed_methods,
    reason = "works on the view of a command from inside it"
)]

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use replay_base::mounts::{self, Mount};
use rustix::fs::{
    CWD, FileType, Gid, Mode, OFlags, ResolveFlags, StatVfsMountFlags, Timespec, Timestamps, Uid,
    XattrFlags, fchmod, fchown, fsetxattr, fstat, fstatvfs, futimens, mkdirat, openat, openat2,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use super::attributes::attributes;
use crate::fault::{Fault, StepContext};
use crate::hidden_paths::MEANWHILE;
use crate::mount::{file_system, mount_of, no_devices};

const DRY_RUN_FILES: u64 = 100_000;

/// Overlay of one directory. The handles bypass other mounts at its place.
#[derive(Debug)]
pub(super) struct Overlay {
    pub place: PathBuf,
    /// The original directory.
    pub lower: OwnedFd,
    /// Changed files, in the overlay format of the kernel.
    pub upper: OwnedFd,
    /// Both, as the command sees it.
    pub merged: OwnedFd,
}

/// A mount that a command sees at or below a read-write directory.
struct SeenMount {
    mount: Mount,
    /// Root of the mount.
    there: OwnedFd,
    /// Copy of this mount alone, not attached yet.
    tree: OwnedFd,
    is_writable: bool,
}

impl SeenMount {
    /// Returns true if the other mount only pins a directory of this one
    /// ([`crate::mount::nail`]).
    fn is_nailed_by(&self, nail: &Mount) -> bool {
        let below = nail.place.strip_prefix(&self.mount.place);
        below.is_ok_and(|below| {
            self.is_writable
                && (nail.device, &nail.root) == (self.mount.device, &self.mount.root.join(below))
        })
    }
}

/// Lays an overlay of its own over each mount that can be written to; what is read-only below it
/// goes on top again. All overlays together hold at most so many bytes.
pub(super) fn lay(writable: &[&Path], bytes: u64) -> Result<Vec<Overlay>, Fault> {
    let seen = visible_mounts(writable)?;
    let step = "make room for a dry run";
    let (bytes, files) = (bytes.to_string(), DRY_RUN_FILES.to_string());
    let memory = file_system(
        "tmpfs",
        &[("mode", "0700"), ("size", &bytes), ("nr_inodes", &files)],
        no_devices(),
    )?;
    // A mount that is nowhere cannot be copied before Linux 6.15, and an overlay makes copies.
    move_mount(
        &memory,
        "",
        CWD,
        MEANWHILE,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step(step)?;
    let made: Result<Vec<_>, Fault> = seen
        .iter()
        .enumerate()
        .map(|(number, seen)| {
            if seen.is_writable {
                over(seen, &memory, number).map(Some)
            } else {
                Ok(None)
            }
        })
        .collect();
    unmount(MEANWHILE, UnmountFlags::DETACH).step(step)?;
    let (mut overlays, mut ids) = (Vec::new(), Vec::new());
    for (seen, made) in seen.into_iter().zip(made?) {
        let place = seen.mount.place;
        let step = || fault(&place);
        let Some((upper, made)) = made else {
            attach(&seen.tree, &place).step_with(step)?;
            continue;
        };
        attach(&made, &place).step_with(step)?;
        let merged = alone(&made).step_with(step)?;
        ids.push(mount_of(&made).step_with(step)?);
        overlays.push(Overlay {
            place,
            lower: seen.tree,
            upper,
            merged,
        });
    }
    for root in writable {
        let step = || fault(root);
        let id = open(root)
            .and_then(|root| mount_of(&root))
            .step_with(step)?;
        if !ids.contains(&id) {
            return Err(Fault::because(
                step(),
                "it was moved or removed after the server started",
            ));
        }
    }
    Ok(overlays)
}

fn fault(place: &Path) -> String {
    format!("lay an overlay over `{}`", place.display())
}

/// The outer ones first.
fn visible_mounts(writable: &[&Path]) -> Result<Vec<SeenMount>, Fault> {
    let table = mounts::table().step("read what is mounted")?;
    let is_at_root = |mount: &&Mount| writable.iter().any(|root| mount.place.starts_with(root));
    let mut mounts: Vec<&Mount> = table.iter().filter(is_at_root).collect();
    mounts.retain(|mount| !mounts::is_covered(mount, &table));
    mounts.sort_by_key(|mount| mount.place.components().count());
    let mut seen: Vec<SeenMount> = Vec::new();
    for mount in mounts {
        let above = seen
            .iter()
            .rev()
            .find(|above| mount.place.starts_with(&above.mount.place));
        let step = || fault(&mount.place);
        let there = open(&mount.place).step_with(step)?;
        let stat = fstat(&there).step_with(step)?;
        if stat.st_nlink == 0 {
            // It covers something hidden, which is covered again (`hidden_paths`).
            continue;
        }
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let is_read_only = fstatvfs(&there)
            .step_with(step)?
            .f_flag
            .contains(StatVfsMountFlags::RDONLY);
        let is_writable = is_directory && !is_read_only;
        if is_writable && above.is_some_and(|above| above.is_nailed_by(mount)) {
            continue;
        }
        let tree = alone(&there).map_err(|errno| match errno {
            // `has_locked_children` in the kernel's fs/namespace.c.
            Errno::INVAL => Fault::because(
                step(),
                "something else is mounted below it, which the kernel does not allow to exclude",
            ),
            errno => Fault {
                step: step(),
                cause: errno.into(),
            },
        })?;
        seen.push(SeenMount {
            mount: mount.clone(),
            there,
            tree,
            is_writable,
        });
    }
    Ok(seen)
}

/// Opens a path without following symlinks.
fn open(place: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(
        CWD,
        place,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
}

/// A copy of a mount without those below it.
fn alone(mount: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(mount, "", flags)
}

fn attach(tree: &OwnedFd, place: &Path) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", open(place)?, "", flags)
}

/// Its upper directory, and the overlay, mounted nowhere yet.
fn over(seen: &SeenMount, memory: &OwnedFd, number: usize) -> Result<(OwnedFd, OwnedFd), Fault> {
    let step = || fault(&seen.mount.place);
    let make = |name: String| {
        mkdirat(memory, &name, Mode::RWXU)?;
        openat(
            memory,
            &name,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
    };
    // As seen where the memory is mounted, since a handle of a mount that is nowhere would not do.
    let upper = make(format!("upper-{number}")).step_with(step)?;
    let work = make(format!("work-{number}")).step_with(step)?;
    fsetxattr(&work, "user.replay", b"", XattrFlags::empty())
        .step("keep attributes in memory, which a dry run needs (tmpfs, Linux 6.6)")?;
    make_like(&seen.there, &upper).step_with(|| {
        format!(
            "give a directory owner, mode and attributes of `{}`, which a dry run needs",
            seen.mount.place.display()
        )
    })?;
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).step_with(step)?;
    fsconfig_set_flag(context.as_fd(), "userxattr").step_with(step)?;
    for (key, dir) in [
        ("lowerdir", &seen.there),
        ("upperdir", &upper),
        ("workdir", &work),
    ] {
        fsconfig_set_string(
            context.as_fd(),
            key,
            format!("/proc/self/fd/{}", dir.as_raw_fd()),
        )
        .step_with(step)?;
    }
    fsconfig_create(context.as_fd()).step_with(step)?;
    let made =
        fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, no_devices()).step_with(step)?;
    Ok((upper, made))
}

/// The top of an overlay has what the upper directory has.
fn make_like(lower: &OwnedFd, upper: &OwnedFd) -> rustix::io::Result<()> {
    let lower = openat(
        lower,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let stat = fstat(&lower)?;
    fchown(
        upper,
        Some(Uid::from_raw(stat.st_uid)),
        Some(Gid::from_raw(stat.st_gid)),
    )?;
    fchmod(upper, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    for (name, value) in attributes(&lower)? {
        fsetxattr(upper, name, &value, XattrFlags::empty())?;
    }
    let time = |tv_sec, nanos: u64| Timespec {
        tv_sec,
        tv_nsec: nanos.cast_signed(),
    };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    };
    futimens(upper, &times)
}
