//! Errors of Python sessions.

use std::borrow::Cow;

use replay_base::limits::{MAX_PYTHON_ASKED_BYTES, MAX_PYTHON_CODE_BYTES, MAX_SESSION_NAME_CHARS};
use replay_base::text::escape::harmless;
use replay_files::fs::FsError;
use replay_files::policy::PolicyError;
use replay_sandbox::exec::{ExecError, Exit};

/// Longest part of an input text that an error repeats, in characters.
const MAX_REPEATED_CHARS: usize = 200;

/// Errors of Python sessions.
#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    /// No session has this name.
    #[error("session `{}` not found: {known}", shorten(.name))]
    Unknown {
        /// The name as requested.
        name: String,
        /// List of the existing sessions, in words.
        known: String,
    },
    /// A session of this name exists already.
    #[error("session `{name}` exists already")]
    Exists { name: String },
    /// Invalid session name.
    #[error(
        "`session_id` is `{}`; it must have 1 to {MAX_SESSION_NAME_CHARS} characters, none of \
         them control characters",
        shorten(.name)
    )]
    BadName {
        /// The name as given.
        name: String,
    },
    /// The maximum number of sessions exists.
    #[error("all {most} Python sessions are in use (--max-python-sessions): {names}")]
    TooMany {
        /// The maximum number of sessions.
        most: usize,
        /// Names of the sessions, least recently used first.
        names: String,
    },
    /// The code is too long.
    #[error("`code` is {bytes} bytes long, and at most {most} bytes are allowed", most = if *.asked { MAX_PYTHON_ASKED_BYTES } else { MAX_PYTHON_CODE_BYTES })]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// `true` if the code was to be completed or inspected, not run.
        asked: bool,
    },
    /// The server offers no sessions.
    #[error("Python sessions are refused: {reason}")]
    Refused { reason: String },
    /// The interpreter was not found, or cannot be executed.
    #[error("no Python interpreter: `{}` cannot be run{}", shorten(.python), after_colon(.said))]
    NoInterpreter {
        /// Name or path of the interpreter.
        python: String,
        /// Message of the shell or of the version manager.
        said: String,
    },
    /// The interpreter ended or timed out before it took requests.
    #[error("the Python interpreter `{}` does not start: {reason}{}", shorten(.python), after_colon(.said))]
    NotStarted {
        python: String,
        reason: String,
        said: String,
    },
    /// A cell is running, and the timeout for waiting has passed.
    #[error(
        "session `{session}` is busy: its cell has been running for {seconds:.1} s, and did not end within the timeout"
    )]
    Busy {
        session: String,
        /// Run time of the cell so far.
        seconds: f64,
    },
    /// A cell blocks the interpreter, or the reply takes too long.
    #[error(
        "session `{session}` does not answer; its code may be inside a call that blocks the \
         interpreter"
    )]
    Silent { session: String },
    /// The interpreter cannot reply to the request.
    #[error("session `{session}` cannot answer: {}", shorten(.reason))]
    Unanswered { session: String, reason: String },
    /// The session has no process to ask.
    #[error("the process of session `{session}` has ended ({})", describe_exit(*.exit))]
    Over { session: String, exit: Exit },
    /// The policy denies a path.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A process could not be started or followed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
}

impl PythonError {
    /// Returns the next step, if the caller can do something.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Unknown { .. } => {
                "create_session makes one; without `session_id` the active session is used".into()
            }
            Self::Exists { .. } => "use the session by its `session_id`, or delete it first with \
                delete_session"
                .into(),
            Self::TooMany { .. } => {
                "end a session with delete_session; its variables are lost".into()
            }
            Self::TooLong { asked: true, .. } => "send only the lines around the cursor".into(),
            Self::TooLong { .. } => {
                "write the code to a file with write_file, and use run_script".into()
            }
            Self::NoInterpreter { python, .. } if python.contains('/') => {
                "commands may not see the interpreter or the target of its link: with `python` of \
                 create_session name one in an allowed directory or of the system, or ask the \
                 operator (--system DIR)"
                    .into()
            }
            Self::NoInterpreter { .. } => {
                "give another interpreter as `python` of create_session; the other tools still \
                 work"
                    .into()
            }
            Self::Busy { .. } | Self::Silent { .. } => {
                "wait, use interrupt_session or restart_session, or use another session".into()
            }
            Self::Over { .. } => "run_python_code starts it anew, without its variables".into(),
            Self::Policy(error) => return error.hint(),
            Self::Fs(error) => return error.hint(),
            Self::Exec(error) => return error.hint(),
            Self::BadName { .. }
            | Self::Refused { .. }
            | Self::NotStarted { .. }
            | Self::Unanswered { .. }
            | Self::Cancelled => return None,
        })
    }
}

/// Describes the end of a process in words.
pub(super) fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

fn after_colon(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(": {}", shorten(said))
    }
}

/// Returns a text from a caller or a program as an error message repeats it: whole, or its
/// beginning and its length. Unsafe characters are escaped.
pub fn shorten(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(MAX_REPEATED_CHARS);
    end.map_or_else(
        || harmless(text),
        |(end, _)| format!("{}... ({} bytes)", harmless(&text[..end]), text.len()).into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn error_message_escapes_unsafe_characters() {
        let error = PythonError::Unknown {
            name: "a\0\u{202e}b".to_owned(),
            known: "there are `default`".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "session `a\\u0000\\u202eb` not found: there are `default`"
        );
    }

    #[test]
    fn error_message_shortens_long_input() {
        let long = "é".repeat(100_000);
        let short = format!("{}... (200000 bytes)", "é".repeat(MAX_REPEATED_CHARS));
        assert_eq!(
            (shorten(&long), shorten("python3")),
            (short.as_str().into(), "python3".into())
        );
        let (python, said, name, session) =
            (long.clone(), long.clone(), long.clone(), "s".to_owned());
        let errors = [
            PythonError::Unknown {
                name,
                known: "there are `default`".to_owned(),
            },
            PythonError::NoInterpreter {
                python: python.clone(),
                said: said.clone(),
            },
            PythonError::NotStarted {
                python,
                reason: "exit code 1".to_owned(),
                said,
            },
            PythonError::Unanswered {
                session,
                reason: long,
            },
        ];
        for error in errors {
            assert!(error.to_string().len() < 1200, "{error}");
        }
    }
}
