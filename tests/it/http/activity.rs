//! Activity stream and page: access, content, and resumption after a disconnect.

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::{Client, Response, Server, command};
use super::tenants::pair;
use super::{call, request, stage};
use crate::tree::Tree;

fn get(server: &Server, path: &str, token: &str) -> Response {
    server.ask("GET", path, &[("Authorization", token)], b"")
}

/// Opens the activity stream at a position, and reads the response head.
pub fn follow(server: &Server, token: &str, position: Option<&str>) -> Client {
    let mut client = server.connect();
    let from = position.map(|position| ("Last-Event-ID", position));
    let headers: Vec<_> = [("Authorization", token)].into_iter().chain(from).collect();
    client.send("GET", "/activity/stream", &headers, b"");
    let head = client.head();
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    client
}

fn texts<'a>(calls: &'a Value, member: &str) -> Vec<&'a str> {
    calls
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call[member].as_str().unwrap())
        .collect()
}

#[test]
fn activity_data_requires_token() {
    let pair = pair(&[]);
    for path in ["/activity", "/activity/stream", "/activity/1", "/activity/"] {
        let refused = pair.server.ask("GET", path, &[], b"");
        assert_eq!(
            (refused.status, refused.header("www-authenticate")),
            (401, Some("Bearer realm=\"replay\"")),
            "{path}"
        );
        assert_eq!(
            pair.server
                .ask("POST", path, &[("Authorization", &pair.bob)], b"")
                .status,
            405,
            "{path}"
        );
    }
    let page = pair.server.ask("GET", "/", &[], b"");
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'; style-src 'sha256-",
        "; script-src 'sha256-",
        "; connect-src 'self'; ",
        "trusted-types 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let text = page.text();
    for secret in ["alice", "bob", pair.tree.root().to_str().unwrap()] {
        assert!(!text.contains(secret), "{secret}");
    }
    for headers in [
        [("Host", "evil.example")],
        [("Origin", "http://evil.example")],
    ] {
        assert_eq!(
            pair.server.ask("GET", "/", &headers, b"").status,
            403,
            "{headers:?}"
        );
        assert_eq!(
            pair.server.ask("GET", "/activity", &headers, b"").status,
            403,
            "{headers:?}"
        );
    }
}

#[test]
fn activity_reports_call_from_start_to_end() {
    let (tree, server) = stage(&["--rate-limit", "0"]);
    let path = tree.text("work/hello.txt");
    let edits = json!([{"oldText": "hello", "newText": "bye"}]);
    assert_eq!(
        server
            .post(&call(
                1,
                "edit_file",
                &json!({"path": path, "edits": edits})
            ))
            .status,
        200
    );
    assert_eq!(
        server
            .post(&call(2, "read_file", &json!({"path": "/etc/hostname"})))
            .status,
        200
    );
    let mut told = server.ask("GET", "/activity", &[], b"").json();
    assert!(told["uptimeSeconds"].take().is_u64() && told["position"].take().is_string());
    let calls = told["calls"].take();
    let root = json!({"path": tree.text("work"), "access": "rw"});
    let tenant = json!({
        "name": "anyone", "revoked": false, "place": {"roots": [root], "walls": "off", "background": [], "ports": []}, "sessions": [],
        "callsRunning": 0, "callsWaiting": 0, "commandsRunning": 0, "outcomes": {"denied": 1, "ok": 1},
        "tooFast": 0,
    });
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"), "uptimeSeconds": null, "you": {"name": "anyone", "operator": true},
        "tenants": [tenant], "position": null, "before": null, "running": [], "calls": null,
    });
    assert_eq!(told, expected);
    assert_eq!(
        [texts(&calls, "tool"), texts(&calls, "outcome")],
        [["read_file", "edit_file"], ["denied", "ok"]]
    );
    let id = &calls[1]["id"];
    let mut whole = server
        .ask("GET", &format!("/activity/{id}"), &[], b"")
        .json();
    for unsteady in ["at", "requestBytes", "replyBytes", "durationMs"] {
        assert!(!whole[unsteady].take().is_null(), "{unsteady}");
    }
    let expected = json!({
        "id": id, "at": null, "client": "anyone", "session": null, "tool": "edit_file", "subject": path, "state": "done",
        "revision": "2025-11-25", "trace": null, "requestBytes": null, "outcome": "ok", "code": null, "replyBytes": null,
        "durationMs": null, "paths": [{"path": path, "access": "write"}], "pathsMore": 0,
        "arguments": {"path": path, "edits": edits}, "text": format!("Successfully edited {path}"),
        "undo": {"call": 1, "edited": 1},
    });
    assert_eq!(whole, expected);
    let denied = &calls[0];
    let reason = denied["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("`/etc/hostname` is outside the allowed directories"),
        "{reason}"
    );
    assert_eq!(
        (&denied["code"], &denied["paths"][0]),
        (
            &json!(-32001),
            &json!({"path": "/etc/hostname", "access": "denied"})
        )
    );
    assert_eq!(server.ask("GET", "/activity/99", &[], b"").status, 404);
    assert_eq!(
        server.ask("GET", "/activity?limit=all", &[], b"").status,
        400
    );
}

