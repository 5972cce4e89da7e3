//! Package installation into an environment of the session, outside the allowed directories. This
//! module only writes the shell script and reads its output.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Longest excerpt of pip's error output in a reply, in bytes.
const MAX_INSTALL_SAID_BYTES: usize = 2048;

/// Prefix of the last output line, before the directory of the modules.
const DIRECTORY_PREFIX: &str = "replay-packages ";
/// Exit code of the script if no environment can be made.
pub const NO_ENVIRONMENT: i32 = 90;
/// Exit code of the script if pip is missing.
pub const NO_PIP: i32 = 91;
/// Exit code of the script if a download is needed and there is no network.
pub const NOT_THERE: i32 = 92;
/// Exit code of the script if all packages are installed already.
pub const ALL_THERE: i32 = 93;

/// Reports which of the named packages are installed. Exits with 1 if one is missing or has another
/// version than requested. Cannot check extras.
const CHECK_SCRIPT: &str = r#"
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

/// Prefix of an output line with a module that cannot be imported, and the error.
const UNIMPORTABLE_PREFIX: &str = "replay-cannot-import ";

/// Imports the modules of the named packages. Reports those that fail.
const IMPORT_SCRIPT: &str = r#"
import os, re, sys
from importlib import import_module
from importlib.metadata import distribution
out, sys.stdout = sys.stdout, open(os.devnull, "w")
for wanted in sys.argv[1:]:
    if wanted.endswith(".whl"):
        wanted = os.path.basename(wanted).split("-")[0]
    try:
        found = distribution(re.match(r"[A-Za-z0-9._-]*", wanted).group())
        listed = (found.read_text("top_level.txt") or "").split()
        files = [str(file) for file in found.files or [] if str(file).endswith((".py", ".so"))]
    except Exception:
        continue
    tops = listed or sorted({file.split("/")[0].split(".")[0] for file in files})
    for top in tops[:8]:
        if not top.isidentifier() or top.startswith("_") or top in ("test", "tests"):
            continue
        try:
            import_module(top)
        except BaseException as error:
            print("PREFIX" + top + ": " + type(error).__name__ + ": " + str(error).split("\n")[0], file=out)
"#;

/// Function that makes the environment. Inside a virtual environment `venv` gives the packages of its
/// base, which the session does not see; so the environment names the session's own directories.
const MAKE_OWN: &str = r#"make_own() {
    if PYTHON -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)'; then
        PYTHON -m venv --without-pip "$own" &&
        PYTHON -c 'import site; print(*site.getsitepackages(), sep=chr(10))' \
            > "$("$own/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/session.pth"
    else
        PYTHON -m venv --without-pip --system-site-packages "$own"
    fi
}
"#;

/// Returns the script that makes the environment, if missing, and installs into it. With `offline`
/// it uses no network. Packages are names or absolute paths, as for pip. Installed names are
/// skipped.
pub fn script(python: &str, environment: &Path, packages: &[String], offline: bool) -> String {
    let (python, environment) = (quoted(python), quoted(&environment.display().to_string()));
    let names: String = packages
        .iter()
        .filter(|one| !is_path(one))
        .fold(String::new(), |all, one| all + " " + &quoted(one));
    let all = packages
        .iter()
        .fold(String::new(), |all, one| all + " " + &quoted(one));
    let import = quoted(&IMPORT_SCRIPT.replace("PREFIX", UNIMPORTABLE_PREFIX));
    let mut script = format!(
        "own={environment}\n{}try_import() {{ \"$1\" -c {import}{all} 2>/dev/null; }}\n",
        MAKE_OWN.replace("PYTHON", &python)
    );
    if !names.is_empty() {
        let all_there = if packages.iter().any(|one| is_path(one)) {
            ":"
        } else {
            &format!("try_import \"$python\"; exit {ALL_THERE}")
        };
        let not_there = if offline {
            &format!("exit {NOT_THERE}")
        } else {
            ":"
        };
        // Writing to a String cannot fail.
        let _ = write!(
            script,
            "python={python}\n[ -x \"$own/bin/python\" ] && python=$own/bin/python\n\
             \"$python\" -c {}{names} 2>/dev/null\ncase $? in 0) {all_there};; 1) {not_there};; esac\n",
            quoted(CHECK_SCRIPT)
        );
    }
    let _ = write!(
        script,
        "[ -x \"$own/bin/python\" ] || {{ make_own; }} || exit {NO_ENVIRONMENT}\n\
         \"$own/bin/python\" -m pip --version >/dev/null 2>&1 || \"$own/bin/python\" -m ensurepip >/dev/null 2>&1 || exit {NO_PIP}\n\
         \"$own/bin/python\" -m pip install --no-input --no-color --disable-pip-version-check --progress-bar off"
    );
    if offline {
        script.push_str(" --no-index --no-build-isolation");
    }
    // Writing to a String cannot fail.
    let _ = write!(
        script,
        " --{all} || exit $?\ntry_import \"$own/bin/python\"\n\"$own/bin/python\" -c 'import sysconfig; print(\"{DIRECTORY_PREFIX}\" + sysconfig.get_path(\"purelib\"))'"
    );
    script
}

