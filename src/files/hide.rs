//! Hidden paths (`--hide`): patterns, matched by name at every lookup.
//!
//! A *place* is a canonical position: the canonical path of an allowed directory and real names
//! below it.
#![expect(
    clippy::disallowed_methods,
    reason = "looks below the allowed directories by handles, for what is hidden there"
)]

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use replay_base::limits::MAX_HIDDEN_DEPTH;
use replay_base::mounts::{self, Mount, Position};

/// Hidden files with other names that are known by their numbers.
const MAX_HIDDEN_LINKS: usize = 10_000;
/// Hidden files that a git repository has in its history and that are named at the start.
const MAX_TRACKED_HIDDEN: usize = 10;
/// Largest index of a git repository that is searched for hidden files, in bytes.
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// A set of compiled globs; returns true if one of them matches a path.
pub type Globs = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;
/// Compiles globs, case-insensitive; an invalid glob is an error with the reason.
pub type GlobsOf = fn(&[String]) -> Result<Globs, String>;

/// A device and an inode number.
type Id = (u64, u64);

const LIST: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Hidden paths below some directories.
pub struct Hide {
    roots: Vec<PathBuf>,
    /// Patterns of names at any depth.
    names: Option<Globs>,
    /// Patterns of paths below a root.
    places: Option<Globs>,
    /// Source text of `places`.
    place_globs: Vec<String>,
    /// Patterns of directories on the way to those paths.
    ways: Option<Globs>,
    pub found: SurveyResult,
    /// `true` if device numbers are ignored: an overlay has others than its lower layer.
    pub on_any_device: bool,
}

/// Hidden files and directories that the survey at the start found, beyond names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SurveyResult {
    /// Pairs of directories that are the same by bind mounts.
    pub aliases: Vec<(PathBuf, PathBuf)>,
    /// Targets of symlinks with hidden names, and other hard links of hidden files.
    pub targets: Vec<PathBuf>,
    /// Inodes of hidden files with several hard links.
    pub ids: BTreeSet<Id>,
    /// Hidden files in the index of a git repository; only the first ones.
    pub tracked: Vec<PathBuf>,
}

impl fmt::Debug for Hide {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Hide")
            .field("roots", &self.roots)
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

impl Hide {
    /// Compiles the operator's patterns. Without a slash a pattern is a name at any depth, with one
    /// a path below a root.
    pub fn new(
        patterns: &[String],
        roots: Vec<PathBuf>,
        globs_of: GlobsOf,
    ) -> Result<Self, String> {
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match Self::parse_pattern(pattern, &roots)? {
                ParsedPattern::Name(glob) => names.push(glob),
                ParsedPattern::Place(glob) => places.push(glob),
            }
        }
        let globs = |all: &[String]| {
            if all.is_empty() {
                Ok(None)
            } else {
                globs_of(all).map(Some)
            }
        };
        let ways: Vec<String> = places
            .iter()
            .flat_map(|place| directory_globs(place))
            .collect();
        let (names, place_globs, places, ways) = (
            globs(&names)?,
            places.clone(),
            globs(&places)?,
            globs(&ways)?,
        );
        let hide = Self {
            roots,
            names,
            places,
            place_globs,
            ways,
            found: SurveyResult::default(),
            on_any_device: false,
        };
        let is_named = |root: &Path| {
            root.file_name()
                .is_some_and(|name| hide.names_entry(name.as_bytes()))
        };
        if let Some(root) = hide
            .roots
            .iter()
            .find(|root| is_named(root) || hide.hides(root))
        {
            let root = root.display();
            return Err(format!(
                "it would hide `{root}`, an allowed directory; name what is in it, or do not allow it"
            ));
        }
        Ok(hide)
    }

    fn parse_pattern(pattern: &str, roots: &[PathBuf]) -> Result<ParsedPattern, String> {
        check_spelling(pattern)?;
        let mut glob = pattern;
        if glob.starts_with('/') {
            let below = roots
                .iter()
                .filter_map(|root| glob.strip_prefix(root.to_str()?)?.strip_prefix('/'));
            let shortest = below.min_by_key(|below| below.len());
            glob =
                shortest.ok_or_else(|| format!("`{pattern}` is a path in no allowed directory"))?;
            return Ok(ParsedPattern::Place(without_end(glob).to_owned()));
        }
        if let Some(anchored) = glob.strip_prefix("./") {
            return Ok(ParsedPattern::Place(without_end(anchored).to_owned()));
        }
        let place = without_end(glob);
        let mut name = place;
        while let Some(anywhere) = name.strip_prefix("**/") {
            name = anywhere;
        }
        Ok(if name.contains('/') {
            ParsedPattern::Place(place.to_owned())
        } else {
            ParsedPattern::Name(name.to_owned())
        })
    }

