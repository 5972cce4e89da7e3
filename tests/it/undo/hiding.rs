//! Location of the undo store: hidden from the tools, and readable only by its owner.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Stage, refusal};
use crate::harness::Server;
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

#[test]
fn store_is_private_and_names_its_tree() {
    let mut stage = Stage::new(|tree| tree);
    stage.call_text("write_file", json!({"path": "a", "content": "1"}));
    let stores = stage.tree.state().join("replay/undo");
    let stores: Vec<_> = fs::read_dir(stores)
        .unwrap()
        .map(|store| store.unwrap().path())
        .collect();
    let [store] = &stores[..] else {
        panic!("{stores:?}")
    };
    let roots: serde_json::Value =
        serde_json::from_slice(&fs::read(store.join("roots")).unwrap()).unwrap();
    assert_eq!(
        roots,
        json!({"version": 1, "tenant": "", "roots": [stage.tree.path("work")]})
    );
    assert_eq!(
        fs::metadata(store).unwrap().permissions().mode() & 0o7777,
        0o700
    );
}

#[test]
fn store_in_allowed_directory_is_hidden_from_tools() {
    let tree = Tree::new();
    tree.file("work/a", "needle 1");
    let allowed = format!("{}:rw", tree.text("work"));
    let line = [
        env!("CARGO_BIN_EXE_replay"),
        "--mcp-server",
        "--allow",
        &allowed,
        "--tools",
        "files",
    ];
    let state = tree.text("work/state");
    let mut server =
        Server::start_program(&tree, &line, &[("XDG_STATE_HOME", &state)]).opened(NEWEST_HANDSHAKE);
    server
        .call("write_file", json!({"path": "a", "content": "other"}))
        .texts();
    let kept: Vec<_> = walkdir::WalkDir::new(&state)
        .into_iter()
        .filter_map(|entry| Some(entry.ok()?.into_path()))
        .collect();
    let kept = kept
        .iter()
        .find(|path| path.ends_with("kept/1-1"))
        .unwrap_or_else(|| panic!("{kept:?}"));
    assert_eq!(fs::read_to_string(kept).unwrap(), "needle 1");
    let kept = kept.to_str().unwrap();
    assert_eq!(
        server
            .call("list_directory", json!({"path": "state/replay"}))
            .text(),
        "(empty)"
    );
    assert_eq!(
        server
            .call("grep_files", json!({"directory": ".", "regex": "needle"}))
            .text(),
        "(no matches found)\n[0 matches]"
    );
    assert_eq!(
        server
            .call(
                "glob_search",
                json!({"directory": ".", "globs": ["**/1-1"]})
            )
            .text(),
        "(no matches found)"
    );
    for (tool, arguments) in [
        ("read_file", json!({"path": kept})),
        ("get_file_info", json!({"path": kept})),
        ("list_directory", json!({"path": "state/replay/undo"})),
        ("write_file", json!({"path": kept, "content": "x"})),
        (
            "write_file",
            json!({"path": "state/replay/undo/new", "content": "x"}),
        ),
        (
            "move_file",
            json!({"source": "state/replay/undo", "destination": "mine"}),
        ),
        ("delete_file", json!({"path": "state"})),
    ] {
        let reply = server.call(tool, arguments);
        assert_eq!(reply.code(), -32001, "{tool}: {}", refusal(&reply));
    }
    server.call("undo_changes", json!({"calls": [1]})).texts();
    assert_eq!(tree.read("work/a"), "needle 1");
}
