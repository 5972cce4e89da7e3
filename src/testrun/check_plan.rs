//! The command line of a checker.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::choose::{Program, missing_node};
use super::detect::Tree as _;
use super::error::TestrunError;
use super::files::Target;
use super::ground::Ground;
use super::model::Checker;
use super::plan::Which;
use super::which::cargo_parts;
use crate::policy::{Checked, Read};

/// How much of a hash is the name of a project's cache, in bytes.
const CACHE_NAME_BYTES: usize = 8;

/// A command that is ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Whether its output names the files that it looked at, one a line.
    pub lists_files: bool,
}

/// The program of a checker.
pub fn checker_program(ground: &Ground<'_>, checker: Checker, dir: &Checked<Read>) -> Program {
    let disk = ground.disk();
    let words = |words: &[&str]| Program::Found(words.iter().map(|word| (*word).to_owned()).collect(), None);
    match checker {
        Checker::Tsc => {
            // What knows the single-file components too, if the project has it.
            let vue = disk.of_node(dir.shown(), "vue-tsc", "vue-tsc");
            match vue.or_else(|| disk.of_node(dir.shown(), "typescript", "tsc")) {
                Some((argv, version)) => Program::Found(argv, version),
                None => Program::Missing(missing_node(disk, dir.shown(), "typescript")),
            }
        }
        Checker::CargoCheck => words(&["cargo"]),
        Checker::GoVet => words(&["go"]),
        Checker::Mypy => words(&[disk.venv_python(dir.shown()).as_deref().unwrap_or("python3"), "-m", "mypy"]),
        Checker::Pyright => match disk.of_node(dir.shown(), "pyright", "pyright") {
            Some((argv, version)) => Program::Found(argv, version),
            None => match disk.venv_python(dir.shown()) {
                Some(python) => words(&[&python, "-m", "pyright"]),
                None => words(&["pyright"]),
            },
        },
    }
}

