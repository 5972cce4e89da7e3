//! Translation of a caller's path to a place in the journal's roots.
//!
//! A command sees its own mounts, and no link can be made between two mounts. So the supervisor
//! gets the path of the caller's directory from /proc, through its own descriptor of it. It opens
//! this path again from the handle of a root, which belongs to the outer mounts.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place, to look where it is"
)]

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replay_files::journal::{At, Id, Root, Stat, stat};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags, fstatvfs, open,
    openat2, statx,
};
use rustix::io::Errno;

use crate::caller::{Caller, CallerPath, LookupResult, path_of};
use crate::descriptors::at_most;
use crate::system_call::Object;

/// Directories that the supervisor of a command keeps open to note changes in them; each costs a
/// descriptor.
const JOURNALED_DIRECTORIES: usize = 256;

/// A name in a directory of a root, and what stands there.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    dir: Arc<Directory>,
    name: OsString,
    seen: OnceCell<Option<Stat>>,
}

#[derive(Debug)]
struct Directory {
    handle: OwnedFd,
    root: usize,
    path: PathBuf,
    id: Id,
}

impl Spot {
    fn new(dir: Arc<Directory>, name: &OsStr) -> Self {
        Self {
            dir,
            name: name.to_owned(),
            seen: OnceCell::new(),
        }
    }

    pub(super) fn at(&self) -> At<'_> {
        let seen = self.look().ok().map(|found| (self.dir.id, found));
        At {
            dir: self.dir.handle.as_fd(),
            name: &self.name,
            root: self.dir.root,
            path: &self.dir.path,
            seen,
        }
    }

    /// Returns the object at this place, if it can be looked up.
    pub(super) fn stat(&self) -> Option<Stat> {
        self.look().ok().flatten()
    }

    /// Returns the object at this place, as of the first lookup.
    pub(super) fn look(&self) -> Result<Option<Stat>, Errno> {
        if let Some(seen) = self.seen.get() {
            return Ok(*seen);
        }
        let found = stat(&self.dir.handle, &self.name)?;
        Ok(*self.seen.get_or_init(|| found))
    }

    pub(super) fn dir_id(&self) -> Id {
        self.dir.id
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The same name, not looked at yet.
    pub(super) fn again(&self) -> Self {
        Self::new(Arc::clone(&self.dir), &self.name)
    }

    /// Returns the object that stands there now.
    pub(super) fn look_again(&self) -> Result<Option<Stat>, Errno> {
        stat(&self.dir.handle, &self.name)
    }
}

/// Reason that an object has no place.
#[derive(Debug)]
pub(super) enum Unplaced {
    /// The kernel finds it just as little, so the call fails.
    ByAnybody,
    /// This process cannot find it.
    ByUs(Errno),
    /// The call is answered with this.
    Refused(Errno),
}

impl From<Errno> for Unplaced {
    fn from(errno: Errno) -> Self {
        match errno {
            // Errors of path_resolution(7), of a bad descriptor and of a caller that has ended.
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::NAMETOOLONG
            | Errno::INVAL
            | Errno::BADF
            | Errno::SRCH => Self::ByAnybody,
            // A link that procfs makes up leads the caller elsewhere than this process. A caller
            // that may search a directory that this process may not would change it unnoted. So
            // would a path in memory that only the kernel reads (memfd_secret(2), `[vvar]`).
            Errno::LOOP | Errno::ACCESS | Errno::FAULT => Self::Refused(errno),
            // The call could succeed without being noted.
            _ => Self::ByUs(errno),
        }
    }
}

/// The object that a call refers to.
#[derive(Debug)]
pub(super) enum Target {
    Spot(Spot),
    /// It has no name in a root, but may have had one.
    Nameless(OwnedFd),
    /// It lies in no root, or is not there.
    Nothing,
}

impl From<Option<Spot>> for Target {
    fn from(spot: Option<Spot>) -> Self {
        spot.map_or(Self::Nothing, Self::Spot)
    }
}

