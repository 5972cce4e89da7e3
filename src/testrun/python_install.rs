//! Installation of a Python module as the metadata of a project asks for it.

use std::path::Path;

use serde_json::{Map, Value};

use super::command::quoted;
use super::project::disk::ProjectTree;

/// Returns the command that installs what the project's metadata lists together with a package.
/// `pip` runs pip for the project's interpreter; `finds` returns true for a program that commands
/// find. Returns `None` if nothing lists the package.
pub(crate) fn command(
    tree: &dyn ProjectTree,
    dir: &Path,
    package: &str,
    (pip, finds): (&str, &dyn Fn(&str) -> bool),
) -> Option<String> {
    let text = tree.text(&dir.join("pyproject.toml")).unwrap_or_default();
    let project: Map<String, Value> = toml_edit::de::from_str(&text).unwrap_or_default();
    let names = tree.names(dir).unwrap_or_default();
    let has = |name: &str| names.iter().any(|known| known == name);
    let is_installable = project.contains_key("project") || has("setup.py");
    let own = if is_installable { " -e ." } else { "" };
    let with_uv = has("uv.lock") && finds("uv");

    // PEP 735.
    let groups = at(&project, &["dependency-groups"]);
    if let Some(group) = first_with(groups, |list| lists(list, package)) {
        let group = quoted(group);
        return Some(if with_uv {
            format!("uv sync --group {group}")
        } else {
            format!("{pip} install{own} --group {group}")
        });
    }
    let extras = at(&project, &["project", "optional-dependencies"]);
    if let Some(extra) = first_with(extras, |list| lists(list, package)) {
        return Some(if with_uv {
            format!("uv sync --extra {}", quoted(extra))
        } else {
            format!("{pip} install -e {}", quoted(&format!(".[{extra}]")))
        });
    }
    let groups = at(&project, &["tool", "poetry", "group"]);
    let has_key = |group: &Value| {
        let dependencies = group.get("dependencies").and_then(Value::as_object);
        dependencies.is_some_and(|all| all.keys().any(|name| is_named(name, package)))
    };
    if let Some(group) = first_with(groups, has_key).filter(|_| finds("poetry")) {
        return Some(format!("poetry install --with {}", quoted(group)));
    }
    let own_list = project
        .get("project")
        .and_then(|own| own.get("dependencies"));
    if own_list.is_some_and(|list| lists(list, package)) {
        return Some(if with_uv {
            "uv sync".to_owned()
        } else {
            format!("{pip} install -e .")
        });
    }
    let file = requirements_file(tree, dir, &names, package)?;
    Some(format!("{pip} install -r {}", quoted(&file)))
}

/// Returns the command that runs pip for a virtual environment; `finds` as in [`command`]. One of uv
/// has no pip of its own (`uv venv --seed` adds it).
pub(crate) fn pip(tree: &dyn ProjectTree, venv: &str, finds: &dyn Fn(&str) -> bool) -> String {
    let place = Path::new(venv);
    let programs = tree.names(&place.join("bin")).unwrap_or_default();
    let settings = tree.text(&place.join("pyvenv.cfg")).unwrap_or_default();
    let is_of_uv = settings.lines().any(|line| line.starts_with("uv = "));
    let venv = quoted(venv);
    if !is_of_uv || programs.iter().any(|name| name == "pip") {
        format!("{venv}/bin/pip")
    } else if finds("uv") {
        format!("VIRTUAL_ENV={venv} uv pip")
    } else {
        format!("{venv}/bin/python -m ensurepip && {venv}/bin/python -m pip")
    }
}

fn at<'t>(table: &'t Map<String, Value>, path: &[&str]) -> Option<&'t Map<String, Value>> {
    path.iter()
        .try_fold(table, |table, key| table.get(*key)?.as_object())
}

/// Returns the first key whose value meets a condition.
fn first_with(table: Option<&Map<String, Value>>, is_it: impl Fn(&Value) -> bool) -> Option<&str> {
    let mut all = table?.iter();
    all.find(|(_, value)| is_it(value)).map(|(name, _)| &**name)
}

/// Returns true if a list of requirements (PEP 508) names a package.
fn lists(requirements: &Value, package: &str) -> bool {
    let all = requirements.as_array().into_iter().flatten();
    all.filter_map(Value::as_str)
        .any(|requirement| is_named(requirement, package))
}