    /// Returns true if a directory entry has a hidden name, in any directory.
    pub fn names_entry(&self, name: &[u8]) -> bool {
        self.names.as_ref().is_some_and(|names| names(name))
    }

    /// Returns true if names alone do not decide.
    pub fn asks_for_places(&self) -> bool {
        self.places.is_some() || !self.found.targets.is_empty() || !self.found.aliases.is_empty()
    }

    /// Returns true if a place is hidden, or lies in a hidden directory.
    pub fn hides(&self, place: &Path) -> bool {
        self.is_at(place, true)
    }

    /// Returns true if a place is hidden by its path, not by names alone. Elsewhere it would be
    /// visible.
    fn hides_by_place(&self, place: &Path) -> bool {
        self.is_at(place, false)
    }

    fn is_at(&self, place: &Path, with_names: bool) -> bool {
        self.matches(place, with_names)
            || self
                .elsewhere(place)
                .any(|place| self.matches(&place, with_names))
    }

    /// Returns true if a hidden path leads through this place, existing or not. A different
    /// directory there would change the meaning of the hidden path.
    pub fn is_on_the_way(&self, place: &Path) -> bool {
        let below = |place: &Path, root: &PathBuf| {
            let Ok(below) = place.strip_prefix(root) else {
                return false;
            };
            self.ways
                .as_ref()
                .is_some_and(|ways| ways(below.as_os_str().as_bytes()))
        };
        let is_way = |place: &Path| {
            self.found
                .targets
                .iter()
                .any(|target| target.starts_with(place))
                || self.roots.iter().any(|root| below(place, root))
        };
        is_way(place) || self.elsewhere(place).any(|place| is_way(&place))
    }

    /// Aliases of the same place by mounts.
    fn elsewhere(&self, place: &Path) -> impl Iterator<Item = PathBuf> {
        let pairs = self
            .found
            .aliases
            .iter()
            .flat_map(|(one, other)| [(one, other), (other, one)]);
        pairs.filter_map(move |(here, there)| Some(there.join(place.strip_prefix(here).ok()?)))
    }

    fn matches(&self, place: &Path, with_names: bool) -> bool {
        let names = self.names.as_ref().filter(|_| with_names);
        let one = |below: &[u8]| {
            let mut start = 0;
            memchr::memchr_iter(b'/', below)
                .chain([below.len()])
                .any(|end| {
                    let name = &below[start..end];
                    start = end + 1;
                    !name.is_empty()
                        && (names.is_some_and(|names| names(name))
                            || self
                                .places
                                .as_ref()
                                .is_some_and(|places| places(&below[..end])))
                })
        };
        self.found
            .targets
            .iter()
            .any(|target| place.starts_with(target))
            || self
                .roots
                .iter()
                .filter_map(|root| place.strip_prefix(root).ok())
                .any(|p| one(p.as_os_str().as_bytes()))
    }

    /// Returns true if the file had a hidden name and another hard link at the start.
    pub fn is_known(&self, (device, inode): Id) -> bool {
        if self.on_any_device {
            self.may_be_known(inode)
        } else {
            self.found.ids.contains(&(inode, device))
        }
    }

    /// Like [`Self::is_known`], with only the inode number of a directory entry.
    pub fn may_be_known(&self, inode: u64) -> bool {
        self.found
            .ids
            .range((inode, 0)..=(inode, u64::MAX))
            .next()
            .is_some()
    }

