//! Type checks of a project in the sandbox: runs the checker and reads its output.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use replay_base::limits::MAX_TEST_READ_SECS;
use replay_sandbox::exec::Stage;

use super::checker::{CheckInputs, CheckSource, Checker, EndedCheck};
use super::checkers::CHECKERS;
use super::command::words;
use super::context::RunContext;
use super::detection::{self, DetectedTool};
use super::error::TestrunError;
use super::model::{CheckStatus, Diagnostic, Diagnostics, Scope, Severity, ToolInfo};
use super::outcome::{ProcessEnding, RunOutcome};
use super::project::disk::{AllowedDisk, ProjectTree as _};
use super::project::files::{self, NamedPath};
use super::project::language::Language;
use super::project::program::{MissingProgram, ToolProgram};
use super::reports::results::{CheckResults, Sources};
use super::subprojects::{self, projects_with_tool};
use super::tool::is_absent;
use super::verdict;

/// Files whose own words about how they are checked are read, of those that a check of types was
/// asked for.
const MAX_SILENCED_FILES: usize = 200;

/// Arguments of a type check.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckRequest<'a> {
    /// Working directory; `None` for the default.
    pub cwd: Option<&'a str>,
    /// Requested checker, if any.
    pub checker: Option<&'static dyn Checker>,
    /// Files, directories and globs; empty for all.
    pub files: &'a [String],
    /// Time limit of the check.
    pub timeout: Duration,
}

/// Checks types. Calls `on_progress` with the elapsed time.
pub fn check(
    context: &RunContext<'_>,
    request: &CheckRequest<'_>,
    on_progress: &mut dyn FnMut(Duration, &str),
) -> Result<RunOutcome<Diagnostics>, TestrunError> {
    let disk = context.disk();
    let cwd = context.directory(request.cwd)?;
    let (checker, dir, mut notes) = choose(context, cwd.display_path(), request)?;
    let project = disk.directory(&dir)?;
    let targets = files::targets(context.call(), &[&cwd, &project], request.files)?;
    let targets: Vec<NamedPath> = if targets
        .iter()
        .any(|target| target.path == project.display_path())
    {
        Vec::new()
    } else {
        targets
    };
    let (_lent, place) = context.lend()?;
    let wanted = CheckInputs {
        context,
        project: &project,
        targets: &targets,
        place: &place,
    };
    let (mut argv, version) = match checker.program(context, &project) {
        ToolProgram::Found(argv, version) => (argv, version),
        ToolProgram::Missing(missing) => {
            return Ok(missing_tool(checker, &wanted, notes, &missing));
        }
    };
    argv.extend(checker.arguments(&wanted)?);
    let before = Instant::now();
    let mut shell = |argv: &[String]| {
        context.shell(
            &project,
            &format!("exec env {}", words(argv)),
            request.timeout,
            &mut |elapsed, stage| {
                let words = match stage {
                    Stage::Waiting => "waiting for a free slot".to_owned(),
                    Stage::Running { .. } => format!("checking for {:.1} s", elapsed.as_secs_f64()),
                };
                on_progress(elapsed, &words);
            },
        )
    };
    let mut outcome = shell(&argv)?;
    if checker.adapt(&mut argv, &outcome.stderr.text()) {
        outcome = shell(&argv)?;
    }
    let took = before.elapsed();
    let root = project.display_path().to_string_lossy().into_owned();
    let (stdout, stderr) = (&outcome.stdout.bytes, &outcome.stderr.bytes);
    let sources = Sources {
        stdout,
        stderr,
        root: &root,
        ..Sources::default()
    };
    let bound = context.read_bound();
    let mut results = checker.read(sources, bound);
    if bound.is_over() {
        let message =
            format!("the output was read for only {MAX_TEST_READ_SECS} s, not to its end");
        results
            .diagnostics
            .push(Diagnostic::new(Severity::Error, message));
    }
    if !targets.is_empty() {
        let listed = checker.examined_files(&EndedCheck {
            wanted: &wanted,
            outcome: &outcome,
            bound,
            time_left: request.timeout.saturating_sub(took),
        })?;
        let listed = listed.or_else(|| results.listed.take()).unwrap_or_default();
        results.not_checked = not_checked(checker, &wanted, &listed);
    }
    results.silenced = silenced(checker, &wanted, &mut notes);
    let log = context.logs.keep_run(
        "type_check",
        &words(&argv),
        &outcome.stdout,
        &outcome.stderr,
    );
    let tool = ToolInfo {
        name: checker.id(),
        version,
        command: argv,
        cwd: root,
    };
    let is_placed = results.diagnostics.iter().any(|found| found.file.is_some());
    let missing = is_absent(checker.name(), &outcome) && !is_placed;
    if missing {
        // stderr of the shell or of Python has the reason.
        results.diagnostics.clear();
    }
    let ending = ProcessEnding::of(&outcome, took, missing);
    let in_scope = |file: &str| includes(&wanted, file);
    let mut report = verdict::diagnostics(tool, scope(&wanted), results, ending, in_scope);
    report.log_uri = Some(log.uri.clone());
    match report.status {
        CheckStatus::MissingTool => {
            let install = || checker.install_step(context, wanted.dir(), &report.tool.command);
            let elsewhere = projects_with_tool(context, wanted.dir(), checker);
            report.hint = Some(elsewhere.unwrap_or_else(install));
        }
        CheckStatus::TimedOut => {
            report.hint = Some(format!(
                "the run was ended after {} s; give a longer `timeout`",
                request.timeout.as_secs()
            ));
        }
        _ => {}
    }
    Ok(RunOutcome {
        report,
        notes,
        denied: outcome.denied.clone(),
        log: Some(log),
    })
}

