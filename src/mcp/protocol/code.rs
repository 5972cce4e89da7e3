//! Error codes of JSON-RPC, of the specification, and the two that this server adds.

/// The number in a JSON-RPC error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The line is not JSON.
    ParseError,
    /// JSON, but not a JSON-RPC message.
    InvalidRequest,
    /// The revision has no such method.
    MethodNotFound,
    /// A parameter is missing, unknown, of the wrong type or out of range; or the tool is unknown.
    InvalidParams,
    /// An edit that does not match, an I/O failure, or a panic.
    Internal,
    /// The path lies outside the allowed directories, or is read-only. Handshake revisions only.
    NotAllowed,
    /// No such file, or a glob without matches. Handshake revisions only: 2026-07-28 forbids the
    /// number.
    NotFound,
    /// A tool of the Python set failed. Handshake revisions only.
    ToolFailed,
    /// A tool of the Python set was denied access: the same number, counted as a denial.
    ToolDenied,
    /// An HTTP header is missing or contradicts the message (2026-07-28,
    /// basic/transports/streamable-http.mdx).
    HeaderMismatch,
    /// The request names an unsupported revision (2026-07-28, basic/versioning.mdx).
    UnsupportedVersion,
    /// A number from elsewhere, such as a manifest.
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
