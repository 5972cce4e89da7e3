//! Installing packages: into an environment of the session's own, outside the allowed directories. Pure, but for the shell
//! that runs what is written here.

use std::fmt::Write as _;
use std::path::Path;

/// What the last line begins with, before the directory that modules were put into.
const FOUND: &str = "replay-packages ";
/// How the script ends when no environment can be made, and when there is no pip.
pub const NO_ENVIRONMENT: i32 = 90;
/// See [`NO_ENVIRONMENT`].
pub const NO_PIP: i32 = 91;
/// How the script ends when something would have to be fetched, and there is no network.
pub const NOT_THERE: i32 = 92;
/// How the script ends when all is there already.
pub const ALL_THERE: i32 = 93;

/// Says which of the named packages are there, and ends with 1 when one is not, or not in the version that is wanted. Of
/// extras it cannot tell.
const LOOK: &str = r#"
import re, sys
from importlib.metadata import version
for wanted in sys.argv[1:]:
    match = re.match(r"([A-Za-z0-9._-]+)\s*([<>=!~].*)?$", wanted)
    if not match:
        sys.exit(1)
    name, versions = match.groups()
    try:
        there = version(name)
        if versions and versions != "==" + there:
            from pip._vendor.packaging.specifiers import SpecifierSet
            if not SpecifierSet(versions).contains(there, prereleases=True):
                sys.exit(1)
    except Exception:
        sys.exit(1)
    print(name, there, "is there already")
"#;

/// The script that makes the environment, if it is not there yet, and installs into it. With `offline` nothing is looked
/// for on a network. The packages are names or absolute paths, as pip takes them. Names that are there already cost nothing.
pub fn script(python: &str, environment: &Path, packages: &[String], offline: bool) -> String {
    let (python, environment) = (quoted(python), quoted(&environment.display().to_string()));
    let names: String =
        packages.iter().filter(|one| !is_path(one)).fold(String::new(), |all, one| all + " " + &quoted(one));
    let mut script = format!("own={environment}\n");
    if !names.is_empty() {
        let all_there = if packages.iter().any(|one| is_path(one)) { ":" } else { &format!("exit {ALL_THERE}") };
        let not_there = if offline { &format!("exit {NOT_THERE}") } else { ":" };
        // Writing to a String cannot fail.
        let _ = write!(
            script,
            "python={python}\n[ -x \"$own/bin/python\" ] && python=$own/bin/python\n\
             \"$python\" -c {}{names} 2>/dev/null\ncase $? in 0) {all_there};; 1) {not_there};; esac\n",
            quoted(LOOK)
        );
    }
    let _ = write!(
        script,
        "[ -x \"$own/bin/python\" ] || {python} -m venv --without-pip --system-site-packages \"$own\" || exit {NO_ENVIRONMENT}\n\
         \"$own/bin/python\" -m pip --version >/dev/null 2>&1 || \"$own/bin/python\" -m ensurepip >/dev/null 2>&1 || exit {NO_PIP}\n\
         \"$own/bin/python\" -m pip install --no-input --no-color --disable-pip-version-check --progress-bar off"
    );
    if offline {
        script.push_str(" --no-index --no-build-isolation");
    }
    script.push_str(" --");
    for package in packages {
        // Writing to a String cannot fail.
        let _ = write!(script, " {}", quoted(package));
    }
    let _ = write!(
        script,
        " || exit $?\n\"$own/bin/python\" -c 'import sysconfig; print(\"{FOUND}\" + sysconfig.get_path(\"purelib\"))'"
    );
    script
}

/// The directory that modules were put into, and the output without the line that said so.
pub fn found(output: &str) -> (Option<&str>, &str) {
    let trimmed = output.trim_end();
    let (before, last) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
    match last.strip_prefix(FOUND) {
        Some(directory) => (Some(directory), before),
        None => (None, trimmed),
    }
}

/// Whether pip said that a source tree cannot be built with what is there: without a network nothing is fetched for that.
/// Before version 70.1 setuptools makes wheels only where `wheel` is installed.
pub fn lacks_builder(said: &str) -> bool {
    ["invalid command 'bdist_wheel'", "BackendUnavailable", "Cannot import 'setuptools"]
        .iter()
        .any(|words| said.contains(words))
}

