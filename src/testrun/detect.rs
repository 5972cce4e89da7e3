//! Which runners and which checkers a project has, by the files that lie in it.
//!
//! Every directory from the one asked for up to the allowed one is looked at. What names a runner (its configuration, a
//! dependency, the test script) is worth more than what only suggests one; a project's directory is the nearest one that
//! says more than its directories below. The nearest project is the first choice; in one place the one that the test
//! script names, then what is named, then the order of [`ORDER`].

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::model::{Checker, TestRunner};

/// What detection looks at.
pub trait Tree {
    /// The names in a directory; `None` where there is none, or it is not allowed.
    fn names(&self, dir: &Path) -> Option<Vec<String>>;
    /// The text of a small file; `None` where there is none.
    fn text(&self, file: &Path) -> Option<String>;
}

/// Which of two runners that are as good as each other is taken.
pub const ORDER: [TestRunner; 5] =
    [TestRunner::Vitest, TestRunner::Jest, TestRunner::CargoTest, TestRunner::Go, TestRunner::Pytest];

/// The same for checkers.
const CHECKERS: [Checker; 5] = [Checker::Tsc, Checker::CargoCheck, Checker::GoVet, Checker::Mypy, Checker::Pyright];

/// A runner or checker that a project has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// Which one.
    pub what: T,
    /// The project's directory.
    pub dir: PathBuf,
    /// What speaks for it, such as `vitest in package.json`.
    pub why: String,
    /// How much that is worth.
    weight: Weight,
    /// Levels between the directory asked for and the nearest place that speaks for it.
    distance: usize,
}

/// Names of one directory that are looked into.
const LOOKED_AT: usize = 200;

/// How far below projects are looked for.
const LEVELS_BELOW: usize = 2;

impl<T> Found<T> {
    /// Whether nothing names it: there are only files as it has them.
    pub fn is_habit(&self) -> bool {
        self.weight == Weight::Habit
    }
}

/// How much a sign is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A habit, such as a directory of tests.
    Habit,
    /// It is named: by a configuration, a dependency, a manifest.
    Named,
    /// The project's own test script calls it.
    Script,
}

/// The runners of the project around `cwd`, the best first. None is named twice.
pub fn runners(tree: &dyn Tree, cwd: &Path) -> Vec<Found<TestRunner>> {
    sorted(tree, cwd, &ORDER, test_sign)
}

/// The checkers of the project around `cwd`, the best first. None is named twice.
pub fn checkers(tree: &dyn Tree, cwd: &Path) -> Vec<Found<Checker>> {
    sorted(tree, cwd, &CHECKERS, check_sign)
}

/// Whether a runner or checker is for files of this name; `true` for names that say nothing.
pub fn suits_runner(runner: TestRunner, file: &str) -> bool {
    let Some(language) = language(file) else { return true };
    match runner {
        TestRunner::Vitest | TestRunner::Jest => language == Language::JavaScript,
        TestRunner::Pytest => language == Language::Python,
        TestRunner::CargoTest | TestRunner::Nextest => language == Language::Rust,
        TestRunner::Go => language == Language::Go,
        TestRunner::Junit => true,
    }
}

/// The same for a checker.
pub fn suits_checker(checker: Checker, file: &str) -> bool {
    let Some(language) = language(file) else { return true };
    match checker {
        Checker::Tsc => language == Language::JavaScript,
        Checker::Mypy | Checker::Pyright => language == Language::Python,
        Checker::CargoCheck => language == Language::Rust,
        Checker::GoVet => language == Language::Go,
    }
}

/// Projects below `cwd` with their runners, each by its path from there.
pub fn runners_below(tree: &dyn Tree, cwd: &Path) -> Vec<(String, Vec<TestRunner>)> {
    below(tree, cwd, &ORDER, test_sign)
}

/// The same for checkers.
pub fn checkers_below(tree: &dyn Tree, cwd: &Path) -> Vec<(String, Vec<Checker>)> {
    below(tree, cwd, &CHECKERS, check_sign)
}

/// Whether a directory is a project of its own that has a runner: files as the runner has them are not enough.
pub fn is_project(tree: &dyn Tree, dir: &Path, runner: TestRunner) -> bool {
    Level::at(tree, dir).is_some_and(|level| {
        test_sign(&level, runner).is_some_and(|(weight, _)| weight > Weight::Habit || level.is_python())
    })
}