/// Returns true if a requirement is about a package. Case, `-`, `_` and `.` make no difference
/// (PEP 503).
fn is_named(requirement: &str, package: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    let requirement = requirement.trim_start();
    let is_other = |next: char| !next.is_ascii_alphanumeric() && !"-_.".contains(next);
    let name = requirement.split(is_other).next().unwrap_or_default();
    plain(name) == plain(package)
}

/// Returns the file of requirements that names a package, relative to the project.
fn requirements_file(
    tree: &dyn ProjectTree,
    dir: &Path,
    names: &[String],
    package: &str,
) -> Option<String> {
    let is_text = |name: &&String| Path::new(name).extension().is_some_and(|end| end == "txt");
    let own = names
        .iter()
        .filter(is_text)
        .filter(|name| name.contains("requirements"));
    let inner = tree.names(&dir.join("requirements")).unwrap_or_default();
    let inner = inner
        .iter()
        .filter(is_text)
        .map(|name| format!("requirements/{name}"));
    let mut files: Vec<String> = own.cloned().chain(inner).collect();
    files.sort();
    files.into_iter().find(|file| {
        let text = tree.text(&dir.join(file)).unwrap_or_default();
        text.lines().any(|line| is_named(line, package))
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::project::disk::tests::tree;

    fn installed(files: &[(&'static str, &'static str)], package: &str) -> Option<String> {
        command(&tree(files), "/w".as_ref(), package, ("pip", &|_| true))
    }

    #[test]
    fn pyproject_names_installed_group() {
        let of = |text| installed(&[("/w/pyproject.toml", text)], "pytest");
        let cases = [
            (
                "[project]\n[dependency-groups]\nlint = ['ruff']\ntests = ['PyTest>=7']\n",
                "pip install -e . --group tests",
            ),
            (
                "[dependency-groups]\ndev = ['pytest']\n",
                "pip install --group dev",
            ),
            (
                "[project]\n[project.optional-dependencies]\ntest = ['pytest[x]; python_version>\"3\"']\n",
                "pip install -e '.[test]'",
            ),
            (
                "[tool.poetry.group.test.dependencies]\npytest = '^8'\n",
                "poetry install --with test",
            ),
            ("[project]\ndependencies = ['pytest']\n", "pip install -e ."),
        ];
        for (text, expected) in cases {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(of("[project]\ndependencies = ['pytest-cov']\n"), None);
        assert_eq!(of("[project\n"), None);
    }

    #[test]
    fn uv_installs_groups_of_its_projects() {
        let text = "[project]\n[dependency-groups]\ndev = ['pytest']\n";
        let files = [("/w/pyproject.toml", text), ("/w/uv.lock", "")];
        assert_eq!(
            installed(&files, "pytest").as_deref(),
            Some("uv sync --group dev")
        );
        let without = command(&tree(&files), "/w".as_ref(), "pytest", ("pip", &|_| false));
        assert_eq!(without.as_deref(), Some("pip install -e . --group dev"));
    }

    #[test]
    fn environment_of_uv_has_pip_of_uv() {
        let pip = |files: &[(&'static str, &'static str)], has_uv| {
            super::pip(&tree(files), "/w/.venv", &|_| has_uv)
        };
        let of_uv = ("/w/.venv/pyvenv.cfg", "home = /usr/bin\nuv = 0.5.1\n");
        let seeded = [of_uv, ("/w/.venv/bin/pip", "")];
        assert_eq!(pip(&[], true), "/w/.venv/bin/pip");
        assert_eq!(pip(&seeded, true), "/w/.venv/bin/pip");
        assert_eq!(pip(&[of_uv], true), "VIRTUAL_ENV=/w/.venv uv pip");
        assert_eq!(
            pip(&[of_uv], false),
            "/w/.venv/bin/python -m ensurepip && /w/.venv/bin/python -m pip"
        );
    }

    #[test]
    fn requirements_file_that_names_package_is_installed() {
        let files = [
            ("/w/requirements.txt", "flask\n"),
            ("/w/requirements/dev.txt", "-r base.txt\npytest_cov==1\n"),
        ];
        assert_eq!(
            installed(&files, "pytest-cov").as_deref(),
            Some("pip install -r requirements/dev.txt")
        );
        assert_eq!(installed(&files, "pytest"), None);
    }
}
