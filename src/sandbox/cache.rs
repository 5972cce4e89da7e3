//! Persistent cache directory of package managers (`--cache`).
//!
//! Commands see only `caches` in it, so that they cannot take the lock or forge the owner:
//!
//! - `CACHEDIR.TAG` (<https://bford.info/cachedir/>) marks the directory as deletable and names the
//!   token that owns it.
//! - `caches` holds one directory for each tool, like the directory of `XDG_CACHE_HOME`.
//! - `gone` holds files that are being deleted.
//!
//! Every launcher holds a shared lock on the directory (flock(2)). Excess files are deleted only if
//! there is no lock.
#![expect(
    clippy::disallowed_methods,
    reason = "a directory of the operator's, opened before any agent speaks"
)]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use replay_base::limits::{MAX_REMOVED_LEVELS, SWEEP_MS};
use replay_base::removal::{DIRECTORY, PRIVATE, remove};
use replay_environment::Definitions;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, ResolveFlags, Stat, chmodat, flock,
    fstat, mkdirat, openat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::fault::{Fault, StepContext};
use super::plan::{CanonicalPath, Extent, PlannedCache, PlannedRoot};

/// Time limit for finding excess caches when a server ends, in milliseconds; no caller waits for
/// that.
const CACHE_SWEEP_MS: u64 = 20_000;

const TAG: &str = "CACHEDIR.TAG";
const SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";
/// Maximum length of a tag, in bytes.
const MAX_TAG_BYTES: u64 = 1024;
const SHOWN: &str = "caches";
const GONE: &CStr = c"gone";
/// A block of `st_blocks`, in bytes (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// An open cache directory.
#[derive(Debug)]
pub struct Cache {
    dir: OwnedFd,
    path: PathBuf,
    /// Bytes that remain after trimming.
    bytes: u64,
    /// Caches below HOME; true for a directory. The launcher does not know them.
    tools: Vec<(String, bool)>,
}

