//! Opens the allowed directories, once, at start.
#![expect(
    clippy::disallowed_methods,
    reason = "the handles of the allowed directories are opened here, before any agent speaks"
)]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, openat, stat};
use rustix::io::Errno;

use super::defaults::{CONFIG, DOT_GIT, PROTECTED_BY_DEFAULT, PROTECTED_IN_REPOSITORIES};
use super::error::StartError;
use super::mounts::Mounts;
use super::repositories::Repositories;
use super::rules::{Cause, Hidden, Name, Protected, RootRule, Rules, below};
use super::{Policy, spelling::Spelling};

/// The type of a sysfs filesystem (statfs(2)).
const SYSFS_MAGIC: u64 = 0x6265_6572;

/// What an allowed directory may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    ReadOnly,
    /// Reading and changing.
    ReadWrite,
}

/// An allowed directory as the operator gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// An absolute path; it may be or go through a link, and then works under both names.
    pub path: PathBuf,
    /// What for.
    pub access: Access,
}

/// What is kept from agents in the allowed directories, or is not. All paths are absolute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Restrictions<'a> {
    /// Read-only, beside the defaults (`--protect`).
    pub protect: &'a [PathBuf],
    /// Not read-only, although it is one of the defaults or above some (`--unprotect`).
    pub unprotect: &'a [PathBuf],
    /// Files that configure this server: read-only where they lie in an allowed directory.
    pub own: &'a [PathBuf],
    /// Files that nobody may see.
    pub hidden: &'a [Hidden],
}

/// An allowed directory, pinned: it stays the same directory whatever its name is made to mean later.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    writable: bool,
    pub(super) handle: Arc<OwnedFd>,
}

impl Root {
    /// Its canonical path at start.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was given for reading and writing.
    pub fn writable(&self) -> bool {
        self.writable
    }
}

/// An `O_PATH` handle.
impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Policy {
    /// Opens every directory of `grants`; the same directory twice is one, read-write if either is.
    ///
    /// `protect` adds protected paths (absolute, below an allowed directory) to the defaults below each read-write directory.
    pub fn open(grants: &[Grant], protect: &[PathBuf]) -> Result<Self, StartError> {
        Self::open_with(grants, &Restrictions { protect, ..Restrictions::default() })
    }

    /// The same, with more to be said about what is in them.
    pub fn open_with(grants: &[Grant], restrictions: &Restrictions<'_>) -> Result<Self, StartError> {
        let hidden = restrictions.hidden;
        let mut roots: Vec<Root> = Vec::new();
        let mut rules = Rules::default();
        for grant in grants {
            let writable = grant.access == Access::ReadWrite;
            let typed = absolute(&grant.path)?;
            let (path, handle) = pin(&typed)?;
            let index = roots.iter().position(|root| root.path == path).unwrap_or(roots.len());
            if index == roots.len() {
                let stat = fstat(&handle).map_err(|errno| failed(&typed, errno))?;
                rules.roots.push(RootRule { path: path.clone(), id: (stat.st_dev, stat.st_ino), writable });
                rules.names.push(Name { path: path.clone(), root: index });
                roots.push(Root { path, writable, handle: Arc::new(handle) });
            }
            roots[index].writable |= writable;
            rules.roots[index].writable |= writable;
            if rules.exactly(&typed).is_none() {
                rules.names.push(Name { path: typed, root: index });
            }
        }
        let allowed = Arc::from(rules.describe());
        let mounts = Mounts::open(&roots);
        let mut policy = Self { roots, rules: Arc::new(rules), allowed, mounts };
        let unprotected = policy.unprotected_paths(restrictions.unprotect)?;
        let mut protected = policy.protected_paths(restrictions, &unprotected)?;
        // As protected as any: nothing is made, moved or removed at their places, or above them.
        let places = hidden.iter().map(|hidden| hidden.path.clone());
        protected.extend(places.map(|path| Protected { path, any_case: false, why: Cause::Default("") }));
        let writable = policy.roots.iter().filter(|root| root.writable);
        let writable = writable.map(|root| (root.path.clone(), Arc::clone(&root.handle))).collect();
        let repositories = Arc::new(Repositories::below(writable, unprotected.clone()));
        if let Some(rules) = Arc::get_mut(&mut policy.rules) {
            (rules.protected, rules.repositories, rules.unprotected) = (protected, repositories, unprotected);
            for path in hidden.iter().map(|hidden| &hidden.path) {
                if rules.over(path).is_some()
                    && let (Some(dir), Some(name)) = (path.parent(), path.file_name())
                {
                    let stat = stat(dir).map_err(|errno| failed(dir, errno))?;
                    rules.homes.push(((stat.st_dev, stat.st_ino), name.to_owned()));
                }
            }
            rules.hidden = hidden.to_vec();
        }
        Ok(policy)
    }

    /// Each path as given and, where it goes through a link today, the place that it leads to.
    fn protected_paths(
        &self,
        restrictions: &Restrictions<'_>,
        unprotected: &[PathBuf],
    ) -> Result<Vec<Protected>, StartError> {
        let is_kept = |path: &Path| !unprotected.iter().any(|free| path.starts_with(free));
        let defaults = self.defaults().filter(|(path, _)| is_kept(path)).map(|(path, who)| (path, Cause::Default(who)));
        let asked = restrictions.protect.iter().map(|path| Ok((absolute(path)?, Cause::Asked)));
        let own = restrictions.own.iter().map(|path| Ok((absolute(path)?, Cause::Configures)));
        let mut all: Vec<Protected> = Vec::new();
        for path in defaults.map(Ok).chain(asked).chain(own) {
            let (path, why) = path?;
            let led_to = self.look_for(&path).map(|spot| below(&spot.place, &spot.tail));
            match (why, &led_to) {
                (Cause::Asked, Err(_)) => return Err(StartError::ProtectsNothing { path }),
                // It lies where no agent reaches it.
                (Cause::Configures, Err(_)) => continue,
                _ => {}
            }
            for path in std::iter::once(path).chain(led_to.ok()) {
                match all.iter_mut().find(|known| known.path == path) {
                    Some(known) if why.is_asked() => known.why = why,
                    Some(_) => {}
                    None => all.push(Protected { path, any_case: !why.is_asked(), why }),
                }
            }
        }
        Ok(all)
    }

    /// What is protected by default, each with the program that obeys it. Configuration of a repository is not among it: that
    /// is protected where it is found.
    fn defaults(&self) -> impl Iterator<Item = (PathBuf, &'static str)> {
        let writable = self.roots.iter().filter(|root| root.writable);
        writable.flat_map(|root| {
            let git = PROTECTED_IN_REPOSITORIES.iter().filter(|name| **name != CONFIG);
            let git = git.map(|name| (root.path.join(DOT_GIT).join(name), "git"));
            git.chain(PROTECTED_BY_DEFAULT.iter().map(|(name, who)| (root.path.join(name), *who)))
        })
    }

    /// What the operator frees of the defaults, as given and as it is without links. Fails for what is not one of them, nor
    /// above one.
    fn unprotected_paths(&self, asked: &[PathBuf]) -> Result<Vec<PathBuf>, StartError> {
        let mut all = Vec::new();
        for path in asked {
            let path = absolute(path)?;
            let led_to = self.look_for(&path).map(|spot| below(&spot.place, &spot.tail)).ok();
            let both: Vec<PathBuf> = std::iter::once(path.clone()).chain(led_to.clone()).collect();
            let frees = |path: &PathBuf| {
                self.defaults().any(|(default, _)| default.starts_with(path))
                    || path.file_name().is_some_and(|name| name == DOT_GIT)
                    || self.rules.protecting_in_repository(path) == Some(path)
                    || is_of_bare_repository(path)
            };
            if led_to.is_none() || !both.iter().any(frees) {
                let whole = self.defaults().map(|(default, _)| default).find(|default| path.starts_with(default));
                return Err(StartError::FreesNothing { path, whole });
            }
            all.extend(both);
        }
        Ok(all)
    }
}

