//! A denied path in a Python tool is logged as a denial, whatever the error code in the reply.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::open_as;
use crate::audit::lines;
use crate::schema::{NEWEST_HANDSHAKE, STATELESS};
use crate::tree::Tree;

#[test]
fn python_path_outside_is_logged_as_denied() {
    for revision in [NEWEST_HANDSHAKE, STATELESS] {
        let tree = Tree::new();
        tree.dir("logs");
        let mut server = open_as(
            &tree,
            revision,
            &["--audit", &tree.text("logs/audit.jsonl")],
        );
        server.call(
            "create_session",
            json!({"session_id": "a", "working_directory": "/etc"}),
        );
        server.call("run_script", json!({"path": "/etc/passwd"}));
        server.call("list_files", json!({"path": "/etc"}));
        // A missing file is not a denial.
        server.call("run_script", json!({"path": "none.py"}));
        let told =
            |line: &Value| json!([line["tool"], line["outcome"], line["code"], line["paths"]]);
        let denied = |path: &str| json!([{"path": path, "access": "denied"}]);
        assert_eq!(
            lines(&tree)
                .iter()
                .filter(|line| line["event"] == "call")
                .map(told)
                .collect::<Vec<_>>(),
            [
                json!(["create_session", "denied", -32000, denied("/etc")]),
                json!(["run_script", "denied", -32000, denied("/etc/passwd")]),
                json!(["list_files", "denied", -32000, denied("/etc")]),
                json!(["run_script", "failed", -32000, []]),
            ]
        );
    }
}

#[test]
fn audit_log_names_files_of_cell() {
    let tree = Tree::new();
    tree.dir("logs");
    tree.file("work/old.txt", "one");
    let mut server = open_as(
        &tree,
        STATELESS,
        &["--audit", &tree.text("logs/audit.jsonl")],
    );
    server.call("run_python_code", json!({"code": "1"}));
    let code = "_ = open('new.txt', 'w').write('x'), open('old.txt', 'w').write('longer')";
    server.call("run_python_code", json!({"code": code}));
    let last = lines(&tree).pop().unwrap();
    let written: Vec<&Value> = last["paths"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|touched| touched["access"] == "write")
        .map(|touched| &touched["path"])
        .collect();
    assert_eq!(
        written,
        [
            &json!(tree.text("work/new.txt")),
            &json!(tree.text("work/old.txt"))
        ]
    );
}

#[test]
fn session_accepts_environment_by_directory() {
    let tree = Tree::new();
    let mut server = open_as(&tree, STATELESS, &[]);
    let made = server.call(
        "run_python_code",
        json!({"code": "import venv; venv.create('.venv')"}),
    );
    assert_eq!(
        made.result()["isError"].as_bool().unwrap_or(false),
        false,
        "{made:?}"
    );
    let created = server.call(
        "create_session",
        json!({"session_id": "own", "python": ".venv"}),
    );
    let told = &created.result()["structuredContent"];
    assert_eq!(told["python"], tree.text("work/.venv/bin/python"), "{told}");
}
