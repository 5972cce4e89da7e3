//! Autorun files that a call changed: files that programs outside the sandbox run.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// An autorun file, with the parts that a call made or changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Outside {
    /// Absolute path.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Names of the parts, such as keys of a configuration.
    pub what: Vec<String>,
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Formats autorun files in one line, each as `PATH (WHAT)`.
pub(super) fn list(all: &[Outside]) -> String {
    let one =
        |outside: &Outside| format!("{} ({})", outside.path.display(), outside.what.join(", "));
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}
