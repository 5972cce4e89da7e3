//! File arguments of an agent: paths, directories, globs, and names at any depth.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use replay_base::limits::{MAX_KEPT_TESTS, MAX_TEST_FILES};
use replay_base::text::glob::{escape, is_glob};
use replay_base::text::nearest::nearest;
use replay_files::policy::{Checked, FileKind, PolicyError, Read};
use replay_sandbox::exec::place_of;
use replay_search::{Call, Scope, SearchRequest};

use super::disk::AllowedDisk;
use crate::error::TestrunError;

/// A requested file or directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedPath {
    /// Absolute path.
    pub path: PathBuf,
    /// `true` for a directory.
    pub is_dir: bool,
    /// Requested part of the file, such as `::test_name` (pytest); empty for the whole file.
    pub part: String,
    /// `true` if a glob matched the file, which then need not be a test at all.
    pub is_matched: bool,
}

impl NamedPath {
    /// Creates a target for a whole file or directory.
    pub fn whole(path: PathBuf, is_dir: bool) -> Self {
        Self {
            path,
            is_dir,
            part: String::new(),
            is_matched: false,
        }
    }

    /// Returns the directory itself, or that of the file.
    pub fn dir(&self) -> &Path {
        let parent = self.path.parent().filter(|_| !self.is_dir);
        parent.unwrap_or(&self.path)
    }

    /// Returns true if this includes all tests of another target.
    pub fn includes(&self, other: &Self) -> bool {
        let is_below = self.is_dir && other.path.starts_with(&self.path);
        is_below || self.path == other.path && (self.part.is_empty() || self.part == other.part)
    }

    /// Returns the path below a directory, or the whole path if it is elsewhere.
    pub fn below(&self, dir: &Path) -> String {
        let below = self.path.strip_prefix(dir).unwrap_or(&self.path);
        let text = if below.as_os_str().is_empty() {
            ".".into()
        } else {
            below.to_string_lossy()
        };
        text.into_owned() + &self.part
    }
}

/// Returns the directory in which the search for a project starts: the nearest one that holds all
/// of `given`. Returns `cwd` if that is given, or if there is none.
pub(crate) fn start(disk: AllowedDisk<'_>, cwd: &Path, is_told: bool, given: &[String]) -> PathBuf {
    if is_told {
        return cwd.to_path_buf();
    }
    let mut common: Option<PathBuf> = None;
    for dir in given.iter().filter_map(|given| holder(disk, cwd, given)) {
        common = match common {
            Some(known) => known
                .ancestors()
                .find(|above| dir.starts_with(above))
                .map(Path::to_path_buf),
            None => Some(dir),
        };
    }
    common
        .filter(|dir| disk.directory_above(dir).is_some())
        .unwrap_or_else(|| cwd.to_path_buf())
}

/// Returns the nearest allowed directory that exists on the way to a named path.
pub(crate) fn holder(disk: AllowedDisk<'_>, cwd: &Path, given: &str) -> Option<PathBuf> {
    let path = given.split("::").next().unwrap_or(given);
    cwd.join(path)
        .ancestors()
        .find_map(|dir| disk.directory_above(dir))
}

/// Directories of dependencies and generated files.
const SKIPPED_DIRS: [&str; 4] = ["node_modules", ".git", "target", "__pycache__"];

const ENVIRONMENTS: [&str; 5] = [".venv", "venv", "site-packages", ".tox", ".nox"];

/// Returns the files that `given` names, each once and in order. They are relative to the first of
/// `bases` that has any. A path that does not exist is searched at any depth below them.
pub(crate) fn targets(
    call: Call<'_>,
    bases: &[&Checked<Read>],
    given: &[String],
) -> Result<Vec<NamedPath>, TestrunError> {
    let mut targets = Vec::new();
    for given in given {
        let found = one(call, bases, given)?;
        targets.extend(found);
        if targets.len() > MAX_TEST_FILES {
            return Err(TestrunError::arguments(format!(
                "`{given}` and the paths before it are {} files; at most {MAX_TEST_FILES} can be \
                 named. Name their directory",
                targets.len()
            )));
        }
    }
    targets.sort();
    targets.dedup();
    Ok(targets)
}

fn one(
    call: Call<'_>,
    bases: &[&Checked<Read>],
    given: &str,
) -> Result<Vec<NamedPath>, TestrunError> {
    let (path, part) = match given.find("::") {
        Some(at) => given.split_at(at),
        None => (given, ""),
    };
    let mut denied = None;
    for base in bases {
        match call.policy.look(base.display_path().join(path)) {
            Ok(found) => {
                let is_dir = found.kind() == FileKind::Directory;
                let spelt: PathBuf = found.display_path().components().collect();
                // Programs name files by their true paths.
                let path = if spelt.starts_with(base.display_path()) {
                    spelt
                } else {
                    place_of(&found)?.path.as_path().into()
                };
                return Ok(vec![NamedPath {
                    part: part.to_owned(),
                    ..NamedPath::whole(path, is_dir)
                }]);
            }
            Err(PolicyError::NotFound { .. } | PolicyError::NotADirectory { .. }) => {}
            Err(error) if is_glob(path) => drop(error),
            Err(error) => denied = Some(error),
        }
    }
    if let Some(error) = denied {
        return Err(error.into());
    }
    for base in bases {
        let is_matched = is_glob(path);
        let glob = if is_matched {
            path.to_owned()
        } else {
            glob_at_any_depth(path)
        };
        let found = matching(call, base, &glob)?;
        if !found.is_empty() {
            let target = |path| NamedPath {
                part: part.to_owned(),
                is_matched,
                ..NamedPath::whole(path, false)
            };
            return Ok(found.into_iter().map(target).collect());
        }
    }
    let first = bases.first();
    let dir = first
        .map(|base| base.display_path().to_path_buf())
        .unwrap_or_default();
    let near = first
        .filter(|_| !is_glob(path))
        .and_then(|base| similar_path(call, base, path));
    Err(TestrunError::NoMatch {
        what: given.to_owned(),
        dir,
        near,
    })
}

