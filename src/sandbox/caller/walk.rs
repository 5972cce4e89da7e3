//! From a path of a caller to a descriptor of this process. The caller has the same root and
//! mounts; where it works, which descriptors it has, and what is its own in procfs differ.
//!
//! Nothing here decides: whoever opened something looks where its descriptor is. So a name that
//! changes meanwhile changes only what is found.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place"
)]

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use replay_base::remaining_path::{RemainingPath, TooManyLinks};
use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, Statx, StatxFlags, accessat, fstat, fstatfs,
    makedev, openat, openat2, readlinkat,
};
use rustix::io::Errno;

use super::{Caller, path_of};
use crate::system_call::PathArgument;

/// `PROC_SUPER_MAGIC` of linux/magic.h.
const PROCFS: u64 = 0x9fa0;
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A path of a caller, with the directory at which it begins.
#[derive(Debug)]
pub(crate) struct CallerPath {
    /// `None` for an absolute path.
    base: Option<Base>,
    /// Empty for the base itself.
    text: Vec<u8>,
}

/// Directory at which a relative path begins, opened at its first use.
#[derive(Debug)]
struct Base {
    /// First argument of openat(2).
    dir: i32,
    opened: OnceCell<OwnedFd>,
}

/// Result of a path lookup.
pub(crate) enum LookupResult {
    Object(OwnedFd),
    /// A name that is missing in the directory. `true`: a slash follows the name.
    Missing(OwnedFd, OsString, bool),
}

/// A name in a directory, with the slashes after it.
#[derive(Debug)]
pub(crate) struct NameIn {
    pub(crate) dir: OwnedFd,
    pub(crate) name: OsString,
}

impl LookupResult {
    /// Returns the object; a missing name is an error.
    pub(crate) fn object(self) -> Result<OwnedFd, Errno> {
        match self {
            Self::Object(object) => Ok(object),
            Self::Missing(..) => Err(Errno::NOENT),
        }
    }
}

impl CallerPath {
    fn new(dir: i32, text: Vec<u8>) -> Self {
        let base = (!text.starts_with(b"/")).then(|| Base {
            dir,
            opened: OnceCell::new(),
        });
        Self { base, text }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the path as the caller wrote it; `None` if it is empty.
    pub(crate) fn into_text(self) -> Option<Vec<u8>> {
        Some(self.text).filter(|text| !text.is_empty())
    }

    /// Returns the last name without slashes; `None` if the path ends in `.` or `..`, or is `/`.
    pub(crate) fn name(&self) -> Option<&OsStr> {
        let (_, name) = self.split();
        let name = without_slashes(OsStr::from_bytes(name));
        (!matches!(name.as_bytes(), b"" | b"." | b"..")).then_some(name)
    }

    /// Returns true if the path ends in `/`, `.` or `..`. A link at the end is followed then.
    pub(crate) fn wants_dir(&self) -> bool {
        self.text.ends_with(b"/") || self.name().is_none()
    }

    /// Splits the path before its last name.
    fn split(&self) -> (&[u8], &[u8]) {
        let end = self.text.iter().rposition(|byte| *byte != b'/');
        let last = &self.text[..end.map_or(0, |end| end + 1)];
        let slash = last.iter().rposition(|byte| *byte == b'/');
        self.text.split_at(slash.map_or(0, |slash| slash + 1))
    }
}

impl Caller {
    /// Reads a path. With `may_be_empty` an empty one means the base itself.
    pub(crate) fn path(&self, at: PathArgument, may_be_empty: bool) -> Result<CallerPath, Errno> {
        let text = self.text(at.address)?;
        if text.is_empty() && !may_be_empty {
            return Err(Errno::NOENT);
        }
        Ok(CallerPath::new(at.dir, text))
    }

