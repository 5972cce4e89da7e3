//! A command holds open files in a directory that another call moves.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::commands::{TIERS, start};
use super::{calls, refusal};
use crate::tree::Tree;

#[test]
fn write_to_moved_directory_is_reported_and_undone() {
    for tier in TIERS {
        for (from, to, file) in [("d", "e", "e/f"), ("d/f", "d/g", "d/g")] {
            let tree = Tree::new();
            tree.file("work/d/f", "old").file("work/began", "");
            let mut server = start(&tree, tier);
            let line = "exec 3>d/f; echo one >&3; echo >began; until [ -e go ]; do sleep 0.01; done; echo two >&3";
            let arguments = json!({"command": line, "background": true});
            server.call("execute_command", arguments).texts();
            let began = "until [ -s began ]; do sleep 0.01; done";
            server
                .call("execute_command", json!({"command": began}))
                .texts();
            server
                .call("move_file", json!({"source": from, "destination": to}))
                .texts();
            tree.file("work/go", "");
            let reply = server.call("follow_command", json!({"commandId": "c1", "waitSecs": 60}));
            let changed = &reply.result()["structuredContent"]["changed"];
            assert_eq!(changed, &json!({"call": 1, "edited": 2}), "{tier} {from}");
            let told = reply.text();
            let note = "edited began, edited d/f (1 of them moved by another call since): undo with call 1";
            assert!(told.contains(note), "{tier} {from}: {told}");
            assert_eq!(tree.read(&format!("work/{file}")), "one\ntwo\n");
            let refused = refusal(&server.call("undo_changes", json!({"calls": [1]})));
            assert!(refused.contains("(call 2)"), "{tier} {from}: {refused}");
            server
                .call("undo_changes", json!({"calls": [1, 2]}))
                .texts();
            assert_eq!(tree.read("work/d/f"), "old", "{tier} {from}");
            assert!(!tree.has(&format!("work/{to}")), "{tier} {from}");
            assert_eq!(calls(&mut server).len(), 3);
        }
    }
}
