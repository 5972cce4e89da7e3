//! The command line of a runner: from what is wanted to the arguments, as a function.

use std::fmt::Write as _;
use std::path::Path;

use super::files::Target;
use super::model::TestRunner;
use super::script::Script;
use crate::limits::MAX_RERUN_TESTS;

/// What reporters write to, and where Vitest, pytest, Jest and nextest leave their report.
pub const REPORT: &str = "report";
const VITEST_REPORTER: (&str, &str) = ("replay-vitest.mjs", include_str!("reporters/vitest.mjs"));
const PYTEST_PLUGIN: (&str, &str) = ("replay_pytest.py", include_str!("reporters/replay_pytest.py"));
const JEST_REPORTER: (&str, &str) = ("replay-jest.cjs", include_str!("reporters/jest.cjs"));
const NEXTEST_CONFIG: &str = "nextest.toml";

/// A test that failed, as the runner can be told to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTest {
    /// As the report names it; empty if the file itself failed.
    pub id: String,
    /// Its file, or Go's package.
    pub file: String,
    /// The suites around it and its own name; empty if the file itself failed.
    pub names: Vec<String>,
}

/// Which tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of the project.
    All,
    /// Those of files and directories.
    Targets(Vec<Target>),
    /// Those that the runner itself finds to be affected by what has changed since the last commit.
    Changed,
    /// Those that failed.
    Failed(Vec<FailedTest>),
}

/// A part of a Cargo workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CargoPart {
    /// The package.
    pub package: String,
    /// What of it.
    pub what: CargoTargets,
}

/// What of a package is tested.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CargoTargets {
    /// Everything.
    All,
    /// An integration test (`tests/NAME.rs`).
    Test(String),
    /// Tests whose path holds this, such as `text::glob`.
    Module(String),
}

/// What a plan is made of.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The runner.
    pub runner: TestRunner,
    /// The words that its command begins with.
    pub program: Vec<String>,
    /// The directory that it begins in.
    pub project: &'a Path,
    /// The command's path of the directory that it shares with the server.
    pub place: &'a str,
    /// The command's TMPDIR, where caches are kept.
    pub tmp: &'a str,
    /// Which tests.
    pub which: &'a Which,
    /// Which of a Cargo workspace; from `which`.
    pub cargo: &'a [CargoPart],
    /// What names of tests must match, in the runner's own words.
    pub filter: Option<&'a str>,
    /// Whether the manifest is that of a workspace.
    pub is_workspace: bool,
    /// What the project's test script says.
    pub script: &'a Script,
}

/// A command that is ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables that the project's test script sets.
    pub of_script: Vec<(String, String)>,
    /// Variables that it gets.
    pub environment: Vec<(&'static str, String)>,
    /// Directories that Python looks for modules in first.
    pub python_path: Option<String>,
    /// Files that are put into the place.
    pub files: Vec<(&'static str, String)>,
    /// Whether there will be a report in the place.
    pub reports: bool,
}

/// The command for what is wanted.
pub fn plan(wanted: &Wanted<'_>) -> Plan {
    let of_script = wanted.script.environment.clone();
    let mut plan = Plan { argv: wanted.program.clone(), of_script, reports: true, ..Plan::default() };
    match wanted.runner {
        TestRunner::Vitest => vitest(&mut plan, wanted),
        TestRunner::Jest => jest(&mut plan, wanted),
        TestRunner::Pytest => pytest(&mut plan, wanted),
        TestRunner::CargoTest | TestRunner::Nextest => cargo(&mut plan, wanted),
        TestRunner::Go => go(&mut plan, wanted),
        TestRunner::Junit => {}
    }
    plan
}

fn vitest(plan: &mut Plan, wanted: &Wanted<'_>) {
    let (file, text) = VITEST_REPORTER;
    plan.files.push((file, text.to_owned()));
    let report = format!("{}/{REPORT}", wanted.place);
    plan.environment.push(("REPLAY_TEST_REPORT", report));
    plan.argv.extend([
        "run".to_owned(),
        format!("--reporter={}/{file}", wanted.place),
        // For the log, and last: one that fails keeps those behind it from hearing of the end.
        "--reporter=default".to_owned(),
        "--includeTaskLocation".to_owned(),
        // A run of some tests would fail by the thresholds for all of them, and would replace the project's report.
        "--coverage.enabled=false".to_owned(),
    ]);
    plan.argv.extend(wanted.script.config.iter().map(|config| format!("--config={config}")));
    if *wanted.which == Which::Changed {
        plan.argv.push("--changed".to_owned());
    }
    javascript_names(plan, wanted, "--testNamePattern");
    plan.argv.extend(paths(wanted));
}

fn jest(plan: &mut Plan, wanted: &Wanted<'_>) {
    let (file, text) = JEST_REPORTER;
    plan.files.push((file, text.to_owned()));
    plan.environment.push(("REPLAY_TEST_REPORT", format!("{}/{REPORT}", wanted.place)));
    plan.argv.extend([
        format!("--reporters={}/{file}", wanted.place),
        // For the log.
        "--reporters=default".to_owned(),
        "--testLocationInResults".to_owned(),
        "--coverage=false".to_owned(),
    ]);
    plan.argv.extend(wanted.script.config.iter().map(|config| format!("--config={config}")));
    if *wanted.which == Which::Changed {
        plan.argv.push("--onlyChanged".to_owned());
    }
    javascript_names(plan, wanted, "--testNamePattern");
    let paths = paths(wanted);
    let only_files = match wanted.which {
        Which::Targets(targets) => targets.iter().all(|target| !target.is_dir),
        _ => true,
    };
    if only_files && !paths.is_empty() {
        // Else they would be patterns.
        plan.argv.push("--runTestsByPath".to_owned());
        plan.argv.extend(paths);
    } else {
        plan.argv.extend(paths.iter().map(|path| escape_regex(path)));
    }
}

/// The names of tests for Vitest and Jest: one regular expression over suites and name.
fn javascript_names(plan: &mut Plan, wanted: &Wanted<'_>, option: &str) {
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("{option}={filter}"));
    } else if let Which::Failed(failed) = wanted.which
        && by_name(failed)
    {
        // Between suites and name Vitest 5 has ` > `, the others a blank; Vitest 3 has one before the first, too.
        let name = |test: &FailedTest| {
            let names: Vec<String> = test.names.iter().map(|name| escape_regex(name)).collect();
            names.join("(?: >)? ")
        };
        let names: Vec<String> = failed.iter().map(name).collect();
        plan.argv.push(format!("{option}=^ ?(?:{})$", names.join("|")));
    }
}

