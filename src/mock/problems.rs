//! What is wrong with a file: line, column, key, and what is valid.

use std::fmt;

use super::schema;
use super::yaml::{TextPlace, YamlNode};
use crate::text::nearest;

/// Something wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// Where, if it is known.
    pub place: Option<TextPlace>,
    /// Which key, as `mock_server.tools[0].name`.
    pub path: String,
    /// What was got and what is valid.
    pub message: String,
}

/// Everything that is wrong with a file; `Display` gives a line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LoadError {
    /// The file as it was named.
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

/// Most problems that are told at once.
pub const MAX_PROBLEMS: usize = 20;

/// A text that was read, with the places of its values if it has any.
pub struct SourceText {
    pub file: String,
    pub node: Option<YamlNode>,
    /// What the places are relative to: the pointer of the manifest.
    pub root: &'static str,
}

impl SourceText {
    /// A problem with the value at a JSON pointer below `mock_server`.
    pub fn problem(&self, pointer: &str, message: impl Into<String>) -> FileProblem {
        let pointer = format!("{}{pointer}", self.root);
        let place = self.node.as_ref().map(|node| node.place(&pointer));
        FileProblem {
            place,
            path: schema::dotted("", &pointer),
            message: message.into(),
        }
    }

    /// Problems as the error of this file, which tells the first of them.
    pub fn error(&self, mut problems: Vec<FileProblem>) -> LoadError {
        problems.truncate(MAX_PROBLEMS);
        LoadError {
            file: self.file.clone(),
            problems,
        }
    }
}

/// What is wrong with a part of the manifest, by JSON pointer.
pub struct ProblemList<'a> {
    source: &'a SourceText,
    pub problems: Vec<FileProblem>,
    /// Not wrong, and hardly meant.
    pub warnings: Vec<FileProblem>,
}

impl<'a> ProblemList<'a> {
    /// None yet.
    pub fn new(source: &'a SourceText) -> Self {
        Self {
            source,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Notes a problem with the value at a pointer.
    pub fn add(&mut self, pointer: &str, message: impl Into<String>) {
        self.problems.push(self.source.problem(pointer, message));
    }

    /// Notes something odd about the value at a pointer.
    pub fn warn(&mut self, pointer: &str, message: impl Into<String>) {
        self.warnings.push(self.source.problem(pointer, message));
    }
}

/// Names the known word that is nearest to one that is not known, as the end of a message; empty if
/// none is near.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest::nearest(word, known)
        .map(|known| format!("; the nearest one is `{known}`"))
        .unwrap_or_default()
}
