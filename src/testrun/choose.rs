//! Which runner a run is by, and the program that it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::detect::{self, Found};
use super::error::TestrunError;
use super::ground::Ground;
use super::model::TestRunner;
use crate::exec::Exit;
use crate::limits::DEFAULT_COMMAND_TIMEOUT_SECS;
use crate::policy::{Checked, Read};

/// A runner that was chosen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which one.
    pub runner: TestRunner,
    /// The project's directory.
    pub dir: PathBuf,
    /// What speaks for it, and what else there is.
    pub notes: Vec<String>,
}

/// A program, or how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// The words that its command begins with, and its version if it is known.
    Found(Vec<String>, Option<String>),
    /// It is not installed.
    Missing(Missing),
}

/// A program that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was looked for, and where.
    pub what: String,
    /// How to get it.
    pub install: String,
}

/// The runner for `cwd`: the one that is asked for, else the best of those for the files that are named.
pub fn choose(
    ground: &Ground<'_>,
    cwd: &Path,
    asked: Option<TestRunner>,
    files: &[String],
) -> Result<Chosen, TestrunError> {
    let found = detect::runners(&ground.disk(), cwd);
    let known = |runner: TestRunner| if runner == TestRunner::Nextest { TestRunner::CargoTest } else { runner };
    if let Some(asked) = asked {
        let of = found.into_iter().find(|found| found.what == known(asked));
        let dir = of.as_ref().map_or_else(|| cwd.to_path_buf(), |found| found.dir.clone());
        let why = of.map_or_else(|| "nothing here names it".to_owned(), |found| found.why);
        return Ok(Chosen { runner: asked, dir, notes: vec![format!("{}: {why}", asked.name())] });
    }
    let suits = |found: &&Found<TestRunner>| files.iter().all(|file| detect::suits_runner(found.what, file));
    let Some(best) = found.iter().find(suits) else {
        let what = if files.is_empty() { "its tests are run" } else { "the tests of such files are run" };
        let below = detect::below(&ground.disk(), cwd);
        return Err(TestrunError::Nothing { dir: cwd.to_path_buf(), what, below });
    };
    let mut notes = vec![format!("{}: {}", best.what.name(), best.why)];
    let others: Vec<String> = found
        .iter()
        .filter(|other| other.what != best.what)
        .map(|other| format!("`runner: \"{}\"` ({})", asked_as(other.what), other.why))
        .collect();
    if !others.is_empty() {
        notes.push(format!("there is also {}", others.join(", ")));
    }
    Ok(Chosen { runner: best.what, dir: best.dir.clone(), notes })
}

/// What `runner` is called as a parameter.
fn asked_as(runner: TestRunner) -> &'static str {
    if runner == TestRunner::CargoTest { "cargo" } else { runner.name() }
}

/// The program of a runner. nextest takes the place of `cargo test` where it is installed, unless `exactly` that is meant.
pub fn program(
    ground: &Ground<'_>,
    chosen: &mut Chosen,
    dir: &Checked<Read>,
    exactly: bool,
) -> Result<Program, TestrunError> {
    let disk = ground.disk();
    let node = |package: &str, program: &str| match disk.of_node(dir.shown(), package, program) {
        Some((argv, version)) => Program::Found(argv, version),
        None => Program::Missing(missing_node(disk, dir.shown(), package)),
    };
    let words = |words: &[&str]| Program::Found(words.iter().map(|word| (*word).to_owned()).collect(), None);
    Ok(match chosen.runner {
        TestRunner::Vitest => node("vitest", "vitest"),
        TestRunner::Jest => node("jest", "jest"),
        TestRunner::Pytest => {
            let python = disk.venv_python(dir.shown());
            words(&[python.as_deref().unwrap_or("python3"), "-m", "pytest"])
        }
        TestRunner::CargoTest if !exactly && is_installed(ground, dir, "cargo-nextest")? => {
            chosen.runner = TestRunner::Nextest;
            chosen.notes.push(
                "by cargo-nextest, since it is installed; it runs no doc tests (`runner: \"cargo\"` does)".to_owned(),
            );
            words(&["cargo"])
        }
        TestRunner::CargoTest | TestRunner::Nextest => words(&["cargo"]),
        TestRunner::Go => words(&["go"]),
        TestRunner::Junit => words(&[]),
    })
}

/// How a package of Node is installed, by the lock file that lies nearest.
pub fn missing_node(disk: super::project::Disk<'_>, from: &Path, package: &str) -> Missing {
    use super::detect::Tree as _;
    const LOCKS: [(&str, &str, &str); 5] = [
        ("pnpm-lock.yaml", "pnpm install", "pnpm add -D"),
        ("yarn.lock", "yarn install", "yarn add -D"),
        ("bun.lock", "bun install", "bun add -d"),
        ("bun.lockb", "bun install", "bun add -d"),
        ("package-lock.json", "npm ci", "npm install -D"),
    ];
    let mut manager = ("npm install", "npm install -D");
    let mut listed = false;
    for dir in from.ancestors() {
        let Some(names) = disk.names(dir) else { break };
        let manifest = disk.text(&dir.join("package.json")).unwrap_or_default();
        listed |= manifest.contains(&format!("\"{package}\""));
        if let Some((_, install, add)) = LOCKS.iter().find(|(lock, ..)| names.iter().any(|name| name == lock)) {
            manager = (*install, *add);
            break;
        }
    }
    let install = if listed { manager.0.to_owned() } else { format!("{} {package}", manager.1) };
    Missing { what: format!("no node_modules in `{}` or above it holds {package}", from.display()), install }
}

/// Whether commands find a program.
pub fn is_installed(ground: &Ground<'_>, dir: &Checked<Read>, program: &str) -> Result<bool, TestrunError> {
    let timeout = Duration::from_secs(DEFAULT_COMMAND_TIMEOUT_SECS);
    let outcome = ground.shell(dir, &format!("command -v {program} >/dev/null"), timeout, &mut |_, _| {})?;
    Ok(outcome.exit == Exit::Code(0))
}
