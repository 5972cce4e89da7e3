//! Reports as text for the model: counts, then failures, then the other tests by name. Every line
//! costs tokens, so there are no repetitions and no empty lines.

use std::fmt::Write as _;

use replay_base::limits::MAX_TOLD_LINES;
use serde::Serialize;

use super::model::{
    Case, CheckStatus, Diagnostic, Diagnostics, FileError, Frame, Severity, State, TestError,
    TestReport, TestStatus,
};
use super::reports::stack::frames_to_show;

/// Beginning of a line about files that were not taken for tests.
pub const LEFT_OUT: &str = "LEFT OUT ";

pub fn tests(report: &TestReport) -> String {
    let mut text = String::new();
    heading(&mut text, report);
    failures(&mut text, &report.failures);
    match (report.truncated.failures, &report.tests) {
        (0, _) => {}
        (more, None) => {
            let _ = writeln!(
                text,
                "... and {more} more failed (`detail: \"all\"` shows more, the log has all)"
            );
        }
        (more, Some(_)) => {
            let _ = writeln!(text, "... and {more} more failed (the log has all)");
        }
    }
    file_errors(&mut text, &report.file_errors);
    for error in &report.run_errors {
        let class = error.class.as_deref().unwrap_or("output");
        let _ = writeln!(text, "RUN ERROR {class}");
        indented(&mut text, &error.message);
        frames(&mut text, &error.stack);
    }
    for id in &report.unfinished {
        let _ = writeln!(text, "UNFINISHED {id}");
    }
    for id in &report.not_run {
        let _ = writeln!(text, "DID NOT RUN {id}");
    }
    for what in &report.left_out {
        let _ = writeln!(text, "{LEFT_OUT}{what}");
    }
    others(&mut text, report);
    if let Some(hint) = &report.hint {
        let _ = writeln!(text, "hint: {hint}");
    }
    text.truncate(text.trim_end().len());
    text
}

/// Writes `FAILED: 3 passed, 1 failed, 2 skipped (vitest 5.1.1, 0.82 s)`.
fn heading(text: &mut String, report: &TestReport) {
    let summary = &report.summary;
    let status = match report.status {
        TestStatus::Passed => "PASSED",
        TestStatus::Failed => "FAILED",
        TestStatus::Incomplete => "INCOMPLETE",
        TestStatus::NoTests => "NO TESTS RAN",
        TestStatus::BuildError => "BUILD ERROR",
        TestStatus::ConfigError => "CONFIGURATION ERROR",
        TestStatus::MissingTool => "MISSING TOOL",
        TestStatus::TimedOut => "TIMED OUT",
        TestStatus::Crashed => "CRASHED",
    };
    let counts = [
        (summary.passed, "passed"),
        (summary.failed, "failed"),
        (summary.errored, "errored"),
        (summary.skipped, "skipped"),
        (summary.todo, "todo"),
        (summary.expected_failures, "failed as expected"),
        (summary.flaky, "flaky"),
        (summary.not_run, "not run"),
    ];
    let no_report = report.has_no_report.then(|| {
        let code = report.exit_code.unwrap_or_default();
        format!("no report: exit {code}")
    });
    let told: Vec<_> = counts
        .iter()
        .filter(|(count, word)| *count > 0 || *word == "passed" || *word == "failed")
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let faults = [
        (report.file_errors.len(), "file error"),
        (report.run_errors.len(), "run error"),
    ];
    let faults = faults
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(*count as u64, noun));
    let told: Vec<_> = match no_report {
        Some(words) => vec![words],
        None => told.into_iter().chain(faults).collect(),
    };
    let version = after_blank(report.runner.version.as_ref());
    let name = report.runner.name.0;
    let less = if report.left_out.is_empty() {
        ""
    } else {
        "; shortened"
    };
    let _ = writeln!(
        text,
        "{status}: {} ({name}{version}, {}{less})",
        told.join(", "),
        seconds(report.duration_ms)
    );
}

/// Groups equal items: each first item with the others like it.
fn grouped<T>(all: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<(&T, Vec<&T>)> {
    let mut groups: Vec<(&T, Vec<&T>)> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|(first, _)| is_same(first, one)) {
            Some((_, others)) => others.push(one),
            None => groups.push((one, Vec::new())),
        }
    }
    groups
}

/// Writes the files that could not be loaded; a shared message appears once.
fn file_errors(text: &mut String, errors: &[FileError]) {
    let place = |error: &FileError| place(Some(&error.file), error.line, error.column);
    for (first, others) in grouped(errors, |one, other| {
        one.phase == other.phase && essential_lines(&one.message) == essential_lines(&other.message)
    }) {
        let _ = writeln!(text, "ERROR {} ({})", place(first), wire_name(first.phase));
        indented(text, &first.message);
        if !others.is_empty() {
            let named: Vec<String> = others.iter().map(|error| place(error)).collect();
            let _ = writeln!(
                text,
                "  and {} more with the same message: {}",
                others.len(),
                named.join(", ")
            );
        }
    }
}

