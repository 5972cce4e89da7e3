//! Results of `dotnet test`: trx reports, and errors of the build.

use crate::by_language::dotnet::build_line;
use crate::prelude::*;

/// Begin of the line before the tests of an assembly.
pub(super) const BEGIN: &str = "Test run for ";

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let is_whole = documents::collect(sources, bound, &mut collector);
    let (mut began, mut aborted) = (0, 0);
    for line in lines::lines(sources.stdout, bound).chain(lines::lines(sources.stderr, bound)) {
        let line = String::from_utf8_lossy(line);
        began += usize::from(line.starts_with(BEGIN));
        if let Some(version) = version(&line) {
            collector.results.version = Some(version.to_owned());
        } else if let Some(error) = build_line(&line).filter(|found| found.is_error) {
            let message = format!("{}: {}", error.code, error.message);
            match error.file {
                Some(file) => {
                    collector.results.build_failed |= error.line.is_some();
                    let phase = Phase::Compile;
                    collector.file_error(file, phase, &message, error.line, error.column);
                }
                None => collector.run_error(Some("dotnet"), &message, Vec::new()),
            }
        } else if line.starts_with("Test Run Aborted") || line.contains("test run was aborted") {
            aborted += 1;
            collector.run_error(Some("dotnet"), line.trim(), Vec::new());
        }
    }
    let documents = usize::from(!sources.report.is_empty()) + sources.more_reports.len();
    let results = &mut collector.results;
    results.begun |= began > 0;
    // An assembly without a matching test has no report.
    results.ended = aborted == 0 && (is_whole || documents == 0);
    collector.results
}

/// Parses `VSTest version 17.11.1 (x64)`, and the banner of older ones.
fn version(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("VSTest version ")
        .or_else(|| line.strip_prefix("Microsoft (R) Test Execution Command Line Tool Version "))?;
    rest.split(' ').next()
}
