//! Errors of tools: wire code, message and hint.

use std::borrow::Cow;

use replay_base::budget::Exhausted;
use replay_base::text::encoding::EncodingError;
use replay_base::text::escape::show_path;
use replay_base::text::glob::GlobError;
use replay_files::edit::EditError;
use replay_files::fs::FsError;
use replay_files::journal::JournalError;
use replay_files::policy::PolicyError;
use replay_mcp::protocol::Code;
use replay_pattern::PatternError;
use replay_python::PythonError;
use replay_sandbox::exec::ExecError;
use replay_search::SearchError;
use replay_testrun::TestrunError;

use crate::calls::CallsError;

/// Error of a tool call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path that is denied or does not exist.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    #[error(transparent)]
    Journal(JournalError),
    /// Not enough memory, or other calls hold it.
    #[error(transparent)]
    Memory(#[from] Exhausted),
    /// The call ended, but there is no memory for its reply.
    #[error("the call ended, but there is no memory for its reply: {0}")]
    Unanswered(Exhausted),
    /// An edit that does not fit its file.
    #[error("{path}: {source}")]
    Edit {
        /// The file as the agent spelt it.
        path: String,
        source: Box<EditError>,
    },
    /// A pattern that exceeded its budget in a file.
    #[error("{path}:{line}: {source}")]
    PatternAt {
        path: String,
        /// The last line reached.
        line: u64,
        source: PatternError,
    },
    /// An invalid pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An invalid glob.
    #[error("`{parameter}` has an invalid glob: {source}")]
    Glob {
        /// The parameter, such as `globs[0]`.
        parameter: String,
        source: GlobError,
    },
    /// Text that cannot be encoded or decoded.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// A command that did not run.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// Calls that could not be recorded or answered.
    #[error(transparent)]
    Calls(CallsError),
    /// A failure of a Python session.
    #[error(transparent)]
    Python(PythonError),
    /// A failure to run tests or check types.
    #[error(transparent)]
    Testrun(TestrunError),
    /// An argument that is missing, unknown, of the wrong type or out of range.
    #[error("{message}")]
    Params {
        /// Names the parameter, the value and the permitted values.
        message: String,
    },
    /// A glob that matches nothing.
    #[error("no file matches {what}")]
    NoMatch {
        /// Description of the searched files.
        what: String,
    },
    /// A feature that the operator has not enabled.
    #[error("{what} is refused: {reason}")]
    Refused {
        /// The requested feature.
        what: &'static str,
        /// Reason of the refusal.
        reason: String,
        /// An alternative.
        hint: &'static str,
    },
    /// A file that the call cannot work with.
    #[error("{message}")]
    Unsuitable {
        /// Names the file, its problem and the permitted kinds.
        message: String,
        /// An alternative.
        hint: Cow<'static, str>,
    },
    /// The file has changed since the client last saw it.
    #[error(
        "`{path}` has changed: its SHA-256 is {actual}, not the expected {expected}; the file is unchanged"
    )]
    Stale {
        /// The file as the agent spelt it.
        path: String,
        /// SHA-256 that the client expected.
        expected: String,
        /// Current SHA-256 of the file.
        actual: String,
    },
    /// The client cancelled the call and ignores the reply.
    #[error("the call was cancelled")]
    Cancelled,
    /// A reply that cannot be serialized as JSON: a bug of the server.
    #[error("the reply cannot be encoded as JSON, a bug of the server: {0}")]
    Output(serde_json::Error),
}

impl Error {
    /// Creates a [`Error::Params`].
    pub fn params(message: impl Into<String>) -> Self {
        Self::Params {
            message: message.into(),
        }
    }

    /// Creates a [`Error::Output`].
    pub fn output(error: serde_json::Error) -> Self {
        Self::Output(error)
    }

    /// JSON-RPC error code for handshake revisions.
    pub fn code(&self) -> Code {
        match self {
            Self::Policy(error) => of_policy(error),
            Self::Fs(FsError::NotFound { .. })
            | Self::Journal(JournalError::Unknown { .. })
            | Self::NoMatch { .. }
            | Self::Testrun(TestrunError::NoMatch { .. } | TestrunError::Nothing { .. }) => {
                Code::NotFound
            }
            Self::Fs(FsError::Protected { .. } | FsError::Frozen { .. })
            | Self::Journal(JournalError::Protected { .. } | JournalError::MadeByCall { .. }) => {
                Code::NotAllowed
            }
            Self::Glob { .. }
            | Self::Params { .. }
            | Self::Journal(JournalError::InsideMade { .. })
            | Self::Encoding(EncodingError::UnknownLabel { .. })
            | Self::Exec(ExecError::Nul { .. })
            | Self::Python(PythonError::BadName { .. } | PythonError::TooLong { .. })
            | Self::Testrun(TestrunError::Arguments { .. } | TestrunError::NoDirectory { .. }) => {
                Code::InvalidParams
            }
            Self::Python(PythonError::Policy(error)) if of_policy(error) == Code::NotAllowed => {
                Code::ToolDenied
            }
            Self::Python(PythonError::Fs(FsError::Protected { .. } | FsError::Frozen { .. })) => {
                Code::ToolDenied
            }
            Self::Python(_) => Code::ToolFailed,
            Self::Fs(_)
            | Self::Journal(_)
            | Self::Memory(_)
            | Self::Unanswered(_)
            | Self::Testrun(_)
            | Self::Edit { .. }
            | Self::Pattern(_)
            | Self::PatternAt { .. }
            | Self::Encoding(_)
            | Self::Exec(_)
            | Self::Calls(_)
            | Self::Refused { .. }
            | Self::Unsuitable { .. }
            | Self::Stale { .. }
            | Self::Cancelled
            | Self::Output(_) => Code::Internal,
        }
    }