/// Returns the lines of a message that do not depend on the place: those that pytest marks, if any.
/// The lines around them are source code, which differs.
fn essential_lines(message: &str) -> Vec<&str> {
    let marked: Vec<&str> = message
        .lines()
        .filter(|line| line.starts_with("E  "))
        .collect();
    if marked.is_empty() {
        message.lines().collect()
    } else {
        marked
    }
}

/// Writes the failures; those with equal messages form a group with one text.
fn failures(text: &mut String, cases: &[Case]) {
    for (first, others) in grouped(cases, has_same_message) {
        failure(text, first);
        if !others.is_empty() {
            let _ = writeln!(text, "  and {} more with the same message:", others.len());
        }
        for case in others {
            text.push_str("  ");
            failed_name(text, case);
        }
    }
}

fn has_same_message(one: &Case, other: &Case) -> bool {
    let is_same = |(one, other): (&TestError, &TestError)| {
        essential_lines(&one.message) == essential_lines(&other.message)
            && [&one.class, &one.expected, &one.actual, &one.diff]
                == [&other.class, &other.expected, &other.actual, &other.diff]
    };
    !one.errors.is_empty()
        && one.errors.len() == other.errors.len()
        && one.errors.iter().zip(&other.errors).all(is_same)
        && (&one.stdout, &one.stderr) == (&other.stdout, &other.stderr)
}

fn failure(text: &mut String, case: &Case) {
    failed_name(text, case);
    for error in &case.errors {
        self::error(text, error);
    }
    for (name, output) in [("stdout", &case.stdout), ("stderr", &case.stderr)] {
        if let Some(output) = output {
            let _ = writeln!(text, "  {name}:");
            indented(text, output);
        }
    }
    for path in &case.attachments {
        let _ = writeln!(text, "  attachment: {path}");
    }
}

fn failed_name(text: &mut String, case: &Case) {
    let word = match case.state {
        State::TimedOut => "TIMED OUT",
        State::Crashed => "CRASHED",
        State::Errored => "ERROR",
        _ => "FAIL",
    };
    let time = case
        .duration_ms
        .filter(|time| *time > 0)
        .map(|time| format!(" ({})", duration(time)))
        .unwrap_or_default();
    // If the id begins with the file, write the line alone.
    let place = match (&case.file, case.line) {
        (Some(file), Some(line)) if case.id.starts_with(file.as_str()) => format!(" (line {line})"),
        (Some(file), line) if !case.id.contains(file.as_str()) => {
            format!(" ({})", self::place(Some(file), line, None))
        }
        _ => String::new(),
    };
    let _ = writeln!(text, "{word} {}{place}{time}", case.id);
}

fn error(text: &mut String, error: &TestError) {
    let message = match error.class.as_deref() {
        // Every failed assertion has this class, so omit it.
        Some(class)
            if !matches!(class, "Error" | "AssertionError")
                && !error.message.starts_with(class) =>
        {
            format!("{class}: {}", error.message)
        }
        _ => error.message.clone(),
    };
    indented(text, &message);
    let is_told = |value: &Option<String>| {
        let assertion = error.message.starts_with("expected ");
        value
            .as_deref()
            .is_some_and(|value| (assertion || value.len() > 3) && error.message.contains(value))
    };
    match (&error.diff, &error.expected, &error.actual) {
        // The message contains both already.
        (_, expected, actual) if is_told(expected) && is_told(actual) => {}
        (Some(diff), expected, actual) => {
            let is_short =
                |value: &Option<String>| value.as_ref().is_some_and(|value| !value.contains('\n'));
            if is_short(expected) && is_short(actual) {
                values(text, expected.as_deref(), actual.as_deref());
            } else {
                indented(text, diff);
            }
        }
        (None, expected, actual) => values(text, expected.as_deref(), actual.as_deref()),
    }
    frames(text, &error.stack);
}

fn values(text: &mut String, expected: Option<&str>, actual: Option<&str>) {
    for (name, value) in [("expected", expected), ("actual", actual)] {
        if let Some(value) = value {
            indented(text, &format!("{name}: {value}"));
        }
    }
}

fn frames(text: &mut String, stack: &[Frame]) {
    for frame in stack.iter().take(frames_to_show(stack)) {
        let place = place(Some(&frame.file), frame.line, frame.column);
        let _ = match &frame.function {
            Some(function) => writeln!(text, "  at {place} {function}"),
            None => writeln!(text, "  at {place}"),
        };
    }
}

