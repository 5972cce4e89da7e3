//! A program of a project, or how to get it.

/// A program, or how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolProgram {
    /// The words that its command begins with, and its version if it is known.
    Found(Vec<String>, Option<String>),
    /// It is not installed.
    Missing(Missing),
}

/// A program that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was looked for, and where.
    pub what: String,
    /// How to get it.
    pub install: String,
}

impl ToolProgram {
    /// One that commands find by its name.
    pub fn on_path(name: &str) -> Self {
        Self::Found(vec![name.to_owned()], None)
    }
}
