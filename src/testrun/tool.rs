//! Common interface of test runners and type checkers: detection, and the program.

use std::fmt::Debug;
use std::path::Path;

use replay_files::policy::{Checked, Read};
use replay_sandbox::exec::{Exit, Outcome};

use super::by_language::jvm::{self, BuildTool};
use super::context::RunContext;
use super::project::disk::AllowedDisk;
use super::project::language::Language;
use super::project::program::ToolProgram;
use super::project::signs::{ProjectLevel, Sign};
use super::project::{node, python};

/// Static data of a tool.
pub struct ToolDescription {
    /// Name in requests and replies.
    pub name: &'static str,
    /// Name for people, with the supported versions.
    pub title: &'static str,
    /// Language of its projects; `None` for any.
    pub language: Option<Language>,
    pub origin: ProgramOrigin,
}

impl ToolDescription {
    /// Describes a tool that is a program in PATH.
    pub(crate) fn on_path(
        language: Language,
        name: &'static str,
        title: &'static str,
        program: &'static str,
    ) -> Self {
        let (language, origin) = (Some(language), ProgramOrigin::Path(program));
        Self {
            name,
            title,
            language,
            origin,
        }
    }

    /// Describes a tool that is a program of the same name in a package of Node.
    pub(crate) fn node(name: &'static str, title: &'static str, package: &'static str) -> Self {
        let origin = ProgramOrigin::Node(package, name);
        Self {
            origin,
            ..Self::on_path(Language::JavaScript, name, title, name)
        }
    }

    /// Describes a tool that is a Python module of the same name.
    pub(crate) fn python(name: &'static str, title: &'static str) -> Self {
        let origin = ProgramOrigin::Python(name);
        Self {
            origin,
            ..Self::on_path(Language::Python, name, title, name)
        }
    }

    /// Describes a build tool of the JVM.
    pub(crate) fn wrapped(
        name: &'static str,
        title: &'static str,
        tool: &'static BuildTool,
    ) -> Self {
        let origin = ProgramOrigin::Wrapped(tool);
        Self {
            origin,
            ..Self::on_path(Language::Java, name, title, name)
        }
    }
}

/// Source of a tool's program. Two runners of the same program are found by the same signs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProgramOrigin {
    /// A program in PATH.
    Path(&'static str),
    /// A package in `node_modules`, and its program.
    Node(&'static str, &'static str),
    /// A module of the project's Python.
    Python(&'static str),
    /// A program in PATH, or the wrapper script that a project has for it.
    Wrapped(&'static BuildTool),
}

/// A runner or a checker.
pub trait ProjectTool: Sync {
    fn about(&self) -> ToolDescription;

    /// Returns the sign of the tool in a directory.
    fn sign(&self, _level: &ProjectLevel<'_>) -> Sign {
        None
    }

    /// Returns the tool's program for a project.
    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> ToolProgram {
        let (disk, dir) = (context.disk(), project.display_path());
        match self.about().origin {
            ProgramOrigin::Path(program) => ToolProgram::on_path(program),
            ProgramOrigin::Node(package, program) => node::program(disk, dir, package, program),
            ProgramOrigin::Python(module) => {
                ToolProgram::Found(python::module(disk, dir, module), None)
            }
            ProgramOrigin::Wrapped(tool) => jvm::program(tool, context, project),
        }
    }

    /// Returns true if the tool is installed in the directory itself.
    fn is_in(&self, disk: AllowedDisk<'_>, dir: &Path) -> bool {
        match self.about().origin {
            ProgramOrigin::Path(_) | ProgramOrigin::Wrapped(_) => false,
            ProgramOrigin::Node(package, program) => {
                node::find(disk, dir, package, program).is_some()
            }
            ProgramOrigin::Python(module) => python::is_installed(disk, dir, module),
        }
    }

    /// Returns the next step if the program was not found; `argv` is the command that ran.
    fn install_step(&self, context: &RunContext<'_>, project: &Path, argv: &[String]) -> String {
        match self.about().origin {
            ProgramOrigin::Path(program) => RunContext::not_found_hint(program),
            ProgramOrigin::Wrapped(tool) => RunContext::not_found_hint(tool.program),
            ProgramOrigin::Node(..) => RunContext::not_found_hint("node"),
            ProgramOrigin::Python(module) => context.python_install_step(project, argv, module),
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

    /// Returns true if the tool suits a file name; also for names of unknown language.
    fn suits(&self, file: &str) -> bool {
        match (self.language(), Language::of(file)) {
            (Some(own), Some(language)) => own == language,
            _ => true,
        }
    }
}

/// A kind of tool: `dyn Runner`, or `dyn Checker`.
pub trait ToolKind: ProjectTool + Debug + 'static {
    /// Returns all tools. If a project has two for equal reasons, the first one is used.
    fn all() -> &'static [&'static Self];
}

/// Returns true if the program was missing: the shell found none (127, sh(1)), or Python has no
/// such module.
pub(crate) fn is_absent(name: &str, outcome: &Outcome) -> bool {
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
