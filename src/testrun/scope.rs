//! Selection of tests from the arguments of a call, for a known runner.

use std::path::Path;

use replay_base::limits::{MAX_LEFT_OUT, MAX_TEST_FILES};
use replay_files::policy::{Checked, Read};
use replay_sandbox::exec::Exit;

use super::changes;
use super::choice::RunnerChoice;
use super::context::RunContext;
use super::error::TestrunError;
use super::listing::listed;
use super::project::files::{self, NamedPath};
use super::request::RunRequest;
use super::selection::TestSelection;

/// Selected tests of a call; `Err` is the note with the reason for an empty run.
pub(crate) type SelectionResult = Result<TestSelection, String>;

/// Returns the tests that the arguments select. Adds notes on choices that the arguments do not
/// show.
pub(crate) fn scope(
    context: &RunContext<'_>,
    chosen: &mut RunnerChoice,
    request: &RunRequest<'_>,
    cwd: &Checked<Read>,
    project: &Checked<Read>,
) -> Result<SelectionResult, TestrunError> {
    let asked = [
        !request.files.is_empty(),
        request.changed,
        request.rerun_failed,
    ];
    if asked.iter().filter(|asked| **asked).count() > 1 {
        return Err(TestrunError::arguments(
            "`testFiles`, `changed` and `rerunFailed` cannot be combined; give one of them",
        ));
    }
    if chosen.runner.is_custom_command() && asked.contains(&true) {
        return Err(TestrunError::arguments(format!(
            "`testFiles`, `changed` and `rerunFailed` do not apply to `runner: \"{}\"`; select \
             the tests in `command`",
            chosen.runner.name()
        )));
    }
    if request.rerun_failed {
        return failed_tests(context, chosen, project);
    }
    if request.changed {
        return changed_tests(context, chosen, project);
    }
    if !request.files.is_empty() {
        let mut targets = files::targets(context.call(), &[cwd, project], request.files)?;
        for target in &mut targets {
            if target.is_dir && target.path == project.display_path() {
                return Ok(Ok(whole(context, chosen, project)));
            }
            if !target.part.is_empty() && !chosen.runner.has_node_ids() {
                return Err(TestrunError::arguments(format!(
                    "`{}` names a test in a file, which only pytest understands; give the name as `filter`",
                    target.part
                )));
            }
        }
        return Ok(Ok(TestSelection::Targets(targets)));
    }
    let below = cwd.display_path() != project.display_path();
    if below && !chosen.runner.covers_whole_project() {
        chosen.notes.push(format!(
            "only tests below `cwd`; the project is `{}`",
            project.display_path().display()
        ));
        return Ok(Ok(TestSelection::Targets(vec![NamedPath::whole(
            cwd.display_path().to_path_buf(),
            true,
        )])));
    }
    Ok(Ok(whole(context, chosen, project)))
}

fn failed_tests(
    context: &RunContext<'_>,
    chosen: &mut RunnerChoice,
    project: &Checked<Read>,
) -> Result<SelectionResult, TestrunError> {
    let (dir, runner) = (project.display_path(), chosen.runner.id());
    let Some(known) = context.history.failed(dir, runner) else {
        return Err(TestrunError::arguments(format!(
            "`rerunFailed` needs an earlier run: {} has not run in `{}` since the server was started",
            runner.0,
            dir.display()
        )));
    };
    if known.is_empty() {
        let cut = context.history.cut(dir, runner);
        return Ok(Err(match cut {
            Some(cut) => format!(
                "no failed test is known; but there are {}: run them without `rerunFailed`",
                cut.describe()
            ),
            None => format!(
                "nothing to run again: every test that failed with {} in `{}` since the start of \
                 the server has passed since, or was removed",
                runner.0,
                dir.display()
            ),
        }));
    }
    let count = known.len();
    chosen.notes.push(format!(
        "only tests that failed and have not passed since: {count}"
    ));
    Ok(Ok(TestSelection::Failed(known.to_vec())))
}

/// Returns the selection of all tests in a project.
fn whole(
    context: &RunContext<'_>,
    chosen: &mut RunnerChoice,
    project: &Checked<Read>,
) -> TestSelection {
    let (selection, left_out) = chosen.runner.whole(context, project.display_path());
    chosen.left_out.extend(left_out);
    selection
}

/// Maximum files named in a note.
const MAX_NAMED: usize = 5;

/// Returns `1 changed file` or `2 changed files`.
fn changed_files(count: usize) -> String {
    format!("{count} changed file{}", if count == 1 { "" } else { "s" })
}

fn changed_tests(
    context: &RunContext<'_>,
    chosen: &mut RunnerChoice,
    project: &Checked<Read>,
) -> Result<SelectionResult, TestrunError> {
    let outcome = context.ask(project, changes::GIT)?;
    let text = outcome.stdout.text();
    let files = changes::changed(&text)
        .filter(|_| outcome.exit == Exit::Code(0))
        .ok_or_else(|| {
            let said = outcome.stderr.text();
            let said = said.lines().next().unwrap_or("git printed no error").trim();
            TestrunError::arguments(format!(
                "`changed` needs git to list the changes, which failed: {said}"
            ))
        })?;
    let own = files
        .files
        .iter()
        .chain(&files.gone)
        .filter(|file| file.starts_with(project.display_path()))
        .count();
    if own == 0 {
        return Ok(Err(
            "no file of the project differs from the last commit".to_owned()
        ));
    }
    let Some(found) = chosen.runner.affected(project.display_path(), &files) else {
        chosen.notes.push(format!(
            "tests that {} finds affected by {}",
            chosen.runner.name(),
            changed_files(own)
        ));
        return Ok(Ok(TestSelection::Changed));
    };
    let mut targets = found.targets;
    let below = |file: &Path| {
        file.strip_prefix(project.display_path())
            .unwrap_or(file)
            .display()
            .to_string()
    };
    let mut alone: Vec<String> = found.unknown.iter().map(|file| below(file)).collect();
    for (glob, file) in found.globs.iter().take(MAX_TEST_FILES) {
        let tests = files::matching(context.call(), project, glob)?;
        if tests.is_empty() {
            alone.push(below(file));
        }
        targets.extend(tests.into_iter().map(|path| NamedPath::whole(path, false)));
    }
    if let Some(alone) = listed(alone, MAX_LEFT_OUT) {
        let what = if found.by_package {
            "not a source file of a package"
        } else {
            "without a test of the same name"
        };
        chosen
            .left_out
            .push(format!("changed, and {what}: {alone}"));
    }
    if targets.is_empty() {
        return Ok(Err(format!(
            "no test belongs to {} by its name; tests that import these files were not searched \
             for",
            changed_files(own)
        )));
    }
    if found.by_package {
        chosen.notes.push(format!(
            "only the packages of {} were tested; tests of other packages that use them were not \
             run",
            changed_files(own)
        ));
    } else {
        let named = targets
            .iter()
            .map(|target| target.below(project.display_path()))
            .collect();
        chosen.notes.push(format!(
            "only {} were run, by the names of {}; other tests that use the changed files were \
             not run",
            listed(named, MAX_NAMED).unwrap_or_default(),
            changed_files(own)
        ));
    }
    Ok(Ok(TestSelection::Targets(targets.into_iter().collect())))
}
