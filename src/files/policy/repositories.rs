//! Git repositories that lie in the read-write directories: found once by a walk, before the first
//! change is made or command is run.
#![expect(
    clippy::disallowed_methods,
    reason = "policy is where paths become handles"
)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use replay_base::limits::{LIST_BUFFER_BYTES, MAX_AUTORUN_BYTES, MAX_REPOSITORIES};
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, RawDir, accessat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::defaults::{CONFIG, DOT_GIT, PROTECTED_IN_REPOSITORIES};
use crate::autorun::{Compared, Content, hooks_directory, hooks_path, rule_for_path};
use crate::journal::ConfiguredHooks;

/// Directories that are looked at for git repositories at the start.
const MAX_REPOSITORY_DIRECTORIES: usize = 200_000;
/// Deepest directory that is searched for git repositories at the start.
const MAX_REPOSITORY_DEPTH: usize = 128;
/// Longest search for git repositories at the start, in milliseconds: the first command waits for
/// it.
const MAX_REPOSITORY_WALK_MS: u64 = 5000;

/// Protected parts of the repositories that existed when the server started.
#[derive(Debug, Default)]
pub struct RepositoryPaths {
    /// Hooks, and what says where a repository's directory is. They need not exist.
    pub protected: Vec<PathBuf>,
    /// Configuration that is there. Programs outside replace it by a rename, so another file in its
    /// place tells nothing of commands.
    pub pinned: Vec<PathBuf>,
    /// Other files that programs outside run, if they are frozen.
    pub frozen: Vec<PathBuf>,
    /// Directories of hooks that configuration names.
    pub hooks: Vec<PathBuf>,
    /// `true` if the walk was incomplete: there were too many directories, or they are nested too
    /// deep.
    pub is_partial: bool,
}

impl RepositoryPaths {
    /// All that is protected.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.protected
            .iter()
            .chain(&self.pinned)
            .map(PathBuf::as_path)
    }
}

/// The repositories below some directories, looked for when somebody asks first.
#[derive(Debug, Default)]
pub struct Repositories {
    roots: Vec<(PathBuf, Arc<OwnedFd>)>,
    unprotected: Vec<PathBuf>,
    freezes_autorun: bool,
    found: OnceLock<RepositoryPaths>,
}

impl Repositories {
    /// Returns the repositories below these directories, without those that the operator
    /// unprotects.
    pub(super) fn below(
        roots: Vec<(PathBuf, Arc<OwnedFd>)>,
        unprotected: Vec<PathBuf>,
        freezes_autorun: bool,
    ) -> Self {
        Self {
            roots,
            unprotected,
            freezes_autorun,
            found: OnceLock::new(),
        }
    }

    pub(super) fn freezes_autorun(&self) -> bool {
        self.freezes_autorun
    }

    /// Returns the repositories. The first caller walks the directories; the others wait for the
    /// result, at most [`MAX_REPOSITORY_WALK_MS`].
    pub fn paths(&self) -> &RepositoryPaths {
        self.found.get_or_init(|| {
            let mut walk = Walk {
                directories: Vec::new(),
                files: Vec::new(),
                freezes_autorun: self.freezes_autorun,
                frozen: Vec::new(),
                hooks: Vec::new(),
                left: MAX_REPOSITORY_DIRECTORIES,
                until: Instant::now() + Duration::from_millis(MAX_REPOSITORY_WALK_MS),
                is_partial: false,
                buffer: Vec::new(),
            };
            for (path, handle) in &self.roots {
                walk.run(path, handle);
            }
            // Those of one directory may lie in another one.
            let is_below =
                |hooks: &PathBuf, root: &PathBuf| hooks.starts_with(root) && hooks != root;
            walk.hooks
                .retain(|hooks| self.roots.iter().any(|(root, _)| is_below(hooks, root)));
            let found = walk.into_paths(&self.unprotected);
            if found.is_partial {
                tracing::warn!(
                    "only the first {MAX_REPOSITORY_DIRECTORIES} directories were searched for \
                     git repositories; commands can change hooks and configuration of the others: \
                     allow smaller directories, or use --protect"
                );
            }
            found
        })
    }
}

impl ConfiguredHooks for Repositories {
    fn directories(&self) -> &[PathBuf] {
        &self.paths().hooks
    }
}

struct Walk {
    /// Directories of repositories, in the order of the walk: those that come first are protected
    /// if there are too many.
    directories: Vec<PathBuf>,
    /// Entries called `.git` that are no directories, and directories that this user could make
    /// readable.
    files: Vec<PathBuf>,
    freezes_autorun: bool,
    /// Files that programs outside run, if they are frozen.
    frozen: Vec<PathBuf>,
    hooks: Vec<PathBuf>,
    /// Directories that may still be looked at.
    left: usize,
    until: Instant,
    is_partial: bool,
    /// For the kernel's lists of entries.
    buffer: Vec<u8>,
}

