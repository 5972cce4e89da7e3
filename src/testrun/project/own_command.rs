//! Test command of a project, for a hint: what its own manifest or build file calls.

use std::path::{Path, PathBuf};

use super::disk::ProjectTree;
use super::node;
use super::signs::ProjectLevel;

/// Commands by the file that shows that a project has them. `$REPLAY_TEST_REPORT` is the report of
/// the generic runner.
const BY_FILE: [(&str, &str); 6] = [
    ("tox.ini", "tox"),
    ("noxfile.py", "nox"),
    ("Rakefile", "rake test"),
    ("mix.exs", "mix test"),
    (
        "Package.swift",
        "swift test --xunit-output \"$REPLAY_TEST_REPORT\"",
    ),
    ("build.zig", "zig build test"),
];

/// Test command of a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnCommand {
    pub line: String,
    /// Directory of the project.
    pub dir: PathBuf,
    /// Source of the command, in words.
    pub source: String,
}

/// Returns the test command of the nearest project.
pub(crate) fn find(tree: &dyn ProjectTree, cwd: &Path) -> Option<OwnCommand> {
    let mut levels = cwd.ancestors().map_while(|dir| ProjectLevel::at(tree, dir));
    levels.find_map(|level| {
        let (line, source) = of_level(&level)?;
        let dir = level.dir.to_path_buf();
        Some(OwnCommand { line, dir, source })
    })
}

/// Returns the test command of a directory, and its source in words.
fn of_level(level: &ProjectLevel<'_>) -> Option<(String, String)> {
    if let Some(script) = node::test_script(level) {
        let source = format!("the test script of package.json is `{script}`");
        return Some(("npm test".to_owned(), source));
    }
    // The order of make(1).
    let makefile = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .find(|name| level.has(name));
    let text = makefile.map(|name| level.text(name)).unwrap_or_default();
    let mut targets = text
        .lines()
        .filter_map(|line| line.split_once(':').map(|(target, _)| target.trim_end()));
    let target = targets.find(|target| ["test", "tests", "check"].contains(target));
    if let (Some(file), Some(target)) = (makefile, target) {
        return Some((
            format!("make {target}"),
            format!("{file} has the target `{target}`"),
        ));
    }
    let (file, command) = BY_FILE.iter().find(|(file, _)| level.has(file))?;
    Some(((*command).to_owned(), format!("there is {file}")))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::project::disk::tests::tree;

    #[test]
    fn own_command_comes_from_nearest_project() {
        let command = |files: &[(&'static str, &'static str)]| {
            find(&tree(files), Path::new("/w/a"))
                .map(|own| [own.line, own.source, own.dir.display().to_string()])
        };
        let script = r#"{"scripts": {"test": "ava -v"}}"#;
        let of = |line: &str, source: &str, dir: &str| Some([line, source, dir].map(str::to_owned));
        assert_eq!(
            command(&[("/w/a/package.json", script), ("/w/Makefile", "test:\n")]),
            of(
                "npm test",
                "the test script of package.json is `ava -v`",
                "/w/a"
            )
        );
        assert_eq!(
            command(&[
                ("/w/a/x.c", ""),
                ("/w/Makefile", "all: x\n\ncheck : x\n\t./x\n")
            ]),
            of("make check", "Makefile has the target `check`", "/w")
        );
        assert_eq!(
            command(&[("/w/a/mix.exs", "")]),
            of("mix test", "there is mix.exs", "/w/a")
        );
        assert_eq!(command(&[("/w/a/x.c", "")]), None);
    }
}
