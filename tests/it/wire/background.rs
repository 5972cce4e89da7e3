//! Background commands: started, followed, fed with input and ended through the protocol.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::open_server;
use crate::harness::{DEADLINE, Reply, Server, ends_within};
use crate::schema::{NEWEST_HANDSHAKE, REVISIONS, STATELESS};
use crate::tree::Tree;

fn start(server: &mut Server, line: &str) -> String {
    let reply = server.call(
        "execute_command",
        json!({"command": line, "background": true}),
    );
    let text = reply.text();
    let id = text.split('"').nth(1).unwrap().to_owned();
    assert_eq!(
        text,
        format!(
            "[runs in the background as commandId \"{id}\"; follow_command reads its output and ends it]"
        )
    );
    id
}

/// Follows a command until the text contains this, and returns all text read by then.
fn follow_until(server: &mut Server, id: &str, wanted: &str) -> String {
    let mut all = String::new();
    for _ in 0..20 {
        let text = server
            .call(
                "follow_command",
                json!({"commandId": id, "until": wanted, "waitSecs": 10}),
            )
            .all_texts()
            .concat();
        all += &text;
        if all.contains(wanted) {
            return all;
        }
    }
    panic!("no `{wanted}` in {all}");
}

fn structured(reply: &Reply) -> Value {
    reply.result()["structuredContent"].clone()
}

#[test]
fn background_command_works_on_every_revision() {
    for revision in REVISIONS {
        let (_tree, mut server) = open_server(revision);
        let id = start(
            &mut server,
            "echo ready; read x; echo got $x; read y; sleep 600",
        );
        assert_eq!(id, "c1");
        let text = follow_until(&mut server, &id, "ready");
        assert_eq!(text, "ready\n[still running; cursor 6]", "{revision}");
        let answered = server.call(
            "follow_command",
            json!({"commandId": id, "stdin": "it\n", "waitSecs": 10}),
        );
        assert_eq!(answered.text(), "got it\n[still running; cursor 13]");
        let ended = server.call("follow_command", json!({"commandId": id, "end": true}));
        assert_eq!(
            ended.text(),
            "(no new output)\n[ended by signal 15]\n[exit code: 143]"
        );
        let again = server.call(
            "follow_command",
            json!({"commandId": id, "cursor": 6, "waitSecs": 0}),
        );
        assert_eq!(
            again.text(),
            "got it\n[ended by signal 15]\n[exit code: 143]"
        );
    }
}

#[test]
fn structured_reply_matches_text() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let started = server.call(
        "execute_command",
        json!({"command": "echo a; cat; echo no >&2; exit 3", "background": true}),
    );
    let note =
        "runs in the background as commandId \"c1\"; follow_command reads its output and ends it";
    let expected =
        json!({"stdout": "", "stderr": "", "timedOut": false, "commandId": "c1", "notes": [note]});
    assert_eq!(structured(&started), expected);
    follow_until(&mut server, "c1", "a\n");
    let ended = server.call(
        "follow_command",
        json!({"commandId": "c1", "closeStdin": true, "waitSecs": 60}),
    );
    let expected =
        json!({"output": "no\n", "cursor": 5, "skippedBytes": 0, "running": false, "exitCode": 3});
    assert_eq!(
        (structured(&ended), ended.result()["isError"].clone()),
        (expected, json!(true))
    );
    assert_eq!(ended.all_texts(), ["no\n[exit code: 3]"]);
}

#[test]
fn wait_ends_at_timeout_or_cancellation() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let id = start(&mut server, "sleep 600");
    let begun = Instant::now();
    let reply = server.call("follow_command", json!({"commandId": id, "waitSecs": 1}));
    assert_eq!(reply.text(), "(no new output)\n[still running; cursor 0]");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let waiting = server.send(
        "tools/call",
        json!({"name": "follow_command", "arguments": {"commandId": id, "waitSecs": 60}}),
    );
    server.notify("notifications/cancelled", json!({"requestId": waiting}));
    assert_eq!(server.settle(), Vec::<Value>::new());
    // Only the waiting was cancelled.
    let reply = server.call("follow_command", json!({"commandId": id, "waitSecs": 0}));
    assert_eq!(reply.text(), "(no new output)\n[still running; cursor 0]");
}

