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
    let identity = identity(path, &file)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
        Errno::WOULDBLOCK => anyhow!("another server writes to it; give each server a file of its own"),
        errno => anyhow!("it cannot be locked: {}", io::Error::from(errno)),
    })?;
    Ok((file, identity))
}

/// Where an open regular file is and which one it is. Fails if it has more than one name, or if others may put another one in
/// its place.
pub fn identity(path: &Path, file: &File) -> Result<Hidden> {
    let known = file.metadata().context("it cannot be looked at")?;
    if known.nlink() != 1 {
        bail!(
            "it has {} names (hard links), and an agent may reach it by another one; give a file with one",
            known.nlink()
        );
    }
    let spelt = std::path::absolute(path).context("it has no place")?;
    let real = std::fs::canonicalize(&spelt).context("it cannot be found")?;
    let id = (known.dev(), known.ino());
    if !leads_to(&real, id) {
        bail!("another file took its name while it was opened");
    }
    for (above, dir) in real.ancestors().skip(1).enumerate() {
        let known = std::fs::metadata(dir).with_context(|| format!("`{}` cannot be looked at", dir.display()))?;
        // Above its own one a group of the system's is trusted: /var/log belongs to `syslog` on some.
        if others_may_change(known.mode(), known.gid(), above == 0) {
            bail!(
                "others may put another file in its place: they may write to `{}` (mode {:04o}); take that away with chmod \
                 go-w, or choose another directory",
                dir.display(),
                known.mode() & 0o7777
            );
        }
    }
    Ok(Hidden { path: real, id })
}

/// Whether this is the name of that file (device and inode), and no link to it.
pub fn leads_to(path: &Path, id: (u64, u64)) -> bool {
    rustix::fs::lstat(path).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == id)
}

/// Whether a directory of this mode and group lets others rename what is in it. In a sticky one they cannot; a group, if that
/// counts, is no others if it is root's, or the private one that many systems give each user (its number is the user's).
fn others_may_change(mode: u32, group: u32, group_counts: bool) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let by_group = group_counts && mode & 0o020 != 0 && group != 0 && group != own;
    (mode & 0o002 != 0 || by_group) && mode & 0o1000 == 0
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
        let own = rustix::process::geteuid().as_raw();
        let other = if own == 4711 { 4712 } else { 4711 };
        let cases =
            [(0o755, other), (0o777, own), (0o1777, other), (0o775, own), (0o775, other), (0o1775, other), (0o770, 0)];
        let expected = [false, true, false, false, true, false, false];
        assert_eq!(cases.map(|(mode, group)| others_may_change(mode, group, true)), expected);
        assert!(!others_may_change(0o775, other, false) && others_may_change(0o777, own, false));
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
