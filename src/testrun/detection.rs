//! Detection of a project's runners and checkers, by its files.
//!
//! It looks at every directory from the requested one up to the allowed one. A sign that names a
//! tool (its configuration, a dependency, the test script) outweighs one that only suggests it. The
//! project's directory is the nearest one with a stronger sign than its subdirectories. The nearest
//! project comes first. Within one directory the order is: the runner of the test script, named
//! tools, the order of the table.

use std::path::{Path, PathBuf};

use replay_base::text::escape::show_path;

use super::project::disk::ProjectTree;
use super::project::signs::{
    MAX_EXAMINED_NAMES, MAX_PROJECT_DEPTH, ProjectLevel, SignWeight, inside,
};
use super::tool::ToolKind;

/// A runner or checker that a project has.
pub(crate) struct DetectedTool<T: ?Sized + 'static> {
    pub what: &'static T,
    pub dir: PathBuf,
    /// Reason for the tool, such as `vitest in package.json`.
    pub why: String,
    /// Weight of this reason.
    weight: SignWeight,
    /// Levels between the requested directory and the nearest sign.
    distance: usize,
}

impl<T: ?Sized> DetectedTool<T> {
    /// Returns true if no file names the tool: there are only files that match its naming habits.
    pub(crate) fn is_habit(&self) -> bool {
        self.weight == SignWeight::Habit
    }
}

impl<T: ToolKind + ?Sized> DetectedTool<T> {
    /// Returns notes on the reason, and on the alternatives in `found`; `parameter` is the argument
    /// that names a tool.
    pub(crate) fn notes(&self, found: &[Self], parameter: &str) -> Vec<String> {
        let others = found
            .iter()
            .filter(|other| other.what.name() != self.what.name());
        let others = others.map(|other| {
            let place = if other.dir == self.dir {
                String::new()
            } else {
                format!(", in {}", show_path(&other.dir))
            };
            format!(
                "`{parameter}: \"{}\"` ({}{place})",
                other.what.name(),
                other.why
            )
        });
        let others = others.collect::<Vec<_>>().join(", ");
        let also = (!others.is_empty()).then(|| format!("there is also {others}"));
        [format!("{}: {}", self.what.name(), self.why)]
            .into_iter()
            .chain(also)
            .collect()
    }
}

/// Returns the tools of the project around `cwd`, the best first, each once.
pub(crate) fn around<T: ToolKind + ?Sized>(
    tree: &dyn ProjectTree,
    cwd: &Path,
) -> Vec<DetectedTool<T>> {
    let mut found: Vec<DetectedTool<T>> = Vec::new();
    for (distance, dir) in cwd.ancestors().enumerate() {
        let Some(level) = ProjectLevel::at(tree, dir) else {
            break;
        };
        for &what in T::all() {
            let Some((weight, why)) = what.sign(&level) else {
                continue;
            };
            let here = || (dir.to_path_buf(), why.clone(), weight);
            match found
                .iter_mut()
                .find(|known| known.what.name() == what.name())
            {
                Some(known) if weight > known.weight && known.weight == SignWeight::Habit => {
                    (known.dir, known.why, known.weight) = here();
                }
                Some(_) => {}
                None => found.push(DetectedTool {
                    what,
                    dir: dir.to_path_buf(),
                    why,
                    weight,
                    distance,
                }),
            }
        }
    }
    let place = |found: &DetectedTool<T>| {
        T::all()
            .iter()
            .position(|known| known.name() == found.what.name())
    };
    found.sort_by_key(|found| {
        (
            found.distance,
            std::cmp::Reverse(found.weight),
            place(found),
        )
    });
    found
}