#[test]
fn unknown_command_id_lists_existing_ones() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let message = |reply: Reply| (reply.code(), reply.failure().unwrap().message);
    let unknown = server.call("follow_command", json!({"commandId": "c7"}));
    let expected =
        "no background command has the `commandId` `c7`; no background command was started";
    assert_eq!(message(unknown), (-32602, expected.to_owned()));
    start(&mut server, "sleep 600");
    let unknown = server.call("follow_command", json!({"commandId": "7"}));
    let (code, told) = message(unknown);
    let (before, after) = told.split_once(" s ago").unwrap();
    let (before, age) = before.rsplit_once(' ').unwrap();
    assert_eq!(
        (code, before),
        (
            -32602,
            "no background command has the `commandId` `7`; there are c1 (running,"
        )
    );
    assert!(
        age.parse::<u64>().is_ok() && after == ": sleep 600)",
        "{told}"
    );
    let beyond = server.call("follow_command", json!({"commandId": "c1", "cursor": 9}));
    let expected = "`cursor` is 9; the output of c1 has 0 bytes so far";
    assert_eq!(message(beyond), (-32602, expected.to_owned()));
    let ended = start(&mut server, "true");
    follow_until(&mut server, &ended, "exit code: 0");
    let deaf = server.call("follow_command", json!({"commandId": ended, "stdin": "x"}));
    let expected = "c2 takes no input: it has ended, its stdin was closed, or it was started \
        without `background: true`\nhint: call follow_command without `stdin` for its state and \
        its last output";
    assert_eq!(message(deaf), (-32603, expected.to_owned()));
}

#[test]
fn background_commands_are_limited_by_operator() {
    let tree = Tree::new();
    let allow = format!("{}:rw", tree.root().display());
    let args = [
        "--allow",
        &allow,
        "--sandbox",
        "off",
        "--max-background-commands",
        "2",
    ];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &args);
    let first = start(&mut server, "sleep 600");
    start(&mut server, "sleep 600");
    let full = server.call(
        "execute_command",
        json!({"command": "sleep 600", "background": true}),
    );
    let expected = "all 2 slots for background commands are in use (--max-background-commands): \
        c1, c2\nhint: end one of these commands with follow_command and `end: true`";
    assert_eq!(
        (full.code(), full.failure().unwrap().message),
        (-32603, expected.to_owned())
    );
    server.call("follow_command", json!({"commandId": first, "end": true}));
    assert_eq!(start(&mut server, "sleep 600"), "c3");
}

#[test]
fn commands_above_limit_wait_with_notice() {
    let tree = Tree::new();
    let allow = format!("{}:rw", tree.root().display());
    let args = ["--allow", &allow, "--sandbox", "off", "--max-commands", "1"];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &args);
    let call = |line: &str, token: &str| json!({"name": "execute_command", "arguments": {"command": line}, "_meta": {"progressToken": token}});
    let first = server.send("tools/call", call("sleep 600", "first"));
    // The first command has its place once it reports.
    while server.recv()["params"]["progressToken"] != "first" {}
    let second = server.send("tools/call", call("echo second", "second"));
    loop {
        let message = server.recv();
        if message["params"]["progressToken"] == "second" {
            assert_eq!(
                message["params"]["message"],
                "waiting for a free slot: all 1 are in use (--max-commands)"
            );
            break;
        }
    }
    server.notify("notifications/cancelled", json!({"requestId": first}));
    assert_eq!(server.reply_to(&second).text(), "second\n[exit code: 0]");
}

