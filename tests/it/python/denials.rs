//! What a tool of the Python set is denied counts as a denial, whatever its number on the wire.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::open_as;
use crate::audit::lines;
use crate::schema::{NEWEST_HANDSHAKE, STATELESS};
use crate::tree::Tree;

#[test]
fn what_is_outside_is_denied_and_not_failed() {
    for revision in [NEWEST_HANDSHAKE, STATELESS] {
        let tree = Tree::new();
        tree.dir("logs");
        let mut server = open_as(&tree, revision, &["--audit", &tree.text("logs/audit.jsonl")]);
        server.call("create_session", json!({"session_id": "a", "working_directory": "/etc"}));
        server.call("run_script", json!({"path": "/etc/passwd"}));
        server.call("list_files", json!({"path": "/etc"}));
        // Not there, and no denial.
        server.call("run_script", json!({"path": "none.py"}));
        let told = |line: &Value| json!([line["tool"], line["outcome"], line["code"], line["paths"]]);
        let denied = |path: &str| json!([{"path": path, "access": "denied"}]);
        assert_eq!(
            lines(&tree).iter().filter(|line| line["event"] == "call").map(told).collect::<Vec<_>>(),
            [
                json!(["create_session", "denied", -32000, denied("/etc")]),
                json!(["run_script", "denied", -32000, denied("/etc/passwd")]),
                json!(["list_files", "denied", -32000, denied("/etc")]),
                json!(["run_script", "failed", -32000, []]),
            ]
        );
    }
}
