//! Audit log of test runs: paths that the agent requested, without refusals of internal lookups.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{counts, fake_vitest, open};
use crate::audit::lines;
use crate::tree::Tree;

#[test]
fn project_search_logs_no_denials() {
    let tree = Tree::new();
    tree.dir("logs");
    let mut server = open(&tree, &["--audit", &tree.text("logs/audit.jsonl")]);
    let events = [
        json!({"event": "run_start", "version": "5.1.1"}),
        json!({"event": "collected", "file": "deep/a.test.ts", "tests": 1}),
        json!({"event": "test", "file": "deep/a.test.ts", "name": "adds", "state": "passed"}),
        json!({"event": "file_end", "file": "deep/a.test.ts", "tests": 1, "errors": []}),
        json!({"event": "end", "passed": true, "errors": []}),
    ];
    fake_vitest(&tree, &events, "exit 0");
    tree.file("work/deep/a.test.ts", "")
        .file("work/empty/x.py", "");
    let named = server.call("run_tests", json!({"testFiles": "deep/a.test.ts"}));
    assert_eq!(counts(&named).0, "passed");
    // No project or checker exists up to the allowed directory.
    server.call("run_tests", json!({"cwd": "empty", "runner": "jest"}));
    server.call("type_check", json!({"files": "empty/x.py"}));
    server.call("run_tests", json!({"testFiles": "/etc/passwd"}));
    server.call("type_check", json!({"cwd": "/etc"}));
    let denied = |line: &Value| {
        let paths = line["paths"].as_array().cloned().unwrap_or_default();
        paths
            .into_iter()
            .filter(|path| path["access"] == "denied")
            .map(|path| path["path"].clone())
            .collect::<Vec<_>>()
    };
    let told: Vec<_> = lines(&tree)
        .iter()
        .filter(|line| line["event"] == "call")
        .map(denied)
        .collect();
    assert_eq!(
        told,
        [
            vec![],
            vec![],
            vec![],
            vec![json!("/etc/passwd")],
            vec![json!("/etc")]
        ]
    );
}
