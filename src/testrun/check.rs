//! Checks the types of a project behind the walls, and reads what the checker says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::below;
use super::check_plan::{self, CheckPlan, checker_program};
use super::choose::{Missing, Program};
use super::detect::{self, Found, Tree as _};
use super::error::TestrunError;
use super::files::{self, Target};
use super::ground::Ground;
use super::kept::Log;
use super::model::{CheckStatus, Checker, Diagnostic, Diagnostics, Scope, Severity, ToolInfo};
use super::plan::quoted;
use super::reports::{self, Sources};
use super::silenced::{Source, mypy_config, mypy_exclude, pyright_config, silenced};
use super::verdict::{self, Ending};
use crate::cancel::Bound;
use crate::exec::{Denied, Exit, Outcome, Stage};
use crate::limits::{MAX_SILENCED_FILES, MAX_TEST_READ_SECS};
use crate::policy::{Checked, Read};

/// What a call asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckRequest<'a> {
    /// The directory; the usual one if it is left out.
    pub cwd: Option<&'a str>,
    /// The checker, if it is named.
    pub checker: Option<Checker>,
    /// Files, directories and globs; empty for all.
    pub files: &'a [String],
    /// When the check is ended.
    pub timeout: Duration,
}

/// What came of a check.
#[derive(Debug)]
pub struct CheckRan {
    /// What the checker says.
    pub report: Diagnostics,
    /// What was chosen and why, and what else there is to say.
    pub notes: Vec<String>,
    /// What the walls refused.
    pub denied: Vec<Denied>,
    /// The whole output.
    pub log: Option<Arc<Log>>,
}

/// Checks types. `on_progress` is told the time since the beginning.
pub fn check(
    ground: &Ground<'_>,
    request: &CheckRequest<'_>,
    on_progress: &mut dyn FnMut(Duration, &str),
) -> Result<CheckRan, TestrunError> {
    let disk = ground.disk();
    let cwd = match request.cwd {
        Some(cwd) => disk.directory(cwd.as_ref())?,
        None => disk.directory(&ground.usual_dir())?,
    };
    let (checker, dir, notes) = choose(ground, cwd.shown(), request)?;
    let project = disk.directory(&dir)?;
    let targets = files::targets(ground.call(), &[&cwd, &project], request.files)?;
    let targets: Vec<Target> =
        if targets.iter().any(|target| target.path == project.shown()) { Vec::new() } else { targets };
    let facts = Facts { checker, project: &project, targets: &targets, request };
    let (argv, version) = match checker_program(ground, checker, &project) {
        Program::Found(argv, version) => (argv, version),
        Program::Missing(missing) => return Ok(missing_tool(ground, &facts, notes, &missing)),
    };
    let (_lent, place) = ground.lend()?;
    let mut plan = check_plan::check_plan(ground, checker, argv, &project, &targets, &place)?;
    let before = Instant::now();
    let mut shell = |plan: &CheckPlan| {
        let line: Vec<String> = plan.argv.iter().map(|word| quoted(word)).collect();
        ground.shell(&project, &format!("exec env {}", line.join(" ")), request.timeout, &mut |elapsed, stage| {
            let words = match stage {
                Stage::Waiting => "waiting for a free place".to_owned(),
                Stage::Running { .. } => format!("checking for {:.1} s", elapsed.as_secs_f64()),
            };
            on_progress(elapsed, &words);
        })
    };
    let mut outcome = shell(&plan)?;
    if checker == Checker::Mypy && outcome.stderr.text().contains("unrecognized arguments: --output=json") {
        // mypy before 1.11.
        for word in plan.argv.iter_mut().filter(|word| *word == "--output=json") {
            "--show-column-numbers".clone_into(word);
        }
        outcome = shell(&plan)?;
    }
    let took = before.elapsed();
    let (stdout, listed) =
        if plan.lists_files { split(&outcome.stdout.bytes) } else { (outcome.stdout.bytes.clone(), None) };
    let root = project.shown().to_string_lossy().into_owned();
    let sources = Sources { stdout: &stdout, stderr: &outcome.stderr.bytes, root: &root, ..Sources::default() };
    let deadline = Instant::now() + Duration::from_secs(MAX_TEST_READ_SECS);
    let bound = Bound { deadline: Some(deadline), cancel: Some(ground.cancel) };
    let mut parsed = reports::check(checker, sources, bound);
    if bound.is_over() {
        let message = format!("the output was read for {MAX_TEST_READ_SECS} s, and not to its end");
        parsed.diagnostics.push(Diagnostic::new(Severity::Error, message));
    }
    let listed = match checker {
        Checker::CargoCheck if !targets.is_empty() => sources_of_cargo(ground, &project, &outcome.stdout.bytes, bound),
        Checker::GoVet if targets.iter().any(|target| !target.is_dir) && !outcome.timed_out => {
            sources_of_go(ground, &project, &targets, request.timeout.saturating_sub(took))?
        }
        _ => listed,
    };
    let mut notes = notes;
    parsed.silenced = silenced_of(ground, &facts, &mut notes);
    let shown: Vec<String> = plan.argv.iter().map(|word| quoted(word)).collect();
    let log = ground.kept.keep("type_check", &shown.join(" "), &outcome.stdout, &outcome.stderr);
    let tool = ToolInfo { name: checker, version, command: plan.argv, cwd: root };
    Ok(told(ground, &facts, parsed, listed.as_ref(), &outcome, took, tool, log, notes))
}

