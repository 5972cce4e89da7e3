//! What a run is held against, to see what of that which was named did not run.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::project::disk::ProjectTree;
use super::project::files::NamedPath;
use super::reports::results::TestResults;

/// What was asked for, and what of the disk has to be known.
pub struct Evidence<'a> {
    /// Whether names had to match something besides.
    pub is_filtered: bool,
    /// The directory that the run began in, absolute.
    pub project: &'a Path,
    /// What is known of it.
    pub facts: &'a ProjectFacts,
    /// The true path of a file that may be a link.
    pub true_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
    pub tree: &'a dyn ProjectTree,
    /// Whether whole packages were asked for.
    pub by_package: bool,
}

/// What of a project has to be known to read the results of its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFacts {
    /// For Go, the import path of the package in the project's directory; empty if it is not known.
    pub go_package: String,
    /// For Cargo, names and source files of the test targets with `harness = false`; for nextest
    /// their names alone.
    pub own_harness: Vec<String>,
}

/// Of files and directories that were named, those that the runner did not take up, or of which
/// `is_part` does not hold.
pub fn not_taken_up<'t>(
    evidence: &Evidence<'_>,
    targets: &[&'t NamedPath],
    results: &TestResults,
    is_part: impl Fn(&NamedPath) -> bool,
) -> Vec<&'t NamedPath> {
    let seen: BTreeSet<PathBuf> = results
        .files
        .iter()
        .map(|file| absolute(evidence.project, file))
        .collect();
    let is_seen = |path: &Path, is_dir: bool| {
        if is_dir {
            seen.range(path.to_path_buf()..)
                .next()
                .is_some_and(|file| file.starts_with(path))
        } else {
            seen.contains(path)
        }
    };
    let ran = |target: &NamedPath| {
        let true_path = || (evidence.true_path)(&target.path);
        let is_seen = is_seen(&target.path, target.is_dir)
            || true_path().is_some_and(|path| is_seen(&path, target.is_dir));
        is_seen && is_part(target)
    };
    targets
        .iter()
        .copied()
        .filter(|target| !ran(target))
        .collect()
}

/// A path of a report, without `..`.
pub fn absolute(root: &Path, file: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in root.join(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}
