//! The three tools for recorded calls.

use std::time::Instant;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Upstream, client};
use crate::harness::{DEADLINE, Reply, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Returns the structured content of a reply, which must equal its text.
pub fn structured_content(reply: &Reply) -> Value {
    let text: Value = serde_json::from_str(&reply.text()).unwrap();
    assert_eq!(text, reply.result()["structuredContent"]);
    text
}

pub fn open(tree: &Tree, args: &[&str]) -> Server {
    let allow = format!("{}:rw", tree.text("work"));
    tree.dir("work");
    Server::open(
        tree,
        NEWEST_HANDSHAKE,
        &[&["--allow", &allow, "--tools", "command,calls"], args].concat(),
    )
}

#[test]
fn tools_record_list_and_replay() {
    let (tree, mut upstream) = (Tree::new(), Upstream::start());
    let mut server = open(&tree, &["--network", "host"]);
    tree.file(
        "work/order.py",
        client(&[upstream.url() + "/a", upstream.url() + "/b"]),
    );
    let nothing = structured_content(&server.call("keploy_list_mocks", json!({})));
    assert_eq!(
        nothing,
        json!({"success": true, "mockSets": [], "count": 0, "path": "./keploy",
            "message": "No mock sets found. Use keploy_mock_record to create mocks first. Searched: `./keploy`; name another directory \
             as `path`"})
    );
    let command = "python3 order.py";
    let recorded = structured_content(&server.call(
        "keploy_mock_record",
        json!({"command": command, "path": "./keploy/deep"}),
    ));
    assert_eq!(
        recorded,
        json!({"success": true, "mockFilePath": "./keploy/deep/order-http/mocks.yaml", "mockCount": 2,
            "protocols": ["HTTP"], "message": "Recorded 2 mocks (HTTP)",
            "configuration": {"command": command, "path": "./keploy/deep"}, "appExitCode": 0,
            "isolation": "seccomp"})
    );
    upstream.stop();
    // Directory of the last recording.
    let tested = structured_content(&server.call("keploy_mock_test", json!({"command": command})));
    let configuration = json!({"command": command, "mockName": "order-http", "fallBackOnMiss": false,
        "path": "./keploy/deep"});
    assert_eq!(
        tested,
        json!({"success": true, "mocksReplayed": 2, "mocksMissed": 0, "appExitCode": 0, "message": "Replayed 2 mocks",
            "configuration": configuration, "mocksUnused": 0, "isolated": true, "isolation": "seccomp"})
    );
    tree.file(
        "work/order.py",
        client(&[upstream.url() + "/a", upstream.url() + "/c"]) + "raise SystemExit(3)\n",
    );
    let missed = structured_content(&server.call(
        "keploy_mock_test",
        json!({"command": command, "mockName": "order-http"}),
    ));
    assert_eq!(
        missed["message"],
        "Replayed 1 mocks, 1 mocks missed, app exited with code 3"
    );
    assert_eq!(
        (
            &missed["success"],
            &missed["mocksMissed"],
            &missed["mocksUnused"],
            &missed["isolated"]
        ),
        (&json!(false), &json!(1), &json!(1), &json!(false))
    );
    assert_eq!(
        missed["misses"].as_array().map(Vec::len),
        Some(1),
        "{missed}"
    );
    let listed =
        structured_content(&server.call("keploy_list_mocks", json!({"path": "keploy/deep"})));
    assert_eq!(
        (&listed["mockSets"], &listed["message"]),
        (
            &json!(["order-http"]),
            &json!("Found 1 mock set(s). The latest is 'order-http'.")
        )
    );
}

#[test]
fn background_server_is_recorded_over_loopback() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "namespaces"]);
    tree.file("work/page", "hello\n");
    let started = server.call(
        "execute_command",
        json!({"command": "python3 -m http.server 8123", "background": true}),
    );
    let id = started.result()["structuredContent"]["commandId"].clone();
    tree.file(
        "work/client.py",
        "import time, urllib.request, urllib.error\nfor _ in range(100):\n    try:\n        print(urllib.request.urlopen('http://127.0.0.1:8123/page').read().decode())\n        break\n    except urllib.error.HTTPError:\n        raise\n    except OSError:\n        time.sleep(0.1)\n",
    );
    let ready = server.call("execute_command", json!({"command": "python3 client.py"}));
    assert_eq!(ready.result()["structuredContent"]["stdout"], "hello\n\n");
    let recorded = structured_content(&server.call(
        "keploy_mock_record",
        json!({"command": "python3 client.py"}),
    ));
    assert_eq!(recorded["message"], "Recorded 1 mocks (HTTP)", "{recorded}");
    server.call("follow_command", json!({"commandId": id, "end": true}));
    let tested = structured_content(
        &server.call("keploy_mock_test", json!({"command": "python3 client.py"})),
    );
    assert_eq!(
        (&tested["message"], &tested["success"]),
        (&json!("Replayed 1 mocks"), &json!(true)),
        "{tested}"
    );
}

