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

/// The script that makes the environment, if it is not there yet, and installs into it. With `offline` nothing is looked
/// for on a network. The packages are names or absolute paths, as pip takes them.
pub fn script(python: &str, environment: &Path, packages: &[String], offline: bool) -> String {
    let (python, environment) = (quoted(python), quoted(&environment.display().to_string()));
    let mut script = format!(
        "own={environment}\n\
         [ -x \"$own/bin/python\" ] || {python} -m venv --without-pip --system-site-packages \"$own\" || exit {NO_ENVIRONMENT}\n\
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

/// Whether a package is a path, and not a name to be looked for: pip takes both.
pub fn is_path(package: &str) -> bool {
    let is_archive = [".whl", ".tar.gz", ".zip"].iter().any(|end| package.ends_with(end));
    package.starts_with(['.', '/']) || !package.contains([':', '@']) && (is_archive || package.contains('/'))
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
        assert!(script.contains(" --no-index --no-build-isolation -- 'a b' '$(x)' || exit $?\n"), "{script}");
        assert!(script.starts_with("own='/tmp/it'\\''s'\n"), "{script}");
    }

    #[test]
    fn the_place_is_the_last_line() {
        assert_eq!(found("did it\nreplay-packages /e/lib\n"), (Some("/e/lib"), "did it"));
        assert_eq!(found("replay-packages /e/lib"), (Some("/e/lib"), ""));
        assert_eq!(found("failed\n"), (None, "failed"));
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
