//! A program of a project, or the way to install it.

/// A program, or the way to install it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolProgram {
    /// First words of the command, and the version if known.
    Found(Vec<String>, Option<String>),
    /// The program is not installed.
    Missing(MissingProgram),
}

/// A missing program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingProgram {
    /// Name of the program, and the places of the search.
    pub what: String,
    /// The way to install it.
    pub install: String,
}

impl ToolProgram {
    /// Creates a program that commands find in PATH.
    pub fn on_path(name: &str) -> Self {
        Self::Found(vec![name.to_owned()], None)
    }
}
