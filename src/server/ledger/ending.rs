//! How a call ended, in one word: for the ledger and for what is counted.

use crate::protocol::{Body, Code, Outcome};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// It did its work.
    Ok,
    /// It said why it did not.
    Failed,
    /// It wanted what the agent may not have, be it a tool.
    Denied,
    /// There is no such tool, or its arguments are wrong.
    Invalid,
    /// Nobody wanted its answer any more.
    Cancelled,
    /// Its work hung in the kernel, and it was answered without it.
    GaveUp,
    /// The server failed inside it.
    Panicked,
    /// A mock that answers nothing.
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

    /// The word, as logs and counts have it.
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

    /// Of a call that came back with this.
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

/// The code of an error, also of one that is sent as a result.
pub fn code(outcome: &Outcome) -> Option<Code> {
    match outcome {
        Ok(Body::Tool(reply)) => reply.code,
        Ok(_) => None,
        Err(error) => Some(error.code),
    }
}
