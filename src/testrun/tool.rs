//! What runners of tests and checkers of types have in common: how they are found, and which program they are.

use std::fmt::Debug;
use std::path::Path;

use super::context::RunContext;
use super::project::disk::Disk;
use super::project::language::Language;
use super::project::program::Program;
use super::project::signs::{Level, Sign};
use crate::exec::{Exit, Outcome};
use crate::policy::{Checked, Read};

/// A runner or a checker.
pub trait Tool: Sync {
    /// As it is asked for, and as it is called in replies.
    fn name(&self) -> &'static str;

    /// For people, with the versions that are understood.
    fn title(&self) -> &'static str;

    /// The language of its projects; `None` if any.
    fn language(&self) -> Option<Language>;

    /// What a directory says for it.
    fn sign(&self, _level: &Level<'_>) -> Sign {
        None
    }

    /// Its program, for a project.
    fn program(&self, context: &RunContext<'_>, project: &Checked<Read>) -> Program;

    /// Whether it is installed in a directory itself.
    fn is_in(&self, _disk: Disk<'_>, _dir: &Path) -> bool {
        false
    }

    /// The next step where its program was not found; `argv` is what was run.
    fn how_to_get(&self, context: &RunContext<'_>, argv: &[String]) -> String;

    /// Whether it is for files of this name; `true` for names that say nothing.
    fn suits(&self, file: &str) -> bool {
        match (self.language(), Language::of(file)) {
            (Some(own), Some(language)) => own == language,
            _ => true,
        }
    }
}

/// All tools of one kind: `dyn Runner`, or `dyn Checker`.
pub trait Kind: Tool + Debug + 'static {
    /// All there are. Of two that a project has for equal reasons the first is taken.
    fn all() -> &'static [&'static Self];
}

/// Whether the program was not there: the shell found none (127, sh(1)), or Python has no such module.
pub fn is_absent(name: &str, outcome: &Outcome) -> bool {
    match outcome.exit {
        Exit::Code(127) => true,
        Exit::Code(1) => outcome.stderr.text().trim_end().ends_with(&format!(": No module named {name}")),
        _ => false,
    }
}
