//! Choice of the runner, if the call names none.

use std::path::{Path, PathBuf};

use replay_base::text::escape::show_path;
use serde_json::json;

use super::context::RunContext;
use super::detection::{self, DetectedTool};
use super::error::TestrunError;
use super::project::files;
use super::project::own_command::{self, OwnCommand};
use super::runner::Runner;
use super::subprojects;

/// The chosen runner, and the reasons.
#[derive(Clone, Debug)]
pub(crate) struct RunnerChoice {
    pub runner: &'static dyn Runner,
    pub dir: PathBuf,
    /// Reasons for the runner, and the alternatives.
    pub notes: Vec<String>,
    /// Tests that the run omits although the call did not ask for that.
    pub left_out: Vec<String>,
}

impl RunnerChoice {
    /// Creates a choice that leaves nothing out.
    pub(crate) fn new(runner: &'static dyn Runner, dir: PathBuf, notes: Vec<String>) -> Self {
        let left_out = Vec::new();
        Self {
            runner,
            dir,
            notes,
            left_out,
        }
    }
}

/// Chooses the runner for `cwd`, which is given or the default. Takes the requested one, or the
/// best one for the named files.
pub(crate) fn choose(
    context: &RunContext<'_>,
    cwd: &Path,
    is_told: bool,
    asked: Option<&'static dyn Runner>,
    files: &[String],
) -> Result<RunnerChoice, TestrunError> {
    let disk = context.disk();
    let start = files::start(disk, cwd, is_told, files);
    let mut found = detection::around::<dyn Runner>(&disk, &start);
    if let Some(asked) = asked {
        let of = found
            .into_iter()
            .find(|found| found.what.about().origin == asked.about().origin);
        let dir = of.map_or_else(|| cwd.to_path_buf(), |found| start_dir(found, cwd));
        return Ok(RunnerChoice::new(asked, dir, Vec::new()));
    }
    let suits = |found: &DetectedTool<dyn Runner>| files.iter().all(|file| found.what.suits(file));
    if !found.iter().any(suits) && !files.is_empty() {
        // The given directory has no runner for these files: look around the files.
        found = detection::around(&disk, &files::start(disk, cwd, false, files));
    }
    let Some(at) = found.iter().position(suits) else {
        reject_several_projects(context, cwd, files)?;
        let what = if files.is_empty() {
            "its tests are run"
        } else {
            "the tests of such files are run"
        };
        let below = subprojects::projects::<dyn Runner>(context, cwd, files);
        let own_command = own_command::find(&disk, cwd).filter(|_| found.is_empty());
        let own_command = own_command.map(|own| own_call(cwd, &own));
        let named = "the runner with `runner` (as `runner: \"pytest\"`), or any test command with `command`";
        return Err(TestrunError::Nothing {
            dir: cwd.to_path_buf(),
            what,
            below,
            named: named.to_owned(),
            own_command,
        });
    };
    let mut best = found.remove(at);
    let project = disk.directory(&best.dir)?;
    if let Some((runner, why)) = best.what.substitute(context, &project)? {
        best.what = runner;
        best.why = format!("{}; {why}", best.why);
    }
    let notes = best.notes(&found, "runner");
    Ok(RunnerChoice::new(best.what, start_dir(best, cwd), notes))
}

/// Returns the call that runs a project's own test command.
fn own_call(cwd: &Path, own: &OwnCommand) -> String {
    let mut call = json!({ "command": own.line });
    if !own.report.is_empty() {
        call["report"] = json!(own.report);
    }
    if own.dir != cwd {
        call["cwd"] = json!(own.dir.to_string_lossy());
    }
    let decides = if own.report.is_empty() {
        "Its exit code decides; if it writes JUnit XML, TAP or trx to \"$REPLAY_TEST_REPORT\", the \
         reply has counts and places"
    } else {
        "Its report gives counts and places"
    };
    format!("{}: call run_tests with `{call}`. {decides}", own.source)
}

/// Returns the directory in which a runner starts. Tests without a project start in `cwd`, where
/// Python finds their modules.
fn start_dir(found: DetectedTool<dyn Runner>, cwd: &Path) -> PathBuf {
    if found.is_habit() && found.dir.starts_with(cwd) {
        cwd.to_path_buf()
    } else {
        found.dir
    }
}

/// Returns the error for files that belong to several projects.
fn reject_several_projects(
    context: &RunContext<'_>,
    cwd: &Path,
    files: &[String],
) -> Result<(), TestrunError> {
    const MAX_NAMED: usize = 3;
    let mut groups: Vec<(DetectedTool<dyn Runner>, Vec<&str>)> = Vec::new();
    for file in files {
        let dir = files::holder(context.disk(), cwd, file).unwrap_or_else(|| cwd.to_path_buf());
        let found = detection::around::<dyn Runner>(&context.disk(), &dir);
        let Some(own) = found.into_iter().find(|found| found.what.suits(file)) else {
            return Ok(());
        };
        match groups
            .iter_mut()
            .find(|(known, _)| known.what == own.what && (known.dir == own.dir || known.is_habit()))
        {
            Some((_, files)) => files.push(file),
            None => groups.push((own, vec![file])),
        }
    }
    if groups.len() < 2 {
        return Ok(());
    }
    let is_one = groups
        .iter()
        .all(|(found, _)| found.what == groups[0].0.what);
    let told: Vec<String> = groups
        .iter()
        .take(MAX_NAMED)
        .map(|(found, files)| {
            let more = if files.len() > MAX_NAMED { ", ..." } else { "" };
            let place = if is_one {
                format!(" in {}", show_path(&found.dir))
            } else {
                String::new()
            };
            let named: Vec<&str> = files.iter().take(MAX_NAMED).copied().collect();
            format!("{}{place}: {}{more}", found.what.name(), named.join(", "))
        })
        .collect();
    let count = if groups.len() == 2 {
        "two".to_owned()
    } else {
        groups.len().to_string()
    };
    let noun = if is_one { "projects" } else { "runners" };
    Err(TestrunError::arguments(format!(
        "the files belong to {count} {noun} ({}): make one call for each",
        told.join("; ")
    )))
}
