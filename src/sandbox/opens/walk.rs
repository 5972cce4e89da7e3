//! From a path of a caller to a descriptor of this process. The caller has the same root and
//! mounts; where it works, which descriptors it has, and what is its own in procfs differ.
//!
//! Nothing here decides: whoever opened something looks where its descriptor is. So a name that
//! changes meanwhile changes only what is found.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place"
)]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use replay_base::limits::{MAX_LINKS_FOLLOWED, MAX_PATH_BYTES};
use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, accessat, fstatfs, openat, openat2,
    readlinkat,
};
use rustix::io::Errno;

use super::NameIn;
use super::call::PathArgument;
use crate::caller_memory::CallerMemory;
use crate::capabilities::look_at;

/// `PROC_SUPER_MAGIC` of linux/magic.h.
const PROCFS: u64 = 0x9fa0;
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A thread that waits for an answer, by its number in this process's pid namespace. Data read by
/// that number belong to the thread only if it still waits afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker(pub(crate) u32);

/// A path and its base directory; `None` for an absolute path.
pub(crate) struct Way {
    base: Option<OwnedFd>,
    path: Vec<u8>,
}

/// Result of a path lookup.
pub(crate) enum LookupResult {
    /// The object and its path.
    Object(OwnedFd, PathBuf),
    /// A name that is missing in the directory. `true`: a slash follows the name.
    Missing(OwnedFd, OsString, bool),
}

impl Asker {
    pub(super) fn text(self, address: u64) -> Result<Vec<u8>, Errno> {
        CallerMemory::of(self.0)
            .text(address, MAX_PATH_BYTES)?
            .ok_or(Errno::NAMETOOLONG)
    }

    /// Reads a path. With `may_be_empty` an empty one means the descriptor itself.
    pub(super) fn way(
        self,
        PathArgument { dir, address }: PathArgument,
        may_be_empty: bool,
    ) -> Result<Way, Errno> {
        let path = self.text(address)?;
        if path.is_empty() && !may_be_empty {
            return Err(Errno::NOENT);
        }
        let base = if path.starts_with(b"/") {
            None
        } else {
            Some(self.base(dir)?)
        };
        Ok(Way { base, path })
    }

    /// The way of a path from where the caller works.
    pub(crate) fn way_of(self, path: Vec<u8>) -> Result<Way, Errno> {
        let base = if path.starts_with(b"/") {
            None
        } else {
            Some(self.base(libc::AT_FDCWD)?)
        };
        Ok(Way { base, path })
    }

    fn base(self, dir: i32) -> Result<OwnedFd, Errno> {
        let link = match dir {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.0),
            0.. => format!("/proc/{}/fd/{dir}", self.0),
            _ => return Err(Errno::BADF),
        };
        let missing = |errno| {
            if errno == Errno::NOENT {
                Errno::BADF
            } else {
                errno
            }
        };
        look_at(|| openat(CWD, link.as_str(), HANDLE, Mode::empty())).map_err(missing)
    }

    /// A line of its status (proc(5)).
    pub(super) fn status(self, key: &str) -> Result<String, Errno> {
        let text =
            std::fs::read_to_string(format!("/proc/{}/status", self.0)).map_err(|_| Errno::SRCH)?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        value
            .map(|value| value.trim().to_owned())
            .ok_or(Errno::SRCH)
    }

    /// Returns its controlling terminal, as a device number (pts(4)).
    pub(super) fn terminal(self) -> Result<u32, Errno> {
        let text =
            std::fs::read_to_string(format!("/proc/{}/stat", self.0)).map_err(|_| Errno::SRCH)?;
        // The name in brackets may hold anything.
        let number = text
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_ascii_whitespace().nth(4));
        let device = number
            .and_then(|number| number.parse::<i32>().ok())
            .ok_or(Errno::SRCH)?
            .cast_unsigned();
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
        if (136..144).contains(&major) {
            Ok((major - 136) << 20 | minor)
        } else {
            Err(Errno::NXIO)
        }
    }

    /// Looks up a path; `follow` says if a final symlink is followed.
    pub(crate) fn find(self, way: &Way, follow: bool) -> Result<LookupResult, Errno> {
        let mut flags = HANDLE;
        flags.set(OFlags::NOFOLLOW, !follow);
        let base = way.base.as_ref().map_or(CWD, |base| base.as_fd());
        if way.path.is_empty() {
            return lookup_result(openat(CWD, link(base), HANDLE, Mode::empty())?);
        }
        let path = OsStr::from_bytes(&way.path);
        match openat2(
            base,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::NO_MAGICLINKS,
        ) {
            // A path may have led through what is this process's own in procfs, and meant the
            // caller's.
            Ok(object) => {
                if let Ok(found) = lookup_result(object) {
                    return Ok(found);
                }
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
        self.walk(way, follow)
    }

    /// The directory of a path's last name, and that name with what follows it.
    pub(crate) fn find_above(self, way: Way) -> Result<NameIn, Errno> {
        let Way { base, mut path } = way;
        let end = path
            .iter()
            .rposition(|byte| *byte != b'/')
            .map_or(0, |last| last + 1);
        let start = path[..end]
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        let name = OsString::from_vec(path.split_off(start));
        if name.is_empty() {
            // The root, which is nobody's to move.
            return Err(Errno::BUSY);
        }
        match base {
            Some(base) if path.is_empty() => Ok(NameIn { dir: base, name }),
            base => match self.find(&Way { base, path }, true)? {
                LookupResult::Object(dir, _) => Ok(NameIn { dir, name }),
                LookupResult::Missing(..) => Err(Errno::NOENT),
            },
        }
    }

    /// The same, name by name. Fails where the way leads through this process's own part of procfs.
    fn walk(self, way: &Way, follow: bool) -> Result<LookupResult, Errno> {
        let root = || openat(CWD, "/", HANDLE, Mode::empty());
        let mut at = way
            .base
            .as_ref()
            .map_or_else(root, |base| base.try_clone().map_err(|_| Errno::MFILE))?;
        let mut todo = names(&way.path);
        let mut links = 0;
        while let Some(name) = todo.pop() {
            let is_last = todo.iter().all(|name| name == b".");
            let wants_dir = !todo.is_empty();
            let text = OsStr::from_bytes(&name);
            let next = match openat(&at, text, HANDLE | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) if is_last => {
                    return Ok(LookupResult::Missing(at, text.to_owned(), wants_dir));
                }
                next => next?,
            };
            if is_last && !wants_dir && !follow {
                return lookup_result(next);
            }
            let target = match readlinkat(&next, "", Vec::new()) {
                Ok(target) => target.into_bytes(),
                // No link (readlinkat(2) of a handle).
                Err(Errno::NOENT | Errno::INVAL) => {
                    at = next;
                    continue;
                }
                Err(errno) => return Err(errno),
            };
            links += 1;
            if links > MAX_LINKS_FOLLOWED {
                return Err(Errno::LOOP);
            }
            let target = if is_procfs(&at) {
                self.meant_by(&at, &name, target)?
            } else {
                Target::Text(target)
            };
            match target {
                Target::Text(target) => {
                    if target.starts_with(b"/") {
                        at = root()?;
                    }
                    todo.extend(names(&target));
                }
                Target::Object(object) => at = object,
            }
        }
        lookup_result(at)
    }

    /// Resolves a procfs link as the caller sees it.
    fn meant_by(self, dir: &OwnedFd, name: &[u8], target: Vec<u8>) -> Result<Target, Errno> {
        match name {
            b"self" => return Ok(Target::Text(self.status("Tgid")?.into_bytes())),
            b"thread-self" => {
                return Ok(Target::Text(
                    format!("{}/task/{}", self.status("Tgid")?, self.0).into_bytes(),
                ));
            }
            _ => {}
        }
        let name = OsStr::from_bytes(name);
        match openat2(
            dir,
            name,
            HANDLE,
            Mode::empty(),
            ResolveFlags::NO_MAGICLINKS,
        ) {
            // It leads to an object and not to a path.
            Err(Errno::LOOP) if is_own(&place(dir)?) => Err(Errno::ACCESS),
            Err(Errno::LOOP) => Ok(Target::Object(openat(dir, name, HANDLE, Mode::empty())?)),
            _ => Ok(Target::Text(target)),
        }
    }
}

