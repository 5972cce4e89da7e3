//! Opens the files of the log, and sees to it that nobody else puts others in their place.
#![expect(clippy::disallowed_methods, reason = "the log is the operator's file, named on the command line")]

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use crate::policy::Hidden;
use crate::secrets::identity;

/// Opens the log, which is made if there is none, and takes its lock. Where it is and which file.
///
/// Fails where the last link of the path is symbolic, for anything but a regular file of this user with one name that others
/// may not write, below directories that others may change, and while another server holds it.
pub fn log(path: &Path) -> Result<(File, Hidden)> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = open(path, flags | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    let file = File::from(opened.map_err(|errno| match (errno, missing_directory(path)) {
        (Errno::LOOP, _) => anyhow!("it is a symbolic link, and must be the file itself"),
        (Errno::NOENT, Some(dir)) => {
            anyhow!("its directory `{}` does not exist; make it first, with `mkdir -p -m 700`", dir.display())
        }
        (errno, _) => anyhow!("it cannot be opened: {}", io::Error::from(errno)),
    })?);
    let known = file.metadata().context("it cannot be looked at")?;
    if !known.is_file() {
        bail!("it is no regular file");
    }
    if known.uid() != rustix::process::geteuid().as_raw() || known.mode() & 0o022 != 0 {
        let (uid, mode) = (known.uid(), known.mode() & 0o7777);
        bail!(
            "others may change it (owner {uid}, mode {mode:04o}); it must be this user's own, without rights to write for others"
        );
    }
    // It is made with 0600; the mode of one that was there is the operator's choice.
    if known.mode() & 0o004 != 0 {
        tracing::warn!(
            "everybody on this machine can read the log `{}` (mode {:04o}), and with it the arguments of calls, secrets too; take that away with chmod 600, or 640 for a group that shall read it",
            path.display(),
            known.mode() & 0o7777
        );
    }
    let identity = identity(path, &file)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
        Errno::WOULDBLOCK => anyhow!("another server writes to it; give each server a file of its own"),
        errno => anyhow!("it cannot be locked: {}", io::Error::from(errno)),
    })?;
    Ok((file, identity))
}

/// The directory of a file, if there is none.
fn missing_directory(path: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(path).ok()?.parent()?.to_owned();
    (!dir.is_dir()).then_some(dir)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_directory_that_others_may_write_to_is_no_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("open/sub")).unwrap();
        let said = |path: &str| log(&at(path)).map(drop).map_err(|error| format!("{error:#}"));
        assert_eq!(said("open/sub/log"), Ok(()));
        std::fs::set_permissions(at("open"), PermissionsExt::from_mode(0o777)).unwrap();
        let refused = said("open/sub/log").unwrap_err();
        assert!(refused.starts_with("others may put another file in its place: they may write to `"), "{refused}");
        assert!(refused.contains("/open` (mode 0777)"), "{refused}");
        let refused = said("none/sub/log").unwrap_err();
        assert!(refused.starts_with("its directory `") && refused.contains("/none/sub` does not exist"), "{refused}");
    }
}