    /// Begins a path at the directory that is the working directory now.
    pub(crate) fn path_from_here(&self, text: Vec<u8>) -> Result<CallerPath, Errno> {
        let path = CallerPath::new(libc::AT_FDCWD, text);
        self.open_base(&path)?;
        Ok(path)
    }

    /// Opens the directory at which a relative path begins.
    fn open_base<'p>(&self, path: &'p CallerPath) -> Result<Option<&'p OwnedFd>, Errno> {
        let Some(base) = &path.base else {
            return Ok(None);
        };
        if base.opened.get().is_none() {
            let _ = base.opened.set(self.base(base.dir)?);
        }
        Ok(base.opened.get())
    }

    /// Returns device and inode number of the directory of a path's last name. `None` if that
    /// takes a walk.
    pub(crate) fn id_above(&self, path: &CallerPath) -> Option<(u64, u64)> {
        let (above, _) = path.split();
        let id = |stat: Statx| {
            (
                makedev(stat.stx_dev_major, stat.stx_dev_minor),
                stat.stx_ino,
            )
        };
        if let Some(Base { dir, .. }) = path.base.as_ref().filter(|_| above.is_empty()) {
            return self.statx(*dir, StatxFlags::INO).map(id).ok();
        }
        let opened = open_plain(self.open_base(path).ok()?, above, HANDLE).ok()?;
        let stat = fstat(opened).ok()?;
        Some((stat.st_dev, stat.st_ino))
    }

    /// Looks up a path; `follow` says if a final symlink is followed.
    pub(crate) fn find(&self, path: &CallerPath, follow: bool) -> Result<LookupResult, Errno> {
        self.find_text(self.open_base(path)?, &path.text, follow)
    }

    /// Opens the directory of a path's last name.
    pub(crate) fn find_above(&self, path: &CallerPath) -> Result<NameIn, Errno> {
        let (above, name) = path.split();
        if without_slashes(OsStr::from_bytes(name)).is_empty() {
            // The root, which is nobody's to move.
            return Err(Errno::BUSY);
        }
        let dir = self
            .find_text(self.open_base(path)?, above, true)?
            .object()?;
        Ok(NameIn {
            dir,
            name: OsStr::from_bytes(name).to_owned(),
        })
    }

    fn find_text(
        &self,
        base: Option<&OwnedFd>,
        text: &[u8],
        follow: bool,
    ) -> Result<LookupResult, Errno> {
        if let (Some(base), true) = (base, text.is_empty()) {
            return self.lookup_result(base.try_clone().map_err(|_| Errno::MFILE)?);
        }
        let mut flags = HANDLE;
        flags.set(OFlags::NOFOLLOW, !follow);
        match open_plain(base, text, flags) {
            // A path may have led through what is this process's own in procfs, and meant the
            // caller's.
            Ok(object) => {
                if let Ok(found) = self.lookup_result(object) {
                    return Ok(found);
                }
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
        self.walk(base, text, follow)
    }

    /// The same, name by name. Fails where the path leads through this process's own part of
    /// procfs.
    fn walk(
        &self,
        base: Option<&OwnedFd>,
        text: &[u8],
        follow: bool,
    ) -> Result<LookupResult, Errno> {
        let root = || openat(CWD, "/", HANDLE, Mode::empty());
        let mut at = base.map_or_else(root, |base| base.try_clone().map_err(|_| Errno::MFILE))?;
        let mut rest = RemainingPath::new(text);
        while let Some(name) = rest.next() {
            let is_last = rest.is_empty();
            let next = match openat(&at, &name, HANDLE | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) if is_last => {
                    return Ok(LookupResult::Missing(at, name, rest.wants_dir()));
                }
                next => next?,
            };
            if is_last && !rest.wants_dir() && !follow {
                return self.lookup_result(next);
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
            let target = if is_procfs(&at)? {
                self.meant_by(&at, name.as_bytes(), target)?
            } else {
                Target::Text(target)
            };
            match target {
                Target::Text(target) => {
                    if rest.follow(&target).map_err(|TooManyLinks| Errno::LOOP)? {
                        at = root()?;
                    }
                }
                Target::Object(object) => at = object,
            }
        }
        if rest.wants_dir() {
            at = openat(&at, ".", HANDLE, Mode::empty())?;
        }
        self.lookup_result(at)
    }

    fn lookup_result(&self, object: OwnedFd) -> Result<LookupResult, Errno> {
        match path_of(&object) {
            Ok(place) if self.sees_otherwise(&place) => Err(Errno::ACCESS),
            // Paths in procfs are short.
            Ok(_) | Err(Errno::NAMETOOLONG) => Ok(LookupResult::Object(object)),
            Err(errno) => Err(errno),
        }
    }

    /// Returns true if a path in procfs belongs to this process, which may see more there than the
    /// caller.
    fn sees_otherwise(&self, place: &Path) -> bool {
        is_own(place) && !is_own_thread(&self.pid.to_string())
    }

    /// Resolves a procfs link as the caller sees it.
    fn meant_by(&self, dir: &OwnedFd, name: &[u8], target: Vec<u8>) -> Result<Target, Errno> {
        match name {
            b"self" => return Ok(Target::Text(self.status("Tgid")?.into_bytes())),
            b"thread-self" => {
                return Ok(Target::Text(
                    format!("{}/task/{}", self.status("Tgid")?, self.pid).into_bytes(),
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
            Err(Errno::LOOP) if self.sees_otherwise(&path_of(dir)?) => Err(Errno::ACCESS),
            Err(Errno::LOOP) => Ok(Target::Object(openat(dir, name, HANDLE, Mode::empty())?)),
            _ => Ok(Target::Text(target)),
        }
    }
}

enum Target {
    Text(Vec<u8>),
    Object(OwnedFd),
}

/// Opens a path in one step, through no link that procfs makes up: it would mean this process
/// instead of the caller.
fn open_plain(base: Option<&OwnedFd>, text: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    openat2(
        base.map_or(CWD, |base| base.as_fd()),
        OsStr::from_bytes(text),
        flags,
        Mode::empty(),
        ResolveFlags::NO_MAGICLINKS,
    )
}

/// Returns a name without the slashes after it.
pub(crate) fn without_slashes(name: &OsStr) -> &OsStr {
    let end = name.as_bytes().iter().rposition(|byte| *byte != b'/');
    OsStr::from_bytes(&name.as_bytes()[..end.map_or(0, |last| last + 1)])
}

/// Returns true if the file or directory is one of procfs.
pub(crate) fn is_procfs(dir: &OwnedFd) -> Result<bool, Errno> {
    Ok(u64::try_from(fstatfs(dir)?.f_type) == Ok(PROCFS))
}

/// Returns true if a path in procfs is below the number of a thread of this process.
fn is_own(place: &Path) -> bool {
    let Ok(below) = place.strip_prefix("/proc") else {
        return false;
    };
    let number = below.iter().next().and_then(OsStr::to_str);
    number
        .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
        .is_some_and(is_own_thread)
}

fn is_own_thread(number: &str) -> bool {
    let thread = format!("/proc/self/task/{number}");
    accessat(CWD, thread, Access::EXISTS, AtFlags::empty()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_path_is_split_before_its_last_name() {
        let path = |text: &str| CallerPath {
            base: None,
            text: text.into(),
        };
        for (text, above, name) in [
            ("a", "", Some("a")),
            ("/a", "/", Some("a")),
            ("x/y//z/", "x/y//", Some("z")),
            ("", "", None),
            ("/", "", None),
            ("//", "", None),
            (".", "", None),
            ("a/..", "a/", None),
            ("a/../", "a/", None),
        ] {
            let path = path(text);
            assert_eq!(path.split().0, above.as_bytes(), "{text}");
            assert_eq!(path.name(), name.map(OsStr::new), "{text}");
        }
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