/// The test script of the nearest `package.json`, if it has one that says something.
pub fn test_script(tree: &dyn Tree, cwd: &Path) -> Option<String> {
    let levels = cwd.ancestors().map_while(|dir| Level::at(tree, dir));
    let script = levels
        .filter(|level| level.has("package.json"))
        .find_map(|level| level.package()["scripts"]["test"].as_str().map(str::to_owned))?;
    // What `npm init` writes is no script.
    let is_shown = script.len() <= LONGEST_SCRIPT && !script.contains(char::is_control);
    (is_shown && !script.contains("no test specified")).then_some(script)
}

/// The longest script that is told, in bytes.
const LONGEST_SCRIPT: usize = 200;

/// Not looked into for projects.
const CLOSED: [&str; 3] = ["node_modules", "target", "venv"];

/// Of what lies directly below first, then what lies in directories there that are no projects themselves.
fn below<T: Copy>(tree: &dyn Tree, cwd: &Path, order: &[T], sign: fn(&Level<'_>, T) -> Sign) -> Vec<(String, Vec<T>)> {
    let mut found = Vec::new();
    let mut looks = LOOKED_AT;
    let mut dirs = inside("", tree.names(cwd).unwrap_or_default());
    for _ in 0..LEVELS_BELOW {
        let mut next = Vec::new();
        for name in dirs.into_iter().take(looks) {
            looks -= 1;
            let dir = cwd.join(&name);
            let Some(level) = Level::at(tree, &dir) else { continue };
            let signs: Vec<T> = order.iter().copied().filter(|what| sign(&level, *what).is_some()).collect();
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    JavaScript,
    Python,
    Rust,
    Go,
}

fn language(file: &str) -> Option<Language> {
    let (_, extension) = file.rsplit_once('.')?;
    Some(match extension {
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => Language::JavaScript,
        "py" | "pyi" => Language::Python,
        "rs" => Language::Rust,
        "go" => Language::Go,
        _ => return None,
    })
}

type Sign = Option<(Weight, String)>;

fn sorted<T: Copy + PartialEq>(
    tree: &dyn Tree,
    cwd: &Path,
    order: &[T],
    sign: fn(&Level<'_>, T) -> Sign,
) -> Vec<Found<T>> {
    let mut found: Vec<Found<T>> = Vec::new();
    for (distance, dir) in cwd.ancestors().enumerate() {
        let Some(level) = Level::at(tree, dir) else { break };
        for &what in order {
            let Some((weight, why)) = sign(&level, what) else { continue };
            let here = || (dir.to_path_buf(), why.clone(), weight);
            match found.iter_mut().find(|known| known.what == what) {
                Some(known) if weight > known.weight && known.weight == Weight::Habit => {
                    (known.dir, known.why, known.weight) = here();
                }
                Some(_) => {}
                None => found.push(Found { what, dir: dir.to_path_buf(), why, weight, distance }),
            }
        }
    }
    let place = |found: &Found<T>| order.iter().position(|known| *known == found.what);
    found.sort_by_key(|found| (found.distance, std::cmp::Reverse(found.weight), place(found)));
    found
}

/// One directory.
struct Level<'a> {
    tree: &'a dyn Tree,
    dir: &'a Path,
    names: Vec<String>,
    package: OnceCell<Value>,
}

impl<'a> Level<'a> {
    fn at(tree: &'a dyn Tree, dir: &'a Path) -> Option<Self> {
        Some(Self { tree, dir, names: tree.names(dir)?, package: OnceCell::new() })
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn starting(&self, start: &str) -> Option<&String> {
        self.names.iter().find(|name| name.starts_with(start))
    }

    fn text(&self, name: &str) -> String {
        if self.has(name) { self.tree.text(&self.dir.join(name)).unwrap_or_default() } else { String::new() }
    }

    fn package(&self) -> &Value {
        self.package.get_or_init(|| serde_json::from_str(&self.text("package.json")).unwrap_or_default())
    }

    /// What `package.json` says of a package that is also a program.
    fn in_package(&self, name: &str) -> Sign {
        let package = self.package();
        let script =
            |text: &str| text.split(|next: char| !next.is_alphanumeric() && next != '-').any(|word| word == name);
        let scripts = package["scripts"].as_object();
        if package["scripts"]["test"].as_str().is_some_and(script) {
            return Some((Weight::Script, format!("the test script of package.json runs {name}")));
        }
        let depends = ["devDependencies", "dependencies", "peerDependencies", "optionalDependencies"]
            .iter()
            .any(|kind| package[kind].get(name).is_some());
        if depends {
            return Some((Weight::Named, format!("{name} is a dependency in package.json")));
        }
        let called = scripts.is_some_and(|scripts| scripts.values().filter_map(Value::as_str).any(script));
        called.then(|| (Weight::Named, format!("a script of package.json runs {name}")))
    }

    /// A file that is there.
    fn named(&self, name: &str) -> Sign {
        self.has(name).then(|| (Weight::Named, name.to_owned()))
    }

    /// A configuration whose name begins so.
    fn configured(&self, start: &str) -> Sign {
        self.starting(start).map(|name| (Weight::Named, name.clone()))
    }

    /// A section of a file.
    fn section(&self, file: &str, section: &str) -> Sign {
        let text = self.text(file);
        let found = text.lines().any(|line| line.trim_start().starts_with(section));
        found.then(|| (Weight::Named, format!("{file} has {}", section.trim_matches(['[', ']']))))
    }

    /// Whether the directory is that of a Python project.
    fn is_python(&self) -> bool {
        ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"].iter().any(|name| self.has(name))
    }
}

fn test_sign(level: &Level<'_>, runner: TestRunner) -> Sign {
    match runner {
        TestRunner::Vitest => stronger(
            level.in_package("vitest"),
            level.configured("vitest.config.").or_else(|| level.configured("vitest.workspace.")),
        )
        .or_else(|| imported(level, "vitest")),
        TestRunner::Jest => stronger(level.in_package("jest"), level.configured("jest.config.")).or_else(|| {
            level.package().get("jest").is_some().then(|| (Weight::Named, "jest in package.json".to_owned()))
        }),
        TestRunner::CargoTest => level.named("Cargo.toml"),
        TestRunner::Go => level.named("go.mod").or_else(|| level.named("go.work")),
        TestRunner::Pytest => level
            .named("pytest.ini")
            .or_else(|| level.section("pyproject.toml", "[tool.pytest"))
            .or_else(|| level.section("setup.cfg", "[tool:pytest]"))
            .or_else(|| level.section("tox.ini", "[pytest]"))
            .or_else(|| habits_of_python(level)),
        TestRunner::Junit | TestRunner::Nextest => None,
    }
}

/// A package that is installed here as a program, and that a test imports: nothing else need say that it is used.
fn imported(level: &Level<'_>, package: &str) -> Sign {
    let installed = level.tree.names(&level.dir.join("node_modules/.bin"))?;
    let is_test = |name: &str| {
        language(name) == Some(Language::JavaScript) && (name.contains(".test.") || name.contains(".spec."))
    };
    let imports = |file: &String| {
        let text = level.tree.text(&level.dir.join(file)).unwrap_or_default();
        ['\'', '"'].iter().any(|quote| text.contains(&format!("{quote}{package}{quote}")))
    };
    if !installed.iter().any(|name| name == package) {
        return None;
    }
    let tests = open_below(level.tree, level.dir, LEVELS_BELOW).into_iter().filter(|file| is_test(file));
    let test = tests.take(LOOKED_AT).find(imports)?;
    Some((Weight::Named, format!("{test} imports {package}, which is in node_modules")))
}

/// What lies in a directory and so many levels below it, by its path from there, but for what is not looked into.
fn open_below(tree: &dyn Tree, dir: &Path, levels: usize) -> Vec<String> {
    let mut found = inside("", tree.names(dir).unwrap_or_default());
    let (mut from, mut looks) = (0, LOOKED_AT);
    for _ in 0..levels {
        let dirs = from..found.len();
        from = found.len();
        for index in dirs.take(looks) {
            looks -= 1;
            if let Some(names) = tree.names(&dir.join(&found[index])) {
                let below = inside(&found[index], names);
                found.extend(below);
            }
        }
    }
    found
}

/// The names of a directory that are looked into, each with the directory before it.
fn inside(dir: &str, names: Vec<String>) -> Vec<String> {
    let is_open = |name: &String| !name.starts_with('.') && !CLOSED.contains(&name.as_str());
    let names = names.into_iter().filter(is_open);
    if dir.is_empty() { names.collect() } else { names.map(|name| format!("{dir}/{name}")).collect() }
}

/// Where Python has its tests.
const TEST_DIRS: [&str; 2] = ["tests", "test"];

fn habits_of_python(level: &Level<'_>) -> Sign {
    let is_test = |name: &String| {
        let python = name.strip_suffix(".py");
        python.is_some_and(|name| name.starts_with("test_") || name.ends_with("_test") || name == "conftest")
    };
    if let Some(name) = level.names.iter().find(|name| is_test(name)) {
        return Some((Weight::Habit, name.clone()));
    }
    let holds = |dir: &str| level.tree.names(&level.dir.join(dir)).is_some_and(|names| names.iter().any(is_test));
    let mut usual = TEST_DIRS.iter().filter(|dir| level.has(dir)).map(|dir| (*dir).to_owned());
    if let Some(dir) = usual.find(|dir| holds(dir)) {
        let weight = if level.is_python() { Weight::Named } else { Weight::Habit };
        return Some((weight, format!("{dir}/ holds tests of Python")));
    }
    if !level.is_python() {
        return None;
    }
    // Tests that lie in the package itself, as those of NumPy.
    let packages = level.names.iter().filter(|name| !name.contains('.') && *name != "node_modules").take(LOOKED_AT);
    let mut inside = packages.flat_map(|package| TEST_DIRS.map(|dir| format!("{package}/{dir}")));
    inside.find(|dir| holds(dir)).map(|dir| (Weight::Named, format!("{dir}/ holds tests of Python")))
}

fn check_sign(level: &Level<'_>, checker: Checker) -> Sign {
    match checker {
        Checker::Tsc => level.named("tsconfig.json"),
        Checker::CargoCheck => level.named("Cargo.toml"),
        Checker::GoVet => level.named("go.mod"),
        Checker::Mypy => level
            .named("mypy.ini")
            .or_else(|| level.named(".mypy.ini"))
            .or_else(|| level.section("pyproject.toml", "[tool.mypy"))
            .or_else(|| level.section("setup.cfg", "[mypy"))
            .or_else(|| level.is_python().then(|| (Weight::Habit, "a Python project".to_owned()))),
        Checker::Pyright => {
            level.named("pyrightconfig.json").or_else(|| level.section("pyproject.toml", "[tool.pyright"))
        }
    }
}

/// The one that is worth more; the second only if it is.
fn stronger(first: Sign, second: Sign) -> Sign {
    match (&first, &second) {
        (Some((one, _)), Some((other, _))) if other > one => second,
        (Some(_), _) => first,
        (None, _) => second,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;

    use super::*;

    /// Files by their paths; `/w` is the allowed directory.
    struct Files(BTreeMap<PathBuf, &'static str>);

    impl Tree for Files {
        fn names(&self, dir: &Path) -> Option<Vec<String>> {
            if !dir.starts_with("/w") {
                return None;
            }
            let below = self.0.keys().filter_map(|file| file.strip_prefix(dir).ok()?.iter().next()?.to_str());
            let mut names: Vec<String> = below.map(str::to_owned).collect();
            names.dedup();
            (!names.is_empty() || dir == Path::new("/w")).then_some(names)
        }

        fn text(&self, file: &Path) -> Option<String> {
            self.0.get(file).map(|text| (*text).to_owned())
        }
    }

    fn tree(files: &[(&'static str, &'static str)]) -> Files {
        Files(files.iter().map(|(path, text)| (PathBuf::from(path), *text)).collect())
    }

    fn said(files: &[(&'static str, &'static str)], cwd: &str) -> Vec<String> {
        let found = runners(&tree(files), Path::new(cwd));
        found.iter().map(|found| format!("{} in {}: {}", found.what.name(), found.dir.display(), found.why)).collect()
    }

    #[test]
    fn the_nearest_project_comes_first() {
        let files = [
            ("/w/package.json", r#"{"devDependencies": {"vitest": "^3"}}"#),
            ("/w/packages/a/package.json", r#"{"name": "a"}"#),
            ("/w/packages/a/src/x.ts", ""),
            ("/w/packages/b/package.json", r#"{"devDependencies": {"jest": "30"}}"#),
            ("/w/tools/pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("/w/tools/tests/conftest.py", ""),
        ];
        assert_eq!(said(&files, "/w/packages/a"), ["vitest in /w: vitest is a dependency in package.json"]);
        assert_eq!(
            said(&files, "/w/packages/b"),
            [
                "jest in /w/packages/b: jest is a dependency in package.json",
                "vitest in /w: vitest is a dependency in package.json"
            ]
        );
        // What names pytest is worth more than a conftest.py below it.
        assert_eq!(
            said(&files, "/w/tools/tests"),
            [
                "pytest in /w/tools: pyproject.toml has tool.pytest",
                "vitest in /w: vitest is a dependency in package.json"
            ]
        );
        let [jest, pytest] = [TestRunner::Jest, TestRunner::Pytest].map(|runner| vec![runner]);
        assert_eq!(
            runners_below(&tree(&files), Path::new("/w")),
            [("tools".to_owned(), pytest), ("packages/b".to_owned(), jest.clone())]
        );
        assert_eq!(runners_below(&tree(&files), Path::new("/w/packages")), [("b".to_owned(), jest)]);
        assert_eq!(checkers_below(&tree(&files), Path::new("/w")), [("tools".to_owned(), vec![Checker::Mypy])]);
    }

    #[test]
    fn in_one_place_the_test_script_decides() {
        let both = |script| {
            let text: String =
                format!(r#"{{"scripts": {{"test": "{script}"}}, "devDependencies": {{"vitest": "3", "jest": "30"}}}}"#);
            let text: &'static str = text.leak();
            runners(&tree(&[("/w/package.json", text), ("/w/Cargo.toml", "")]), Path::new("/w"))
                .into_iter()
                .map(|found| found.what)
                .collect::<Vec<_>>()
        };
        let [vitest, jest, cargo] = [TestRunner::Vitest, TestRunner::Jest, TestRunner::CargoTest];
        assert_eq!(both("tsc && jest --ci"), [jest, vitest, cargo]);
        assert_eq!(both("vitest run"), [vitest, jest, cargo]);
        assert_eq!(both("make jester"), [vitest, jest, cargo]);
    }

    #[test]
    fn a_project_of_python_needs_no_configuration() {
        let files = [("/w/setup.py", ""), ("/w/tests/test_a.py", ""), ("/w/Cargo.toml", "[package]")];
        let expected = ["cargo in /w: Cargo.toml", "pytest in /w: tests/ holds tests of Python"];
        assert_eq!(said(&files, "/w"), expected);
        assert_eq!(said(&[("/w/notes.txt", "")], "/w"), [""; 0]);
        let inside = [("/w/setup.py", ""), ("/w/toolz/tests/test_a.py", "")];
        assert_eq!(said(&inside, "/w"), ["pytest in /w: toolz/tests/ holds tests of Python"]);
        assert_eq!(said(&inside[1..], "/w"), [""; 0]);
        let checks = checkers(&tree(&files), Path::new("/w/tests"));
        let checks: Vec<_> = checks.iter().map(|found| (found.what, found.why.as_str())).collect();
        assert_eq!(checks, [(Checker::CargoCheck, "Cargo.toml"), (Checker::Mypy, "a Python project")]);
    }

    #[test]
    fn a_test_script_is_told() {
        let script = |text| test_script(&tree(&[("/w/package.json", text)]), Path::new("/w"));
        assert_eq!(script(r#"{"scripts": {"test": "mocha -r x"}}"#).as_deref(), Some("mocha -r x"));
        assert_eq!(script(r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#), None);
        assert_eq!(script("{}"), None);
    }

    #[test]
    fn files_say_their_language() {
        assert!(suits_runner(TestRunner::Vitest, "a/b.test.tsx") && !suits_runner(TestRunner::Vitest, "a.py"));
        assert!(suits_runner(TestRunner::Pytest, "tests") && suits_checker(Checker::GoVet, "x/y.go"));
        assert!(!suits_checker(Checker::Tsc, "src/main.rs"));
    }
}