#[test]
fn activity_reports_background_command() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let line = "read line; echo done; exit 3";
    server.post(&call(
        1,
        "execute_command",
        &json!({"command": line, "background": true}),
    ));
    let told = || {
        let mut told = server.ask("GET", "/activity", &[], b"").json();
        (
            told["tenants"][0]["place"]["background"][0].take(),
            told["calls"].take(),
        )
    };
    let (mut running, calls) = told();
    assert_eq!(calls[0]["background"], "c1");
    let at = |value: &Value| humantime::parse_rfc3339(value.as_str().unwrap()).unwrap();
    let (began, called) = (at(&running["at"].take()), at(&calls[0]["at"]));
    let took = std::time::Duration::from_secs_f64(
        calls[0]["durationMs"].as_f64().unwrap() / 1000.0 + 0.001,
    );
    assert!((called..=called + took).contains(&began), "{calls}");
    assert!(running["durationMs"].take().as_f64().unwrap() > 0.0);
    let mut expected = json!({"id": "c1", "command": line, "at": null, "durationMs": null, "bytes": 0, "outcome": null, "end": null});
    assert_eq!(running, expected);
    let message = call(
        2,
        "follow_command",
        &json!({"commandId": "c1", "stdin": "go\n", "waitSecs": 10}),
    );
    assert_eq!(
        server.post(&message).json()["result"]["structuredContent"]["output"],
        "done\n"
    );
    let until = std::time::Instant::now() + crate::harness::DEADLINE;
    let mut ended = loop {
        let (ended, _) = told();
        if !ended["outcome"].is_null() {
            break ended;
        }
        assert!(std::time::Instant::now() < until, "{ended}");
        std::thread::yield_now();
    };
    // The duration of an ended command is final.
    assert_eq!(told().0["durationMs"], ended["durationMs"].take());
    ended["at"].take();
    (expected["bytes"], expected["outcome"], expected["end"]) =
        (5.into(), "failed".into(), "exit code 3".into());
    assert_eq!(ended, expected);
}

#[test]
fn activity_without_commands_has_no_sandbox() {
    let (_tree, server) = stage(&["--tools", "files"]);
    assert_eq!(
        server.ask("GET", "/activity", &[], b"").json()["tenants"][0]["place"]["walls"],
        Value::Null
    );
}

#[test]
fn tenant_sees_only_its_own_activity() {
    let pair = pair(&["--rate-limit", "0"]);
    let mut bob = follow(&pair.server, &pair.bob, None);
    let mut operator = follow(&pair.server, &pair.alice, None);
    for token in [&pair.alice, &pair.bob] {
        assert_eq!(
            pair.ask(
                token,
                &call(1, "list_directory", &json!({"path": "."})),
                &[]
            )
            .status,
            200
        );
    }
    // A slow follower receives only the end of a call.
    let ended = |client: &mut Client| loop {
        let (_, kind, call) = client.named_event();
        if call["state"] == "done" {
            return (kind, call["client"].as_str().unwrap().to_owned());
        }
    };
    let event = |client: &str| ("call".to_owned(), client.to_owned());
    assert_eq!(ended(&mut bob), event("bob"));
    assert_eq!(
        [ended(&mut operator), ended(&mut operator)],
        [event("alice"), event("bob")]
    );
    let mine = get(&pair.server, "/activity", &pair.bob);
    assert!(!mine.text().contains("alice"), "{}", mine.text());
    assert_eq!(texts(&mine.json()["calls"], "client"), ["bob"]);
    let every = get(&pair.server, "/activity", &pair.alice).json();
    assert_eq!(texts(&every["calls"], "client"), ["bob", "alice"]);
    // An id refers to the tenant's own calls or to none: ids do not count calls of others.
    let mine = mine.json();
    let ids = [
        &every["calls"][0]["id"],
        &every["calls"][1]["id"],
        &mine["calls"][0]["id"],
    ];
    assert_eq!(ids, [2, 1, 1]);
    assert_eq!(
        mine["position"]
            .as_str()
            .unwrap()
            .split_once('-')
            .unwrap()
            .1,
        "2"
    );
    assert_eq!(
        get(&pair.server, "/activity/1", &pair.alice).json()["client"],
        "alice"
    );
    assert_eq!(
        get(&pair.server, "/activity/1", &pair.bob).json()["client"],
        "bob"
    );
    assert_eq!(get(&pair.server, "/activity/2", &pair.bob).status, 404);
}

