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
    let causes = || {
        let causes = stderr.split(WENT_WRONG).skip(1);
        causes.map(|cause| cause.split("\n* ").next().unwrap_or(cause).trim())
    };
    let is_compiler = |cause: &str| {
        let task = cause.strip_prefix("Execution failed for task '");
        let task = task.and_then(|rest| rest.split('\'').next());
        let name = task.and_then(|task| task.rsplit(':').next());
        name.is_some_and(|name| name.starts_with("compile"))
    };
    collector.results.build_failed = causes().any(is_compiler);
    for line in stdout.lines().chain(stderr.lines()) {
        // Most versions write the second one to stderr.
        collector.results.ended |=
            line.starts_with("BUILD SUCCESSFUL") || line.starts_with("BUILD FAILED");
    }
    // Tests of compilers print lines like these.
    if collector.results.build_failed {
        let lines = stdout.lines().chain(stderr.lines());
        jvm_text::add_compiler_errors(collector, lines);
    }
    for cause in causes() {
        // Those of tests and of compilers have been told with their places.
        let is_told = is_compiler(cause) && !collector.results.file_errors.is_empty()
            || cause.contains("There were failing tests");
        if !is_told {
            collector.run_error(Some("gradle"), cause, Vec::new());
        }
    }
    reader.finish()
}
