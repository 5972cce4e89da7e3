//! A real server behind a cassette, for the requests that are missing in it.

use std::io::{BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use replay_base::limits::MOCK_END_GRACE_MS;
use replay_mcp::protocol::Revision;
use replay_mock::Upstream;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::proxy::{next_line, start};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server program that answers the requests missing in a cassette, one at a time.
pub(super) struct UpstreamProgram {
    conversation: Mutex<Conversation>,
    /// Own process group, so that children of the shell are killed, too.
    group: Pid,
}

struct Conversation {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    opened: bool,
}

impl UpstreamProgram {
    /// Starts the program. The handshake follows with the first request.
    pub(super) fn start(command: &str) -> Result<Self> {
        let (child, stdin, stdout) = start(command, true)?;
        let group = Pid::from_child(&child);
        let stdout = BufReader::new(stdout);
        let conversation = Mutex::new(Conversation {
            child,
            stdin,
            stdout,
            asked: 0,
            opened: false,
        });
        Ok(Self {
            conversation,
            group,
        })
    }
}

impl Upstream for UpstreamProgram {
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let mut conversation = lock(&self.conversation);
        if !conversation.opened && method != "initialize" {
            let client =
                json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
            let revision = Revision::NEWEST_HANDSHAKE.as_str();
            conversation.ask(
                "initialize",
                &json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client}),
            )?;
        }
        conversation.ask(method, params)
    }

    fn ended(&self) {
        // The delay lets a client that closes its input early still read the answers.
        let group = self.group;
        let spawned = thread::Builder::new()
            .name("end".to_owned())
            .spawn(move || {
                thread::sleep(Duration::from_millis(MOCK_END_GRACE_MS));
                // The child is not reaped before this process ends, so the process ID cannot be
                // reused.
                let _ = kill_process_group(group, Signal::KILL);
            });
        if let Err(error) = spawned {
            tracing::warn!("no thread to end the server behind the cassette: {error}");
        }
    }
}

impl Conversation {
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = next_line(&mut self.stdout).ok_or("the server closed its output")?;
            let Ok(mut message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            if method == "initialize" {
                self.opened = true;
                self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
            }
            return Ok(match message.get_mut("result") {
                Some(result) => json!({"result": result.take()}),
                None => json!({"error": message["error"].take()}),
            });
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        self.stdin
            .write_all(format!("{message}\n").as_bytes())
            .map_err(|error| error.to_string())
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Kill a server that does not end at the end of its input.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
