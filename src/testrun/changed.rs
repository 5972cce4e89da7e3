//! What git says has changed, and which tests that affects where the runner itself cannot say it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::files::Target;
use super::model::TestRunner;
use crate::text::glob::escape;

/// The line for a shell that says the repository's directory and what differs from the last commit, untracked files too.
pub const GIT: &str = "git rev-parse --show-toplevel && exec git -c core.quotePath=false -c core.fsmonitor=false status \
    --porcelain=v1 -z --untracked-files=all";

/// Files that differ from the last commit and are there, from what [`GIT`] wrote; `None` if that is not understood.
pub fn changed(written: &str) -> Option<Vec<PathBuf>> {
    let (top, entries) = written.split_once('\n')?;
    let mut files = Vec::new();
    let mut entries = entries.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (state, path) = (entry.get(..2)?, entry.get(3..)?);
        if state.contains(['R', 'C']) {
            // Its old name follows (git-status(1)).
            entries.next();
        }
        if !state.contains('D') {
            files.push(Path::new(top).join(path));
        }
    }
    Some(files)
}

/// Tests that changed files affect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Certain ones.
    pub targets: BTreeSet<Target>,
    /// Globs below the project's directory for tests that are named after a changed file, each with that file.
    pub globs: Vec<(String, PathBuf)>,
}

/// Which tests of a runner the changed files affect, as far as names and directories say it.
pub fn affected(runner: TestRunner, project: &Path, changed: &[PathBuf]) -> Affected {
    let mut affected = Affected::default();
    let own = changed.iter().filter(|file| file.starts_with(project));
    for file in own {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { continue };
        let extension = file.extension().and_then(|extension| extension.to_str());
        let dir = || Target::whole(file.parent().unwrap_or(project).to_path_buf(), true);
        match runner {
            TestRunner::Pytest if name == "conftest.py" => {
                affected.targets.insert(dir());
            }
            TestRunner::Pytest => {
                let Some(stem) = name.strip_suffix(".py") else { continue };
                if stem.starts_with("test_") || stem.ends_with("_test") {
                    affected.targets.insert(Target::whole(file.clone(), false));
                } else {
                    // A package is tested under its own name.
                    let stem = if stem == "__init__" {
                        file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or(stem)
                    } else {
                        stem
                    };
                    let stem = escape(stem);
                    affected.globs.push((format!("**/{{test_{stem},{stem}_test,test_{stem}_*}}.py"), file.clone()));
                }
            }
            TestRunner::Go if extension == Some("go") => {
                affected.targets.insert(Target::whole(file.clone(), false));
            }
            TestRunner::CargoTest | TestRunner::Nextest if extension == Some("rs") || name == "Cargo.toml" => {
                affected.targets.insert(Target::whole(file.clone(), false));
            }
            _ => {}
        }
    }
    affected
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_git_says_is_read() {
        let written = "/w\n M a b.py\0?? new/x.py\0R  to.py\0from.py\0 D gone.py\0MM ä.py\0";
        let expected = ["/w/a b.py", "/w/new/x.py", "/w/to.py", "/w/ä.py"].map(PathBuf::from);
        assert_eq!(changed(written).as_deref(), Some(&expected[..]));
        assert_eq!(changed("/w\n").as_deref(), Some(&[][..]));
        assert_eq!(changed("fatal: not a git repository"), None);
    }

    #[test]
    fn tests_are_found_by_name_and_place() {
        let files =
            ["/w/p/core.py", "/w/p/shop/__init__.py", "/w/p/tests/test_a.py", "/w/p/tests/conftest.py", "/w/q/b.py"]
                .map(PathBuf::from);
        let found = affected(TestRunner::Pytest, Path::new("/w/p"), &files);
        let expected = Affected {
            targets: [Target::whole("/w/p/tests".into(), true), Target::whole("/w/p/tests/test_a.py".into(), false)]
                .into(),
            globs: vec![
                ("**/{test_core,core_test,test_core_*}.py".to_owned(), files[0].clone()),
                ("**/{test_shop,shop_test,test_shop_*}.py".to_owned(), files[1].clone()),
            ],
        };
        assert_eq!(found, expected);
        let files = ["/w/a/x.go", "/w/a/notes.md", "/w/go.sum"].map(PathBuf::from);
        let found = affected(TestRunner::Go, Path::new("/w"), &files);
        assert_eq!(found.targets, [Target::whole("/w/a/x.go".into(), false)].into());
    }
}
