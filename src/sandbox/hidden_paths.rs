//! Hidden files below allowed directories, such as the audit log. An empty, read-only file or
//! directory is mounted over each, so that recursive programs (`git add`, `cp -r`) keep working.
//! The directories above are bind-mounted over themselves.
//!
//! This is done once, in the view that every command copies, before any command runs. A mount point
//! cannot be moved, removed or replaced in that mount namespace by any name (`rename(2)`, EBUSY),
//! and no command may unmount. The builder of the plan excludes second names (hard links, other
//! mounts of the same tree).
//!
//! The operator's programs outside can replace a hidden file. A rename over it removes the cover
//! (`rename(2)`: "other mount namespaces"). So each command checks again before it starts, and
//! covers new files. A command that runs at that moment sees the new file.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at the view of commands from inside it"
)]

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_files::hide::{GlobsOf, Hide};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdir, mkdirat, open, openat, rmdir, unlink};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, UnmountFlags, move_mount, unmount};

use super::fault::{Fault, StepContext};
use super::plan::{CanonicalPath, Extent, Plan, Tier};
use super::raw_string::RawString;
use super::{kernel_filesystems, mount};

/// Reserved names in the root of the view.
const EMPTY: [&str; 2] = ["/.replay-empty", "/.replay-nothing"];
/// World-readable mode.
const EMPTY_DIRECTORY: Mode = Mode::from_raw_mode(0o555);
/// An empty directory of the view.
pub(super) const MEANWHILE: &str = "/mnt";
/// Temporary file and directory in [`MEANWHILE`].
const EMPTY_MEANWHILE: [&str; 2] = ["/mnt/empty", "/mnt/nothing"];

/// Returns the patterns of the plan, with what a survey found; `None` if it has none.
pub(crate) fn by_patterns(plan: &Plan, globs_of: GlobsOf) -> Result<Option<Arc<Hide>>, Fault> {
    let Some(planned) = &plan.hide else {
        return Ok(None);
    };
    if plan.tier != Tier::Namespaces {
        return Err(Fault::because(
            "--hide",
            "hiding paths from commands needs the namespaces tier",
        ));
    }
    let allowed = plan
        .roots
        .iter()
        .filter(|root| root.extent == Extent::Allowed);
    let roots = allowed
        .map(|root| root.place.path.as_path().to_owned())
        .collect();
    let mut hide = Hide::new(&planned.patterns, roots, globs_of)
        .map_err(|reason| Fault::because("--hide", &reason))?;
    let path = |path: &RawString| path.as_path().to_owned();
    hide.found.aliases = planned
        .aliases
        .iter()
        .map(|(one, other)| (path(one), path(other)))
        .collect();
    hide.found.targets = planned.targets.iter().map(path).collect();
    hide.found.ids = planned.ids.iter().copied().collect();
    Ok(Some(Arc::new(hide)))
}

/// Covers all hidden files of the plan, and kernel filesystems. This process lives in the view.
/// Fails if another file is found there.
pub(crate) fn cover(plan: &Plan) -> Result<(), Fault> {
    let [file, directory] = EMPTY;
    let step = "make an empty file and an empty directory";
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(open(file, flags, Mode::RUSR | Mode::RGRP | Mode::ROTH).step(step)?);
    mkdir(directory, EMPTY_DIRECTORY).step(step)?;
    plan.hidden
        .iter()
        .try_for_each(|hidden| cover_one(plan, hidden))?;
    kernel_filesystems::each(plan, |mount, there| {
        cover_with_empty(there, &format!("hide `{}`", mount.place.display()))
    })?;
    // The mounts remain after the names are removed.
    unlink(file)
        .and_then(|()| rmdir(directory))
        .step("remove their names")
}

fn cover_one(plan: &Plan, hidden: &CanonicalPath) -> Result<(), Fault> {
    let Some(at) = HiddenPath::of(plan, hidden) else {
        return Ok(());
    };
    let other = || {
        Fault::because(
            at.fault(),
            "it was replaced while the server started; start again",
        )
    };
    let there = at.open()?.ok_or_else(other)?.1;
    let stat = fstat(&there).step_with(|| at.fault())?;
    if (stat.st_dev, stat.st_ino) != (hidden.dev, hidden.ino) {
        return Err(other());
    }
    cover_with_empty(&there, &at.fault())
}

