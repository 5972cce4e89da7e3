//! Parser for `cargo nextest`: the `JUnit` XML of a profile of its own, and stderr for the rest.
//!
//! nextest writes the XML at the end of the run, without ignored tests. If the run was ended
//! before, the lines on stderr have the result of each test
//! (<https://nexte.st/docs/machine-readable/junit/>). A program with a harness of its own need not
//! name its tests (<https://nexte.st/docs/design/custom-test-harnesses/>).

use crate::prelude::*;

/// Parses the XML, and stderr for the rest.
pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut collector = ResultCollector::new(sources.root);
    let (begun, ended) = junit::cases(sources.report, bound, |element| {
        add(&mut collector, element);
    });
    (collector.results.begun, collector.results.ended) = (begun, ended);
    let stderr = String::from_utf8_lossy(sources.stderr);
    collector.results.build_failed = rust_text::compile_errors(&mut collector, &stderr);
    let mut slow: Vec<String> = Vec::new();
    let mut expected = None;
    // Failures are repeated after the summary.
    let mut summed_up = false;
    for line in lines::lines(sources.stderr, bound) {
        let line = String::from_utf8_lossy(line);
        let (line, _) = visible_text::head(&line, replay_base::limits::MAX_TEST_TEXT_BYTES);
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Starting ") {
            expected = rest
                .split(' ')
                .next()
                .and_then(|count| count.parse::<u64>().ok());
        } else if let Some(rest) = line.strip_prefix("Summary ") {
            let skipped = rest
                .split(", ")
                .find_map(|part| part.strip_suffix(" skipped")?.parse().ok());
            collector.add_skipped(skipped.unwrap_or_default());
            summed_up = true;
        } else if !begun
            && !summed_up
            && let Some((word, seconds, id)) = status_line(line)
        {
            let state = match word {
                "PASS" | "LEAK" => State::Passed,
                "TMT" | "TIMEOUT" => State::TimedOut,
                "SLOW" => {
                    if !slow.contains(&id) && slow.len() < replay_base::limits::MAX_RUN_FAULTS {
                        slow.push(id);
                    }
                    continue;
                }
                "FAIL" => State::Failed,
                _ => State::Crashed,
            };
            slow.retain(|other| *other != id);
            let mut case = Case::new(
                collector.name(&id),
                id.rsplit(' ').next().unwrap_or_default(),
                state,
            );
            case.duration_ms = seconds.and_then(millis);
            collector.add(case);
        }
    }
    if !begun {
        let missing = expected
            .unwrap_or_default()
            .saturating_sub(collector.results.summary.total);
        collector.results.begun = expected.is_some();
        collector.results.ended = summed_up;
        collector.add_not_run(missing);
        for id in &slow {
            collector.add_unfinished(id);
        }
    }
    // A program that listed no tests for nextest was not run.
    for name in sources.own_harness {
        let is_of = |id: &str| {
            let program = id.split(' ').next().unwrap_or_default();
            program.rsplit(['/', ':']).next() == Some(name.as_str())
        };
        if !collector.results.tests.iter().any(|test| is_of(&test.id)) {
            collector.add_own_harness(name);
        }
    }
    collector.results
}

/// Splits `PASS [   0.007s] ( 1/11) demo-core tests::adds`.
fn status_line(line: &str) -> Option<(&str, Option<f64>, String)> {
    let (word, rest) = line.split_once(" [")?;
    // `TRY 2 FAIL`, of a retried test.
    let word = word
        .strip_prefix("TRY ")
        .and_then(|rest| rest.split_once(' '))
        .map_or(word, |(_, word)| word);
    let known = ["PASS", "FAIL", "LEAK", "TMT", "TIMEOUT", "SLOW", "ABRT"].contains(&word)
        || word.starts_with("SIG");
    let (seconds, rest) = rest.split_once(']')?;
    let rest = rest.trim_start();
    // Only the last attempt has a number: `(2/5)`.
    let (number, id) = rest
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(") "))
        .unwrap_or(("1/1", rest));
    let is_last = word == "SLOW" || number.contains('/');
    let seconds = seconds
        .trim_start_matches(['>', ' '])
        .trim_end_matches('s')
        .parse()
        .ok();
    (known && is_last).then(|| (word, seconds, id.trim().to_owned()))
}

