//! The last line of a lean reply.

use std::borrow::Cow;

use replay_base::text::count::counted;
use replay_mcp::protocol::Content;
use replay_search::LeftOut;

use super::Reply;

/// Parts of the last line of a reply.
#[derive(Debug, Default)]
pub(super) struct Status(Vec<String>);

impl Status {
    /// Adds a part.
    pub(super) fn add(&mut self, part: impl Into<String>) {
        self.0.push(part.into());
    }

    /// Adds what was left out as ignored, and the parameter that brings it in.
    pub(super) fn add_ignored(&mut self, left_out: LeftOut) {
        let counts = [
            (left_out.ignored_files, "ignored file", "ignored files"),
            (
                left_out.ignored_directories,
                "ignored directory",
                "ignored directories",
            ),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        let told: Vec<String> = counts
            .map(|(count, one, several)| counted(count, one, several))
            .collect();
        if !told.is_empty() {
            self.add(format!("{} left out (ignored: true)", told.join(" and ")));
        }
    }

    /// Adds ignored files that match, if no other does.
    pub(super) fn add_hidden<'p>(&mut self, paths: impl Iterator<Item = Cow<'p, str>>) {
        let paths: Vec<_> = paths.map(|path| format!("`{path}`")).collect();
        if !paths.is_empty() {
            self.add(format!("ignored files match: {}", paths.join(", ")));
        }
    }

    /// Returns the reply: the text, the notes, and the line.
    pub(super) fn reply<O>(self, text: String, notes: Vec<String>) -> Reply<O> {
        let line = Some(self.0.join("; ")).filter(|line| !line.is_empty());
        let text = Some(Content::Text(text)).filter(|text| text.length() > 0);
        let notes = notes.into_iter().chain(line).map(Content::note);
        Reply::content(text.into_iter().chain(notes).collect())
    }
}

/// Output of a program as a model reads it.
#[derive(Debug, Default)]
pub(super) struct OutputText(String);

impl OutputText {
    /// Joins output and errors, which have a heading if there is output.
    pub(super) fn of(output: String, errors: &str) -> Self {
        let mut text = Self(output);
        if !errors.is_empty() {
            if !text.0.is_empty() {
                text.add("[stderr]");
            }
            text.add(errors);
        }
        text
    }

    /// Adds a text on lines of its own.
    pub(super) fn add(&mut self, text: &str) {
        if !self.0.is_empty() && !self.0.ends_with('\n') {
            self.0.push('\n');
        }
        self.0.push_str(text);
    }

    /// Returns the whole text.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}
