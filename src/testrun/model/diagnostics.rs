//! The shape of a type check.

use schemars::JsonSchema;
use serde::Serialize;

use super::tool_info::{Scope, ToolInfo, is_zero};

/// A checker by its name; those that there are stand in `checkers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CheckerName(pub &'static str);

/// The tag that tells the two shapes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticsKind {
    /// A type check.
    #[default]
    Diagnostics,
}

/// How a type check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The checker found no error in what was asked for.
    Clean,
    /// It found errors.
    Errors,
    /// It found no error, but did not look at everything that was asked for, or does not tell its
    /// errors (`notChecked`).
    Incomplete,
    /// It refused its configuration or its arguments, or died, and named no place in the sources.
    ConfigError,
    /// There is no such checker.
    MissingTool,
    /// It was ended because its time was up.
    TimedOut,
}

/// A type check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostics {
    /// Always `diagnostics`.
    pub kind: DiagnosticsKind,
    /// How it ended.
    pub status: CheckStatus,
    /// What ran.
    pub tool: ToolInfo<CheckerName>,
    /// What was asked for.
    pub scope: Scope,
    /// The checker's exit code; none if it was ended by a signal or never ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Files that were looked at, if the checker says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_checked: Option<u64>,
    /// Files and directories that were asked for and not looked at, where the checker says what it
    /// looks at; and files of which no errors are told, because they or the configuration say so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<String>,
    /// How many there are.
    pub summary: DiagnosticSummary,
    /// Errors first, then warnings, each in the checker's order.
    #[expect(clippy::struct_field_names, reason = "the contract's name")]
    pub diagnostics: Vec<Diagnostic>,
    /// Diagnostics that are counted and not shown, and `notChecked`.
    #[serde(skip_serializing_if = "is_zero")]
    pub truncated: u64,
    /// Where the whole output of the checker is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_uri: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How many diagnostics there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticSummary {
    /// Errors in what was asked for.
    pub errors: u64,
    /// Warnings in what was asked for.
    pub warnings: u64,
    /// Errors and warnings in other files.
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden_outside_scope: u64,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The check fails.
    Error,
    /// It does not.
    Warning,
    /// A remark; not counted.
    Note,
}

/// What a checker has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Where; none for what concerns the whole project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The line of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The column of its end: the first that no longer belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
    /// How bad it is.
    pub severity: Severity,
    /// The checker's name for it, such as `TS2322`, `E0308`, `assignment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// In the checker's words; may have several lines.
    pub message: String,
    /// What belongs to it elsewhere, and advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// Creates a diagnostic without further details.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            severity,
            code: None,
            message: message.into(),
            related: Vec::new(),
        }
    }
}

/// What belongs to a diagnostic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Related {
    /// Where, unless it is advice alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// In the checker's words.
    pub message: String,
}
