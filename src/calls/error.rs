//! Errors of recording and answering calls.

use std::borrow::Cow;
use std::io;

use replay_base::budget::Exhausted;
use replay_files::fs::FsError;
use replay_files::policy::PolicyError;
use replay_sandbox::exec::ExecError;
use rustix::io::Errno;

use replay_record::net::ca::CaError;
use replay_record::store::FileError;

/// Errors of recording and answering calls.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// A path that the policy denies.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The file of a set cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Not enough memory for a set.
    #[error(transparent)]
    Memory(#[from] Exhausted),
    /// The path of the mock sets is not a directory.
    #[error("`{path}` is not a directory; `path` must be the directory of the mock sets")]
    NoDirectory {
        /// Path as the caller spelt it.
        path: String,
    },
    /// The set cannot be written to this directory.
    #[error("no mock set can be written to `{path}`: {reason}")]
    NotWritable {
        /// Directory of the sets, as the caller spelt it.
        path: String,
        reason: FsError,
    },
    /// There is no set with this name.
    #[error("there is no mock set `{name}` in {directory}")]
    NoSet {
        /// Directory that was searched, as the caller spelt it.
        directory: String,
        name: String,
    },
    /// The command did not run.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The certificate authority of the run could not be created or made visible to the program.
    #[error("the certificates for the program cannot be created: {0}")]
    Authority(#[from] CaError),
    /// Commands are disabled.
    #[error("commands are refused: {reason}")]
    Refused { reason: String },
    /// The interception could not be set up.
    #[error("{step}: {cause}")]
    Setup {
        step: &'static str,
        /// Error of the system call.
        cause: io::Error,
    },
}

impl CallsError {
    /// Advice for the caller, if there is any.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Policy(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::File(error) => Some(error.hint().into()),
            Self::Memory(error) => Some(error.hint().into()),
            Self::NotWritable { .. } => {
                Some("give a writable directory with free space as `path`; nothing was run".into())
            }
            Self::Exec(ExecError::Refused { cause, .. })
                if Errno::from_io_error(cause) == Some(Errno::BUSY) =>
            {
                Some(
                    "run replay outside of its supervisor, or use `--isolation env` with \
                    `--sandbox off`"
                        .into(),
                )
            }
            Self::Exec(error) => error.hint(),
            Self::NoDirectory { .. }
            | Self::NoSet { .. }
            | Self::Refused { .. }
            | Self::Authority(_)
            | Self::Setup { .. } => None,
        }
    }

    /// The message together with the hint.
    pub fn advice(&self) -> String {
        self.hint()
            .map_or_else(|| self.to_string(), |hint| format!("{self}; {hint}"))
    }

    /// Returns true if the interception could not be set up, so that no program ran.
    pub fn is_setup(&self) -> bool {
        matches!(
            self,
            Self::Exec(ExecError::Refused { .. } | ExecError::NoLauncher)
                | Self::Authority(_)
                | Self::Refused { .. }
                | Self::Setup { .. }
        )
    }
}
