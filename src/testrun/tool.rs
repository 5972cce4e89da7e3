//! What runners of tests and checkers of types have in common: how they are found, and which
//! program they are.

use std::fmt::Debug;
use std::path::Path;

use super::context::RunContext;
use super::project::disk::AllowedDisk;
use super::project::language::Language;
use super::project::program::ToolProgram;
use super::project::signs::{ProjectLevel, Sign};
use super::project::{node, python};
use crate::exec::{Exit, Outcome};
use crate::policy::{Checked, Read};

/// What of a tool is data.
pub struct About {
    /// As it is asked for, and as it is called in replies.
    pub name: &'static str,
    /// For people, with the versions that are understood.
    pub title: &'static str,
    /// The language of its projects; `None` if any.
    pub language: Option<Language>,
    pub origin: Origin,
}

/// Where the program of a tool comes from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// Commands find it by this name.
    Path(&'static str),
    /// A package in `node_modules`, and the program of it.
    Node(&'static str, &'static str),
    /// A module of the project's Python.
    Python(&'static str),
}

/// A runner or a checker.
pub trait ProjectTool: Sync {
    fn about(&self) -> &'static About;

    /// What a directory says for it.
    fn sign(&self, _level: &ProjectLevel<'_>) -> Sign {
        None
    }

    /// Its program, for a project.
    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let (disk, dir) = (context.disk(), project.shown());
        match self.about().origin {
            Origin::Path(program) => ToolProgram::on_path(program),
            Origin::Node(package, program) => node::program(disk, dir, package, program),
            Origin::Python(module) => ToolProgram::Found(python::module(disk, dir, module), None),
        }
    }

    /// Whether it is installed in a directory itself.
    fn is_in(&self, disk: AllowedDisk<'_>, dir: &Path) -> bool {
        match self.about().origin {
            Origin::Path(_) => false,
            Origin::Node(package, program) => node::find(disk, dir, package, program).is_some(),
            Origin::Python(module) => python::is_installed(disk, dir, module),
        }
    }

    /// The next step where its program was not found; `argv` is what was run.
    fn how_to_get(&self, context: &RunContext<'_>, argv: &[String]) -> String {
        match self.about().origin {
            Origin::Path(program) => RunContext::not_found_hint(program),
            Origin::Node(..) => RunContext::not_found_hint("node"),
            Origin::Python(module) => context.how_to_install(argv, module),
        }
    }

    fn name(&self) -> &'static str {
        self.about().name
    }

    fn title(&self) -> &'static str {
        self.about().title
    }

    fn language(&self) -> Option<Language> {
        self.about().language
    }

    /// Whether it is for files of this name; `true` for names that say nothing.
    fn suits(&self, file: &str) -> bool {
        match (self.language(), Language::of(file)) {
            (Some(own), Some(language)) => own == language,
            _ => true,
        }
    }
}

/// All tools of one kind: `dyn Runner`, or `dyn Checker`.
pub trait ToolKind: ProjectTool + Debug + 'static {
    /// All there are. Of two that a project has for equal reasons the first is taken.
    fn all() -> &'static [&'static Self];
}

/// Whether the program was not there: the shell found none (127, sh(1)), or Python has no such
/// module.
pub fn is_absent(name: &str, outcome: &Outcome) -> bool {
    match outcome.exit {
        Exit::Code(127) => true,
        Exit::Code(1) => outcome
            .stderr
            .text()
            .trim_end()
            .ends_with(&format!(": No module named {name}")),
        _ => false,
    }
}
