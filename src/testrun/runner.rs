//! What a runner of tests is to everything above it: what it can be asked for, how it is run, and
//! what is read of it.
//!
//! The methods without a body are what every runner has to say; the others say how most of them
//! are, or those of one language.

use std::fmt::{self, Debug};
use std::path::Path;

use serde::Deserialize;

use super::by_language::{cargo, javascript};
use super::changes::{Affected, GitChanges};
use super::command::{RunPlan, WantedRun};
use super::completeness_input::{Evidence, ProjectFacts, not_taken_up};
use super::context::RunContext;
use super::error::TestrunError;
use super::model::{Case, RunnerName, TestReport};
use super::project::files::NamedPath;
use super::project::language::Language;
use super::project::script::TestScript;
use super::reports::results::{self, Sources, TestResults};
use super::selection::{FailedTest, TestSelection};
use super::tool::ProjectTool;
use crate::cancel::Bound;
use crate::policy::{Checked, Read};

/// A runner of tests.
pub trait Runner: ProjectTool {
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

    /// Whether the call brings the command and the report, so that the runner chooses nothing
    /// itself.
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
        matches!(self.language(), Some(Language::Rust) | None)
    }

    /// Why it cannot take a filter.
    fn refuse_filter(&self, filter: &str) -> Option<String> {
        (self.language() == Some(Language::Rust))
            .then(|| cargo::refuse_filter(filter))
            .flatten()
    }

    /// All tests of a project, and what is left out of them.
    fn whole(&self, _context: &RunContext<'_>, _project: &Path) -> (TestSelection, Option<String>) {
        (TestSelection::All, None)
    }

    /// Which tests changes affect; `None` if the runner finds that itself.
    fn affected(&self, project: &Path, changes: &GitChanges) -> Option<Affected> {
        let compiled = self.language().filter(|_| self.is_compiled())?;
        Some(changes.packages(project, |file| compiled.is_source(file)))
    }

    /// What the project's test script says of how its tests are run, notes on what of it is done,
    /// and what is left out.
    fn script(
        &self,
        context: &RunContext<'_>,
        project: &Path,
    ) -> (TestScript, Vec<String>, Option<String>) {
        let of_node = self.language() == Some(Language::JavaScript);
        if of_node {
            javascript::script(context, project, self.name())
        } else {
            Default::default()
        }
    }

    /// The command for what is wanted.
    fn plan(&self, wanted: &WantedRun<'_>) -> Result<RunPlan, TestrunError>;

    /// What of a project has to be known to read its results.
    fn facts(
        &self,
        _context: &RunContext<'_>,
        _project: &Checked<Read>,
        _wanted: &WantedRun<'_>,
    ) -> ProjectFacts {
        ProjectFacts::default()
    }

    /// Counts what a line of the growing report tells.
    fn count(&self, line: &[u8], counted: &mut TestCount) {
        if let Ok(event) = serde_json::from_slice::<ReporterEvent>(line) {
            counted.has_ended |= event.ev == "end";
            self.count_event(&event, counted);
        }
    }

    /// The same, where the report is that of a bundled reporter.
    fn count_event(&self, _event: &ReporterEvent, _counted: &mut TestCount) {}

    /// Reads what a run left, until work has to be over.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults;

    /// Whether a bundled reporter writes before anything else, and names the files that it takes
    /// up.
    fn has_reporter(&self) -> bool {
        matches!(
            self.language(),
            Some(Language::JavaScript | Language::Python)
        )
    }

    /// Whether nothing runs before all of it is compiled.
    fn is_compiled(&self) -> bool {
        matches!(self.language(), Some(Language::Rust | Language::Go))
    }

    /// Whether one process runs many tests, so that those behind one that it dies in are not even
    /// known.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether a run ended well of which nothing is told: no test, no failure, no error.
    fn found_none(&self, _results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0)
    }

    /// The file, or the package, in the id of a test.
    fn file_of<'a>(&self, id: &'a str) -> &'a str {
        let file = id.split(" > ").next().unwrap_or(id);
        // Of a workspace: `|project| file`.
        file.strip_prefix('|')
            .and_then(|rest| rest.split_once("| "))
            .map_or(file, |(_, file)| file)
    }

    /// A test that failed, as it is asked for again.
    fn failed(&self, case: &Case) -> FailedTest {
        let id = case.id.clone();
        if self.is_compiled() {
            // The package, or the program of the tests, is the first of the suites.
            let names = case
                .suite
                .iter()
                .skip(1)
                .chain([&case.name])
                .cloned()
                .collect();
            return FailedTest {
                id,
                file: case.suite.first().cloned().unwrap_or_default(),
                names,
            };
        }
        let file = case
            .file
            .clone()
            .unwrap_or_else(|| self.file_of(&id).to_owned());
        FailedTest {
            id,
            file,
            names: case.suite.iter().chain([&case.name]).cloned().collect(),
        }
    }

    /// A test that began and never ended, the same; `None` if it cannot be asked for.
    fn unfinished(&self, id: &str) -> Option<FailedTest> {
        self.has_reporter()
            .then(|| FailedTest::of_file(self.file_of(id)))
    }

    /// Of what was named, what did not run.
    fn missed<'t>(
        &self,
        evidence: &Evidence<'_>,
        named: &[&'t NamedPath],
        results: &TestResults,
    ) -> Vec<&'t NamedPath> {
        if self.is_given() {
            Vec::new()
        } else {
            not_taken_up(evidence, named, results, |_| true)
        }
    }

    /// Ids of tests that the run did not come to, and never told of: those behind one that their
    /// process died in.
    fn behind(&self, _evidence: &Evidence<'_>, _results: &TestResults) -> Vec<String> {
        Vec::new()
    }

    /// What has tests and is switched off by the project's manifest, where that is what leaves out
    /// tests.
    fn switched_off(
        &self,
        context: &RunContext<'_>,
        root: &Path,
        which: &TestSelection,
    ) -> Option<Vec<String>> {
        (self.language() == Some(Language::Rust)).then(|| cargo::switched_off(context, root, which))
    }

    /// What to say of a run beside its report.
    fn note(&self, _which: &TestSelection, _results: &TestResults, _root: &Path) -> Option<String> {
        None
    }

    /// What the operator runs so that commands, which have no network, see packages that a build
    /// lacks.
    fn download(&self, _context: &RunContext<'_>) -> Option<&'static str> {
        None
    }

    /// The next step where the report has one to tell that only this runner knows.
    fn hint(
        &self,
        _context: &RunContext<'_>,
        _report: &TestReport,
        _has_own_harness: bool,
    ) -> Option<String> {
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
        TestResults {
            remarks: results::remarks(&sources),
            ..self.parse(&sources, bound)
        }
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

/// How many tests have ended, and how many are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    /// Those that have ended.
    pub done: u64,
    /// Those that are known; may grow while files are loaded.
    pub total: u64,
    /// The reporter has said that all have.
    pub has_ended: bool,
}

/// A line of a bundled reporter, as far as it is counted.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ReporterEvent {
    pub ev: String,
    pub tests: u64,
    /// The phase of a test.
    pub when: String,
}
