//! Evidence that named tests ran: the request and facts from the disk.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::project::disk::ProjectTree;
use super::project::files::NamedPath;
use super::reports::class_sources::ClassSources;
use super::reports::results::TestResults;

/// The request, the needed facts from the disk, and the results.
pub struct Evidence<'a> {
    /// `true` if test names had to match a filter too.
    pub is_filtered: bool,
    /// Working directory of the run, absolute.
    pub project: &'a Path,
    /// Facts about the project.
    pub facts: &'a ProjectFacts,
    /// Resolves a path that may be a symlink.
    pub true_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
    pub tree: &'a dyn ProjectTree,
    /// `true` if whole packages were requested.
    pub by_package: bool,
    pub results: &'a TestResults,
}

/// Facts about a project that are needed to read its results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFacts {
    /// Go only: import path of the package in the project's directory; empty if unknown.
    pub go_package: String,
    /// Cargo only: names and source files of the test targets with `harness = false`; for nextest
    /// their names alone.
    pub own_harness: Vec<String>,
    /// JVM only: sources of the project.
    pub classes: Option<ClassSources>,
}

/// Returns the named files and directories that the runner did not collect, or for which `is_part`
/// returns false.
pub(crate) fn not_collected<'t>(
    evidence: &Evidence<'_>,
    targets: &[&'t NamedPath],
    is_part: impl Fn(&NamedPath) -> bool,
) -> Vec<&'t NamedPath> {
    let files = &evidence.results.files;
    let seen: BTreeSet<PathBuf> = files
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

/// Returns a path of a report as an absolute one without `..`.
pub(crate) fn absolute(root: &Path, file: &str) -> PathBuf {
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
