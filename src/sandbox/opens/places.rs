//! Places that links and renames of a command must spare: git directories, and what lies above
//! protected paths.
//!
//! Git writes through a symlink below its directory, with the rights of whoever runs it. Git itself
//! makes none there but one to an unused name beside it, by which `git init` learns whether the
//! filesystem has symlinks. So a link may lead to such a name.
#![expect(
    clippy::disallowed_methods,
    reason = "looks into directories that a command moves"
)]

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use replay_files::autorun::{DOT_GIT, PROTECTED_IN_REPOSITORIES};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::shared_lock::{SharedLock, Still};

/// Entries that are looked at below a directory that moves.
const MAX_MOVED_ENTRIES: usize = 20_000;
/// Levels of directories below it.
const MAX_MOVED_DEPTH: usize = 128;
/// A path that is protected in git directories alone.
const OF_GIT: &str = "config.worktree";

/// Rules about links and renames.
#[derive(Debug, Default)]
pub struct Places {
    /// Git directories, whatever they are called.
    repositories: Vec<PathBuf>,
    /// Paths that stay in their places.
    fixed: Vec<PathBuf>,
    /// Fixed paths that are protected parts of repositories.
    parts: HashSet<PathBuf>,
    /// Directories in which links and renames are made; `None`: mounts decide.
    writable: Option<Vec<PathBuf>>,
    /// Lock that all supervisors of the server hold while they look and act.
    lock: Option<SharedLock>,
}