/// Whether a path is a repository's own directory, or lies directly in one and is protected there.
fn is_of_bare_repository(path: &Path) -> bool {
    let is_repository = |dir: &Path| ["HEAD", "objects", "refs"].iter().all(|name| stat(dir.join(name)).is_ok());
    let is_protected =
        path.file_name().is_some_and(|name| PROTECTED_IN_REPOSITORIES.iter().any(|known| name == *known));
    is_repository(path) || is_protected && path.parent().is_some_and(is_repository)
}

/// The path without empty parts, `.` and a slash at the end.
fn absolute(path: &Path) -> Result<PathBuf, StartError> {
    if path.as_os_str().is_empty() {
        return Err(StartError::Empty);
    }
    if !path.is_absolute() {
        return Err(StartError::NotAbsolute { path: path.into() });
    }
    match Spelling::of(path, None) {
        Ok(spelling) => Ok(spelling.into_path()),
        Err(_) => Err(failed(path, Errno::NAMETOOLONG)),
    }
}

/// The canonical path and a handle of it.
fn pin(typed: &Path) -> Result<(PathBuf, OwnedFd), StartError> {
    let path = std::fs::canonicalize(typed)
        .map_err(|error| failed(typed, Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    if path == Path::new("/") {
        return Err(StartError::WholeDisk);
    }
    // /dev/shm is ordinary memory-backed storage, and what lies below it a project like any other.
    let kernel = ["/proc", "/sys", "/dev"].iter().any(|tree| path.starts_with(tree));
    let storage = path.starts_with("/dev/shm") && path != Path::new("/dev/shm");
    if kernel && !storage {
        return Err(StartError::Kernel { path: typed.into() });
    }
    // The path was canonical a moment ago: a link in it now is a race, and refused by O_NOFOLLOW at its end.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, &path, flags, Mode::empty()).map_err(|errno| failed(typed, errno))?;
    let kind = fstatfs(&handle).map_err(|errno| failed(typed, errno))?.f_type;
    if [PROC_SUPER_MAGIC as u64, SYSFS_MAGIC].contains(&u64::try_from(kind).unwrap_or_default()) {
        return Err(StartError::Kernel { path: typed.into() });
    }
    Ok((path, handle))
}

fn failed(path: &Path, errno: Errno) -> StartError {
    let path = path.to_path_buf();
    match errno {
        Errno::NOENT => StartError::Missing { path },
        Errno::NOTDIR => StartError::NotADirectory { path },
        errno => StartError::Io { path, source: errno.into() },
    }
}