/// The source files of what `cargo check` has compiled, or had before: each artifact has a file beside it that names them
/// (dep-info). None if there is none that can be read.
fn sources_of_cargo(
    ground: &Ground<'_>,
    project: &Checked<Read>,
    stdout: &[u8],
    bound: Bound<'_>,
) -> Option<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for artifact in reports::artifacts(stdout, bound) {
        let artifact = Path::new(&artifact);
        let stem = artifact.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let names = artifact.with_file_name(format!("{}.d", stem.strip_prefix("lib").unwrap_or(stem)));
        let text = ground.disk().text(&names).unwrap_or_default();
        // `src/lib.rs:`, of each file, so that one may be gone (rustc_interface::passes::write_out_deps).
        let own = text.lines().filter_map(|line| line.strip_suffix(".rs:"));
        // Paths begin at the workspace, which may lie above.
        files.extend(own.flat_map(|file| {
            let file = format!("{}.rs", file.replace("\\ ", " "));
            project.shown().ancestors().map(move |dir| dir.join(&file).display().to_string())
        }));
    }
    (!files.is_empty()).then_some(files)
}

/// The files that `go vet` looks at in the packages of what was named: a build constraint leaves out others without a word.
/// None if that cannot be known.
fn sources_of_go(
    ground: &Ground<'_>,
    project: &Checked<Read>,
    targets: &[Target],
    timeout: Duration,
) -> Result<Option<BTreeSet<String>>, TestrunError> {
    let plan = check_plan::go_files(project.shown(), targets);
    let line: Vec<String> = plan.iter().map(|word| quoted(word)).collect();
    let outcome = ground.shell(project, &format!("exec env {}", line.join(" ")), timeout, &mut |_, _| {})?;
    let text = outcome.stdout.text();
    let files: BTreeSet<String> = text.lines().filter(|line| line.starts_with('/')).map(str::to_owned).collect();
    Ok((!files.is_empty() && !outcome.stdout.truncated).then_some(files))
}

/// Files that were named of which the checker tells no errors, because they or its configuration say so; `notes` say why.
/// Of those that a glob matched only the notes tell.
fn silenced_of(ground: &Ground<'_>, facts: &Facts<'_>, notes: &mut Vec<String>) -> Vec<String> {
    const TOLD: usize = 5;
    let (disk, dir) = (ground.disk(), facts.project.shown());
    let text = |name: &str| disk.text(&dir.join(name));
    let config = match facts.checker {
        Checker::Tsc => text("tsconfig.json").map(|text| ("tsconfig.json", text)),
        Checker::Mypy => mypy_config(text),
        Checker::Pyright => pyright_config(text),
        _ => None,
    };
    let (name, config) = config.unwrap_or_default();
    let is_package =
        |below: &str| disk.names(&dir.join(below)).is_some_and(|names| names.iter().any(|name| name == "__init__.py"));
    let (mut named, mut more) = (Vec::new(), 0);
    for target in facts.targets.iter().filter(|target| !target.is_dir).take(MAX_SILENCED_FILES) {
        let path = target.below(dir);
        let Some(content) = disk.text(&target.path) else { continue };
        let source = Source { path: &path, text: &content, is_package: &is_package };
        let Some(why) = silenced(facts.checker, source, &config) else { continue };
        if notes.len() < TOLD * 2 {
            notes.push(format!("`{path}` is not checked: {}", beginning(&why)));
        } else {
            more += 1;
        }
        if !target.is_matched {
            named.push(path);
        }
    }
    if more > 0 {
        notes.push(format!("{more} more are not checked for such reasons"));
    }
    let is_wide = facts.targets.is_empty() || facts.targets.iter().any(|target| target.is_dir);
    if let Some(exclude) = mypy_exclude(&config).filter(|_| is_wide) {
        notes.push(format!("left out by `exclude` in {name}: {}", beginning(&exclude)));
    }
    named
}

