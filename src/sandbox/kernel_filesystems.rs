//! Kernel filesystems below directories that commands see, such as the /proc of an image under
//! construction. Root could control the machine there, and other users would see its processes.
//!
//! In the view each is covered by an empty directory. Later mounts do not appear in the view,
//! because its mounts are private. On the system's own root nothing can be mounted over them, so
//! commands are refused.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at what is mounted, in the view of commands or outside it"
)]

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use replay_base::mounts::{self, Mount};
use rustix::fs::{Mode, OFlags, open};

use super::fault::{Fault, StepContext};
use super::mount::mount_at;
use super::plan::Plan;

/// Retries of reading the mount table at the start of a server, if a rename got in between.
const MAX_MOUNT_LOOKS: usize = 16;

const STEP: &str = "look for filesystems of the kernel";

/// Returns the allowed directories and the program directories.
fn visible_directories(plan: &Plan) -> Vec<PathBuf> {
    let roots = plan.roots.iter().map(|root| &root.place.path);
    roots
        .chain(&plan.system)
        .map(|path| path.as_path().to_owned())
        .collect()
}

/// Check for kernel filesystems outside the view. It repeats only if the mount table changed.
#[derive(Debug)]
pub(crate) struct MountCheck {
    shown: Vec<PathBuf>,
    table: OwnedFd,
    is_clear: bool,
}

impl MountCheck {
    /// Creates a check that has not run yet.
    pub(crate) fn new(plan: &Plan) -> Result<Self, Fault> {
        let table = open(
            "/proc/self/mountinfo",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .step(STEP)?;
        Ok(Self {
            shown: visible_directories(plan),
            table,
            is_clear: false,
        })
    }

    /// Fails if there is a kernel filesystem.
    pub(crate) fn refuse(&mut self) -> Result<(), Fault> {
        self.is_clear &= !mounts::has_changed(&self.table);
        if self.is_clear {
            return Ok(());
        }
        visit_each(&self.shown, |mount, _| {
            let reason = format!(
                "`{}` is a kernel filesystem, which cannot be hidden from commands: unmount it, \
                 or allow a directory without it",
                mount.place.display()
            );
            Err(Fault::because("Landlock", &reason))
        })?;
        self.is_clear = true;
        Ok(())
    }
}

/// Visits each kernel filesystem below paths that the plan shows to commands, like [`MountCheck`].
pub(crate) fn each(
    plan: &Plan,
    visit: impl FnMut(&Mount, &OwnedFd) -> Result<(), Fault>,
) -> Result<(), Fault> {
    visit_each(&visible_directories(plan), visit)
}

/// Visits each one that its path can reach. If a directory above it is moved meanwhile, all are
/// visited again.
fn visit_each(
    shown: &[PathBuf],
    mut visit: impl FnMut(&Mount, &OwnedFd) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for _ in 0..MAX_MOUNT_LOOKS {
        let table = mounts::table().step(STEP)?;
        let mut has_moved = false;
        for mount in table
            .iter()
            .filter(|mount| shown.iter().any(|above| mount.place.starts_with(above)))
        {
            match mount_at(&mount.place).filter(|(id, _)| *id == mount.id) {
                Some((_, there))
                    if mount.is_of_devices() || mounts::is_kernels(&there).step(STEP)? =>
                {
                    visit(mount, &there)?;
                    // Mounts below it are hidden, and the table is stale.
                    has_moved = true;
                }
                Some(_) => {}
                None => has_moved |= !mounts::is_covered(mount, &table),
            }
        }
        if !has_moved {
            return Ok(());
        }
    }
    Err(Fault::because(
        STEP,
        "mounts in an allowed directory are changing; try again",
    ))
}
