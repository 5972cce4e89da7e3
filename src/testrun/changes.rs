//! What git says has changed, and which tests that affects where the runner itself cannot say it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::project::files::NamedPath;

/// The line for a shell that says the repository's directory and what differs from the last commit,
/// untracked files too.
pub const GIT: &str = "git rev-parse --show-toplevel && exec git -c core.quotePath=false -c core.fsmonitor=false status \
    --porcelain=v1 -z --untracked-files=all";

/// Files that differ from the last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitChanges {
    /// Those that are there.
    pub files: Vec<PathBuf>,
    /// Those that are gone.
    pub gone: Vec<PathBuf>,
}

/// Files that differ from the last commit, from what [`GIT`] wrote; `None` if that is not
/// understood.
pub fn changed(written: &str) -> Option<GitChanges> {
    let (top, entries) = written.split_once('\n')?;
    let mut found = GitChanges::default();
    let mut entries = entries.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (state, path) = (entry.get(..2)?, entry.get(3..)?);
        if state.contains(['R', 'C']) {
            // Its old name follows (git-status(1)).
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

/// Tests that changed files affect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    pub targets: BTreeSet<NamedPath>,
    /// Globs below the project's directory for tests that are named after a changed file, each with
    /// that file.
    pub globs: Vec<(String, PathBuf)>,
    /// Whether the targets are whole packages.
    pub by_package: bool,
    /// Files of the project that say nothing of which tests they affect.
    pub unknown: Vec<PathBuf>,
}

impl GitChanges {
    /// Files of the project, those that are gone first, and whether they are there.
    pub fn of<'a>(&'a self, project: &'a Path) -> impl Iterator<Item = (&'a PathBuf, bool)> {
        let all = self
            .gone
            .iter()
            .map(|file| (file, false))
            .chain(self.files.iter().map(|file| (file, true)));
        all.filter(move |(file, _)| file.starts_with(project))
    }

    /// The packages of the files that `is_source` takes for part of one.
    pub fn packages(&self, project: &Path, is_source: impl Fn(&Path) -> bool) -> Affected {
        let mut affected = Affected {
            by_package: true,
            ..Affected::default()
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
    fn what_git_says_is_read() {
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