/// The beginning of a text of the project.
fn beginning(text: &str) -> &str {
    const TOLD_BYTES: usize = 200;
    &text[..text.floor_char_boundary(TOLD_BYTES)]
}

/// What a check is of.
struct Facts<'a> {
    checker: Checker,
    project: &'a Checked<Read>,
    targets: &'a [Target],
    request: &'a CheckRequest<'a>,
}

impl Facts<'_> {
    /// Whether what a path below the project names was asked for.
    fn holds(&self, file: &str) -> bool {
        let file = self.project.shown().join(file);
        let is_of = |target: &Target| if target.is_dir { file.starts_with(&target.path) } else { file == target.path };
        self.targets.is_empty() || self.targets.iter().any(is_of)
    }

    fn scope(&self) -> Scope {
        let files = self.targets.iter().map(|target| target.below(self.project.shown())).collect();
        Scope { files, ..Scope::default() }
    }
}

fn choose(
    ground: &Ground<'_>,
    cwd: &Path,
    request: &CheckRequest<'_>,
) -> Result<(Checker, PathBuf, Vec<String>), TestrunError> {
    let start = files::start(ground.disk(), cwd, request.cwd.is_some(), request.files);
    let found = detect::checkers(&ground.disk(), &start);
    if let Some(asked) = request.checker {
        let of = found.into_iter().find(|found| found.what == asked);
        let dir = of.map_or_else(|| cwd.to_path_buf(), |found| found.dir);
        return Ok((asked, dir, Vec::new()));
    }
    let suits = |found: &&Found<Checker>| request.files.iter().all(|file| detect::suits_checker(found.what, file));
    let best = found.iter().find(suits);
    let installed =
        below::only_checker(ground.disk(), &start, request.files).filter(|_| best.is_none_or(Found::is_habit));
    let Some(best) = best else {
        let what = if request.files.is_empty() { "its types are checked" } else { "types of such files are checked" };
        let below = below::projects::<Checker>(ground, cwd, request.files);
        return match installed {
            Some((checker, dir)) if below.is_empty() => {
                let dir = if dir.starts_with(cwd) { dir } else { cwd.to_path_buf() };
                Ok((checker, dir, vec![only(checker)]))
            }
            _ => Err(TestrunError::Nothing { dir: cwd.to_path_buf(), what, below, script: None }),
        };
    };
    if let Some((checker, _)) = installed.filter(|(checker, _)| *checker != best.what) {
        return Ok((checker, best.dir.clone(), vec![only(checker)]));
    }
    let mut notes = vec![format!("{}: {}", best.what.name(), best.why)];
    let others: Vec<String> = found
        .iter()
        .filter(|other| other.what != best.what)
        .map(|other| format!("`checker: \"{}\"` ({})", other.what.name(), other.why))
        .collect();
    if !others.is_empty() {
        notes.push(format!("there is also {}", others.join(", ")));
    }
    Ok((best.what, best.dir.clone(), notes))
}

/// Why a checker was taken that nothing of the project names.
fn only(checker: Checker) -> String {
    format!("{}: nothing says how types are checked, and it is the only checker that is installed here", checker.name())
}

/// What tsc says, and the files that it looked at: `--listFiles` names them, one a line, absolute.
fn split(stdout: &[u8]) -> (Vec<u8>, Option<BTreeSet<String>>) {
    let (mut said, mut files) = (Vec::new(), BTreeSet::new());
    for line in stdout.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if text.starts_with('/') && !text.contains("): error TS") && !text.contains("): warning TS") {
            if !text.contains("/node_modules/") {
                files.insert(text.to_owned());
            }
        } else {
            said.extend_from_slice(line);
        }
    }
    (said, Some(files))
}