/// Returns the directory of the modules, and the output without the line that named it.
pub fn split_module_dir(output: &str) -> (Option<&str>, &str) {
    let trimmed = output.trim_end();
    let (before, last) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
    match last.strip_prefix(DIRECTORY_PREFIX) {
        Some(directory) => (Some(directory), before),
        None => (None, trimmed),
    }
}

/// Returns the modules that cannot be imported, each with its error, and the output without them.
pub fn split_unimportable(output: &str) -> (Vec<&str>, String) {
    let mut unimportable = Vec::new();
    let mut others = Vec::new();
    for line in output.lines() {
        match line.strip_prefix(UNIMPORTABLE_PREFIX) {
            Some(module) => unimportable.push(module),
            None => others.push(line),
        }
    }
    (unimportable, others.join("\n"))
}

/// Returns the build tool that pip misses for a source tree: without a network it cannot be
/// downloaded. Returns `None` if pip failed for another reason.
pub fn missing_builder(said: &str) -> Option<&str> {
    // Before version 70.1 setuptools makes wheels only where `wheel` is installed.
    if said.contains("invalid command 'bdist_wheel'") {
        return Some("wheel");
    }
    // New versions of pip._vendor.pyproject_hooks print the first text; the hook's traceback has
    // the second.
    let after = |words: &str| said.rsplit_once(words).map(|(_, rest)| rest);
    let name = match after("Cannot import '") {
        Some(rest) => rest,
        None if said.contains("BackendUnavailable") => after("No module named '")?,
        None => return None,
    };
    let package = name.split(['\'', '.']).next()?;
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name(package).then_some(package)
}

/// Shortens pip's output to [`MAX_INSTALL_SAID_BYTES`]: its errors, and as many of the last lines
/// as fit.
pub fn shortened(said: &str) -> Cow<'_, str> {
    if said.len() <= MAX_INSTALL_SAID_BYTES {
        return Cow::Borrowed(said);
    }
    let lines: Vec<&str> = said.lines().collect();
    let cost = |line: &str| line.len().min(LONGEST_LINE_BYTES) + 1;
    let mut kept = vec![false; lines.len()];
    let mut room = MAX_INSTALL_SAID_BYTES;
    let is_error = |line: &str| line.trim_start().to_ascii_lowercase().starts_with("error");
    let errors = (0..lines.len())
        .filter(|at| is_error(lines[*at]))
        .map(|at| (at, MAX_INSTALL_SAID_BYTES / 2));
    // Errors leave room for the last lines.
    for (at, reserve) in errors.chain((0..lines.len()).rev().map(|at| (at, 0))) {
        if kept[at] {
            continue;
        }
        let Some(rest) = room
            .checked_sub(cost(lines[at]))
            .filter(|rest| *rest >= reserve)
        else {
            break;
        };
        (kept[at], room) = (true, rest);
    }
    let mut text = String::new();
    let mut is_gap = false;
    for (line, kept) in lines.iter().zip(kept) {
        if kept {
            text.push_str(&line[..line.floor_char_boundary(LONGEST_LINE_BYTES)]);
            text.push('\n');
        } else if !is_gap {
            text.push_str("...\n");
        }
        is_gap = !kept;
    }
    text.truncate(text.trim_end().len());
    Cow::Owned(text)
}

/// Longest line of shortened pip output.
const LONGEST_LINE_BYTES: usize = 400;

/// Returns true if a package is a path, not a name: pip takes both.
pub fn is_path(package: &str) -> bool {
    let is_archive = [".whl", ".tar.gz", ".zip"]
        .iter()
        .any(|end| package.ends_with(end));
    package.starts_with(['.', '/'])
        || !package.contains([':', '@']) && (is_archive || package.contains('/'))
}

/// Returns true if a requested package has a module of this name. Compares names alone; a wheel has
/// the name of its file.
pub(super) fn names_module(package: &str, module: &str) -> bool {
    let file = if is_path(package) {
        package.rsplit('/').next().unwrap_or(package)
    } else {
        package
    };
    let own = file
        .split(|c: char| !(c.is_alphanumeric() || "._-".contains(c)))
        .next()
        .unwrap_or(file);
    let own = if is_path(package) {
        own.split('-').next().unwrap_or(own)
    } else {
        own
    };
    let plain = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
    plain(own) == plain(module)
}

