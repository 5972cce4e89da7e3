//! Protected paths: what is there is mounted read-only over itself for each command, and what
//! commands put there is moved aside.
//!
//! The launcher alone knows what belongs there: it notes it while no command runs, and holds it
//! open, so that nothing else is given its number. While any command runs that stays as it is. The
//! kernel tells of each name that appears in a directory on the way (inotify(7)); what was not
//! noted is moved away at once, whoever has put it there.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at the protected paths as commands see them"
)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2, readlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::denied::Denied;
use super::fault::{Fault, Step};
use super::mount::{Unattached, find, may_change};
use super::raw_string::RawString;
use crate::aside::{has_only_samples, set_aside};
use crate::autorun::{DOT_GIT, PROTECTED_IN_REPOSITORIES};
use crate::limits::{
    MAX_DENIED, MAX_DENIED_PATH_BYTES, MAX_LINKS_ON_THE_WAY, MAX_SET_ASIDE, SET_ASIDE_WINDOW_MS,
    WATCH_BUFFER_BYTES,
};
use crate::removal;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A path in a read-write directory, and the outermost of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guarded {
    path: PathBuf,
    /// Mounted in the view, so that it cannot be moved.
    root: PathBuf,
}

impl Guarded {
    /// `None` if the path lies in none of these read-write directories.
    pub fn new<'a>(path: &Path, writable: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let root = writable
            .filter(|root| path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len())?;
        Some(Self {
            path: path.into(),
            root: root.into(),
        })
    }

    /// Whether it is the read-write directory itself, which has nothing above it here.
    pub fn is_root(&self) -> bool {
        self.path == self.root
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn root(&self) -> &Path {
        &self.root
    }

    /// Makes what is at these paths read-only in the mount namespace of this process. Of neighbours
    /// the directory is looked for once.
    ///
    /// The mount moves with the file or directory. The supervisor moves no directory above it
    /// (`opens`), so that the next command finds it in its place.
    pub fn hold<'a>(all: impl Iterator<Item = &'a Self>) -> Result<(), Fault> {
        let (mut last, mut copies) = (None, Vec::new());
        let attach = |copies: &mut Vec<Unattached>| {
            copies
                .drain(..)
                .try_for_each(Unattached::attach)
                .step("make protected paths read-only")
        };
        for guarded in all {
            let above = (guarded.root(), guarded.path().parent());
            if last.as_ref().is_none_or(|(known, _)| *known != above) {
                let dir = descend(guarded).or_else(|_| {
                    // So many descriptors cannot be had at once.
                    attach(&mut copies)?;
                    descend(guarded)
                        .step_with(|| format!("find the directory of `{}`", guarded.path.display()))
                });
                last = Some((above, dir?));
            }
            if let Some(((_, Some(dir)), name)) = last.as_ref().zip(guarded.path().file_name()) {
                let copy = || -> io::Result<Option<Unattached>> {
                    let there = find(dir, name, OFlags::NOFOLLOW)?;
                    there.map(Unattached::of).transpose()
                };
                let found = copy().or_else(|_| {
                    // So many descriptors cannot be had at once.
                    attach(&mut copies)?;
                    copy().step_with(|| format!("make `{}` read-only", guarded.path.display()))
                });
                copies.extend(found?);
            }
        }
        attach(&mut copies)
    }
}

/// What was somewhere, held open. A link is itself.
#[derive(Debug)]
struct Held {
    fd: OwnedFd,
    kind: FileType,
    id: (u64, u64),
}

