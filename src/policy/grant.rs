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

use super::error::StartError;
use super::mounts::Mounts;
use super::rules::{Hidden, Name, PROTECTED_BY_DEFAULT, Protected, RootRule, Rules, below};
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
    /// `protect` adds protected paths (absolute, below an allowed directory) to the defaults below each
    /// read-write directory: `.git/hooks`, `.mcp.json`, `.claude/settings.json`, `.claude/settings.local.json`, `.codex`.
    pub fn open(grants: &[Grant], protect: &[PathBuf]) -> Result<Self, StartError> {
        Self::open_hiding(grants, protect, &[])
    }

    /// The same, with files in them that nobody may see.
    pub fn open_hiding(grants: &[Grant], protect: &[PathBuf], hidden: &[Hidden]) -> Result<Self, StartError> {
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
        let mut protected = policy.protected_paths(protect)?;
        // As protected as any: nothing is made, moved or removed at their places, or above them.
        let places = hidden.iter().map(|hidden| hidden.path.clone());
        protected.extend(places.map(|path| Protected { path, any_case: false, asked: false }));
        if let Some(rules) = Arc::get_mut(&mut policy.rules) {
            rules.protected = protected;
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
    fn protected_paths(&self, asked: &[PathBuf]) -> Result<Vec<Protected>, StartError> {
        let writable = self.roots.iter().filter(|root| root.writable);
        let defaults = writable.flat_map(|root| PROTECTED_BY_DEFAULT.map(|name| (root.path.join(name), false)));
        let asked = asked.iter().map(|path| Ok((absolute(path)?, true)));
        let mut all: Vec<Protected> = Vec::new();
        for path in defaults.map(Ok).chain(asked) {
            let (path, asked) = path?;
            let led_to = self.look_for(&path).map(|spot| below(&spot.place, &spot.tail));
            if asked && led_to.is_err() {
                return Err(StartError::ProtectsNothing { path });
            }
            for path in std::iter::once(path).chain(led_to.ok()) {
                match all.iter_mut().find(|known| known.path == path) {
                    Some(known) => known.asked |= asked,
                    None => all.push(Protected { path, any_case: !asked, asked }),
                }
            }
        }
        Ok(all)
    }
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
