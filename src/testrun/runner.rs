//! Interface of a test runner: its capabilities, its command line, and its results.
//!
//! Every runner implements the methods without a body. The other methods have the behaviour of most
//! runners. Methods of `dyn Runner` follow from the language of the runner.

use std::fmt::{self, Debug};
use std::path::Path;

use replay_base::cancel::Bound;
use replay_base::text::glob::escape;
use replay_files::policy::{Checked, Read};

use super::by_language::{cargo, javascript, jvm, python_tests};
use super::changes::{AffectedTests, GitChanges};
use super::command::{RunInputs, RunPlan};
use super::completeness_input::{Evidence, ProjectFacts, not_collected};
use super::context::RunContext;
use super::error::TestrunError;
use super::model::{Case, RunnerName, TestReport};
use super::project::files::NamedPath;
use super::project::language::Language;
use super::project::script::{ScriptRunner, TestScript};
use super::reports::results::{self, Sources, TestResults};
use super::selection::{FailedTest, TestSelection};
use super::test_count::TestCount;
use super::tool::ProjectTool;

/// Another runner for a project, and the reason.
pub(crate) type Substitution = Result<Option<(&'static dyn Runner, &'static str)>, TestrunError>;

/// A test runner.
pub trait Runner: ProjectTool {
    /// Returns the runner that replaces this one in a project, and the reason. Not used for a
    /// runner that is requested by name.
    fn substitute(&self, _: &RunContext<'_>, _project: &Checked<Read>) -> Substitution {
        Ok(None)
    }

    /// Returns the selection of all tests in a project, and a note on omissions.
    fn whole(&self, _context: &RunContext<'_>, _project: &Path) -> (TestSelection, Option<String>) {
        (TestSelection::All, None)
    }

    /// Returns the tests that changes affect; `None` if the runner finds them itself.
    fn affected(&self, project: &Path, changes: &GitChanges) -> Option<AffectedTests> {
        match self.language()? {
            Language::Python => Some(python_tests::affected(project, changes)),
            // Only a build knows the tests of a source.
            Language::DotNet | Language::Cpp => None,
            language if language.is_compiled() => {
                Some(changes.packages(project, |file| language.is_source(file)))
            }
            language => {
                self.tests_of("")?;
                let tests_of = |file: &Path| {
                    let stem = file.file_stem().filter(|_| language.is_source(file))?;
                    self.tests_of(&escape(stem.to_str()?))
                };
                Some(changes.by_name(project, language, tests_of))
            }
        }
    }

    /// Returns the glob for the tests that are named after a source file with this stem; `None` if
    /// the runner finds affected tests itself.
    fn tests_of(&self, _stem: &str) -> Option<String> {
        None
    }

    /// Returns true if a run with success always has a report, which names the collected files. A
    /// bundled reporter writes its first event before all else. By default true unless the runner
    /// compiles.
    fn has_reporter(&self) -> bool {
        self.language()
            .is_some_and(|language| !language.is_compiled())
    }

