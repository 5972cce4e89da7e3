//! Common parts of a test run and a type check: the tool and the scope.

use schemars::JsonSchema;
use serde::Serialize;

/// What ran: a runner of tests, or a checker of types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Info")]
pub struct ToolInfo<T> {
    /// Which one.
    pub name: T,
    /// Its version, if it was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The command, word for word.
    pub command: Vec<String>,
    /// The directory that it began in.
    pub cwd: String,
}

/// What was asked for; empty means everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Files or directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What the tests' names had to match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The project of a workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}
