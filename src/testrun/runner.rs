//! What a runner of tests is to everything above it: what it can be asked for, how it is run, and what is read of it.
//!
//! The methods without a body are what every runner has to say; the others say how most of them are.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::{Component, Path, PathBuf};

use super::changes::{Affected, Changes};
use super::command::{Plan, Wanted};
use super::context::RunContext;
use super::error::TestrunError;
use super::model::{Case, RunnerName, TestReport, TestStatus};
use super::project::disk::Tree;
use super::project::files::Target;
use super::project::language::Language;
use super::project::script::Script;
use super::reports::reading::{self, Sources, TestResults};
use super::selection::{FailedTest, Selection};
use super::tool::Tool;
use crate::cancel::Bound;
use crate::policy::{Checked, Read};

/// A runner of tests.
pub trait Runner: Tool {
    /// What is found where this runner is used, if that is another one.
    fn found_as(&self) -> &'static str {
        self.name()
    }

    /// The runner that takes its place in a project, and why, unless it is asked for by name.
    fn substitute(
        &self,
        _context: &RunContext<'_>,
        _project: &Checked<Read>,
    ) -> Result<Option<(&'static dyn Runner, &'static str)>, TestrunError> {
        Ok(None)
    }

    /// Whether the call brings the command and the report, so that the runner chooses nothing itself.
    fn is_given(&self) -> bool {
        false
    }

    /// Whether it is a part of each project, so that another project may have it where one has not.
    fn lies_in_projects(&self) -> bool {
        false
    }

    /// Whether files can be named with a test in them (`::`).
    fn takes_parts(&self) -> bool {
        false
    }

    /// Whether all tests of a project are meant wherever in it the call begins.
    fn takes_whole_projects(&self) -> bool {
        false
    }

    /// Why it cannot take a filter.
    fn refuse_filter(&self, _filter: &str) -> Option<String> {
        None
    }

    /// All tests of a project, and what is left out of them.
    fn whole(&self, _context: &RunContext<'_>, _project: &Path) -> (Selection, Option<String>) {
        (Selection::All, None)
    }

    /// Which tests changes affect; `None` if the runner finds that itself.
    fn affected(&self, _project: &Path, _changes: &Changes) -> Option<Affected> {
        None
    }

    /// What the project's test script says of how its tests are run, and notes on what of it is done.
    fn script(&self, _context: &RunContext<'_>, _project: &Path) -> (Script, Vec<String>) {
        (Script::default(), Vec::new())
    }

    /// The command for what is wanted.
    fn plan(&self, wanted: &Wanted<'_>) -> Result<Plan, TestrunError>;

    /// What of a project has to be known to read its results.
    fn facts(&self, _context: &RunContext<'_>, _project: &Checked<Read>, _wanted: &Wanted<'_>) -> Facts {
        Facts::default()
    }

    /// Counts what a line of the growing report tells.
    fn count(&self, _line: &[u8], _counted: &mut Counted) {}

    /// Reads what a run left, until work has to be over.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults;

    /// Whether a bundled reporter writes before anything else, and names the files that it takes up.
    fn has_reporter(&self) -> bool {
        false
    }

    /// Whether nothing runs before all of it is compiled.
    fn is_compiled(&self) -> bool {
        matches!(self.language(), Some(Language::Rust | Language::Go))
    }

    /// Whether one process runs many tests, so that those behind one that it dies in are not even known.
    fn is_shared(&self) -> bool {
        false
    }

    /// How a run ended of which nothing is told: no test, no failure, no error.
    fn nothing_ran(&self, _results: &TestResults, exit_code: Option<i32>) -> TestStatus {
        if exit_code == Some(0) { TestStatus::NoTests } else { TestStatus::ConfigError }
    }

    /// The file, or the package, in the id of a test.
    fn file_of<'a>(&self, id: &'a str) -> &'a str {
        let file = id.split(" > ").next().unwrap_or(id);
        // Of a workspace: `|project| file`.
        file.strip_prefix('|').and_then(|rest| rest.split_once("| ")).map_or(file, |(_, file)| file)
    }

    /// A test that failed, as it is asked for again.
    fn failed(&self, case: &Case) -> FailedTest {
        let id = case.id.clone();
        if self.is_compiled() {
            // The package, or the program of the tests, is the first of the suites.
            let names = case.suite.iter().skip(1).chain([&case.name]).cloned().collect();
            return FailedTest { id, file: case.suite.first().cloned().unwrap_or_default(), names };
        }
        let file = case.file.clone().unwrap_or_else(|| self.file_of(&id).to_owned());
        FailedTest { id, file, names: case.suite.iter().chain([&case.name]).cloned().collect() }
    }

    /// A test that began and never ended, the same; `None` if it cannot be asked for.
    fn unfinished(&self, id: &str) -> Option<FailedTest> {
        self.has_reporter().then(|| FailedTest::of_file(self.file_of(id)))
    }

    /// Whether a file's name says that it is one of tests.
    fn is_test_name(&self, path: &Path) -> bool;

    /// Of what was asked for by name, what did not run.
    fn missed<'t>(&self, asked: &Asked<'_>, targets: &[&'t Target], results: &TestResults) -> Vec<&'t Target>;

    /// What files of tests are called, where the runner tells which it took up.
    fn test_files(&self) -> Option<TestFiles> {
        None
    }

    /// What has tests and is switched off by the project's manifest, where that is what leaves out tests.
    fn switched_off(&self, _context: &RunContext<'_>, _root: &Path, _which: &Selection) -> Option<Vec<String>> {
        None
    }

    /// What to say of a run beside its report.
    fn note(&self, _which: &Selection, _results: &TestResults, _root: &Path) -> Option<String> {
        None
    }

    /// The next step where the report has one to tell that only this runner knows.
    fn hint(&self, _context: &RunContext<'_>, _report: &TestReport, _has_own_harness: bool) -> Option<String> {
        None
    }
}