#[test]
fn long_output_is_followed_in_parts() {
    let tree = Tree::new();
    let allow = format!("{}:rw", tree.root().display());
    let args = [
        "--allow",
        &allow,
        "--sandbox",
        "off",
        "--background-output-bytes",
        "100000",
    ];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &args);
    let id = start(&mut server, "head -c 300000 /dev/zero | tr '\\0' x");
    // Waits for the end first, so that the stored output is final.
    while structured(&server.call("follow_command", json!({"commandId": id, "cursor": 0})))["running"]
        == true
    {}
    let first = server.call("follow_command", json!({"commandId": id, "cursor": 0}));
    let told = structured(&first);
    assert_eq!(
        (&told["skippedBytes"], &told["cursor"]),
        (&json!(200_000), &json!(265_536))
    );
    let text = first.text();
    let (_, notes) = text.split_once('\n').unwrap();
    assert_eq!(
        notes,
        "[200000 bytes before this are no longer kept]\n[34464 bytes more: call again, or with cursor 267232 for the last \
         of them]\n[exit code: 0]"
    );
    let rest = structured(&server.call("follow_command", json!({"commandId": id})));
    assert_eq!(
        (rest["output"].as_str().unwrap().len(), &rest["cursor"]),
        (34_464, &json!(300_000))
    );
}

#[test]
fn terminal_is_given_to_command() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let reply = server.call(
        "execute_command",
        json!({"command": "test -t 1 && stty size", "tty": true}),
    );
    assert_eq!(reply.text(), "24 120\r\n[exit code: 0]");
    let both =
        json!({"command": "stty size; read x; echo got $x", "tty": true, "background": true});
    server.call("execute_command", both).result();
    follow_until(&mut server, "c1", "24 120");
    server
        .call(
            "follow_command",
            json!({"commandId": "c1", "stdin": "it\n"}),
        )
        .result();
    let all = server.call(
        "follow_command",
        json!({"commandId": "c1", "cursor": 0, "waitSecs": 10}),
    );
    assert_eq!(structured(&all)["output"], "24 120\r\nit\r\ngot it\r\n");
}

/// Starts a server whose commands move to the background after two seconds.
fn server_with_short_timeout(tree: &Tree, more: &[&str]) -> Server {
    let allow = format!("{}:rw", tree.root().display());
    let args = [
        "--allow",
        &allow,
        "--sandbox",
        "off",
        "--command-timeout-secs",
        "2",
    ];
    Server::open(tree, NEWEST_HANDSHAKE, &[&args[..], more].concat())
}

#[test]
fn long_command_moves_to_background() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(&tree, &[]);
    // Half a character is left for the call that reads its other half.
    let line = "echo out; echo err >&2; printf '\\342\\202'; until [ -e go ]; do sleep 0.01; done; printf '\\254\\n'; cat; exit 3";
    let handed = server.call("execute_command", json!({"command": line}));
    let told = "out\n[still running after 2 s, and goes on in the background as commandId \"c1\", \
        without stdin; follow_command with cursor 8 reads more output, waits for the end, or ends \
        the command]";
    assert_eq!(handed.all_texts(), [told, "[stderr]\nerr\n"]);
    let note = told
        .strip_prefix("out\n[")
        .unwrap()
        .strip_suffix(']')
        .unwrap();
    let expected = json!({"stdout": "out\n", "stderr": "err\n", "timedOut": false, "commandId": "c1", "cursor": 8,
        "notes": [note]});
    assert_eq!(
        (structured(&handed), handed.result()["isError"].clone()),
        (expected, Value::Null)
    );
    let deaf = server.call("follow_command", json!({"commandId": "c1", "stdin": "x"}));
    assert!(
        deaf.failure()
            .unwrap()
            .message
            .starts_with("c1 takes no input")
    );
    tree.file("go", "");
    let ended = server.call_with_progress(
        "follow_command",
        json!({"commandId": "c1", "cursor": 0, "waitSecs": 60}),
    );
    assert_eq!(
        ended.all_texts(),
        ["€\n[8 bytes before this are no longer kept]\n[exit code: 3]"]
    );
    assert_eq!(structured(&ended)["cursor"], 12);
}

