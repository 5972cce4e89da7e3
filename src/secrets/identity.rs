//! Identity of the file behind a path, and a check that others cannot replace it.
#![expect(
    clippy::disallowed_methods,
    reason = "files of the operator's, named on the command line"
)]

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use replay_files::policy::Hidden;

/// Returns the path and identity of an open regular file. Fails if it has several names, or if
/// others may replace it.
pub(crate) fn identity(path: &Path, file: &File) -> Result<Hidden> {
    let known = file.metadata().context("it cannot be looked at")?;
    if known.nlink() != 1 {
        bail!(
            "it has {} names (hard links), and an agent may reach it by another one; give a file \
             with one name",
            known.nlink()
        );
    }
    let spelt = std::path::absolute(path).context("its path is unknown")?;
    let real = std::fs::canonicalize(&spelt).context("it cannot be found")?;
    let id = (known.dev(), known.ino());
    if !leads_to(&real, id) {
        bail!("it was replaced while it was opened; try again");
    }
    for (above, dir) in real.ancestors().skip(1).enumerate() {
        let known = std::fs::metadata(dir)
            .with_context(|| format!("`{}` cannot be looked at", dir.display()))?;
        // Above its own one a group of the system's is trusted: /var/log belongs to `syslog` on
        // some.
        if others_may_change(known.mode(), known.gid(), above == 0) {
            bail!(
                "other users can replace it, since they can write to `{}` (mode {:04o}); run \
                 chmod go-w on that, or choose another directory",
                dir.display(),
                known.mode() & 0o7777
            );
        }
    }
    Ok(Hidden { path: real, id })
}

/// Returns true if the path names that file (device and inode) and is no link to it.
pub(crate) fn leads_to(path: &Path, id: (u64, u64)) -> bool {
    rustix::fs::lstat(path).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == id)
}

/// Returns true if a directory of this mode and group lets others rename entries. A sticky
/// directory does not. If `group_counts`, two groups do not count as others: root's, and the user's
/// private group (same number as the user).
fn others_may_change(mode: u32, group: u32, group_counts: bool) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let by_group = group_counts && mode & 0o020 != 0 && group != 0 && group != own;
    (mode & 0o002 != 0 || by_group) && mode & 0o1000 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn directory_writers_may_change_entries() {
        let own = rustix::process::geteuid().as_raw();
        let other = if own == 4711 { 4712 } else { 4711 };
        let cases = [
            (0o755, other),
            (0o777, own),
            (0o1777, other),
            (0o775, own),
            (0o775, other),
            (0o1775, other),
            (0o770, 0),
        ];
        let expected = [false, true, false, false, true, false, false];
        assert_eq!(
            cases.map(|(mode, group)| others_may_change(mode, group, true)),
            expected
        );
        assert!(!others_may_change(0o775, other, false) && others_may_change(0o777, own, false));
    }
}
