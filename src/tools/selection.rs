//! Which entries a search is about: a directory, globs and exclusions turned into walks, and the walks into paths.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Context;
use super::list_directory::open_directory;
use crate::error::Error;
use crate::fs::{self, WalkOptions};
use crate::limits::MAX_WALK_DEPTH;
use crate::policy::{Checked, Kind, PolicyError, Read};
use crate::text::glob::{GlobMatcher, fixed_prefix, is_glob};

/// What to look for, as an agent says it.
#[derive(Debug, Default)]
pub struct Selection<'a> {
    /// Where relative globs begin; the project directory when it is left out.
    pub directory: Option<&'a str>,
    /// `None` selects everything below the directory.
    pub globs: Option<&'a [String]>,
    /// What to leave out.
    pub exclude: &'a [String],
    /// Leave out what `.gitignore` files name.
    pub respect_gitignore: bool,
}

/// What a walk came upon.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Absolute, in the spelling of the directory that was asked for.
    pub path: PathBuf,
    /// A link is a link.
    pub kind: Kind,
}

/// Everything that was selected.
#[derive(Debug, Default)]
pub struct Selected {
    /// In the order of the bytes of their paths, each once.
    pub entries: Vec<Entry>,
    /// Directories that could not be read.
    pub skipped: u64,
}

/// Walks, and keeps the entries for which `keep` says so.
pub fn select(
    context: &Context<'_>,
    selection: &Selection<'_>,
    keep: impl Fn(&OsStr, Kind) -> bool + Sync,
) -> Result<Selected, Error> {
    let mut selected = Selected::default();
    let base = match selection.directory {
        Some(directory) => Some(open_directory(&context.services.policy, directory)?),
        None => None,
    };
    let exclude = Exclude::new(selection.exclude)?;
    let seen = AtomicU64::new(0);
    for (start, globs) in starts(context, selection, base)? {
        let run = Run { context, exclude: &exclude, globs: globs.as_ref(), keep: &keep, seen: &seen };
        run.walk(&start, selection.respect_gitignore, &mut selected)?;
    }
    selected.entries.sort_unstable();
    selected.entries.dedup();
    Ok(selected)
}

/// A directory to walk, and what is taken there; `None` takes everything.
type Start = (Checked<Read>, Option<GlobMatcher>);

/// Where to walk, and what to take there: one walk for all globs that begin at the same place.
fn starts(context: &Context<'_>, selection: &Selection<'_>, base: Option<Checked<Read>>) -> Result<Vec<Start>, Error> {
    let policy = &context.services.policy;
    let Some(globs) = selection.globs else {
        let base = match base {
            Some(base) => base,
            None => open_directory(policy, ".")?,
        };
        return Ok(vec![(base, None)]);
    };
    let mut rests: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for (index, glob) in globs.iter().enumerate() {
        // Compiled by itself first, so that the error can say which one it is.
        GlobMatcher::new(&[glob], false).map_err(|source| bad_glob("globs", index, source))?;
        let prefix = fixed_prefix(glob);
        let rest = glob[prefix.len()..].trim_start_matches('/');
        let start = match &base {
            Some(base) => base.shown().join(prefix),
            None if prefix.is_empty() => policy.absolute(".")?,
            None => policy.absolute(prefix)?,
        };
        rests.entry(start).or_default().push(rest);
    }
    let mut starts = Vec::new();
    for (start, rests) in rests {
        let start = match policy.read(&start) {
            // Inside, and nothing there: the globs match nothing.
            Err(PolicyError::NotFound { .. } | PolicyError::NotADirectory { .. }) => continue,
            start => start?,
        };
        if start.kind() == Kind::Directory {
            let globs = GlobMatcher::new(&rests, false).map_err(|source| bad_glob("globs", 0, source))?;
            starts.push((start, Some(globs)));
        }
    }
    Ok(starts)
}

fn bad_glob(parameter: &str, index: usize, source: crate::text::glob::GlobError) -> Error {
    Error::Glob { parameter: format!("{parameter}[{index}]"), source }
}

