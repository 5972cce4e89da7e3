//! Errors and warnings about a file: line, column, key, and valid values.

use std::fmt;

use replay_base::text::nearest;

use super::schema;
use super::yaml::{TextPlace, YamlNode};

/// One error or warning about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// Position, if known.
    pub place: Option<TextPlace>,
    /// The key, as `mock_server.tools[0].name`.
    pub path: String,
    /// The value found and the valid ones.
    pub message: String,
}

/// All errors in a file; `Display` gives one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    /// The file name as given.
    pub file: String,
    pub problems: Vec<FileProblem>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.file)?;
            if let Some(place) = problem.place {
                write!(f, ":{place}")?;
            }
            write!(f, ": {}", problem.message)?;
        }
        Ok(())
    }
}

/// Maximum number of problems in one report.
pub(crate) const MAX_PROBLEMS: usize = 20;

/// A parsed text, with the positions of its values if known.
pub struct SourceText {
    pub file: String,
    pub node: Option<YamlNode>,
    /// JSON pointer of the manifest in the file.
    pub root: &'static str,
}

impl SourceText {
    /// Creates a problem with the value at a JSON pointer below `mock_server`.
    pub fn problem(&self, pointer: &str, message: impl Into<String>) -> FileProblem {
        let pointer = format!("{}{pointer}", self.root);
        let place = self.node.as_ref().map(|node| node.place(&pointer));
        FileProblem {
            place,
            path: schema::dotted("", &pointer),
            message: message.into(),
        }
    }

    /// Returns the first `MAX_PROBLEMS` problems as the error of this file.
    pub fn error(&self, mut problems: Vec<FileProblem>) -> LoadError {
        problems.truncate(MAX_PROBLEMS);
        LoadError {
            file: self.file.clone(),
            problems,
        }
    }
}

/// Problems of a manifest, located by JSON pointers.
pub struct ProblemList<'a> {
    source: &'a SourceText,
    pub problems: Vec<FileProblem>,
    /// Probable mistakes that are not errors.
    pub warnings: Vec<FileProblem>,
}

impl<'a> ProblemList<'a> {
    pub fn new(source: &'a SourceText) -> Self {
        Self {
            source,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds an error about the value at a pointer.
    pub fn add(&mut self, pointer: &str, message: impl Into<String>) {
        self.problems.push(self.source.problem(pointer, message));
    }

    /// Adds a warning about the value at a pointer.
    pub fn warn(&mut self, pointer: &str, message: impl Into<String>) {
        self.warnings.push(self.source.problem(pointer, message));
    }
}

/// Suggests the known word that is nearest to an unknown one, as the end of a message; empty if
/// none is near.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest::nearest(word, known)
        .map(|known| format!("; the nearest one is `{known}`"))
        .unwrap_or_default()
}
