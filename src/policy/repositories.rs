//! Git repositories that lie in the read-write directories: found once by a walk, before the first change is made or command
//! is run.
#![expect(clippy::disallowed_methods, reason = "policy is where paths become handles")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use super::defaults::{CONFIG, DOT_GIT, PROTECTED_IN_REPOSITORIES};
use crate::limits::{MAX_REPOSITORIES, MAX_REPOSITORY_DEPTH, MAX_REPOSITORY_DIRECTORIES, MAX_REPOSITORY_WALK_MS};

/// What there is to protect of the repositories that were there when the server started.
#[derive(Debug, Default)]
pub struct Found {
    /// Hooks, and what says where a repository's directory is. They need not exist.
    pub protected: Vec<PathBuf>,
    /// Configuration that is there. Programs outside replace it by a rename, so another file in its place tells nothing of
    /// commands.
    pub pinned: Vec<PathBuf>,
    /// Whether not all directories were looked at: there were too many, or they are nested too deep.
    pub is_partial: bool,
}

impl Found {
    /// All that is protected.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.protected.iter().chain(&self.pinned).map(PathBuf::as_path)
    }
}

/// The repositories below some directories, looked for when somebody asks first.
#[derive(Debug, Default)]
pub struct Repositories {
    roots: Vec<(PathBuf, Arc<OwnedFd>)>,
    unprotected: Vec<PathBuf>,
    found: OnceLock<Found>,
}

impl Repositories {
    /// Below these directories, but for what the operator does not want protected.
    pub(super) fn below(roots: Vec<(PathBuf, Arc<OwnedFd>)>, unprotected: Vec<PathBuf>) -> Self {
        Self { roots, unprotected, found: OnceLock::new() }
    }

    /// What was found. Whoever asks first looks, the others wait for it, at most [`MAX_REPOSITORY_WALK_MS`].
    pub fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let mut walk = Walk {
                directories: BTreeSet::new(),
                files: BTreeSet::new(),
                left: MAX_REPOSITORY_DIRECTORIES,
                until: Instant::now() + Duration::from_millis(MAX_REPOSITORY_WALK_MS),
                is_partial: false,
            };
            for (path, handle) in &self.roots {
                walk.run(path, handle);
            }
            let found = walk.found(&self.unprotected);
            if found.is_partial {
                tracing::warn!(
                    "not all directories were looked at for git repositories: configuration and hooks of some that lie deep, \
                     or after {MAX_REPOSITORY_DIRECTORIES} directories, can be changed by commands; allow less, or name them \
                     with --protect"
                );
            }
            found
        })
    }
}

struct Walk {
    /// Directories of repositories.
    directories: BTreeSet<PathBuf>,
    /// What is called `.git` and is no directory.
    files: BTreeSet<PathBuf>,
    /// Directories that may still be looked at.
    left: usize,
    until: Instant,
    is_partial: bool,
}

/// A directory, and those in it that are still to be looked at.
struct Level {
    dir: OwnedFd,
    below: Vec<OsString>,
}

impl Walk {
    fn run(&mut self, root: &Path, handle: &OwnedFd) {
        let mut place = root.to_path_buf();
        let mut levels: Vec<Level> = self.look(handle, OsStr::new("."), &place).into_iter().collect();
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.below.pop() else {
                levels.pop();
                place.pop();
                continue;
            };
            if levels.len() >= MAX_REPOSITORY_DEPTH || self.left == 0 || Instant::now() >= self.until {
                self.is_partial = true;
                continue;
            }
            place.push(&name);
            match levels.last().and_then(|level| self.look(&level.dir, &name, &place)) {
                Some(level) => levels.push(level),
                None => drop(place.pop()),
            }
        }
    }

    /// Lists one directory. `None` if it is none, or cannot be read.
    fn look(&mut self, above: &OwnedFd, name: &OsStr, place: &Path) -> Option<Level> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let dir = openat(above, name, flags, Mode::empty()).ok()?;
        self.left = self.left.saturating_sub(1);
        let mut below = Vec::new();
        let (mut head, mut common) = (false, false);
        for entry in Dir::read_from(&dir).ok()? {
            let Ok(entry) = entry else { break };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let is_dir = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
                _ => false,
            };
            match name.as_bytes() {
                b"." | b".." => {}
                _ if is_dir => below.push(name.to_owned()),
                b"HEAD" => head = true,
                b"commondir" => common = true,
                _ if name.eq_ignore_ascii_case(DOT_GIT) => drop(self.files.insert(place.join(name))),
                _ => {}
            }
        }
        // As git judges (`is_git_directory` of its setup.c).
        let has = |name: &str| below.iter().any(|other| other == name);
        if head && (common || has("objects") && has("refs")) {
            self.directories.insert(place.to_owned());
            // Objects are many, and hold no repository.
            below.retain(|name| name == "modules" || name == "worktrees");
        }
        self.is_partial |= self.directories.len() + self.files.len() > MAX_REPOSITORIES;
        Some(Level { dir, below })
    }

    fn found(self, unprotected: &[PathBuf]) -> Found {
        let mut found = Found { is_partial: self.is_partial, ..Found::default() };
        let is_kept = |path: &PathBuf| !unprotected.iter().any(|free| path.starts_with(free));
        found.protected.extend(self.files.into_iter().filter(is_kept).take(MAX_REPOSITORIES));
        for directory in self.directories.into_iter().take(MAX_REPOSITORIES) {
            let paths = PROTECTED_IN_REPOSITORIES.map(|name| directory.join(name));
            let (pinned, protected): (Vec<_>, Vec<_>) =
                paths.into_iter().filter(is_kept).partition(|path| path.ends_with(CONFIG));
            found.pinned.extend(pinned);
            found.protected.extend(protected);
        }
        found
    }
}