/// Suggests a file for a path that does not exist: the file below a directory with the nearest
/// name. Prefers another extension, then the same extension.
fn similar_path(call: Call<'_>, base: &Checked<Read>, path: &str) -> Option<String> {
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    let (stem, same) = match name.rsplit_once('.') {
        Some((stem, ending)) => (stem, format!("**/*.{}", escape(ending))),
        None => (name, "**/*.*".to_owned()),
    };
    let without = |name: &str| {
        name.rsplit_once('.')
            .map_or(name, |(stem, _)| stem)
            .to_owned()
    };
    for glob in [
        format!("**/{}.*", escape(name)),
        format!("**/{}.*", escape(stem)),
        same,
    ] {
        let found = matching_sources(call, base, &[&glob], &[]).ok()?;
        let stems: Vec<String> = found
            .iter()
            .filter_map(|file| Some(without(file.file_name()?.to_str()?)))
            .collect();
        let near = nearest(stem, stems.iter().map(String::as_str));
        if let Some(at) = near.and_then(|near| stems.iter().position(|stem| stem == near)) {
            let below = found.get(at)?.strip_prefix(base.display_path()).ok()?;
            return below.to_str().map(str::to_owned);
        }
    }
    None
}

/// Returns the glob for a path at any depth.
fn glob_at_any_depth(path: &str) -> String {
    format!(
        "**/{}",
        escape(path.trim_start_matches("./").trim_start_matches('/'))
    )
}

/// Files that a search finds below a directory.
struct FileSearch<'a> {
    /// Names of directories that are not searched.
    exclude: &'a [&'a str],
    /// `true` if it leaves out files that git ignores.
    skip_ignored: bool,
    most: usize,
    is_wanted: fn(FileKind) -> bool,
}

impl Default for FileSearch<'_> {
    fn default() -> Self {
        Self {
            exclude: &SKIPPED_DIRS,
            skip_ignored: false,
            most: MAX_TEST_FILES + 1,
            is_wanted: |kind| kind == FileKind::File,
        }
    }
}

/// Returns the files below a directory that a glob matches.
pub(crate) fn matching(
    call: Call<'_>,
    base: &Checked<Read>,
    glob: &str,
) -> Result<Vec<PathBuf>, TestrunError> {
    find_files(call, base, &[glob], &FileSearch::default())
}

/// Like [`matching`], for files that a build or a run makes.
pub(crate) fn generated(
    call: Call<'_>,
    base: &Checked<Read>,
    glob: &str,
) -> Result<Vec<PathBuf>, TestrunError> {
    let search = FileSearch {
        exclude: &["node_modules", ".git"],
        most: MAX_KEPT_TESTS,
        // Also links and others, which may hide a report.
        is_wanted: |kind| kind != FileKind::Directory,
        ..FileSearch::default()
    };
    find_files(call, base, &[glob], &search)
}

/// Returns files whose names match one of these globs. Excludes environments, files ignored by git,
/// and directories with a name in `made`.
pub(crate) fn matching_sources(
    call: Call<'_>,
    base: &Checked<Read>,
    globs: &[&str],
    made: &[&str],
) -> Result<Vec<PathBuf>, TestrunError> {
    let search = FileSearch {
        exclude: &[&SKIPPED_DIRS[..], &ENVIRONMENTS, made].concat(),
        skip_ignored: true,
        most: MAX_KEPT_TESTS,
        ..FileSearch::default()
    };
    find_files(call, base, globs, &search)
}

fn find_files(
    call: Call<'_>,
    base: &Checked<Read>,
    globs: &[&str],
    search: &FileSearch<'_>,
) -> Result<Vec<PathBuf>, TestrunError> {
    let [globs, exclude] = [globs, search.exclude].map(|names| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    });
    let directory = Some(call.policy.read(base.display_path())?);
    let asked = SearchRequest {
        directory,
        globs: Some(&globs),
        exclude: &exclude,
        types: &[],
        skip_ignored: search.skip_ignored,
        room: Some(call.room()),
    };
    let scope = Scope::new(call.policy, asked)?;
    let is_wanted = |_: &OsStr, kind: FileKind| (search.is_wanted)(kind);
    let named = replay_search::names(call, &scope, search.most, &is_wanted)?;
    Ok(named
        .paths
        .iter()
        .filter_map(|path| std::str::from_utf8(path).ok())
        .map(PathBuf::from)
        .collect())
}
