//! Many cells at once.

use std::time::{Instant, SystemTime};

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{open, reply_data};
use crate::harness::DEADLINE;
use crate::tree::Tree;

const SESSIONS: usize = 8;

/// Number of cells of each session: hundreds over all tiers, and a thousand in each with
/// `REPLAY_TEST_CELLS=125`.
fn cells() -> usize {
    std::env::var("REPLAY_TEST_CELLS")
        .ok()
        .and_then(|cells| cells.parse().ok())
        .unwrap_or(20)
        .max(4)
}

/// Returns the command lines of `sleep` processes on this machine that contain a text.
fn running(text: &str) -> Vec<String> {
    let line = |process: std::fs::DirEntry| std::fs::read(process.path().join("cmdline")).ok();
    let lines = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(line);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines
        .filter(|line| line.contains(text) && line.starts_with("sleep "))
        .collect()
}

fn wait_for_running(text: &str, count: usize, what: &str) {
    let until = Instant::now() + DEADLINE;
    while running(text).len() != count {
        assert!(Instant::now() < until, "{what}: {:?}", running(text));
        std::thread::yield_now();
    }
}

#[test]
fn eight_sessions_survive_one_killed() {
    let seed = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos() as usize;
    for tier in super::endings::TIERS {
        let tree = Tree::new();
        let mut server = open(&tree, &["--sandbox", tier]);
        if !super::endings::tier_is_available(&mut server) {
            continue;
        }
        // Session and time of the kill. Its next cell gets a new interpreter.
        let (victim, last) = (seed % SESSIONS, 1 + seed / SESSIONS % (cells() - 2));
        let what = format!("{tier}: session {victim} dies in cell {last}");
        // The process that each session leaves running has a unique name.
        let name = format!("100000.{seed}{}", std::process::id());
        let first =
            format!("import subprocess\ncount = 0\nleft = subprocess.Popen(['sleep', '{name}'])");
        for session in 0..SESSIONS {
            reply_data(&server.call(
                "create_session",
                json!({"session_id": format!("s{session}")}),
            ));
        }
        for cell in 0..cells() {
            // One request per session at a time: waiting threads of a pool have no order.
            let send = |session: usize| {
                let code = match (session == victim, cell) {
                    (true, cell) if cell == last => "import os; os.kill(os.getpid(), 9)",
                    (true, cell) if cell == last + 1 => "count = 0",
                    (_, 0) => first.as_str(),
                    _ => "count += 1\nprint(count)",
                };
                let arguments =
                    json!({"code": code, "session_id": format!("s{session}"), "timeout": 300});
                server.send(
                    "tools/call",
                    json!({"name": "run_python_code", "arguments": arguments}),
                )
            };
            let sent: Vec<_> = (0..SESSIONS).map(send).collect();
            for (session, id) in sent.iter().enumerate() {
                let ran = reply_data(&server.reply_to(id));
                let is_new = session == victim && cell > last;
                let expected = if is_new { cell - last - 1 } else { cell };
                if session == victim && cell == last {
                    assert_eq!(ran["error"]["name"], "SessionEnded", "{what}");
                } else if expected == 0 {
                    assert_eq!(
                        (&ran["error"], &ran["stdout"]),
                        (&json!(null), &json!("")),
                        "{what}: {session}"
                    );
                } else {
                    assert_eq!(ran["stdout"], format!("{expected}\n"), "{what}: {session}");
                }
                assert_eq!(
                    ran["state_lost"],
                    json!(session == victim && cell == last),
                    "{what}: {session}"
                );
            }
        }
        // Only the child of the killed session ended with it.
        wait_for_running(&name, SESSIONS - 1, &what);
        server.close_stdin();
        assert!(server.wait_exit().success(), "{what}");
        wait_for_running(&name, 0, &what);
    }
}
