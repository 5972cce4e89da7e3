//! What was asked for by name and did not run: a runner whose configuration leaves a file out says nothing of it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use super::failed::file_of;
use super::files::Target;
use super::model::{State, TestRunner};
use super::plan::{CargoPart, CargoTargets, FailedTest, Which};
use super::reports::Parsed;
use crate::limits::MAX_KEPT_TESTS;

/// What was asked for, and what of the disk has to be known.
pub struct Asked<'a> {
    /// The runner.
    pub runner: TestRunner,
    /// Which tests.
    pub which: &'a Which,
    /// Whether names had to match something besides.
    pub is_filtered: bool,
    /// The directory that the run began in, absolute.
    pub project: &'a Path,
    /// For Go, the import path of the package there; empty if it is not known.
    pub go_package: &'a str,
    /// The true path of a file that may be a link.
    pub true_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
    /// The text of a file.
    pub text: &'a dyn Fn(&Path) -> Option<String>,
    /// What of a Cargo workspace a file is.
    pub cargo_part: &'a dyn Fn(&Target) -> Option<CargoPart>,
}

/// Files, directories and tests that were named and of which nothing ran, in the order of what was asked.
///
/// A file whose tests were all left out by a filter or by themselves did run, as far as the runner says so. Files that a glob
/// matched count if their name is one of a test. Empty if more tests ran than are kept by name.
pub fn missed(asked: &Asked<'_>, parsed: &Parsed) -> Vec<String> {
    if parsed.tests.len() >= MAX_KEPT_TESTS || parsed.files.len() >= MAX_KEPT_TESTS {
        return Vec::new();
    }
    match asked.which {
        Which::All | Which::Changed => Vec::new(),
        Which::Failed(failed) => again(asked, failed, parsed),
        Which::Targets(targets) => {
            let seen: BTreeSet<PathBuf> = parsed.files.iter().map(|file| absolute(asked.project, file)).collect();
            let packages: HashSet<&str> = parsed.tests.iter().map(|test| file_of(asked.runner, &test.id)).collect();
            let meant = |target: &&Target| !target.is_matched || is_test_name(asked.runner, &target.path);
            let meant: Vec<&Target> = targets.iter().filter(meant).collect();
            let ran = |target: &&&Target| ran(asked, target, parsed, &seen, &packages);
            // Of each by itself Go says nothing where there is a filter; that no test of all of them ran is known.
            if asked.runner == TestRunner::Go && asked.is_filtered && meant.iter().any(|target| ran(&target)) {
                return Vec::new();
            }
            meant.iter().filter(|target| !ran(target)).map(|target| target.below(asked.project)).collect()
        }
    }
}

fn ran(
    asked: &Asked<'_>,
    target: &Target,
    parsed: &Parsed,
    seen: &BTreeSet<PathBuf>,
    packages: &HashSet<&str>,
) -> bool {
    match asked.runner {
        TestRunner::Junit => true,
        // They say nothing of what a filter leaves out.
        TestRunner::CargoTest | TestRunner::Nextest if asked.is_filtered => true,
        TestRunner::CargoTest | TestRunner::Nextest => of_cargo(asked, target, parsed),
        TestRunner::Go => of_go(asked, target, parsed, packages),
        TestRunner::Vitest | TestRunner::Jest | TestRunner::Pytest => {
            let is_seen = |path: &Path| {
                if target.is_dir {
                    seen.range(path.to_path_buf()..).next().is_some_and(|file| file.starts_with(path))
                } else {
                    seen.contains(path)
                }
            };
            let is_seen = is_seen(&target.path) || (asked.true_path)(&target.path).is_some_and(|path| is_seen(&path));
            // What a filter left out of it is not told by name.
            is_seen && (target.part.is_empty() || asked.is_filtered || of_node(&target.below(asked.project), parsed))
        }
    }
}

/// Whether a test of pytest ran that a node id names: a test, one of its parameters, or one of a class.
fn of_node(id: &str, parsed: &Parsed) -> bool {
    let is_of = |test: &str| {
        test.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('[') || rest.starts_with("::"))
    };
    parsed.tests.iter().any(|test| is_of(&test.id)) || parsed.unfinished.iter().any(|test| is_of(test))
}