    /// Returns true if a directory contains a hidden entry, or if that cannot be determined. With
    /// `by_place`, considers only entries that would be visible if the directory were elsewhere.
    pub fn holds_hidden(&self, dir: impl AsFd, name: &OsStr, place: &Path, by_place: bool) -> bool {
        if by_place && !self.asks_for_places() {
            return false;
        }
        let Ok(top) = openat(dir, name, LIST, Mode::empty()) else {
            return true;
        };
        let is_hidden = |entry: &WalkEntry<'_>| {
            if by_place {
                self.hides_by_place(entry.place)
            } else {
                self.is_hidden_entry(entry)
            }
        };
        !matches!(
            each_below(top, place, &mut |entry| if is_hidden(entry) {
                WalkStep::Stop
            } else {
                WalkStep::Enter
            }),
            Ok(true)
        )
    }

    fn is_hidden_entry(&self, entry: &WalkEntry<'_>) -> bool {
        self.names_entry(entry.name.to_bytes())
            || self.asks_for_places() && self.hides(entry.place)
            || self.may_be_known(entry.inode) && entry.id().is_none_or(|id| self.is_known(id))
    }

    /// Searches the open roots for hidden files that names alone do not identify.
    pub fn survey<'a>(
        &mut self,
        roots: impl Iterator<Item = (&'a Path, BorrowedFd<'a>)>,
    ) -> Result<(), String> {
        let table =
            mounts::table().map_err(|error| format!("what is mounted cannot be known: {error}"))?;
        self.found.aliases = aliases(&self.roots, &table);
        let (mut found, mut hidden) = (
            SurveyResult {
                targets: self.led_to_by_links()?,
                ..SurveyResult::default()
            },
            Vec::new(),
        );
        let roots: Vec<_> = roots.collect();
        for &(place, root) in &roots {
            let Ok(top) = openat(root, ".", LIST, Mode::empty()) else {
                continue;
            };
            let mut inside = None::<PathBuf>;
            let walked = each_below(top, place, &mut |entry| {
                inside = inside.take().filter(|dir| entry.place.starts_with(dir));
                if inside.is_none() && !self.is_hidden_entry(entry) {
                    return WalkStep::Enter;
                }
                match entry.kind {
                    FileType::Directory if inside.is_none() => {
                        inside = Some(entry.place.to_owned());
                    }
                    FileType::Symlink => found.targets.extend(self.led_to(entry.place)),
                    FileType::RegularFile => {
                        hidden.push(entry.place.to_owned());
                        note_link(
                            &mut found.ids,
                            statat(entry.dir, entry.name, AtFlags::SYMLINK_NOFOLLOW),
                        );
                    }
                    _ => {}
                }
                if found.ids.len() > MAX_HIDDEN_LINKS {
                    WalkStep::Stop
                } else {
                    WalkStep::Enter
                }
            });
            if let Ok(false) = walked {
                return Err(format!(
                    "more than {MAX_HIDDEN_LINKS} hidden files have other names (hard links), too"
                ));
            }
        }
        for target in &found.targets {
            note_link(
                &mut found.ids,
                statat(CWD, target, AtFlags::SYMLINK_NOFOLLOW),
            );
        }
        found.tracked = tracked(&self.roots, &hidden);
        self.found = SurveyResult {
            aliases: std::mem::take(&mut self.found.aliases),
            ..found
        };
        self.find_other_names(&roots);
        Ok(())
    }

    /// Finds other hard links of hidden files, so that a change through them is attributed to a
    /// hidden file.
    fn find_other_names(&mut self, roots: &[(&Path, BorrowedFd<'_>)]) {
        if self.found.ids.is_empty() {
            return;
        }
        let mut others = Vec::new();
        for &(place, root) in roots {
            let Ok(top) = openat(root, ".", LIST, Mode::empty()) else {
                continue;
            };
            let _ = each_below(top, place, &mut |entry| {
                let is_other = self.may_be_known(entry.inode)
                    && entry.id().is_some_and(|id| self.is_known(id));
                if is_other && !self.hides(entry.place) {
                    others.push(entry.place.to_owned());
                }
                WalkStep::Enter
            });
        }
        self.found.targets.extend(others);
    }

    /// Resolves symlinks on the way of paths without globs, existing or not. The error for a path
    /// with globs tells what to write instead.
    fn led_to_by_links(&self) -> Result<Vec<PathBuf>, String> {
        let mut targets = Vec::new();
        for (root, glob) in self
            .roots
            .iter()
            .flat_map(|root| self.place_globs.iter().map(move |glob| (root, glob)))
        {
            let (place, rest) = split_names(root, glob);
            let there = place
                .ancestors()
                .find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
            let Some((above, led)) = there else { continue };
            let led = led.join(place.strip_prefix(above).unwrap_or(Path::new("")));
            let led: PathBuf = led.components().collect();
            let is_in = self.roots.iter().any(|root| led.starts_with(root));
            if led == place || !is_in || self.roots.iter().any(|root| root.starts_with(&led)) {
                continue;
            }
            if rest.as_os_str().is_empty() {
                targets.push(led);
            } else {
                let right = led.join(&rest);
                return Err(format!(
                    "`{glob}` leads through a link: write `{}`",
                    right.display()
                ));
            }
        }
        Ok(targets)
    }

    /// Returns the target of a symlink with a hidden name, if the target can be hidden too: not
    /// above an allowed directory.
    fn led_to(&self, link: &Path) -> Option<PathBuf> {
        let target = std::fs::canonicalize(link).ok()?;
        let is_in = self.roots.iter().any(|root| target.starts_with(root));
        (is_in && !self.roots.iter().any(|root| root.starts_with(&target))).then_some(target)
    }
}

enum ParsedPattern {
    Name(String),
    Place(String),
}

/// Rejects a pattern that no path can match.
pub fn check_spelling(pattern: &str) -> Result<(), String> {
    let shown = format!("`{}`", pattern.escape_debug());
    if pattern.trim() != pattern {
        let trimmed = pattern.trim();
        return Err(format!(
            "{shown} has a blank at an end: write `{trimmed}`, and `?` for a blank in a name"
        ));
    }
    if pattern.starts_with("~/") {
        return Err(format!(
            "{shown} has a `~`, which only a shell replaces: write the whole path"
        ));
    }
    if pattern.starts_with('!') {
        return Err(format!(
            "{shown} begins with `!`, which makes no exception: write `\\{pattern}` for that name"
        ));
    }
    let mut braces = 0_usize;
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '[' if letters
                .as_str()
                .split(']')
                .next()
                .is_some_and(|class| class.contains('/') && class != letters.as_str()) =>
            {
                return Err(format!(
                    "{shown} has a slash in brackets: write `\\[` for a bracket in a name"
                ));
            }
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            ',' if braces == 0 => {
                return Err(format!(
                    "{shown} has a comma: give each pattern by itself, and write `?` for a comma in a name"
                ));
            }
            '/' if braces > 0 => {
                return Err(format!(
                    "{shown} has a slash in braces: give each path by itself"
                ));
            }
            _ => {}
        }
    }
    let start = ["./", "/"]
        .into_iter()
        .find(|start| pattern.starts_with(start))
        .unwrap_or_default();
    let path = pattern[start.len()..].trim_end_matches('/');
    let right: Vec<&str> = path
        .split('/')
        .filter(|name| !matches!(*name, "" | "."))
        .collect();
    if right.contains(&"..") {
        return Err(format!(
            "{shown} has a `..`, which no name is: write the path that it leads to"
        ));
    }
    let right = right.join("/");
    match right.as_str() {
        "" => Err(format!(
            "{shown} names nothing: write a name, or a path below an allowed directory"
        )),
        right if right != path => Err(format!(
            "{shown} has an empty name or a `.` in it: write `{start}{right}`"
        )),
        _ => Ok(()),
    }
}