/// Finds places, and remembers directories.
#[derive(Debug)]
pub(super) struct Places {
    roots: Arc<[Root]>,
    /// By device and inode number. Where one lies is true until something above it is renamed; then
    /// it is not asked about any more, since it was noted by then.
    known: HashMap<(u64, u64), Arc<Directory>>,
    /// By identifier of a mount of the command (statx(2), `stx_mnt_id`): `true` if it is read-only.
    read_only_mounts: HashMap<u64, bool>,
}

impl Places {
    pub(super) fn new(roots: Arc<[Root]>) -> Self {
        Self {
            roots,
            known: HashMap::new(),
            read_only_mounts: HashMap::new(),
        }
    }

    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// The place of a name, which is not followed if it is a link. `None` if it lies in no root, or
    /// cannot be a name.
    pub(super) fn of_name(
        &mut self,
        caller: &Caller,
        path: &CallerPath,
    ) -> Result<Option<Spot>, Unplaced> {
        let Some(name) = path.name() else {
            return Ok(None);
        };
        Ok(self.above(caller, path)?.map(|dir| Spot::new(dir, name)))
    }

    /// The same; a link at the end is followed to where it leads, whether or not something is there
    /// (open(2), `O_CREAT`).
    pub(super) fn of_followed_name(
        &mut self,
        caller: &Caller,
        path: &CallerPath,
    ) -> Result<Target, Unplaced> {
        let spot = self.of_name(caller, path)?;
        if let Some(spot) = spot
            && !spot.stat().is_some_and(|found| found.is_link())
        {
            return Ok(Target::Spot(spot));
        }

        // A link, also one of another place, may lead here.
        match caller.find(path, true)? {
            LookupResult::Object(object) => self.of_object(object),
            LookupResult::Missing(dir, name, _) => Ok(self
                .directory(&dir)?
                .map(|dir| Spot::new(dir, &name))
                .into()),
        }
    }

