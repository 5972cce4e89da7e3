//! Vitest's results: an early exit.

use crate::prelude::*;

pub(super) fn parse(sources: &Sources<'_>, bound: Bound<'_>) -> TestResults {
    let mut reader = event_reader::read(sources, bound, &javascript::STYLE);
    // The exit code need not show that.
    if std::mem::take(&mut reader.collector.results.is_cut_short) {
        let message = "the runner exited after the tests, before it was finished: look for an \
            exit in the teardown of a global setup";
        reader
            .collector
            .run_error(Some("end too early"), message, Vec::new());
    }
    reader.finish()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn vitest_bail_leaves_later_files_unreached() {
        let of = |reason: &str| {
            let end =
                |open: &[&str]| serde_json::json!({"event": "end", "passed": false, "open": open});
            let unreached = serde_json::json!({"event": "unreached", "files": ["b.test.ts"]});
            let ending = match reason {
                "interrupted" => format!("{unreached}\n{}", end(&[])),
                _ => end(&["b.test.ts"]).to_string(),
            };
            let report = format!("{{\"event\":\"run_start\"}}\n{ending}\n");
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.unreached, results.unfinished, results.passed)
        };
        let file = || vec!["b.test.ts".to_owned()];
        assert_eq!(of("interrupted"), (file(), vec![], Some(false)));
        assert_eq!(of("failed"), (vec![], file(), Some(false)));
    }

    #[test]
    fn vitest_global_setup_failure_is_reported() {
        let events = [
            serde_json::json!({"event": "run_start"}),
            serde_json::json!({"event": "planned", "files": [{"file": "a.test.ts"}]}),
            serde_json::json!({"event": "end", "passed": false, "open": []}),
            serde_json::json!({"event": "run_error", "kind": "Unhandled Error", "type": "Error", "message": "no database",
                "trace": "Error: no database\n    at setup (/p/gs.ts:2:9)"}),
        ];
        let of = |count: usize| {
            let report: Vec<String> = events[..count]
                .iter()
                .map(serde_json::Value::to_string)
                .collect();
            let report = report.join("\n");
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    root: "/p",
                    ..Sources::default()
                },
                Bound::default(),
            );
            let found_none = super::super::Vitest.ended_without_tests(&results, Some(1));
            let told = results
                .run_errors
                .iter()
                .map(|error| (error.message.clone(), error.stack[0].file.clone()))
                .collect();
            (results.unreached, found_none, told)
        };
        let unreached = || vec!["a.test.ts".to_owned()];
        assert_eq!(
            of(4),
            (
                unreached(),
                false,
                vec![("no database".to_owned(), "gs.ts".to_owned())]
            )
        );
        assert_eq!(of(3), (unreached(), false, vec![]));
    }

    #[test]
    fn vitest_planned_file_without_start_is_unreached() {
        let file = |name: &str| serde_json::json!({"file": name});
        let events = [
            serde_json::json!({"event": "run_start"}),
            serde_json::json!({"event": "planned", "files": [file("bad.test.ts"), file("cart.test.ts"), file("ok.test.ts"),
                {"file": "cart.test.ts", "project": "web"}]}),
            serde_json::json!({"event": "file_start", "file": "ok.test.ts"}),
            serde_json::json!({"event": "file_end", "file": "ok.test.ts"}),
            serde_json::json!({"event": "file_start", "file": "bad.test.ts"}),
        ];
        let of = |events: &[serde_json::Value]| {
            let report: String = events
                .iter()
                .flat_map(|event| [event.to_string(), "\n".to_owned()])
                .collect();
            let results = parse(
                &Sources {
                    report: report.as_bytes(),
                    ..Sources::default()
                },
                Bound::default(),
            );
            (results.unreached, results.unfinished)
        };
        let text = |name: &str| name.to_owned();
        assert_eq!(
            of(&events),
            (
                vec![text("cart.test.ts"), text("|web| cart.test.ts")],
                vec![text("bad.test.ts")]
            )
        );
        // The end event accounts for files that never began.
        let end = serde_json::json!({"event": "end", "passed": true, "open": []});
        assert_eq!(of(&[&events[..4], &[end]].concat()), (vec![], vec![]));
    }
}