#[test]
fn stream_resumes_and_reports_gap() {
    let (_tree, server) = stage(&["--rate-limit", "0"]);
    let list = |id: u64| {
        assert_eq!(
            server
                .post(&call(id, "list_directory", &json!({"path": "."})))
                .status,
            200
        );
    };
    let start = server.ask("GET", "/activity", &[], b"").json()["position"]
        .as_str()
        .unwrap()
        .to_owned();
    list(1);
    let mut client = follow(&server, "", Some(&start));
    let (position, _, first) = client.named_event();
    assert_eq!((&first["id"], &first["outcome"]), (&json!(1), &json!("ok")));
    list(2);
    assert_eq!(client.named_event().2["id"], json!(2));
    drop(client);
    list(3);
    let mut client = follow(&server, "", Some(&position));
    let heard = [(); 2].map(|()| client.named_event().2["id"].clone());
    assert_eq!(heard, [json!(2), json!(3)]);
    let mut one = server.connect();
    for id in 4..510 {
        assert_eq!(
            one.post(&call(id, "list_directory", &json!({"path": "."})), &[])
                .status,
            200
        );
    }
    let mut client = follow(&server, "", Some(&start));
    assert_eq!(client.named_event().1, "gap");
    assert_eq!(client.named_event().2["id"], json!(10));
    for strange in ["x", "00000000-1", "-1"] {
        assert_eq!(
            follow(&server, "", Some(strange)).named_event().1,
            "gap",
            "{strange}"
        );
    }
    // Expired calls are not listed either.
    let page = server.ask("GET", "/activity?limit=500", &[], b"").json();
    let calls = page["calls"].as_array().unwrap();
    assert_eq!(
        (calls.len(), &calls[499]["id"], &page["before"]),
        (500, &json!(10), &Value::Null)
    );
    let page = server.ask("GET", "/activity?limit=2", &[], b"").json();
    let next = server
        .ask(
            "GET",
            &format!("/activity?limit=2&before={}", page["before"]),
            &[],
            b"",
        )
        .json();
    assert_eq!(
        [&next["calls"][0]["id"], &next["calls"][1]["id"]],
        [&json!(507), &json!(506)]
    );
}

#[test]
fn long_arguments_and_replies_are_truncated() {
    let (tree, server) = stage(&["--rate-limit", "0", "--reply-tokens", "0"]);
    tree.file("work/long.txt", "0123456789\n".repeat(900_000));
    let path = tree.text("work/long.txt");
    for id in 0..8 {
        let reply = server.post(&call(id, "read_file", &json!({"path": path})));
        assert!(reply.body.len() > 9_900_000);
    }
    let content = "é".repeat(1_000_000);
    assert_eq!(
        server
            .post(&call(
                9,
                "write_file",
                &json!({"path": path, "content": content})
            ))
            .status,
        200
    );
    let list = server.ask("GET", "/activity", &[], b"");
    assert!(list.body.len() < 16 * 1024, "{}", list.body.len());
    let ids: Vec<u64> = list.json()["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["id"].as_u64().unwrap())
        .collect();
    let whole = |id: u64| {
        server
            .ask("GET", &format!("/activity/{id}"), &[], b"")
            .json()
    };
    let text = whole(ids[1])["text"].as_str().unwrap().to_owned();
    assert!(
        text.contains("\n… 9883616 bytes are left out …\n") && text.len() < 17 * 1024,
        "{}",
        &text[12_000..13_000]
    );
    let arguments = whole(ids[0])["arguments"].clone();
    assert_eq!(
        arguments,
        json!({"path": path, "content": format!("{}… (1995904 bytes more)", "é".repeat(2048))})
    );
}

#[test]
fn activity_includes_running_and_stdio_calls() {
    let tree = Tree::new();
    tree.dir("work");
    let allow = format!("{}:rw", tree.text("work"));
    let mut command = command(&tree, &["--allow", &allow, "--sandbox", "off", "--stdio"]);
    command.stdin(Stdio::piped());
    let mut server = Server::spawn(command);
    let mut client = follow(&server, "", None);
    let line = "while [ ! -e go ]; do sleep 0.02; done";
    let message = call(1, "execute_command", &json!({"command": line})).to_string() + "\n";
    let mut input = server.child().stdin.take().unwrap();
    std::io::Write::write_all(&mut input, message.as_bytes()).unwrap();
    let begun = client.named_event().2;
    assert_eq!(
        [&begun["client"], &begun["state"], &begun["subject"]],
        [&json!("stdio"), &json!("running"), &json!(line)]
    );
    let progress = loop {
        let call = client.named_event().2;
        if let Some(progress) = call.get("progress") {
            break progress.clone();
        }
    };
    assert!(
        progress["message"]
            .as_str()
            .unwrap()
            .starts_with("running for "),
        "{progress}"
    );
    let running = server.ask("GET", "/activity", &[], b"").json()["running"].clone();
    assert_eq!(
        (running.as_array().unwrap().len(), &running[0]["id"]),
        (1, &begun["id"])
    );
    tree.file("work/go", "");
    let end = loop {
        let call = client.named_event().2;
        if call["state"] == "done" {
            break call;
        }
    };
    assert_eq!((&end["id"], &end["outcome"]), (&begun["id"], &json!("ok")));
    let opened = server.post(&request(
        1,
        "initialize",
        &json!({"protocolVersion": "2025-11-25"}),
    ));
    let name = opened.header("mcp-session-id").unwrap().to_owned();
    let told = server.ask("GET", "/activity", &[], b"").text();
    assert!(!told.contains(&name));
    // An open stream does not delay the shutdown.
    server.terminate();
    assert!(server.wait().success());
}