struct Run<'a, K> {
    context: &'a Context<'a>,
    exclude: &'a Exclude,
    globs: Option<&'a GlobMatcher>,
    keep: &'a K,
    seen: &'a AtomicU64,
}

impl<K: Fn(&OsStr, Kind) -> bool + Sync> Run<'_, K> {
    fn walk(&self, start: &Checked<Read>, respect_gitignore: bool, selected: &mut Selected) -> Result<(), Error> {
        let options = WalkOptions {
            threads: None,
            max_depth: MAX_WALK_DEPTH,
            respect_gitignore,
            above: &[],
            enter: &|rel| !self.exclude.prunes(rel),
            cancel: self.context.cancel,
        };
        let walked = fs::walk(start, &options, |kept: &mut Vec<(Vec<u8>, Kind)>, found| {
            if self.seen.fetch_add(1, Ordering::Relaxed) % 4096 == 4095 {
                self.report();
            }
            let wanted = (self.keep)(found.name(), found.kind())
                && self.globs.is_none_or(|globs| globs.is_match(found.rel()))
                && !self.exclude.matches(found.rel());
            if wanted {
                kept.push((found.rel().to_vec(), found.kind()));
            }
            ControlFlow::Continue(())
        })?;
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        selected.skipped += walked.skipped;
        for (rel, kind) in walked.collected.into_iter().flatten() {
            selected.entries.push(Entry { path: join(start.shown(), &rel), kind });
        }
        Ok(())
    }

    fn report(&self) {
        let seen = self.seen.load(Ordering::Relaxed);
        self.context.progress.report(seen, None, &format!("{seen} entries seen"));
    }
}

/// `Path::join` without its special cases: `rel` is never absolute.
fn join(start: &Path, rel: &[u8]) -> PathBuf {
    let start = start.as_os_str().as_bytes();
    let mut path = Vec::with_capacity(start.len() + 1 + rel.len());
    path.extend_from_slice(start);
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(rel);
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

/// What to leave out. A glob without a slash is a name at any depth, as in `.gitignore`; one with a slash is matched
/// against the path below the start of the walk.
struct Exclude {
    names: GlobMatcher,
    paths: GlobMatcher,
    /// Directories of which everything is left out (`dir/**`), so that they need not be gone into.
    whole: GlobMatcher,
}

impl Exclude {
    fn new(globs: &[String]) -> Result<Self, Error> {
        for (index, glob) in globs.iter().enumerate() {
            GlobMatcher::new(&[glob], false).map_err(|source| bad_glob("excludeGlobs", index, source))?;
        }
        let (paths, names): (Vec<&str>, Vec<&str>) =
            globs.iter().map(|glob| glob.trim_end_matches('/')).partition(|glob| glob.contains('/'));
        let whole: Vec<&str> = paths.iter().filter_map(|glob| glob.strip_suffix("/**")).collect();
        let compile =
            |globs: &[&str]| GlobMatcher::new(globs, false).map_err(|source| bad_glob("excludeGlobs", 0, source));
        Ok(Self { names: compile(&names)?, paths: compile(&paths)?, whole: compile(&whole)? })
    }

    fn matches(&self, rel: &[u8]) -> bool {
        let name = rel.rsplit(|&byte| byte == b'/').next().unwrap_or(rel);
        (!self.names.is_empty() && self.names.is_match(name)) || (!self.paths.is_empty() && self.paths.is_match(rel))
    }

    fn prunes(&self, rel: &[u8]) -> bool {
        self.matches(rel) || (!self.whole.is_empty() && self.whole.is_match(rel))
    }
}

/// Said when nothing was found and a glob would have needed `**/` to look deeper.
pub fn shallow_glob_note(globs: Option<&[String]>) -> Option<String> {
    let glob = globs?.iter().find(|glob| is_glob(glob) && !glob.contains('/'))?;
    Some(format!("[`{glob}` matches only directly in the directory; `**/{glob}` matches at any depth]"))
}