#[test]
fn terminal_moved_to_background_accepts_input() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(&tree, &[]);
    let line = "read x || echo nobody; until [ -e go ]; do sleep 0.01; done; read x; echo got $x";
    let handed = structured(&server.call("execute_command", json!({"command": line, "tty": true})));
    assert_eq!(
        (&handed["stdout"], &handed["commandId"]),
        (&json!("nobody\r\n"), &json!("c1"))
    );
    tree.file("go", "");
    let answered = server.call(
        "follow_command",
        json!({"commandId": "c1", "stdin": "it\n", "until": "got it"}),
    );
    assert_eq!(structured(&answered)["output"], "it\r\ngot it\r\n");
}

#[test]
fn requested_timeout_ends_command() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(&tree, &["--max-command-timeout-secs", "4"]);
    let ended = server.call(
        "execute_command",
        json!({"command": "echo begun; exec sleep 600", "timeout": 2}),
    );
    let told = "begun\n[timed out after 2 s and was ended; the output until then is shown; leave \
        `timeout` out to let the command go on in the background]\n[ended by signal 15]\n[exit \
        code: 143]";
    assert_eq!(
        (ended.all_texts(), ended.result()["isError"].clone()),
        (vec![told.to_owned()], json!(true))
    );
    let refused = server.call(
        "execute_command",
        json!({"command": "touch ran", "timeout": 5}),
    );
    let told = "`timeout` is 5 s; at most 4 s are allowed. Give `background: true`, which has no \
        maximum, or leave `timeout` out: the command moves to the background after 2 s";
    assert_eq!(
        (refused.code(), refused.failure().unwrap().message),
        (-32602, told.to_owned())
    );
    assert!(!tree.has("ran"));
}

#[test]
fn timeout_beyond_patience_of_client_goes_on_in_background() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(&tree, &[]);
    let line = json!({"command": "echo begun; exec sleep 600", "timeout": 3});
    let handed = server.call("execute_command", line.clone());
    assert_eq!(structured(&handed)["commandId"], "c1");
    let ended =
        server.call_with_progress("follow_command", json!({"commandId": "c1", "waitSecs": 60}));
    assert_eq!(
        ended.all_texts(),
        ["(no new output)\n[timed out]\n[ended by signal 15]\n[exit code: 143]"]
    );
    // With progress the client sees that the command goes on.
    let waited = server.call_with_progress("execute_command", line);
    assert_eq!(structured(&waited)["timedOut"], true);
}

#[test]
fn wait_beyond_patience_of_client_is_cut() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(&tree, &[]);
    let id = start(&mut server, "until [ -e go ]; do sleep 0.01; done");
    let waited = server.call("follow_command", json!({"commandId": id, "waitSecs": 60}));
    assert_eq!(
        waited.all_texts(),
        [
            "(no new output)\n[without a progress token a reply takes at most 2 s: call again to wait \
          on]\n[still running; cursor 0]"
        ]
    );
}

#[test]
fn long_command_without_background_place_is_ended() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(
        &tree,
        &["--max-background-commands", "1", "--max-commands", "1"],
    );
    let id = start(&mut server, "sleep 600");
    let ended = server.call(
        "execute_command",
        json!({"command": "echo begun; exec sleep 600"}),
    );
    let told = "begun\n[timed out after 2 s and was ended; the output until then is shown; the \
        command could not go on in the background: all 1 slots for background commands are in use \
        (--max-background-commands): c1]\n[ended by signal 15]\n[exit code: 143]";
    assert_eq!(ended.all_texts(), [told]);
    server.call("follow_command", json!({"commandId": id, "end": true}));
    let handed = server.call("execute_command", json!({"command": "exec sleep 600"}));
    assert_eq!(structured(&handed)["commandId"], "c2");
    // Its place in the queue is free.
    assert_eq!(
        server
            .call("execute_command", json!({"command": "echo next"}))
            .text(),
        "next\n[exit code: 0]"
    );
}

