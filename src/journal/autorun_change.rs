//! That something was changed which programs outside the walls run.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// Something that programs outside run, and what of it a call made or changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Outside {
    /// Absolute.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The names of the parts, such as keys of a configuration.
    pub what: Vec<String>,
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Some of them in a line, each as `PATH (WHAT)`.
pub fn list(all: &[Outside]) -> String {
    let one =
        |outside: &Outside| format!("{} ({})", outside.path.display(), outside.what.join(", "));
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}