/// Splits a pattern into its leading existing path and the rest. Brackets, braces and backslashes
/// belong to the name if it exists.
fn split_names(root: &Path, glob: &str) -> (PathBuf, PathBuf) {
    let (mut place, mut rest) = (root.to_owned(), PathBuf::new());
    for name in glob.split('/') {
        let is_plain = !name.contains(['[', ']', '{', '}', '\\']);
        let candidates = [name.to_owned(), name.replace('\\', "")];
        let exists =
            |name: &&String| is_plain || std::fs::symlink_metadata(place.join(name)).is_ok();
        let found = candidates
            .iter()
            .find(exists)
            .filter(|_| !name.contains(['*', '?']));
        match found.filter(|_| rest.as_os_str().is_empty()) {
            Some(found) => place.push(found),
            None => rest.push(name),
        }
    }
    (place, rest)
}

/// Returns globs of the directories that a path leads through. Skips a leading `**`, which can be
/// anywhere.
fn directory_globs(place: &str) -> impl Iterator<Item = String> {
    let ends = place
        .match_indices('/')
        .map(|(end, _)| place[..end].to_owned());
    ends.filter(|way| way != "**")
}

/// Strips `/` and `/**` from the end of a pattern: a hidden directory hides its contents anyway.
pub fn without_end(glob: &str) -> &str {
    let mut glob = glob.trim_end_matches('/');
    while let Some(dir) = glob.strip_suffix("/**") {
        glob = dir.trim_end_matches('/');
    }
    glob
}

fn note_link(ids: &mut BTreeSet<Id>, stat: Result<rustix::fs::Stat, Errno>) {
    if let Ok(stat) = stat
        && stat.st_nlink > 1
    {
        ids.insert((stat.st_ino, stat.st_dev));
    }
}

