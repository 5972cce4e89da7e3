//! What a request came to, before a revision decides how it looks on the wire.

use std::sync::Arc;

use serde_json::Value;

use super::code::Code;
use crate::budget::Share;

/// A block of a tool's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// A picture; every revision has the block.
    Image {
        /// Base64.
        data: String,
        /// Such as `image/png`.
        mime: String,
    },
    /// Sound; a revision without the block gets an embedded resource.
    Audio {
        /// Base64.
        data: String,
        /// Such as `audio/wav`.
        mime: String,
        /// Where it came from, for the revisions that get a resource.
        uri: String,
    },
    /// Where more is to be read with resources/read; a revision without the block gets nothing.
    Link {
        uri: String,
        /// What it is called.
        name: String,
        /// Such as `text/plain`.
        mime: String,
        /// How much there is, in bytes.
        size: u64,
    },
    /// Other bytes, embedded.
    Blob {
        /// A percent-encoded `file://` URI.
        uri: String,
        /// Such as `application/zip`.
        mime: String,
        /// Base64.
        blob: String,
    },
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Bytes of its text or data.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image { data, .. } | Self::Audio { data, .. } => data.len(),
            Self::Blob { blob, .. } => blob.len(),
            Self::Link { uri, .. } => uri.len(),
        }
    }
}

/// A tool's answer with its types erased: structured output is JSON text already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReply {
    /// At least one block.
    pub content: Vec<Content>,
    /// JSON text that fits the tool's output schema; sent from 2025-06-18 on.
    pub structured: Option<String>,
    /// Members of the result's `_meta`.
    pub meta: Vec<(&'static str, Value)>,
    /// The tool ran and failed, in a way the model should see.
    pub is_error: bool,
    /// The code that its error has where errors have codes. For those who look on; no revision
    /// sends it.
    pub code: Option<Code>,
    /// The number by which what the call changed can be undone, and how much that is. For those who
    /// look on; no revision sends it.
    pub undo: Option<Value>,
    /// What it changed of what programs outside the walls run. For those who look on; no revision
    /// sends it so.
    pub outside: Option<Box<Value>>,
    /// The background command that the call has started. For those who look on; no revision sends
    /// it so.
    pub started: Option<String>,
    /// What it takes of the budget if it is long, with what is written of it.
    pub held: Option<Arc<Share>>,
}

/// The result of a request that went well.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A whole result object as JSON text, prepared for its revision.
    Raw(Arc<str>),
    Tool(ToolReply),
    /// The whole line as it stands, whatever it is: only a mock that misbehaves on purpose says
    /// this.
    Line(Arc<[u8]>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: Code,
    /// One or two lines that say what to do next.
    pub message: String,
    /// Anything a program can use.
    pub data: Option<Value>,
    /// For those who look on; not sent.
    pub unsent: Option<Box<Unsent>>,
}

/// What is known of an error beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsent {
    /// Whether it is for want of a right, whatever its code.
    pub is_denial: bool,
    /// As in a [`ToolReply`].
    pub outside: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            unsent: None,
        }
    }
}

/// What a request came to.
pub type Outcome = Result<Body, RpcError>;

/// What a call changed of what programs outside the walls run.
pub fn outside(outcome: &Outcome) -> Option<&Value> {
    match outcome {
        Ok(Body::Tool(reply)) => reply.outside.as_deref(),
        Ok(Body::Raw(_) | Body::Line(_)) => None,
        Err(error) => error.unsent.as_ref()?.outside.as_ref(),
    }
}