fn of_cargo(asked: &Asked<'_>, target: &Target, parsed: &Parsed) -> bool {
    // No tests to Cargo, whose whole package is tested then.
    let of_dir = target.path.parent().and_then(Path::file_name).filter(|_| !target.is_dir);
    if of_dir.is_some_and(|dir| dir == "benches" || dir == "examples") {
        return false;
    }
    let Some(CargoPart { package, what }) = (asked.cargo_part)(target) else { return true };
    let is_nextest = asked.runner == TestRunner::Nextest;
    let separator = if is_nextest { " " } else { " > " };
    let is_of = |id: &str| {
        let (program, path) = id.split_once(separator).unwrap_or(("", id));
        match &what {
            CargoTargets::All => true,
            CargoTargets::Test(name) if is_nextest => program == format!("{package}::{name}"),
            CargoTargets::Test(name) => {
                program.is_empty()
                    || program.contains(&format!("(tests/{name}.rs"))
                    || program.contains(&format!("(tests/{name}/"))
            }
            CargoTargets::Module(module) => format!("::{path}").contains(&format!("::{module}::")),
        }
    };
    what == CargoTargets::All || parsed.tests.iter().any(|test| is_of(&test.id))
}

fn of_go(asked: &Asked<'_>, target: &Target, parsed: &Parsed, packages: &HashSet<&str>) -> bool {
    let dir = if target.is_dir { &*target.path } else { target.path.parent().unwrap_or(&target.path) };
    let Ok(below) = dir.strip_prefix(asked.project) else { return true };
    if asked.go_package.is_empty() {
        return true;
    }
    let package = match below.to_str() {
        Some("") => asked.go_package.to_owned(),
        Some(below) => format!("{}/{below}", asked.go_package),
        None => return true,
    };
    if target.is_dir {
        let inside = format!("{package}/");
        return packages.iter().any(|name| *name == package || name.starts_with(&inside));
    }
    if !packages.contains(package.as_str()) {
        return false;
    }
    // A file of a package that others of it ran of: one that a build constraint leaves out has none of its tests among them.
    let text = (asked.text)(&target.path).unwrap_or_default();
    let names: HashSet<&str> = declared(&text).collect();
    let of_test = |id: &str| {
        let (of, name) = id.split_once(" > ").unwrap_or(("", id));
        of == package && names.contains(name.split('/').next().unwrap_or(name))
    };
    names.is_empty() || parsed.tests.iter().any(|test| of_test(&test.id))
}

/// Tests that a Go file declares: `func TestName(t *testing.T)`, and the same of fuzz targets.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let name = line.strip_prefix("func ")?.split('(').next()?;
        ((name.starts_with("Test") && name != "TestMain") || name.starts_with("Fuzz")).then_some(name)
    })
}

/// Of tests that were to run again, those that did not.
fn again(asked: &Asked<'_>, failed: &[FailedTest], parsed: &Parsed) -> Vec<String> {
    let ran: HashSet<&str> = parsed
        .tests
        .iter()
        .filter(|test| test.state.ran() || test.state == State::Todo)
        .map(|test| test.id.as_str())
        .chain(parsed.unfinished.iter().map(String::as_str))
        .collect();
    let knows_files = matches!(asked.runner, TestRunner::Vitest | TestRunner::Jest | TestRunner::Pytest);
    let is_told = |test: &&FailedTest| {
        if test.names.is_empty() {
            knows_files && !parsed.files.contains(&test.file)
        } else {
            !ran.contains(test.id.as_str())
        }
    };
    let name = |test: &FailedTest| if test.names.is_empty() { test.file.clone() } else { test.id.clone() };
    let mut missed: Vec<String> = failed.iter().filter(is_told).map(name).collect();
    missed.dedup();
    missed
}

/// Whether a file's name says that it is one of tests.
fn is_test_name(runner: TestRunner, path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match runner {
        TestRunner::Vitest | TestRunner::Jest => [".test.", ".spec."].iter().any(|part| name.contains(part)),
        TestRunner::Pytest => {
            name.strip_suffix(".py").is_some_and(|name| name.starts_with("test_") || name.ends_with("_test"))
        }
        TestRunner::Go => name.ends_with("_test.go"),
        // A file below `tests` is a program of its own.
        TestRunner::CargoTest | TestRunner::Nextest => {
            path.parent().and_then(Path::file_name).is_some_and(|dir| dir == "tests")
        }
        TestRunner::Junit => false,
    }
}

/// A path of a report, without `..`.
pub(super) fn absolute(root: &Path, file: &str) -> PathBuf {
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

#[cfg(test)]
mod tests;
