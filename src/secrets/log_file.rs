//! Opens logs, and sees to it that nobody else puts other files in their place.
#![expect(
    clippy::disallowed_methods,
    reason = "a log is the operator's file, named on the command line"
)]

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use replay_files::policy::Hidden;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::identity;

/// Opens a log for reading and appending, and creates it if necessary. Returns the file with its
/// path and identity.
///
/// Fails if the last part of the path is a symbolic link, and below directories that others may
/// change. Also fails for anything but a regular file of this user that has one name and that
/// others may not write.
pub(crate) fn open_log(path: &Path) -> Result<(File, Hidden)> {
    let flags =
        OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = open(
        path,
        flags | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::RUSR | Mode::WUSR,
    );
    let file = File::from(
        opened.map_err(|errno| match (errno, missing_directory(path)) {
            (Errno::LOOP, _) => anyhow!("it is a symbolic link; give the file itself"),
            (Errno::NOENT, Some(dir)) => {
                anyhow!(
                    "its directory `{}` does not exist; create it first, with `mkdir -p -m 700`",
                    dir.display()
                )
            }
            (errno, _) => anyhow!("it cannot be opened: {}", io::Error::from(errno)),
        })?,
    );
    let known = file.metadata().context("it cannot be looked at")?;
    if !known.is_file() {
        bail!("it is not a regular file");
    }
    if known.uid() != rustix::process::geteuid().as_raw() || known.mode() & 0o022 != 0 {
        let (uid, mode) = (known.uid(), known.mode() & 0o7777);
        bail!(
            "other users can change it (owner {uid}, mode {mode:04o}); it must belong to this \
             user, and not be writable for others"
        );
    }
    // It is made with 0600; the mode of one that was there is the operator's choice.
    if known.mode() & 0o004 != 0 {
        tracing::warn!(
            "every user can read the log `{}` (mode {:04o}), which may contain secrets of calls; \
             run chmod 600 on it, or 640 for a group",
            path.display(),
            known.mode() & 0o7777
        );
    }
    let identity = identity(path, &file)?;
    Ok((file, identity))
}

/// The directory of a file, if there is none.
fn missing_directory(path: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(path).ok()?.parent()?.to_owned();
    (!dir.is_dir()).then_some(dir)
}
