//! Test command of a project, for a hint: what its own manifest or build file calls.

use std::path::{Path, PathBuf};

use super::disk::ProjectTree;
use super::node;
use super::signs::ProjectLevel;

/// Commands by the file that shows that a project has them, and their reports, if they have a place
/// of their own. `$REPLAY_TEST_REPORT` is the report of the generic runner.
const BY_FILE: [(&str, &str, &str); 9] = [
    ("tox.ini", "tox", ""),
    ("noxfile.py", "nox", ""),
    ("Rakefile", "rake test", ""),
    ("mix.exs", "mix test", ""),
    (
        "Package.swift",
        "swift test --xunit-output \"$REPLAY_TEST_REPORT\"",
        "",
    ),
    ("build.zig", "zig build test", ""),
    (
        "meson.build",
        "meson setup build && meson test -C build",
        "build/meson-logs/testlog.junit.xml",
    ),
    ("build.sbt", "sbt test", "**/target/test-reports/TEST-*.xml"),
    ("pubspec.yaml", "dart test", ""),
];

/// Test command of a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnCommand {
    pub line: String,
    /// Path or glob of its report; empty if it has no place of its own.
    pub report: &'static str,
    /// Directory of the project.
    pub dir: PathBuf,
    /// Source of the command, in words.
    pub source: String,
}

/// Returns the test command of the nearest project.
pub(crate) fn find(tree: &dyn ProjectTree, cwd: &Path) -> Option<OwnCommand> {
    let mut levels = cwd.ancestors().map_while(|dir| ProjectLevel::at(tree, dir));
    levels.find_map(|level| {
        let (line, report, source) = of_level(&level)?;
        let dir = level.dir.to_path_buf();
        Some(OwnCommand {
            line,
            report,
            dir,
            source,
        })
    })
}

/// Returns the test command of a directory, its report, and its source in words.
fn of_level(level: &ProjectLevel<'_>) -> Option<(String, &'static str, String)> {
    if let Some(script) = node::test_script(level) {
        let source = format!("the test script of package.json is `{script}`");
        return Some(("npm test".to_owned(), "", source));
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
            "",
            format!("{file} has the target `{target}`"),
        ));
    }
    let (file, command, report) = BY_FILE.iter().find(|(file, ..)| level.has(file))?;
    Some(((*command).to_owned(), report, format!("there is {file}")))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::project::disk::tests::tree;

    #[test]
    fn own_command_comes_from_nearest_project() {
        let command = |files: &[(&'static str, &'static str)]| {
            find(&tree(files), Path::new("/w/a")).map(|own| {
                [
                    own.line,
                    own.source,
                    own.dir.display().to_string(),
                    own.report.to_owned(),
                ]
            })
        };
        let script = r#"{"scripts": {"test": "ava -v"}}"#;
        let with = |line: &str, source: &str, dir: &str, report: &str| {
            Some([line, source, dir, report].map(str::to_owned))
        };
        let of = |line: &str, source: &str, dir: &str| with(line, source, dir, "");
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
        assert_eq!(
            command(&[("/w/a/x.scala", ""), ("/w/build.sbt", "")]),
            with(
                "sbt test",
                "there is build.sbt",
                "/w",
                "**/target/test-reports/TEST-*.xml"
            )
        );
        assert_eq!(command(&[("/w/a/x.c", "")]), None);
    }
}