/// Returns the requested files whose errors the checker suppresses, because of a comment in them or
/// its configuration. Adds the reasons to `notes`. Files matched by a glob appear in the notes
/// alone.
fn silenced(
    checker: &dyn Checker,
    wanted: &CheckInputs<'_>,
    notes: &mut Vec<String>,
) -> Vec<String> {
    const MAX_REASONS: usize = 5;
    let (disk, dir) = (wanted.context.disk(), wanted.dir());
    let (name, configuration) = checker
        .configuration(&|name| wanted.text(name))
        .unwrap_or_default();
    let is_package = |below: &str| {
        disk.names(&dir.join(below))
            .is_some_and(|names| names.iter().any(|name| name == "__init__.py"))
    };
    let (mut named, mut more) = (Vec::new(), 0);
    for target in wanted
        .targets
        .iter()
        .filter(|target| !target.is_dir)
        .take(MAX_SILENCED_FILES)
    {
        let path = target.below(dir);
        let Some(content) = disk.text(&target.path) else {
            continue;
        };
        let source = CheckSource {
            path: &path,
            text: &content,
            is_package: &is_package,
        };
        let Some(why) = checker.silenced(source, &configuration) else {
            continue;
        };
        if notes.len() < MAX_REASONS * 2 {
            notes.push(format!("`{path}` is not checked: {}", beginning(&why)));
        } else {
            more += 1;
        }
        if !target.is_matched {
            named.push(path);
        }
    }
    if more > 0 {
        notes.push(format!(
            "{more} more files are not checked for the same kinds of reasons"
        ));
    }
    let is_wide = wanted.targets.is_empty() || wanted.targets.iter().any(|target| target.is_dir);
    if let Some(exclude) = checker.excluded(&configuration).filter(|_| is_wide) {
        notes.push(format!(
            "left out by `exclude` in {name}: {}",
            beginning(&exclude)
        ));
    }
    named
}

/// Returns the beginning of a text from the project.
fn beginning(text: &str) -> &str {
    const MAX_EXCERPT_BYTES: usize = 200;
    &text[..text.floor_char_boundary(MAX_EXCERPT_BYTES)]
}

fn choose(
    context: &RunContext<'_>,
    cwd: &Path,
    request: &CheckRequest<'_>,
) -> Result<(&'static dyn Checker, PathBuf, Vec<String>), TestrunError> {
    let start = files::start(context.disk(), cwd, request.cwd.is_some(), request.files);
    let found = detection::around::<dyn Checker>(&context.disk(), &start);
    if let Some(asked) = request.checker {
        let of = found
            .into_iter()
            .find(|found| found.what.name() == asked.name());
        let dir = of.map_or_else(|| cwd.to_path_buf(), |found| found.dir);
        return Ok((asked, dir, Vec::new()));
    }
    let suits = |found: &&DetectedTool<dyn Checker>| {
        request.files.iter().all(|file| found.what.suits(file))
    };
    let best = found.iter().find(suits);
    let installed = only_checker(context.disk(), &start, request.files)
        .filter(|_| best.is_none_or(DetectedTool::is_habit));
    let Some(best) = best else {
        let what = if request.files.is_empty() {
            "its types are checked"
        } else {
            "types of such files are checked"
        };
        let below = subprojects::projects::<dyn Checker>(context, cwd, request.files);
        return match installed {
            Some((checker, dir)) if below.is_none() => {
                let dir = if dir.starts_with(cwd) {
                    dir
                } else {
                    cwd.to_path_buf()
                };
                Ok((checker, dir, vec![single_checker_note(checker)]))
            }
            _ => {
                let names = CHECKERS
                    .map(|checker| format!("`{}`", checker.name()))
                    .join(", ");
                let named = format!("the checker with `checker`: {names}");
                Err(TestrunError::Nothing {
                    dir: cwd.to_path_buf(),
                    what,
                    below,
                    named,
                    own_command: None,
                })
            }
        };
    };
    if let Some((checker, _)) = installed.filter(|(checker, _)| checker.name() != best.what.name())
    {
        return Ok((
            checker,
            best.dir.clone(),
            vec![single_checker_note(checker)],
        ));
    }
    Ok((best.what, best.dir.clone(), best.notes(&found, "checker")))
}

