//! Scope of a search: a directory, globs, exclusions and file types, turned into walks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use replay_base::budget::{Room, Share};
use replay_base::limits::{GLOB_BYTES_PER_BYTE, MAX_WALK_DEPTH};
use replay_base::text::glob::{GlobError, GlobMatcher, Reading, escape, few_enough};
use replay_files::fs::{self, Order, WalkOptions};
use replay_files::policy::{Checked, FileKind, Policy, PolicyError, Read, Root};

use super::Call;
use super::error::SearchError;
use super::types::FileTypes;
use super::used_glob::UsedGlob;

/// Search request of an agent.
#[derive(Debug, Default)]
pub struct SearchRequest<'a> {
    /// Base of relative globs, and the directory to search if there are no globs. Defaults to the
    /// project directory for relative globs.
    pub directory: Option<Checked<Read>>,
    /// `None` takes everything below the directory.
    pub globs: Option<&'a [String]>,
    /// Globs to exclude.
    pub exclude: &'a [String],
    /// Names of file types, of which a file has to be one; empty for any.
    pub types: &'a [String],
    /// Leave out what `.gitignore` files name.
    pub skip_ignored: bool,
    /// Memory budget of the globs, and the cancel token.
    pub room: Option<Room<'a>>,
}

/// Starts of the walks, and the filters.
#[derive(Debug)]
pub struct Scope {
    starts: Vec<Start>,
    globs: Arc<[Arc<UsedGlob>]>,
    overlaps: bool,
    names_files: bool,
    exclude: Exclude,
    types: Option<FileTypes>,
    skip_ignored: bool,
    /// Share of the memory budget that the globs take.
    _share: Share,
}

/// A directory to walk.
#[derive(Debug)]
pub struct Start {
    pub(super) dir: Checked<Read>,
    /// Prefix of the entries' paths: the directory as requested, and a slash.
    pub(super) prefix: Vec<u8>,
    /// Path from the directory of the search to this one, and a slash; empty where they are the
    /// same or lie apart.
    way: Vec<u8>,
    /// Directories above it whose `.gitignore` files apply, with the way from there.
    above: Vec<(Checked<Read>, Vec<u8>)>,
    /// Globs to include; `None` includes everything.
    globs: Option<GlobMatcher>,
    /// Globs whose first match is noted.
    watched: Vec<(Arc<UsedGlob>, GlobMatcher)>,
    /// Levels below it where anything can match.
    max_depth: usize,
}

impl Scope {
    /// Compiles the globs and opens the directories where they begin. A missing directory matches
    /// no entry.
    pub fn new(policy: &Policy, mut asked: SearchRequest<'_>) -> Result<Self, SearchError> {
        let base = match &asked.directory {
            Some(dir) => dir.display_path().to_owned(),
            None => policy.absolute(".").unwrap_or_default(),
        };
        let exclude = Exclude::new(policy, &base, asked.exclude, asked.room)?;
        let types = if asked.types.is_empty() {
            None
        } else {
            Some(FileTypes::new(asked.types)?)
        };
        let globs: Arc<[_]> = read(policy, &asked)?.into();
        let bytes = |glob: &Arc<UsedGlob>| glob.rest.len() * (1 + usize::from(glob.is_watched()));
        let share = cover(globs.iter().map(bytes).sum(), asked.room)?;
        let names_files = asked.globs.is_some() && globs.iter().all(|glob| glob.is_path);
        let mut starts = if asked.globs.is_some() {
            starts(policy, &globs, &mut asked, &exclude)?
        } else {
            let dir = match asked.directory {
                Some(dir) => dir,
                None => policy.read(".")?,
            };
            vec![Start::new(dir, None, MAX_WALK_DEPTH)]
        };
        starts.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        for start in &mut starts {
            start.way = way(&base, start.dir.display_path());
            if asked.skip_ignored {
                start.above = directories_above(policy, start.dir.display_path());
            }
        }
        let overlaps = starts
            .windows(2)
            .any(|pair| pair[1].prefix.starts_with(&pair[0].prefix));
        let skip_ignored = asked.skip_ignored;
        Ok(Self {
            starts,
            globs,
            overlaps,
            names_files,
            exclude,
            types,
            skip_ignored,
            _share: share,
        })
    }

