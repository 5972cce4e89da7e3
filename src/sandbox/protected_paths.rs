//! Protected paths: existing files are mounted read-only over themselves for each command, and new
//! files at these paths are moved aside.
//!
//! Only the launcher records the original files, while no command runs, and holds them open, so
//! that their inode numbers are not reused. The record is fixed while any command runs. The kernel
//! reports each new name in a directory on the way (inotify(7)). An unrecorded file is moved away
//! at once, whoever created it.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at the protected paths as commands see them"
)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use replay_base::limits::{MAX_DENIED, MAX_DENIED_PATH_BYTES, SET_ASIDE_WINDOW_MS};
use replay_base::remaining_path::RemainingPath;
use replay_base::removal;
use replay_files::autorun::{DOT_GIT, PROTECTED_IN_REPOSITORIES};
use replay_files::set_aside::{has_only_samples, set_aside};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2, readlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::denied::Denied;
use super::fault::{Fault, StepContext};
use super::mount::{DetachedMount, find, may_change};
use super::raw_string::RawString;

/// Most entries moved away from protected paths within [`SET_ASIDE_WINDOW_MS`]. Beyond it the
/// running commands are killed: a program that violates the protection by mistake would not try so
/// often.
const MAX_SET_ASIDE: usize = 16;
/// Buffer for one read of kernel events about protected paths, in bytes: some 500 names.
const WATCH_BUFFER_BYTES: usize = 16 * 1024;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A path in a read-write directory, and the outermost such directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guarded {
    path: PathBuf,
    /// A mount point of the view, so that it cannot be moved.
    root: PathBuf,
}

impl Guarded {
    /// Creates it; `None` if the path lies in none of these read-write directories.
    pub(crate) fn new<'a>(path: &Path, writable: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let root = writable
            .filter(|root| path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len())?;
        Some(Self {
            path: path.into(),
            root: root.into(),
        })
    }

    /// Returns true if it is the read-write directory itself.
    pub(crate) fn is_root(&self) -> bool {
        self.path == self.root
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn root(&self) -> &Path {
        &self.root
    }

    /// Makes these paths read-only in the mount namespace of this process. Siblings share the
    /// lookup of their directory.
    ///
    /// The mount moves with the file or directory. The supervisor moves no directory above it
    /// (`opens`), so that the next command finds it in its place.
    pub(crate) fn hold<'a>(all: impl Iterator<Item = &'a Self>) -> Result<(), Fault> {
        let (mut last, mut copies) = (None, Vec::new());
        let attach = |copies: &mut Vec<DetachedMount>| {
            copies
                .drain(..)
                .try_for_each(DetachedMount::attach)
                .step("make protected paths read-only")
        };
        for guarded in all {
            let above = (guarded.root(), guarded.path().parent());
            if last.as_ref().is_none_or(|(known, _)| *known != above) {
                let dir = descend(guarded).or_else(|_| {
                    // The limit of open descriptors is reached.
                    attach(&mut copies)?;
                    descend(guarded)
                        .step_with(|| format!("find the directory of `{}`", guarded.path.display()))
                });
                last = Some((above, dir?));
            }
            if let Some(((_, Some(dir)), name)) = last.as_ref().zip(guarded.path().file_name()) {
                let copy = || -> io::Result<Option<DetachedMount>> {
                    let there = find(dir, name, OFlags::NOFOLLOW)?;
                    there.map(DetachedMount::of).transpose()
                };
                let found = copy().or_else(|_| {
                    // The limit of open descriptors is reached.
                    attach(&mut copies)?;
                    copy().step_with(|| format!("make `{}` read-only", guarded.path.display()))
                });
                copies.extend(found?);
            }
        }
        attach(&mut copies)
    }
}

/// An open file or directory. A symlink is not followed.
#[derive(Debug)]
struct OpenFile {
    fd: OwnedFd,
    kind: FileType,
    id: (u64, u64),
}

impl OpenFile {
    /// Opens the entry; `None` if it does not exist.
    fn find(dir: &OwnedFd, name: &OsStr) -> Result<Option<Self>, Errno> {
        let Some(fd) = find(dir, name, OFlags::NOFOLLOW)? else {
            return Ok(None);
        };
        let stat = fstat(&fd)?;
        Ok(Some(Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            id: (stat.st_dev, stat.st_ino),
            fd,
        }))
    }
}

