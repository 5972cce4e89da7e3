//! Notes of accesses that the sandbox refused to a cell, and of processes that ended with a script.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{open, reply_data, run};
use crate::tree::Tree;

#[test]
fn autorun_file_is_reported_with_its_cell() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "namespaces"]);
    let code = "import os\nos.makedirs('.vscode')\n_ = open('.vscode/tasks.json', 'w').write('{}')";
    let ran = run(&mut server, code);
    let aside = format!(
        "`{}` is protected: the file or directory that the command created there was renamed \
         (.set-aside); only the operator can allow it (--unprotect)",
        tree.text("work/.vscode/tasks.json")
    );
    assert!(
        ran["notes"].as_array().unwrap().contains(&json!(aside)),
        "{ran}"
    );
    assert_eq!(run(&mut server, "1").get("notes"), None);
}

#[test]
fn missing_network_of_cell_is_reported_once() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "namespaces", "--network", "none"]);
    let quiet = "import socket\ntry:\n    socket.create_connection(('10.1.2.3', 80))\nexcept OSError:\n    pass";
    let note = "the command tried to use the network, but commands have none; only the operator \
        can allow hosts (--allow-hosts with npm, pypi, crates, go, debian, github, docker; \
        --allow-host HOST for others)";
    assert_eq!(run(&mut server, quiet)["notes"], json!([note]));
    let loud = "socket.create_connection(('10.1.2.3', 80))";
    let note = "Python has no network here; only the operator can give it one (--allow-host), so do not try again";
    assert_eq!(run(&mut server, loud)["notes"], json!([note]));
    assert_eq!(run(&mut server, "1").get("notes"), None);
}

#[test]
fn script_reports_ended_processes_and_signal() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    tree.file(
        "work/leaves.py",
        "import subprocess\nsubprocess.Popen(['sleep', '600'])\n",
    );
    tree.file("work/dies.py", "import os\nos.kill(os.getpid(), 9)\n");
    let ran = reply_data(&server.call("run_script", json!({"path": "leaves.py"})));
    let note = "1 process that was still running was ended; to keep a server, start it with \
        `background: true`, without `&` or a daemon option";
    assert_eq!(
        (&ran["exit_code"], &ran["notes"]),
        (&json!(0), &json!([note])),
        "{ran}"
    );
    let ran = reply_data(&server.call("run_script", json!({"path": "dies.py"})));
    assert_eq!(
        (&ran["exit_code"], &ran["signal"]),
        (&json!(137), &json!(9)),
        "{ran}"
    );
}
