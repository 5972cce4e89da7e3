//! What a checker of types is to everything above it: how it is run, what is read of it, and which
//! files it is silent on.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::Path;
use std::time::Duration;

use super::command::safe;
use super::context::RunContext;
use super::error::TestrunError;
use super::model::CheckerName;
use super::project::disk::ProjectTree as _;
use super::project::files::NamedPath;
use super::reports::results::{self, CheckResults, Sources};
use super::tool::ProjectTool;
use crate::cancel::Bound;
use crate::exec::Outcome;
use crate::policy::{Checked, Read};

/// A checker of types.
pub trait Checker: ProjectTool {
    /// The arguments for a project.
    fn arguments(&self, wanted: &CheckWanted<'_>) -> Result<Vec<String>, TestrunError>;

    /// Changes a command that a version of the program refused in these words; `false` if it is as
    /// it should be.
    fn adapt(&self, _argv: &mut [String], _stderr: &str) -> bool {
        false
    }

    /// Reads what a check left, until work has to be over.
    fn parse(&self, sources: &Sources<'_>, bound: Bound<'_>) -> CheckResults;

    /// The same, with the end of what was written besides.
    fn read(&self, sources: Sources<'_>, bound: Bound<'_>) -> CheckResults {
        CheckResults {
            remarks: results::remarks(&sources),
            ..self.parse(&sources, bound)
        }
    }

    /// The files that were looked at, absolute, where the output does not name them; `None` if that
    /// cannot be known.
    fn looked_at(
        &self,
        _wanted: &CheckWanted<'_>,
        _outcome: &Outcome,
        _bound: Bound<'_>,
        _time_left: Duration,
    ) -> Result<Option<BTreeSet<String>>, TestrunError> {
        Ok(None)
    }

    /// Whether something that was named has to be among those.
    fn is_source(&self, target: &NamedPath) -> bool;

    /// The configuration that may silence files, and its name.
    fn configuration(
        &self,
        _text: &dyn Fn(&str) -> Option<String>,
    ) -> Option<(&'static str, String)> {
        None
    }

    /// What has it tell no errors of a file that it reads, in words that go on from "it is not
    /// checked:"; `None` if nothing does.
    fn silenced(&self, _source: CheckSource<'_>, _configuration: &str) -> Option<String> {
        None
    }

    /// What its configuration leaves out of directories, as it stands there.
    fn excluded(&self, _configuration: &str) -> Option<String> {
        None
    }
}

impl dyn Checker {
    /// Its name as a reply has it.
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

/// What a command line is made of.
pub struct CheckWanted<'a> {
    /// What checks stand on.
    pub context: &'a RunContext<'a>,
    pub project: &'a Checked<Read>,
    /// What was asked for; empty for all.
    pub targets: &'a [NamedPath],
    /// The command's path of a directory of its own.
    pub place: &'a str,
}

impl CheckWanted<'_> {
    /// The text of a file of the project.
    pub fn text(&self, name: &str) -> Option<String> {
        self.context.disk().text(&self.dir().join(name))
    }

    pub fn dir(&self) -> &Path {
        self.project.shown()
    }

    /// Files and directories as arguments.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.targets
            .iter()
            .map(|target| safe(target.below(self.dir())))
    }
}

/// A file that was asked for.
#[derive(Clone, Copy)]
pub struct CheckSource<'a> {
    /// Its path below the project's directory, with slashes.
    pub path: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// Whether a directory below the project's, named likewise, is a package of Python.
    pub is_package: &'a dyn Fn(&str) -> bool,
}
