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

/// Tests affected by one changed file.
pub enum FileEffect {
    Target(NamedPath),
    /// Glob for tests named after the file.
    Glob(String),
    Unknown,
}

impl FileEffect {
    /// Creates the effect of tests in this whole file or directory.
    pub fn whole(path: &Path, is_dir: bool) -> Self {
        Self::Target(NamedPath::whole(path.to_path_buf(), is_dir))
    }
}

impl GitChanges {
    /// Returns the effects (`of`) of the project's changed files, deleted ones first. `of` also gets
    /// `true` if the file exists.
    pub fn effects(&self, project: &Path, of: impl Fn(&Path, bool) -> FileEffect) -> AffectedTests {
        let gone = self.gone.iter().map(|file| (file, false));
        let all = gone.chain(self.files.iter().map(|file| (file, true)));
        let mut affected = AffectedTests::default();
        for (file, is_there) in all.filter(|(file, _)| file.starts_with(project)) {
            match of(file, is_there) {
                FileEffect::Target(target) => drop(affected.targets.insert(target)),
                FileEffect::Glob(glob) => affected.globs.push((glob, file.clone())),
                FileEffect::Unknown => affected.unknown.push(file.clone()),
            }
        }
        affected
    }

    /// Returns the tests of a language among the changed files, and the globs (`tests_of`) for the
    /// tests that are named after the others.
    pub fn by_name(
        &self,
        project: &Path,
        language: Language,
        tests_of: impl Fn(&Path) -> Option<String>,
    ) -> AffectedTests {
        self.effects(project, |file, is_there| {
            if is_there && language.is_test_name(file) {
                FileEffect::whole(file, false)
            } else {
                tests_of(file).map_or(FileEffect::Unknown, FileEffect::Glob)
            }
        })
    }

    /// Returns the packages of the files for which `is_source` returns true.
    pub fn packages(&self, project: &Path, is_source: impl Fn(&Path) -> bool) -> AffectedTests {
        let affected = self.effects(project, |file, is_there| {
            if is_there && is_source(file) {
                FileEffect::whole(file, false)
            } else {
                FileEffect::Unknown
            }
        });
        AffectedTests {
            by_package: true,
            ..affected
        }
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
