//! Named sessions: each has its own state. Calls without a name use the default session.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{open, reply_data, result, run, wait_until_busy};
use crate::harness::ends_within;
use crate::tree::Tree;

#[test]
fn switching_session_changes_default() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.dir("work/sub");
    let created = reply_data(&server.call(
        "create_session",
        json!({"session_id": "b", "description": "second", "working_directory": "sub", "environment": ["MINE=1=2"]}),
    ));
    assert_eq!(
        (
            &created["session_id"],
            &created["status"],
            &created["description"]
        ),
        (&json!("b"), &json!("created"), &json!("second"))
    );
    assert_eq!(created["working_directory"], tree.text("work/sub"));
    let code = "import os; x = 'b'; open('f', 'w').close(); os.environ['MINE'], os.getcwd()";
    let ran = reply_data(&server.call("run_python_code", json!({"code": code, "session_id": "b"})));
    assert_eq!(
        ran["result"],
        format!("('1=2', '{}')", tree.text("work/sub"))
    );
    assert_eq!(ran["new_files"], json!([tree.text("work/sub/f")]));
    assert_eq!(run(&mut server, "x")["error"]["name"], "NameError");
    assert_eq!(
        reply_data(&server.call("switch_session", json!({"session_id": "b"}))),
        json!({"previous_session": "default", "current_session": "b"})
    );
    assert_eq!(result(&mut server, "x"), "'b'");
    let listed = reply_data(&server.call("list_sessions", json!({})));
    assert_eq!(
        (&listed["active_session"], &listed["total_sessions"]),
        (&json!("b"), &json!(2))
    );
    assert_eq!(
        (
            &listed["sessions"]["b"]["status"],
            &listed["sessions"]["b"]["description"]
        ),
        (&json!("idle"), &json!("second"))
    );
    assert_eq!(listed["sessions"]["default"]["status"], "idle");
    assert_eq!(
        reply_data(&server.call("list_variables", json!({})))["variables"],
        json!([{"name": "x", "type": "str", "value": "'b'", "size": "1"}])
    );
    assert_eq!(
        reply_data(&server.call("delete_session", json!({"session_id": "b"}))),
        json!({"session_id": "b", "status": "deleted", "active_session": "default"})
    );
    assert_eq!(
        server
            .call("run_python_code", json!({"code": "x", "session_id": "b"}))
            .code(),
        -32000
    );
    assert_eq!(
        server
            .call("switch_session", json!({"session_id": "b"}))
            .code(),
        -32000
    );
}

#[test]
fn invalid_session_parameters_are_explained() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--max-python-sessions", "1"]);
    let failed = |server: &mut crate::harness::Server, arguments| {
        let failure = server.call("create_session", arguments).failure().unwrap();
        (
            failure.code.unwrap(),
            failure.message.lines().next().unwrap().to_owned(),
        )
    };
    let none = failed(
        &mut server,
        json!({"session_id": "a", "python": "no-such-python"}),
    );
    assert!(
        none.1
            .starts_with("no Python interpreter: `no-such-python` cannot be run"),
        "{none:?}"
    );
    assert_eq!(none.0, -32000);
    // A version manager without this version prints a longer message.
    tree.program(
        "work/shim",
        "#!/bin/sh\nprintf '\npyenv: python3.8: command not found\n\nNote: see help\n      for tips\n' >&2; exit 127\n",
    );
    let shim = tree.text("work/shim");
    let missing = failed(&mut server, json!({"session_id": "a", "python": shim}));
    let expected = format!(
        "no Python interpreter: `{shim}` cannot be run: pyenv: python3.8: command not found"
    );
    assert_eq!(missing, (-32000, expected));
    // Simulates an interpreter of another version.
    tree.program(
        "work/old",
        "#!/bin/sh\nexec python3 -c \"import sys; sys.version_info = (2, 7, 18); sys.version = '2.7.18 (x)'; $3\" \"$4\"\n",
    );
    let old = failed(
        &mut server,
        json!({"session_id": "a", "python": tree.text("work/old")}),
    );
    assert!(
        old.1.contains(
            "does not start: exit code 1: it is Python 2.7.18, and 3.8 or newer is needed"
        ),
        "{old:?}"
    );
    let outside = failed(
        &mut server,
        json!({"session_id": "a", "working_directory": "/etc"}),
    );
    assert_eq!(
        outside,
        (
            -32000,
            "`/etc` is outside the allowed directories".to_owned()
        )
    );
    assert_eq!(failed(&mut server, json!({"session_id": "a\nb"})).0, -32602);
    assert_eq!(
        failed(
            &mut server,
            json!({"session_id": "a", "environment": ["x"]})
        )
        .0,
        -32602
    );
    assert_eq!(
        failed(&mut server, json!({"session_id": "a", "pyton": "x"})).1,
        "`pyton` is no parameter of create_session; the nearest one is `python`"
    );
    assert_eq!(
        failed(&mut server, json!({"session_id": "default"})).1,
        "session `default` exists already"
    );
    // Failed sessions leave no trace.
    assert_eq!(
        reply_data(&server.call("list_sessions", json!({})))["total_sessions"],
        1
    );
    assert_eq!(result(&mut server, "1"), "1");
    let full = failed(&mut server, json!({"session_id": "a"}));
    assert_eq!(
        full.1,
        "all 1 Python sessions are in use (--max-python-sessions): default"
    );
    server
        .call("delete_session", json!({"session_id": "default"}))
        .result();
    reply_data(&server.call("create_session", json!({"session_id": "a"})));
    assert_eq!(
        server.call("run_python_code", json!({"code": "1"})).code(),
        -32000
    );
}

#[test]
fn cells_queue_only_within_their_session() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.fifo("work/gate");
    let call = |code: &str, timeout: u64| json!({"name": "run_python_code", "arguments": {"code": code, "timeout": timeout}});
    let first = server.send(
        "tools/call",
        call("open('gate').read()\norder = ['first']", 60),
    );
    wait_until_busy(&mut server, "default");
    let second = server.send("tools/call", call("order + ['second']", 60));
    let refused = server
        .call("run_python_code", json!({"code": "1", "timeout": 1}))
        .failure()
        .unwrap();
    assert!(
        refused
            .message
            .starts_with("session `default` is busy: its cell has been running for"),
        "{refused:?}"
    );
    assert_eq!(refused.code, Some(-32000));
    reply_data(&server.call("create_session", json!({"session_id": "other"})));
    assert_eq!(
        reply_data(&server.call(
            "run_python_code",
            json!({"code": "2", "session_id": "other"})
        ))["result"],
        "2"
    );
    std::fs::write(tree.path("work/gate"), "go").unwrap();
    assert_eq!(
        reply_data(&server.reply_to(&second))["result"],
        "['first', 'second']"
    );
    server.reply_to(&first).result();
}

#[test]
fn idle_session_ends_with_notice() {
    let tree = Tree::new();
    let mut server = open(
        &tree,
        &["--sandbox", "off", "--python-idle-timeout-secs", "1"],
    );
    let pid = result(&mut server, "import os; x = 1; os.getpid()")
        .parse()
        .unwrap();
    assert!(ends_within(
        rustix::process::Pid::from_raw(pid).unwrap(),
        crate::harness::DEADLINE
    ));
    let ran = run(&mut server, "'x' in globals()");
    assert_eq!(
        (&ran["result"], &ran["state_lost"]),
        (&json!("False"), &json!(true))
    );
    assert!(
        ran["notes"][0]
            .as_str()
            .unwrap()
            .contains("--python-idle-timeout-secs"),
        "{ran}"
    );
}
