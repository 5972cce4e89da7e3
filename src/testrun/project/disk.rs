//! Access to the allowed directories for runs and checks.

use std::path::{Path, PathBuf};

use replay_files::fs;
use replay_files::policy::{Checked, FileKind, Policy, PolicyError, Read};
use replay_sandbox::exec::place_of;

use crate::error::TestrunError;

/// Largest file of a project that is read to find out how its tests are run, in bytes.
const MAX_PROJECT_FILE_BYTES: u64 = 1024 * 1024;

/// Read access to directories and small files.
pub trait ProjectTree {
    /// Returns the names in a directory; `None` if it does not exist or is not allowed.
    fn names(&self, dir: &Path) -> Option<Vec<String>>;
    /// Returns the text of a small file; `None` if it does not exist.
    fn text(&self, file: &Path) -> Option<String>;
}

/// The allowed directories on the disk. A search may leave them, which is no denied request of the
/// caller.
#[derive(Clone, Copy, Debug)]
pub struct AllowedDisk<'a>(pub &'a Policy);

impl ProjectTree for AllowedDisk<'_> {
    fn names(&self, dir: &Path) -> Option<Vec<String>> {
        let dir = self.0.probe(dir).ok()?;
        if dir.kind() != FileKind::Directory {
            return None;
        }
        let entries = fs::entries(&dir).ok()?;
        Some(
            entries
                .into_iter()
                .filter_map(|entry| entry.name.into_string().ok())
                .collect(),
        )
    }

    fn text(&self, file: &Path) -> Option<String> {
        let file = self.0.probe(file).ok()?;
        let bytes = fs::read_all(&file, MAX_PROJECT_FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl AllowedDisk<'_> {
    /// Returns a requested allowed directory by its true path, without symlinks: programs see it
    /// so, and name its files so.
    pub fn directory(self, path: &Path) -> Result<Checked<Read>, TestrunError> {
        self.true_directory(self.0.read(path)?)
    }

    /// Like [`Self::directory`], for a directory that is only searched.
    pub fn directory_above(self, path: &Path) -> Option<PathBuf> {
        let dir = self.true_directory(self.0.probe(path).ok()?).ok()?;
        Some(dir.display_path().to_path_buf())
    }

    fn true_directory(self, dir: Checked<Read>) -> Result<Checked<Read>, TestrunError> {
        if dir.kind() != FileKind::Directory {
            return Err(TestrunError::NoDirectory {
                path: dir.display_path().to_path_buf(),
            });
        }
        let place = place_of(&dir)?.path.as_path().to_path_buf();
        match self.0.probe(&place) {
            Ok(place) => Ok(place),
            Err(PolicyError::Denied { .. }) => Ok(dir),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the directory and its allowed ancestors, the nearest first.
    pub fn upwards(self, from: &Path) -> impl Iterator<Item = &Path> {
        from.ancestors()
            .take_while(move |dir| self.0.probe(dir).is_ok())
    }

    /// Returns the true path of a file; `None` if it does not exist.
    pub fn true_path(self, file: &Path) -> Option<String> {
        let file = self
            .0
            .probe(file)
            .ok()
            .filter(|file| file.kind() == FileKind::File)?;
        Some(place_of(&file).ok()?.path.as_path().to_str()?.to_owned())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Test files by their paths; `/w` is the allowed directory.
    pub(crate) struct TreeFiles(BTreeMap<PathBuf, &'static str>);

    impl ProjectTree for TreeFiles {
        fn names(&self, dir: &Path) -> Option<Vec<String>> {
            if !dir.starts_with("/w") {
                return None;
            }
            let below = self
                .0
                .keys()
                .filter_map(|file| file.strip_prefix(dir).ok()?.iter().next()?.to_str());
            let mut names: Vec<String> = below.map(str::to_owned).collect();
            names.dedup();
            (!names.is_empty() || dir == Path::new("/w")).then_some(names)
        }

        fn text(&self, file: &Path) -> Option<String> {
            self.0.get(file).map(|text| (*text).to_owned())
        }
    }

    pub(crate) fn tree(files: &[(&'static str, &'static str)]) -> TreeFiles {
        TreeFiles(
            files
                .iter()
                .map(|(path, text)| (PathBuf::from(path), *text))
                .collect(),
        )
    }
}
