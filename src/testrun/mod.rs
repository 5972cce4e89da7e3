//! Test runs and type checks: which runner a project has, how it is run, and what it says, as one shape.
//!
//! From the bottom: `model` (what a reply holds), `project` (the disk), `selection`, `command`, `context` (the door to processes)
//! and `reports` (what reading takes); `runner` and `checker` say what one is, `runners` and `checkers` hold one file for each;
//! `detection`, `choice`, `scope`, `rerun`, `completeness` and `verdict` know them by these traits alone; `run` and `check` are
//! on top, and `text` tells the model.

mod changes;
mod check;
mod checker;
mod checkers;
mod choice;
mod command;
mod completeness;
mod context;
mod detection;
mod error;
mod hints;
mod history;
mod ignored_files;
mod interruption;
pub mod model;
mod progress;
mod project;
mod report_file;
mod reports;
mod request;
mod rerun;
mod run;
mod runner;
mod runners;
mod scope;
mod selection;
mod subprojects;
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
pub use history::{History, Log};
pub use progress::Progress;
pub use project::language::Language;
pub use reports::reading::Sources;
pub use request::Request;
pub use run::run;
pub use runner::Runner;
pub use runners::RUNNERS;
pub use tool::Kind;
