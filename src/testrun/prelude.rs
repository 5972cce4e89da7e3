//! Common imports of runners and checkers.

pub use std::collections::{BTreeSet, HashMap, HashSet};
pub use std::path::Path;
pub use std::time::Duration;

pub use serde::Deserialize;
pub use serde_json::Value;

pub use super::by_language::{cargo, javascript};
pub use super::changes::{AffectedTests, GitChanges};
pub use super::checker::{CheckInputs, CheckSource, Checker};
pub use super::command::{
    PathStyle, REPORT, Reporter, RunInputs, RunPlan, can_rerun_by_name, escape_regex, paths, safe,
    words,
};
pub use super::completeness_input::{Evidence, ProjectFacts, not_collected};
pub use super::context::RunContext;
pub use super::error::TestrunError;
pub use super::model::{
    Case, Diagnostic, Frame, Phase, Related, Severity, State, TestError, TestReport, TestStatus,
};
pub use super::project::disk::{AllowedDisk, ProjectTree as _};
pub use super::project::files::NamedPath;
pub use super::project::language::Language;
pub use super::project::program::ToolProgram;
pub use super::project::signs::{ProjectLevel, Sign, SignWeight, stronger};
pub use super::project::{go, node, python};
pub use super::reports::collector::{ResultCollector, join_id, millis};
pub use super::reports::event_reader::{self, EventStyle, FileProblem};
pub use super::reports::events::ReportedError;
pub use super::reports::findings::DiagnosticCollector;
pub use super::reports::kept_output::KeptOutput;
pub use super::reports::results::{CheckResults, Sources, TestResults};
pub use super::reports::{go_text, junit, lines, python_text, rust_text, stack, visible_text};
pub use super::runner::{Runner, TestCount};
pub use super::selection::{FailedTest, TestSelection};
pub use super::tool::{ProgramOrigin, ProjectTool, ToolDescription};
pub use replay_base::cancel::Bound;
pub use replay_files::policy::{Checked, Read};
pub use replay_sandbox::exec::Outcome;