/// Quotes a text as one shell word (sh(1), single quotes).
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn install_script_quotes_package_names() {
        assert_eq!(
            quoted("a'; rm -rf \"$HOME\"\n"),
            "'a'\\''; rm -rf \"$HOME\"\n'"
        );
        let script = script(
            "python3",
            Path::new("/tmp/it's"),
            &["a b".into(), "$(x)".into()],
            true,
        );
        assert!(
            script.contains(
                "\n' 'a b' '$(x)' 2>/dev/null\ncase $? in 0) try_import \"$python\"; exit 93;; \
                 1) exit 92;; esac\n"
            ),
            "{script}"
        );
        assert!(
            script.contains(" --no-index --no-build-isolation -- 'a b' '$(x)' || exit $?\n"),
            "{script}"
        );
        assert!(script.starts_with("own='/tmp/it'\\''s'\n"), "{script}");
    }

    #[test]
    fn unimportable_modules_leave_output() {
        assert_eq!(
            split_unimportable("did it\nreplay-cannot-import a: ImportError: no b\nmore"),
            (vec!["a: ImportError: no b"], "did it\nmore".to_owned())
        );
    }

    #[test]
    fn missing_build_backend_is_parsed_from_pip_output() {
        assert_eq!(
            missing_builder("      error: invalid command 'bdist_wheel'\n"),
            Some("wheel")
        );
        let hooks = "pip._vendor.pyproject_hooks._impl.BackendUnavailable: Cannot import ";
        assert_eq!(
            missing_builder(&format!("{hooks}'setuptools.build_meta'")),
            Some("setuptools")
        );
        assert_eq!(
            missing_builder(&format!("{hooks}'hatchling.build'\n")),
            Some("hatchling")
        );
        let trace = "Traceback:\nModuleNotFoundError: No module named 'hatchling'\n\n\
                     pip._vendor.pyproject_hooks._impl.BackendUnavailable: Traceback\nNo module named 'hatchling.build'";
        assert_eq!(missing_builder(trace), Some("hatchling"));
        assert_eq!(
            missing_builder("ERROR: No matching distribution found for numpy"),
            None
        );
        assert_eq!(
            missing_builder("ModuleNotFoundError: No module named 'own'"),
            None
        );
    }

    #[test]
    fn shortened_pip_output_keeps_errors_and_end() {
        assert_eq!(shortened("ERROR: a\nb"), "ERROR: a\nb");
        let trace: String = (0..500)
            .flat_map(|number| ["  File ".to_owned(), number.to_string(), "\n".to_owned()])
            .collect();
        let long = shortened(&format!(
            "Processing x\nERROR: Exception:\n{trace}it failed\n"
        ))
        .into_owned();
        assert!(
            long.starts_with("...\nERROR: Exception:\n...\n  File "),
            "{long}"
        );
        assert!(long.ends_with("  File 499\nit failed"), "{long}");
        assert!(long.len() <= MAX_INSTALL_SAID_BYTES + 8, "{}", long.len());
    }

    #[test]
    fn package_directory_is_parsed_from_last_line() {
        assert_eq!(
            split_module_dir("did it\nreplay-packages /e/lib\n"),
            (Some("/e/lib"), "did it")
        );
        assert_eq!(
            split_module_dir("replay-packages /e/lib"),
            (Some("/e/lib"), "")
        );
        assert_eq!(split_module_dir("failed\n"), (None, "failed"));
    }

    #[test]
    fn install_script_checks_installed_names_only() {
        let mixed = script(
            "python3",
            Path::new("/e"),
            &["/w/a.whl".into(), "b".into()],
            false,
        );
        assert!(
            mixed.contains("\n' 'b' 2>/dev/null\ncase $? in 0) :;; 1) :;; esac\n"),
            "{mixed}"
        );
        let wheel = script("python3", Path::new("/e"), &["/w/a.whl".into()], true);
        assert!(
            wheel.contains("\n[ -x \"$own/bin/python\" ] || { make_own; } || exit 90\n"),
            "{wheel}"
        );
    }

    #[test]
    fn package_matches_module_of_same_name() {
        for package in [
            "tiny",
            "Tiny==1.0",
            "tiny[x]>=2",
            "/w/dist/tiny-1.0-py3-none-any.whl",
            "./tiny",
            "tiny @ https://h/t",
        ] {
            assert!(names_module(package, "tiny"), "{package}");
        }
        assert!(names_module("typing-extensions>4", "typing_extensions"));
        assert!(!names_module("tiny-er", "tiny"));
    }

    #[test]
    fn package_path_is_distinguished_from_name() {
        for path in [
            "./a",
            "../a",
            "/a",
            "dist/a-1.whl",
            "a-1.0-py3-none-any.whl",
            "a.tar.gz",
            "src/a",
        ] {
            assert!(is_path(path), "{path}");
        }
        for name in [
            "requests",
            "requests>=2,<3",
            "a[extra]==1.0",
            "git+https://host/a/b",
            "a @ https://host/a.whl",
        ] {
            assert!(!is_path(name), "{name}");
        }
    }
}
