//! Jest's results: the texts of its errors, and its configuration on stdout.

use crate::prelude::*;

const STYLE: EventStyle = EventStyle {
    excluding: "the project's configuration",
    test_errors: errors,
    file_error,
};

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut reader = event_reader::read(sources, bound, &STYLE);
    if !reader.collector.results.begun {
        reader
            .collector
            .set_patterns(&configuration_message(sources));
    }
    reader.finish()
}

/// Returns Jest's message on its configuration if it found no file, such as `testMatch: **/*.js - 0
/// matches`. Reporters are not called then (`getNoTestsFoundMessage` of jest-core).
fn configuration_message(sources: &Sources<'_>) -> Vec<String> {
    let text = String::from_utf8_lossy(sources.stdout);
    let told = text.lines().filter_map(|line| {
        let (told, _) = line.trim().rsplit_once(" - ")?;
        let (name, value) = told.split_once(':')?;
        let is_meant =
            ["testMatch", "testPathIgnorePatterns", "testRegex", "roots"].contains(&name);
        (is_meant && !value.trim().is_empty()).then(|| told.to_owned())
    });
    told.collect()
}

/// Returns an error, its causes, and the members of an `AggregateError`, which Jest 30 writes in a
/// row.
fn errors(collector: &mut ResultCollector<'_>, reported: &ReportedError) -> Vec<TestError> {
    let leads = [
        ("\n\n[cause]: ", "caused by "),
        ("\n\n[errors]: ", "in it "),
    ];
    let next = |text: &str| {
        leads
            .iter()
            .filter_map(|(mark, lead)| Some((text.find(mark)?, mark.len(), *lead)))
            .min()
    };
    let (mut rest, mut lead) = (reported.message.as_str(), "");
    let mut values = (reported.expected.as_deref(), reported.actual.as_deref());
    let mut found: Vec<TestError> = Vec::new();
    loop {
        let (at, length, following) = next(rest).unwrap_or((rest.len(), 0, ""));
        let mut error = error(collector, &rest[..at], std::mem::take(&mut values));
        if !lead.is_empty() {
            error.class = Some(format!(
                "{lead}{}",
                error.class.as_deref().unwrap_or("error")
            ));
        }
        match found.last_mut() {
            // A wrapping error repeats the message without the place.
            Some(last) if last.message == error.message => last.stack = error.stack,
            _ => found.push(error),
        }
        if length == 0 {
            return found;
        }
        (rest, lead) = (&rest[at + length..], following);
    }
}

/// Parses an error. The text is a stack; the expected and the actual value have fields of their own.
fn error(
    collector: &mut ResultCollector<'_>,
    text: &str,
    (expected, actual): (Option<&str>, Option<&str>),
) -> TestError {
    let (text, frames) = stack::split_trace(text);
    let (class, message) = split_class(text);
    // The message need not repeat the values and the diff, which have fields of their own.
    let (message, diff) = match (
        message.split_once("\n\n- Expected"),
        message.split_once("\n\nExpected:"),
    ) {
        (Some((message, diff)), _) => (message, Some(format!("- Expected{diff}"))),
        (None, Some((message, _))) if expected.is_some() && actual.is_some() => (message, None),
        _ => (message, None),
    };
    let mut error = collector.error(class, message);
    error.expected = expected.map(|text| collector.text(text));
    error.actual = actual.map(|text| collector.text(text));
    error.diff = diff.map(|text| collector.text(&text));
    error.stack = collector.stack(frames);
    error
}

/// Splits `TypeError: message`.
fn split_class(text: &str) -> (Option<&str>, &str) {
    let class = text.split_once(": ").filter(|(class, _)| {
        class
            .chars()
            .all(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '.'))
            && class.starts_with(|next: char| next.is_ascii_uppercase())
    });
    class.map_or((None, text), |(class, message)| (Some(class), message))
}

