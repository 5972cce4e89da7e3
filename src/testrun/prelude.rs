//! What a runner or a checker is written with.

pub use std::collections::{BTreeSet, HashMap, HashSet};
pub use std::path::Path;
pub use std::time::Duration;

pub use serde::Deserialize;
pub use serde_json::Value;

pub use super::changes::{Affected, Changes};
pub use super::checker::{CheckWanted, Checker, Source};
pub use super::command::{Paths, Plan, REPORT, Wanted, by_name, escape_regex, paths, safe, words};
pub use super::context::RunContext;
pub use super::error::TestrunError;
pub use super::evidence::{Evidence, ProjectFacts, not_taken_up};
pub use super::families::{cargo, javascript};
pub use super::model::{Case, Diagnostic, Frame, Phase, Related, Severity, State, TestError, TestReport, TestStatus};
pub use super::project::disk::{Disk, Tree as _};
pub use super::project::files::Target;
pub use super::project::language::Language;
pub use super::project::program::Program;
pub use super::project::signs::{Level, Sign, Weight, stronger};
pub use super::project::{go, node, python};
pub use super::reports::collector::{Collector, joined, millis, milliseconds, worse};
pub use super::reports::findings::Findings;
pub use super::reports::reading::{CheckResults, Sources, TestResults};
pub use super::reports::{clean, go_text, junit, lines, rust_text, stack};
pub use super::runner::{Counted, ReporterEvent, Runner};
pub use super::selection::{FailedTest, Selection};
pub use super::tool::{About, Origin, Tool};
pub use crate::cancel::Bound;
pub use crate::exec::Outcome;
pub use crate::policy::{Checked, Read};
