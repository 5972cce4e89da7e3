//! Logs of test runs, served as resources.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{fake_vitest, open_as, structured};
use crate::harness::Server;
use crate::schema::{REVISIONS, STATELESS};
use crate::tree::Tree;

#[test]
fn test_log_is_linked_and_readable() {
    for revision in REVISIONS {
        let tree = Tree::new();
        let mut server = open_as(&tree, revision, &[]);
        fake_vitest(&tree, &[], "exit 1");
        let empty = server.request("resources/list", json!({}));
        assert_eq!(empty.result()["resources"], json!([]));
        let reply = server.call("run_tests", json!({}));
        let content = reply.result()["content"].as_array().unwrap().clone();
        if revision >= "2025-06-18" {
            assert_eq!(
                structured(&reply)["logUri"],
                "replay://logs/run_tests-1.log"
            );
            assert_eq!(
                (&content[1]["type"], &content[1]["uri"]),
                (
                    &json!("resource_link"),
                    &json!("replay://logs/run_tests-1.log")
                )
            );
        } else {
            assert_eq!(content.len(), 1);
        }
        let list = server.request("resources/list", json!({}));
        assert_eq!(list.result()["resources"][0]["name"], "run_tests-1.log");
        let read = server.request(
            "resources/read",
            json!({"uri": "replay://logs/run_tests-1.log"}),
        );
        let text = read.result()["contents"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            text.starts_with("$ ")
                && text.ends_with("[stdout: 12 bytes]\nsome output\n[stderr: 0 bytes]\n"),
            "{text}"
        );
        let gone = server.request("resources/read", json!({"uri": "file:///etc/passwd"}));
        assert_eq!(
            gone.code(),
            if revision == STATELESS {
                -32602
            } else {
                -32002
            }
        );
    }
}

#[test]
fn server_without_test_tools_has_no_resources() {
    let tree = Tree::new();
    let allow = format!("{}:rw", tree.root().display());
    let mut server = Server::open(
        &tree,
        "2025-11-25",
        &["--allow", &allow, "--tools", "files"],
    );
    assert_eq!(server.request("resources/list", json!({})).code(), -32601);
}