/// Returns the error of a file that did not run: it has a bullet, a code excerpt, and a stack.
fn file_error(_: &str, file: &str, error: &ReportedError) -> FileProblem {
    let (text, _) =
        visible_text::head(&error.message, replay_base::limits::MAX_TEST_TEXT_BYTES * 4);
    let body = text
        .trim_start()
        .strip_prefix('●')
        .map_or(text.as_str(), |rest| {
            rest.split_once('\n').map_or("", |two| two.1)
        });
    let own = |text: &str| -> String {
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("    ").unwrap_or(line));
        lines
            .take_while(|line| !line.trim_start().starts_with("at "))
            .collect::<Vec<_>>()
            .join("\n")
            .trim()
            .to_owned()
    };
    // For files with syntax errors Jest writes a page of advice first.
    let mut message = match body.split_once("\n    Details:\n") {
        Some((head, details)) => {
            let first = head.trim().lines().next().unwrap_or_default();
            format!("{first}\n{}", own(details))
        }
        None => own(body),
    };
    let base = file.rsplit('/').next().unwrap_or_default();
    let mut frames = stack::split_trace(&text).1;
    frames.splice(..0, babel_place(&text));
    let own = frames
        .iter()
        .find(|frame| frame.file.ends_with(base))
        .and_then(|own| Some((own.line?, own.column)));
    let own = own.or_else(|| stack::place_in(&text, base));
    let place = stack::place_to_fix(own, &frames, base, &mut message);
    FileProblem { message, place }
}

/// Parses Babel's place: `SyntaxError: /p/a.js: Unexpected token (1:26)`, whose columns count from
/// 0.
fn babel_place(text: &str) -> Option<Frame> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("SyntaxError: "))?;
    let (file, said) = line.split_once(": ")?;
    let (line, column) = said
        .strip_suffix(')')?
        .rsplit_once('(')?
        .1
        .split_once(':')?;
    let column = column.parse::<u32>().ok()?.checked_add(1);
    Some(Frame {
        column,
        ..Frame::at(file, line.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jest_error_causes_have_places() {
        let mut collector = ResultCollector::new("/p");
        let text = "Error: cannot load\n    at x (/p/a.test.js:3:36)\n\n[cause]: TypeError: bad\n    at load (/p/a.js:1:25)\n\n\
            [errors]: one\n    at y (/p/b.js:2:3)";
        let reported = ReportedError {
            message: text.to_owned(),
            ..ReportedError::default()
        };
        let told = errors(&mut collector, &reported).into_iter().map(|error| {
            let place = error.stack[0].clone();
            (
                error.class.unwrap_or_default(),
                error.message,
                place.file,
                place.line,
            )
        });
        let expected = [
            ("Error", "cannot load", "a.test.js", 3),
            ("caused by TypeError", "bad", "a.js", 1),
            ("in it error", "one", "b.js", 2),
        ];
        let expected = expected.map(|(class, message, file, line)| {
            (
                class.to_owned(),
                message.to_owned(),
                file.to_owned(),
                Some(line),
            )
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn jest_file_error_names_place_in_imported_file() {
        let of = |message: &str| {
            let end = serde_json::json!({"event": "file_end", "file": "a.test.js", "errors": [{"message": message}]});
            let report = end.to_string();
            let sources = Sources {
                report: report.as_bytes(),
                root: "/p",
                ..Sources::default()
            };
            let error = parse(&sources, Bound::default()).file_errors.remove(0);
            (
                error.message.lines().last().map(str::to_owned),
                error.line,
                error.column,
            )
        };
        let told = |name: &str, from: &str| {
            format!(
                "  ● Test suite failed to run\n\n    Jest encountered an unexpected token\n\n    Details:\n\n    SyntaxError: \
                 /p/{name}: Unexpected token (2:13)\n\n    > 2 | x\n\n      at p (node_modules/x/lib.js:1:1)\n{from}"
            )
        };
        let from = "      at Object.<anonymous> (a.test.js:1:18)\n";
        assert_eq!(
            of(&told("lib.js", from)),
            (Some("at lib.js:2:14".to_owned()), None, None)
        );
        assert_eq!(
            of(&told("a.test.js", "")),
            (Some("> 2 | x".to_owned()), Some(2), Some(14))
        );
    }

    #[test]
    fn jest_process_exit_before_end_is_detected() {
        let of = |more: &str| {
            let report = format!(
                "{{\"event\":\"run_start\"}}\n{{\"event\":\"end\",\"passed\":true,\"files\":0{more}\n"
            );
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.ended, results.is_cut_short)
        };
        assert_eq!(of(",\"goes_on\":true}"), (true, true));
        assert_eq!(
            of(",\"goes_on\":true}\n{\"event\":\"over\"}"),
            (true, false)
        );
        // With `forceExit` Jest itself ends the process.
        assert_eq!(of("}"), (true, false));
    }
}