/// Mounts an empty file or directory over a path, for [`cover`].
fn cover_with_empty(there: &OwnedFd, step: &str) -> Result<(), Fault> {
    let kind = FileType::from_raw_mode(fstat(there).step(step)?.st_mode);
    mount::cover(
        there,
        Path::new(EMPTY[usize::from(kind == FileType::Directory)]),
    )
    .step(step)
}

/// Path of a hidden file.
pub(crate) struct HiddenPath {
    path: PathBuf,
    /// The outermost allowed directory that contains it.
    root: PathBuf,
}

impl HiddenPath {
    /// Lists all hidden files of the plan.
    pub(crate) fn all(plan: &Plan) -> Vec<Self> {
        plan.hidden
            .iter()
            .filter_map(|hidden| Self::of(plan, hidden))
            .collect()
    }

    fn of(plan: &Plan, hidden: &CanonicalPath) -> Option<Self> {
        let path = hidden.path.as_path();
        let roots = plan.roots.iter().map(|root| root.place.path.as_path());
        let root = roots
            .filter(|root| path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len())?;
        Some(Self {
            path: path.to_owned(),
            root: root.to_owned(),
        })
    }

    fn fault(&self) -> String {
        format!("hide `{}`", self.path.display())
    }

    /// Opens its directory and its current file, and pins the directories above as mount points.
    /// `None` if the file does not exist.
    fn open(&self) -> Result<Option<(OwnedFd, OwnedFd)>, Fault> {
        let fault = || self.fault();
        let handle = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Some(name) = self.path.file_name() else {
            return Ok(None);
        };
        let mut dir =
            open(&self.root, handle | OFlags::DIRECTORY, Mode::empty()).step_with(fault)?;
        let above = self
            .path
            .parent()
            .and_then(|parent| parent.strip_prefix(&self.root).ok());
        for part in above.unwrap_or(Path::new("")) {
            let below = match openat(&dir, part, handle | OFlags::DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                opened => opened.step_with(fault)?,
            };
            let Some(nailed) = mount::nail(&dir, below)? else {
                return Ok(None);
            };
            dir = nailed;
        }
        match openat(&dir, name, handle, Mode::empty()) {
            Err(Errno::NOENT) => Ok(None),
            opened => Ok(Some((dir, opened.step_with(fault)?))),
        }
    }

    /// Opens the file if it is not covered, and selects its cover. Fails for a symlink or special
    /// file.
    fn uncovered_file(&self) -> Result<Option<(OwnedFd, &'static str)>, Fault> {
        let Some((dir, there)) = self.open()? else {
            return Ok(None);
        };
        if mount::mount_of(&dir).step_with(|| self.fault())?
            != mount::mount_of(&there).step_with(|| self.fault())?
        {
            return Ok(None);
        }
        let [file, directory] = EMPTY_MEANWHILE;
        match FileType::from_raw_mode(fstat(&there).step_with(|| self.fault())?.st_mode) {
            FileType::RegularFile => Ok(Some((there, file))),
            FileType::Directory => Ok(Some((there, directory))),
            // The server receives the step and the errno.
            _ => {
                let step = format!(
                    "{}, which is neither a file nor a directory any more",
                    self.fault()
                );
                Err(Fault {
                    step,
                    cause: Errno::NOTSUP.into(),
                })
            }
        }
    }
}

/// Covers files that have replaced hidden ones since the last command started, in the mount
/// namespace of this process.
pub(crate) fn cover_again(all: &[HiddenPath]) -> Result<(), Fault> {
    let bare = all
        .iter()
        .map(|at| Ok(at.uncovered_file()?.map(|there| (at, there))))
        .filter_map(Result::transpose);
    let bare = bare.collect::<Result<Vec<_>, Fault>>()?;
    if bare.is_empty() {
        return Ok(());
    }
    let step = "make an empty file and an empty directory";
    let memory = mount::file_system_in_memory()?;
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(
        openat(
            &memory,
            "empty",
            flags,
            Mode::RUSR | Mode::RGRP | Mode::ROTH,
        )
        .step(step)?,
    );
    mkdirat(&memory, "nothing", EMPTY_DIRECTORY).step(step)?;
    // Before Linux 6.15 a detached mount cannot be copied.
    move_mount(
        &memory,
        "",
        CWD,
        MEANWHILE,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .step(step)?;
    for (at, (there, with)) in bare {
        mount::cover(&there, Path::new(with)).step_with(|| at.fault())?;
    }
    unmount(MEANWHILE, UnmountFlags::DETACH).step(step)
}