/// End of a path lookup, or a symlink on the way.
#[derive(Debug)]
struct LookupEnd {
    dir: OwnedFd,
    name: OsString,
    /// Without symlinks.
    place: PathBuf,
    there: Option<OpenFile>,
}

impl LookupEnd {
    fn set_aside(&self) {
        if !set_aside(&self.dir, &self.name) {
            tracing::warn!(
                "what was put in place of the protected `{}` is still there",
                self.place.display()
            );
        }
    }
}

/// `WatchedPath` names, each with the watch of its directory. An empty name stands for all names.
type WatchedNames = Vec<(i32, OsString)>;

#[derive(Debug)]
struct WatchedPath {
    guarded: Guarded,
    /// Files at the path while no command ran. There are several if a symlink is on the way.
    noted: Vec<(PathBuf, Option<OpenFile>)>,
    /// Watches of the directories whose names affect this path.
    watches: Vec<i32>,
    /// `true` if a part of the path existed below the read-write directory.
    is_begun: bool,
    /// `true` if a directory may exist there without protection.
    bears_directory: bool,
    /// `true` if it has to be recorded again.
    is_stale: bool,
    /// Number of the last appearance of another file.
    appeared: u64,
}

/// Keeps all protected paths in their recorded state.
#[derive(Debug)]
pub(crate) struct Watcher {
    events: OwnedFd,
    writable: Vec<PathBuf>,
    paths: Vec<WatchedPath>,
    /// Paths affected by each name, per watched directory.
    names: HashMap<i32, Vec<(OsString, usize)>>,
    appearances: u64,
    /// `true` if the kernel may have missed an appearance.
    is_unsettled: bool,
    /// Start of the counting interval, and number of appearances in it.
    burst: (Instant, usize),
}