/// Returns a note with the reason for a checker that the project does not name.
fn single_checker_note(checker: &dyn Checker) -> String {
    format!(
        "{}: the project names no checker, and this is the only one installed",
        checker.name()
    )
}

/// Returns the only Python checker installed in a directory, and the directory. Takes the nearest
/// directory from `from` upwards that has one. Returns `None` if it has several, or if they do not
/// suit these files.
fn only_checker(
    disk: AllowedDisk<'_>,
    from: &Path,
    files: &[String],
) -> Option<(&'static dyn Checker, PathBuf)> {
    let is_python = |checker: &&dyn Checker| {
        checker.language() == Some(Language::Python) && checker.checks_types()
    };
    for dir in from.ancestors() {
        disk.names(dir)?;
        let installed = CHECKERS
            .into_iter()
            .filter(|checker| is_python(checker) && checker.is_in(disk, dir));
        match *installed.collect::<Vec<_>>() {
            [] => {}
            [only] => {
                return files
                    .iter()
                    .all(|file| only.suits(file))
                    .then(|| (only, dir.to_path_buf()));
            }
            _ => return None,
        }
    }
    None
}

/// Returns true if the check includes a path below the project.
fn includes(wanted: &CheckInputs<'_>, file: &str) -> bool {
    let file = wanted.dir().join(file);
    let is_of = |target: &NamedPath| {
        if target.is_dir {
            file.starts_with(&target.path)
        } else {
            file == target.path
        }
    };
    wanted.targets.is_empty() || wanted.targets.iter().any(is_of)
}

fn scope(wanted: &CheckInputs<'_>) -> Scope {
    let files = wanted
        .targets
        .iter()
        .map(|target| target.below(wanted.dir()))
        .collect();
    Scope {
        files,
        ..Scope::default()
    }
}

/// Returns the requested targets that were not checked; empty if the checked files are unknown.
fn not_checked(
    checker: &dyn Checker,
    wanted: &CheckInputs<'_>,
    listed: &BTreeSet<String>,
) -> Vec<String> {
    let is_listed = |target: &NamedPath| {
        let path = target.path.to_string_lossy();
        if target.is_dir {
            let inside = format!("{path}/");
            listed
                .range(inside.clone()..)
                .next()
                .is_some_and(|file| file.starts_with(&inside))
        } else {
            listed.contains(&*path)
        }
    };
    let asked = wanted
        .targets
        .iter()
        .filter(|target| !listed.is_empty() && checker.is_source(target));
    asked
        .filter(|target| !is_listed(target))
        .map(|target| target.below(wanted.dir()))
        .collect()
}

fn missing_tool(
    checker: &'static dyn Checker,
    wanted: &CheckInputs<'_>,
    mut notes: Vec<String>,
    missing: &MissingProgram,
) -> RunOutcome<Diagnostics> {
    notes.push(missing.what.clone());
    let cwd = wanted.dir().to_string_lossy().into_owned();
    let tool = ToolInfo::new(checker.id(), cwd);
    let ending = ProcessEnding {
        missing: true,
        ..ProcessEnding::default()
    };
    let mut report =
        verdict::diagnostics(tool, scope(wanted), CheckResults::default(), ending, |_| {
            true
        });
    let elsewhere = projects_with_tool(wanted.context, wanted.dir(), checker);
    report.hint = elsewhere.or_else(|| Some(wanted.context.install_hint(&missing.install, "")));
    RunOutcome {
        report,
        notes,
        denied: Vec::new(),
        log: None,
    }
}