impl Cache {
    /// Opens the directory of this owner, a token name, without following symlinks, and creates it
    /// if missing. Deletes excess files within a short time limit.
    pub fn open(
        path: &Path,
        owner: &str,
        bytes: u64,
        definitions: &Definitions,
    ) -> Result<Self, Fault> {
        let step = || format!("--cache `{}`", path.display());
        let refused = |reason: &str| Fault::because(step(), reason);
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refused(
                "it does not name a directory; give one such as ~/.cache/replay",
            ));
        };
        let parent = match opened_or_made(above) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(refused(
                    "its path goes through a link or a file; give the path without links",
                ));
            }
            opened => opened.step_with(step)?,
        };
        make(&parent, name.as_bytes()).step_with(step)?;
        let dir = match openat(&parent, name, DIRECTORY, Mode::empty()) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(refused(
                    "it is a link or a file; give the path of a directory without links",
                ));
            }
            opened => opened.step_with(step)?,
        };
        let found = fstat(&dir).step_with(step)?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o077 != 0 {
            return Err(refused(
                "it belongs to another user or is open to others; make it your own, with mode 700",
            ));
        }
        claim(&dir, owner).map_err(|reason| refused(&reason))?;
        make(&dir, SHOWN.as_bytes()).step_with(step)?;
        // A command may have removed the permissions. Replacing the directory would need
        // permissions on its parent.
        chmodat(&dir, SHOWN, PRIVATE, AtFlags::empty()).step_with(step)?;
        let cache = Self {
            path: std::fs::canonicalize(path).step_with(step)?,
            dir,
            bytes,
            tools: definitions
                .caches()
                .map(|(below, is_directory)| (below.to_owned(), is_directory))
                .collect(),
        };
        cache.trim(Instant::now() + Duration::from_millis(SWEEP_MS), false);
        // The shared lock prevents deletion until the launcher has its own lock.
        flock(&cache.dir, FlockOperation::LockShared).step_with(step)?;
        let shown = cache.open_visible().step_with(step)?;
        for name in cache
            .tools
            .iter()
            .filter(|(_, is_directory)| *is_directory)
            .map(|(below, _)| in_cache(below))
        {
            match statat(&shown, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_directory(&stat) => continue,
                // Files that a command put there are never followed.
                Ok(_) => match unlinkat(&shown, &name, AtFlags::empty()) {
                    // Another command has replaced it again.
                    Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => {}
                    Err(errno) => return Err(errno).step_with(step),
                },
                Err(_) => {}
            }
            make(&shown, name.as_bytes()).step_with(step)?;
        }
        Ok(cache)
    }

    /// Releases the lock after the launcher has taken its own, or failed.
    pub fn started(&self) {
        let _ = flock(&self.dir, FlockOperation::Unlock);
    }

    /// Opens the directory for the launcher and holds a shared lock on it.
    pub fn hold(planned: &PlannedCache) -> Result<Self, Fault> {
        let path = planned.place.path.as_path();
        let step = || format!("--cache `{}`", path.display());
        let dir = openat(CWD, path, DIRECTORY, Mode::empty()).step_with(step)?;
        let found = fstat(&dir).step_with(step)?;
        if (found.st_dev, found.st_ino) != (planned.place.dev, planned.place.ino) {
            return Err(Fault::because(step(), "it was replaced meanwhile"));
        }
        flock(&dir, FlockOperation::LockShared).step_with(step)?;
        Ok(Self {
            dir,
            path: path.to_owned(),
            bytes: planned.bytes,
            tools: Vec::new(),
        })
    }

    pub fn planned(&self) -> Result<PlannedCache, Fault> {
        Ok(PlannedCache {
            place: place(&self.dir, &self.path)?,
            bytes: self.bytes,
        })
    }

    /// Root that commands see.
    pub fn root(&self) -> Result<PlannedRoot, Fault> {
        let shown = self.open_visible().step("what commands see of --cache")?;
        Ok(PlannedRoot {
            place: place(&shown, &self.shown_path())?,
            writable: true,
            extent: Extent::Cache,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the part that commands see.
    pub fn shown_path(&self) -> PathBuf {
        self.path.join(SHOWN)
    }

    /// Symlinks to create in the private home: path below it, and target.
    pub fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        let shown = self.shown_path();
        let of_tools = self
            .tools
            .iter()
            .map(|(below, _)| (PathBuf::from(below), shown.join(in_cache(below))));
        std::iter::once((".cache".into(), shown.clone()))
            .chain(of_tools)
            .collect()
    }

    /// Deletes excess files if there is no other user. Called after the last command has ended.
    pub fn leave(self) {
        self.trim(Instant::now() + Duration::from_millis(CACHE_SWEEP_MS), true);
    }

    fn open_visible(&self) -> rustix::io::Result<OwnedFd> {
        openat(&self.dir, SHOWN, DIRECTORY, Mode::empty())
    }

    /// Deletes whole caches, least recently used first, until the rest is small enough. No tool
    /// copes with half a cache, and every tool copes with none. At the last chance an incomplete
    /// count suffices.
    fn trim(&self, until: Instant, is_last_chance: bool) {
        remove(&self.dir, GONE, Some(until));
        let Ok(shown) = self.open_visible() else {
            return;
        };
        let Ok((mut tools, is_counted)) = count(&shown, until) else {
            return;
        };
        let mut left = tools
            .iter()
            .fold(0_u64, |sum, tool| sum.saturating_add(tool.bytes));
        if left <= self.bytes || !is_counted && !is_last_chance {
            return;
        }
        if flock(&self.dir, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let _ = mkdirat(&self.dir, GONE, PRIVATE);
        let Ok(gone) = openat(&self.dir, GONE, DIRECTORY, Mode::empty()) else {
            return;
        };
        tools.sort_by_key(|tool| tool.used_secs);
        for tool in tools {
            if left <= self.bytes {
                break;
            }
            if renameat(&shown, &tool.name, &gone, &tool.name).is_err() {
                remove(&shown, &tool.name, Some(until));
                let _ = unlinkat(&shown, &tool.name, AtFlags::empty());
            }
            left = left.saturating_sub(tool.bytes);
        }
        // The deletion no longer disturbs other users.
        let _ = flock(&self.dir, FlockOperation::Unlock);
        remove(&self.dir, GONE, Some(until));
    }
}

/// Opens a directory without following symlinks. Creates it and its parents if missing.
fn opened_or_made(path: &Path) -> rustix::io::Result<OwnedFd> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match (
        openat2(CWD, path, DIRECTORY, Mode::empty(), no_links),
        path.parent(),
        path.file_name(),
    ) {
        (Err(Errno::NOENT), Some(above), Some(name)) => {
            let above = opened_or_made(above)?;
            make(&above, name.as_bytes())?;
            openat(&above, name, DIRECTORY, Mode::empty())
        }
        (opened, ..) => opened,
    }
}

/// Writes the owner's tag. Fails with the reason if the directory has another owner or purpose.
fn claim(dir: &OwnedFd, owner: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("its {TAG}: {error}");
    let of = if owner.is_empty() {
        String::new()
    } else {
        format!(" for the token {owner}")
    };
    let text = format!("{SIGNATURE}# Caches of package managers, kept by replay --cache{of}.\n");
    let is_empty = || {
        let mut names =
            Dir::read_from(dir)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
        names.try_fold(true, |all, name: rustix::io::Result<Vec<u8>>| {
            Ok(all && matches!(&*name?, b"." | b".."))
        })
    };
    if statat(dir, TAG, AtFlags::SYMLINK_NOFOLLOW).is_err()
        && !is_empty().map_err(|errno: Errno| failed(errno.into()))?
    {
        return Err(
            "it has other content; give a directory that is empty or does not exist".to_owned(),
        );
    }
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file =
        openat(dir, TAG, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| failed(errno.into()))?;
    // Of two processes that find none, one writes it.
    flock(&file, FlockOperation::LockExclusive).map_err(|errno| failed(errno.into()))?;
    let mut file = File::from(file);
    let mut found = Vec::new();
    (&mut file)
        .take(MAX_TAG_BYTES)
        .read_to_end(&mut found)
        .map_err(failed)?;
    if found.is_empty() {
        return file.write_all(text.as_bytes()).map_err(failed);
    }
    if found != text.as_bytes() {
        return Err(format!(
            "by its {TAG} it is not the cache of {}; give each token its own directory (`cache` \
             in its line), or delete this one",
            if owner.is_empty() {
                "a server without tokens".to_owned()
            } else {
                format!("the token `{owner}`")
            }
        ));
    }
    Ok(())
}

fn make(dir: &OwnedFd, name: &[u8]) -> rustix::io::Result<()> {
    match mkdirat(dir, name, PRIVATE) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

fn place(dir: &OwnedFd, path: &Path) -> Result<CanonicalPath, Fault> {
    let found = fstat(dir).step_with(|| format!("look at `{}`", path.display()))?;
    Ok(CanonicalPath {
        path: path.into(),
        dev: found.st_dev,
        ino: found.st_ino,
    })
}

/// Returns the name in the cache for a path below HOME.
fn in_cache(below: &str) -> String {
    below.replace('/', "-")
}

/// The cache of one tool.
struct ToolCache {
    name: CString,
    bytes: u64,
    /// Time of the last read or write of its files, in seconds since 1970.
    used_secs: i64,
}

/// Counts the caches in a directory. The flag is true if the count is complete.
fn count(shown: &OwnedFd, until: Instant) -> rustix::io::Result<(Vec<ToolCache>, bool)> {
    let (mut tools, mut is_all) = (Vec::new(), true);
    for entry in Dir::read_from(shown)? {
        let entry = entry?;
        if !is_entry(&entry) {
            continue;
        }
        let mut tool = ToolCache {
            name: entry.file_name().to_owned(),
            bytes: 0,
            used_secs: 0,
        };
        is_all &= tool.count(shown.as_fd(), until).unwrap_or_else(|errno| {
            // An unreadable directory is no cache. A vanished one is in use now.
            if errno != Errno::NOENT {
                (tool.bytes, tool.used_secs) = (u64::MAX, 0);
            }
            true
        });
        tools.push(tool);
        if Instant::now() >= until {
            return Ok((tools, false));
        }
    }
    Ok((tools, is_all))
}

impl ToolCache {
    /// Adds up the blocks and returns true if it finished in time. Works without recursion and with
    /// few open directories. Fails if the tree is too deep, or a command removed its own
    /// permissions.
    fn count(&mut self, shown: BorrowedFd<'_>, until: Instant) -> rustix::io::Result<bool> {
        let top = statat(shown, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        self.add(&top);
        let mut levels = Vec::new();
        if is_directory(&top) {
            levels.push(list(shown, &self.name)?);
        }
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.read() else {
                levels.pop();
                continue;
            };
            let entry = entry?;
            if !is_entry(&entry) {
                continue;
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            let stat = statat(level.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            self.add(&stat);
            if is_directory(&stat) {
                let below = list(level.fd()?, entry.file_name())?;
                if levels.len() == MAX_REMOVED_LEVELS {
                    return Err(Errno::NAMETOOLONG);
                }
                levels.push(below);
            }
        }
        Ok(true)
    }

    fn add(&mut self, stat: &Stat) {
        let bytes = stat.st_blocks.cast_unsigned() * BLOCK_BYTES;
        if is_directory(stat) {
            // Counting itself updates the access time of a directory.
            (self.bytes, self.used_secs) = (self.bytes + bytes, self.used_secs.max(stat.st_mtime));
        } else {
            #[cfg_attr(
                target_arch = "x86_64",
                expect(clippy::useless_conversion, reason = "u32 on aarch64")
            )]
            let links = u64::from(stat.st_nlink);
            // All hard links are in this tree: none crosses a mount.
            self.bytes += bytes / links.max(1);
            self.used_secs = self.used_secs.max(stat.st_mtime).max(stat.st_atime);
        }
    }
}

fn list(above: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Dir> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    Dir::new(openat2(above, name, DIRECTORY, Mode::empty(), resolve)?)
}

fn is_entry(entry: &rustix::fs::DirEntry) -> bool {
    !matches!(entry.file_name().to_bytes(), b"." | b"..")
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