    /// The globs in the order given; none if there are none.
    pub fn globs(&self) -> Arc<[Arc<UsedGlob>]> {
        Arc::clone(&self.globs)
    }

    /// Returns the path prefix of the results if the search has a single start.
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

    /// Returns the open directories of the starts, and ends the search.
    pub(super) fn into_directories(self) -> impl Iterator<Item = Checked<Read>> {
        self.starts.into_iter().map(|start| start.dir)
    }

    /// Returns true if one start lies below another. Then results are out of order and may occur
    /// twice.
    pub(super) fn overlaps(&self) -> bool {
        self.overlaps
    }

    pub(super) fn walk_options<'a>(&self, start: &'a Start, call: Call<'a>) -> WalkOptions<'a> {
        WalkOptions {
            threads: None,
            order: Order::Paths,
            max_depth: start.max_depth,
            skip_ignored: self.skip_ignored,
            above: &start.above,
            account: call.account,
            cancel: call.cancel,
        }
    }

    /// Returns true if a directory below a start can contain entries of the scope.
    pub(super) fn enters(&self, start: &Start, rel: &[u8]) -> bool {
        !self.exclude.prunes(&start.prefix, &start.way, rel)
    }

    /// Returns true if the scope includes this entry below a start.
    pub(super) fn holds(&self, start: &Start, rel: &[u8]) -> bool {
        let holds = start.globs.as_ref().is_none_or(|globs| globs.is_match(rel))
            && self
                .types
                .as_ref()
                .is_none_or(|types| types.holds(name_of(rel)))
            && !self.exclude.matches(&start.prefix, &start.way, rel);
        if holds {
            let missed = start.watched.iter().filter(|(glob, _)| !glob.has_matched());
            missed
                .filter(|(_, matcher)| matcher.is_match(rel))
                .for_each(|(glob, _)| glob.note_match());
        }
        holds
    }

    /// Returns true if all globs are paths of files.
    pub(super) fn names_files(&self) -> bool {
        self.names_files
    }
}

impl Start {
    /// Returns true if entries below a directory can match.
    pub(super) fn is_above(&self, rel: &[u8]) -> bool {
        memchr::memchr_iter(b'/', rel).count() + 1 < self.max_depth
    }

    fn new(dir: Checked<Read>, globs: Option<GlobMatcher>, max_depth: usize) -> Self {
        let prefix = with_slash(dir.display_path());
        Self {
            dir,
            prefix,
            way: Vec::new(),
            above: Vec::new(),
            globs,
            watched: Vec::new(),
            max_depth,
        }
    }
}

/// The bytes of a path, with a slash behind them.
pub fn with_slash(path: &Path) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    if !bytes.ends_with(b"/") {
        bytes.push(b'/');
    }
    bytes
}

/// The path from the directory of a search down to another one, with a slash; empty if that lies
/// elsewhere.
fn way(base: &Path, start: &Path) -> Vec<u8> {
    let below = start
        .strip_prefix(base)
        .ok()
        .filter(|below| !below.as_os_str().is_empty());
    below.map(with_slash).unwrap_or_default()
}

/// Reads the globs: where they begin, and what is a name in them.
fn read(policy: &Policy, asked: &SearchRequest<'_>) -> Result<Vec<Arc<UsedGlob>>, SearchError> {
    let globs = asked.globs.unwrap_or_default();
    few_enough(globs).map_err(|source| SearchError::Globs {
        parameter: "globs",
        source,
    })?;
    let place = |path: &str| match &asked.directory {
        Some(base) => Ok(base.display_path().join(path)),
        None => policy.absolute(if path.is_empty() { "." } else { path }),
    };
    let exists = |path: &str| place(path).is_ok_and(|path| policy.is_there(path));
    let used = |(index, glob): (usize, &String)| {
        check_cancelled(asked.room)?;
        let reading =
            Reading::new(glob, exists).map_err(|source| bad_glob("globs", index, source))?;
        Ok(Arc::new(UsedGlob::new(
            glob,
            &reading,
            place(reading.directory)?,
        )))
    };
    globs.iter().enumerate().map(used).collect()
}

