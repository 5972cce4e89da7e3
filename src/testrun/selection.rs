//! Selection of the tests for a run.

use super::project::files::NamedPath;

/// A failed test, with the names that a runner needs to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTest {
    /// Id in the report; empty if the file itself failed.
    pub id: String,
    /// File of the test, or its Go package.
    pub file: String,
    /// Suites around the test and its own name; empty if the file itself failed.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestSelection {
    /// All tests of the project.
    All,
    /// Tests in files and directories.
    Targets(Vec<NamedPath>),
    /// Tests that the runner itself finds to be affected by changes since the last commit.
    Changed,
    Failed(Vec<FailedTest>),
}

impl FailedTest {
    /// Creates the entry for a file that failed as a whole.
    pub fn of_file(file: &str) -> Self {
        Self {
            id: String::new(),
            file: file.to_owned(),
            names: Vec::new(),
        }
    }

    /// Creates the entry for a test of pytest.
    pub fn of_node(id: String) -> Self {
        let mut parts = id.split("::").map(str::to_owned);
        Self {
            file: parts.next().unwrap_or_default(),
            names: parts.collect(),
            id,
        }
    }
}