impl Places {
    /// `protected`: all protected paths, by which git directories are known. `linked`: parts of
    /// repositories outside. `fixed`: paths above which no directory moves.
    pub fn new<'a>(
        protected: impl Iterator<Item = &'a Path>,
        linked: impl Iterator<Item = &'a Path>,
        fixed: impl Iterator<Item = &'a Path>,
    ) -> Self {
        let known = protected
            .filter(|path| path.ends_with(OF_GIT))
            .filter_map(Path::parent);
        let repositories: Vec<PathBuf> = known.chain(linked).map(Into::into).collect();
        let fixed: Vec<PathBuf> = fixed.map(Into::into).collect();
        let known: HashSet<&Path> = repositories.iter().map(PathBuf::as_path).collect();
        let is_part = |path: &&PathBuf| {
            let named = path
                .file_name()
                .is_some_and(|name| PROTECTED_IN_REPOSITORIES.iter().any(|part| name == *part));
            named && path.parent().is_some_and(|above| known.contains(above))
                || path.ends_with(DOT_GIT)
        };
        let parts = fixed.iter().filter(is_part).cloned().collect();
        Self {
            repositories,
            fixed,
            parts,
            writable: None,
            lock: None,
        }
    }

    /// The same where no mounts decide what is writable.
    pub fn within(self, writable: Vec<PathBuf>) -> Self {
        Self {
            writable: Some(writable),
            ..self
        }
    }

    /// The same, with the lock of the server.
    pub fn locking(self, lock: SharedLock) -> Self {
        Self {
            lock: Some(lock),
            ..self
        }
    }

    pub(super) fn hold_still(&self) -> Result<Option<Still<'_>>, Errno> {
        self.lock.as_ref().map(SharedLock::lock).transpose()
    }

    /// Returns true if no mounts decide what is writable.
    pub(super) fn is_bounded(&self) -> bool {
        self.writable.is_some()
    }

    pub(super) fn is_writable(&self, place: &Path) -> bool {
        self.writable
            .as_ref()
            .is_none_or(|writable| writable.iter().any(|root| place.starts_with(root)))
    }

    /// Returns true if a directory at this place has to stay there.
    pub(super) fn is_fixed(&self, place: &Path) -> bool {
        self.fixed
            .iter()
            .any(|fixed| fixed != place && fixed.starts_with(place))
    }

    /// Returns true if a symlink with this text is forbidden at a place; `dir` is its directory.
    /// Such a link would stand for a git directory, or let git write to another place.
    pub(super) fn refuses_link(&self, dir: &OwnedFd, place: &Path, text: &[u8]) -> bool {
        let stands_for_one = place.file_name().is_some_and(is_dot_git)
            || self
                .repositories
                .iter()
                .any(|known| known.starts_with(place));
        let is_kept = || {
            let target = place.with_file_name(OsStr::from_bytes(text));
            self.fixed
                .iter()
                .any(|fixed| fixed.starts_with(&target) || target.starts_with(fixed))
        };
        stands_for_one || self.is_of_git(place) && (is_kept() || !stays_beside(dir, text))
    }

    /// Returns true if a protected path of a repository is there.
    pub(super) fn has_repositories(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns true for a protected path of a repository, and for what lies below one.
    pub(super) fn is_of_repository(&self, place: &Path) -> bool {
        let is_named = |path: &Path| {
            path.file_name().is_some_and(|name| {
                name == DOT_GIT || PROTECTED_IN_REPOSITORIES.iter().any(|part| name == *part)
            })
        };
        place
            .ancestors()
            .any(|above| is_named(above) && self.parts.contains(above))
    }

    /// Returns true if a directory would bring a symlink into a git directory by moving to this
    /// place.
    pub(super) fn refuses_directory(&self, dir: &OwnedFd, place: &Path) -> Result<bool, Errno> {
        let mut left = MAX_MOVED_ENTRIES;
        if self.is_of_git(place) {
            return leads_away(dir, MAX_MOVED_DEPTH, &mut left);
        }
        let below = self
            .repositories
            .iter()
            .filter_map(|known| known.strip_prefix(place).ok());
        for below in below {
            if leads_to_link(dir, below, &mut left)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true for a git directory and everything in it.
    fn is_of_git(&self, place: &Path) -> bool {
        // Some filesystems look at no letter case.
        place.iter().any(is_dot_git)
            || self
                .repositories
                .iter()
                .any(|known| place.starts_with(known))
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Returns true if the way below a directory, or what it ends at, has a symlink.
fn leads_to_link(dir: &OwnedFd, below: &Path, left: &mut usize) -> Result<bool, Errno> {
    let mut at = openat(dir, ".", DIRECTORY, Mode::empty())?;
    for name in below {
        at = match openat(&at, name, DIRECTORY, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(false),
            // For a symlink too (open(2), `O_DIRECTORY` with `O_NOFOLLOW`).
            Err(Errno::NOTDIR) => return is_link(&at, name),
            Err(errno) => return Err(errno),
        };
    }
    leads_away(&at, MAX_MOVED_DEPTH, left)
}

fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(DOT_GIT)
}

/// Returns true if a symlink in a git directory leads to a name beside it that is neither protected
/// nor a symlink.
fn stays_beside(dir: &OwnedFd, text: &[u8]) -> bool {
    let name = OsStr::from_bytes(text);
    let is_protected = || {
        PROTECTED_IN_REPOSITORIES
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    let is_name = !matches!(text, b"" | b"." | b"..") && !text.contains(&b'/');
    is_name && !is_dot_git(name) && !is_protected() && !is_link(dir, name).unwrap_or(false)
}

fn is_link(dir: &OwnedFd, name: &OsStr) -> Result<bool, Errno> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Returns true if a symlink that leads away lies anywhere below a directory. `EXDEV` where that is
/// too much to look at: mv(1) copies then.
fn leads_away(dir: &OwnedFd, depth: usize, left: &mut usize) -> Result<bool, Errno> {
    let dir = openat(dir, ".", DIRECTORY, Mode::empty())?;
    for entry in Dir::read_from(&dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        *left = left.checked_sub(1).ok_or(Errno::XDEV)?;
        match entry.file_type() {
            FileType::Directory => {}
            FileType::Symlink | FileType::Unknown => {
                if is_link(&dir, name)? {
                    if !stays_beside(&dir, &readlinkat(&dir, name, Vec::new())?.into_bytes()) {
                        return Ok(true);
                    }
                    continue;
                }
            }
            _ => continue,
        }
        let below = match openat(&dir, name, DIRECTORY, Mode::empty()) {
            Ok(below) => below,
            Err(Errno::NOTDIR | Errno::NOENT) => continue,
            Err(errno) => return Err(errno),
        };
        if depth == 0 {
            return Err(Errno::XDEV);
        }
        if leads_away(&below, depth - 1, left)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use pretty_assertions::assert_eq;

    fn places() -> Places {
        let protected = [
            "/w/lib.git/config.worktree",
            "/w/.git/config.worktree",
            "/w/.claude/hooks",
        ]
        .map(Path::new);
        let fixed = ["/w/a/keys"].map(Path::new);
        let linked = ["/far/bare.git/worktrees/w"].map(Path::new);
        Places::new(protected.into_iter(), linked.into_iter(), fixed.into_iter())
    }

    #[test]
    fn link_in_or_above_git_directory_is_refused() {
        let tree = tempfile::tempdir().unwrap();
        symlink("/", tree.path().join("other")).unwrap();
        let dir = OwnedFd::from(fs::File::open(tree.path()).unwrap());
        let refused = |place: &str, text: &str| {
            places().refuses_link(&dir, Path::new(place), text.as_bytes())
        };
        let places = [
            "/w/.git/COMMIT_EDITMSG",
            "/w/sub/.GIT/logs/refs/x",
            "/w/lib.git/logs",
            "/far/bare.git/worktrees/w/HEAD",
        ];
        for place in places {
            for text in ["/x", "..", "a/b", "config", "HOOKS", ".git", "other", ""] {
                assert!(refused(place, text), "{place} -> {text}");
            }
            assert!(
                !refused(place, "testing"),
                "{place}: git init asks so for symlinks"
            );
        }
        for place in ["/w/.git", "/w/lib.git", "/w"] {
            assert!(refused(place, "testing"), "{place}");
        }
        for place in [
            "/w/x",
            "/w/.github/x",
            "/w/lib.git2",
            "/w/.claude/x",
            "/w/.gitignore",
        ] {
            assert!(!refused(place, "/x"), "{place}");
        }
    }

    #[test]
    fn protected_path_of_repository_is_known() {
        let fixed = [
            "/w/.git/hooks",
            "/w/a/keys",
            "/w/.claude/hooks",
            "/w/sub/.git",
        ]
        .map(Path::new);
        let protected = ["/w/.git/config.worktree"].map(Path::new);
        let places = Places::new(protected.into_iter(), std::iter::empty(), fixed.into_iter());
        let known = ["/w/.git/hooks", "/w/.git/hooks/x", "/w/sub/.git"];
        let other = [
            "/w/.git/config",
            "/w/.git",
            "/w/a/keys",
            "/w/.claude/hooks",
            "/w/sub",
        ];
        assert_eq!(
            known.map(|place| places.is_of_repository(Path::new(place))),
            [true; 3]
        );
        assert_eq!(
            other.map(|place| places.is_of_repository(Path::new(place))),
            [false; 5]
        );
    }

    #[test]
    fn directory_above_fixed_path_stays() {
        let fixed =
            ["/w", "/w/a", "/w/a/keys", "/w/b"].map(|place| places().is_fixed(Path::new(place)));
        assert_eq!(fixed, [true, true, false, false]);
    }

    #[test]
    fn directory_with_link_may_not_become_git_directory() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("with/a/b")).unwrap();
        fs::create_dir_all(tree.path().join("without/lib.git")).unwrap();
        symlink("/x", tree.path().join("with/a/b/link")).unwrap();
        symlink("/x", tree.path().join("without/link")).unwrap();
        let open = |name: &str| OwnedFd::from(fs::File::open(tree.path().join(name)).unwrap());
        let refuses =
            |name: &str, place: &str| places().refuses_directory(&open(name), Path::new(place));
        assert_eq!(refuses("with", "/w/sub/.git"), Ok(true));
        assert_eq!(refuses("with/a", "/w/.git/logs"), Ok(true));
        assert_eq!(refuses("with", "/w/lib.git"), Ok(true));
        assert_eq!(refuses("with", "/w/sub"), Ok(false));
        assert_eq!(
            refuses("without", "/w"),
            Ok(false),
            "the link lies beside the git directory"
        );
        symlink("/x", tree.path().join("without/lib.git/HEAD")).unwrap();
        assert_eq!(refuses("without", "/w"), Ok(true));
    }
}
