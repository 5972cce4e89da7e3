//! A real server behind `replay mock`: recorded while a client talks to it, or asked for what a cassette does not have.
#![expect(clippy::disallowed_methods, reason = "the operator's own server is started, as he would start it")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};

use crate::limits::MAX_LINE_BYTES;
use crate::mock::{Entry, Recorder, Upstream};
use crate::protocol::Revision;

/// Requests without an answer: method, parameters, when they came, what came before the answer.
type Open = Mutex<HashMap<String, (String, Value, Instant, Vec<Value>)>>;

/// Starts a server, and carries lines between it and a client, recording each request with its answer. Ends with the
/// server, or with a signal; returns the exit status of the server.
pub fn record(target: &str, recorder: Recorder, client: (File, File), signals: BorrowedFd<'_>) -> Result<u8> {
    let (mut child, mut to_server, from_server) = start(target)?;
    let (from_client, mut to_client) = client;
    let open = Arc::new(Open::default());
    let pid = rustix::process::Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("the server cannot be watched")?;
    let asked = Arc::clone(&open);
    // Not waited for: it reads for as long as the client writes, which may be longer than the server lives.
    thread::Builder::new().name("client".to_owned()).spawn(move || {
        let mut lines = BufReader::new(from_client);
        while let Some(line) = next_line(&mut lines) {
            note_request(&asked, &line);
            if to_server.write_all(&line).is_err() {
                return;
            }
        }
    })?;
    let answers = thread::Builder::new().name("server".to_owned()).spawn(move || {
        let mut lines = BufReader::new(from_server);
        while let Some(line) = next_line(&mut lines) {
            if to_client.write_all(&line).is_err() {
                return;
            }
            note_answer(&open, &recorder, &line);
        }
    })?;
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN), PollFd::from_borrowed_fd(signals, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
    if !fds[1].revents().is_empty() {
        // It may have ended by itself meanwhile.
        let _ = pidfd_send_signal(&pidfd, Signal::TERM);
    }
    let status = child.wait().context("the server cannot be waited for")?;
    // What the server wrote last is still on its way; one that is left over by the server must not hold this up.
    if status.code().is_some() {
        let _ = answers.join();
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn start(target: &str) -> Result<(Child, ChildStdin, ChildStdout)> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", target])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{target}` cannot be started"))?;
    let stdin = child.stdin.take().context("the server has no stdin")?;
    let stdout = child.stdout.take().context("the server has no stdout")?;
    Ok((child, stdin, stdout))
}

/// A line with its newline; `None` at the end, or when it is longer than any message may be.
fn next_line(lines: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = lines.take(MAX_LINE_BYTES as u64);
    match bounded.read_until(b'\n', &mut line) {
        Ok(1..) => Some(line),
        _ => None,
    }
}

fn note_request(open: &Open, line: &[u8]) {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
    if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let entry = (method.to_owned(), params, Instant::now(), Vec::new());
        open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_string(), entry);
    }
}

fn note_answer(open: &Open, recorder: &Recorder, line: &[u8]) {
    let Ok(mut message) = serde_json::from_slice::<Value>(line) else { return };
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if message.get("method").is_some() {
        if message.get("id").is_some() {
            tracing::warn!("a request of the server is not recorded: {}", message["method"]);
            return;
        }
        let token = &message["params"]["progressToken"];
        let notification = json!({"method": message["method"], "params": message["params"]});
        // Progress names its request; anything else belongs to the only one there is, or to none.
        let alone = open.len() == 1;
        let whose = open
            .values_mut()
            .find(|(_, params, ..)| if token.is_null() { alone } else { params["_meta"]["progressToken"] == *token });
        if let Some((.., before)) = whose {
            before.push(notification);
        }
        return;
    }
    let Some((method, params, since, before)) = open.remove(&message["id"].to_string()) else { return };
    drop(open);
    let mut part = |key: &str| message.get_mut(key).map(Value::take);
    let (result, error) = (part("result"), part("error"));
    if result.is_some() != error.is_some() {
        let ms = since.elapsed().as_micros() as f64 / 1000.0;
        recorder.record(&Entry { method, params, result, error, before, ms });
    }
}

/// A server that is asked for what a cassette does not have, one question after another.
pub struct Target(Mutex<Conversation>);

struct Conversation {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked: u64,
    opened: bool,
}

impl Target {
    /// Starts it. It is opened as a client opens a server when the first question comes.
    pub fn start(command: &str) -> Result<Self> {
        let (child, stdin, stdout) = start(command)?;
        Ok(Self(Mutex::new(Conversation { child, stdin, stdout: BufReader::new(stdout), asked: 0, opened: false })))
    }
}

impl Upstream for Target {
    fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let mut conversation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !conversation.opened && method != "initialize" {
            let client = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
            let revision = Revision::NEWEST_HANDSHAKE.as_str();
            conversation
                .ask("initialize", &json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client}))?;
        }
        let answer = conversation.ask(method, params)?;
        Ok(answer)
    }
}

impl Conversation {
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = next_line(&mut self.stdout).ok_or("its output has ended")?;
            let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { continue };
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
        self.stdin.write_all(format!("{message}\n").as_bytes()).map_err(|error| error.to_string())
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // A server that does not end with its input is ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
