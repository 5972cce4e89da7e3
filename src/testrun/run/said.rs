//! What there is to say of a run beside its report.

use std::time::Duration;

use super::Request;
use crate::exec::Stage;
use crate::testrun::below;
use crate::testrun::ground::Ground;
use crate::testrun::model::{Scope, TestReport, TestRunner, TestStatus};
use crate::testrun::plan::{Plan, Which, quoted};
use crate::testrun::reports::{Parsed, Progress};

/// The next step, where the report alone does not tell it.
pub(super) fn hint(
    ground: &Ground<'_>,
    report: &TestReport,
    request: &Request<'_>,
    which: &Which,
    has_own_harness: bool,
) -> Option<String> {
    let seconds = request.timeout.as_secs();
    Some(match report.status {
        TestStatus::MissingTool => match report.runner.name {
            TestRunner::Pytest => below::who_has(ground, report.runner.cwd.as_ref(), TestRunner::Pytest)
                .unwrap_or_else(|| ground.how_to_install(&report.runner.command, "pytest")),
            runner => format!("commands find no `{}`; the operator can show it to them with --system", needed(runner)),
        },
        TestStatus::TimedOut if report.unfinished.is_empty() => {
            format!("ended after {seconds} s: give a longer `timeout`, or fewer `testFiles`")
        }
        TestStatus::TimedOut => {
            format!(
                "ended after {seconds} s: look for an endless loop in what is unfinished, or give a longer `timeout`"
            )
        }
        TestStatus::NoTests if matches!(which, Which::Targets(_)) && !report.left_out.is_empty() => {
            "the project's own configuration leaves out what was named, as `leftOut` says: change that, or name something else"
                .to_owned()
        }
        TestStatus::ConfigError if report.runner.name == TestRunner::Nextest && has_own_harness => {
            "a test program with a harness of its own (`harness = false`) may not list its tests as cargo-nextest asks it to; \
             `runner: \"cargo\"` runs it"
                .to_owned()
        }
        TestStatus::NoTests if request.filter.is_none() && matches!(which, Which::Targets(_)) => {
            "the runner takes none of `testFiles` for files of tests".to_owned()
        }
        TestStatus::ConfigError if matches!(which, Which::Failed(_)) => {
            "a test that failed may be gone, or have another name: a run of all tests renews the list".to_owned()
        }
        _ => return None,
    })
}

/// The program that a runner is run with.
pub(super) fn needed(runner: TestRunner) -> &'static str {
    match runner {
        TestRunner::Vitest | TestRunner::Jest => "node",
        TestRunner::Pytest => "python3",
        TestRunner::CargoTest | TestRunner::Nextest => "cargo",
        TestRunner::Go => "go",
        TestRunner::Junit => "sh",
    }
}

pub(super) fn scope(which: &Which, request: &Request<'_>, root: &str) -> Scope {
    let mut files = match which {
        Which::Targets(targets) => targets.iter().map(|target| target.below(root.as_ref())).collect(),
        Which::Failed(failed) => failed.iter().map(|test| test.file.clone()).collect(),
        Which::All | Which::Changed => Vec::new(),
    };
    files.dedup();
    Scope { files, filter: request.filter.map(str::to_owned), project: None }
}

/// Vitest takes files for parts of paths, so that others may have run too.
pub(super) fn beside(which: &Which, parsed: &Parsed, root: &str) -> Option<String> {
    const NAMED: usize = 5;
    let Which::Targets(targets) = which else { return None };
    if targets.iter().any(|target| target.is_dir || !target.part.is_empty()) {
        return None;
    }
    let wanted: Vec<String> = targets.iter().map(|target| target.below(root.as_ref())).collect();
    let mut others: Vec<String> = parsed.files.iter().cloned().collect();
    others.retain(|file| !wanted.contains(file));
    let more = if others.len() > NAMED { format!(" and {} more", others.len() - NAMED) } else { String::new() };
    others.truncate(NAMED);
    (!others.is_empty())
        .then(|| format!("ran too, since the runner matches parts of paths: {}{more}", others.join(", ")))
}

pub(super) fn progress(seen: &Progress, elapsed: Duration, stage: Stage) -> String {
    let seconds = elapsed.as_secs_f64();
    match (stage, seen.total()) {
        (Stage::Waiting, _) => "waiting for a free place".to_owned(),
        (Stage::Running { .. }, Some(total)) => format!("{} of {total} tests, {seconds:.1} s", seen.done()),
        (Stage::Running { bytes }, None) => format!("running for {seconds:.1} s, {bytes} bytes of output"),
    }
}

/// The words of a command, for people.
pub(super) fn words(plan: &Plan) -> String {
    plan.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
