//! Projects of Python: their signs, and virtual environments.

use std::path::Path;

use super::disk::{AllowedDisk, ProjectTree};
use super::language::Language;
use super::signs::{LOOKED_AT, ProjectLevel, Sign, SignWeight};

/// Where a project has its virtual environment.
const VENVS: [&str; 3] = [".venv", "venv", "env"];

/// Where Python has its tests.
const TEST_DIRS: [&str; 2] = ["tests", "test"];

/// Whether the directory is that of a Python project.
pub fn is_project(level: &ProjectLevel<'_>) -> bool {
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

/// Files and directories of tests, as pytest finds them without being told.
pub fn habits(level: &ProjectLevel<'_>) -> Sign {
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
        let weight = if is_project(level) {
            SignWeight::Named
        } else {
            SignWeight::Habit
        };
        return Some((weight, format!("{dir}/ holds tests of Python")));
    }
    if !is_project(level) {
        return None;
    }
    // Tests that lie in the package itself, as those of NumPy.
    let packages = level
        .names
        .iter()
        .filter(|name| !name.contains('.') && *name != "node_modules")
        .take(LOOKED_AT);
    let mut inside = packages.flat_map(|package| TEST_DIRS.map(|dir| format!("{package}/{dir}")));
    inside
        .find(|dir| holds(dir))
        .map(|dir| (SignWeight::Named, format!("{dir}/ holds tests of Python")))
}

/// The Python of the nearest virtual environment; `None` where there is none.
pub fn interpreter(disk: AllowedDisk<'_>, from: &Path) -> Option<String> {
    for dir in disk.upwards(from) {
        for venv in VENVS {
            let bin = dir.join(venv).join("bin");
            // It is a link, as a rule to outside: only its name is looked at.
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

/// Whether a program is installed in the virtual environment of a directory itself.
pub fn is_installed(disk: AllowedDisk<'_>, dir: &Path, program: &str) -> bool {
    let names = |venv: &str| disk.names(&dir.join(venv).join("bin")).unwrap_or_default();
    VENVS
        .iter()
        .any(|venv| names(venv).iter().any(|name| name == program))
}

/// The words that a module is run with.
pub fn module(disk: AllowedDisk<'_>, from: &Path, module: &str) -> Vec<String> {
    let python = interpreter(disk, from);
    [python.as_deref().unwrap_or("python3"), "-m", module]
        .map(str::to_owned)
        .to_vec()
}

/// A comment `# type: ignore` in a line before all code, which is for the whole file.
pub fn top_ignore(text: &str) -> Option<String> {
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
        // With names of errors it is for its own line alone.
        matches!(rest, Some(Some(rest)) if rest.is_empty() || rest.starts_with([' ', '\t', '#']))
    };
    comments
        .any(is_ignore)
        .then(|| "it begins with `# type: ignore`".to_owned())
}