/// Returns the projects below `cwd` with their tools, each by its relative path. Direct
/// subdirectories come first, then subdirectories of those that are not projects themselves.
pub(crate) fn below<T: ToolKind + ?Sized>(
    tree: &dyn ProjectTree,
    cwd: &Path,
) -> Vec<(String, Vec<&'static T>)> {
    let mut found = Vec::new();
    let mut looks = MAX_EXAMINED_NAMES;
    let mut dirs = inside("", tree.names(cwd).unwrap_or_default());
    for _ in 0..MAX_PROJECT_DEPTH {
        let mut next = Vec::new();
        for name in dirs.into_iter().take(looks) {
            looks -= 1;
            let dir = cwd.join(&name);
            let Some(level) = ProjectLevel::at(tree, &dir) else {
                continue;
            };
            let signs: Vec<&T> = T::all()
                .iter()
                .copied()
                .filter(|what| what.sign(&level).is_some())
                .collect();
            if signs.is_empty() {
                next.extend(inside(&name, level.names));
            } else {
                found.push((name, signs));
            }
        }
        dirs = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::checker::Checker;
    use crate::checkers::{GoVet, Mypy, Tsc};
    use crate::project::disk::tests::tree;
    use crate::runner::Runner;
    use crate::runners::{CargoTest, Jest, Pytest, Vitest};
    use crate::tool::ProjectTool as _;

    fn runners(tree: &dyn ProjectTree, cwd: &Path) -> Vec<DetectedTool<dyn Runner>> {
        around(tree, cwd)
    }

    fn describe(files: &[(&'static str, &'static str)], cwd: &str) -> Vec<String> {
        let found = runners(&tree(files), Path::new(cwd));
        found
            .iter()
            .map(|found| {
                format!(
                    "{} in {}: {}",
                    found.what.name(),
                    found.dir.display(),
                    found.why
                )
            })
            .collect()
    }

    #[test]
    fn detection_puts_nearest_project_first() {
        let files = [
            (
                "/w/package.json",
                r#"{"devDependencies": {"vitest": "^3"}}"#,
            ),
            ("/w/packages/a/package.json", r#"{"name": "a"}"#),
            ("/w/packages/a/src/x.ts", ""),
            (
                "/w/packages/b/package.json",
                r#"{"devDependencies": {"jest": "30"}}"#,
            ),
            ("/w/tools/pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("/w/tools/tests/conftest.py", ""),
        ];
        assert_eq!(
            describe(&files, "/w/packages/a"),
            ["vitest in /w: vitest is a dependency in package.json"]
        );
        assert_eq!(
            describe(&files, "/w/packages/b"),
            [
                "jest in /w/packages/b: jest is a dependency in package.json",
                "vitest in /w: vitest is a dependency in package.json"
            ]
        );
        // A sign that names pytest outweighs a conftest.py below it.
        assert_eq!(
            describe(&files, "/w/tools/tests"),
            [
                "pytest in /w/tools: pyproject.toml has tool.pytest",
                "vitest in /w: vitest is a dependency in package.json"
            ]
        );
        let [jest, pytest]: [Vec<&dyn Runner>; 2] = [vec![&Jest], vec![&Pytest]];
        let mypy: Vec<&dyn Checker> = vec![&Mypy];
        assert_eq!(
            below::<dyn Runner>(&tree(&files), Path::new("/w")),
            [
                ("tools".to_owned(), pytest),
                ("packages/b".to_owned(), jest.clone())
            ]
        );
        assert_eq!(
            below::<dyn Runner>(&tree(&files), Path::new("/w/packages")),
            [("b".to_owned(), jest)]
        );
        assert_eq!(
            below::<dyn Checker>(&tree(&files), Path::new("/w")),
            [("tools".to_owned(), mypy)]
        );
    }

    #[test]
    fn detection_note_names_runner_of_parent_project() {
        let files = [
            ("/w/package.json", r#"{"scripts": {"test": "vitest run"}}"#),
            ("/w/api/package.json", r#"{"scripts": {"test": "jest"}}"#),
        ];
        let found = runners(&tree(&files), Path::new("/w/api"));
        assert_eq!(
            found[0].notes(&found, "runner"),
            [
                "jest: the test script of package.json runs jest",
                "there is also `runner: \"vitest\"` (the test script of package.json runs vitest, in /w)"
            ]
        );
    }

    #[test]
    fn test_script_decides_between_runners() {
        let both = |script| {
            let text: String = format!(
                r#"{{"scripts": {{"test": "{script}"}}, "devDependencies": {{"vitest": "3", "jest": "30"}}}}"#
            );
            let text: &'static str = text.leak();
            runners(
                &tree(&[("/w/package.json", text), ("/w/Cargo.toml", "")]),
                Path::new("/w"),
            )
            .into_iter()
            .map(|found| found.what)
            .collect::<Vec<_>>()
        };
        let [vitest, jest, cargo]: [&dyn Runner; 3] = [&Vitest, &Jest, &CargoTest];
        assert_eq!(both("tsc && jest --ci"), [jest, vitest, cargo]);
        assert_eq!(both("vitest run"), [vitest, jest, cargo]);
        assert_eq!(both("make jester"), [vitest, jest, cargo]);
    }

    #[test]
    fn ruby_php_and_runtime_projects_are_detected() {
        let alone = |name, text| describe(&[(name, text)], "/w");
        assert_eq!(alone("/w/.rspec", ""), ["rspec in /w: .rspec"]);
        assert_eq!(
            alone("/w/spec/a_spec.rb", ""),
            ["rspec in /w: spec/ holds specs of RSpec"]
        );
        assert_eq!(alone("/w/spec/a.spec.js", ""), [""; 0]);
        assert_eq!(
            alone("/w/phpunit.xml.dist", ""),
            ["phpunit in /w: phpunit.xml.dist"]
        );
        assert_eq!(
            alone(
                "/w/composer.json",
                r#"{"require-dev": {"phpunit/phpunit": "^9"}}"#
            ),
            ["phpunit in /w: phpunit is a dependency in composer.json"]
        );
        assert_eq!(
            alone(
                "/w/deno.jsonc",
                r#"{"tasks": {"test": "deno test -A"}, /* x */ }"#
            ),
            ["deno in /w: the test script of deno.jsonc runs deno test"]
        );
        assert_eq!(alone("/w/deno.json", "{}"), ["deno in /w: deno.json"]);
        assert_eq!(
            alone(
                "/w/package.json",
                r#"{"scripts": {"test": "bun test --bail"}}"#
            ),
            ["bun in /w: the test script of package.json runs bun test"]
        );
        // Bun as package manager, and its types, take no project from another runner.
        let vitest = r#"{"scripts": {"test": "bun run vitest"},
            "devDependencies": {"vitest": "3", "@types/bun": "1"}}"#;
        assert_eq!(
            alone("/w/package.json", vitest),
            [
                "vitest in /w: the test script of package.json runs vitest",
                "bun in /w: @types/bun is a dependency in package.json"
            ]
        );
        let checks = around::<dyn Checker>(&tree(&[("/w/deno.json", "{}")]), Path::new("/w"));
        let checks: Vec<_> = checks.iter().map(|found| found.what.name()).collect();
        assert_eq!(checks, ["deno"]);
    }

    #[test]
    fn python_project_is_detected_without_configuration() {
        let files = [
            ("/w/setup.py", ""),
            ("/w/tests/test_a.py", ""),
            ("/w/Cargo.toml", "[package]"),
        ];
        let expected = [
            "cargo in /w: Cargo.toml",
            "pytest in /w: tests/ holds tests of Python",
        ];
        assert_eq!(describe(&files, "/w"), expected);
        assert_eq!(describe(&[("/w/notes.txt", "")], "/w"), [""; 0]);
        let inside = [("/w/setup.py", ""), ("/w/toolz/tests/test_a.py", "")];
        assert_eq!(
            describe(&inside, "/w"),
            ["pytest in /w: toolz/tests/ holds tests of Python"]
        );
        assert_eq!(describe(&inside[1..], "/w"), [""; 0]);
        let checks = around::<dyn Checker>(&tree(&files), Path::new("/w/tests"));
        let checks: Vec<_> = checks
            .iter()
            .map(|found| (found.what.name(), found.why.as_str()))
            .collect();
        assert_eq!(
            checks,
            [("cargo", "Cargo.toml"), ("mypy", "a Python project")]
        );
    }

    #[test]
    fn tool_suits_files_of_its_language() {
        assert!(Vitest.suits("a/b.test.tsx") && !Vitest.suits("a.py"));
        assert!(Pytest.suits("tests") && GoVet.suits("x/y.go"));
        assert!(!Tsc.suits("src/main.rs"));
    }
}
