//! Rules by place: pure functions of paths, without disk access.
//!
//! A *place* is a true position: the canonical path of an allowed directory, and real names below
//! it without links.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_base::mounts;
use rustix::fs::{AtFlags, FileType, statat};

use super::defaults::{DOT_GIT, PROTECTED_IN_REPOSITORIES};
use super::repositories::Repositories;
use crate::hide::Hide;
use crate::journal::STORES;

/// A device and an inode number: which directory it is, whatever its name.
pub(crate) type Id = (u64, u64);

/// The grants and protected paths. Shared by every handle that may change something.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(super) roots: Vec<RootRule>,
    pub(super) names: Vec<Name>,
    pub(super) protected: Vec<Protected>,
    /// Repositories, whose hooks and configuration are protected as well.
    pub(super) repositories: Arc<Repositories>,
    /// Paths below which no default protection applies.
    pub(super) unprotected: Vec<PathBuf>,
    /// Each of them is protected as well.
    pub(super) hidden: Vec<Hidden>,
    /// Patterns of hidden paths.
    pub(super) hide: Option<Hide>,
    /// The directories of those in allowed directories, and their names: what has such a name there
    /// is hidden, whatever it is.
    pub(super) homes: Vec<(Id, OsString)>,
    /// `st_dev` of the kernel's filesystem of devices, where it is mounted.
    pub(super) devices: Option<u64>,
}

#[derive(Debug)]
pub(super) struct RootRule {
    pub(super) path: PathBuf,
    pub(super) id: Id,
    pub(super) writable: bool,
    pub(super) handle: Option<Arc<OwnedFd>>,
}

/// A path that stands for an allowed directory: its canonical path, or what the operator typed.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) path: PathBuf,
    pub(super) root: usize,
}

#[derive(Debug)]
pub(super) struct Protected {
    pub(super) path: PathBuf,
    /// The defaults are read by programs that may look on a filesystem without letter case, so
    /// `.GIT/hooks` is one of them.
    pub(super) any_case: bool,
    pub(super) why: Cause,
}

/// Reason why a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The operator named it (`--protect`).
    Asked,
    /// It configures this server.
    Configures,
    /// By default, as this program obeys it.
    Default(&'static str),
    /// No agent may see what is there.
    Hidden,
}

impl Cause {
    /// Returns true if the operator named the path by any flag. If it cannot be protected, no
    /// command is run.
    pub fn is_asked(self) -> bool {
        !matches!(self, Self::Default(_) | Self::Hidden)
    }
}

/// A file or directory of the operator's that no agent may see, wherever it lies, such as the audit
/// log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// Absolute path without links.
    pub path: PathBuf,
    /// Identity of the file, `st_dev` and `st_ino` of stat(2), so that no other name leads to it
    /// either.
    pub id: (u64, u64),
}

/// Returns true if `longer` begins with `shorter`; both are absolute. With `any_case`, case is
/// ignored, for programs that may use a case-insensitive filesystem.
///
/// Each change asks this for each protected path, and `Path::components` takes five times as long.
fn starts_with(any_case: bool, longer: &Path, shorter: &Path) -> bool {
    let mut longer = names_of(longer);
    names_of(shorter).all(|wanted| {
        longer
            .next()
            .is_some_and(|name| name == wanted || any_case && name.eq_ignore_ascii_case(wanted))
    })
}

fn names_of(path: &Path) -> impl Iterator<Item = &[u8]> {
    let names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    names.filter(|name| !matches!(*name, b"" | b"."))
}

pub(super) fn is_dot_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(DOT_GIT)
}