/// Finds directories below the roots that are the same because of bind mounts.
fn aliases(roots: &[PathBuf], table: &[Mount]) -> Vec<(PathBuf, PathBuf)> {
    let of_roots = roots
        .iter()
        .filter_map(|root| Some((root.clone(), Position::of(root, table)?)));
    let inside = table
        .iter()
        .filter(|mount| roots.iter().any(|root| mount.place.starts_with(root)));
    let begins: Vec<_> = of_roots
        .chain(inside.map(|mount| (mount.place.clone(), mount.position())))
        .collect();
    let mut aliases = Vec::new();
    for (place, position) in &begins {
        let same = begins
            .iter()
            .filter_map(|(above, other)| Some(above.join(position.below(other)?)));
        let same = same
            .filter(|same| same != place)
            .map(|same| (place.clone(), same));
        aliases.extend(same);
    }
    aliases.dedup();
    aliases
}

/// An entry that a walk visits.
struct WalkEntry<'a> {
    dir: BorrowedFd<'a>,
    name: &'a CStr,
    place: &'a Path,
    kind: FileType,
    inode: u64,
}

impl WalkEntry<'_> {
    fn id(&self) -> Option<Id> {
        statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW)
            .ok()
            .map(|stat| (stat.st_dev, stat.st_ino))
    }
}

enum WalkStep {
    /// Continue, and enter the entry if it is a directory.
    Enter,
    Stop,
}

/// Visits all entries below a directory without following symlinks. Returns true if the walk was
/// complete; fails if a directory could not be read.
fn each_below(
    top: OwnedFd,
    place: &Path,
    visit: &mut dyn FnMut(&WalkEntry<'_>) -> WalkStep,
) -> io::Result<bool> {
    let mut fault = None;
    let mut stack = vec![(Dir::new(top)?, place.to_owned())];
    while let Some((dir, place)) = stack.last_mut() {
        let Some(entry) = dir.read() else {
            stack.pop();
            continue;
        };
        let entry = entry?;
        let (name, mut kind) = (entry.file_name(), entry.file_type());
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let fd = dir.fd()?;
        if kind == FileType::Unknown {
            kind = statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let below = place.join(OsStr::from_bytes(name.to_bytes()));
        let found = WalkEntry {
            dir: fd,
            name,
            place: &below,
            kind,
            inode: entry.ino(),
        };
        if let WalkStep::Stop = visit(&found) {
            return Ok(false);
        }
        if kind != FileType::Directory {
            continue;
        }
        match enter(fd, name) {
            Ok(Some(_)) if stack.len() >= MAX_HIDDEN_DEPTH => fault = Some(Errno::NAMETOOLONG),
            Ok(Some(opened)) => stack.push((Dir::new(opened)?, below)),
            Ok(None) => {}
            Err(errno) => fault = Some(errno),
        }
    }
    fault.map_or(Ok(true), |errno| Err(errno.into()))
}

/// Opens a directory; `None` if it is gone, not a directory, or on a kernel filesystem.
fn enter(dir: BorrowedFd<'_>, name: &CStr) -> Result<Option<OwnedFd>, Errno> {
    let opened = match openat(dir, name, LIST, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        opened => opened?,
    };
    let is_mounted = fstat(&opened)?.st_dev != fstat(dir)?.st_dev;
    Ok((!is_mounted || !mounts::is_kernels(&opened).unwrap_or(true)).then_some(opened))
}

/// Returns the hidden files that the git index above them lists; only the first ones. Index version
/// 4 compresses names, so fewer are found.
fn tracked(roots: &[PathBuf], hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut indexes: Vec<(&Path, Vec<u8>)> = Vec::new();
    let mut found = Vec::new();
    for path in hidden {
        let above = path
            .ancestors()
            .skip(1)
            .filter(|dir| roots.iter().any(|root| dir.starts_with(root)));
        for dir in above {
            if !indexes.iter().any(|(known, _)| *known == dir) {
                indexes.push((dir, index(dir)));
            }
            let (Some((_, index)), Ok(below)) = (
                indexes.iter().find(|(known, _)| *known == dir),
                path.strip_prefix(dir),
            ) else {
                continue;
            };
            let entry = [below.as_os_str().as_bytes(), b"\0"].concat();
            if memchr::memmem::find(index, &entry).is_some() {
                found.push(path.clone());
                break;
            }
        }
        if found.len() >= MAX_TRACKED_HIDDEN {
            break;
        }
    }
    found
}

/// Reads the index of the repository in this directory; empty if it cannot be read.
fn index(dir: &Path) -> Vec<u8> {
    let path = dir.join(".git/index");
    let is_small = std::fs::symlink_metadata(&path)
        .is_ok_and(|found| found.is_file() && found.len() <= MAX_INDEX_BYTES);
    if is_small {
        std::fs::read(&path).unwrap_or_default()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