#[test]
fn recording_keeps_network_limits_of_commands() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    for args in [["--sandbox", "namespaces"], ["--network", "none"]] {
        let mut server = open(&tree, &args);
        tree.file("work/order.py", client(&[upstream.url() + "/a"]));
        let recorded = structured_content(
            &server.call("keploy_mock_record", json!({"command": "python3 order.py"})),
        );
        assert_eq!(recorded["success"], true, "{recorded}");
        let fell_back = structured_content(&server.call(
            "keploy_mock_test",
            json!({"command": "python3 order.py", "fallBackOnMiss": true}),
        ));
        assert_eq!(fell_back["appExitCode"], 0, "{fell_back}");
    }
    assert_eq!(upstream.answered(), 0, "a server of the system was reached");
}

#[test]
fn invalid_arguments_get_contract_messages() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    let empty = structured_content(&server.call("keploy_mock_record", json!({"command": " "})));
    assert_eq!(
        (&empty["success"], &empty["message"]),
        (
            &json!(false),
            &json!("Recording failed: Command is required")
        )
    );
    let none = structured_content(&server.call("keploy_mock_test", json!({"command": "true"})));
    assert_eq!(
        none["message"],
        "No mock sets found. Use keploy_mock_record to create mocks first. Searched: `./keploy`; name another directory as `path`"
    );
    let captured =
        structured_content(&server.call("keploy_mock_record", json!({"command": "exit 4"})));
    assert_eq!(
        (
            &captured["message"],
            &captured["protocols"],
            &captured["mockCount"],
            &captured["appExitCode"]
        ),
        (
            &json!("Recording completed but no mocks were captured, app exited with code 4"),
            &json!([]),
            &json!(0),
            &json!(4)
        )
    );
    let unknown = structured_content(&server.call(
        "keploy_mock_test",
        json!({"command": "true", "mockName": "other"}),
    ));
    let message = unknown["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "Failed to load mocks: there is no set 'other' in ./keploy; there are: mock-"
        ),
        "{message}"
    );
    let outside = server.call(
        "keploy_mock_record",
        json!({"command": "true", "path": "/etc"}),
    );
    assert_eq!(outside.code(), -32001);
    let message = outside.failure().unwrap().message;
    assert!(
        message.starts_with("`/etc` is outside the allowed directories\n"),
        "{message}"
    );
    let odd = server.call(
        "keploy_mock_test",
        json!({"command": "true", "mockName": "../x"}),
    );
    assert_eq!(odd.code(), -32602);
}

#[test]
fn cancelled_recording_keeps_calls() {
    let (tree, upstream) = (Tree::new(), Upstream::start());
    let mut server = open(&tree, &["--network", "host"]);
    tree.file(
        "work/order.py",
        client(&[upstream.url() + "/a"]) + "open('asked', 'w')\nimport time\ntime.sleep(100)\n",
    );
    let params = json!({"name": "keploy_mock_record", "arguments": {"command": "python3 order.py"},
        "_meta": {"progressToken": "p"}});
    let id = server.send("tools/call", params);
    // Each progress notification arrives during the run.
    while !tree.path("work/asked").exists() {
        assert_eq!(server.recv()["params"]["progressToken"], "p");
    }
    server.notify("notifications/cancelled", json!({"requestId": id}));
    // There is no notification for the end of the write.
    let until = Instant::now() + DEADLINE;
    let sets = loop {
        let listed = structured_content(&server.call("keploy_list_mocks", json!({})));
        if listed["count"] != 0 || Instant::now() >= until {
            break listed["mockSets"].clone();
        }
    };
    assert_eq!(sets, json!(["order-http"]));
}
