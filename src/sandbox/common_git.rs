//! The common git directory of several worktrees, for commands in one of them.
//!
//! Git creates files there, such as packed-refs.lock, so it is writable. Its other files belong to
//! the repository (`config`, `hooks`) or to another worktree (`HEAD`, `index`). Those are mounted
//! read-only over themselves for each command. For missing ones, the Landlock rule refuses all but
//! regular files. They stay readable: otherwise git would check out a branch of another worktree,
//! and gc would remove objects that only its index refers to.
#![expect(
    clippy::disallowed_methods,
    reason = "works on the view of a command from inside it"
)]

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::fault::{Fault, StepContext};
use super::{landlock, mount, view};

/// Files and directories that are held directly in the directory that worktrees share.
const MAX_COMMON_GIT_ENTRIES: usize = 1000;

/// Directories that all worktrees write to.
pub(crate) const SHARED: [&str; 4] = ["objects", "refs", "logs", "rr-cache"];
/// Files that all worktrees write, each through a file with a suffix (`common_list` in git's
/// path.c).
pub(crate) const SHARED_FILES: [&str; 4] = ["packed-refs", "shallow", "gc.pid", "gc.log"];
const SUFFIXES: [&str; 3] = ["", ".lock", ".new"];
/// Entries below [`SHARED`] that belong to the main worktree alone.
const OF_MAIN: [(&str, &str); 4] = [
    ("logs", "HEAD"),
    ("refs", "bisect"),
    ("refs", "rewritten"),
    ("refs", "worktree"),
];

/// Returns the reason if this directory cannot be protected. Below /tmp and /dev/shm, the Landlock
/// rules grant commands everything.
pub fn cannot_hold(common: &Path) -> Option<&'static str> {
    if [view::TMP, view::SHARED_MEMORY]
        .iter()
        .any(|own| common.starts_with(own))
    {
        return Some("which cannot be held below /tmp and /dev/shm");
    }
    landlock::abi_in_view()
        .is_none()
        .then_some("which takes Landlock as Linux 5.19 and newer have it")
}

/// Creates `logs` if missing, as in a bare repository without worktrees: git needs it but may not
/// create a directory there.
pub(crate) fn make_logs(common: &OwnedFd) {
    // If it exists, or cannot be created, git reports the problem.
    let _ = mkdirat(common, "logs", Mode::from_raw_mode(0o777));
}

/// Opens a directory of [`SHARED`]; `None` if there is none. A link is none.
pub(crate) fn shared(common: &OwnedFd, name: &str) -> Result<Option<OwnedFd>, Errno> {
    match mount::find(
        common,
        OsStr::new(name),
        OFlags::DIRECTORY | OFlags::NOFOLLOW,
    ) {
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(None),
        found => found,
    }
}

/// Makes all entries read-only that git does not write, in the mount namespace of this process.
/// Entries on the way to `places` are spared.
pub(crate) fn hold(common: &Path, places: &[&Path]) -> Result<(), Fault> {
    let fault = || format!("hold what is in `{}`", common.display());
    let dir = mount::open_path(common)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let listed = openat(&dir, ".", flags, Mode::empty()).step_with(fault)?;
    let mut count = 0;
    for entry in Dir::read_from(&listed).step_with(fault)? {
        let entry = entry.step_with(fault)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let place = common.join(name);
        if name == "."
            || name == ".."
            || is_shared(name)
            || places.iter().any(|known| known.starts_with(&place))
        {
            continue;
        }
        count += 1;
        if count > MAX_COMMON_GIT_ENTRIES {
            return Err(Fault::because(
                fault(),
                &format!("it has more than {MAX_COMMON_GIT_ENTRIES} entries"),
            ));
        }
        if matches!(
            entry.file_type(),
            FileType::RegularFile | FileType::Directory | FileType::Symlink
        ) {
            mount::make_read_only(&dir, name)?;
        } else {
            cover(&dir, name).step_with(fault)?;
        }
    }
    for (above, name) in OF_MAIN {
        if let Some(above) = shared(&dir, above).step_with(fault)? {
            mount::make_read_only(&above, OsStr::new(name))?;
        }
    }
    Ok(())
}

fn is_shared(name: &OsStr) -> bool {
    let is_file = |file: &str| {
        let suffix = name.as_bytes().strip_prefix(file.as_bytes());
        suffix.is_some_and(|suffix| SUFFIXES.iter().any(|known| known.as_bytes() == suffix))
    };
    SHARED.iter().any(|known| name == *known) || SHARED_FILES.into_iter().any(is_file)
}

/// Covers a socket or special file with an empty one: a read-only mount would not protect it.
fn cover(dir: &OwnedFd, name: &OsStr) -> std::io::Result<()> {
    match openat(
        dir,
        name,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(there) => mount::cover(&there, Path::new("/dev/null")),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_files_match_git_names() {
        let open = [
            "objects",
            "packed-refs",
            "packed-refs.lock",
            "packed-refs.new",
            "gc.pid",
            "shallow.lock",
        ];
        let held = [
            "HEAD",
            "index",
            "config",
            "hooks",
            "packed-refs2",
            "objects.lock",
            "worktrees",
            "modules",
        ];
        assert_eq!(open.map(|name| is_shared(OsStr::new(name))), [true; 6]);
        assert_eq!(held.map(|name| is_shared(OsStr::new(name))), [false; 8]);
    }
}
