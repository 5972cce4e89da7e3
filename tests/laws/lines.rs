//! Properties of a whole session over a stream of bytes.

use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use clap::Parser as _;
use replay::Cli;
use replay::Config;
use replay::Server;
use replay::alone;
use replay_mcp::protocol::{Incoming, parse};
use replay_mcp::sessions::Session;
use replay_mcp::transport::{End, Limits, StdioServer, Writer};
use serde_json::Value;
use tempfile::TempDir;

/// Maximum time of a session over a small stream on a slow machine.
const MAX_TIME: Duration = Duration::from_secs(30);

const LIMITS: Limits = Limits {
    max_line_bytes: 64 * 1024,
    stall_timeout: MAX_TIME,
};

/// Makes a server with one small writable directory, in which calls can do no harm. Commands are
/// refused.
fn server(dir: &TempDir) -> Arc<Server> {
    std::fs::write(dir.path().join("a.txt"), "one\ntwo\n").unwrap();
    let words = [
        PathBuf::from("replay"),
        "--mcp-server".into(),
        "--allow-write".into(),
        dir.path().to_path_buf(),
    ];
    let config = Config::for_server(&Cli::try_parse_from(words).unwrap().server.options).unwrap();
    alone(&config).unwrap()
}

/// Output of the session.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Feeds any bytes to stdin.
///
/// Each written line is one JSON-RPC message. There are at most as many replies as lines. Each
/// request on a line of its own gets exactly one reply. The session ends with the stream.
///
/// # Panics
/// If the property is violated.
pub fn a_line_has_at_most_one_answer(bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let sink = Sink::default();
    let dir = tempfile::tempdir().unwrap();
    let stdin = Cursor::new(bytes.to_vec());
    let door = StdioServer::new(
        Session::new(server(&dir)),
        stdin,
        Writer::new(sink.clone()),
        LIMITS,
    );
    let (done, end) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(door.unwrap().run(None).unwrap()));
    assert_eq!(
        end.recv_timeout(MAX_TIME),
        Ok(End::Served),
        "the session does not end"
    );

    let written = sink.0.lock().unwrap();
    assert!(
        written.is_empty() || written.ends_with(b"\n"),
        "a line without its end"
    );
    let mut answers = 0;
    for line in written
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let message: Value = serde_json::from_slice(line).expect("a line that is no JSON");
        match &message {
            Value::Array(members) => assert!(!members.is_empty(), "an empty batch"),
            one => assert_eq!(one["jsonrpc"], "2.0"),
        }
        answers += usize::from(message.get("method").is_none());
    }
    assert!(
        answers <= lines.len(),
        "{answers} answers to {} lines",
        lines.len()
    );
    let requests = lines
        .iter()
        .filter(|line| matches!(parse(line), Incoming::Request(it) if it.id.is_some()))
        .count();
    // A request that is cancelled has no answer.
    let cancels = lines
        .iter()
        .any(|line| memchr::memmem::find(line, b"cancel").is_some() || line.contains(&b'\\'));
    assert!(
        answers >= requests || cancels,
        "{answers} answers to {requests} requests"
    );
}
