//! All files of the private HOME that stand for the operator's.

use crate::configuration::{HomeFile, Machine};
use crate::git;

impl Machine<'_> {
    /// Reads the operator's configuration and returns what commands get of it. A file that the
    /// operator does not have is not in the result.
    pub fn home_files(&self) -> Vec<HomeFile> {
        let configurations = self.definitions.document().configuration.iter();
        let mut files: Vec<HomeFile> = configurations
            .filter_map(|(_, configuration)| self.home_file(configuration))
            .collect();
        files.extend(git::home_files(self));
        files
    }
}