fn pytest(plan: &mut Plan, wanted: &Wanted<'_>) {
    let (file, text) = PYTEST_PLUGIN;
    plan.files.push((file, text.to_owned()));
    plan.environment.push(("REPLAY_TEST_REPORT", format!("{}/{REPORT}", wanted.place)));
    // Compiled files and the plugin's cache stay out of the project.
    plan.environment.push(("PYTHONPYCACHEPREFIX", format!("{}/python-cache", wanted.tmp)));
    plan.python_path = Some(wanted.place.to_owned());
    plan.argv.extend(["-p", "replay_pytest", "--continue-on-collection-errors", "--color=no", "-o"].map(str::to_owned));
    plan.argv.push(format!("cache_dir={}/pytest-cache", wanted.place));
    // Node ids are told from there, and asked for from there.
    plan.argv.push(format!("--rootdir={}", wanted.project.display()));
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("-k{filter}"));
    }
    if let Which::Failed(failed) = wanted.which
        && failed.len() <= MAX_RERUN_TESTS
    {
        // Of a file that did not load there is no name, and the file is asked for.
        let id = |test: &FailedTest| safe([&[test.file.clone()][..], &test.names].concat().join("::"));
        plan.argv.extend(failed.iter().map(id));
    } else {
        plan.argv.extend(paths(wanted));
    }
}

fn cargo(plan: &mut Plan, wanted: &Wanted<'_>) {
    let is_nextest = wanted.runner == TestRunner::Nextest;
    if is_nextest {
        let path = format!("{}/{REPORT}", wanted.place);
        // What passed shows there whether its process came to the end of the test.
        let text = format!("[profile.replay.junit]\npath = {path:?}\nstore-success-output = true\n");
        plan.files.push((NEXTEST_CONFIG, text));
        plan.argv.extend(["nextest".to_owned(), "run".to_owned(), "--profile=replay".to_owned()]);
        plan.argv.push(format!("--tool-config-file=replay:{}/{NEXTEST_CONFIG}", wanted.place));
    } else {
        plan.reports = false;
        plan.argv.push("test".to_owned());
    }
    plan.argv.extend(["--no-fail-fast", "--color=never"].map(str::to_owned));
    let mut packages: Vec<&str> = wanted.cargo.iter().map(|part| part.package.as_str()).collect();
    packages.dedup();
    plan.argv.extend(packages.iter().map(|package| format!("--package={package}")));
    if packages.is_empty() && wanted.is_workspace {
        plan.argv.push("--workspace".to_owned());
    }
    let mut filters: Vec<String> = wanted.filter.map(str::to_owned).into_iter().collect();
    let all = wanted.cargo.iter().any(|part| part.what == CargoTargets::All);
    let tests: Vec<String> = wanted
        .cargo
        .iter()
        .filter_map(|part| match &part.what {
            CargoTargets::Test(name) => Some(format!("--test={name}")),
            _ => None,
        })
        .collect();
    let modules = wanted.cargo.iter().filter_map(|part| match &part.what {
        CargoTargets::Module(module) => Some(module.clone()),
        _ => None,
    });
    // Targets and filters are both obeyed, so that they cannot say "this file or that module".
    if !all && !tests.is_empty() {
        let modules = modules.count();
        plan.argv.extend(tests);
        if modules > 0 {
            plan.argv.extend(["--lib", "--bins"].map(str::to_owned));
        }
    } else if !all && wanted.filter.is_none() {
        filters.extend(modules.filter(|module| !module.is_empty()));
    }
    if let Which::Failed(failed) = wanted.which
        && by_name(failed)
    {
        // A test of this name would be an option of libtest.
        let names = failed.iter().map(|test| test.names.join("::")).filter(|name| !name.starts_with('-'));
        if is_nextest {
            let exact: Vec<String> = names.map(|name| format!("test(={})", name.replace([')', '\\'], "?"))).collect();
            plan.argv.push(format!("--filterset={}", exact.join(" + ")));
        } else {
            plan.argv.extend(["--".to_owned(), "--exact".to_owned()]);
            plan.argv.extend(names);
        }
    } else if !filters.is_empty() {
        plan.argv.push("--".to_owned());
        plan.argv.extend(filters);
    }
}