fn add(collector: &mut ResultCollector<'_>, element: junit::JunitCase) {
    let (out, err) = (element.out.text(), element.err.text());
    // The class is the binary's id; with the name it is nextest's own name of the test.
    let fault = element.faults.first();
    let state = match fault {
        Some(fault) if fault.kind == "test timeout" => State::TimedOut,
        Some(fault) if fault.kind == "test abort" => State::Crashed,
        Some(_) => State::Failed,
        None if element.skipped.is_some() => State::Skipped,
        None if is_cut_off(&out) => State::Crashed,
        None => State::Passed,
    };
    let (modules, name) = element
        .name
        .rsplit_once("::")
        .unwrap_or(("", &element.name));
    let id = format!("{} {}", element.class, element.name);
    let mut case = Case::new(collector.name(&id), collector.name(name), state);
    let modules = modules.split("::").filter(|module| !module.is_empty());
    case.suite = collector.suite(
        &[element.class.as_str()]
            .into_iter()
            .chain(modules)
            .collect::<Vec<_>>(),
    );
    case.duration_ms = element.time.and_then(millis);
    case.retries = element.attempts;
    if fault.is_none() && state == State::Crashed {
        case.errors
            .push(collector.error(None, "the process ended with success before the test did"));
    }
    if let Some(fault) = fault {
        let (section, out) = own_output(&out);
        let message = [err.as_str(), section].concat();
        let of_panic =
            message.contains(" panicked at ") || message.contains("note: test did not panic");
        let (error, err) = if of_panic {
            let (error, _) = rust_text::failure(collector, &message);
            (error, err.split("\nthread '").next().unwrap_or_default())
        } else {
            let text = [
                fault.message.as_str(),
                fault.text.as_str(),
                fault.kind.as_str(),
            ];
            let text = text
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default();
            (collector.error(None, text), err.as_str())
        };
        let err = if err.starts_with("thread '") || err.trim() == error.message {
            ""
        } else {
            err
        };
        case.errors.push(error);
        case.stdout = collector.output(out);
        case.stderr = collector.output(err);
    }
    collector.add(case);
}

/// Returns true if libtest announced a test and never reported its end: the test has ended the
/// process.
fn is_cut_off(out: &str) -> bool {
    out.trim_start().starts_with("running 1 test\n") && !out.contains("\ntest result: ")
}

/// Splits a test's stdout into libtest's report of the failure and the test's own output.
fn own_output(out: &str) -> (&str, &str) {
    let text = out.trim_start_matches('\n');
    let text = text.strip_prefix("running 1 test\n").unwrap_or(text);
    let own = text.find("\ntest ").map_or(text, |at| &text[..at]);
    let own = if text.starts_with("test ") { "" } else { own };
    let section = text
        .split_once(" stdout ----\n")
        .map_or("", |(_, rest)| rest);
    (
        section.split("\n\nfailures:").next().unwrap_or_default(),
        own,
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn nextest_process_exit_inside_test_is_no_pass() {
        let of = |end: &str| {
            let out = format!(
                "\nrunning 1 test\n{}{end}",
                "a line that is printed\n".repeat(20_000)
            );
            let xml = format!(
                "<testsuites><testsuite name=\"a\"><testcase name=\"b\" classname=\"a\"><system-out>{out}</system-out></testcase>\
                 </testsuite></testsuites>"
            );
            let results = parse(
                &Sources {
                    report: xml.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            results.tests[0].state
        };
        let told = "test b ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(["", told].map(of), [State::Crashed, State::Passed]);
    }
}