impl Held {
    /// `None` if there is nothing.
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

/// Where the lookup of a path ends, or goes on elsewhere by a link.
#[derive(Debug)]
struct Spot {
    dir: OwnedFd,
    name: OsString,
    /// Without links.
    place: PathBuf,
    there: Option<Held>,
}

impl Spot {
    fn set_aside(&self) {
        if !set_aside(&self.dir, &self.name) {
            tracing::warn!(
                "what was put in place of the protected `{}` is still there",
                self.place.display()
            );
        }
    }
}

/// Names to be told of, each with the watch of its directory; an empty one stands for all.
type Names = Vec<(i32, OsString)>;

#[derive(Debug)]
struct Watched {
    guarded: Guarded,
    /// What was where the path led to when no command ran: more than one place if there is a link
    /// on the way.
    noted: Vec<(PathBuf, Option<Held>)>,
    /// Of the directories in which names concern it.
    watches: Vec<i32>,
    /// Whether anything of the path was there, below the read-write directory.
    is_begun: bool,
    /// A directory may stand there, and is not protected.
    bears_directory: bool,
    /// It has to be noted again.
    is_stale: bool,
    /// The number of the last appearance of something else.
    appeared: u64,
}

/// Holds all protected paths to what was noted.
#[derive(Debug)]
pub struct Watcher {
    events: OwnedFd,
    writable: Vec<PathBuf>,
    paths: Vec<Watched>,
    /// Which names in which watched directory concern which of the paths.
    names: HashMap<i32, Vec<(OsString, usize)>>,
    appearances: u64,
    /// Something may have appeared that the kernel could not tell of.
    is_unsettled: bool,
    /// Since when appearances are counted, and how many there were.
    burst: (Instant, usize),
}

impl Watcher {
    /// Watches nothing yet, in these read-write directories. To be called before this process
    /// enters the user namespace of commands: what they watch is counted there, and cannot use up
    /// what this one may.
    pub fn new<'a>(writable: impl Iterator<Item = &'a Path>) -> Result<Self, Fault> {
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

    /// Protects these paths, too, as far as they lie in one of the read-write directories. What is
    /// there now is noted.
    ///
    /// If one cannot be looked at, all are known nevertheless, and no command begins before they
    /// were noted ([`Self::note_all`]).
    pub fn guard<'a>(&mut self, paths: impl Iterator<Item = &'a Path>) -> Result<(), Fault> {
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
            self.paths.extend(guarded.map(|guarded| Watched {
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

    /// Removes a directory of which a command has left nothing but protected paths of a repository.
    /// They stay protected.
    pub fn remove(&mut self, path: &Path) -> Result<(), Errno> {
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
        // Nothing takes their places: what is not watched yet is from here on.
        let paths: Vec<PathBuf> = parts.iter().map(|part| path.join(part)).collect();
        self.guard(paths.iter().map(PathBuf::as_path))
            .map_err(|_| Errno::BUSY)?;
        // A file there could lead git to another repository.
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

    pub fn into_writable(self) -> Vec<PathBuf> {
        self.writable
    }

    /// No command runs any more: moves away what was not noted, if [`Self::settle`] could not.
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

    /// As [`Self::sweep`]; a failure holds up the next command.
    pub fn sweep_or_warn(&mut self) {
        if let Err(fault) = self.sweep() {
            tracing::warn!("what commands put at protected paths may still be there: {fault}");
        }
    }

    /// No command runs: notes again what is where something has changed.
    pub fn note_all(&mut self) -> Result<(), Fault> {
        self.sweep()?;
        while let Some(touched) = self.told()? {
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

    /// Commands run: moves away what was not noted. Why all of them have to be ended, if they have.
    pub fn settle(&mut self) -> Option<Denied> {
        let settled = self.settle_touched();
        self.is_unsettled |= settled.is_err();
        let unwatched = |fault: Fault| Denied::Unwatched(fault.to_string().into());
        settled
            .map_err(unwatched)
            .map_or_else(Some, |is_attack| is_attack.then_some(Denied::Repeated))
    }

    /// The number of the last appearance.
    pub fn appearances(&self) -> u64 {
        self.appearances
    }

    /// The paths at which something has appeared since this number, as far as can be told.
    pub fn appeared_since(&self, number: u64) -> Vec<RawString> {
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

    /// What each command has to hold: nothing where no name of the path is there.
    pub fn places(&self) -> Vec<Guarded> {
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

    /// `None` if the path lies in none of the read-write directories.
    pub fn guarded(&self, path: &Path) -> Option<Guarded> {
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

    /// Whether too much has appeared.
    fn settle_touched(&mut self) -> Result<bool, Fault> {
        let mut is_attack = false;
        while let Some(touched) = self.told()? {
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
                // What has gone may be changed elsewhere, so it does not belong here any more.
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
                // Before the look: what comes later is told.
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
            // Commands that begin later have not done it.
            self.burst.1 = 0;
        }
        Ok(is_attack)
    }

    /// Goes the way that the kernel would go, link by link, and has it tell of every name that is
    /// looked up on the way. Whether there is a way, be it only its first name.
    fn look_up(&self, guarded: &Guarded) -> Result<(Vec<Spot>, Names, bool), Fault> {
        let fault = || format!("look at the protected `{}`", guarded.path().display());
        let (mut spots, mut names, mut links) = (Vec::new(), Vec::new(), 0);
        let mut dir = open(guarded.root(), DIRECTORY, Mode::empty()).step_with(fault)?;
        let mut place = guarded.root().to_owned();
        let mut rest: Vec<OsString> = Vec::new();
        let go_on = |path: &Path, rest: &mut Vec<OsString>| {
            rest.extend(
                path.components()
                    .rev()
                    .map(|part| part.as_os_str().to_owned()),
            );
        };
        go_on(
            guarded
                .path()
                .strip_prefix(guarded.root())
                .unwrap_or(Path::new("")),
            &mut rest,
        );
        while let Some(name) = rest.pop() {
            if name == "/" || name == ".." {
                dir = openat(&dir, &name, DIRECTORY, Mode::empty()).step_with(fault)?;
                place = if name == "/" {
                    name.into()
                } else {
                    place.parent().unwrap_or(&place).into()
                };
                continue;
            }
            let is_open = self.writable.iter().any(|root| place.starts_with(root));
            if is_open {
                names.extend(watch(&self.events, &dir)?.map(|watch| (watch, name.clone())));
            }
            let found = Held::find(&dir, &name).step_with(fault)?;
            let kind = found.as_ref().map(|found| found.kind);
            let next = match &found {
                Some(found) if kind == Some(FileType::Symlink) && links < MAX_LINKS_ON_THE_WAY => {
                    let to = readlinkat(&found.fd, "", Vec::new()).step_with(fault)?;
                    links += 1;
                    Some(OsString::from_vec(to.into_bytes()))
                }
                _ => None,
            };
            // What a link on the way leads to may lie where no rule of the file tools looks.
            if is_open && (rest.is_empty() || kind == Some(FileType::Symlink)) {
                let dir = dir.try_clone().step_with(fault)?;
                spots.push(Spot {
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
                Some(to) => go_on(Path::new(&to), &mut rest),
                None => break,
            }
        }
        let is_begun =
            links > 0 || place != guarded.root() || spots.iter().any(|spot| spot.there.is_some());
        Ok((spots, names, is_begun))
    }

    /// These names, and no others, concern this path.
    fn register(&mut self, index: usize, names: Names) {
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
                // It fails where the directory has gone, and the watch with it.
                let _ = inotify::remove_watch(&self.events, watch);
            }
        }
    }

    /// Which paths the kernel has something to tell about: as many as one look brings, `None` if
    /// there is nothing.
    fn told(&self) -> Result<Option<BTreeSet<usize>>, Fault> {
        let mut buffer = [MaybeUninit::uninit(); WATCH_BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut touched = BTreeSet::new();
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    touched.extend(0..self.paths.len())
                }
                Ok(event) => {
                    let known = self.names.get(&event.wd()).zip(event.file_name());
                    for (known, name) in known
                        .into_iter()
                        .flat_map(|(known, name)| known.iter().map(move |k| (k, name)))
                    {
                        // There are file systems that look at no letter case.
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

/// Readable when there is something to settle.
impl AsFd for Watcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

/// Has the kernel tell of names that come and go in a directory. `None` for one in which no command
/// can do anything.
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
    fn what_could_not_be_looked_at_is_known_and_holds_up_commands() {
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
