//! Audit log (`--audit`) over stdio, and the `replay audit` subcommand.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::Server;
use crate::schema::{NEWEST_HANDSHAKE, STATELESS};
use crate::tree::Tree;

/// Creates a tree with a writable directory, and a directory for logs outside of it.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.file("work/f", "one\n").dir("work/ro").dir("logs");
    tree
}

fn flags(tree: &Tree, more: &[&str]) -> Vec<String> {
    let own = [
        format!("{}:rw", tree.text("work")),
        tree.text("logs/audit.jsonl"),
    ];
    let mut all: Vec<String> = ["--tools", "files", "--allow", &own[0], "--audit", &own[1]]
        .map(str::to_owned)
        .into();
    all.extend(more.iter().map(|flag| (*flag).to_owned()));
    all
}

fn open(tree: &Tree, revision: &str, more: &[&str]) -> Server {
    let flags = flags(tree, more);
    Server::open(
        tree,
        revision,
        &flags.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

/// Returns the lines of the log.
pub fn lines(tree: &Tree) -> Vec<Value> {
    let text = std::fs::read_to_string(tree.path("logs/audit.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Removes the `begin` lines.
pub fn without_begins(mut lines: Vec<Value>) -> Vec<Value> {
    lines.retain(|line| line["event"] != "begin");
    lines
}

/// Runs `replay audit ARGS`.
pub fn audit(tree: &Tree, args: &[&str]) -> (i32, String) {
    let program = Command::new(env!("CARGO_BIN_EXE_replay"))
        .arg("audit")
        .args(args)
        .current_dir(tree.root())
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = program.unwrap();
    (
        status.code().unwrap(),
        String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap(),
    )
}

fn owners_only(tree: &Tree, path: &str) {
    std::fs::set_permissions(tree.path(path), PermissionsExt::from_mode(0o600)).unwrap();
}

/// Returns the named members of each line.
fn members(lines: &[Value], names: &[&str]) -> Vec<Value> {
    lines
        .iter()
        .map(|line| names.iter().map(|name| line[*name].clone()).collect())
        .collect()
}

#[test]
fn call_is_logged_before_its_reply() {
    for revision in [NEWEST_HANDSHAKE, STATELESS] {
        let tree = tree();
        let mut server = open(&tree, revision, &[]);
        server.settle();
        assert_eq!(
            members(&lines(&tree), &["event", "serves"]),
            [json!(["start", "stdio"])]
        );
        let secret = "x".repeat(2000);
        for (tool, arguments) in [
            ("read_file", json!({"path": tree.text("work/f")})),
            (
                "write_file",
                json!({"path": tree.text("work/new"), "content": secret}),
            ),
            ("read_file", json!({"path": "/etc/passwd"})),
            ("read_file", json!({"path": tree.text("work/none")})),
            ("read_file", json!({"paht": "x"})),
            ("no_such_tool", json!({})),
            (
                "search_files",
                json!({"path": tree.text("work"), "pattern": "one"}),
            ),
        ] {
            let before = lines(&tree).len();
            server.call(tool, arguments);
            let events: Vec<Value> = lines(&tree)
                .split_off(before)
                .into_iter()
                .map(|line| line["event"].clone())
                .collect();
            let expected: &[&str] = if tool == "write_file" {
                &["begin", "call"]
            } else {
                &["call"]
            };
            assert_eq!(events, expected, "{tool}");
        }
        let begun = lines(&tree)
            .into_iter()
            .find(|line| line["event"] == "begin")
            .unwrap();
        assert_eq!(
            (&begun["call"], &begun["tool"], &begun["client"]),
            (&json!(2), &json!("write_file"), &json!("stdio"))
        );
        assert_eq!(begun["arguments"]["path"], tree.text("work/new"));
        let found = without_begins(lines(&tree));
        assert_eq!(
            members(
                &found[1..],
                &[
                    "event", "call", "client", "revision", "tool", "outcome", "code"
                ]
            ),
            [
                json!(["call", 1, "stdio", revision, "read_file", "ok", null]),
                json!(["call", 2, "stdio", revision, "write_file", "ok", null]),
                json!(["call", 3, "stdio", revision, "read_file", "denied", -32001]),
                json!(["call", 4, "stdio", revision, "read_file", "failed", -32002]),
                json!(["call", 5, "stdio", revision, "read_file", "invalid", -32602]),
                json!([
                    "call",
                    6,
                    "stdio",
                    revision,
                    "no_such_tool",
                    "invalid",
                    -32602
                ]),
                json!(["call", 7, "stdio", revision, "search_files", "ok", null]),
            ]
        );
        let path = |path: &str, access: &str| json!([{"path": tree.text(path), "access": access}]);
        assert_eq!(
            found[1..]
                .iter()
                .map(|line| line["paths"].clone())
                .collect::<Vec<_>>(),
            [
                path("work/f", "read"),
                path("work/new", "write"),
                json!([{"path": "/etc/passwd", "access": "denied"}]),
                json!([]),
                json!([]),
                json!([]),
                path("work", "list"),
            ]
        );
        assert_eq!(found[2]["arguments"]["content"]["bytes"], 2000);
        server.close_stdin();
        server.wait_exit();
        assert_eq!(lines(&tree).last().unwrap()["event"], "end");
        let (status, text) = audit(&tree, &["verify", "logs/audit.jsonl"]);
        assert!(
            status == 0 && text.starts_with("ok: 7 calls in 10 lines, 1 start of a server\n"),
            "{text}"
        );
    }
}

#[test]
fn log_continues_after_kill_and_restart() {
    let tree = tree();
    for round in 1..=2 {
        let mut server = open(&tree, NEWEST_HANDSHAKE, &[]);
        server
            .call("read_file", json!({"path": tree.text("work/f")}))
            .texts();
        kill_process(server.pid(), Signal::KILL).unwrap();
        server.wait_exit();
        assert_eq!(lines(&tree).len(), 2 * round);
    }
    // Partial line, as left by a crash during a write.
    let path = tree.path("logs/audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 40]).unwrap();
    drop(open(&tree, NEWEST_HANDSHAKE, &[]));
    let (status, text) = audit(&tree, &["verify", "logs/audit.jsonl"]);
    assert!(
        status == 0 && text.contains("3 starts of servers, 1 line torn and completed\n"),
        "{text}"
    );
    let head = text
        .lines()
        .last()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .to_owned();
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, good.replacen("read_file", "list_file", 1)).unwrap();
    let (status, text) = audit(&tree, &["verify", "logs/audit.jsonl"]);
    assert_eq!(
        (status, text.as_str()),
        (1, "line 2: its hash is not that of its content\n")
    );
    let cut = good.trim_end().rfind('\n').unwrap() + 1;
    std::fs::write(&path, &good[..cut]).unwrap();
    assert_eq!(audit(&tree, &["verify", "logs/audit.jsonl"]).0, 0);
    assert_eq!(
        audit(&tree, &["verify", "logs/audit.jsonl", "--head", &head]).0,
        1
    );
}

#[test]
fn audit_key_detects_rewritten_log() {
    let tree = tree();
    tree.file("logs/key", "0123456789abcdef0123456789abcdef\n");
    let key = tree.text("logs/key");
    let refused = |flags: &[&str]| {
        let all = self::flags(&tree, flags);
        let mut server = Server::start(&tree, &all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(server.wait_exit().code(), Some(2));
        server.stderr()
    };
    assert!(refused(&["--audit-key", &key]).contains("other users can read the key"));
    owners_only(&tree, "logs/key");
    drop(open(&tree, NEWEST_HANDSHAKE, &["--audit-key", &key]));
    for flag in ["--key", "--audit-key"] {
        assert_eq!(
            audit(&tree, &["verify", "logs/audit.jsonl", flag, "logs/key"]).0,
            0,
            "{flag}"
        );
    }
    let (status, said) = audit(&tree, &["verify", "logs/audit.jsonl"]);
    let hint = "line 1: its hash is not that of its content (a log that was written with --audit-key is verified with it, too: --audit-key FILE)\n";
    assert_eq!((status, &*said), (1, hint));
    assert!(refused(&[]).contains("its last line cannot be continued"));
}

#[test]
fn failed_edit_is_logged_with_reason() {
    let tree = tree();
    let mut server = open(&tree, STATELESS, &[]);
    let path = tree.text("work/f");
    let edit = json!({"path": path, "edits": [{"oldText": "two", "newText": "three"}]});
    let told = server.call("edit_file", edit).failure().unwrap().message;
    let last = lines(&tree).pop().unwrap();
    let first = told.lines().next().unwrap();
    assert_eq!(
        (&last["outcome"], last["detail"].as_str()),
        (&json!("failed"), Some(first))
    );
}

#[test]
fn log_lists_paths_with_actual_access() {
    let tree = tree();
    let (work, log) = (
        format!("{}:rw", tree.text("work")),
        tree.text("logs/audit.jsonl"),
    );
    let flags = ["--tools", "calls", "--allow", &work, "--audit", &log];
    let mut server = Server::open(&tree, NEWEST_HANDSHAKE, &flags);
    let recorded = server.call(
        "keploy_mock_record",
        json!({"command": "true", "path": "./sets"}),
    );
    let file = recorded.result()["structuredContent"]["mockFilePath"]
        .as_str()
        .unwrap()
        .to_owned();
    let set = file
        .strip_prefix("./")
        .and_then(|file| file.strip_suffix("/mocks.yaml"))
        .unwrap();
    server.call(
        "keploy_mock_record",
        json!({"command": "true", "path": "/etc/sets"}),
    );
    let path = |path: &str, access: &str| json!({"path": tree.text(&format!("work/{path}")), "access": access});
    let touched = [
        json!([
            path("sets", "create"),
            path("sets", "list"),
            json!({"path": tree.text("work"), "access": "run"}),
            path(set, "create"),
            path(&format!("{set}/mocks.yaml"), "write"),
        ]),
        json!([{"path": "/etc/sets", "access": "denied"}]),
    ];
    let found = without_begins(lines(&tree));
    assert_eq!(
        found[1..]
            .iter()
            .map(|line| line["paths"].clone())
            .collect::<Vec<_>>(),
        touched
    );
}

#[test]
fn log_is_exclusive_and_hidden_from_agents() {
    let tree = tree();
    tree.link(tree.path("work"), "logs/inside")
        .file("logs/linked", "")
        .file("work/key", "k".repeat(20));
    tree.hard_link("logs/linked", "work/name");
    owners_only(&tree, "work/key");
    let first = open(&tree, NEWEST_HANDSHAKE, &[]);
    let work = format!("{}:rw", tree.text("work"));
    let refused = |flags: &[&str]| {
        let mut server = Server::start(&tree, &[&["--allow", &work], flags].concat());
        assert_eq!(server.wait_exit().code(), Some(2));
        server.stderr()
    };
    assert!(refused(&["--audit", "logs/audit.jsonl"]).contains("another server writes to it"));
    assert!(refused(&["--audit", "logs/linked"]).contains("it has 2 names"));
    tree.link(tree.path("logs"), "work/out").dir("work/open");
    std::fs::set_permissions(tree.path("work/open"), PermissionsExt::from_mode(0o777)).unwrap();
    let said = refused(&["--tools", "files", "--audit", "work/out/new"]);
    assert!(
        said.contains("work/out`, which an agent could change"),
        "{said}"
    );
    assert!(
        refused(&["--tools", "files", "--audit", "work/open/log"])
            .contains("other users can replace it, since they can write to")
    );
    assert!(
        refused(&["--tools", "files", "--audit", "none/log"])
            .contains("/none` does not exist; create it first")
    );
    let said = refused(&["--audit", "work/log", "--sandbox", "off"]);
    assert!(
        said.contains("hiding it from commands needs the namespaces tier")
            && said.contains("(--sandbox off)"),
        "{said}"
    );
    // Logs below an allowed directory are hidden.
    for inside in ["work/log", "logs/inside/ro/log"] {
        let mut server = Server::open(
            &tree,
            NEWEST_HANDSHAKE,
            &[
                "--tools",
                "files",
                "--allow",
                &work,
                "--audit",
                inside,
                "--audit-key",
                "work/key",
            ],
        );
        for (tool, path) in [
            ("read_file", inside),
            ("read_file", "work/key"),
            ("delete_file", inside),
            ("write_file", inside),
        ] {
            let arguments = if tool == "write_file" {
                json!({"path": tree.text(path), "content": ""})
            } else {
                json!({"path": tree.text(path)})
            };
            let reply = server.call(tool, arguments);
            assert_eq!(reply.code(), -32001, "{tool} {path}: {}", reply.whole());
        }
    }
    assert!(
        refused(&["--audit", "logs/new", "--sandbox", "off"]).contains("commands without walls")
    );
    tree.hard_link("work/key", "work/second");
    let said = refused(&[
        "--tools",
        "files",
        "--audit",
        "logs/new",
        "--audit-key",
        "work/key",
    ]);
    assert!(said.contains("--audit-key: it has 2 names"), "{said}");
    drop(first);
}

#[test]
fn call_is_refused_when_log_is_full() {
    let probe = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/tmp"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "private mounts are required"
        );
        return;
    }
    let tree = tree();
    let logs = tree.text("logs");
    let script = format!("mount -t tmpfs -o size=16k none '{logs}'; exec \"$@\"");
    let flags = flags(&tree, &[]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut server =
        Server::start_under(&tree, &["unshare", "-m", "sh", "-c", &script, "sh"], &flags)
            .opened(NEWEST_HANDSHAKE);
    let write = |server: &mut Server, name: &str| {
        let path = tree.text(&format!("work/{name}"));
        server
            .call("write_file", json!({"path": path, "content": "new"}))
            .failure()
            .map(|failure| failure.message)
    };
    // The first call without space for its end line is done but gets no reply. Without space for
    // its begin line it is not done.
    let mut number = 0;
    let said = loop {
        number += 1;
        if let Some(said) = write(&mut server, &number.to_string()) {
            break said;
        }
        assert!(number < 100, "16 KiB hold 100 lines");
    };
    let is_done = tree.path(format!("work/{number}")).exists();
    let consequence = if is_done {
        "its changes stay"
    } else {
        "nothing of this call was done"
    };
    assert!(
        said.contains("No space left on device") && said.contains(consequence),
        "{said}"
    );
    assert!(!said.contains(&logs), "{said}");
    let refused = write(&mut server, "not").unwrap();
    assert!(
        refused.contains("nothing of this call was done"),
        "{refused}"
    );
    assert!(!tree.path("work/not").exists());
    // Enlarge the mount in the server's mount namespace.
    let inside = format!("--mount=/proc/{}/ns/mnt", server.pid().as_raw_nonzero());
    let grown = Command::new("nsenter")
        .args([&inside, "mount", "-o", "remount,size=1m", &logs])
        .status()
        .unwrap();
    assert!(grown.success());
    assert_eq!(write(&mut server, "again"), None);
    let pid = server.pid().as_raw_nonzero();
    let text = std::fs::read_to_string(format!("/proc/{pid}/root{logs}/audit.jsonl")).unwrap();
    tree.file("copy", &text);
    let (status, said) = audit(&tree, &["verify", "copy"]);
    let calls = number + usize::from(is_done);
    assert!(
        status == 0
            && said.starts_with(&format!("ok: {calls} calls"))
            && !said.contains("without an end"),
        "{said}"
    );
}

#[test]
fn log_in_second_mount_is_refused() {
    let probe = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/tmp"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("REPLAY_TEST_REQUIRE_SANDBOX").is_none(),
            "private mounts are required"
        );
        return;
    }
    let tree = Tree::new();
    tree.dir("work/logs")
        .dir("work/again")
        .dir("data")
        .dir("disk/x/data/logs");
    let at = |path: &str| tree.text(path);
    let refused = |mount: &str, allow: &str, log: &str| {
        let script = format!("mount --bind {mount}; exec \"$@\"");
        let allow = format!("{}:rw", at(allow));
        let flags = ["--tools", "files", "--allow", &allow, "--audit", log];
        let mut server =
            Server::start_under(&tree, &["unshare", "-m", "sh", "-c", &script, "sh"], &flags);
        assert_eq!(server.wait_exit().code(), Some(2));
        server.stderr()
    };
    let said = refused(
        &format!("'{}' '{}'", at("work/logs"), at("work/again")),
        "work",
        "work/logs/log",
    );
    assert!(
        said.contains("another way than by its own name") && said.contains("work/again`"),
        "{said}"
    );
    // The second mount of the directory contains a path that is not the path of the log.
    let said = refused(
        &format!("'{}' '{}'", at("disk/x/data"), at("data")),
        "disk",
        "data/logs/log",
    );
    assert!(
        said.contains("could be reached by an agent: it is below") && said.contains("/disk`"),
        "{said}"
    );
}
