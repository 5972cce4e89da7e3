//! Many cells at once.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{open, said};
use crate::tree::Tree;

const SESSIONS: usize = 8;
const CELLS: usize = 125;

#[test]
fn a_thousand_cells_over_eight_sessions_with_one_killed_among_them() {
    let tree = Tree::new();
    let mut server = open(&tree, &[]);
    for session in 0..SESSIONS {
        said(&server.call("create_session", json!({"session_id": format!("s{session}")})));
    }
    let mut sent = Vec::new();
    for cell in 0..CELLS {
        for session in 0..SESSIONS {
            // The fourth session dies in the middle.
            let code = match (session, cell) {
                (3, 60) => "import os; os.kill(os.getpid(), 9)".to_owned(),
                (_, 0) => "count = 0".to_owned(),
                (3, 61) => "count = 60".to_owned(),
                _ => "count += 1\nprint(count)".to_owned(),
            };
            let arguments = json!({"code": code, "session_id": format!("s{session}"), "timeout": 300});
            let params = json!({"name": "run_python_code", "arguments": arguments});
            sent.push((session, cell, server.send("tools/call", params)));
            // Of one session only one at a time: what waits has no order among the threads of a pool.
            if session + 1 == SESSIONS {
                for (session, cell, id) in sent.drain(..) {
                    let ran = said(&server.reply_to(&id));
                    match (session, cell) {
                        (3, 60) => assert_eq!(ran["error"]["name"], "SessionEnded"),
                        (_, 0) | (3, 61) => assert_eq!(ran["error"], json!(null)),
                        (3, 62..) => assert_eq!(ran["stdout"], format!("{}\n", cell - 1)),
                        _ => assert_eq!(ran["stdout"], format!("{cell}\n"), "{session}"),
                    }
                }
            }
        }
    }
    server.close_stdin();
    assert!(server.wait_exit().success());
}