impl Watcher {
    /// Creates a watcher for these read-write directories, without watches. Must be called before
    /// this process enters the user namespace of commands: their watches are counted there, and
    /// cannot use up the limit of this process.
    pub(crate) fn new<'a>(writable: impl Iterator<Item = &'a Path>) -> Result<Self, Fault> {
        let step = "watch protected paths (inotify_init1; the system lets each user have fs.inotify.max_user_instances)";
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).step(step)?;
        let (writable, paths, names) = (
            writable.map(Into::into).collect(),
            Vec::new(),
            HashMap::new(),
        );
        Ok(Self {
            events,
            writable,
            paths,
            names,
            appearances: 0,
            is_unsettled: false,
            burst: (Instant::now(), 0),
        })
    }

    /// Protects more paths, if they lie in one of the read-write directories. Records their current
    /// state.
    ///
    /// If a path cannot be read, all are registered nevertheless, and no command starts before they
    /// are recorded ([`Self::note_all`]).
    pub(crate) fn guard<'a>(&mut self, paths: impl Iterator<Item = &'a Path>) -> Result<(), Fault> {
        self.guard_all(paths, false)
    }

    fn guard_all<'a>(
        &mut self,
        paths: impl Iterator<Item = &'a Path>,
        bears_directory: bool,
    ) -> Result<(), Fault> {
        let first = self.paths.len();
        let mut known: HashSet<Guarded> =
            self.paths.iter().map(|path| path.guarded.clone()).collect();
        for path in paths {
            let guarded = self.guarded(path).filter(|new| known.insert(new.clone()));
            self.paths.extend(guarded.map(|guarded| WatchedPath {
                guarded,
                noted: Vec::new(),
                watches: Vec::new(),
                is_begun: true,
                bears_directory,
                is_stale: true,
                appeared: 0,
            }));
        }
        (first..self.paths.len()).try_for_each(|index| self.note(index))
    }

    /// Removes a directory in which a command left only protected paths of a repository. They stay
    /// protected.
    pub(crate) fn remove(&mut self, path: &Path) -> Result<(), Errno> {
        let guarded = self
            .guarded(path)
            .filter(|guarded| !guarded.is_root())
            .ok_or(Errno::BUSY)?;
        let below = path.strip_prefix(guarded.root()).map_err(|_| Errno::BUSY)?;
        let (Some(above), Some(name)) = (below.parent(), path.file_name()) else {
            return Err(Errno::BUSY);
        };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let root = open(guarded.root(), DIRECTORY, Mode::empty())?;
        let above = openat2(
            &root,
            Path::new(".").join(above),
            DIRECTORY,
            Mode::empty(),
            resolve,
        )?;
        let listed = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(&above, name, listed, Mode::empty())?;
        let mut parts = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let part = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if part == "." || part == ".." {
                continue;
            }
            if part != DOT_GIT && PROTECTED_IN_REPOSITORIES.iter().all(|known| part != *known) {
                return Err(Errno::NOTEMPTY);
            }
            parts.push(part);
        }
        // No file can take their places unseen: the missing watches are added here.
        let paths: Vec<PathBuf> = parts.iter().map(|part| path.join(part)).collect();
        self.guard(paths.iter().map(PathBuf::as_path))
            .map_err(|_| Errno::BUSY)?;
        // A file there could redirect git to another repository.
        self.guard_all([path].into_iter(), true)
            .map_err(|_| Errno::BUSY)?;
        for part in &parts {
            match unlinkat(&dir, part, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {
                    let part = CString::new(part.as_bytes()).map_err(|_| Errno::INVAL)?;
                    removal::remove(&dir, &part, None);
                }
                removed => removed?,
            }
        }
        unlinkat(&above, name, AtFlags::REMOVEDIR)
    }

    pub(crate) fn into_writable(self) -> Vec<PathBuf> {
        self.writable
    }

    /// Moves unrecorded files away after the last command, if [`Self::settle`] could not.
    fn sweep(&mut self) -> Result<(), Fault> {
        if !self.is_unsettled {
            return Ok(());
        }
        for index in 0..self.paths.len() {
            self.settle_one(index)?;
        }
        self.is_unsettled = false;
        Ok(())
    }

    /// Calls [`Self::sweep`]; a failure delays the next command.
    pub(crate) fn sweep_or_warn(&mut self) {
        if let Err(fault) = self.sweep() {
            tracing::warn!("what commands put at protected paths may still be there: {fault}");
        }
    }

    /// Records the changed paths again. Called while no command runs.
    pub(crate) fn note_all(&mut self) -> Result<(), Fault> {
        self.sweep()?;
        while let Some(touched) = self.affected_paths()? {
            for index in touched {
                self.paths[index].is_stale = true;
            }
        }
        for index in 0..self.paths.len() {
            if self.paths[index].is_stale {
                self.note(index)?;
            }
        }
        Ok(())
    }

    /// Moves unrecorded files away while commands run. Returns the reason if all commands have to
    /// be ended.
    pub(crate) fn settle(&mut self) -> Option<Denied> {
        let settled = self.settle_touched();
        self.is_unsettled |= settled.is_err();
        let unwatched = |fault: Fault| Denied::Unwatched(fault.to_string().into());
        settled
            .map_err(unwatched)
            .map_or_else(Some, |is_attack| is_attack.then_some(Denied::Repeated))
    }

    /// Number of the last appearance.
    pub(crate) fn appearances(&self) -> u64 {
        self.appearances
    }

    /// Paths with an appearance after this number, as far as known.
    pub(crate) fn appeared_since(&self, number: u64) -> Vec<RawString> {
        let paths = self
            .paths
            .iter()
            .filter(|path| path.appeared > number)
            .take(MAX_DENIED);
        let shown = paths.map(|path| path.guarded.path.as_os_str().as_bytes());
        shown
            .map(|shown| OsStr::from_bytes(&shown[..shown.len().min(MAX_DENIED_PATH_BYTES)]).into())
            .collect()
    }

    /// Paths that each command has to protect. A path of which no part exists is left out.
    pub(crate) fn places(&self) -> Vec<Guarded> {
        let begun = self
            .paths
            .iter()
            .filter(|path| path.is_begun && !path.bears_directory);
        let mut places: Vec<Guarded> = begun.map(|path| path.guarded.clone()).collect();
        for path in self.paths.iter().filter(|path| !path.bears_directory) {
            let elsewhere = path
                .noted
                .iter()
                .filter(|(place, _)| place != path.guarded.path());
            for place in elsewhere.filter_map(|(place, _)| self.guarded(place)) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }

    /// Creates a [`Guarded`]; `None` if the path lies in none of the read-write directories.
    pub(crate) fn guarded(&self, path: &Path) -> Option<Guarded> {
        Guarded::new(path, self.writable.iter().map(PathBuf::as_path))
    }

    fn note(&mut self, index: usize) -> Result<(), Fault> {
        let (spots, names, is_begun) = self.look_up(&self.paths[index].guarded)?;
        self.register(index, names);
        let path = &mut self.paths[index];
        path.is_begun = is_begun;
        path.noted = spots
            .into_iter()
            .map(|spot| (spot.place, spot.there))
            .collect();
        path.is_stale = false;
        Ok(())
    }

    /// Returns true after too many appearances.
    fn settle_touched(&mut self) -> Result<bool, Fault> {
        let mut is_attack = false;
        while let Some(touched) = self.affected_paths()? {
            for index in touched {
                is_attack |= self.settle_one(index)?;
            }
        }
        Ok(is_attack)
    }

    fn settle_one(&mut self, index: usize) -> Result<bool, Fault> {
        let (spots, mut names, is_begun) = self.look_up(&self.paths[index].guarded)?;
        let path = &mut self.paths[index];
        path.is_begun = is_begun;
        path.is_stale = true;
        let mut is_new = false;
        for spot in spots {
            let noted = path
                .noted
                .iter_mut()
                .find(|(place, _)| *place == spot.place);
            let Some(there) = &spot.there else {
                // A removed file may change elsewhere, so it does not belong here any more.
                if let Some((_, held)) = noted {
                    *held = None;
                }
                continue;
            };
            if noted.is_some_and(|(_, held)| held.as_ref().is_some_and(|held| held.id == there.id))
            {
                continue;
            }
            if there.kind == FileType::Directory && path.bears_directory {
                continue;
            }
            if there.kind == FileType::Directory && path.guarded.path().ends_with("hooks") {
                // WatchedPath before the check, so that later changes are reported.
                names.extend(watch(&self.events, &there.fd)?.map(|watch| (watch, OsString::new())));
                if has_only_samples(&spot.dir, &spot.name) {
                    continue;
                }
            }
            spot.set_aside();
            is_new = true;
            break;
        }
        self.register(index, names);
        if !is_new {
            return Ok(false);
        }
        self.appearances += 1;
        self.paths[index].appeared = self.appearances;
        let (since, count) = self.burst;
        let is_old = since.elapsed() > Duration::from_millis(SET_ASIDE_WINDOW_MS);
        self.burst = if is_old {
            (Instant::now(), 1)
        } else {
            (since, count + 1)
        };
        let is_attack = self.burst.1 > MAX_SET_ASIDE;
        if is_attack {
            // Commands that start later are not to blame.
            self.burst.1 = 0;
        }
        Ok(is_attack)
    }

    /// Follows the path as the kernel would, symlink by symlink, and watches every name on the way.
    /// Returns true if at least the first name of the path exists.
    fn look_up(&self, guarded: &Guarded) -> Result<(Vec<LookupEnd>, WatchedNames, bool), Fault> {
        let fault = || format!("look at the protected `{}`", guarded.path().display());
        let (mut spots, mut names, mut goes_through_link) = (Vec::new(), Vec::new(), false);
        let mut dir = open(guarded.root(), DIRECTORY, Mode::empty()).step_with(fault)?;
        let mut place = guarded.root().to_owned();
        let below = guarded.path().strip_prefix(guarded.root());
        let mut rest = RemainingPath::new(below.map_or(b"", |below| below.as_os_str().as_bytes()));
        while let Some(name) = rest.next() {
            if name == ".." {
                dir = openat(&dir, "..", DIRECTORY, Mode::empty()).step_with(fault)?;
                place.pop();
                continue;
            }
            let is_open = self.writable.iter().any(|root| place.starts_with(root));
            if is_open {
                names.extend(watch(&self.events, &dir)?.map(|watch| (watch, name.clone())));
            }
            let found = OpenFile::find(&dir, &name).step_with(fault)?;
            let kind = found.as_ref().map(|found| found.kind);
            let is_last = rest.is_empty();
            let next = match &found {
                Some(found) if kind == Some(FileType::Symlink) => {
                    let target = readlinkat(&found.fd, "", Vec::new()).step_with(fault)?;
                    goes_through_link = true;
                    rest.follow(target.to_bytes()).ok()
                }
                _ => None,
            };
            // The target of a symlink on the way may lie outside the rules of the file tools.
            if is_open && (is_last || kind == Some(FileType::Symlink)) {
                let dir = dir.try_clone().step_with(fault)?;
                spots.push(LookupEnd {
                    dir,
                    place: place.join(&name),
                    name: name.clone(),
                    there: found,
                });
            } else if kind == Some(FileType::Directory) {
                dir = found.map_or(dir, |found| found.fd);
                place.push(&name);
                continue;
            }
            match next {
                Some(true) => {
                    dir = open("/", DIRECTORY, Mode::empty()).step_with(fault)?;
                    place = "/".into();
                }
                Some(false) => {}
                None => break,
            }
        }
        let is_begun = goes_through_link
            || place != guarded.root()
            || spots.iter().any(|spot| spot.there.is_some());
        Ok((spots, names, is_begun))
    }

    /// Watches exactly these names for this path.
    fn register(&mut self, index: usize, names: WatchedNames) {
        let before = mem::take(&mut self.paths[index].watches);
        for watch in &before {
            if let Some(known) = self.names.get_mut(watch) {
                known.retain(|(_, path)| *path != index);
            }
        }
        for (watch, name) in names {
            self.names.entry(watch).or_default().push((name, index));
            self.paths[index].watches.push(watch);
        }
        for watch in before {
            if self.names.get(&watch).is_some_and(Vec::is_empty) {
                self.names.remove(&watch);
                // It fails if the directory is gone, and the watch with it.
                let _ = inotify::remove_watch(&self.events, watch);
            }
        }
    }

    /// Reads one batch of events and returns the affected paths; `None` if there are no events.
    fn affected_paths(&self) -> Result<Option<BTreeSet<usize>>, Fault> {
        let mut buffer = [MaybeUninit::uninit(); WATCH_BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut touched = BTreeSet::new();
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    touched.extend(0..self.paths.len());
                }
                Ok(event) => {
                    let known = self.names.get(&event.wd()).zip(event.file_name());
                    for (known, name) in known
                        .into_iter()
                        .flat_map(|(known, name)| known.iter().map(move |k| (k, name)))
                    {
                        // Some filesystems are case-insensitive.
                        if known.0.is_empty()
                            || known.0.as_bytes().eq_ignore_ascii_case(name.to_bytes())
                        {
                            touched.insert(known.1);
                        }
                    }
                }
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno).step("hear of protected paths"),
            }
            if reader.is_buffer_empty() {
                return Ok(Some(touched));
            }
        }
    }
}

