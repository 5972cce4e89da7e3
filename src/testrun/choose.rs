//! Which runner a run is by, and the program that it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::below;
use super::detect::{self, Found};
use super::error::TestrunError;
use super::files;
use super::ground::Ground;
use super::model::TestRunner;
use crate::exec::Exit;
use crate::limits::DEFAULT_COMMAND_TIMEOUT_SECS;
use crate::policy::{Checked, Read};
use crate::text::escape::show_path;

/// A runner that was chosen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which one.
    pub runner: TestRunner,
    /// The project's directory.
    pub dir: PathBuf,
    /// What speaks for it, and what else there is.
    pub notes: Vec<String>,
    /// What is left out of the run, and was not asked to be.
    pub left_out: Vec<String>,
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

/// The runner for `cwd`, which is told or the usual one: the one that is asked for, else the best of those for the files
/// that are named.
pub fn choose(
    ground: &Ground<'_>,
    cwd: &Path,
    is_told: bool,
    asked: Option<TestRunner>,
    files: &[String],
) -> Result<Chosen, TestrunError> {
    let disk = ground.disk();
    let start = files::start(disk, cwd, is_told, files);
    let mut found = detect::runners(&disk, &start);
    let known = |runner: TestRunner| if runner == TestRunner::Nextest { TestRunner::CargoTest } else { runner };
    if let Some(asked) = asked {
        let of = found.into_iter().find(|found| found.what == known(asked));
        let dir = of.map_or_else(|| cwd.to_path_buf(), |found| home(found, cwd));
        return Ok(Chosen { runner: asked, dir, notes: Vec::new(), left_out: Vec::new() });
    }
    let suits = |found: &Found<TestRunner>| files.iter().all(|file| detect::suits_runner(found.what, file));
    if !found.iter().any(suits) && !files.is_empty() {
        // The directory that was told has none for them: those around the files.
        found = detect::runners(&disk, &files::start(disk, cwd, false, files));
    }
    let Some(at) = found.iter().position(suits) else {
        several(ground, cwd, files)?;
        let what = if files.is_empty() { "its tests are run" } else { "the tests of such files are run" };
        let below = below::projects::<TestRunner>(ground, cwd, files);
        let script = detect::test_script(&disk, cwd).filter(|_| found.is_empty());
        return Err(TestrunError::Nothing { dir: cwd.to_path_buf(), what, below, script });
    };
    let best = found.remove(at);
    let mut notes = vec![format!("{}: {}", best.what.name(), best.why)];
    let others: Vec<String> =
        found.iter().map(|other| format!("`runner: \"{}\"` ({})", other.what.name(), other.why)).collect();
    if !others.is_empty() {
        notes.push(format!("there is also {}", others.join(", ")));
    }
    Ok(Chosen { runner: best.what, dir: home(best, cwd), notes, left_out: Vec::new() })
}

/// Where a runner begins. Tests that nothing names a project for are run from `cwd`, from where Python finds their modules.
fn home(found: Found<TestRunner>, cwd: &Path) -> PathBuf {
    if found.is_habit() && found.dir.starts_with(cwd) { cwd.to_path_buf() } else { found.dir }
}

/// The error for files that no one project has, each of which has one.
fn several(ground: &Ground<'_>, cwd: &Path, files: &[String]) -> Result<(), TestrunError> {
    const NAMED: usize = 3;
    let mut groups: Vec<(Found<TestRunner>, Vec<&str>)> = Vec::new();
    for file in files {
        let dir = files::holder(ground.disk(), cwd, file).unwrap_or_else(|| cwd.to_path_buf());
        let found = detect::runners(&ground.disk(), &dir);
        let Some(own) = found.into_iter().find(|found| detect::suits_runner(found.what, file)) else { return Ok(()) };
        match groups.iter_mut().find(|(known, _)| known.what == own.what && (known.dir == own.dir || known.is_habit()))
        {
            Some((_, files)) => files.push(file),
            None => groups.push((own, vec![file])),
        }
    }
    if groups.len() < 2 {
        return Ok(());
    }
    let is_one = groups.iter().all(|(found, _)| found.what == groups[0].0.what);
    let told: Vec<String> = groups
        .iter()
        .take(NAMED)
        .map(|(found, files)| {
            let more = if files.len() > NAMED { ", ..." } else { "" };
            let place = if is_one { format!(" in {}", show_path(&found.dir)) } else { String::new() };
            let named: Vec<&str> = files.iter().take(NAMED).copied().collect();
            format!("{}{place}: {}{more}", found.what.name(), named.join(", "))
        })
        .collect();
    let count = if groups.len() == 2 { "two".to_owned() } else { groups.len().to_string() };
    let noun = if is_one { "projects" } else { "runners" };
    Err(TestrunError::arguments(format!("these are files of {count} {noun} ({}): call once for each", told.join("; "))))
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
