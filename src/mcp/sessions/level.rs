//! Severities of `notifications/message` (RFC 5424, in the spelling of MCP).

use serde::Deserialize;

/// A severity, least first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Notice,
    /// A call that failed.
    Warning,
    /// A fault of the server itself.
    Error,
    /// Not used by this server.
    Critical,
    /// Not used by this server.
    Alert,
    /// Not used by this server.
    Emergency,
}

impl Level {
    /// The names, for error messages.
    pub const NAMES: &'static str =
        "debug, info, notice, warning, error, critical, alert, emergency";

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}
