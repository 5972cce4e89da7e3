//! Why tests were not run, or types not checked.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use crate::exec::ExecError;
use crate::fs::FsError;
use crate::policy::PolicyError;
use crate::search::SearchError;
use crate::text::escape::show_path;

/// Why tests were not run, or types not checked.
#[derive(Debug, thiserror::Error)]
pub enum TestrunError {
    /// A path that may not be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The program did not run.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// Globs that could not be expanded.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// Something else than a directory.
    #[error("`{}` is not a directory", show_path(.path))]
    NoDirectory {
        /// As it was asked for.
        path: PathBuf,
    },
    /// Commands are not run at all.
    #[error("commands are refused: {reason}")]
    Refused { reason: String },
    /// Nothing says how the project's tests are run, or its types checked.
    #[error("nothing in `{}` or above it says how {what}", show_path(.dir))]
    Nothing {
        /// The directory that was asked for.
        dir: PathBuf,
        /// Such as `its tests are run`.
        what: &'static str,
        /// Projects in directories below it, and what runs there, in words.
        below: Option<String>,
        /// The parameter that names a tool, with the names that there are.
        named: String,
        /// The test script of `package.json`, if it calls a runner that is not known.
        script: Option<String>,
    },
    /// Arguments that do not go together, or that a runner has no way to obey.
    #[error("{message}")]
    Arguments {
        /// What was got, and what is allowed.
        message: String,
    },
    /// A file that does not exist, or a glob that matches none.
    #[error("no file matches `{what}` in `{}`", show_path(.dir))]
    NoMatch {
        /// As it was asked for.
        what: String,
        /// Where it was looked for.
        dir: PathBuf,
        /// A file that may be meant, from there on.
        near: Option<String>,
    },
    /// The place for what runner and server exchange.
    #[error("a place for the runner's report cannot be made: {0}")]
    Place(#[source] io::Error),
}

/// How runners are told to write JUnit XML, by a word of the test script: node:test, Mocha.
const JUNIT_OPTIONS: [(&str, &str); 2] = [
    (
        "--test",
        "--test-reporter=junit --test-reporter-destination=junit.xml",
    ),
    (
        "mocha",
        "--reporter=xunit --reporter-option=output=junit.xml",
    ),
];

impl TestrunError {
    /// Arguments that cannot be obeyed.
    pub fn arguments(message: impl Into<String>) -> Self {
        Self::Arguments {
            message: message.into(),
        }
    }

    /// What to do next, if there is something the caller can do.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Policy(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::Exec(error) => error.hint(),
            Self::Nothing {
                below: Some(below), ..
            } => Some(format!("give one of these as `cwd`: {below}").into()),
            Self::Nothing {
                script: Some(script),
                ..
            } => {
                let options = JUNIT_OPTIONS
                    .iter()
                    .find(|(word, _)| script.split_whitespace().any(|other| other == *word));
                let options = options
                    .map(|(_, options)| format!(" (`{options}`)"))
                    .unwrap_or_default();
                Some(
                    format!(
                        "the test script of package.json is `{script}`: `runner: \"junit\"` with a `command` that makes it \
                         write JUnit XML{options}, and `report`, where it writes that"
                    )
                    .into(),
                )
            }
            Self::Nothing { named, .. } => {
                Some(format!("give the project's directory as `cwd`, or name {named}").into())
            }
            Self::NoMatch {
                near: Some(near), ..
            } => {
                Some(format!("did you mean `{near}`? glob_search shows what else there is").into())
            }
            Self::NoMatch { .. } => {
                Some("see what is there with glob_search; paths are relative to `cwd`".into())
            }
            Self::NoDirectory { .. }
            | Self::Search(_)
            | Self::Refused { .. }
            | Self::Arguments { .. }
            | Self::Place(_) => None,
        }
    }
}