    /// Returns the path at which a command sees this place, if its mount there is read-only. This
    /// process has the mounts of the command.
    pub(super) fn read_only(&mut self, spot: &Spot) -> Option<PathBuf> {
        let above = self.roots[spot.dir.root].shown.join(&spot.dir.path);
        let path = if spot.name.is_empty() {
            above.clone()
        } else {
            above.join(&spot.name)
        };
        let there = if spot.stat().is_some() { &path } else { &above };
        let look = |wanted| statx(CWD, there, AtFlags::SYMLINK_NOFOLLOW, wanted);
        let mount = look(StatxFlags::MNT_ID).ok()?.stx_mnt_id;
        let is_read_only = *self.read_only_mounts.entry(mount).or_insert_with(|| {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let object = open(there, flags, Mode::empty());
            let stat = object.and_then(fstatvfs);
            stat.is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY))
        });
        is_read_only.then_some(path)
    }

    /// The place of what the caller means by an argument of a call.
    pub(super) fn of(&mut self, caller: &Caller, object: Object) -> Result<Target, Unplaced> {
        match object {
            Object::Path { at, follow, empty } => {
                let path = caller.path(at, empty)?;
                match (path.is_empty(), follow || path.wants_dir()) {
                    (true, _) => self.of_object(caller.open(object)?.0),
                    (false, true) => self.of_followed_name(caller, &path),
                    (false, false) => self.of_name(caller, &path).map(Target::from),
                }
            }
            Object::Descriptor(_) => self.of_object(caller.open(object)?.0),
        }
    }

    /// The place of an open object, by one of its names.
    pub(super) fn of_object(&mut self, object: OwnedFd) -> Result<Target, Unplaced> {
        let found = stat_of(&object)?;
        if found.is_dir() {
            return Ok(self
                .directory(&object)?
                .map(|dir| Spot::new(dir, OsStr::new("")))
                .into());
        }
        let path = path_of(&object).map_err(Unplaced::ByUs)?;
        let Some((root, below)) = self.in_root(&path) else {
            return Ok(Target::Nothing);
        };
        let (Some(above), Some(name)) = (below.parent(), below.file_name()) else {
            return Ok(Target::Nothing);
        };
        let above = match self.open(root, above) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            above => self.directory(&above.map_err(Unplaced::ByUs)?)?,
        };
        let spot = above.map(|dir| Spot::new(dir, name));
        let spot = spot.filter(|spot| spot.stat().is_some_and(|there| there.id == found.id));
        Ok(spot.map_or(Target::Nameless(object), Target::Spot))
    }

    /// The directory above a name.
    fn above(
        &mut self,
        caller: &Caller,
        path: &CallerPath,
    ) -> Result<Option<Arc<Directory>>, Unplaced> {
        if let Some(known) = caller.id_above(path).and_then(|id| self.known.get(&id)) {
            return Ok(Some(Arc::clone(known)));
        }
        self.directory(&caller.find_above(path)?.dir)
    }

    /// A directory of a root, by a handle of whatever mount.
    fn directory(&mut self, dir: &OwnedFd) -> Result<Option<Arc<Directory>>, Unplaced> {
        let Stat { id, links, .. } = stat_of(dir)?;
        if let Some(known) = self.known.get(&(id.0, id.1)) {
            return Ok(Some(Arc::clone(known)));
        }
        if links == 0 {
            // No name can be made in a deleted directory.
            return Err(Unplaced::ByAnybody);
        }
        // The caller is there already.
        let path = path_of(dir).map_err(Unplaced::ByUs)?;
        let Some((root, below)) = self.in_root(&path) else {
            return Ok(None);
        };
        let handle = self.open(root, below).map_err(Unplaced::ByUs)?;
        if stat_of(&handle)?.id != id {
            return Err(Unplaced::ByUs(Errno::STALE));
        }
        if self.known.len() >= at_most(JOURNALED_DIRECTORIES, 16) {
            self.known.clear();
        }
        let dir = Arc::new(Directory {
            handle,
            root,
            path: below.to_owned(),
            id,
        });
        self.known.insert((id.0, id.1), Arc::clone(&dir));
        Ok(Some(dir))
    }

    fn in_root<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        let mut roots = self.roots.iter().enumerate();
        roots.find_map(|(index, root)| Some((index, path.strip_prefix(&root.shown).ok()?)))
    }

    fn open(&self, root: usize, below: &Path) -> Result<OwnedFd, Errno> {
        let below = if below.as_os_str().is_empty() {
            Path::new(".")
        } else {
            below
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(
            &self.roots[root].handle,
            below,
            flags,
            Mode::empty(),
            resolve,
        )
    }
}

/// Returns the status of an open object.
pub(super) fn stat_of(object: &OwnedFd) -> Result<Stat, Errno> {
    stat(object, OsStr::new(""))?.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_lookup_is_no_missing_path() {
        let is_ours = |errno| matches!(Unplaced::from(errno), Unplaced::ByUs(_));
        let ours = [
            Errno::IO,
            Errno::NOSPC,
            Errno::NOMEM,
            Errno::MFILE,
            Errno::NFILE,
            Errno::PERM,
            Errno::AGAIN,
        ];
        assert!(ours.into_iter().all(is_ours));
        assert!(
            ![
                Errno::NOENT,
                Errno::NOTDIR,
                Errno::ACCESS,
                Errno::LOOP,
                Errno::SRCH
            ]
            .into_iter()
            .any(is_ours)
        );
    }

    #[test]
    fn lookup_without_permission_refuses_the_call() {
        let is_refused =
            |errno| matches!(Unplaced::from(errno), Unplaced::Refused(same) if same == errno);
        assert!(
            [Errno::ACCESS, Errno::LOOP, Errno::FAULT]
                .into_iter()
                .all(is_refused)
        );
        assert!(
            ![
                Errno::NOENT,
                Errno::NOTDIR,
                Errno::BADF,
                Errno::SRCH,
                Errno::IO
            ]
            .into_iter()
            .any(is_refused)
        );
    }
}