fn check_cancelled(room: Option<Room<'_>>) -> Result<(), SearchError> {
    match room {
        Some(room) if room.cancel.is_cancelled() => Err(SearchError::Cancelled),
        _ => Ok(()),
    }
}

/// Returns the starts of the walks with their globs. Globs that begin at the same place, or below
/// it, share one walk.
fn starts(
    policy: &Policy,
    globs: &[Arc<UsedGlob>],
    asked: &mut SearchRequest<'_>,
    exclude: &Exclude,
) -> Result<Vec<Start>, SearchError> {
    let (base, room) = (&mut asked.directory, asked.room);
    let mut rests: BTreeMap<&Path, Vec<Placed>> = BTreeMap::new();
    for glob in globs {
        let placed = Placed {
            rest: glob.rest.clone(),
            glob: Arc::clone(glob),
        };
        rests.entry(&glob.start).or_default().push(placed);
    }
    let mut found: Vec<(Checked<Read>, Vec<Placed>)> = Vec::new();
    for (start, rests) in rests {
        check_cancelled(room)?;
        let is_base = |base: &mut Checked<Read>| base.display_path() == start;
        let dir = match base.take_if(is_base).map_or_else(|| policy.read(start), Ok) {
            // Inside, and nothing there: the globs match nothing.
            Err(PolicyError::NotFound { .. } | PolicyError::NotADirectory { .. }) => continue,
            dir => dir?,
        };
        if dir.kind() != FileKind::Directory {
            continue;
        }
        // An exclusion with a slash is a path below the start, so it would mean something else
        // there.
        let above = found
            .iter_mut()
            .filter(|_| exclude.paths.is_empty())
            .find_map(|(above, globs)| {
                let way = plain_way(above, start)?;
                Some((globs, way))
            });
        match above {
            Some((globs, way)) => {
                let way = escape(&way);
                globs.extend(rests.into_iter().map(|placed| Placed {
                    rest: format!("{way}/{}", placed.rest),
                    ..placed
                }));
            }
            None => found.push((dir, rests)),
        }
    }
    let start = |(dir, globs): (Checked<Read>, Vec<Placed>)| {
        check_cancelled(room)?;
        let compile = |rests: &[&str]| {
            GlobMatcher::new(rests, false).map_err(|source| bad_glob("globs", 0, source))
        };
        let rests: Vec<&str> = globs.iter().map(|placed| placed.rest.as_str()).collect();
        // Only `**` matches a slash that is not written.
        let levels = |glob: &&str| {
            if glob.contains("**") {
                MAX_WALK_DEPTH
            } else {
                glob.matches('/').count() + 1
            }
        };
        let max_depth = rests.iter().map(levels).max().unwrap_or(MAX_WALK_DEPTH);
        let mut start = Start::new(dir, Some(compile(&rests)?), max_depth);
        for placed in globs.iter().filter(|placed| placed.glob.is_watched()) {
            start
                .watched
                .push((Arc::clone(&placed.glob), compile(&[&placed.rest])?));
        }
        Ok(start)
    };
    found.into_iter().map(start).collect()
}

/// A glob as it is matched below a start.
struct Placed {
    rest: String,
    glob: Arc<UsedGlob>,
}

/// Returns the directories from the allowed one down to the parent of a start, whose `.gitignore`
/// files apply, each with the path from there to the start.
pub fn directories_above(policy: &Policy, start: &Path) -> Vec<(Checked<Read>, Vec<u8>)> {
    let roots = policy.roots().iter().map(Root::path);
    let root = roots
        .filter(|root| start.starts_with(root))
        .max_by_key(|root| root.as_os_str().len());
    let Some(root) = root else {
        return Vec::new();
    };
    let mut above: Vec<_> = start
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(root))
        .filter_map(|above| {
            let lead = start.strip_prefix(above).ok()?.as_os_str().as_bytes();
            Some((policy.read(above).ok()?, lead.to_vec()))
        })
        .collect();
    above.reverse();
    above
}

/// Returns the path from an open directory down to `path`, if a walk passes it: without links and
/// `..`.
fn plain_way(above: &Checked<Read>, path: &Path) -> Option<String> {
    let way = path.strip_prefix(above.display_path()).ok()?;
    let plain = way
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (plain && fs::is_plain_way(above, way.as_os_str().as_bytes()))
        .then(|| way.to_str().map(str::to_owned))?
}