    /// Advice beyond the message, if there is any.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Policy(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::Memory(error) | Self::Unanswered(error) => Some(error.hint().into()),
            Self::Edit { source, .. } => source.hint().map(Cow::Owned),
            Self::Pattern(source) | Self::PatternAt { source, .. } => Some(source.hint().into()),
            Self::Glob { source, .. } => Some(source.hint().into()),
            Self::Encoding(error) => Some(error.hint().into()),
            Self::Exec(error) => error.hint(),
            Self::Calls(error) => error.hint(),
            Self::Testrun(error) => error.hint(),
            Self::Python(error) => error.hint(),
            Self::Refused { hint, .. } => Some((*hint).into()),
            Self::Unsuitable { hint, .. } => Some(hint.clone()),
            Self::Stale { .. } => {
                Some("read the file again, then repeat the call with the new hash".into())
            }
            Self::NoMatch { .. } => {
                Some("see what is there with glob_search or list_directory".into())
            }
            Self::Journal(_) | Self::Params { .. } | Self::Cancelled | Self::Output(_) => None,
        }
    }
}

/// JSON-RPC error code of a path error.
fn of_policy(error: &PolicyError) -> Code {
    match error {
        PolicyError::Denied { .. }
        | PolicyError::ReadOnly { .. }
        | PolicyError::Protected { .. }
        | PolicyError::AllowedDirectory { .. }
        | PolicyError::Hidden { .. }
        | PolicyError::HoldsHidden { .. }
        | PolicyError::Kernel { .. }
        | PolicyError::NoProject => Code::NotAllowed,
        PolicyError::NotFound { .. }
        | PolicyError::LooksAlike { .. }
        | PolicyError::SimilarName { .. }
        | PolicyError::ParentNotFound { .. }
        | PolicyError::Gone { .. } => Code::NotFound,
        PolicyError::Empty
        | PolicyError::Nul { .. }
        | PolicyError::Uri { .. }
        | PolicyError::PathTooLong { .. } => Code::InvalidParams,
        PolicyError::NotADirectory { .. }
        | PolicyError::IsDirectory { .. }
        | PolicyError::Special { .. }
        | PolicyError::TooManyLinks { .. }
        | PolicyError::AccessDenied { .. }
        | PolicyError::NameTooLong { .. }
        | PolicyError::Busy { .. }
        | PolicyError::Io { .. } => Code::Internal,
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Unwanted => Self::Cancelled,
            JournalError::Memory(short) => Self::Memory(short),
            error => Self::Journal(error),
        }
    }
}

impl From<PythonError> for Error {
    fn from(error: PythonError) -> Self {
        match error {
            PythonError::Cancelled | PythonError::Exec(ExecError::Cancelled) => Self::Cancelled,
            error => Self::Python(error),
        }
    }
}

impl From<CallsError> for Error {
    fn from(error: CallsError) -> Self {
        match error {
            CallsError::Policy(error) => Self::Policy(error),
            CallsError::Fs(error) => Self::Fs(error),
            CallsError::Exec(ExecError::Cancelled) => Self::Cancelled,
            CallsError::Exec(error) => Self::Exec(error),
            CallsError::Memory(error) => Self::Memory(error),
            error => Self::Calls(error),
        }
    }
}

impl From<TestrunError> for Error {
    fn from(error: TestrunError) -> Self {
        match error {
            TestrunError::Policy(error) => Self::Policy(error),
            TestrunError::Fs(error) => Self::Fs(error),
            TestrunError::Exec(ExecError::Cancelled) => Self::Cancelled,
            TestrunError::Exec(error) => Self::Exec(error),
            TestrunError::Search(error) => error.into(),
            error => Self::Testrun(error),
        }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Policy(error) => Self::Policy(error),
            SearchError::Fs(error) => Self::Fs(error),
            SearchError::Glob { parameter, source } => Self::Glob { parameter, source },
            SearchError::Globs { .. } => Self::params(error.to_string()),
            SearchError::UnknownType { name, near } => {
                Self::params(if near.is_empty() || name.is_empty() {
                    format!(
                        "unknown file type `{name}`; use a type of ripgrep, such as `rust`, `py` or \
                     `cpp`"
                    )
                } else {
                    format!(
                        "unknown file type `{name}`; similar types: {}",
                        near.join(", ")
                    )
                })
            }
            SearchError::PatternAt { path, line, source } => Self::PatternAt {
                path: show_path(&path).into_owned(),
                line,
                source,
            },
            SearchError::Memory(error) => Self::Memory(error),
            SearchError::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_with_nul_is_invalid_params() {
        assert_eq!(
            Error::from(ExecError::Nul { offset: 6 }).code(),
            Code::InvalidParams
        );
        assert_eq!(Error::from(ExecError::NoLauncher).code(), Code::Internal);
    }
}