/// Readable if there is something to settle.
impl AsFd for Watcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

/// Watches creation, removal and renames in a directory. `None` for a directory that no command can
/// change.
fn watch(events: &OwnedFd, dir: &OwnedFd) -> Result<Option<i32>, Fault> {
    let flags =
        WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
    match inotify::add_watch(events, format!("/proc/self/fd/{}", dir.as_raw_fd()), flags | WatchFlags::ONLYDIR) {
        Ok(watch) => Ok(Some(watch)),
        Err(Errno::ACCESS) if !may_change(dir) => Ok(None),
        Err(errno) => Err(errno).step(
            "watch protected paths (inotify_add_watch; the system lets each user have fs.inotify.max_user_watches)",
        ),
    }
}

/// Opens the directory of a path; `None` if there is no such directory, or if this user can never
/// enter it. A link on the way has a place of its own ([`Watcher::places`]).
fn descend(guarded: &Guarded) -> Result<Option<OwnedFd>, Errno> {
    let above = guarded
        .path()
        .parent()
        .and_then(|parent| parent.strip_prefix(guarded.root()).ok());
    let mut dir = open(guarded.root(), DIRECTORY, Mode::empty())?;
    for part in above.unwrap_or(Path::new("")) {
        match find(&dir, part, OFlags::DIRECTORY) {
            Ok(Some(found)) => dir = found,
            Ok(None) | Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
    Ok(Some(dir))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn unreadable_protected_path_delays_commands() {
        let place = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| place.path().join(name));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("kept"), "").unwrap();
        let mut watcher = Watcher::new([one.as_path(), other.as_path()].into_iter()).unwrap();
        let paths = [one.join("kept"), other.join("kept")];
        assert!(watcher.guard(paths.iter().map(PathBuf::as_path)).is_err());
        assert!(watcher.note_all().is_err(), "no command begins");
        fs::create_dir(&one).unwrap();
        fs::write(one.join("kept"), "").unwrap();
        watcher.note_all().unwrap();
        let places: Vec<PathBuf> = watcher
            .places()
            .iter()
            .map(|guarded| guarded.path().to_owned())
            .collect();
        assert_eq!(places, paths);
    }

    #[test]
    fn failed_lookup_is_no_missing_path() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let open = |path: &Path| open(path, OFlags::PATH, Mode::empty()).unwrap();
        let found = |path: &Path| find(&open(path), OsStr::new("name"), OFlags::NOFOLLOW);
        assert!(matches!(found(dir.path()), Ok(None)));
        assert!(matches!(
            found(&dir.path().join("file")),
            Err(Errno::NOTDIR)
        ));
    }
}
