//! The shape of a type check.

use schemars::JsonSchema;
use serde::Serialize;

use super::tool_info::{Scope, ToolInfo, is_zero};

/// Name of a checker; `checkers` lists all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct CheckerName(pub &'static str);

/// Tag that distinguishes a type check from a test run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticsKind {
    /// A type check.
    #[default]
    Diagnostics,
}

/// Status of a type check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The checker found no error in the requested files.
    Clean,
    /// The checker found errors.
    Errors,
    /// The checker found no error, but skipped requested files or hides their errors
    /// (`notChecked`).
    Incomplete,
    /// The checker rejected its configuration or arguments, or died, and named no source location.
    ConfigError,
    /// The checker is not installed.
    MissingTool,
    /// The check timed out.
    TimedOut,
}

/// A type check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// Always `diagnostics`.
    pub kind: DiagnosticsKind,
    /// Status of the check.
    pub status: CheckStatus,
    /// Type checker.
    pub tool: ToolInfo<CheckerName>,
    /// Requested files and project.
    pub scope: Scope,
    /// Exit code of the checker; absent if a signal ended it or it never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration of the check, in milliseconds.
    pub duration_ms: u64,
    /// Number of checked files, if the checker reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_checked: Option<u64>,
    /// Requested files and directories that the checker skipped, if it reports that. This includes
    /// files whose errors are turned off, in the file or in the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<String>,
    /// Numbers of diagnostics.
    pub summary: DiagnosticSummary,
    /// Errors first, then warnings, each in the checker's order.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of diagnostics and of `notChecked` entries that are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub truncated: u64,
    /// URI of the checker's full output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_uri: Option<String>,
    /// Advice on the next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Numbers of diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticSummary {
    /// Errors in the requested files.
    pub errors: u64,
    /// Warnings in the requested files.
    pub warnings: u64,
    /// Errors and warnings in other files.
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden_outside_scope: u64,
}

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An error; the check fails.
    #[default]
    Error,
    /// A warning; the check can pass.
    Warning,
    /// A note, which is not counted.
    Note,
}

impl Severity {
    /// Returns the severity of a message that is either an error or a warning.
    pub fn of(is_error: bool) -> Self {
        if is_error { Self::Error } else { Self::Warning }
    }
}

/// One message of a checker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Source file; absent for the whole project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Line of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Column of the end (exclusive).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
    /// Severity of the message.
    pub severity: Severity,
    /// Code of the message, such as `TS2322`, `E0308`, `assignment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Text of the checker, of one or more lines.
    pub message: String,
    /// Related locations, and advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// Creates a diagnostic without further details.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            severity,
            message: message.into(),
            ..Self::default()
        }
    }
}

/// Related location of a diagnostic, or advice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Related {
    /// Source file; absent for advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Text of the checker.
    pub message: String,
}
