//! Error of a document reader.

use std::fmt::Display;

use replay_base::limits::MAX_FAULT_BYTES;
use thiserror::Error;

/// End of a sentence that begins with the file name. One line, at most [`MAX_FAULT_BYTES`].
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Fault(String);

impl Fault {
    pub fn new(text: impl Into<String>) -> Self {
        let mut text: String = text.into().replace(char::is_control, " ");
        text.truncate(text.floor_char_boundary(MAX_FAULT_BYTES));
        Self(text)
    }

    /// Creates the error for damaged content.
    pub fn broken(what: &str, why: &dyn Display) -> Self {
        Self::new(format!("is damaged: {what}: {why}"))
    }
}
