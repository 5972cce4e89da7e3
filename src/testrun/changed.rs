//! What git says has changed, and which tests that affects where the runner itself cannot say it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::files::Target;
use super::model::TestRunner;
use crate::text::glob::escape;

/// The line for a shell that says the repository's directory and what differs from the last commit, untracked files too.
pub const GIT: &str = "git rev-parse --show-toplevel && exec git -c core.quotePath=false -c core.fsmonitor=false status \
    --porcelain=v1 -z --untracked-files=all";

/// Files that differ from the last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Those that are there.
    pub files: Vec<PathBuf>,
    /// Those that are gone.
    pub gone: Vec<PathBuf>,
}

/// Files that differ from the last commit, from what [`GIT`] wrote; `None` if that is not understood.
pub fn changed(written: &str) -> Option<Changed> {
    let (top, entries) = written.split_once('\n')?;
    let mut found = Changed::default();
    let mut entries = entries.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (state, path) = (entry.get(..2)?, entry.get(3..)?);
        if state.contains(['R', 'C']) {
            // Its old name follows (git-status(1)).
            let old = entries.next().filter(|_| state.contains('R'));
            found.gone.extend(old.map(|old| Path::new(top).join(old)));
        }
        let list = if state.contains('D') { &mut found.gone } else { &mut found.files };
        list.push(Path::new(top).join(path));
    }
    Some(found)
}

/// Tests that changed files affect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Certain ones.
    pub targets: BTreeSet<Target>,
    /// Globs below the project's directory for tests that are named after a changed file, each with that file.
    pub globs: Vec<(String, PathBuf)>,
    /// Files of the project that say nothing of which tests they affect.
    pub unknown: Vec<PathBuf>,
}

/// Which tests of a runner the changed files affect, as far as names and directories say it.
pub fn affected(runner: TestRunner, project: &Path, changed: &Changed) -> Affected {
    let mut affected = Affected::default();
    let own = |file: &&PathBuf| file.starts_with(project);
    for file in changed.gone.iter().filter(own) {
        match (runner, named_after(file)) {
            (TestRunner::Pytest, Some(glob)) => affected.globs.push((glob, file.clone())),
            _ => affected.unknown.push(file.clone()),
        }
    }
    for file in changed.files.iter().filter(own) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let extension = file.extension().and_then(|extension| extension.to_str());
        let dir = || Target::whole(file.parent().unwrap_or(project).to_path_buf(), true);
        match runner {
            TestRunner::Pytest if name == "conftest.py" => {
                affected.targets.insert(dir());
            }
            TestRunner::Pytest if is_test(name) => {
                affected.targets.insert(Target::whole(file.clone(), false));
            }
            TestRunner::Pytest => match named_after(file) {
                Some(glob) => affected.globs.push((glob, file.clone())),
                None => affected.unknown.push(file.clone()),
            },
            TestRunner::Go if extension == Some("go") => {
                affected.targets.insert(Target::whole(file.clone(), false));
            }
            TestRunner::CargoTest | TestRunner::Nextest if extension == Some("rs") || name == "Cargo.toml" => {
                affected.targets.insert(Target::whole(file.clone(), false));
            }
            _ => affected.unknown.push(file.clone()),
        }
    }
    affected
}

/// Whether pytest looks for tests in files of this name.
fn is_test(name: &str) -> bool {
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

/// The glob for tests of pytest that are named after a source file; none if it is no such file.
fn named_after(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.strip_suffix(".py").filter(|_| !is_test(name) && name != "conftest.py")?;
    // A package is tested under its own name.
    let package = || file.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let stem = escape(package().filter(|_| stem == "__init__").unwrap_or(stem));
    Some(format!("**/{{test_{stem},{stem}_test,test_{stem}_*}}.py"))
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
        assert_eq!(changed(written), Some(Changed { files, gone: paths(&["/w/from.py", "/w/gone.py"]) }));
        assert_eq!(changed("/w\n"), Some(Changed::default()));
        assert_eq!(changed("fatal: not a git repository"), None);
    }

    #[test]
    fn tests_are_found_by_name_and_place() {
        let files =
            ["/w/p/core.py", "/w/p/shop/__init__.py", "/w/p/tests/test_a.py", "/w/p/tests/conftest.py", "/w/q/b.py"]
                .map(PathBuf::from);
        let gone = ["/w/p/old.py", "/w/p/tests/test_old.py"].map(PathBuf::from);
        let data = PathBuf::from("/w/p/data.json");
        let changed = Changed { files: [&files[..], std::slice::from_ref(&data)].concat(), gone: gone.to_vec() };
        let found = affected(TestRunner::Pytest, Path::new("/w/p"), &changed);
        let expected = Affected {
            targets: [Target::whole("/w/p/tests".into(), true), Target::whole("/w/p/tests/test_a.py".into(), false)]
                .into(),
            globs: vec![
                ("**/{test_old,old_test,test_old_*}.py".to_owned(), gone[0].clone()),
                ("**/{test_core,core_test,test_core_*}.py".to_owned(), files[0].clone()),
                ("**/{test_shop,shop_test,test_shop_*}.py".to_owned(), files[1].clone()),
            ],
            unknown: vec![gone[1].clone(), data],
        };
        assert_eq!(found, expected);
        let files = ["/w/a/x.go", "/w/a/notes.md", "/w/go.sum"].map(PathBuf::from);
        let found = affected(TestRunner::Go, Path::new("/w"), &Changed { files: files.to_vec(), gone: Vec::new() });
        assert_eq!(found.targets, [Target::whole("/w/a/x.go".into(), false)].into());
        assert_eq!(found.unknown, files[1..]);
    }
}
