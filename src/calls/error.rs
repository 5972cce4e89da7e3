//! Why calls could not be recorded or answered.

use std::borrow::Cow;
use std::io;

use rustix::io::Errno;

use crate::budget::Exhausted;
use crate::exec::ExecError;
use crate::fs::FsError;
use crate::policy::PolicyError;
use crate::record::net::ca::CaError;
use crate::record::store::FileError;

/// Why calls could not be recorded or answered.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// A path that may not be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The file of a set cannot be read or written as one.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is not enough memory for a set.
    #[error(transparent)]
    Memory(#[from] Exhausted),
    /// The directory of the sets is none.
    #[error("`{path}` is not a directory, and mock sets are directories in one")]
    NoDirectory {
        /// As the caller spelt it.
        path: String,
    },
    /// No set can be written there.
    #[error("no mock set can be written to `{path}`: {reason}")]
    NotWritable {
        /// The directory of the sets, as the caller spelt it.
        path: String,
        reason: FsError,
    },
    /// There is no set of this name.
    #[error("there is no mock set `{name}` in {directory}")]
    NoSet {
        /// Where it was looked for, as the caller spelt it.
        directory: String,
        name: String,
    },
    /// The command did not run.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The certificate authority of the run could not be made, or not be shown to the program.
    #[error("no certificates for the program can be made: {0}")]
    Authority(#[from] CaError),
    /// Commands are not run at all.
    #[error("commands are refused: {reason}")]
    Refused { reason: String },
    /// What answers the program did not start.
    #[error("{step}: {cause}")]
    Setup {
        step: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

impl CallsError {
    /// What to do next, if there is something the caller can do.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Policy(error) => error.hint(),
            Self::Fs(error) => error.hint(),
            Self::File(error) => Some(error.hint().into()),
            Self::Memory(error) => Some(error.hint().into()),
            Self::NotWritable { .. } => {
                Some("give a directory with room that can be written to as `path`; nothing was run".into())
            }
            Self::Exec(ExecError::Refused { cause, .. }) if Errno::from_io_error(cause) == Some(Errno::BUSY) => {
                Some("run it outside of what supervises it, or ask for `--isolation env` with `--sandbox off`".into())
            }
            Self::Exec(error) => error.hint(),
            Self::NoDirectory { .. }
            | Self::NoSet { .. }
            | Self::Refused { .. }
            | Self::Authority(_)
            | Self::Setup { .. } => None,
        }
    }

    /// The message with the next step, for whoever gets one text.
    pub fn advice(&self) -> String {
        self.hint()
            .map_or_else(|| self.to_string(), |hint| format!("{self}; {hint}"))
    }

    /// Whether the interception could not be set up, so that nothing was run.
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