fn go(plan: &mut Plan, wanted: &Wanted<'_>) {
    plan.reports = false;
    plan.argv.extend(["test".to_owned(), "-json".to_owned()]);
    if let Some(filter) = wanted.filter {
        plan.argv.push(format!("-run={filter}"));
    }
    match wanted.which {
        Which::Failed(failed) => {
            let mut names: Vec<String> =
                failed.iter().filter_map(|test| test.names.first()).map(|name| escape_regex(name)).collect();
            names.sort();
            names.dedup();
            if by_name(failed) {
                plan.argv.push(format!("-run=^(?:{})$", names.join("|")));
            }
            plan.argv.extend(paths(wanted));
        }
        Which::Targets(targets) => {
            let package = |target: &Target| {
                let dir = if target.is_dir { &*target.path } else { target.path.parent().unwrap_or(&target.path) };
                let below = dir.strip_prefix(wanted.project).unwrap_or(dir).to_string_lossy().into_owned();
                match (below.as_str(), target.is_dir) {
                    ("", true) => "./...".to_owned(),
                    ("", false) => ".".to_owned(),
                    (_, true) => format!("./{below}/..."),
                    (_, false) => format!("./{below}"),
                }
            };
            let mut packages: Vec<String> = targets.iter().map(package).collect();
            packages.sort();
            packages.dedup();
            plan.argv.extend(packages);
        }
        Which::All | Which::Changed => plan.argv.push("./...".to_owned()),
    }
}

/// Whether failed tests are told by name: not if a whole file failed, nor if they are too many.
fn by_name(failed: &[FailedTest]) -> bool {
    failed.len() <= MAX_RERUN_TESTS && failed.iter().all(|test| !test.names.is_empty())
}

/// Files and directories as arguments, below the project's directory where they are.
fn paths(wanted: &Wanted<'_>) -> Vec<String> {
    match wanted.which {
        Which::All | Which::Changed => Vec::new(),
        Which::Targets(targets) => targets
            .iter()
            .map(|target| {
                let path = target.below(wanted.project);
                let is_pattern = matches!(wanted.runner, TestRunner::Vitest | TestRunner::Jest);
                safe(if target.is_dir && is_pattern && path != "." { path + "/" } else { path })
            })
            .filter(|path| path != "." || wanted.runner == TestRunner::Pytest)
            .collect(),
        Which::Failed(failed) => {
            let mut files: Vec<String> = failed.iter().map(|test| safe(test.file.clone())).collect();
            files.sort();
            files.dedup();
            files
        }
    }
}

/// An argument that is not taken for an option.
fn safe(path: String) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path }
}

/// The regular expression of JavaScript or Go that matches a text itself.
fn escape_regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for next in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(next) {
            escaped.push('\\');
        }
        escaped.push(next);
    }
    escaped.replace("\\/", "/")
}

/// What part of a package a file is, `below` being its path below the package's directory.
pub fn cargo_targets(below: &str) -> CargoTargets {
    let source = below.strip_suffix(".rs");
    if let Some(test) = below.strip_prefix("tests/") {
        let name = test.split('/').next().unwrap_or(test);
        return CargoTargets::Test(name.strip_suffix(".rs").unwrap_or(name).to_owned());
    }
    match source.and_then(|source| source.strip_prefix("src/")) {
        Some("lib" | "main") | None => CargoTargets::All,
        Some(source) if source.starts_with("bin/") => CargoTargets::All,
        Some(source) => {
            let module = source.strip_suffix("/mod").unwrap_or(source);
            CargoTargets::Module(module.replace('/', "::"))
        }
    }
}

/// The line for `/bin/sh` that a command is.
pub fn line(plan: &Plan) -> String {
    // Writing to a String cannot fail.
    let mut line = "exec env".to_owned();
    // Before the others, which nothing replaces.
    for (name, value) in &plan.of_script {
        let _ = write!(line, " {name}={}", quoted(value));
    }
    for (name, value) in &plan.environment {
        let _ = write!(line, " {name}={}", quoted(value));
    }
    if let Some(path) = &plan.python_path {
        let _ = write!(line, " PYTHONPATH={}\"${{PYTHONPATH:+:$PYTHONPATH}}\"", quoted(path));
    }
    for word in &plan.argv {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |next: char| next.is_ascii_alphanumeric() || "-_./=:,+@%".contains(next);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
