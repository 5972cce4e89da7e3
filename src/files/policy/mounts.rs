//! Check for mounts below the allowed directories that may hang. A filesystem of another machine
//! (NFS) or another program (FUSE) can block an open for any time.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::{Mutex, PoisonError};

use replay_base::mounts;
use rustix::fs::{CWD, Mode, OFlags, fstatfs, openat};

use super::root::Root;

/// Local filesystems as mountinfo names them, each with its magic number (statfs(2)).
const LOCAL: [(&[u8], u64); 7] = [
    (b"ext4", 0xEF53),
    (b"ext3", 0xEF53),
    (b"ext2", 0xEF53),
    (b"xfs", 0x5846_5342),
    (b"btrfs", 0x9123_683E),
    (b"tmpfs", 0x0102_1994),
    (b"overlay", 0x794C_7630),
];

/// Mount table, read again after a change.
#[derive(Debug)]
pub(super) struct Mounts(Mutex<MountState>);

#[derive(Debug)]
struct MountState {
    /// `proc_pid_mountinfo(5)`; `None` if there is none, or if an allowed directory itself is not
    /// local.
    table: Option<File>,
    /// Result of the last check.
    is_local: Option<bool>,
}

impl Mounts {
    /// Opens the table early: later the sandbox may prevent it.
    #[expect(
        clippy::disallowed_methods,
        reason = "a table of the kernel's, opened before any agent speaks"
    )]
    pub(super) fn open(roots: &[Root]) -> Self {
        let are_local = roots.iter().all(|root| {
            let number = fstatfs(root)
                .ok()
                .and_then(|stat| u64::try_from(stat.f_type).ok());
            LOCAL.iter().any(|(_, local)| Some(*local) == number)
        });
        let opened = openat(
            CWD,
            "/proc/self/mountinfo",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let table = opened.ok().filter(|_| are_local).map(File::from);
        Self(Mutex::new(MountState {
            table,
            is_local: None,
        }))
    }

    /// Returns true if only local filesystems are mounted below these directories now. Costs one
    /// system call while the mounts do not change.
    pub(super) fn are_local(&self, roots: &[Root]) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let MountState {
            table: Some(table),
            is_local,
        } = &mut *seen
        else {
            return false;
        };
        // Says once for each change that there was one.
        let has_changed = mounts::has_changed(&*table);
        match *is_local {
            Some(is_local) if !has_changed => is_local,
            _ => *is_local.insert(look(table, roots)),
        }
    }
}

/// Reads the table anew.
fn look(table: &mut File, roots: &[Root]) -> bool {
    let mut text = Vec::new();
    if table.rewind().is_err() || table.read_to_end(&mut text).is_err() {
        return false;
    }
    let Some(table) = mounts::parse(&text) else {
        return false;
    };
    table.iter().all(|mount| {
        let is_below = roots
            .iter()
            .any(|root| mount.place != root.path() && mount.place.starts_with(root.path()));
        !is_below || LOCAL.iter().any(|(local, _)| *local == mount.kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Access, Grant, Policy};

    #[test]
    fn foreign_mount_below_makes_directory_not_local() {
        let dir = tempfile::tempdir().unwrap();
        let grant = Grant {
            path: dir.path().to_owned(),
            access: Access::ReadOnly,
        };
        let policy = Policy::open(&[grant], &[]).unwrap();
        let place = policy.roots()[0].path().display().to_string();
        let mut table = tempfile::tempfile().unwrap();
        let mut with = |lines: &str| {
            use std::io::Write as _;
            table.set_len(0).unwrap();
            table.rewind().unwrap();
            table.write_all(lines.as_bytes()).unwrap();
            look(&mut table, policy.roots())
        };
        assert!(with(&format!(
            "1 0 8:1 / / rw - nfs4 a:/ rw\n2 1 0:9 / {place} rw - fuse a rw\n"
        )));
        assert!(with(&format!(
            "2 1 0:9 / {place}/a rw - tmpfs a rw\n3 1 0:9 / {place}b rw - fuse a rw\n"
        )));
        assert!(!with(&format!(
            "2 1 0:9 / {place}/a rw - tmpfs a rw\n3 1 0:9 / {place}/b rw - fuse a rw\n"
        )));
        assert!(!with("no table\n"));
    }
}
