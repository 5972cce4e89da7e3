//! Which tests a run is of.

use super::project::files::NamedPath;

/// A test that failed, as the runner can be told to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTest {
    /// As the report names it; empty if the file itself failed.
    pub id: String,
    /// Its file, or Go's package.
    pub file: String,
    /// The suites around it and its own name; empty if the file itself failed.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestSelection {
    /// All of the project.
    All,
    /// Those of files and directories.
    Targets(Vec<NamedPath>),
    /// Those that the runner itself finds to be affected by what has changed since the last commit.
    Changed,
    Failed(Vec<FailedTest>),
}

impl FailedTest {
    /// A file that failed as such.
    pub fn of_file(file: &str) -> Self {
        Self {
            id: String::new(),
            file: file.to_owned(),
            names: Vec::new(),
        }
    }
}
