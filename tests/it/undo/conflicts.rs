//! Conflicts of undo: the work of others is never touched.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Stage, refusal};

#[test]
fn undo_keeps_later_change_of_person() {
    let mut stage = Stage::new(|tree| {
        tree.file("work/a", "1")
            .file("work/b", "1")
            .file("work/c", "1")
    });
    let edits = json!([{"oldText": "1", "newText": "2"}]);
    stage
        .server
        .call("edit_files", json!({"paths": ["a", "b"], "edits": edits}))
        .texts();
    stage.call_text("delete_file", json!({"path": "c"}));
    stage.tree.file("work/a", "theirs").file("work/c", "theirs");
    let before = stage.snapshot();
    let hint = "hint: leave these out (`paths`: [\"!PATH\"]), or undo the later calls, too (`since`); what a person changed stays";
    let refused = |what: &str| {
        format!(
            "nothing was undone, because these files are not as the calls left them:\n{what}\n{hint}"
        )
    };
    assert_eq!(
        refusal(&stage.server.call("undo_changes", json!({"calls": [1]}))),
        refused("a: changed after the call")
    );
    assert_eq!(
        refusal(&stage.server.call("undo_changes", json!({"calls": [2]}))),
        refused("c: the call deleted it, and another file or directory has its name now")
    );
    assert_eq!(
        stage.call_text("undo_changes", json!({"calls": [1], "dryRun": true})),
        "[nothing would be undone, because these files are not as the calls left them]\na: changed after the call"
    );
    assert_eq!(stage.snapshot(), before);
    stage.call_text("undo_changes", json!({"calls": [1], "paths": ["!a"]}));
    assert_eq!(
        ["a", "b", "c"].map(|file| stage.tree.read(&format!("work/{file}"))),
        ["theirs", "1", "theirs"]
    );
}

#[test]
fn undo_is_refused_until_later_call_is_undone() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1"));
    let before = stage.snapshot();
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    stage.call_text("write_file", json!({"path": "a", "content": "3"}));
    let refused = refusal(&stage.server.call("undo_changes", json!({"calls": [1]})));
    assert!(
        refused.contains("a: write_file (call 2) changed it later"),
        "{refused}"
    );
    stage.undo(2, 3);
    stage.undo(1, 4);
    assert_eq!(stage.snapshot(), before);
}

#[test]
fn undo_creates_no_protected_path() {
    let mut stage = Stage::new(|tree| tree.file("work/.git/HEAD", "ref: refs/heads/main"));
    stage.call_text("move_file", json!({"source": ".git", "destination": "x"}));
    stage.call_text(
        "write_file",
        json!({"path": "x/hooks/pre-commit", "content": "evil"}),
    );
    let refused = refusal(&stage.server.call("undo_changes", json!({"calls": [1]})));
    assert!(refused.contains("hooks"), "{refused}");
    assert!(!stage.tree.has("work/.git"));
    fs::remove_dir_all(stage.tree.path("work/x/hooks")).unwrap();
    stage.undo(1, 3);
    assert!(stage.tree.has("work/.git/HEAD"));
}

#[test]
fn undone_call_does_not_block_later_undo() {
    let mut stage = Stage::new(|tree| tree.file("work/a", "1").file("work/b", "1"));
    stage.call_text("write_file", json!({"path": "a", "content": "2"}));
    stage.call_text("write_file", json!({"path": "b", "content": "2"}));
    stage.undo(1, 3);
    stage.call_text("write_file", json!({"path": "a", "content": "3"}));
    stage.call_text("undo_changes", json!({"since": 2, "paths": ["b"]}));
    stage.call_text("undo_changes", json!({"since": 1, "paths": ["a"]}));
    assert_eq!(
        ["a", "b"].map(|file| stage.tree.read(&format!("work/{file}"))),
        ["1", "1"]
    );
}
