//! Texts of the JVM and its compilers: stack traces, assertions, and positions of errors.

use super::collector::ResultCollector;
use super::stack;
use crate::model::{Phase, TestError};
use crate::project::language::Language;

/// Creates an error from a stack trace: `class: message`, its frames, and its causes.
pub(crate) fn error(collector: &mut ResultCollector<'_>, trace: &str) -> TestError {
    let (text, frames) = stack::split_trace(trace);
    let is_class = |class: &str| class.contains('.') && !class.contains(char::is_whitespace);
    let (class, message) = match text.split_once(": ") {
        Some((class, message)) if is_class(class) => (Some(class), message),
        _ if is_class(text) => (Some(text), ""),
        _ => (None, text),
    };
    let mut error = collector.error(class, message);
    add_details(collector, &mut error, trace);
    error.stack = collector.stack(frames);
    error
}

/// Adds the causes in a stack trace to an error's message, and the values that assertions
/// write into the message.
pub(crate) fn add_details(collector: &mut ResultCollector<'_>, error: &mut TestError, trace: &str) {
    let values = expected_and_actual(&error.message);
    (error.expected, error.actual) = values.unzip();
    for line in trace.lines() {
        if let Some(cause) = line.strip_prefix("Caused by: ") {
            let cause = collector.text(cause);
            error.message = format!("{}\ncaused by: {cause}", error.message);
        }
    }
}

/// Splits `expected:<1> but was:<2>` (`JUnit` 4), also with spaces (`JUnit` 5), and `expected [1]
/// but found [2]` (`TestNG`).
fn expected_and_actual(message: &str) -> Option<(String, String)> {
    let words = [
        ("expected:<", "> but was:<", '>'),
        ("expected: <", "> but was: <", '>'),
        ("expected [", "] but found [", ']'),
    ];
    words.into_iter().find_map(|(begin, between, end)| {
        let (_, values) = message.split_once(begin)?;
        let (expected, rest) = values.split_once(between)?;
        let (actual, _) = rest.rsplit_once(end)?;
        Some((expected.to_owned(), actual.to_owned()))
    })
}

/// An error or a warning of a compiler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompilerLine<'a> {
    pub is_error: bool,
    pub file: &'a str,
    pub line: u32,
    pub column: Option<u32>,
    pub message: &'a str,
}

/// Returns the errors and warnings in the output of a compiler. javac names a missing symbol in a
/// line of its own.
pub(crate) fn compiler_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
) -> Vec<(CompilerLine<'a>, String)> {
    let mut found: Vec<(CompilerLine<'_>, String)> = Vec::new();
    for line in lines {
        if let Some(error) = compiler_line(line) {
            let message = error.message.to_owned();
            found.push((error, message));
        } else if let Some((_, symbol)) = line.split_once("  symbol:")
            && let Some((_, message)) = found.last_mut()
            && !message.contains(", ")
        {
            *message = format!("{message}, {}", symbol.trim());
        }
    }
    found
}

/// Adds the errors of a compiler in these lines.
pub(crate) fn add_compiler_errors<'a>(
    collector: &mut ResultCollector<'_>,
    lines: impl Iterator<Item = &'a str>,
) {
    for (error, message) in compiler_lines(lines)
        .iter()
        .filter(|(found, _)| found.is_error)
    {
        let (line, column) = (Some(error.line), error.column);
        collector.file_error(error.file, Phase::Compile, message, line, column);
    }
}