impl dyn Runner {
    /// Its name as a reply has it.
    pub fn id(&self) -> RunnerName {
        RunnerName(self.name())
    }

    /// Reads what a run left with the end of what was written besides.
    pub fn read(&self, sources: Sources<'_>, bound: Bound<'_>) -> TestResults {
        TestResults { remarks: reading::remarks(&sources), ..self.parse(&sources, bound) }
    }
}

impl PartialEq for dyn Runner {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Runner {}

impl Debug for dyn Runner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What of a project has to be known to read the results of its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// For Go, the import path of the package in the project's directory; empty if it is not known.
    pub go_package: String,
    /// For Cargo, names and source files of the test targets with `harness = false`; for nextest their names alone.
    pub own_harness: Vec<String>,
}

/// How many tests have ended, and how many are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those that have ended.
    pub done: u64,
    /// Those that are known; may grow while files are loaded.
    pub total: u64,
}

/// What was asked for, and what of the disk has to be known.
pub struct Asked<'a> {
    /// Whether names had to match something besides.
    pub is_filtered: bool,
    /// The directory that the run began in, absolute.
    pub project: &'a Path,
    /// What is known of it.
    pub facts: &'a Facts,
    /// The true path of a file that may be a link.
    pub true_path: &'a dyn Fn(&Path) -> Option<PathBuf>,
    pub tree: &'a dyn Tree,
    /// Whether whole packages were asked for.
    pub by_package: bool,
}

/// What files of tests are called.
#[derive(Clone, Copy, Debug)]
pub struct TestFiles {
    /// Globs of their names.
    pub globs: &'static [&'static str],
    /// Directories in which they are copies.
    pub copies: &'static [&'static str],
    /// What a file of tests holds; others of these names are helpers.
    pub marker: &'static str,
}

/// Of files and directories that were named, those that the runner did not take up, or of which `is_part` does not hold.
pub fn not_taken_up<'t>(
    asked: &Asked<'_>,
    targets: &[&'t Target],
    results: &TestResults,
    is_part: impl Fn(&Target) -> bool,
) -> Vec<&'t Target> {
    let seen: BTreeSet<PathBuf> = results.files.iter().map(|file| absolute(asked.project, file)).collect();
    let is_seen = |path: &Path, is_dir: bool| {
        if is_dir {
            seen.range(path.to_path_buf()..).next().is_some_and(|file| file.starts_with(path))
        } else {
            seen.contains(path)
        }
    };
    let ran = |target: &Target| {
        let true_path = || (asked.true_path)(&target.path);
        let is_seen =
            is_seen(&target.path, target.is_dir) || true_path().is_some_and(|path| is_seen(&path, target.is_dir));
        is_seen && is_part(target)
    };
    targets.iter().copied().filter(|target| !ran(target)).collect()
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
