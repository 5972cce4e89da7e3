//! Interface of a type checker: its command line, its output, and the files whose errors it
//! suppresses.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::Path;
use std::time::Duration;

use replay_base::cancel::Bound;
use replay_files::policy::{Checked, Read};
use replay_sandbox::exec::Outcome;

use super::command::safe;
use super::context::RunContext;
use super::error::TestrunError;
use super::model::CheckerName;
use super::project::disk::ProjectTree as _;
use super::project::files::NamedPath;
use super::reports::results::{self, CheckResults, Sources};
use super::tool::ProjectTool;

/// A checker of types.
pub trait Checker: ProjectTool {
    /// Returns false for a checker that a call has to name.
    fn checks_types(&self) -> bool {
        true
    }

    /// Returns the arguments for a project.
    fn arguments(&self, wanted: &CheckInputs<'_>) -> Result<Vec<String>, TestrunError>;

    /// Adapts a command that a version of the program refused with this stderr. Returns false if no
    /// change is needed.
    fn adapt(&self, _argv: &mut [String], _stderr: &str) -> bool {
        false
    }

    /// Parses the output of a check within a time limit.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults;

    /// Like [`Self::parse`], with the end of the remaining output.
    fn read(&self, sources: Sources<'_>, bound: Bound<'_>) -> CheckResults {
        CheckResults {
            remarks: results::remarks(&sources),
            ..self.parse(&sources, bound)
        }
    }

    /// Returns the absolute paths of the checked files, where the output does not name them; `None`
    /// if unknown.
    fn examined_files(&self, _ended: &EndedCheck<'_>) -> Result<ExaminedFiles, TestrunError> {
        Ok(None)
    }

    /// Returns true if the checked files must include this target.
    fn is_source(&self, target: &NamedPath) -> bool {
        !target.is_matched
    }

    /// Returns the name and the text of the configuration that may suppress errors of files.
    fn configuration(&self, _text: &TextOf<'_>) -> Option<(&'static str, String)> {
        None
    }

    /// Returns the reason if the checker suppresses all errors of a file; `None` if it does not.
    /// The words continue "it is not checked:".
    fn silenced(&self, _source: CheckSource<'_>, _configuration: &str) -> Option<String> {
        None
    }

    /// Returns the exclusions in the configuration, verbatim.
    fn excluded(&self, _configuration: &str) -> Option<String> {
        None
    }
}

impl dyn Checker {
    /// Returns the checker's name as replies have it.
    pub fn id(&self) -> CheckerName {
        CheckerName(self.name())
    }
}

impl PartialEq for dyn Checker {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Debug for dyn Checker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Absolute paths of checked files; `None` if unknown.
pub(crate) type ExaminedFiles = Option<BTreeSet<String>>;

/// A check whose process has ended.
pub struct EndedCheck<'a> {
    pub wanted: &'a CheckInputs<'a>,
    pub outcome: &'a Outcome,
    /// Time limit for reading.
    pub bound: Bound<'a>,
    /// Time left for commands.
    pub time_left: Duration,
}

/// Inputs of a checker's command line.
pub struct CheckInputs<'a> {
    /// Server context of the check.
    pub context: &'a RunContext<'a>,
    pub project: &'a Checked<Read>,
    /// Requested targets; empty for all.
    pub targets: &'a [NamedPath],
    /// Path of the command's private directory, as the command sees it.
    pub place: &'a str,
}

impl CheckInputs<'_> {
    /// Returns the text of a file of the project.
    pub fn text(&self, name: &str) -> Option<String> {
        self.context.disk().text(&self.dir().join(name))
    }

    pub fn dir(&self) -> &Path {
        self.project.display_path()
    }

    /// Returns files and directories as arguments.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.targets
            .iter()
            .map(|target| safe(target.below(self.dir())))
    }
}

/// Function that returns the text of a file of the project.
pub(crate) type TextOf<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A requested file.
#[derive(Clone, Copy)]
pub struct CheckSource<'a> {
    /// Path below the project's directory, with slashes.
    pub path: &'a str,
    /// Contents of the file.
    pub text: &'a str,
    /// Returns true for a directory (path below the project's) that is a Python package.
    pub is_package: &'a dyn Fn(&str) -> bool,
}
