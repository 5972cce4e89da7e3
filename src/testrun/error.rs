//! Errors of test runs and type checks.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use replay_base::text::escape::show_path;
use replay_files::fs::FsError;
use replay_files::policy::PolicyError;
use replay_sandbox::exec::ExecError;
use replay_search::SearchError;

/// Errors of test runs and type checks.
#[derive(Debug, thiserror::Error)]
pub enum TestrunError {
    /// The policy denies a path.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The program could not be run.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A glob could not be expanded.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The path is not a directory.
    #[error("`{}` is not a directory", show_path(.path))]
    NoDirectory {
        /// The path as requested.
        path: PathBuf,
    },
    /// The server runs no commands.
    #[error("commands are refused: {reason}")]
    Refused { reason: String },
    /// The project has no known runner, or no known checker.
    #[error("no file in `{}` or above it shows how {what}", show_path(.dir))]
    Nothing {
        /// The requested directory.
        dir: PathBuf,
        /// The missing fact, such as `its tests are run`.
        what: &'static str,
        /// Projects in directories below it and their tools, in words.
        below: Option<String>,
        /// The parameter that names a tool, with its possible values.
        named: String,
        /// The call that runs the project's own test command, in words.
        own_command: Option<String>,
    },
    /// Arguments that exclude each other, or that a runner does not support.
    #[error("{message}")]
    Arguments {
        /// The given and the allowed values.
        message: String,
    },
    /// A file does not exist, or a glob has no match.
    #[error("no file matches `{what}` in `{}`", show_path(.dir))]
    NoMatch {
        /// The path or glob as requested.
        what: String,
        /// The directory of the search.
        dir: PathBuf,
        /// A file with a similar name, as a path below that directory.
        near: Option<String>,
    },
    /// The directory that runner and server share could not be used.
    #[error("a directory for the runner's report cannot be created: {0}")]
    Place(#[source] io::Error),
}

impl TestrunError {
    /// Creates an error for arguments.
    pub fn arguments(message: impl Into<String>) -> Self {
        Self::Arguments {
            message: message.into(),
        }
    }

    /// Returns the next step, if the caller can do something.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Policy(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::Exec(error) => error.hint(),
            Self::Nothing {
                below: Some(below), ..
            } => Some(format!("give one of these as `cwd`: {below}").into()),
            Self::Nothing {
                own_command: Some(call),
                ..
            } => Some(call.clone().into()),
            Self::Nothing { named, .. } => {
                Some(format!("give the project's directory as `cwd`, or name {named}").into())
            }
            Self::NoMatch {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`? glob_search lists the files").into()),
            Self::NoMatch { .. } => {
                Some("list the files with glob_search; paths are relative to `cwd`".into())
            }
            Self::NoDirectory { .. }
            | Self::Search(_)
            | Self::Refused { .. }
            | Self::Arguments { .. }
            | Self::Place(_) => None,
        }
    }
}
