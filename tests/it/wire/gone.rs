//! A client that has closed both ends: its running calls are cancelled.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use pretty_assertions::assert_eq;
use rustix::process::Pid;
use serde_json::json;

use crate::harness::{DEADLINE, ends_within};
use crate::tree::Tree;

/// Starts a server with a command that runs for a minute and has begun.
fn start_busy_server(tree: &Tree) -> Child {
    let work = tree.dir("work").path("work");
    let mut child = Command::new(env!("CARGO_BIN_EXE_replay"))
        .args(["--mcp-server", "--sandbox", "off", "--allow"])
        .arg(format!("{}:rw", work.display()))
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LANG", "C.UTF-8"),
        ])
        .env("HOME", tree.root())
        .env("XDG_STATE_HOME", tree.state())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let fifo = work.join("begun");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let version = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "0"}});
    let call = json!({"name": "execute_command", "arguments": {"command": "echo > begun; sleep 600", "timeout": 60}});
    let stdin = child.stdin.as_mut().unwrap();
    for (id, method, params) in [(1, "initialize", version), (2, "tools/call", call)] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{line}").unwrap();
    }
    let (sender, begun) = channel();
    std::thread::spawn(move || {
        let mut byte = [0];
        let _ = sender.send(
            std::fs::File::open(fifo)
                .and_then(|mut fifo| fifo.read(&mut byte))
                .is_ok(),
        );
    });
    assert_eq!(begun.recv_timeout(DEADLINE), Ok(true));
    child
}

#[test]
fn calls_are_cancelled_when_client_is_gone() {
    let tree = Tree::new();
    let mut child = start_busy_server(&tree);
    drop((child.stdin.take(), child.stdout.take()));
    let ended = ends_within(Pid::from_child(&child), DEADLINE);
    let _ = child.kill();
    assert!((ended, child.wait().unwrap().success()) == (true, true));
}
