//! Test runs and type checks: finds a project's runner, runs it, and reports its results in one
//! shape.
//!
//! From the bottom: `model` has the shape of a reply, and `project` reads the disk. `selection`,
//! `command` and `context` prepare and run commands, and `reports` parses their output. `by_language`
//! is shared code of runners for one language.
//!
//! Traits: `runner` and `checker`. Their implementations are in `runners` and `checkers`, one a
//! file, written with `prelude`.
//!
//! On top: `detection`, `choice`, `scope`, `previous_failures`, `completeness` and `verdict` use the
//! traits alone. The entry points are `run` and `check`, and `text` formats reports for the model.
#![forbid(unsafe_code)]

mod by_language;
mod changes;
mod check;
mod checker;
mod checkers;
mod choice;
mod command;
mod completeness;
mod completeness_input;
mod context;
mod detection;
mod error;
mod hints;
mod history;
mod ignored_files;
mod interruption;
mod listing;
pub mod model;
mod outcome;
mod prelude;
mod previous_failures;
mod progress;
mod project;
mod python_install;
mod report_file;
mod reports;
mod request;
mod run;
mod runner;
mod runners;
mod scope;
mod selection;
mod subprojects;
mod test_count;
#[cfg(test)]
mod tests;
pub mod text;
mod tool;
pub mod verdict;

pub use check::{CheckRequest, check};
pub use checker::Checker;
pub use checkers::CHECKERS;
pub use context::RunContext;
pub use error::TestrunError;
pub use history::History;
pub use outcome::{ProcessEnding, RunOutcome};
pub use progress::RunProgress;
pub use project::language::Language;
pub use project::programs::path;
pub use reports::results::Sources;
pub use request::RunRequest;
pub use run::run;
pub use runner::Runner;
pub use runners::RUNNERS;
pub use tool::ToolKind;
