//! Removal of directory trees that commands could change, by handle.
#![expect(
    clippy::disallowed_methods,
    reason = "the directories are the program's own"
)]

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, ResolveFlags, chmod, fchmod, openat2, renameat, unlinkat,
};

use crate::limits::MAX_REMOVED_LEVELS;

pub const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
pub const PRIVATE: Mode = Mode::RWXU;

/// Removes a directory tree by handle: symlinks are removed and never followed, mounts are never
/// entered. Entries that cannot be removed, or not in time, stay.
///
/// It works without recursion and with few open directories: a command can nest deeper than the
/// stack or the descriptor limit permits. Directories that are too deep are moved up first.
pub fn remove(parent: &OwnedFd, name: &CStr, until: Option<Instant>) {
    let Ok(top) = Level::open(parent.as_fd(), name, until) else {
        return;
    };
    let mut levels = vec![top];
    let mut moved = 0_u64;
    while let Some(level) = levels.last_mut() {
        if until.is_some_and(|until| Instant::now() >= until) {
            return;
        }
        if let Some(next) = level.directories.pop() {
            let Ok(below) = Level::open(level.handle.as_fd(), &next, until) else {
                continue;
            };
            if levels.len() < MAX_REMOVED_LEVELS {
                levels.push(below);
                continue;
            }
            let above = levels.last().map_or(parent, |level| &level.handle);
            let Ok(up) = CString::new(format!("moved-up-{moved}")) else {
                continue;
            };
            moved += 1;
            if !below.directories.is_empty()
                && renameat(above, &next, &levels[0].handle, &up).is_ok()
            {
                levels[0].directories.push(up);
            } else {
                let _ = unlinkat(above, &next, AtFlags::REMOVEDIR);
            }
            continue;
        }
        let Some(done) = levels.pop() else { return };
        let above = levels.last().map_or(parent, |level| &level.handle);
        let _ = unlinkat(above, &done.name, AtFlags::REMOVEDIR);
    }
}

/// A directory on the way down, with only subdirectories left.
struct Level {
    handle: OwnedFd,
    name: CString,
    directories: Vec<CString>,
}

impl Level {
    fn open(
        parent: BorrowedFd<'_>,
        name: &CStr,
        until: Option<Instant>,
    ) -> rustix::io::Result<Self> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let open = |flags| openat2(parent, name, flags, Mode::empty(), resolve);
        let handle = open(DIRECTORY).or_else(|_| {
            // A command may have removed its own permissions. By handle, because the name could be
            // replaced by now.
            let closed = open(OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
            chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), PRIVATE)?;
            open(DIRECTORY)
        })?;
        let _ = fchmod(&handle, PRIVATE);
        let mut directories = Vec::new();
        for entry in Dir::read_from(&handle)?.flatten() {
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let name = entry.file_name();
            let special = matches!(name.to_bytes(), b"." | b"..");
            if !special && unlinkat(&handle, name, AtFlags::empty()).is_err() {
                directories.push(name.to_owned());
            }
        }
        Ok(Self {
            handle,
            name: name.to_owned(),
            directories,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, mkdirat, openat};

    use super::*;

    #[test]
    fn deep_tree_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("tree")).unwrap();
        let handle = openat(CWD, parent.path(), DIRECTORY, Mode::empty()).unwrap();
        let mut at = openat(&handle, "tree", DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..3 * MAX_REMOVED_LEVELS {
            for name in ["d", "beside"] {
                mkdirat(&at, name, PRIVATE).unwrap();
            }
            let below = openat(&at, "d", DIRECTORY, Mode::empty()).unwrap();
            fchmod(&at, Mode::empty()).unwrap();
            at = below;
        }
        remove(&handle, c"tree", None);
        assert!(!parent.path().join("tree").try_exists().unwrap());
    }

    #[test]
    fn symlink_target_keeps_its_mode() {
        let parent = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let before = fs::Permissions::from_mode(0o755);
        fs::set_permissions(outside.path(), before.clone()).unwrap();
        symlink(outside.path(), parent.path().join("link")).unwrap();
        let handle = openat(CWD, parent.path(), DIRECTORY, Mode::empty()).unwrap();
        // A directory can be replaced by a symlink after it was found.
        assert!(Level::open(handle.as_fd(), c"link", None).is_err());
        assert_eq!(
            fs::metadata(outside.path()).unwrap().permissions().mode() & 0o777,
            before.mode()
        );
    }
}
