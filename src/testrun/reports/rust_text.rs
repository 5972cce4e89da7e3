//! Output of Rust programs: panics, and compiler errors.

use super::collector::ResultCollector;
use super::stack::place_of;
use crate::model::{Frame, Phase, TestError};

/// Splits the output of a failed test into the error and the text before it.
///
/// The text of a panic is that of the default hook in `library/std/src/panicking.rs`, before and
/// since Rust 1.73.
pub(crate) fn failure<'t>(
    collector: &mut ResultCollector<'_>,
    text: &'t str,
) -> (TestError, &'t str) {
    let Some(at) = text
        .find("' panicked at ")
        .or_else(|| text.find(") panicked at "))
    else {
        return without_panic(collector, text);
    };
    let start = text[..at].rfind("thread '").unwrap_or(at);
    let said = &text[at + "' panicked at ".len()..];
    let said = said.split("\nstack backtrace:\n").next().unwrap_or(said);
    let (place, message) = said.split_once('\n').unwrap_or((said, ""));
    let message = message.split("\nnote: ").next().unwrap_or(message);
    let message = if message.starts_with("note: ") {
        ""
    } else {
        message
    };
    let (place, message) = match place.strip_suffix(':') {
        Some(place) => (place, message.to_owned()),
        // Before Rust 1.73 the message came before the place.
        None => match place.rsplit_once("', ") {
            Some((first, place)) => (
                place,
                format!("{}\n{message}", first.trim_start_matches('\'')),
            ),
            None => (place, message.to_owned()),
        },
    };
    let mut error = parse_assert_eq(collector, message.trim());
    if let Some((_, note)) = text.split_once("note: panic did not contain expected string") {
        let part = |name: &str| {
            note.lines()
                .find_map(|line| line.trim().strip_prefix(name))
                .map(str::to_owned)
        };
        let (actual, expected) = (part("panic message: "), part("expected substring: "));
        error = collector.error(None, "panic did not contain expected string");
        error.actual = actual.map(|text| collector.text(&text));
        error.expected = expected.map(|text| collector.text(&text));
    }
    error.stack = frame(collector, place);
    (error, &text[..start])
}

/// Parses a test that returned an error, or that did not panic as expected.
fn without_panic<'t>(collector: &mut ResultCollector<'_>, text: &'t str) -> (TestError, &'t str) {
    if let Some(at) = text.find("note: test did not panic as expected") {
        let line = text[at..].lines().next().unwrap_or_default();
        let mut error = collector.error(None, "test did not panic as expected");
        error.stack = line
            .rsplit_once(" at ")
            .map(|(_, place)| frame(collector, place))
            .unwrap_or_default();
        return (error, &text[..at]);
    }
    match text
        .rfind("Error: ")
        .filter(|at| *at == 0 || text[..*at].ends_with('\n'))
    {
        Some(at) => (collector.error(None, text[at..].trim()), &text[..at]),
        None => (collector.error(None, text.trim()), ""),
    }
}

/// Parses the message of `assert_eq!` with its two values.
fn parse_assert_eq(collector: &mut ResultCollector<'_>, message: &str) -> TestError {
    let parts = message.split_once("\n  left: ").and_then(|(first, rest)| {
        let (left, right) = rest.split_once("\n right: ")?;
        Some((first, left, right))
    });
    let Some((first, left, right)) = parts else {
        return collector.error(None, message);
    };
    let mut error = collector.error(None, first);
    // There is no convention for the order: both values appear under the names in the message.
    error.actual = Some(collector.text(left));
    error.expected = Some(collector.text(right));
    error
}

fn frame(collector: &mut ResultCollector<'_>, place: &str) -> Vec<Frame> {
    let Some((file, line, column)) = place_of(place.trim()) else {
        return Vec::new();
    };
    collector.stack(vec![Frame {
        column: Some(column),
        ..Frame::at(file, Some(line))
    }])
}

/// Adds the compiler errors in Cargo's stderr. Returns true if a build failed.
pub(crate) fn compile_errors(collector: &mut ResultCollector<'_>, text: &str) -> bool {
    let mut failed = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("error") {
            continue;
        }
        if line.starts_with("error: could not compile ")
            || line.starts_with("error: failed to run custom build command")
        {
            failed = true;
            continue;
        }
        // The place is on the next line; Cargo's own errors have none.
        let Some(place) = lines
            .peek()
            .and_then(|next| next.trim_start().strip_prefix("--> "))
        else {
            continue;
        };
        let Some((file, number, column)) = place_of(place) else {
            continue;
        };
        lines.next();
        let label = lines
            .by_ref()
            .take_while(|line| !line.is_empty())
            .take(12)
            .find_map(|line| {
                line.split_once(" | ")?
                    .1
                    .split_once('^')
                    .map(|(_, label)| label)
            })
            .unwrap_or_default();
        let label = label.trim_start_matches('^').trim();
        let message = if label.is_empty() {
            line.to_owned()
        } else {
            format!("{line} ({label})")
        };
        collector.file_error(file, Phase::Compile, &message, Some(number), Some(column));
    }
    failed
}
