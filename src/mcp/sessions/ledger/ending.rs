//! Outcome of a call in one word, for the ledger and for metrics.

use crate::protocol::{Body, Code, Outcome};

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// The call succeeded.
    Ok,
    /// The tool reported a failure.
    Failed,
    /// The agent lacks the permission, possibly for the tool itself.
    Denied,
    /// The tool is unknown, or its arguments are wrong.
    Invalid,
    /// The client cancelled the call.
    Cancelled,
    /// The work hung in the kernel, and the call was answered with an error.
    GaveUp,
    /// The server panicked inside the call.
    Panicked,
    /// A mock that sends no reply.
    Silent,
}

impl Ending {
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::Failed,
        Self::Denied,
        Self::Invalid,
        Self::Cancelled,
        Self::GaveUp,
        Self::Panicked,
        Self::Silent,
    ];

    /// The word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Cancelled => "cancelled",
            Self::GaveUp => "gave_up",
            Self::Panicked => "panicked",
            Self::Silent => "silent",
        }
    }

    /// Classifies the result of a call.
    pub fn of(outcome: Option<&Outcome>, is_cancelled: bool) -> Self {
        if is_cancelled {
            return Self::Cancelled;
        }
        let Some(outcome) = outcome else {
            return Self::Silent;
        };
        match (code(outcome), outcome) {
            (_, Err(error)) if error.unsent.as_ref().is_some_and(|unsent| unsent.is_denial) => {
                Self::Denied
            }
            (Some(Code::NotAllowed | Code::ToolDenied), _) => Self::Denied,
            (Some(Code::InvalidParams), _) => Self::Invalid,
            (Some(_), _) | (None, Err(_)) => Self::Failed,
            (None, Ok(Body::Tool(reply))) if reply.is_error => Self::Failed,
            (None, Ok(_)) => Self::Ok,
        }
    }
}

/// Returns the code of an error, even if it is sent as a result.
pub(super) fn code(outcome: &Outcome) -> Option<Code> {
    match outcome {
        Ok(Body::Tool(reply)) => reply.code,
        Ok(_) => None,
        Err(error) => Some(error.code),
    }
}
