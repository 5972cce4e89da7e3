//! Common imports of runners and checkers.

pub(crate) use std::collections::{BTreeSet, HashMap, HashSet};
pub(crate) use std::path::Path;

pub(crate) use serde::Deserialize;
pub(crate) use serde_json::Value;

pub(crate) use super::by_language::{cargo, javascript, jvm, python_modules, python_tests};
pub(crate) use super::changes::{AffectedTests, GitChanges};
pub(crate) use super::checker::{
    CheckInputs, CheckSource, Checker, EndedCheck, ExaminedFiles, TextOf,
};
pub(crate) use super::command::{
    PathStyle, REPORT, ReportPlace, Reporter, RunInputs, RunPlan, any_of, can_rerun_by_name,
    escape_regex, paths, safe, words,
};
pub(crate) use super::completeness_input::{Evidence, ProjectFacts};
pub(crate) use super::context::RunContext;
pub(crate) use super::error::TestrunError;
pub(crate) use super::model::{
    Case, Diagnostic, Frame, Phase, Related, RunError, Severity, State, TestError, TestReport,
    TestStatus,
};
pub(crate) use super::project::disk::{AllowedDisk, ProjectTree as _};
pub(crate) use super::project::files::NamedPath;
pub(crate) use super::project::language::Language;
pub(crate) use super::project::program::ToolProgram;
pub(crate) use super::project::signs::{ProjectLevel, Sign, SignWeight, named, stronger};
pub(crate) use super::project::{go, node, python};
pub(crate) use super::reports::collector::{ResultCollector, join_id, millis};
pub(crate) use super::reports::event_reader::{self, EventStyle, FileProblem};
pub(crate) use super::reports::events::ReportedError;
pub(crate) use super::reports::findings::DiagnosticCollector;
pub(crate) use super::reports::junit::JunitCase;
pub(crate) use super::reports::kept_output::KeptOutput;
pub(crate) use super::reports::results::{CheckResults, Sources, TestResults};
pub(crate) use super::reports::{
    documents, findings, go_text, junit, jvm_text, lines, python_text, rust_text, stack,
    visible_text,
};
pub(crate) use super::runner::{Runner, Substitution};
pub(crate) use super::selection::{FailedTest, TestSelection};
pub(crate) use super::test_count::TestCount;
pub(crate) use super::tool::{ProjectTool, ToolDescription};
pub(crate) use replay_base::cancel::Bound;
pub(crate) use replay_files::policy::{Checked, Read};
pub(crate) use replay_sandbox::exec::Stage;