pub(super) fn is_of_repository(name: &OsStr) -> bool {
    PROTECTED_IN_REPOSITORIES
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

impl Rules {
    /// The allowed directory whose name begins `clean` (the longest one), and where the rest
    /// begins.
    pub(super) fn allowed_prefix(&self, clean: &[u8]) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        for name in &self.names {
            let path = name.path.as_os_str().as_bytes();
            let inside =
                clean.starts_with(path) && matches!(clean.get(path.len()), None | Some(b'/'));
            if inside && best.is_none_or(|(_, length)| path.len() > length) {
                best = Some((name.root, path.len()));
            }
        }
        best.map(|(root, length)| (root, (length + 1).min(clean.len())))
    }

    /// The allowed directory that `path` itself names.
    pub(super) fn exactly(&self, path: &Path) -> Option<usize> {
        self.names
            .iter()
            .find(|name| name.path == path)
            .map(|name| name.root)
    }

    /// Returns true if `path` is an allowed directory or a parent of one.
    pub(super) fn leads_in(&self, path: &Path) -> bool {
        self.names.iter().any(|name| name.path.starts_with(path))
    }

    /// The most specific allowed directory over a place.
    pub(super) fn over(&self, place: &Path) -> Option<usize> {
        let over = self
            .roots
            .iter()
            .enumerate()
            .filter(|(_, root)| place.starts_with(&root.path));
        over.max_by_key(|(_, root)| root.path.as_os_str().len())
            .map(|(index, _)| index)
    }

    /// Returns true if the most specific allowed directory over a place is read-write.
    pub(super) fn writable(&self, place: &Path) -> bool {
        self.over(place)
            .is_some_and(|index| self.roots[index].writable)
    }

    /// The protected path that a place is, or lies below.
    pub(crate) fn protecting<'a>(&'a self, place: &'a Path) -> Option<&'a Path> {
        let listed = self
            .listed()
            .find(|(any_case, path)| starts_with(*any_case, place, path))
            .map(|(_, path)| path);
        listed.or_else(|| self.protecting_in_repository(place))
    }

    /// The protected paths strictly below a place, each with its path from there.
    pub(crate) fn protected_below<'a>(
        &'a self,
        place: &'a Path,
    ) -> impl Iterator<Item = (Cow<'a, Path>, PathBuf)> {
        let depth = place.components().count();
        let listed = self.listed().filter_map(move |(any_case, path)| {
            let below = starts_with(any_case, path, place)
                .then(|| path.components().skip(depth).collect::<PathBuf>())?;
            (!below.as_os_str().is_empty()).then_some((Cow::Borrowed(path), below))
        });
        let is_repository = place.file_name().is_some_and(is_dot_git);
        let own = PROTECTED_IN_REPOSITORIES
            .iter()
            .filter(move |_| is_repository)
            .map(|name| (place.join(name), *name));
        let own = own.filter(|(path, _)| !self.is_unprotected(path));
        listed.chain(own.map(|(path, name)| (Cow::Owned(path), name.into())))
    }

    /// Returns the reason why a path is protected. A path that is not listed belongs to git.
    pub(crate) fn cause(&self, protected: &Path) -> Cause {
        let known = self.protected.iter().find(|known| known.path == protected);
        known.map_or(Cause::Default("git"), |known| known.why)
    }

    /// Each protected path that is known by now, and whether the case of its letters does not
    /// matter.
    fn listed(&self) -> impl Iterator<Item = (bool, &Path)> {
        let named = self
            .protected
            .iter()
            .map(|p| (p.any_case, p.path.as_path()));
        named.chain(self.repositories.paths().all().map(|path| (true, path)))
    }

    /// Returns the protected path inside a `.git` directory or a repository below it that covers
    /// this place. Repositories created after the start are included.
    pub(super) fn protecting_in_repository<'a>(&self, place: &'a Path) -> Option<&'a Path> {
        let is_inside = |above: &&Path| {
            above
                .ancestors()
                .skip(1)
                .filter_map(Path::file_name)
                .any(is_dot_git)
        };
        let named = place
            .ancestors()
            .filter(|above| above.file_name().is_some_and(is_of_repository));
        let first = named.filter(is_inside).last()?;
        (!self.is_unprotected(first)).then_some(first)
    }

    /// Returns true if a place lies in a directory called `.git`.
    pub(crate) fn is_in_repository(&self, place: &Path) -> bool {
        place
            .parent()
            .is_some_and(|above| above.iter().any(is_dot_git))
            && !self.is_unprotected(place)
    }

    /// Returns true if a symlink or a directory that comes to this place would be a git directory,
    /// a part of one, or above one that was found.
    pub(crate) fn is_git_directory(&self, place: &Path) -> bool {
        let found = self.repositories.paths().all();
        let mut found = found
            .filter(|path| path.ends_with("config.worktree"))
            .filter_map(Path::parent);
        let is_named = place.iter().any(is_dot_git);
        (is_named || found.any(|known| place.starts_with(known) || known.starts_with(place)))
            && !self.is_unprotected(place)
    }

    fn is_unprotected(&self, path: &Path) -> bool {
        self.unprotected.iter().any(|free| path.starts_with(free))
    }

    /// Returns true if a place is hidden, or lies below a hidden one, whatever file is there now.
    pub(crate) fn hides(&self, place: &Path) -> bool {
        self.conceals(place)
            || self.is_in_store(place)
            || self.hide.as_ref().is_some_and(|hide| hide.hides(place))
    }

    /// Returns true for a directory with the name of those for stores of undo, whoever made it, and
    /// for all in it.
    fn is_in_store(&self, place: &Path) -> bool {
        let bytes = place.as_os_str().as_bytes();
        memchr::memmem::find(bytes, STORES.as_bytes()).is_some()
            && self
                .over(place)
                .and_then(|index| place.strip_prefix(&self.roots[index].path).ok())
                .is_some_and(|below| {
                    below
                        .iter()
                        .any(|name| name.as_bytes().starts_with(STORES.as_bytes()))
                })
    }

    /// The same of what is hidden by its path, from commands by a mount.
    pub(super) fn conceals(&self, place: &Path) -> bool {
        self.hidden
            .iter()
            .any(|hidden| place.starts_with(&hidden.path))
    }

    /// Returns true if an entry of a visible directory is hidden by its name or a pattern; `place`
    /// is its own.
    pub(crate) fn hides_entry(&self, name: &[u8], place: impl FnOnce() -> PathBuf) -> bool {
        let by_pattern =
            |hide: &Hide| hide.names_entry(name) || hide.asks_for_places() && hide.hides(&place());
        name.starts_with(STORES.as_bytes()) || self.hide.as_ref().is_some_and(by_pattern)
    }

    /// Returns true if a directory entry is a directory that contains an entry hidden by a pattern.
    pub(super) fn holds_hidden(&self, dir: impl AsFd, name: &OsStr, place: &Path) -> bool {
        let Some(hide) = &self.hide else { return false };
        let found = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| FileType::from_raw_mode(stat.st_mode));
        found == Ok(FileType::Directory) && hide.holds_hidden(dir, name, place, false)
    }

    /// Returns true if the path of a pattern leads through a place.
    pub(crate) fn is_on_the_way(&self, place: &Path) -> bool {
        self.hide
            .as_ref()
            .is_some_and(|hide| hide.is_on_the_way(place))
    }

    /// Returns true if this is a hidden file, by any name.
    pub(crate) fn is_hidden(&self, id: Id) -> bool {
        self.hidden.iter().any(|hidden| hidden.id == id)
            || self.hide.as_ref().is_some_and(|hide| hide.is_known(id))
    }

    /// Returns true if an open file lies on a filesystem of the kernel; `device` is its `st_dev`.
    /// The filesystem is queried only if it is none of the allowed directories'. Returns true if
    /// the query fails.
    pub(crate) fn is_kernels(&self, device: u64, file: impl AsFd) -> bool {
        let is_known = self.roots.iter().any(|root| root.id.0 == device);
        !is_known && (self.devices == Some(device) || mounts::is_kernels(file).unwrap_or(true))
    }

    /// Returns true if a directory entry may be hidden, by its name and inode number; then
    /// `is_hidden` decides. The inode number alone is unreliable: overlayfs lists other numbers
    /// than stat(2) returns.
    pub(crate) fn may_be_hidden(&self, name: &[u8], inode: u64) -> bool {
        let names = |hidden: &Hidden| {
            hidden
                .path
                .file_name()
                .is_some_and(|known| known.as_bytes() == name)
        };
        self.hidden
            .iter()
            .any(|hidden| hidden.id.1 == inode || names(hidden))
            || self
                .hide
                .as_ref()
                .is_some_and(|hide| hide.may_be_known(inode))
    }

    /// Returns true if a hidden file had this name in this directory at the start. A new file there
    /// is hidden as well. `dir` identifies the directory and is called only if the name matches.
    pub(crate) fn is_home(&self, name: &[u8], dir: impl FnOnce() -> Option<Id>) -> bool {
        let mut alike = self
            .homes
            .iter()
            .filter(|(_, known)| known.as_bytes() == name)
            .peekable();
        alike.peek().is_some() && dir().is_none_or(|dir| alike.any(|(home, _)| *home == dir))
    }

    /// Returns true if a directory is one of the allowed ones, by any name.
    pub(crate) fn is_root(&self, id: Id) -> bool {
        self.roots.iter().any(|root| root.id == id)
    }

    /// The allowed directories in words, for a hint.
    pub(super) fn describe(&self) -> String {
        let one = |root: &RootRule| {
            format!(
                "{} ({})",
                root.path.display(),
                if root.writable {
                    "read-write"
                } else {
                    "read-only"
                }
            )
        };
        self.roots.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// `place` and the names below it.
pub(super) fn below<S: AsRef<OsStr>>(place: &Path, names: impl IntoIterator<Item = S>) -> PathBuf {
    let mut path = place.to_path_buf();
    for name in names {
        path.push(name.as_ref());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(roots: &[(&str, bool)]) -> Rules {
        let mut rules = Rules::default();
        for (i, (path, writable)) in roots.iter().enumerate() {
            rules.roots.push(RootRule {
                path: path.into(),
                id: (0, i as u64),
                writable: *writable,
                handle: None,
            });
            rules.names.push(Name {
                path: path.into(),
                root: i,
            });
        }
        rules
    }

    #[test]
    fn most_specific_directory_governs() {
        let rules = rules(&[("/w", true), ("/w/ro", false), ("/w/ro/rw", true)]);
        let answers = ["/w/x", "/w/ro", "/w/ro/x", "/w/ro/rw/x", "/w/rox", "/x"]
            .map(|p| rules.writable(Path::new(p)));
        assert_eq!(answers, [true, false, false, true, true, false]);
        assert_eq!(rules.allowed_prefix(b"/w/ro/rw/x"), Some((2, 9)));
        assert_eq!(rules.allowed_prefix(b"/w/rox"), Some((0, 3)));
        assert_eq!(rules.allowed_prefix(b"/w"), Some((0, 2)));
        assert_eq!(rules.allowed_prefix(b"/w-evil/x"), None);
    }

    #[test]
    fn protected_path_covers_entries_below() {
        let mut rules = rules(&[("/w", true)]);
        rules.protected.push(Protected {
            path: "/w/.git/hooks".into(),
            any_case: true,
            why: Cause::Default("git"),
        });
        rules.protected.push(Protected {
            path: "/w/keys".into(),
            any_case: false,
            why: Cause::Asked,
        });
        let protecting = |p: &str| rules.protecting(Path::new(p)).is_some();
        assert_eq!(
            [
                "/w/.git/hooks/x",
                "/w/.GIT/Hooks",
                "/w/.git",
                "/w/.git/hooksx",
                "/w/keys",
                "/w/Keys"
            ]
            .map(protecting),
            [true, true, false, false, true, false]
        );
        let below = |p: &'static str| {
            rules
                .protected_below(Path::new(p))
                .map(|(_, rel)| rel)
                .collect::<Vec<_>>()
        };
        let of_repository = ["hooks", "config", "config.worktree", "commondir"].map(PathBuf::from);
        assert_eq!(
            below("/w/.Git"),
            [&["hooks".into()][..], &of_repository].concat()
        );
        assert_eq!(below("/w/a/.git"), of_repository);
        assert_eq!(rules.protected_below(Path::new("/w/.git/hooks")).count(), 0);
    }

    #[test]
    fn hooks_and_config_are_protected_at_any_depth() {
        let mut rules = rules(&[("/w", true)]);
        rules.unprotected = vec!["/w/free/.git".into(), "/w/b/.git/config".into()];
        let protecting = |p: &'static str| rules.protecting(Path::new(p)).and_then(Path::to_str);
        assert_eq!(
            protecting("/w/a/.git/hooks/pre-commit"),
            Some("/w/a/.git/hooks")
        );
        assert_eq!(protecting("/w/a/.GIT/Config"), Some("/w/a/.GIT/Config"));
        assert_eq!(
            protecting("/w/a/.git/modules/config/hooks/x"),
            Some("/w/a/.git/modules/config")
        );
        assert_eq!(
            protecting("/w/a/.git/worktrees/x/commondir"),
            Some("/w/a/.git/worktrees/x/commondir")
        );
        assert_eq!(protecting("/w/b/.git/hooks"), Some("/w/b/.git/hooks"));
        for free in [
            "/w/a/.git/info/exclude",
            "/w/config",
            "/w/hooks/.git",
            "/w/free/.git/config",
            "/w/b/.git/config",
        ] {
            assert_eq!(protecting(free), None, "{free}");
        }
    }
}
