//! What a search is about: a directory, globs, exclusions and file types turned into walks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::Call;
use super::error::SearchError;
use super::types::FileTypes;
use crate::budget::{Room, Share};
use crate::fs::{self, Order, WalkOptions};
use crate::limits::{GLOB_BYTES_PER_BYTE, MAX_WALK_DEPTH};
use crate::policy::{Checked, Kind, Policy, PolicyError, Read};
use crate::text::glob::{self, GlobError, GlobMatcher, escape, few_enough, fixed_prefix, is_glob};

/// What to look for, as an agent says it.
#[derive(Debug, Default)]
pub struct Asked<'a> {
    /// Where relative globs begin, and where everything is taken without globs. Relative globs begin at the project
    /// directory when it is left out.
    pub directory: Option<Checked<Read>>,
    /// `None` takes everything below the directory.
    pub globs: Option<&'a [String]>,
    /// What to leave out.
    pub exclude: &'a [String],
    /// Names of file types, of which a file has to be one; empty for any.
    pub types: &'a [String],
    /// Leave out what `.gitignore` files name.
    pub respect_gitignore: bool,
    /// Where the memory of the globs is taken from, and what says that nobody wants the answer any more.
    pub room: Option<Room<'a>>,
}

/// Where to walk and what to take.
#[derive(Debug)]
pub struct Scope {
    starts: Vec<Start>,
    overlaps: bool,
    names_files: bool,
    exclude: Exclude,
    types: Option<FileTypes>,
    respect_gitignore: bool,
    /// What the globs take of the budget.
    _share: Share,
}

/// A directory to walk.
#[derive(Debug)]
pub struct Start {
    pub(super) dir: Checked<Read>,
    /// What stands before the path of an entry: the directory as it was asked for, and a slash.
    pub(super) prefix: Vec<u8>,
    /// What is taken there; `None` takes everything.
    globs: Option<GlobMatcher>,
    /// Levels below it where anything can match.
    max_depth: usize,
}

impl Scope {
    /// Compiles the globs and opens the directories where they begin; what is not there matches nothing.
    pub fn new(policy: &Policy, mut asked: Asked<'_>) -> Result<Self, SearchError> {
        let exclude = Exclude::new(asked.exclude, asked.room)?;
        let share = held("globs", asked.globs.unwrap_or_default(), asked.room)?;
        let types = if asked.types.is_empty() { None } else { Some(FileTypes::new(asked.types)?) };
        let globs = asked.globs;
        let mut starts = if let Some(globs) = globs {
            starts(policy, globs, &mut asked, &exclude)?
        } else {
            let dir = match asked.directory {
                Some(dir) => dir,
                None => policy.read(".")?,
            };
            vec![Start::new(dir, None, MAX_WALK_DEPTH)]
        };
        starts.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let overlaps = starts.windows(2).any(|pair| pair[1].prefix.starts_with(&pair[0].prefix));
        let names_files = globs.is_some_and(|globs| !globs.iter().any(|glob| is_glob(glob)));
        let respect_gitignore = asked.respect_gitignore;
        Ok(Self { starts, overlaps, names_files, exclude, types, respect_gitignore, _share: share })
    }

    /// Where the search begins, if that is one place: what stands before the path of what is found.
    pub fn root(&self) -> Option<&[u8]> {
        match &*self.starts {
            [start] => Some(&start.prefix),
            _ => None,
        }
    }

    /// In the order of their paths.
    pub(super) fn starts(&self) -> &[Start] {
        &self.starts
    }

    /// Where it begins, open, for who searches no more.
    pub(super) fn into_directories(self) -> impl Iterator<Item = Checked<Read>> {
        self.starts.into_iter().map(|start| start.dir)
    }

    /// Whether one start lies below another, so that what is found is neither in order nor found once.
    pub(super) fn overlaps(&self) -> bool {
        self.overlaps
    }

    pub(super) fn walk_options<'a>(&self, start: &Start, call: Call<'a>) -> WalkOptions<'a> {
        WalkOptions {
            threads: None,
            order: Order::Paths,
            max_depth: start.max_depth,
            respect_gitignore: self.respect_gitignore,
            above: &[],
            account: call.account,
            cancel: call.cancel,
        }
    }

    /// Whether a directory below a start can hold anything.
    pub(super) fn enters(&self, rel: &[u8]) -> bool {
        !self.exclude.prunes(rel)
    }

    /// Whether an entry below a start belongs to the scope.
    pub(super) fn holds(&self, start: &Start, rel: &[u8]) -> bool {
        start.globs.as_ref().is_none_or(|globs| globs.is_match(rel))
            && self.types.as_ref().is_none_or(|types| types.holds(name_of(rel)))
            && !self.exclude.matches(rel)
    }

    /// Whether every file of it was named: its globs are paths.
    pub(super) fn names_files(&self) -> bool {
        self.names_files
    }
}

impl Start {
    /// Whether anything below a directory can match.
    pub(super) fn is_above(&self, rel: &[u8]) -> bool {
        memchr::memchr_iter(b'/', rel).count() + 1 < self.max_depth
    }

    fn new(dir: Checked<Read>, globs: Option<GlobMatcher>, max_depth: usize) -> Self {
        let mut prefix = dir.shown().as_os_str().as_bytes().to_vec();
        if !prefix.ends_with(b"/") {
            prefix.push(b'/');
        }
        Self { dir, prefix, globs, max_depth }
    }
}