/// Whether a package is a path, and not a name to be looked for: pip takes both.
pub fn is_path(package: &str) -> bool {
    let is_archive = [".whl", ".tar.gz", ".zip"].iter().any(|end| package.ends_with(end));
    package.starts_with(['.', '/']) || !package.contains([':', '@']) && (is_archive || package.contains('/'))
}

/// Whether a package, as it was asked for, has a module of this name by its own name; a wheel by that of its file.
pub(super) fn names_module(package: &str, module: &str) -> bool {
    let file = if is_path(package) { package.rsplit('/').next().unwrap_or(package) } else { package };
    let own = file.split(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).next().unwrap_or(file);
    let own = if is_path(package) { own.split('-').next().unwrap_or(own) } else { own };
    let plain = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
    plain(own) == plain(module)
}

/// A word of a shell that means this text (sh(1), single quotes).
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_package_is_read_by_the_shell() {
        assert_eq!(quoted("a'; rm -rf \"$HOME\"\n"), "'a'\\''; rm -rf \"$HOME\"\n'");
        let script = script("python3", Path::new("/tmp/it's"), &["a b".into(), "$(x)".into()], true);
        assert!(
            script.contains("\n' 'a b' '$(x)' 2>/dev/null\ncase $? in 0) exit 93;; 1) exit 92;; esac\n"),
            "{script}"
        );
        assert!(script.contains(" --no-index --no-build-isolation -- 'a b' '$(x)' || exit $?\n"), "{script}");
        assert!(script.starts_with("own='/tmp/it'\\''s'\n"), "{script}");
    }

    #[test]
    fn what_a_source_tree_needs_is_told_from_other_failures() {
        assert!(lacks_builder("      error: invalid command 'bdist_wheel'\n"));
        assert!(lacks_builder(
            "pip._vendor.pyproject_hooks._impl.BackendUnavailable: Cannot import 'setuptools.build_meta'"
        ));
        assert!(!lacks_builder("ERROR: No matching distribution found for numpy"));
    }

    #[test]
    fn the_place_is_the_last_line() {
        assert_eq!(found("did it\nreplay-packages /e/lib\n"), (Some("/e/lib"), "did it"));
        assert_eq!(found("replay-packages /e/lib"), (Some("/e/lib"), ""));
        assert_eq!(found("failed\n"), (None, "failed"));
    }

    #[test]
    fn only_names_are_looked_for_and_fetched_where_there_is_a_network() {
        let mixed = script("python3", Path::new("/e"), &["/w/a.whl".into(), "b".into()], false);
        assert!(mixed.contains("\n' 'b' 2>/dev/null\ncase $? in 0) :;; 1) :;; esac\n"), "{mixed}");
        let wheel = script("python3", Path::new("/e"), &["/w/a.whl".into()], true);
        assert!(wheel.starts_with("own='/e'\n[ -x \"$own/bin/python\" ] || 'python3' -m venv "), "{wheel}");
    }

    #[test]
    fn a_package_is_known_by_its_modules_name() {
        for package in
            ["tiny", "Tiny==1.0", "tiny[x]>=2", "/w/dist/tiny-1.0-py3-none-any.whl", "./tiny", "tiny @ https://h/t"]
        {
            assert!(names_module(package, "tiny"), "{package}");
        }
        assert!(names_module("typing-extensions>4", "typing_extensions"));
        assert!(!names_module("tiny-er", "tiny"));
    }

    #[test]
    fn paths_are_told_from_names() {
        for path in ["./a", "../a", "/a", "dist/a-1.whl", "a-1.0-py3-none-any.whl", "a.tar.gz", "src/a"] {
            assert!(is_path(path), "{path}");
        }
        for name in ["requests", "requests>=2,<3", "a[extra]==1.0", "git+https://host/a/b", "a @ https://host/a.whl"] {
            assert!(!is_path(name), "{name}");
        }
    }
}
