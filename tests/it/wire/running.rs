//! Long calls: progress, cancellation, ids in flight, end of input, signals.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::open_server;
use crate::harness::{DEADLINE, Server, ends_within};
use crate::schema::{NEWEST_HANDSHAKE, REVISIONS};
use crate::tree::Tree;

/// Limit for an immediate answer: well below the duration of a blocking command, and far above the
/// usual latency on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(40);

fn command(line: &str) -> Value {
    json!({"name": "execute_command", "arguments": {"command": line, "timeout": 60}})
}

/// Runs a test on every revision, concurrently, since each mostly waits.
fn on_every_revision(test: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for revision in REVISIONS {
            let test = &test;
            scope.spawn(move || test(revision));
        }
    });
}

/// Starts a command that never ends. Returns the id of the call and the id of its last process once
/// it runs.
fn start_endless(tree: &Tree, server: &mut Server) -> (Value, Pid) {
    let running = std::fs::read_dir(tree.path("work")).unwrap().count();
    let name = format!("pid-{running}");
    let line = format!("trap '' TERM; sh -c 'echo $$ > {name}; exec sleep 100' & wait; sleep 100");
    let mut params = command(&line);
    params["arguments"]["workingDirectory"] = json!(tree.text("work"));
    params["_meta"] = json!({"progressToken": name});
    let id = server.send("tools/call", params);
    // One of the reports contains the number.
    loop {
        while server.recv()["params"]["progressToken"] != *name {}
        let note = std::fs::read_to_string(tree.path(format!("work/{name}"))).unwrap_or_default();
        if let Some(number) = note.strip_suffix('\n') {
            return (id, Pid::from_raw(number.parse().unwrap()).unwrap());
        }
    }
}

#[test]
fn cancelled_command_dies_within_100_ms() {
    on_every_revision(|revision| {
        let (tree, mut server) = open_server(revision);
        // The best of several attempts: the machine may be busy with other tests.
        let mut best = Duration::MAX;
        for _ in 0..25 {
            let (id, pid) = start_endless(&tree, &mut server);
            let asked = Instant::now();
            server.notify(
                "notifications/cancelled",
                json!({"requestId": id, "reason": "no longer needed"}),
            );
            assert!(ends_within(pid, DEADLINE), "the command outlives its call");
            best = best.min(asked.elapsed());
            let rest = server.settle();
            assert!(rest.iter().all(|message| message["id"] != id), "{rest:?}");
            if best < Duration::from_millis(100) {
                break;
            }
        }
        assert!(best < Duration::from_millis(100), "{best:?} on {revision}");
    });
}

#[test]
fn call_can_be_cancelled_at_any_time() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let path = tree.text("work/hello.txt");
    for _ in 0..50 {
        let id = server.send(
            "tools/call",
            json!({"name": "read_file", "arguments": {"path": path}}),
        );
        server.notify("notifications/cancelled", json!({"requestId": id}));
    }
    // Answered before it was cancelled, or not at all; the harness takes no id twice.
    let answers = server.settle();
    assert!(answers.len() <= 50);
    assert!(
        answers
            .iter()
            .all(|answer| answer["result"]["content"][0]["text"] == "hello\n"),
        "{answers:?}"
    );
}

#[test]
fn cancelled_call_leaves_other_calls_running() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let (endless, _) = start_endless(&tree, &mut server);
    let other = server.send("tools/call", command("sleep 0.3; echo other"));
    server.notify("notifications/cancelled", json!({"requestId": endless}));
    assert!(server.reply_to(&other).text().contains("other"));
}

#[test]
fn progress_needs_token_and_ends_with_reply() {
    on_every_revision(|revision| {
        let (_tree, mut server) = open_server(revision);
        for token in [json!("p"), json!(7)] {
            let mut params = command("sleep 1.7; echo done");
            params["_meta"] = json!({"progressToken": token});
            let id = server.send("tools/call", params);
            let mut last = None;
            let reply = loop {
                let message = server.recv();
                if message.get("method").is_none() {
                    break message;
                }
                assert_eq!(message["params"]["progressToken"], token);
                let progress = message["params"]["progress"].as_f64().unwrap();
                assert!(
                    last.is_none_or(|last| progress > last),
                    "{last:?} then {progress}"
                );
                last = Some(progress);
            };
            assert_eq!(reply["id"], id);
            assert!(last.is_some(), "no progress in 1.7 s on {revision}");
            assert_eq!(server.settle(), Vec::<Value>::new());
        }
        let id = server.send("tools/call", command("sleep 0.8"));
        assert_eq!(
            server.recv()["id"],
            id,
            "progress without a token on {revision}"
        );
    });
}

#[test]
fn duplicate_id_in_flight_is_refused() {
    on_every_revision(|revision| {
        let (tree, mut server) = open_server(revision);
        let (id, _) = start_endless(&tree, &mut server);
        server.send_as(
            &id,
            "tools/call",
            json!({"name": "list_allowed_directories", "arguments": {}}),
        );
        let refusal = server.reply_to(&id);
        assert_eq!(refusal.code(), -32600, "{revision}");
        // The first call continues under its id.
        server.notify("notifications/cancelled", json!({"requestId": id}));
        server.settle();
        // A string and a number are different ids.
        let (one, _) = start_endless(&tree, &mut server);
        server.send_as(&json!(one.to_string()), "tools/list", json!({}));
        server.reply_to(&json!(one.to_string())).result();
    });
}

#[test]
fn slow_call_delays_no_other_call() {
    let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
    for _ in 0..8 {
        start_endless(&tree, &mut server);
    }
    let started = Instant::now();
    assert_eq!(
        server
            .call("read_file", json!({"path": tree.text("work/hello.txt")}))
            .text(),
        "hello\n"
    );
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
}

#[test]
fn end_of_input_waits_for_calls_in_flight() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let slow = server.send("tools/call", command("sleep 1; echo slow"));
    let quick = server.send("tools/call", command("echo quick"));
    server.close_stdin();
    let messages = server.recv_to_end();
    let mut ids: Vec<&Value> = messages.iter().map(|message| &message["id"]).collect();
    ids.sort_by_key(|id| id.as_i64());
    assert_eq!(ids, [&slow, &quick]);
    assert_eq!(server.wait_exit().code(), Some(0));
}

#[test]
fn signal_ends_server_and_commands() {
    for signal in [Signal::TERM, Signal::INT] {
        let (tree, mut server) = open_server(NEWEST_HANDSHAKE);
        let (_, pid) = start_endless(&tree, &mut server);
        kill_process(server.pid(), signal).unwrap();
        server.wait_exit();
        assert!(
            ends_within(pid, DEADLINE),
            "the command outlives the server after {signal:?}"
        );
    }
}
