//! Changed files, as git reports them, and the tests they affect for runners that cannot find out
//! themselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::project::files::NamedPath;
use super::project::language::Language;

/// Shell command that prints the repository's directory, and the files that differ from the last
/// commit, untracked ones too.
pub(crate) const GIT: &str = "git rev-parse --show-toplevel && exec git -c core.quotePath=false -c core.fsmonitor=false status \
    --porcelain=v1 -z --untracked-files=all";

/// Files that differ from the last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitChanges {
    /// Files that exist.
    pub files: Vec<PathBuf>,
    /// Deleted files.
    pub gone: Vec<PathBuf>,
}

/// Parses the output of [`GIT`]; returns `None` if it is malformed.
pub(crate) fn changed(written: &str) -> Option<GitChanges> {
    let (top, entries) = written.split_once('\n')?;
    let mut found = GitChanges::default();
    let mut entries = entries.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (state, path) = (entry.get(..2)?, entry.get(3..)?);
        if state.contains(['R', 'C']) {
            // The old name follows (git-status(1)).
            let old = entries.next().filter(|_| state.contains('R'));
            found.gone.extend(old.map(|old| Path::new(top).join(old)));
        }
        let list = if state.contains('D') {
            &mut found.gone
        } else {
            &mut found.files
        };
        list.push(Path::new(top).join(path));
    }
    Some(found)
}

/// Tests affected by changed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AffectedTests {
    pub targets: BTreeSet<NamedPath>,
    /// Globs below the project's directory for tests named after a changed file, each with that
    /// file.
    pub globs: Vec<(String, PathBuf)>,
    /// `true` if the targets are whole packages.
    pub by_package: bool,
    /// Files of the project with unknown effect on the tests.
    pub unknown: Vec<PathBuf>,
}

impl GitChanges {
    /// Returns the changed files of the project, deleted ones first, each with `true` if it exists.
    pub fn of<'a>(&'a self, project: &'a Path) -> impl Iterator<Item = (&'a PathBuf, bool)> {
        let all = self
            .gone
            .iter()
            .map(|file| (file, false))
            .chain(self.files.iter().map(|file| (file, true)));
        all.filter(move |(file, _)| file.starts_with(project))
    }

    /// Returns the tests of a language among the changed files, and the globs (`tests_of`) for the
    /// tests that are named after the others.
    pub fn by_name(
        &self,
        project: &Path,
        language: Language,
        tests_of: impl Fn(&Path) -> Option<String>,
    ) -> AffectedTests {
        let mut affected = AffectedTests::default();
        for (file, is_there) in self.of(project) {
            if is_there && language.is_test_name(file) {
                affected
                    .targets
                    .insert(NamedPath::whole(file.clone(), false));
            } else if let Some(glob) = tests_of(file) {
                affected.globs.push((glob, file.clone()));
            } else {
                affected.unknown.push(file.clone());
            }
        }
        affected
    }

    /// Returns the packages of the files for which `is_source` returns true.
    pub fn packages(&self, project: &Path, is_source: impl Fn(&Path) -> bool) -> AffectedTests {
        let mut affected = AffectedTests {
            by_package: true,
            ..AffectedTests::default()
        };
        for (file, is_there) in self.of(project) {
            if is_there && is_source(file) {
                affected
                    .targets
                    .insert(NamedPath::whole(file.clone(), false));
            } else {
                affected.unknown.push(file.clone());
            }
        }
        affected
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn git_status_output_is_parsed() {
        let written = "/w\n M a b.py\0?? new/x.py\0R  to.py\0from.py\0 D gone.py\0MM ä.py\0";
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let files = paths(&["/w/a b.py", "/w/new/x.py", "/w/to.py", "/w/ä.py"]);
        assert_eq!(
            changed(written),
            Some(GitChanges {
                files,
                gone: paths(&["/w/from.py", "/w/gone.py"])
            })
        );
        assert_eq!(changed("/w\n"), Some(GitChanges::default()));
        assert_eq!(changed("fatal: not a git repository"), None);
    }
}
