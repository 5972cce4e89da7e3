//! Events of Gradle's tests, and its words on failed tasks.

use crate::prelude::*;

const STYLE: EventStyle = EventStyle {
    excluding: "tasks with tests that `test` does not run",
    test_errors: errors,
    file_error: |_, _, error| FileProblem {
        message: error.trace.clone().unwrap_or_default(),
        place: None,
    },
};

/// Begin of a cause of a failed build.
const WENT_WRONG: &str = "* What went wrong:";

fn errors(collector: &mut ResultCollector<'_>, reported: &ReportedError) -> Vec<TestError> {
    let trace = reported.trace.as_deref().unwrap_or_default();
    vec![jvm_text::error(collector, trace)]
}

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut reader = event_reader::read(sources, bound, &STYLE);
    let collector = &mut reader.collector;
    let [stdout, stderr] = [sources.stdout, sources.stderr].map(String::from_utf8_lossy);
    for line in stdout.lines().chain(stderr.lines()) {
        // Most versions write the second one to stderr.
        collector.results.ended |=
            line.starts_with("BUILD SUCCESSFUL") || line.starts_with("BUILD FAILED");
        let found = jvm_text::compiler_line(line).filter(|found| found.is_error);
        if let Some(found) = found {
            collector.results.build_failed = true;
            let (line, column) = (Some(found.line), found.column);
            collector.file_error(found.file, Phase::Compile, found.message, line, column);
        }
    }
    for cause in stderr.split(WENT_WRONG).skip(1) {
        let cause = cause.split("\n* ").next().unwrap_or(cause).trim();
        let task = cause
            .strip_prefix("Execution failed for task '")
            .and_then(|rest| rest.split('\'').next());
        let is_compiler = task
            .and_then(|task| task.rsplit(':').next())
            .is_some_and(|name| name.starts_with("compile"));
        collector.results.build_failed |= is_compiler;
        // Those of tests and of compilers have been told with their places.
        let is_told = is_compiler && !collector.results.file_errors.is_empty()
            || cause.contains("There were failing tests");
        if !is_told {
            collector.run_error(Some("gradle"), cause, Vec::new());
        }
    }
    reader.finish()
}
