//! pytest's results: errors of files, and Python's own output.

use crate::prelude::*;

const STYLE: EventStyle = EventStyle {
    file_error,
    ..event_reader::STYLE
};

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    python_tests::parse(sources, bound, &STYLE)
}

/// Returns the error of a file that was not loaded; its message is a traceback.
fn file_error(root: &str, file: &str, error: &ReportedError) -> FileProblem {
    let place = stack::place_in(&error.message, &format!("{root}/{file}"))
        .or_else(|| stack::place_in(&error.message, file))
        .or_else(|| Some((error.line?, None)));
    // The cause may be in an imported file.
    let frame = |line: &str| {
        let (file, line) = line.split_once(": in ")?.0.rsplit_once(':')?;
        Some(Frame::at(file, line.parse().ok()))
    };
    let mut message = last_error(&error.message);
    let traced = error
        .message
        .lines()
        .take_while(|line| !line.starts_with("E "));
    let mut frames: Vec<Frame> = traced.filter_map(frame).collect();
    // A file with a syntax error has no frame: its place is in the error.
    frames.extend(message.lines().next().and_then(python_text::frame));
    frames.reverse();
    let place = stack::place_to_fix(place, &frames, file, &mut message);
    FileProblem { message, place }
}

/// Returns the lines that pytest marks as the error in a traceback (`E   `), or the whole text.
fn last_error(message: &str) -> String {
    let marked: Vec<_> = message
        .lines()
        .filter_map(|line| line.strip_prefix("E ").or((line == "E").then_some("")))
        .collect();
    if marked.is_empty() {
        return message.to_owned();
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let least = marked
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| indent(line))
        .min()
        .unwrap_or_default();
    marked
        .iter()
        .map(|line| line.get(least..).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_leaks_and_unreached_files_are_reported() {
        let report = "{\"event\":\"run_start\"}\n\
            {\"event\":\"file_skipped\",\"file\":\"b.py\",\"reason\":\"Skipped: no tool\"}\n\
            {\"event\":\"file_skipped\",\"file\":\"b.py\",\"reason\":\"Skipped: no tool\"}\n\
            {\"event\":\"collected\",\"tests\":1}\n\
            {\"event\":\"leak\",\"test\":\"a.py::t\",\"type\":\"PytestUnhandledThreadExceptionWarning\",\
            \"message\":\"Exception in thread T\\n\\nTraceback (most recent call last):\\n  x\\nValueError: y\\n\\nSee https://x\"}\n\
            {\"event\":\"unreached\",\"files\":[\"c.py\"]}\n{\"event\":\"end\",\"passed\":true}\n";
        let results = parse(
            &Sources {
                report: report.as_bytes(),
                ..Sources::default()
            },
            Bound::default(),
        );
        assert_eq!(
            (
                results.summary.skipped,
                results.summary.not_run,
                results.summary.total
            ),
            (1, 1, 2)
        );
        assert_eq!(
            (results.unreached, results.left_out),
            (
                vec!["c.py".to_owned()],
                vec!["all of b.py by itself: no tool".to_owned()]
            )
        );
        let told: Vec<_> = results
            .run_errors
            .iter()
            .map(|error| (error.class.as_deref(), error.message.as_str()))
            .collect();
        assert_eq!(
            told,
            [(
                Some("UnhandledThreadException"),
                "a.py::t: Exception in thread T: ValueError: y"
            )]
        );
    }

    #[test]
    fn pytest_error_in_imported_file_has_place() {
        let place = |file: &str, line: u32| serde_json::json!([{"file": file, "line": line}]);
        let broken = |file: &str, message: &str| serde_json::json!({"event": "file_end", "file": file, "errors": [{"message": message}]});
        let events = [
            serde_json::json!({"event": "run_start"}),
            broken(
                "b.py",
                "b.py:1: in <module>\n    import h\nh.py:7: in <module>\n    x\nE   NameError: x",
            ),
            broken(
                "e.py",
                "e.py:1: in <module>\n    import h\nE     File \"/p/h.py\", line 9\nE   SyntaxError: x",
            ),
            serde_json::json!({"event": "test_start", "id": "a.py::t", "file": "a.py"}),
            serde_json::json!({"event": "test", "id": "a.py::t", "file": "a.py", "line": 1, "state": "failed", "errors": [
                {"message": "RuntimeError: r", "stack": place("a.py", 3)},
                {"message": "caused by ValueError: v", "stack": place("c.py", 5)}]}),
            serde_json::json!({"event": "run_error", "message": "SystemExit: 3", "stack": place("d.py", 9)}),
        ];
        let report = events.map(|event| event.to_string()).join("\n");
        let stderr = b"Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File \"e.py\", line 2 in f\n\
            Stack (most recent call first):\n  File \"/lib/python3/s.py\", line 1 in f\n\
            Stack (most recent call first):\n  File \"/p/g.py\", line 4 in f\n";
        let sources = Sources {
            report: report.as_bytes(),
            stderr,
            root: "/p",
            ..Sources::default()
        };
        let results = parse(&sources, Bound::default());
        let of = |message: &str, stack: &[Frame]| {
            (message.to_owned(), stack[0].file.clone(), stack[0].line)
        };
        let told: Vec<_> = results.failures[0]
            .errors
            .iter()
            .map(|error| of(&error.message, &error.stack))
            .collect();
        let at = |message: &str, file: &str, line: u32| {
            (message.to_owned(), file.to_owned(), Some(line))
        };
        assert_eq!(
            told,
            [
                at("RuntimeError: r", "a.py", 3),
                at("caused by ValueError: v", "c.py", 5)
            ]
        );
        let told: Vec<_> = results
            .run_errors
            .iter()
            .map(|error| of(&error.message, &error.stack))
            .collect();
        assert_eq!(
            told,
            [
                at("SystemExit: 3", "d.py", 9),
                at("what ran then", "g.py", 4),
                at("Aborted", "e.py", 2)
            ]
        );
        let told: Vec<_> = results
            .file_errors
            .iter()
            .map(|error| (error.message.as_str(), error.line))
            .collect();
        let syntax = "  File \"h.py\", line 9\nSyntaxError: x\nat h.py:9";
        assert_eq!(told, [("NameError: x\nat h.py:7", None), (syntax, None)]);
    }

    #[test]
    fn pytest_error_is_read_from_marked_lines() {
        assert_eq!(
            last_error("t.py:1: in <module>\n    x\nE     File \"t.py\"\nE   Bad: y\nE"),
            "  File \"t.py\"\nBad: y\n"
        );
    }
}