/// Share of the budget that globs of so many bytes take once they are compiled.
fn cover(bytes: usize, room: Option<Room<'_>>) -> Result<Share, SearchError> {
    let Some(room) = room else {
        return Ok(Share::default());
    };
    let mut share = room.share();
    room.cover(&mut share, bytes * GLOB_BYTES_PER_BYTE)?;
    Ok(share)
}

fn bad_glob(parameter: &str, index: usize, source: GlobError) -> SearchError {
    SearchError::Glob {
        parameter: format!("{parameter}[{index}]"),
        source,
    }
}

/// The last name of a path.
pub(super) fn name_of(rel: &[u8]) -> &OsStr {
    OsStr::from_bytes(rel.rsplit(|&byte| byte == b'/').next().unwrap_or(rel))
}

pub(super) fn to_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Exclusion globs. A glob without a slash matches a name at any depth, as in `.gitignore`. One
/// with a slash is relative to the search directory or to the start of the walk, or is absolute.
#[derive(Debug)]
pub struct Exclude {
    names: GlobMatcher,
    paths: GlobMatcher,
    absolute: GlobMatcher,
    /// Directories that are excluded as a whole (`dir/**`), so that they are not entered.
    whole: GlobMatcher,
    _share: Share,
}

impl Exclude {
    /// Compiles the exclusion globs of a search in `base`. An error names the bad one, as a part of
    /// `excludeGlobs`.
    pub fn new(
        policy: &Policy,
        base: &Path,
        globs: &[String],
        room: Option<Room<'_>>,
    ) -> Result<Self, SearchError> {
        few_enough(globs).map_err(|source| SearchError::Globs {
            parameter: "excludeGlobs",
            source,
        })?;
        let exists = |path: &str| policy.is_there(base.join(path));
        let (mut names, mut paths, mut absolute) = (Vec::new(), Vec::new(), Vec::new());
        for (index, glob) in globs.iter().enumerate() {
            check_cancelled(room)?;
            let text = glob.trim_start_matches("./").trim_end_matches('/');
            let reading = Reading::new(text, exists)
                .map_err(|source| bad_glob("excludeGlobs", index, source))?;
            if text.starts_with('/') {
                absolute.push(reading.to_glob());
            } else if text.contains('/') {
                paths.push(reading.to_glob());
            } else {
                names.push(reading.rest.into_owned());
            }
        }
        let share = cover(
            [&names, &paths, &absolute]
                .into_iter()
                .flatten()
                .map(String::len)
                .sum(),
            room,
        )?;
        let whole: Vec<&str> = paths
            .iter()
            .filter_map(|glob| glob.strip_suffix("/**"))
            .collect();
        let whole = compiled(&whole)?;
        Ok(Self {
            names: compiled(&names)?,
            paths: compiled(&paths)?,
            absolute: compiled(&absolute)?,
            whole,
            _share: share,
        })
    }

    /// Returns true if an entry is left out. `start` is where the walk starts, `way` how that lies
    /// below the directory of the search, each with a slash behind it; `rel` is the path of the
    /// entry below the start.
    pub fn matches(&self, start: &[u8], way: &[u8], rel: &[u8]) -> bool {
        (!self.names.is_empty() && self.names.is_match(name_of(rel).as_bytes()))
            || is_below(&self.paths, way, rel)
            || (!self.absolute.is_empty() && self.absolute.is_match(&[start, rel].concat()))
    }

    fn prunes(&self, start: &[u8], way: &[u8], rel: &[u8]) -> bool {
        self.matches(start, way, rel) || is_below(&self.whole, way, rel)
    }
}

fn is_below(globs: &GlobMatcher, way: &[u8], rel: &[u8]) -> bool {
    !globs.is_empty()
        && (globs.is_match(rel) || !way.is_empty() && globs.is_match(&[way, rel].concat()))
}

fn compiled<S: AsRef<str>>(globs: &[S]) -> Result<GlobMatcher, SearchError> {
    GlobMatcher::new(globs, false).map_err(|source| bad_glob("excludeGlobs", 0, source))
}
