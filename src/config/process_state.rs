//! State of this process that the configuration depends on.

use std::ffi::OsString;
use std::path::PathBuf;

/// Process state that the configuration depends on.
pub(super) struct ProcessState {
    pub(super) here: PathBuf,
    pub(super) vars: Vec<(OsString, OsString)>,
    /// `true` if commands belong to the user who started this process, and get the whole
    /// environment.
    pub(super) own: bool,
}

impl ProcessState {
    /// Reads the environment of this process, which runs in `here`.
    pub(super) fn read(here: PathBuf, own: bool) -> Self {
        Self {
            here,
            vars: std::env::vars_os().collect(),
            own,
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.vars
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    }

    /// Returns the same state with these entries of PATH, unless there are none.
    pub(super) fn with_path(&self, entries: &[PathBuf]) -> Self {
        let mut vars = self.vars.clone();
        if let Ok(path) = std::env::join_paths(entries)
            && !entries.is_empty()
        {
            for (_, value) in vars.iter_mut().filter(|(name, _)| name == "PATH") {
                value.clone_from(&path);
            }
        }
        Self {
            here: self.here.clone(),
            vars,
            own: self.own,
        }
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute() && home.parent().is_some())
    }
}