#[test]
fn timeout_without_background_place_is_waited_for() {
    let tree = Tree::new();
    let mut server = server_with_short_timeout(&tree, &["--max-background-commands", "1"]);
    start(&mut server, "sleep 600");
    let line = json!({"command": "sleep 2.5; echo done", "timeout": 60});
    let ended = server.call("execute_command", line);
    assert_eq!(ended.text(), "done\n[exit code: 0]");
}

#[test]
fn wait_ends_with_command_or_matching_line() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let lines = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $((i*i)); sleep 0.02; done";
    let id = start(&mut server, lines);
    let all = server.call("follow_command", json!({"commandId": id, "waitSecs": 60}));
    assert_eq!(
        (
            all.text().lines().count(),
            structured(&all)["running"].clone()
        ),
        (61, json!(false))
    );
    let id = start(
        &mut server,
        "printf 'a\\377\\nready: '; echo 8000; sleep 600",
    );
    let matched = structured(&server.call(
        "follow_command",
        json!({"commandId": id, "until": "^ready: \\d+$"}),
    ));
    assert_eq!(
        (&matched["output"], &matched["matchedAt"]),
        (&json!("a\u{fffd}\nready: 8000\n"), &json!(3))
    );
    let other = server.call(
        "follow_command",
        json!({"commandId": id, "until": "never", "waitSecs": 1}),
    );
    assert_eq!(
        other.text(),
        "(no new output)\n[`until` matches nothing so far]\n[still running; cursor 15]"
    );
    let wrong = server.call("follow_command", json!({"commandId": id, "until": "("}));
    assert!(
        wrong
            .failure()
            .unwrap()
            .message
            .starts_with("invalid regular expression")
    );
}

#[test]
fn match_beyond_reply_limit_is_given_by_offset() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let id = start(
        &mut server,
        "head -c 300000 /dev/zero | tr '\\0' x; echo; echo found it; sleep 600",
    );
    let matched = server.call(
        "follow_command",
        json!({"commandId": id, "cursor": 0, "until": "^found"}),
    );
    let text = matched.text();
    assert!(
        text.contains("\n[`until` matches at cursor 300001]\n"),
        "{}",
        &text[text.len() - 200..]
    );
}

#[test]
fn long_wait_reports_progress() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let id = start(&mut server, "echo four; sleep 600");
    let arguments = json!({"commandId": id, "waitSecs": 60});
    let call =
        json!({"name": "follow_command", "arguments": arguments, "_meta": {"progressToken": "t"}});
    let waiting = server.send("tools/call", call);
    loop {
        let message = server.recv();
        assert_eq!(message["params"]["progressToken"], "t");
        if message["params"]["message"] == "5 bytes of output" {
            break;
        }
    }
    server.notify("notifications/cancelled", json!({"requestId": waiting}));
    assert_eq!(server.settle(), Vec::<Value>::new());
}

#[test]
fn leftover_processes_are_ended_and_reported() {
    let (_tree, mut server) = open_server(NEWEST_HANDSHAKE);
    let reply = server.call("execute_command", json!({"command": "sleep 600 & echo hi"}));
    assert_eq!(
        reply.text(),
        "hi\n[1 background process was ended with the shell; to keep one running use background: true]\n[exit code: 0]"
    );
}

#[test]
fn background_commands_end_with_server() {
    for by_signal in [false, true] {
        let (_tree, mut server) = open_server(STATELESS);
        let id = start(&mut server, "trap '' TERM; echo $$; sleep 600");
        let text = follow_until(&mut server, &id, "\n");
        let pid = Pid::from_raw(text.lines().next().unwrap().parse().unwrap()).unwrap();
        let slow = server.send(
            "tools/call",
            json!({"name": "execute_command", "arguments": {
            "command": format!("sleep 1; kill -0 {pid} && echo it still runs", pid = pid.as_raw_nonzero())}}),
        );
        if by_signal {
            kill_process(server.pid(), Signal::TERM).unwrap();
        } else {
            server.close_stdin();
            assert_eq!(
                server.reply_to(&slow).text(),
                "it still runs\n[exit code: 0]"
            );
        }
        server.wait_exit();
        assert!(ends_within(pid, DEADLINE), "it outlives the server");
    }
}
