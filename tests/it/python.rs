//! Python sessions through the built program: cells, sessions, their end, and mistakes of agents.

mod cells;
mod denials;
mod endings;
mod hostile;
mod load;
mod refusals;
mod sessions;
mod spare;
mod tools;

use serde_json::{Value, json};

use crate::harness::{Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Starts a server with one allowed directory, `work`, and the Python tools.
fn open(tree: &Tree, args: &[&str]) -> Server {
    open_as(tree, NEWEST_HANDSHAKE, args)
}

fn open_as(tree: &Tree, revision: &str, args: &[&str]) -> Server {
    let allow = format!("{}:rw", tree.text("work"));
    tree.dir("work");
    Server::open(
        tree,
        revision,
        &[&["--allow", &allow, "--tools", "files,python"], args].concat(),
    )
}

/// Returns the structured reply, which must equal the text.
#[track_caller]
fn reply_data(reply: &Reply) -> Value {
    let structured = reply.result()["structuredContent"].clone();
    let text: Value = serde_json::from_str(&reply.all_texts()[0]).unwrap();
    assert_eq!(text, structured);
    structured
}

/// Runs a cell and returns its structured reply.
#[track_caller]
fn run(server: &mut Server, code: &str) -> Value {
    reply_data(&server.call("run_python_code", json!({"code": code})))
}

/// Returns the result of a cell that must succeed and write no output.
#[track_caller]
fn result(server: &mut Server, code: &str) -> String {
    let ran = run(server, code);
    assert_eq!(
        (&ran["error"], &ran["stdout"], &ran["stderr"]),
        (&Value::Null, &json!(""), &json!("")),
        "{ran}"
    );
    ran["result"].as_str().unwrap_or("None").to_owned()
}

/// Waits until the session is busy: a cell that was sent has begun.
fn wait_until_busy(server: &mut Server, session: &str) -> Value {
    let until = std::time::Instant::now() + crate::harness::DEADLINE;
    loop {
        let health = reply_data(&server.call("get_kernel_health", json!({"session_id": session})));
        if health["busy"] == true {
            return health;
        }
        assert!(std::time::Instant::now() < until, "{health}");
    }
}
