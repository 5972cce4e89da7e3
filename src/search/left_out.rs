//! Counters of the entries in scope that a search skipped.

use std::ops::AddAssign;

use replay_files::policy::FileKind;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files with a NUL near their beginning.
    pub binary_files: u64,
    /// Files that `.gitignore` excludes, without those in ignored directories.
    pub ignored_files: u64,
    /// Directories that `.gitignore` excludes; they are not read.
    pub ignored_directories: u64,
}

impl LeftOut {
    pub(super) fn add_ignored(&mut self, kind: FileKind) {
        let count = if kind == FileKind::Directory {
            &mut self.ignored_directories
        } else {
            &mut self.ignored_files
        };
        *count += 1;
    }

    /// Returns true if an ignored entry was skipped.
    pub fn has_ignored(&self) -> bool {
        self.ignored_files + self.ignored_directories > 0
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, more: Self) {
        self.binary_files += more.binary_files;
        self.ignored_files += more.ignored_files;
        self.ignored_directories += more.ignored_directories;
    }
}
