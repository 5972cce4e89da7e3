//! Results of Maven: the reports of its tests, and its own words on crashes and failed builds.

use crate::prelude::*;

/// Begin of the line before the tests of a class.
pub(super) const RUNNING: &str = "Running ";
const ERROR: &str = "[ERROR] ";
const LEVELS: [&str; 3] = ["[INFO] ", "[WARNING] ", ERROR];

/// Returns a line without Maven's level, which older versions of Surefire do not write.
pub(super) fn without_level(line: &str) -> &str {
    let rest = LEVELS.iter().find_map(|level| line.strip_prefix(level));
    rest.unwrap_or(line)
}

/// Parses `Tests run: 5, Failures: 0, ...`. Returns the number, and true if the line is on one
/// class.
pub(super) fn tests_run(line: &str) -> Option<(u64, bool)> {
    let (tests, rest) = line
        .strip_prefix("Tests run: ")?
        .split_once(", Failures: ")?;
    Some((tests.parse().ok()?, rest.contains("Time elapsed: ")))
}

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let is_whole = documents::collect(sources, bound, &mut collector);
    // Maven prints its version in bold even to a file.
    let stdout = visible_text::head(&String::from_utf8_lossy(sources.stdout), usize::MAX).0;
    collector.find_version(&stdout, "Apache Maven ");
    let mut running: Vec<&str> = Vec::new();
    let mut announced = 0;
    for line in stdout.lines().map(without_level) {
        if let Some(class) = line.strip_prefix(RUNNING) {
            running.push(class.trim());
            collector.results.begun = true;
        } else if let Some((tests, is_class)) = tests_run(line) {
            if is_class {
                // Older versions do not name the class.
                let class = line.rsplit_once(" in ").map(|(_, class)| class.trim());
                let known = class.and_then(|class| running.iter().position(|name| *name == class));
                let at = known.or(running.len().checked_sub(1));
                at.map(|at| running.remove(at));
            } else {
                announced += tests;
            }
        } else if let Some(outcome) = line.strip_prefix("BUILD ") {
            collector.results.passed = Some(outcome.starts_with("SUCCESS"));
        } else if line == "Tests are skipped." {
            let setting = "skipTests or maven.test.skip".to_owned();
            collector.add_left_out("tests of a module by its configuration", &[setting]);
        } else if let Some(module) = line.strip_suffix(" SKIPPED") {
            let module = module.trim_end_matches(['.', ' ']);
            collector.add_unreached(&format!("the module {module}"));
        }
    }
    collector.results.ended =
        collector.results.passed.is_some() && (is_whole || collector.results.tests.is_empty());
    for class in running {
        collector.add_unfinished(class);
        collector.add_not_run(1);
    }
    let listed = collector.results.tests.len() as u64 + collector.results.truncated.others;
    if announced > listed {
        collector.results.passed = Some(false);
        let message = format!(
            "Maven ran {announced} tests, but the reports in target/surefire-reports have {listed}"
        );
        collector.run_error(Some("counts disagree"), &message, Vec::new());
    }
    add_errors(&mut collector, &stdout);
    collector.results
}

/// Adds the errors that Maven prints after the end of a failed build.
fn add_errors(collector: &mut ResultCollector<'_>, stdout: &str) {
    let (_, end) = stdout.split_once("] BUILD FAILURE").unwrap_or(("", stdout));
    let lines = end.lines().filter(|line| line.starts_with(ERROR));
    let lines = lines.take_while(|line| !line.contains("To see the full stack trace"));
    let is_told = |line: &&str| {
        // The reports and the compiler's errors have them.
        let text = without_level(line);
        jvm_text::compiler_line(line).is_some()
            || text.contains("There are test failures")
            || text.starts_with("Please refer to ")
            || text.starts_with("-> [Help")
            || text.trim().is_empty()
    };
    if collector.results.passed != Some(true) {
        jvm_text::add_compiler_errors(collector, lines.clone());
        let has_places = !collector.results.file_errors.is_empty();
        let message: Vec<&str> = lines
            .filter(|line| !is_told(line))
            .map(|line| {
                without_level(line)
                    .split(" -> [Help")
                    .next()
                    .unwrap_or(line)
            })
            .collect();
        let is_compiler = message.iter().any(|line| line.contains("Compilation fail"));
        collector.results.build_failed |= is_compiler || has_places;
        if !message.is_empty() && !has_places {
            collector.run_error(Some("maven"), &message.join("\n"), Vec::new());
        }
    } else if stdout.contains("The forked VM terminated") {
        // `testFailureIgnore` makes a success of it.
        let message = "a process of tests terminated before its end";
        collector.run_error(Some("maven"), message, Vec::new());
    }
}
