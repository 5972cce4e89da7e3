//! From what a caller names to a place in the journal's roots.
//!
//! A command sees its own mounts, and no link can be made between two mounts. So the supervisor looks where the directory lies that the
//! caller means, by the path that /proc gives its own descriptor of it, and goes there again from a root's handle, which is of the
//! mounts outside.
#![expect(clippy::disallowed_methods, reason = "opens what the command named, in its place, to look where it is")]

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlinkat, statat};
use rustix::io::Errno;

use crate::journal::{At, Root};
use crate::limits::{JOURNALED_DIRECTORIES, MAX_LINKS_FOLLOWED};
use crate::sandbox::broker::{Caller, Object, link};

/// A name in a directory of a root.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    dir: Arc<Directory>,
    name: OsString,
}

#[derive(Debug)]
struct Directory {
    handle: OwnedFd,
    root: usize,
    path: PathBuf,
}

impl Spot {
    pub(super) fn at(&self) -> At<'_> {
        At { dir: self.dir.handle.as_fd(), name: &self.name, root: self.dir.root, path: &self.dir.path }
    }

    /// What stands there.
    pub(super) fn stat(&self) -> Option<Stat> {
        statat(&self.dir.handle, &self.name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).ok()
    }
}

pub(super) fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Finds places, and remembers directories.
#[derive(Debug)]
pub(super) struct Places {
    roots: Arc<[Root]>,
    /// By device and inode number. Where one lies is true until something above it is renamed; then it is not asked about any more,
    /// since it was noted by then.
    known: HashMap<(u64, u64), Arc<Directory>>,
}

impl Places {
    pub(super) fn new(roots: Arc<[Root]>) -> Self {
        Self { roots, known: HashMap::new() }
    }

    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// The place of a name, which is not followed if it is a link. `None` if it lies in no root, or cannot be a name.
    pub(super) fn of_name(&mut self, caller: &Caller, dir: i32, path: &[u8]) -> Result<Option<Spot>, Errno> {
        let Some((above, name)) = split(path) else { return Ok(None) };
        let dir = caller.walk_to(dir, above)?;
        self.in_directory(&dir, name)
    }

    /// The same; a link at the end is followed to where it leads, whether or not something is there (open(2), `O_CREAT`).
    pub(super) fn of_followed_name(&mut self, caller: &Caller, dir: i32, path: &[u8]) -> Result<Option<Spot>, Errno> {
        let Some((above, name)) = split(path) else { return self.of_object(&caller.walk_to(dir, path)?) };
        let (mut dir, mut name) = (caller.walk_to(dir, above)?, name.to_os_string());
        for _ in 0..MAX_LINKS_FOLLOWED {
            let is_link = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| is(&stat, FileType::Symlink));
            if !is_link {
                return self.in_directory(&dir, &name);
            }
            let target = readlinkat(&dir, &name, Vec::new())?.into_bytes();
            let Some((above, next)) = split(&target) else { return self.of_object(&caller.walk_from(&dir, &target)?) };
            dir = caller.walk_from(&dir, above)?;
            name = next.to_os_string();
        }
        Err(Errno::LOOP)
    }

    /// The place of what the caller means by an argument of a call.
    pub(super) fn of(&mut self, caller: &Caller, object: Object) -> Result<Option<Spot>, Errno> {
        match object {
            Object::Path { dir, address, follow, .. } => {
                let path = caller.path(address)?;
                match (path.is_empty(), follow) {
                    (true, _) => self.of_object(&caller.open(object)?.0),
                    (false, true) => self.of_followed_name(caller, dir, &path),
                    (false, false) => self.of_name(caller, dir, &path),
                }
            }
            Object::Descriptor(_) => self.of_object(&caller.open(object)?.0),
        }
    }

    /// The place of an open object, by one of its names. `None` also if it has none any more.
    pub(super) fn of_object(&mut self, object: &OwnedFd) -> Result<Option<Spot>, Errno> {
        let stat = fstat(object)?;
        if is(&stat, FileType::Directory) {
            return self.in_directory(object, OsStr::new(""));
        }
        let path = true_path(object)?;
        let Some((root, below)) = self.in_root(&path) else { return Ok(None) };
        let (Some(above), Some(name)) = (below.parent(), below.file_name()) else { return Ok(None) };
        let dir = self.open(root, above)?;
        let spot = self.in_directory(&dir, name)?;
        let same = |there: &Stat| (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino);
        Ok(spot.filter(|spot| spot.stat().is_some_and(|there| same(&there))))
    }

    /// `dir` may be of any mount.
    fn in_directory(&mut self, dir: &OwnedFd, name: &OsStr) -> Result<Option<Spot>, Errno> {
        let stat = fstat(dir)?;
        let id = (stat.st_dev, stat.st_ino);
        if let Some(known) = self.known.get(&id) {
            return Ok(Some(Spot { dir: Arc::clone(known), name: name.to_owned() }));
        }
        let path = true_path(dir)?;
        let Some((root, below)) = self.in_root(&path) else { return Ok(None) };
        let handle = self.open(root, below)?;
        let found = fstat(&handle)?;
        if (found.st_dev, found.st_ino) != id {
            return Err(Errno::STALE);
        }
        if self.known.len() >= JOURNALED_DIRECTORIES {
            self.known.clear();
        }
        let dir = Arc::new(Directory { handle, root, path: below.to_owned() });
        self.known.insert(id, Arc::clone(&dir));
        Ok(Some(Spot { dir, name: name.to_owned() }))
    }

    fn in_root<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        let mut roots = self.roots.iter().enumerate();
        roots.find_map(|(index, root)| Some((index, path.strip_prefix(&root.shown).ok()?)))
    }

    fn open(&self, root: usize, below: &Path) -> Result<OwnedFd, Errno> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.roots[root].handle, below, flags, Mode::empty(), resolve)
    }
}

/// Where the kernel says that a descriptor leads (proc(5), `/proc/PID/fd`).
fn true_path(object: &OwnedFd) -> Result<PathBuf, Errno> {
    Ok(OsString::from_vec(readlinkat(CWD, link(object), Vec::new())?.into_bytes()).into())
}

/// The way to a directory, and the name in it. `None` if the last component is none (`.`, `..`, `/`).
fn split(path: &[u8]) -> Option<(&[u8], &OsStr)> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let begin = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (above, name) = (&path[..begin], &path[begin..end]);
    (!matches!(name, b"." | b"..")).then_some((above, OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_path_is_split_before_its_last_name() {
        let split = |path: &'static str| split(path.as_bytes()).map(|(above, name)| (above, name.as_bytes()));
        assert_eq!(split("a"), Some((&b""[..], &b"a"[..])));
        assert_eq!(split("/a"), Some((&b"/"[..], &b"a"[..])));
        assert_eq!(split("x/y//z/"), Some((&b"x/y//"[..], &b"z"[..])));
        for none in ["", "/", "//", ".", "a/..", "a/../"] {
            assert_eq!(split(none), None, "{none}");
        }
    }
}