/// The command for a project. `targets` are what was asked for, empty for all; `place` is the command's path of a directory
/// of its own.
pub fn check_plan(
    ground: &Ground<'_>,
    checker: Checker,
    program: Vec<String>,
    dir: &Checked<Read>,
    targets: &[Target],
    place: &str,
) -> Result<CheckPlan, TestrunError> {
    let mut argv = program;
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    let disk = ground.disk();
    let text = |name: &str| disk.text(&dir.shown().join(name)).unwrap_or_default();
    let mut lists_files = false;
    match checker {
        Checker::Tsc => {
            lists_files = true;
            if has_references(&text("tsconfig.json")) {
                // Without it a project of references alone is never looked at, and there is no error.
                add(&["-b", "--force", "--noEmit"]);
            } else {
                // What an incremental check leaves stays out of the project.
                add(&["-p", ".", "--noEmit", "--incremental", "--tsBuildInfoFile"]);
                add(&[&format!("{place}/tsbuildinfo")]);
            }
            add(&["--pretty", "false", "--listFiles"]);
        }
        Checker::CargoCheck => {
            add(&["check", "--message-format=json", "--all-targets", "--keep-going"]);
            let parts = cargo_parts(ground, &Which::Targets(targets.to_vec()), true)?;
            if parts.is_empty() && text("Cargo.toml").lines().any(|line| line.trim() == "[workspace]") {
                add(&["--workspace"]);
            }
            for part in parts {
                add(&[&format!("--package={}", part.package)]);
            }
        }
        Checker::GoVet => {
            add(&["vet"]);
            add(&packages(dir.shown(), targets).iter().map(String::as_str).collect::<Vec<_>>());
        }
        Checker::Mypy => {
            let cache = cache_name(dir.shown(), dir.id());
            // Without a traceback nothing says why mypy itself failed.
            add(&["--output=json", "--no-color-output", "--show-traceback"]);
            add(&[&format!("--cache-dir={}/mypy-cache/{cache}", ground.tmp.display())]);
            let says_files = ["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"].iter().any(|name| {
                let named = ["files", "packages", "modules"];
                text(name).lines().filter_map(|line| line.split_once('=')).any(|(key, _)| named.contains(&key.trim()))
            });
            add(&paths(dir.shown(), targets).iter().map(String::as_str).collect::<Vec<_>>());
            if targets.is_empty() && !says_files {
                add(&["."]);
            }
        }
        Checker::Pyright => {
            add(&["--outputjson"]);
            if let Some(python) = disk.venv_python(dir.shown()) {
                add(&["--pythonpath", &python]);
            }
            add(&paths(dir.shown(), targets).iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    Ok(CheckPlan { argv, lists_files })
}

/// The name of a project's own cache, from its true path and the numbers of its directory. mypy takes an entry for that of a
/// file by the file's path below the project, its size and its time in whole seconds (`mypy.build.validate_meta`): those of
/// two projects, or of two that were in one place one after the other, can be the same.
fn cache_name(dir: &Path, (device, inode): (u64, u64)) -> String {
    let mut hash = Sha256::new();
    hash.update(device.to_le_bytes());
    hash.update(inode.to_le_bytes());
    hash.update(dir.as_os_str().as_bytes());
    // Writing to a String cannot fail.
    hash.finalize().iter().take(CACHE_NAME_BYTES).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

fn paths(dir: &Path, targets: &[Target]) -> Vec<String> {
    targets
        .iter()
        .map(|target| target.below(dir))
        .map(|path| if path.starts_with('-') { format!("./{path}") } else { path })
        .collect()
}

/// Go checks packages.
fn packages(dir: &Path, targets: &[Target]) -> Vec<String> {
    let package = |target: &Target| {
        let of = if target.is_dir { &*target.path } else { target.path.parent().unwrap_or(dir) };
        let below = of.strip_prefix(dir).unwrap_or(of).to_string_lossy().into_owned();
        format!(
            "./{below}{}",
            if !target.is_dir {
                ""
            } else if below.is_empty() {
                "..."
            } else {
                "/..."
            }
        )
    };
    let mut packages: Vec<String> = targets.iter().map(package).collect();
    packages.sort();
    packages.dedup();
    if packages.is_empty() { vec!["./...".to_owned()] } else { packages }
}

/// The command that names the source files of the packages of `targets` that the compiler takes, one a line, absolute.
pub fn go_files(dir: &Path, targets: &[Target]) -> Vec<String> {
    // Those that cannot be parsed are among them: https://pkg.go.dev/cmd/go#hdr-List_packages_or_modules
    let lists = ["GoFiles", "CgoFiles", "TestGoFiles", "XTestGoFiles"];
    let format =
        lists.map(|list| format!("{{{{range .{list}}}}}{{{{$.Dir}}}}/{{{{.}}}}{{{{\"\\n\"}}}}{{{{end}}}}")).concat();
    let words = ["go", "list", "-e", "-f", &format].map(str::to_owned);
    words.into_iter().chain(packages(dir, targets)).collect()
}

/// Whether a `tsconfig.json` refers to other projects.
fn has_references(tsconfig: &str) -> bool {
    let config: Value = serde_json::from_str(&without_comments(tsconfig)).unwrap_or_default();
    config["references"].as_array().is_some_and(|references| !references.is_empty())
}

/// JSON as `tsconfig.json` may have it (comments, commas before a closing bracket) as JSON.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            0
        };
        if skipped > 0 {
            rest = &rest[skipped..];
            continue;
        }
        let length = if next == '"' { string_length(rest) } else { next.len_utf8() };
        if matches!(next, ']' | '}') {
            let end = plain.trim_end().len();
            if plain[..end].ends_with(',') {
                plain.truncate(end - 1);
            }
        }
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    plain
}

/// The length of a string of JSON with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn references_are_found_in_json_with_comments() {
        let vite = "\u{feff}{\n  // of Vite\n  \"files\": [],\n  \"references\": [\n    { \"path\": \"./a\" }, /* , */\n  ],\n}\n";
        assert!(has_references(vite));
        assert!(!has_references("{\"references\": []}") && !has_references("{\"x\": \"// \\\" references\"}"));
        assert!(!has_references("not json"));
        assert_eq!(without_comments("{\"a\": \"/* ä */\", }"), "{\"a\": \"/* ä */\"}");
    }

    #[test]
    fn every_project_has_a_cache_of_its_own() {
        let of = |path: &str, id| cache_name(Path::new(path), id);
        let own = of("/w/a", (1, 2));
        assert_eq!(own.len(), 2 * CACHE_NAME_BYTES);
        assert_eq!(own, of("/w/a", (1, 2)));
        let others = [of("/w/b", (1, 2)), of("/w/a", (1, 3)), of("/w/a", (2, 2)), of("/w/a", (2, 1))];
        assert!(!others.contains(&own), "{own} {others:?}");
    }

    #[test]
    fn go_checks_packages() {
        let target = |path: &str, is_dir| Target::whole(PathBuf::from(path), is_dir);
        let found =
            packages(Path::new("/w"), &[target("/w/a/x.go", false), target("/w", true), target("/w/y.go", false)]);
        assert_eq!(found, ["./", "./...", "./a"]);
        assert_eq!(packages(Path::new("/w"), &[]), ["./..."]);
    }
}