#[expect(clippy::too_many_arguments, reason = "all that is known of a check")]
fn told(
    ground: &Ground<'_>,
    facts: &Facts<'_>,
    mut parsed: reports::Checked,
    listed: Option<&BTreeSet<String>>,
    outcome: &Outcome,
    took: Duration,
    tool: ToolInfo<Checker>,
    log: Arc<Log>,
    notes: Vec<String>,
) -> CheckRan {
    let (exit_code, signal) = match outcome.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    let said = outcome.stderr.text();
    let no_module = format!(": No module named {}", facts.checker.name());
    let absent = exit_code == Some(127) || exit_code == Some(1) && said.trim_end().ends_with(&no_module);
    let missing = absent && parsed.diagnostics.iter().all(|diagnostic| diagnostic.file.is_none());
    if missing {
        // The words of the shell or of Python about it.
        parsed.diagnostics.clear();
    }
    let ending =
        Ending { exit_code, signal, timed_out: outcome.timed_out, missing, duration_ms: took.as_millis() as u64 };
    if let Some(listed) = listed {
        if facts.checker == Checker::Tsc {
            parsed.files_checked = (!listed.is_empty()).then_some(listed.len() as u64);
        }
        parsed.not_checked = not_checked(facts, listed);
    }
    let mut report = verdict::diagnostics(tool, facts.scope(), parsed, ending, |file| facts.holds(file));
    report.log_uri = Some(log.uri.clone());
    match report.status {
        CheckStatus::MissingTool => {
            let elsewhere = below::who_has(ground, facts.project.shown(), facts.checker);
            report.hint = elsewhere.or_else(|| Some(how_to_get(ground, facts.checker, &report.tool.command)));
        }
        CheckStatus::TimedOut => {
            report.hint = Some(format!("ended after {} s; give a longer `timeout`", facts.request.timeout.as_secs()));
        }
        _ => {}
    }
    CheckRan { report, notes, denied: outcome.denied.clone(), log: Some(log) }
}

/// What was asked for and is not among the files that were looked at.
fn not_checked(facts: &Facts<'_>, listed: &BTreeSet<String>) -> Vec<String> {
    const TYPED: [&str; 5] = ["ts", "tsx", "mts", "cts", "vue"];
    let is_listed = |target: &Target| {
        let path = target.path.to_string_lossy();
        if target.is_dir {
            let inside = format!("{path}/");
            listed.range(inside.clone()..).next().is_some_and(|file| file.starts_with(&inside))
        } else {
            listed.contains(&*path)
        }
    };
    // What a glob matched need not be a source.
    let is_source = |target: &&Target| {
        let extension = target.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match facts.checker {
            // A build script's sources are named elsewhere.
            Checker::CargoCheck => !target.is_dir && extension == "rs" && !target.path.ends_with("build.rs"),
            Checker::GoVet => !target.is_dir && extension == "go",
            _ => !target.is_matched || TYPED.contains(&extension),
        }
    };
    let asked = facts.targets.iter().filter(|_| !listed.is_empty()).filter(is_source);
    asked.filter(|target| !is_listed(target)).map(|target| target.below(facts.project.shown())).collect()
}

/// The next step where the checker is not there; `argv` is what was run.
fn how_to_get(ground: &Ground<'_>, checker: Checker, argv: &[String]) -> String {
    let program = match checker {
        Checker::Tsc => "node",
        Checker::CargoCheck => "cargo",
        Checker::GoVet => "go",
        Checker::Mypy => return ground.how_to_install(argv, "mypy"),
        Checker::Pyright => {
            return ground
                .install_hint("npm install -D pyright", ", or with `pip install pyright` in the project's .venv");
        }
    };
    format!("commands find no `{program}`; the operator can show it to them with --system")
}

fn missing_tool(ground: &Ground<'_>, facts: &Facts<'_>, mut notes: Vec<String>, missing: &Missing) -> CheckRan {
    notes.push(missing.what.clone());
    let cwd = facts.project.shown().to_string_lossy().into_owned();
    let tool = ToolInfo { name: facts.checker, version: None, command: Vec::new(), cwd };
    let ending = Ending { missing: true, ..Ending::default() };
    let mut report = verdict::diagnostics(tool, facts.scope(), reports::Checked::default(), ending, |_| true);
    let elsewhere = below::who_has(ground, facts.project.shown(), facts.checker);
    report.hint = elsewhere.or_else(|| Some(ground.install_hint(&missing.install, "")));
    CheckRan { report, notes, denied: Vec::new(), log: None }
}
