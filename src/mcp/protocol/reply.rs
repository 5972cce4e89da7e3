//! Results of requests, before they are rendered for a revision.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use replay_base::budget::Share;
use replay_clients::ReplyParts;
use serde_json::{Value, json};

use super::code::Code;

/// A content block of a tool's reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// A note on the reply, in brackets: what was cut, changed, refused or not found.
    Note(String),
    /// A picture; every revision has this block.
    Image {
        /// Base64.
        data: String,
        /// MIME type, such as `image/png`.
        mime: String,
    },
    /// Sound; revisions without this block get an embedded resource.
    Audio {
        /// Base64.
        data: String,
        /// MIME type, such as `audio/wav`.
        mime: String,
        /// URI of the source, for revisions that get a resource.
        uri: String,
    },
    /// A resource with the rest of the text, for resources/read. Revisions without this block get
    /// nothing.
    Link {
        uri: String,
        /// Display name of the resource.
        name: String,
        /// MIME type, such as `text/plain`.
        mime: String,
        /// Size in bytes.
        size: u64,
    },
    /// Other bytes, embedded.
    Blob {
        /// A percent-encoded `file://` URI.
        uri: String,
        /// MIME type, such as `application/zip`.
        mime: String,
        /// Base64.
        blob: String,
    },
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a note; the brackets are added.
    pub fn note(note: impl Display) -> Self {
        Self::Note(format!("[{note}]"))
    }

    /// Returns its text, if it is for reading.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Note(text) => Some(text),
            Self::Image { .. } | Self::Audio { .. } | Self::Link { .. } | Self::Blob { .. } => None,
        }
    }

    /// Length in bytes of its text or data.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text) | Self::Note(text) => text.len(),
            Self::Image { data, .. } | Self::Audio { data, .. } => data.len(),
            Self::Blob { blob, .. } => blob.len(),
            Self::Link { uri, .. } => uri.len(),
        }
    }
}

/// Parts of a tool's result that a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyForm {
    pub parts: ReplyParts,
    /// True joins all text to one block, which ends with a line feed.
    pub has_one_block: bool,
    /// False leaves out `resource_link`.
    pub has_links: bool,
    /// False leaves out `isError`.
    pub has_error: bool,
}

impl Default for ReplyForm {
    fn default() -> Self {
        Self {
            parts: ReplyParts::Both,
            has_one_block: false,
            has_links: true,
            has_error: true,
        }
    }
}

/// A tool's reply without its types: structured output is already JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReply {
    /// At least one block.
    pub content: Vec<Content>,
    /// Notes that stand in a text of `content`. With the blocks of notes they are a member of the
    /// structured part, since some clients pass on that alone.
    pub notes: Vec<String>,
    /// Notes that the client needs once in a session. The server moves them to `content`.
    pub once: Vec<String>,
    /// JSON text that matches the tool's output schema; sent from 2025-06-18 on.
    pub structured: Option<String>,
    /// Members of the result's `_meta`.
    pub meta: Vec<(&'static str, Value)>,
    /// `true` if the tool ran and failed in a way that the model should see.
    pub is_error: bool,
    /// `true` if it failed, or if its tests or its check did, which is no error. For the exit
    /// status of a single call.
    pub has_failed: bool,
    /// `true` if it failed only since a program that it ran did.
    pub has_exited: bool,
    /// Parts of it that the client is sent. Observers see all.
    pub form: ReplyForm,
    /// Error code, for observers. No revision sends it as part of a result.
    pub code: Option<Code>,
    /// Undo number of the changes, and their size. For observers; no revision sends it.
    pub undo: Option<Box<Value>>,
    /// Changes to files that programs outside the sandbox run. For observers; no revision sends it
    /// in this form.
    pub outside: Option<Box<Value>>,
    /// The background command that the call started. For observers; no revision sends it in this
    /// form.
    pub started: Option<String>,
    /// Share of the memory budget for a long reply, rendered text included.
    pub held: Option<Arc<Share>>,
}

impl ToolReply {
    /// Iterates over all notes, without their brackets.
    pub fn all_notes(&self) -> impl Iterator<Item = &str> {
        let blocks = self.content.iter().filter_map(|block| match block {
            Content::Note(note) => note.strip_prefix('[')?.strip_suffix(']'),
            _ => None,
        });
        self.notes.iter().map(String::as_str).chain(blocks)
    }

    /// Returns the structured part with the notes, as JSON text.
    pub fn structured_with_notes(&self) -> Option<Cow<'_, str>> {
        let structured = self.structured.as_deref()?;
        Some(with_notes(structured, self.all_notes()))
    }
}

/// Adds notes to a JSON object, as the member `notes`.
pub fn with_notes<'a, 'n>(
    object: &'a str,
    notes: impl IntoIterator<Item = &'n str>,
) -> Cow<'a, str> {
    let notes: Vec<&str> = notes.into_iter().collect();
    match object.strip_suffix('}') {
        Some(members) if !notes.is_empty() => {
            let comma = if members.ends_with('{') { "" } else { "," };
            Cow::Owned(format!("{members}{comma}\"notes\":{}}}", json!(notes)))
        }
        _ => Cow::Borrowed(object),
    }
}

/// The result of a request that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A whole result object as JSON text, rendered for its revision.
    Raw(Arc<str>),
    Tool(ToolReply),
    /// A whole line, sent unchanged. Only a mock that misbehaves on purpose uses it.
    Line(Arc<[u8]>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: Code,
    /// One or two lines that say what to do next.
    pub message: String,
    /// Machine-readable details, of any JSON type.
    pub data: Option<Value>,
    /// Details for observers; not sent.
    pub unsent: Option<Box<Unsent>>,
}

/// Details of an error for observers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsent {
    /// `true` if a permission was missing, whatever the error code.
    pub is_denial: bool,
    /// Same as [`ToolReply::outside`].
    pub outside: Option<Value>,
}

impl RpcError {
    /// Returns an error without data.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            unsent: None,
        }
    }
}

/// Result of a request.
pub type Outcome = Result<Body, RpcError>;

/// Returns the changes of a call to files that programs outside the sandbox run.
pub fn outside(outcome: &Outcome) -> Option<&Value> {
    match outcome {
        Ok(Body::Tool(reply)) => reply.outside.as_deref(),
        Ok(Body::Raw(_) | Body::Line(_)) => None,
        Err(error) => error.unsent.as_ref()?.outside.as_ref(),
    }
}
