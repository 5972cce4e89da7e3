//! Error codes: JSON-RPC's own, the specification's, and the two that this server's contract adds.

/// The number in a JSON-RPC error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The line is not JSON.
    ParseError,
    /// JSON, but no JSON-RPC message.
    InvalidRequest,
    /// No such method on this revision.
    MethodNotFound,
    /// A parameter is missing, unknown, of the wrong type or out of range; an unknown tool.
    InvalidParams,
    /// An edit that does not match, an I/O failure, a panic.
    Internal,
    /// The path lies outside the allowed directories, or may not be written. Handshake revisions
    /// only.
    NotAllowed,
    /// No such file, or a glob that matches none. Handshake revisions only: 2026-07-28 forbids the
    /// number.
    NotFound,
    /// A tool of the Python set that did not do its work. Handshake revisions only.
    ToolFailed,
    /// A tool of the Python set that was asked for what the agent may not have: the same number,
    /// and counted as a denial.
    ToolDenied,
    /// A header of HTTP is missing or says something else than the message (2026-07-28,
    /// basic/transports/streamable-http.mdx).
    HeaderMismatch,
    /// The request names a revision that is not served (2026-07-28, basic/versioning.mdx).
    UnsupportedVersion,
    /// A number that somebody else chose, as a manifest does.
    Other(i64),
}

impl Code {
    /// The number on the wire.
    pub const fn number(self) -> i64 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::NotAllowed => -32001,
            Self::NotFound => -32002,
            Self::ToolFailed | Self::ToolDenied => -32000,
            Self::HeaderMismatch => -32020,
            Self::UnsupportedVersion => -32022,
            Self::Other(number) => number,
        }
    }
}
