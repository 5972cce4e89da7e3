//! Command line of a runner: its inputs, and its form for a shell.

use std::fmt::Write as _;
use std::path::Path;

use replay_base::limits::MAX_RERUN_TESTS;

use super::project::disk::ProjectTree;
use super::project::script::TestScript;
use super::selection::{FailedTest, TestSelection};

/// Name of the report in the shared directory.
pub(crate) const REPORT: &str = "report";
/// Variable with the output path for a bundled reporter.
pub(crate) const REPORT_VARIABLE: &str = "REPLAY_TEST_REPORT";

/// Inputs of a runner's command line.
#[derive(Clone, Copy)]
pub struct RunInputs<'a> {
    /// First words of the command.
    pub program: &'a [String],
    /// Working directory of the command.
    pub project: &'a Path,
    pub tree: &'a dyn ProjectTree,
    /// Path of the directory shared with the server, as the command sees it.
    pub place: &'a str,
    /// TMPDIR of the command, which holds caches.
    pub tmp: &'a str,
    pub selection: &'a TestSelection,
    /// `true` if the targets are whole packages with changes.
    pub by_package: bool,
    /// Filter for test names, in the runner's own syntax.
    pub filter: Option<&'a str>,
    /// Settings from the project's test script.
    pub script: &'a TestScript,
}

impl<'a> RunInputs<'a> {
    /// Returns the failed tests to run again, if each can be named.
    pub(crate) fn named_failures(&self) -> Option<&'a [FailedTest]> {
        match self.selection {
            TestSelection::Failed(failed) if can_rerun_by_name(failed) => Some(failed),
            _ => None,
        }
    }
}

/// A reporter that comes with this program.
pub struct Reporter {
    /// Its name in the shared directory.
    pub file: &'static str,
    pub text: &'static str,
}

/// A command that is ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables that the project's test script sets.
    pub of_script: Vec<(String, String)>,
    /// Variables from the runner.
    pub environment: Vec<(&'static str, String)>,
    /// Directories that come first in Python's module search path.
    pub python_path: Option<String>,
    /// Files to write into the shared directory.
    pub files: Vec<(&'static str, String)>,
    pub report: ReportPlace,
}

/// Place of a run's report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReportPlace {
    /// The file [`REPORT`] in the shared directory.
    #[default]
    Shared,
    /// Files with this ending in the shared directory.
    SharedFiles(&'static str),
    Stdout,
    /// Files of the project that the run writes, as paths or globs relative to its directory.
    Project(Vec<String>),
    /// Like `Project`, for reports of a runner that writes none without tests.
    Generated(Vec<String>),
}

impl RunPlan {
    /// Creates a plan with the program and the variables of the test script.
    pub fn of(wanted: &RunInputs<'_>) -> Self {
        let of_script = wanted.script.environment.clone();
        Self {
            argv: wanted.program.to_vec(),
            of_script,
            ..Self::default()
        }
    }

    /// Adds a bundled reporter to the shared directory, and the variable with its output path.
    pub fn use_reporter(&mut self, wanted: &RunInputs<'_>, reporter: &Reporter) {
        self.files.push((reporter.file, reporter.text.to_owned()));
        self.environment
            .push((REPORT_VARIABLE, format!("{}/{REPORT}", wanted.place)));
    }

    /// Adds the option that selects tests by their names: with the filter, or else with a regular
    /// expression (`of`) for the tests to run again.
    pub(crate) fn select_names(
        &mut self,
        wanted: &RunInputs<'_>,
        option: &str,
        of: impl FnOnce(&[FailedTest]) -> String,
    ) {
        let again = || wanted.named_failures().map(of);
        let pattern = wanted.filter.map(str::to_owned).or_else(again);
        self.argv
            .extend(pattern.map(|pattern| format!("{option}={pattern}")));
    }

    pub fn add<S: Into<String>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.argv.extend(words.into_iter().map(Into::into));
    }
}

/// Style of files and directories on a runner's command line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathStyle {
    Exact,
    /// Substrings of paths: a directory needs its slash, and the project itself is omitted.
    Patterns,
}

/// Returns true if failed tests are named one by one: not if a whole file failed, nor if there are
/// too many.
pub(crate) fn can_rerun_by_name(failed: &[FailedTest]) -> bool {
    failed.len() <= MAX_RERUN_TESTS && failed.iter().all(|test| !test.names.is_empty())
}

/// Returns files and directories as arguments, relative to the project's directory where possible.
pub(crate) fn paths(wanted: &RunInputs<'_>, style: PathStyle) -> Vec<String> {
    match wanted.selection {
        TestSelection::All | TestSelection::Changed => Vec::new(),
        TestSelection::Targets(targets) => targets
            .iter()
            .map(|target| {
                let path = target.below(wanted.project);
                safe(
                    if target.is_dir && style == PathStyle::Patterns && path != "." {
                        path + "/"
                    } else {
                        path
                    },
                )
            })
            .filter(|path| path != "." || style == PathStyle::Exact)
            .collect(),
        TestSelection::Failed(failed) => {
            let mut files: Vec<String> =
                failed.iter().map(|test| safe(test.file.clone())).collect();
            files.sort();
            files.dedup();
            files
        }
    }
}

/// Returns a path in a form that is not parsed as an option.
pub(crate) fn safe(path: String) -> String {
    if path.starts_with('-') {
        format!("./{path}")
    } else {
        path
    }
}

/// Escapes a text for a regular expression of JavaScript or Go.
pub(crate) fn escape_regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for next in text.chars() {
        if "\\^$.|?*+()[]{}".contains(next) {
            escaped.push('\\');
        }
        escaped.push(next);
    }
    escaped
}

/// Returns a regular expression for any of these ones.
pub(crate) fn any_of(patterns: impl IntoIterator<Item = String>) -> String {
    let patterns: Vec<String> = patterns.into_iter().collect();
    format!("(?:{})", patterns.join("|"))
}

/// Returns the command as a line for `/bin/sh`.
pub(crate) fn line(plan: &RunPlan) -> String {
    // Writing to a String cannot fail.
    let mut line = "exec env".to_owned();
    // Variables of the script come first, so that others override them.
    let of_script = plan
        .of_script
        .iter()
        .map(|(name, value)| (name.as_str(), value));
    for (name, value) in
        of_script.chain(plan.environment.iter().map(|(name, value)| (*name, value)))
    {
        let _ = write!(line, " {name}={}", quoted(value));
    }
    if let Some(path) = &plan.python_path {
        let _ = write!(
            line,
            " PYTHONPATH={}\"${{PYTHONPATH:+:$PYTHONPATH}}\"",
            quoted(path)
        );
    }
    line + " " + &words(&plan.argv)
}

/// Returns the line for `/bin/sh` of a command from the caller, which finds the path of its report
/// in a variable. `place` is the shared directory.
pub(crate) fn custom_line(command: &str, place: &str) -> String {
    let report = quoted(&format!("{place}/{REPORT}"));
    format!("export {REPORT_VARIABLE}={report}\n{command}")
}

/// Returns the words of a command, quoted for a shell and for people.
pub(crate) fn words(argv: &[String]) -> String {
    argv.iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |next: char| next.is_ascii_alphanumeric() || "-_./=:,+@%".contains(next);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
