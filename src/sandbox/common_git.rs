//! The directory that the worktrees of a git repository share, for commands of one of them.
//!
//! Git makes files there, such as packed-refs.lock, so it is writable; but its other files and
//! directories are of the repository (`config`, `hooks`) or of another worktree (`HEAD`, `index`).
//! Those are mounted read-only over themselves for each command. What is not there yet the Landlock
//! rule keeps away as far as it is no regular file. They stay readable: git would take a branch
//! that another worktree is on, and gc what only its index has.
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

use super::fault::{Fault, Step};
use super::{landlock, mount, view};
use crate::limits::MAX_COMMON_GIT_ENTRIES;

/// Directories that all worktrees write to.
pub const SHARED: [&str; 4] = ["objects", "refs", "logs", "rr-cache"];
/// Files that all worktrees write, each by way of one with a suffix (`common_list` in git's
/// path.c).
pub const SHARED_FILES: [&str; 4] = ["packed-refs", "shallow", "gc.pid", "gc.log"];
const SUFFIXES: [&str; 3] = ["", ".lock", ".new"];
/// What below [`SHARED`] is of the main worktree alone.
const OF_MAIN: [(&str, &str); 4] = [
    ("logs", "HEAD"),
    ("refs", "bisect"),
    ("refs", "rewritten"),
    ("refs", "worktree"),
];

/// Why not all of this can be held there, if so. Below these places the rules of Landlock give
/// commands everything.
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

/// Makes `logs` where it is missing, as in a bare repository of which there was no worktree yet:
/// git would, but may make no directory there.
pub fn make_logs(common: &OwnedFd) {
    // If it is there, or cannot be made, git says what it has to say.
    let _ = mkdirat(common, "logs", Mode::from_raw_mode(0o777));
}

/// Opens a directory of [`SHARED`]; `None` if there is none. A link is none.
pub fn shared(common: &OwnedFd, name: &str) -> Result<Option<OwnedFd>, Errno> {
    match mount::find(
        common,
        OsStr::new(name),
        OFlags::DIRECTORY | OFlags::NOFOLLOW,
    ) {
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(None),
        found => found,
    }
}

/// Makes read-only what git does not write there, in the mount namespace of this process, but for
/// ways to these places.
pub fn hold(common: &Path, places: &[&Path]) -> Result<(), Fault> {
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

/// Nothing in place of a socket and its like: a mount does not make those read-only.
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
    fn what_git_writes_in_the_shared_directory_is_known() {
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