enum Target {
    Text(Vec<u8>),
    Object(OwnedFd),
}

/// The names of a path, the last one first. A slash at its end is one more `.`.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let end = path.ends_with(b"/").then(|| b".".to_vec());
    let names = path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec);
    end.into_iter()
        .chain(names.rev().collect::<Vec<_>>())
        .collect()
}

fn lookup_result(object: OwnedFd) -> Result<LookupResult, Errno> {
    let place = place(&object)?;
    if is_own(&place) {
        Err(Errno::ACCESS)
    } else {
        Ok(LookupResult::Object(object, place))
    }
}

fn is_procfs(dir: &OwnedFd) -> bool {
    fstatfs(dir).is_ok_and(|said| u64::try_from(said.f_type) == Ok(PROCFS))
}

/// Returns true if a path in procfs belongs to this process, by the number of any of its threads.
/// This process may see more there than the caller.
fn is_own(place: &Path) -> bool {
    let Ok(below) = place.strip_prefix("/proc") else {
        return false;
    };
    let number = below
        .iter()
        .next()
        .and_then(OsStr::to_str)
        .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    let thread = |number: &str| {
        accessat(
            CWD,
            format!("/proc/self/task/{number}"),
            Access::EXISTS,
            AtFlags::empty(),
        )
    };
    number.is_some_and(|number| thread(number).is_ok())
}

/// Returns the path of a descriptor (proc(5), `/proc/PID/fd`).
pub(super) fn place(object: &OwnedFd) -> Result<PathBuf, Errno> {
    Ok(OsString::from_vec(readlinkat(CWD, link(object), Vec::new())?.into_bytes()).into())
}

/// Returns the procfs link to a descriptor of this process; it survives renames of the file.
pub(crate) fn link(object: impl AsFd) -> String {
    format!("/proc/self/fd/{}", object.as_fd().as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_come_in_order_and_a_slash_at_the_end_means_a_directory() {
        let texts = |path: &str| {
            names(path.as_bytes())
                .iter()
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(texts("/a//b/../c"), ["c", "..", "b", "a"]);
        assert_eq!(texts("a/"), [".", "a"]);
        assert_eq!(texts("/"), ["."]);
    }

    #[test]
    fn own_procfs_paths_are_recognized() {
        let own = std::process::id();
        for place in [format!("/proc/{own}"), format!("/proc/{own}/fd/3")] {
            assert!(is_own(Path::new(&place)), "{place}");
        }
        assert_eq!(
            ["/proc", "/proc/uptime", "/proc/1x", "/w/1"].map(|place| is_own(Path::new(place))),
            [false; 4]
        );
    }
}