/// Where to walk, and what to take there: one walk for all globs that begin at the same place, or below it.
fn starts(
    policy: &Policy,
    globs: &[String],
    asked: &mut Asked<'_>,
    exclude: &Exclude,
) -> Result<Vec<Start>, SearchError> {
    let (base, room) = (&mut asked.directory, asked.room);
    let wanted = || match room {
        Some(room) if room.cancel.is_cancelled() => Err(SearchError::Cancelled),
        _ => Ok(()),
    };
    let mut rests: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for (index, glob) in globs.iter().enumerate() {
        // By itself first, so that the error can say which one it is.
        glob::check(glob).map_err(|source| bad_glob("globs", index, source))?;
        let prefix = fixed_prefix(glob);
        let rest = glob[prefix.len()..].trim_start_matches('/');
        let start = match base {
            Some(base) => base.shown().join(prefix),
            None if prefix.is_empty() => policy.absolute(".")?,
            None => policy.absolute(prefix)?,
        };
        rests.entry(start).or_default().push(rest.to_owned());
    }
    let mut found: Vec<(Checked<Read>, Vec<String>)> = Vec::new();
    for (start, rests) in rests {
        wanted()?;
        let is_base = |base: &mut Checked<Read>| base.shown() == start;
        let dir = match base.take_if(is_base).map_or_else(|| policy.read(&start), Ok) {
            // Inside, and nothing there: the globs match nothing.
            Err(PolicyError::NotFound { .. } | PolicyError::NotADirectory { .. }) => continue,
            dir => dir?,
        };
        if dir.kind() != Kind::Directory {
            continue;
        }
        // An exclusion with a slash is a path below the start, so it would mean something else there.
        let above = found.iter_mut().filter(|_| exclude.paths.is_empty()).find_map(|(above, globs)| {
            let way = plain_way(above, &start)?;
            Some((globs, way))
        });
        match above {
            Some((globs, way)) => {
                let way = escape(&way);
                globs.extend(rests.iter().map(|rest| format!("{way}/{rest}")));
            }
            None => found.push((dir, rests)),
        }
    }
    let start = |(dir, globs): (Checked<Read>, Vec<String>)| {
        wanted()?;
        let matcher = GlobMatcher::new(&globs, false).map_err(|source| bad_glob("globs", 0, source))?;
        // Only `**` matches a slash that is not written.
        let levels = |glob: &String| {
            if glob.contains("**") { MAX_WALK_DEPTH } else { glob.matches('/').count() + 1 }
        };
        let max_depth = globs.iter().map(levels).max().unwrap_or(MAX_WALK_DEPTH);
        Ok(Start::new(dir, Some(matcher), max_depth))
    };
    found.into_iter().map(start).collect()
}

/// The way from an open directory down to `path`, if a walk from there goes it: no link and no `..` lies on it.
fn plain_way(above: &Checked<Read>, path: &Path) -> Option<String> {
    let way = path.strip_prefix(above.shown()).ok()?;
    let plain = way.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && fs::is_plain_way(above, way.as_os_str().as_bytes())).then(|| way.to_str().map(str::to_owned))?
}

/// What globs take of the budget once they are compiled, if they are few enough for that.
fn held(parameter: &'static str, globs: &[String], room: Option<Room<'_>>) -> Result<Share, SearchError> {
    few_enough(globs).map_err(|source| SearchError::Globs { parameter, source })?;
    let Some(room) = room else { return Ok(Share::default()) };
    let mut share = room.share();
    room.cover(&mut share, globs.iter().map(String::len).sum::<usize>() * GLOB_BYTES_PER_BYTE)?;
    Ok(share)
}

fn bad_glob(parameter: &str, index: usize, source: GlobError) -> SearchError {
    SearchError::Glob { parameter: format!("{parameter}[{index}]"), source }
}

/// The last name of a path.
pub(super) fn name_of(rel: &[u8]) -> &OsStr {
    OsStr::from_bytes(rel.rsplit(|&byte| byte == b'/').next().unwrap_or(rel))
}

pub(super) fn to_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// What to leave out. A glob without a slash is a name at any depth, as in `.gitignore`; one with a slash is matched
/// against the path below the start of the walk.
#[derive(Debug)]
pub struct Exclude {
    names: GlobMatcher,
    paths: GlobMatcher,
    /// Directories of which everything is left out (`dir/**`), so that they need not be gone into.
    whole: GlobMatcher,
    _share: Share,
}

impl Exclude {
    /// Compiles globs; an error names the one that is none, as a part of `excludeGlobs`.
    pub fn new(globs: &[String], room: Option<Room<'_>>) -> Result<Self, SearchError> {
        let share = held("excludeGlobs", globs, room)?;
        for (index, glob) in globs.iter().enumerate() {
            glob::check(glob).map_err(|source| bad_glob("excludeGlobs", index, source))?;
        }
        let (paths, names): (Vec<&str>, Vec<&str>) =
            globs.iter().map(|glob| glob.trim_end_matches('/')).partition(|glob| glob.contains('/'));
        let whole: Vec<&str> = paths.iter().filter_map(|glob| glob.strip_suffix("/**")).collect();
        let compile =
            |globs: &[&str]| GlobMatcher::new(globs, false).map_err(|source| bad_glob("excludeGlobs", 0, source));
        Ok(Self { names: compile(&names)?, paths: compile(&paths)?, whole: compile(&whole)?, _share: share })
    }

    /// Whether an entry, by its path below the start, is left out.
    pub fn matches(&self, rel: &[u8]) -> bool {
        (!self.names.is_empty() && self.names.is_match(name_of(rel).as_bytes()))
            || (!self.paths.is_empty() && self.paths.is_match(rel))
    }

    fn prunes(&self, rel: &[u8]) -> bool {
        self.matches(rel) || (!self.whole.is_empty() && self.whole.is_match(rel))
    }
}
