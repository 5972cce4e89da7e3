//! A real server behind `replay mock`, as the target of a recording or for requests missing in a
//! cassette.
#![expect(
    clippy::disallowed_methods,
    reason = "the operator's own server is started, as he would start it"
)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use replay_base::limits::{MAX_LINE_BYTES, MAX_RECORDED_MESSAGES, MOCK_END_GRACE_MS};
use replay_mcp::protocol::Revision;
use replay_mock::{CassetteEntry, CassetteRecorder, Upstream};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};

/// Pending requests between a client and a server.
#[derive(Default)]
struct PendingRequests {
    /// Pending requests of the client, by their IDs as JSON.
    open: HashMap<String, PendingRequest>,
    /// Pending requests of the server: the client request that each belongs to, and its index in
    /// `PendingRequest::before`.
    asked: HashMap<String, (String, usize)>,
}

struct PendingRequest {
    method: String,
    params: Value,
    since: Instant,
    /// Messages of the server before the answer.
    before: Vec<Value>,
}

/// Starts a server and forwards lines between it and a client. Records each request with its
/// answer. Ends with the server, or at a signal. Returns the exit status of the server.
pub(super) fn record(
    target: &str,
    recorder: CassetteRecorder,
    from_client: File,
    mut to_client: File,
    signals: BorrowedFd<'_>,
) -> Result<u8> {
    let (mut child, mut to_server, from_server) = start(target, false)?;
    let ledger = Arc::new(Mutex::new(PendingRequests::default()));
    let pid = Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("the server cannot be watched")?;
    let sent = Arc::clone(&ledger);
    // This thread is not joined, since the client may keep writing after the server's end.
    thread::Builder::new()
        .name("client".to_owned())
        .spawn(move || {
            let mut lines = BufReader::new(from_client);
            while let Some(line) = next_line(&mut lines) {
                lock(&sent).hear_client(&line);
                if to_server.write_all(&line).is_err() {
                    return;
                }
            }
        })?;
    let answers = thread::Builder::new()
        .name("server".to_owned())
        .spawn(move || {
            let mut lines = BufReader::new(from_server);
            while let Some(line) = next_line(&mut lines) {
                // Record before forwarding, since the client may answer quickly.
                let entry = lock(&ledger).hear_server(&line);
                if to_client.write_all(&line).is_err() {
                    return;
                }
                if let Some(entry) = entry {
                    recorder.record(&entry);
                }
            }
        })?;
    let mut fds = [
        PollFd::new(&pidfd, PollFlags::IN),
        PollFd::from_borrowed_fd(signals, PollFlags::IN),
    ];
    while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
    if !fds[1].revents().is_empty() {
        // The server may have ended in the meantime.
        let _ = pidfd_send_signal(&pidfd, Signal::TERM);
    }
    let status = child.wait().context("the server cannot be waited for")?;
    // Wait for the last output of the server. A server killed by a signal may leave children that
    // hold the pipe, so do not wait then.
    if status.code().is_some() {
        let _ = answers.join();
    }
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}

fn start(target: &str, own_group: bool) -> Result<(Child, ChildStdin, ChildStdout)> {
    let mut command = Command::new("/bin/sh");
    if own_group {
        command.process_group(0);
    }
    let mut child = command
        .args(["-c", target])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{target}` cannot be started"))?;
    let stdin = child.stdin.take().context("the server has no stdin")?;
    let stdout = child.stdout.take().context("the server has no stdout")?;
    Ok((child, stdin, stdout))
}

/// Reads a line with its newline. `None` at the end, or if the line exceeds the message limit.
fn next_line(lines: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = lines.take(MAX_LINE_BYTES as u64);
    match bounded.read_until(b'\n', &mut line) {
        Ok(1..) => Some(line),
        _ => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PendingRequests {
    fn hear_client(&mut self, line: &[u8]) {
        let Ok(mut message) = serde_json::from_slice::<Value>(line) else {
            return;
        };
        let Some(id) = message.get("id").map(Value::to_string) else {
            return;
        };
        if let Some(method) = message["method"].as_str() {
            let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
            let open = PendingRequest {
                method: method.to_owned(),
                params,
                since: Instant::now(),
                before: Vec::new(),
            };
            self.open.insert(id, open);
        } else if let Some((whose, index)) = self.asked.remove(&id)
            && let Some(asked) = self
                .open
                .get_mut(&whose)
                .and_then(|open| open.before.get_mut(index))
        {
            asked["answer"] = match message.get_mut("result") {
                Some(result) => result.take(),
                None => json!({"error": message["error"].take()}),
            };
        }
    }

    /// Returns the exchange that this line completes, if any.
    fn hear_server(&mut self, line: &[u8]) -> Option<CassetteEntry> {
        let mut message = serde_json::from_slice::<Value>(line).ok()?;
        if message.get("method").is_some() {
            self.before(&message);
            return None;
        }
        let PendingRequest {
            method,
            params,
            since,
            before,
        } = self.open.remove(&message["id"].to_string())?;
        let mut part = |key: &str| message.get_mut(key).map(Value::take);
        let (result, error) = (part("result"), part("error"));
        let ms = since.elapsed().as_micros() as f64 / 1000.0;
        (result.is_some() != error.is_some()).then_some(CassetteEntry {
            method,
            params,
            result,
            error,
            before,
            ms,
        })
    }

    /// Adds a message to the request that it belongs to. Progress names its request; other messages
    /// belong to the only pending request, if there is just one.
    fn before(&mut self, message: &Value) {
        let token = &message["params"]["progressToken"];
        let alone = self.open.len() == 1;
        let belongs = |open: &PendingRequest| {
            if token.is_null() {
                alone
            } else {
                open.params["_meta"]["progressToken"] == *token
            }
        };
        let Some((whose, open)) = self.open.iter_mut().find(|(_, open)| belongs(open)) else {
            tracing::debug!(
                "not recorded, since it belongs to no request: {}",
                message["method"]
            );
            return;
        };
        if open.before.len() >= MAX_RECORDED_MESSAGES {
            return;
        }
        let mut kept = json!({"method": message["method"]});
        if let Some(params) = message.get("params") {
            kept["params"] = params.clone();
        }
        if let Some(id) = message.get("id") {
            kept["answer"] = Value::Null;
            self.asked
                .insert(id.to_string(), (whose.clone(), open.before.len()));
        }
        open.before.push(kept);
    }
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