/// Parses a line of javac, kotlinc, groovyc or scalac, also behind Maven's or Gradle's marks:
/// `A.java:3: error: x`, `[ERROR] /p/A.java:[3,9] x`, `e: file:///p/A.kt:3:9 x`, `e: /p/A.kt: (3, 9):
/// x`, `[Error] /p/A.scala:3:9: x`.
pub(crate) fn compiler_line(line: &str) -> Option<CompilerLine<'_>> {
    let marks = [
        ("[ERROR] ", true),
        ("[WARNING] ", false),
        ("[Error] ", true),
        ("[Warn] ", false),
        ("e: ", true),
        ("w: ", false),
    ];
    let marked = marks
        .into_iter()
        .find_map(|(mark, is_error)| Some((line.strip_prefix(mark)?, is_error)));
    let (text, is_error) = marked.unwrap_or((line, true));
    let text = text.strip_prefix("file://").unwrap_or(text);
    let (at, _) = text
        .match_indices(':')
        .find(|(at, _)| Language::of(&text[..*at]) == Some(Language::Java))?;
    let (file, rest) = (&text[..at], &text[at + 1..]);
    if file.starts_with(char::is_whitespace) || file.contains('(') {
        // A frame.
        return None;
    }
    let rest = rest.trim_start().trim_start_matches(['[', '(']);
    let is_digit = |next: char| next.is_ascii_digit();
    let end = rest.find(|next| !is_digit(next))?;
    let number = rest[..end].parse().ok()?;
    let mut rest = &rest[end..];
    let mut column = None;
    if let Some(more) = rest.strip_prefix([',', ':'])
        && let more = more.trim_start()
        && let end = more.find(|next| !is_digit(next)).unwrap_or(more.len())
        && let Ok(found) = more[..end].parse()
    {
        (column, rest) = (Some(found), &more[end..]);
    }
    let message = rest.trim_start_matches([':', ']', ')']).trim_start();
    let (is_error, message) = match (
        message.strip_prefix("error: "),
        message.strip_prefix("warning: "),
    ) {
        (Some(message), _) => (true, message),
        (_, Some(message)) => (false, message),
        // Without a mark it may be any text.
        _ if marked.is_none() && !message.starts_with("unexpected ") => return None,
        _ => (is_error, message),
    };
    Some(CompilerLine {
        is_error,
        file,
        line: number,
        column,
        message,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn compiler_lines_are_parsed() {
        let of = |line: &'static str| {
            compiler_line(line).map(|found| {
                let CompilerLine {
                    is_error,
                    file,
                    line,
                    column,
                    message,
                } = found;
                (is_error, file, line, column, message)
            })
        };
        let error = |file, column| Some((true, file, 3, column, "x: y"));
        assert_eq!(of("/p/A.java:3: error: x: y"), error("/p/A.java", None));
        assert_eq!(
            of("[ERROR] /p/A.java:[3,9] x: y"),
            error("/p/A.java", Some(9))
        );
        assert_eq!(of("[ERROR] /p/A.java:[3] x: y"), error("/p/A.java", None));
        assert_eq!(of("e: file:///p/A.kt:3:9 x: y"), error("/p/A.kt", Some(9)));
        assert_eq!(of("e: /p/A.kt: (3, 9): x: y"), error("/p/A.kt", Some(9)));
        assert_eq!(
            of("[Error] /p/A.scala:3:9: x: y"),
            error("/p/A.scala", Some(9))
        );
        assert_eq!(
            of("/p/A.java:3: warning: x: y"),
            Some((false, "/p/A.java", 3, None, "x: y"))
        );
        for other in [
            "A.java:3: x",
            "\tat org.a.A.m(A.java:3)",
            "[ERROR] \tat org.a.A.m(A.java:3)",
            "[ERROR] /p/A.java uses or overrides a deprecated API.",
            "A.java:",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn assertion_values_are_found() {
        let of = |message| expected_and_actual(message);
        let two = |expected: &str, actual: &str| Some((expected.to_owned(), actual.to_owned()));
        assert_eq!(of("sum expected:<1> but was:<2>"), two("1", "2"));
        assert_eq!(of("sum ==> expected: <a> but was: <<b>>"), two("a", "<b>"));
        assert_eq!(
            of("expected [true] but found [false]"),
            two("true", "false")
        );
        assert_eq!(of("Expected x"), None);
    }
}
