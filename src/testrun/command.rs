//! The command line of a runner: what it is made of, and how a shell is told it.

use std::fmt::Write as _;
use std::path::Path;

use super::project::disk::ProjectTree;
use super::project::script::TestScript;
use super::selection::{FailedTest, TestSelection};
use crate::limits::MAX_RERUN_TESTS;

/// What reporters write to, and where Vitest, pytest, Jest and nextest leave their report.
pub const REPORT: &str = "report";
/// The variable that tells a bundled reporter where to write.
pub const REPORT_VARIABLE: &str = "REPLAY_TEST_REPORT";

/// What a command line is made of.
#[derive(Clone, Copy)]
pub struct WantedRun<'a> {
    /// The words that it begins with.
    pub program: &'a [String],
    /// The directory that it begins in.
    pub project: &'a Path,
    pub tree: &'a dyn ProjectTree,
    /// The command's path of the directory that it shares with the server.
    pub place: &'a str,
    /// The command's TMPDIR, where caches are kept.
    pub tmp: &'a str,
    pub selection: &'a TestSelection,
    /// Whether these are whole packages of what has changed.
    pub by_package: bool,
    /// What names of tests must match, in the runner's own words.
    pub filter: Option<&'a str>,
    /// What the project's test script says.
    pub script: &'a TestScript,
}

/// A command that is ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables that the project's test script sets.
    pub of_script: Vec<(String, String)>,
    /// Variables that it gets.
    pub environment: Vec<(&'static str, String)>,
    /// Directories that Python looks for modules in first.
    pub python_path: Option<String>,
    /// Files that are put into the place.
    pub files: Vec<(&'static str, String)>,
    /// Whether there will be a report in the place, and not on stdout.
    pub reports: bool,
}

impl RunPlan {
    /// The program, with what the test script sets.
    pub fn of(wanted: &WantedRun<'_>) -> Self {
        let of_script = wanted.script.environment.clone();
        Self {
            argv: wanted.program.to_vec(),
            of_script,
            reports: true,
            ..Self::default()
        }
    }

    /// Puts a bundled reporter into the place, and tells it where to write.
    pub fn report_by(&mut self, wanted: &WantedRun<'_>, (file, text): (&'static str, &str)) {
        self.files.push((file, text.to_owned()));
        self.environment
            .push((REPORT_VARIABLE, format!("{}/{REPORT}", wanted.place)));
    }

    pub fn add<S: Into<String>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.argv.extend(words.into_iter().map(Into::into));
    }
}

/// How a runner takes files and directories.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    Exact,
    /// As parts of paths: a directory needs its slash, and the project itself is not named.
    Patterns,
}

/// Whether failed tests are told by name: not if a whole file failed, nor if they are too many.
pub fn by_name(failed: &[FailedTest]) -> bool {
    failed.len() <= MAX_RERUN_TESTS && failed.iter().all(|test| !test.names.is_empty())
}

/// Files and directories as arguments, below the project's directory where they are.
pub fn paths(wanted: &WantedRun<'_>, style: PathStyle) -> Vec<String> {
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

/// An argument that is not taken for an option.
pub fn safe(path: String) -> String {
    if path.starts_with('-') {
        format!("./{path}")
    } else {
        path
    }
}

/// The regular expression of JavaScript or Go that matches a text itself.
pub fn escape_regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for next in text.chars() {
        if "\\^$.|?*+()[]{}".contains(next) {
            escaped.push('\\');
        }
        escaped.push(next);
    }
    escaped
}

/// The line for `/bin/sh` that a command is.
pub fn line(plan: &RunPlan) -> String {
    // Writing to a String cannot fail.
    let mut line = "exec env".to_owned();
    // What the script sets comes before the others, which nothing replaces.
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

/// The words of a command, for people and as a shell reads them.
pub fn words(argv: &[String]) -> String {
    argv.iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |next: char| next.is_ascii_alphanumeric() || "-_./=:,+@%".contains(next);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
