//! Common parts of a test run and a type check: the tool and the scope.

use schemars::JsonSchema;
use serde::Serialize;

/// A test runner or type checker, and its command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Info")]
pub struct ToolInfo<T> {
    /// Name of the tool.
    pub name: T,
    /// Version, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Command line, one argument each.
    pub command: Vec<String>,
    /// Working directory.
    pub cwd: String,
}

impl<T> ToolInfo<T> {
    /// Creates the description of a tool in a directory, without a command.
    pub fn new(name: T, cwd: String) -> Self {
        Self {
            name,
            version: None,
            command: Vec::new(),
            cwd,
        }
    }
}

/// Requested scope; empty for everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Files or directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Pattern for the names of tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Project in a workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}
