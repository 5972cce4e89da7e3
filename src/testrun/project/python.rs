//! Python projects: their signs, and virtual environments.

use std::path::Path;

use super::disk::{AllowedDisk, ProjectTree};
use super::language::Language;
use super::signs::{MAX_EXAMINED_NAMES, ProjectLevel, Sign, SignWeight};

/// Directories of virtual environments.
const VENVS: [&str; 3] = [".venv", "venv", "env"];

/// Test files that are read at most, to find their framework.
const MAX_READ_TESTS: usize = 20;

/// Directories of tests.
const TEST_DIRS: [&str; 2] = ["tests", "test"];

/// Returns true if the directory is a Python project.
pub(crate) fn is_project(level: &ProjectLevel<'_>) -> bool {
    [
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "Pipfile",
    ]
    .iter()
    .any(|name| level.has(name))
}

/// Returns the sign of test files and directories with pytest's default names.
pub(crate) fn default_test_sign(level: &ProjectLevel<'_>) -> Sign {
    let is_test =
        |name: &String| Language::Python.is_test_name(name.as_ref()) || name == "conftest.py";
    if let Some(name) = level.names.iter().find(|name| is_test(name)) {
        return Some((SignWeight::Habit, name.clone()));
    }
    let holds = |dir: &str| {
        level
            .tree
            .names(&level.dir.join(dir))
            .is_some_and(|names| names.iter().any(is_test))
    };
    let mut usual = TEST_DIRS
        .iter()
        .filter(|dir| level.has(dir))
        .map(|dir| (*dir).to_owned());
    if let Some(dir) = usual.find(|dir| holds(dir)) {
        return Some((
            weight(is_project(level)),
            format!("{dir}/ holds tests of Python"),
        ));
    }
    if !is_project(level) {
        return None;
    }
    // Tests inside the package itself, as in NumPy.
    let packages = level
        .names
        .iter()
        .filter(|name| !name.contains('.') && *name != "node_modules")
        .take(MAX_EXAMINED_NAMES);
    let mut inside = packages.flat_map(|package| TEST_DIRS.map(|dir| format!("{package}/{dir}")));
    inside
        .find(|dir| holds(dir))
        .map(|dir| (SignWeight::Named, format!("{dir}/ holds tests of Python")))
}

fn weight(is_named: bool) -> SignWeight {
    if is_named {
        SignWeight::Named
    } else {
        SignWeight::Habit
    }
}

/// Returns the sign of tests that use unittest's classes, and nothing of pytest.
pub(crate) fn unittest_sign(level: &ProjectLevel<'_>) -> Sign {
    let is_test =
        |name: &str| name.starts_with("test") && Language::of(name) == Some(Language::Python);
    let own = level.names.iter().filter(|name| is_test(name)).cloned();
    let dirs = level.names.iter().filter(|name| !name.contains('.'));
    let dirs =
        dirs.take(MAX_EXAMINED_NAMES)
            .flat_map(|name| match TEST_DIRS.contains(&name.as_str()) {
                true => vec![name.clone()],
                false if !is_project(level) => Vec::new(),
                false => TEST_DIRS.map(|dir| format!("{name}/{dir}")).to_vec(),
            });
    let inner = dirs.flat_map(|dir| {
        let names = level.tree.names(&level.dir.join(&dir)).unwrap_or_default();
        names
            .into_iter()
            .filter(|name| is_test(name))
            .map(move |name| format!("{dir}/{name}"))
            .collect::<Vec<_>>()
    });
    let mut found = None;
    for file in own.chain(inner).take(MAX_READ_TESTS) {
        let text = level.tree.text(&level.dir.join(&file)).unwrap_or_default();
        let mut imports = text.lines().map(str::trim_start);
        if imports.any(|line| line.starts_with("import pytest") || line.starts_with("from pytest"))
        {
            return None;
        }
        if found.is_none()
            && ["TestCase", "load_tests"]
                .iter()
                .any(|word| text.contains(word))
        {
            found = Some(file);
        }
    }
    let file = found?;
    let is_named = file.contains('/') && is_project(level);
    Some((weight(is_named), format!("{file} uses unittest")))
}

/// Returns the Python of the nearest virtual environment; `None` if there is none.
pub(crate) fn interpreter(disk: AllowedDisk<'_>, from: &Path) -> Option<String> {
    for dir in disk.upwards(from) {
        for venv in VENVS {
            let bin = dir.join(venv).join("bin");
            // It is a symlink, usually to outside: only its name is checked.
            if disk
                .names(&bin)
                .is_some_and(|names| names.iter().any(|name| name == "python"))
            {
                return Some(bin.join("python").to_str()?.to_owned());
            }
        }
    }
    None
}

/// Returns true if a program is installed in a directory's own virtual environment.
pub(crate) fn is_installed(disk: AllowedDisk<'_>, dir: &Path, program: &str) -> bool {
    let names = |venv: &str| disk.names(&dir.join(venv).join("bin")).unwrap_or_default();
    VENVS
        .iter()
        .any(|venv| names(venv).iter().any(|name| name == program))
}

/// Returns the command that runs a module.
pub(crate) fn module(disk: AllowedDisk<'_>, from: &Path, module: &str) -> Vec<String> {
    let python = interpreter(disk, from);
    [python.as_deref().unwrap_or("python3"), "-m", module]
        .map(str::to_owned)
        .to_vec()
}

/// Returns a comment `# type: ignore` before all code, which applies to the whole file.
pub(crate) fn type_ignore_comment(text: &str) -> Option<String> {
    let mut top = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let comment = top
        .by_ref()
        .take_while(|line| line.is_empty() || line.starts_with('#'));
    let mut comments = comment.filter_map(|line| line.strip_prefix('#'));
    let is_ignore = |comment: &str| {
        let rest = comment
            .trim_start()
            .strip_prefix("type:")
            .map(|rest| rest.trim_start().strip_prefix("ignore"));
        // With error codes it applies to its own line alone.
        matches!(rest, Some(Some(rest)) if rest.is_empty() || rest.starts_with([' ', '\t', '#']))
    };
    comments
        .any(is_ignore)
        .then(|| "the file begins with `# type: ignore`".to_owned())
}