/// A directory, and those in it that are still to be looked at.
struct Level {
    dir: OwnedFd,
    below: Vec<OsString>,
}

impl Walk {
    fn run(&mut self, root: &Path, handle: &OwnedFd) {
        let mut place = root.to_path_buf();
        let mut levels: Vec<Level> = self
            .look(handle, OsStr::new("."), &place, root)
            .into_iter()
            .collect();
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.below.pop() else {
                levels.pop();
                place.pop();
                continue;
            };
            if levels.len() >= MAX_REPOSITORY_DEPTH
                || self.left == 0
                || Instant::now() >= self.until
            {
                self.is_partial = true;
                continue;
            }
            place.push(&name);
            match levels
                .last()
                .and_then(|level| self.look(&level.dir, &name, &place, root))
            {
                Some(level) => levels.push(level),
                None => drop(place.pop()),
            }
        }
    }

    /// Lists one directory. `None` if it is no directory or unreadable. If commands could make it
    /// readable, it is protected as a whole.
    fn look(&mut self, above: &OwnedFd, name: &OsStr, place: &Path, root: &Path) -> Option<Level> {
        let flags = OFlags::RDONLY
            | OFlags::DIRECTORY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        // A directory that can be listed, but not entered, is unreadable, too.
        let opened = openat(above, name, flags, Mode::empty()).and_then(|dir| {
            accessat(&dir, ".", Access::EXEC_OK, AtFlags::EACCESS)?;
            Ok(dir)
        });
        let dir = match opened {
            Ok(dir) => dir,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return None,
            Err(errno) => {
                let owner = statat(above, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_uid);
                self.is_partial |= errno != Errno::ACCESS || name == ".";
                if name == "." {
                    // The repository of the root itself is protected nevertheless.
                    let dir = openat(above, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
                    let below = vec![OsString::from(DOT_GIT)];
                    return Some(Level {
                        dir: dir.ok()?,
                        below,
                    });
                }
                if errno != Errno::ACCESS || owner == Ok(geteuid().as_raw()) {
                    self.files.push(place.to_owned());
                }
                return None;
            }
        };
        self.left = self.left.saturating_sub(1);
        let mut below = Vec::new();
        let (mut head, mut common, mut config) = (false, false, false);
        let objects = place.file_name().is_some_and(|name| name == "objects");
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.reserve(LIST_BUFFER_BYTES);
        let mut entries = RawDir::new(&dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else {
                self.is_partial = true;
                break;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let is_dir = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
                _ => false,
            };
            if !is_dir {
                self.run_outside(&dir, name, place, root);
            }
            match name.as_bytes() {
                b"." | b".." => {}
                // Objects of git are many, and hold no repository.
                &[first, second]
                    if objects && first.is_ascii_hexdigit() && second.is_ascii_hexdigit() => {}
                _ if is_dir => below.push(name.to_owned()),
                b"HEAD" => head = true,
                b"commondir" => common = true,
                b"config" => config = true,
                _ if name.eq_ignore_ascii_case(DOT_GIT) => self.files.push(place.join(name)),
                _ => {}
            }
        }
        self.buffer = buffer;
        self.is_partial |= self.frozen.len().max(self.hooks.len()) > MAX_REPOSITORIES;
        let has = |name: &str| below.iter().any(|other| other == name);
        // By its name, or by what no command can take away: without HEAD git knows it as none,
        // until that is put back. A branch may be called `config`.
        let has_part = |parts: &[&str]| {
            place
                .iter()
                .any(|part| parts.iter().any(|known| part == *known))
        };
        let is_known = place.ends_with(DOT_GIT)
            || (config || common) && has_part(&[DOT_GIT]) && !has_part(&["refs", "logs"]);
        // As git judges (`is_git_directory` of its setup.c).
        if is_known || head && (common || has("objects") && has("refs")) {
            self.directories.push(place.to_owned());
        }
        // It is looked at next, so no other directories use up what may be spent before a
        // repository is found at a root.
        below.sort_by_key(|name| name.eq_ignore_ascii_case(DOT_GIT));
        self.is_partial |= self.directories.len() + self.files.len() > MAX_REPOSITORIES;
        Some(Level { dir, below })
    }

    fn into_paths(self, unprotected: &[PathBuf]) -> RepositoryPaths {
        let mut found = RepositoryPaths {
            is_partial: self.is_partial,
            ..RepositoryPaths::default()
        };
        let is_kept = |path: &PathBuf| !unprotected.iter().any(|free| path.starts_with(free));
        found
            .hooks
            .extend(self.hooks.into_iter().take(MAX_REPOSITORIES));
        let hooks = found.hooks.iter().filter(|_| self.freezes_autorun).cloned();
        found.frozen.extend(
            self.frozen
                .into_iter()
                .chain(hooks)
                .filter(is_kept)
                .take(MAX_REPOSITORIES),
        );
        found.protected.extend(
            self.files
                .into_iter()
                .filter(is_kept)
                .take(MAX_REPOSITORIES),
        );
        for directory in self.directories.into_iter().take(MAX_REPOSITORIES) {
            let paths = PROTECTED_IN_REPOSITORIES.map(|name| directory.join(name));
            let (pinned, protected): (Vec<_>, Vec<_>) = paths
                .into_iter()
                .filter(is_kept)
                .partition(|path| path.ends_with(CONFIG));
            found.pinned.extend(pinned);
            found.protected.extend(protected);
        }
        found
    }

    /// Records the parts of this entry that programs outside run: the file itself, or the hooks
    /// that it names.
    fn run_outside(
        &mut self,
        dir: &OwnedFd,
        name: &OsStr,
        place: &Path,
        root: &Path,
    ) -> Option<()> {
        let path = place.join(name);
        let (rule, _) = rule_for_path(path.strip_prefix(root).ok()?.as_os_str().as_bytes())?;
        if !self.freezes_autorun && rule.compared != Compared::GitKeys {
            return None;
        }
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let content = match openat(dir, name, flags, Mode::empty()).map(File::from) {
            Ok(file) if !file.metadata().ok()?.is_file() => return None,
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(MAX_AUTORUN_BYTES + 1)
                    .read_to_end(&mut bytes)
                    .ok()?;
                if let Some(said) = hooks_path(&bytes) {
                    let from = if place.ends_with(DOT_GIT) {
                        place.parent()?
                    } else {
                        place
                    };
                    self.hooks.extend(hooks_directory(from, &said));
                    return None;
                }
                Content::File {
                    bytes,
                    is_executable: false,
                }
            }
            Err(Errno::LOOP) => Content::Opaque("a link"),
            Err(_) => Content::Opaque("cannot be read"),
        };
        if self.freezes_autorun && !rule.facets(name.as_bytes(), &content).is_empty() {
            self.frozen.push(path);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// The configuration that is found in a tree with these files and, with a slash at the end,
    /// directories.
    fn configuration(tree: &[String]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for path in tree {
            let at = dir.path().join(path);
            if path.ends_with('/') {
                std::fs::create_dir_all(at).unwrap();
            } else {
                std::fs::create_dir_all(at.parent().unwrap()).unwrap();
                std::fs::write(at, "").unwrap();
            }
        }
        let root = std::fs::File::open(dir.path()).unwrap();
        let repositories = Repositories::below(
            vec![(dir.path().into(), Arc::new(root.into()))],
            Vec::new(),
            false,
        );
        let found = repositories.paths().pinned.iter();
        found
            .map(|path| {
                path.strip_prefix(dir.path())
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    }

    fn repository(at: &str) -> [String; 4] {
        ["HEAD", "objects/", "refs/", "config"].map(|name| format!("{at}{name}"))
    }

    #[test]
    fn fake_repository_hides_no_nested_repository() {
        let trees = [
            "",
            "deep/",
            ".git/",
            "deep/sub/.git/",
            "deep/sub/.git/modules/lib/",
            "bare/objects/deep/.git/",
        ];
        let mut found = configuration(&trees.map(repository).concat());
        found.sort();
        assert_eq!(
            found,
            [
                ".git/config",
                "bare/objects/deep/.git/config",
                "config",
                "deep/config",
                "deep/sub/.git/config",
                "deep/sub/.git/modules/lib/config"
            ]
        );
    }

    #[test]
    fn incomplete_repository_is_recognized() {
        let tree = [
            "a/.git/config",
            "a/.git/modules/lib/config",
            "a/.git/worktrees/w/commondir",
            "b/.git/refs/heads/config",
        ];
        let mut found = configuration(&tree.map(str::to_owned));
        found.sort();
        assert_eq!(
            found,
            [
                "a/.git/config",
                "a/.git/modules/lib/config",
                "a/.git/worktrees/w/config",
                "b/.git/config"
            ]
        );
    }

    #[test]
    fn repository_of_allowed_directory_comes_first() {
        let others = (0..=MAX_REPOSITORIES).flat_map(|number| repository(&format!("!{number}/")));
        let found = configuration(&others.chain(repository(".git/")).collect::<Vec<_>>());
        assert_eq!(
            (found[0].as_str(), found.len()),
            (".git/config", MAX_REPOSITORIES)
        );
    }
}
