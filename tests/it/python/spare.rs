//! The interpreter that waits for the next session: who gets it, and who does not.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{open, result, said};
use crate::harness::{DEADLINE, Server};
use crate::schema::NEWEST_HANDSHAKE;
use crate::tree::Tree;

/// Interpreters that wait in this tree's directory, by their process numbers.
fn waiting(tree: &Tree) -> Vec<u64> {
    let of = |process: std::fs::DirEntry| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        let is_here = std::fs::read_link(process.path().join("cwd")).ok()? == tree.path("work");
        (is_here && words.ends_with(b"\0spare\0")).then_some(number)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

/// Waits until one waits that is not among these.
fn until_waiting(tree: &Tree, known: &[u64]) -> u64 {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(new) = waiting(tree).into_iter().find(|number| !known.contains(number)) {
            return new;
        }
        assert!(Instant::now() < until, "no interpreter waits");
        std::thread::yield_now();
    }
}

fn until_gone(number: u64) {
    let until = Instant::now() + DEADLINE;
    while std::path::Path::new(&format!("/proc/{number}")).exists() {
        assert!(Instant::now() < until, "process {number} is still there");
        std::thread::yield_now();
    }
}

/// Makes a session and says which process it has, as the system sees it: without walls, so that this is what cells see.
fn made(server: &mut Server, arguments: Value) -> u64 {
    let name = arguments["session_id"].clone();
    assert_eq!(said(&server.call("create_session", arguments))["status"], "created");
    let health = said(&server.call("get_kernel_health", json!({"session_id": name})));
    health["pid"].as_u64().unwrap()
}

#[test]
fn a_session_gets_the_one_that_waits_and_another_one_waits_for_the_next() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "off"]);
    let first = until_waiting(&tree, &[]);
    let asked = Instant::now();
    assert_eq!(made(&mut server, json!({"session_id": "a"})), first);
    let health = said(&server.call("get_kernel_health", json!({"session_id": "a"})));
    let uptime = Duration::from_secs_f64(health["uptime"].as_f64().unwrap());
    assert!(uptime <= asked.elapsed(), "it counts from when it became the session's: {health}");
    let second = until_waiting(&tree, &[first]);
    assert_eq!(result(&mut server, "import os; os.getpid()"), second.to_string(), "the session that is always there");
    // One that was killed is not handed out.
    let third = until_waiting(&tree, &[first, second]);
    rustix::process::kill_process(rustix::process::Pid::from_raw(third as i32).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    until_gone(third);
    let fresh = made(&mut server, json!({"session_id": "b"}));
    assert!(![first, second, third].contains(&fresh));
    let fourth = until_waiting(&tree, &[first, second, third, fresh]);
    server.close_stdin();
    assert!(server.wait_exit().success());
    until_gone(fourth);
}

#[test]
fn one_with_other_settings_starts_an_interpreter_of_its_own() {
    let tree = Tree::new();
    tree.dir("work/below");
    let mut server = open(&tree, &["--sandbox", "off"]);
    let first = until_waiting(&tree, &[]);
    let own = json!({"session_id": "env", "environment": ["A=1"]});
    assert!(made(&mut server, own) != first, "its environment is read when an interpreter starts");
    let where_it_is = "import os, sys; os.getcwd(), os.environ.get('PWD'), sys.path[0]";
    let below = json!({"session_id": "below", "working_directory": "below"});
    let (expected, number) = (tree.text("work/below"), made(&mut server, below));
    let cell = json!({"session_id": "below", "code": where_it_is});
    let there = said(&server.call("run_python_code", cell))["result"].as_str().unwrap().replace('\'', "");
    assert_eq!(there, format!("({expected}, {expected}, )"), "whichever it was: {number}");
}

#[test]
fn one_that_a_start_now_would_not_make_is_ended() {
    let tree = Tree::new();
    // Stands in the place of `python3`, as managers of versions do.
    tree.file("shims/python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n");
    std::fs::set_permissions(tree.path("shims/python3"), PermissionsExt::from_mode(0o755)).unwrap();
    let (allow, path) = (format!("{}:rw", tree.text("work")), format!("{}:/usr/bin:/bin", tree.text("shims")));
    tree.dir("work/below");
    let line =
        [env!("CARGO_BIN_EXE_replay"), "--mcp-server", "--allow", &allow, "--tools", "python", "--sandbox", "off"];
    let mut server = Server::start_program(&tree, &line, &[("PATH", &path)]).opened(NEWEST_HANDSHAKE);
    let first = until_waiting(&tree, &[]);
    assert_eq!(made(&mut server, json!({"session_id": "same"})), first);
    let second = until_waiting(&tree, &[first]);
    // Which Python is meant there is the manager's to say.
    let other = made(&mut server, json!({"session_id": "below", "working_directory": "below"}));
    assert!(other != second);
    until_gone(second);
    let third = until_waiting(&tree, &[first, second, other]);
    tree.file("work/.python-version", "3.8\n");
    assert!(made(&mut server, json!({"session_id": "changed"})) != third);
    until_gone(third);
}

#[test]
fn none_waits_where_none_may() {
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "off", "--no-python-spare"]);
    assert_eq!(result(&mut server, "1 + 1"), "2");
    assert_eq!(waiting(&tree), Vec::<u64>::new());
    // Nor where no other session could have it.
    let tree = Tree::new();
    let mut server = open(&tree, &["--sandbox", "off", "--max-python-sessions", "1"]);
    let first = until_waiting(&tree, &[]);
    assert_eq!(result(&mut server, "import os; os.getpid()"), first.to_string());
    assert_eq!(waiting(&tree), [first]);
    let tree = Tree::new();
    drop(open(&tree, &["--tools", "files"]));
    assert_eq!(waiting(&tree), Vec::<u64>::new());
}

#[test]
fn it_is_held_as_every_session_is() {
    for tier in super::endings::TIERS {
        let tree = Tree::new();
        tree.file("secret", "outside");
        let mut server = open(&tree, &["--sandbox", tier]);
        if !super::endings::stands(&mut server) {
            continue;
        }
        // The first one took the one that waited since the beginning; so does this one, or it starts its own.
        assert_eq!(said(&server.call("create_session", json!({"session_id": "a"})))["status"], "created", "{tier}");
        let code = format!("open({:?}).read()", tree.text("secret"));
        let ran = said(&server.call("run_python_code", json!({"session_id": "a", "code": code})));
        let expected = if tier == "off" { Value::Null } else { json!(true) };
        let refused =
            ran["error"]["name"].as_str().map(|name| ["PermissionError", "FileNotFoundError"].contains(&name));
        assert_eq!(refused.map_or(Value::Null, Value::Bool), expected, "{tier}: {ran}");
    }
}