/// Writes the names of requested tests that are no failures; the slow ones with their times.
fn others(text: &mut String, report: &TestReport) {
    let tests = report.tests.as_deref().unwrap_or_default();
    let mut told: Vec<_> = tests
        .iter()
        .filter(|test| !test.state.is_failure())
        .collect();
    // Tests that did not run are more of a surprise than passed ones.
    told.sort_by_key(|test| test.state == State::Passed);
    for test in told {
        let word = if test.state == State::Passed {
            "ok".to_owned()
        } else {
            wire_name(test.state)
        };
        let time = test
            .duration_ms
            .filter(|time| *time >= 100)
            .map(|time| format!(" ({})", duration(time)));
        let _ = writeln!(text, "{word} {}{}", test.id, time.unwrap_or_default());
    }
    if report.truncated.others > 0 {
        let _ = writeln!(text, "... and {} more", report.truncated.others);
    }
}

pub fn diagnostics(report: &Diagnostics) -> String {
    let mut text = String::new();
    let summary = &report.summary;
    let status = match report.status {
        CheckStatus::Clean => "CLEAN",
        CheckStatus::Errors => "ERRORS",
        CheckStatus::Incomplete => "INCOMPLETE",
        CheckStatus::ConfigError => "CONFIGURATION ERROR",
        CheckStatus::MissingTool => "MISSING TOOL",
        CheckStatus::TimedOut => "TIMED OUT",
    };
    let version = after_blank(report.tool.version.as_ref());
    let _ = write!(
        text,
        "{status}: {}, {}",
        counted(summary.errors, "error"),
        counted(summary.warnings, "warning")
    );
    if summary.hidden_outside_scope > 0 {
        let _ = write!(
            text,
            ", {} outside what was asked for",
            summary.hidden_outside_scope
        );
    }
    if let Some(files) = report.files_checked {
        let _ = write!(text, ", {} analysed", counted(files, "file"));
    }
    let _ = writeln!(
        text,
        " ({}{version}, {})",
        report.tool.name.0,
        seconds(report.duration_ms)
    );
    for diagnostic in &report.diagnostics {
        self::diagnostic(&mut text, diagnostic);
    }
    for file in &report.not_checked {
        let _ = writeln!(text, "NOT CHECKED {file}");
    }
    if report.truncated > 0 {
        let _ = writeln!(text, "... and {} more", report.truncated);
    }
    if let Some(hint) = &report.hint {
        let _ = writeln!(text, "hint: {hint}");
    }
    text.truncate(text.trim_end().len());
    text
}

/// Writes `src/a.ts:3:7 error TS2322: message`.
fn diagnostic(text: &mut String, diagnostic: &Diagnostic) {
    if let file @ Some(_) = diagnostic.file.as_deref() {
        let _ = write!(text, "{} ", place(file, diagnostic.line, diagnostic.column));
    }
    let code = after_blank(diagnostic.code.as_ref());
    let mut lines = diagnostic.message.lines();
    let _ = writeln!(
        text,
        "{}{code}: {}",
        wire_name(diagnostic.severity),
        lines.next().unwrap_or_default()
    );
    for line in lines.take(MAX_TOLD_LINES) {
        // Most checkers indent them already.
        let indent = if line.starts_with(' ') { "" } else { "  " };
        let _ = writeln!(text, "{indent}{}", line.trim_end());
    }
    if diagnostic.severity == Severity::Note {
        return;
    }
    for related in &diagnostic.related {
        let place = match (&related.file, related.line) {
            // For a place in the same file, write the line alone.
            (Some(file), Some(line)) if diagnostic.file.as_ref() == Some(file) => {
                format!("line {line}: ")
            }
            (Some(file), line) => format!("{}: ", place(Some(file), line, related.column)),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "  {place}{}",
            related.message.lines().next().unwrap_or_default()
        );
    }
}

/// Returns the name of a value in the structured reply.
fn wire_name(value: impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn after_blank(word: Option<&String>) -> String {
    word.map(|word| format!(" {word}")).unwrap_or_default()
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn place(file: Option<&str>, line: Option<u32>, column: Option<u32>) -> String {
    let mut place = file.unwrap_or_default().to_owned();
    for number in [line, line.and(column)].into_iter().flatten() {
        let _ = write!(place, ":{number}");
    }
    place
}

fn indented(text: &mut String, block: &str) {
    let mut lines = block.lines().filter(|line| !line.trim().is_empty());
    for line in lines.by_ref().take(MAX_TOLD_LINES) {
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(text, "  ... {more} more lines");
    }
}

fn seconds(milliseconds: u64) -> String {
    format!("{:.2} s", milliseconds as f64 / 1000.0)
}

fn duration(milliseconds: u64) -> String {
    if milliseconds < 1000 {
        format!("{milliseconds} ms")
    } else {
        seconds(milliseconds)
    }
}