    /// Returns the options with a value in the next word, separated by blanks. Only for a runner of
    /// JavaScript that takes paths as they are: its script's other words are paths.
    fn valued_options(&self) -> Option<&'static str> {
        None
    }

    /// Returns the command for a run.
    fn plan(&self, wanted: &RunInputs<'_>) -> Result<RunPlan, TestrunError>;

    /// Returns the facts about a project that are needed to read its results.
    fn facts(
        &self,
        context: &RunContext<'_>,
        project: &Checked<Read>,
        _wanted: &RunInputs<'_>,
    ) -> ProjectFacts {
        match self.language() {
            Some(Language::Java) => jvm::facts(context, project),
            _ => ProjectFacts::default(),
        }
    }

    /// Counts the tests in a line of the growing report, or in a line of output of a compiled
    /// runner.
    fn count(&self, line: &[u8], counted: &mut TestCount) {
        if let Ok(event) = serde_json::from_slice(line) {
            counted.add(&event);
        }
    }

    /// Parses the output of a run within a time limit.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> TestResults;

    /// Returns true if one process runs many tests. If it dies in one, the later ones are not even
    /// known. By default true if the runner compiles.
    fn is_shared(&self) -> bool {
        self.language().is_some_and(Language::is_compiled)
    }

    /// Returns true if a run with no test, no failure and no error ended well.
    fn ended_without_tests(&self, _results: &TestResults, exit_code: Option<i32>) -> bool {
        exit_code == Some(0)
    }

    /// Returns the named targets that did not run.
    fn missed<'t>(&self, evidence: &Evidence<'_>, named: &[&'t NamedPath]) -> Vec<&'t NamedPath> {
        match self.language() {
            Some(Language::Python) => python_tests::missed(evidence, named),
            // Changed files belong to modules, of which all classes run.
            Some(Language::Java) if evidence.by_package => Vec::new(),
            // A command and CTest name no files.
            Some(Language::Cpp) | None => Vec::new(),
            _ => not_collected(evidence, named, |_| true),
        }
    }

    /// Returns the ids of unreported tests after one in which their process died.
    fn unreported(&self, _evidence: &Evidence<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Returns the targets whose tests the project's manifest disables, if that explains missing
    /// tests.
    fn switched_off(
        &self,
        _context: &RunContext<'_>,
        _root: &Path,
        _which: &TestSelection,
    ) -> Option<Vec<String>> {
        None
    }

    /// Returns a note on a run beyond its report.
    fn note(&self, _which: &TestSelection, _results: &TestResults, _root: &Path) -> Option<String> {
        None
    }

    /// Returns the command with which the operator downloads packages that a build lacks: commands
    /// have no network.
    fn download(&self, _context: &RunContext<'_>) -> Option<&'static str> {
        None
    }

    /// Returns the next step, if the report implies one that only this runner knows.
    fn hint(&self, _: &RunContext<'_>, _: &TestReport, _has_own_harness: bool) -> Option<String> {
        None
    }
}

impl dyn Runner + '_ {
    /// Returns the runner's name as replies have it.
    pub fn id(&self) -> RunnerName {
        RunnerName(self.name())
    }

    /// Returns true if the call gives the command and the report, so that the runner chooses
    /// nothing itself.
    pub fn is_custom_command(&self) -> bool {
        self.language().is_none()
    }

    /// Returns true if test ids are pytest's node ids, and a file argument may be one (`::`).
    pub fn has_node_ids(&self) -> bool {
        self.language() == Some(Language::Python)
    }

    /// Returns true if a run without files covers the whole project, in whatever subdirectory it
    /// starts.
    pub fn covers_whole_project(&self) -> bool {
        matches!(self.language(), Some(Language::Rust) | None)
    }

    /// Returns true if no test runs before everything is compiled.
    pub fn is_compiled(&self) -> bool {
        self.language().is_some_and(Language::is_compiled)
    }

    /// Returns true if a filter selects the tests whose path contains it.
    pub fn filters_by_substring(&self) -> bool {
        self.language() == Some(Language::Rust)
    }

    /// Returns the reason why the runner cannot use a filter.
    pub fn refuse_filter(&self, filter: &str) -> Option<String> {
        let of_cargo = self.language() == Some(Language::Rust);
        of_cargo.then(|| cargo::refuse_filter(filter)).flatten()
    }

    /// Returns the settings of the project's test script, notes on the applied ones, and the
    /// omissions.
    pub fn script(
        &self,
        context: &RunContext<'_>,
        project: &Path,
    ) -> (TestScript, Vec<String>, Option<String>) {
        match self.language() {
            Some(Language::JavaScript) => {
                let runner = ScriptRunner {
                    name: self.name(),
                    valued: self.valued_options(),
                };
                javascript::script(context, project, runner)
            }
            _ => Default::default(),
        }
    }

    /// Returns the file or package in the id of a test.
    pub fn file_of<'i>(&self, id: &'i str) -> &'i str {
        if self.has_node_ids() {
            return id.split("::").next().unwrap_or(id);
        }
        let file = id.split(" > ").next().unwrap_or(id);
        // In a workspace: `|project| file`.
        file.strip_prefix('|')
            .and_then(|rest| rest.split_once("| "))
            .map_or(file, |(_, file)| file)
    }

    /// Returns a failed test in the form for a rerun.
    pub fn failed(&self, case: &Case) -> FailedTest {
        let id = case.id.clone();
        // An inherited test runs in another file than the one that declares it.
        if self.has_node_ids() {
            return FailedTest::of_node(id);
        }
        if self.is_compiled() {
            // A reporter names the class; elsewhere the first suite is the class, the package or
            // the test program.
            let (file, own) = if self.has_reporter() {
                (self.file_of(&id).to_owned(), 0)
            } else {
                (case.suite.first().cloned().unwrap_or_default(), 1)
            };
            let names = case.suite.iter().skip(own).chain([&case.name]);
            return FailedTest {
                id,
                file,
                names: names.cloned().collect(),
            };
        }
        let file = case.file.clone();
        FailedTest {
            file: file.unwrap_or_else(|| self.file_of(&id).to_owned()),
            id,
            names: case.suite.iter().chain([&case.name]).cloned().collect(),
        }
    }

    /// Like `failed`, for a test that began and never ended; `None` if it cannot be run by name.
    pub fn unfinished(&self, id: &str) -> Option<FailedTest> {
        if self.has_node_ids() {
            return Some(FailedTest::of_node(id.to_owned()));
        }
        self.has_reporter()
            .then(|| FailedTest::of_file(self.file_of(id)))
    }

    /// Like [`Runner::parse`], with the end of the remaining output.
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
