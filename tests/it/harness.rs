//! Starts the built program and speaks MCP with it as a client, with a timeout on every wait.
//!
//! There are no sleeps: one thread reads the lines of the program, another writes to it, and every
//! wait is a `recv_timeout` or a `poll`. Each received line is checked against the official schema
//! of the revision of its request. When a test panics, the whole conversation is printed.

#![expect(
    clippy::needless_pass_by_value,
    reason = "parameters are written in place, as `json!`"
)]

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};

use crate::schema::{self, NEWEST_HANDSHAKE, REVISIONS, STATELESS};
use crate::tree::{Tree, listing};

/// Timeout of every wait in a test.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// Returns `params._meta` of a stateless request.
pub fn stateless_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "0"},
    })
}

/// Request that awaits its reply.
#[derive(Debug)]
struct PendingRequest {
    method: String,
    /// Revision named by the request itself; `None` means the revision of the session when the
    /// reply arrives.
    revision: Option<String>,
}

/// A running server; dropping it ends it.
pub struct Server {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Receives one message when stderr is closed.
    silence: Receiver<()>,
    threads: Vec<JoinHandle<()>>,
    command: String,
    root: PathBuf,
    conversation: VecDeque<String>,
    left_out: usize,
    /// Revision of the session; the newest handshake revision until `initialize` is answered.
    session: String,
    /// Revision used by `request` and `call`.
    revision: String,
    next_id: i64,
    pending: HashMap<String, Vec<PendingRequest>>,
    /// Messages that arrived while the test waited for another one.
    unread: VecDeque<Value>,
    /// `true` if messages are checked against the official schema.
    checked: bool,
}

impl Server {
    /// Starts `replay --mcp-server ARGS` in the root of the tree, with a clean environment and
    /// without a handshake.
    pub fn start(tree: &Tree, args: &[&str]) -> Self {
        Self::start_under(tree, &[], args)
    }

    /// Starts the server as an argument of a wrapper program, which must finally execute it.
    pub fn start_under(tree: &Tree, wrapper: &[&str], args: &[&str]) -> Self {
        Self::start_program(
            tree,
            &[
                wrapper,
                &[env!("CARGO_BIN_EXE_replay"), "--mcp-server"],
                args,
            ]
            .concat(),
            &[],
        )
    }

    /// Starts a whole command line that becomes a server, with additional environment variables.
    pub fn start_program(tree: &Tree, line: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).current_dir(tree.root());
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", tree.root())
            .env("XDG_CACHE_HOME", tree.state().join("cache"))
            .env("XDG_STATE_HOME", tree.state());
        command.env("LANG", "C.UTF-8").env("RUST_BACKTRACE", "1");
        command.envs(variables.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");

        let mut stdin = child.stdin.take().expect("its stdin");
        let (input, lines) = channel::<Vec<u8>>();
        // A program that stops reading blocks only this thread.
        let writer = std::thread::spawn(move || {
            for line in lines {
                if stdin.write_all(&line).is_err() {
                    break;
                }
            }
        });
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        let (sender, output) = channel();
        let reader = std::thread::spawn(move || read_lines(stdout, &sender));
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&stderr);
        let mut errors = child.stderr.take().expect("its stderr");
        let (silent, silence) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = errors.read(&mut chunk) {
                collected
                    .lock()
                    .unwrap()
                    .extend_from_slice(&chunk[..length]);
            }
            let _ = silent.send(());
        });
        Self {
            child,
            input: Some(input),
            output,
            stderr,
            silence,
            threads: vec![writer, reader],
            command: format!("{command:?}"),
            root: tree.root().to_owned(),
            conversation: VecDeque::new(),
            left_out: 0,
            session: NEWEST_HANDSHAKE.to_owned(),
            revision: NEWEST_HANDSHAKE.to_owned(),
            next_id: 1,
            pending: HashMap::new(),
            unread: VecDeque::new(),
            checked: true,
        }
    }

    /// Starts a server and opens a session of this revision.
    pub fn open(tree: &Tree, revision: &str, args: &[&str]) -> Self {
        Self::start(tree, args).opened(revision)
    }

    /// Disables the schema check, for servers that misbehave on purpose or send requests.
    pub fn unchecked(mut self) -> Self {
        self.checked = false;
        self
    }

    /// Opens a session of this revision on a server that was only started.
    pub fn opened(self, revision: &str) -> Self {
        self.opened_by(revision, "it")
    }

    /// Opens such a session as a client of this name.
    pub fn opened_by(self, revision: &str, client: &str) -> Self {
        self.opened_with(revision, client, &json!({}))
    }

    /// Opens such a session as a client with these capabilities.
    pub fn opened_with(mut self, revision: &str, client: &str, capabilities: &Value) -> Self {
        let server = &mut self;
        revision.clone_into(&mut server.revision);
        if revision != STATELESS {
            let params = json!({"protocolVersion": revision, "capabilities": capabilities,
                "clientInfo": {"name": client, "version": "0"}});
            let reply = server.request("initialize", params);
            assert_eq!(reply.result()["protocolVersion"], revision);
            server.notify("notifications/initialized", json!({}));
        }
        self
    }

    /// Returns the PID of the server.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Calls a tool and waits for the reply.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool as a client that asked for progress, and waits for the reply. The reports remain
    /// for `recv`.
    pub fn call_with_progress(&mut self, tool: &str, arguments: Value) -> Reply {
        let meta = json!({"progressToken": self.next_id});
        self.request(
            "tools/call",
            json!({"name": tool, "arguments": arguments, "_meta": meta}),
        )
    }

    /// Sends a request of the session's revision and waits for the reply to it.
    pub fn request(&mut self, method: &str, params: Value) -> Reply {
        let id = self.send(method, params);
        self.reply_to(&id)
    }

    /// Sends a request with a fresh id, and returns the id.
    pub fn send(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.send_as(&id, method, params);
        id
    }

    /// Sends a request with this id.
    pub fn send_as(&mut self, id: &Value, method: &str, mut params: Value) {
        if self.revision == STATELESS {
            let mut meta = stateless_meta();
            for (key, value) in params["_meta"].as_object().cloned().unwrap_or_default() {
                meta[key] = value;
            }
            params["_meta"] = meta;
        }
        self.send_raw(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, mut params: Value) {
        if self.revision == STATELESS {
            params["_meta"] = stateless_meta();
        }
        self.send_raw(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends one line unchanged.
    pub fn send_raw(&mut self, line: &str) {
        self.send_bytes([line.as_bytes(), b"\n"].concat());
    }

    /// Sends bytes unchanged, without a newline.
    pub fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.note("->", &String::from_utf8_lossy(&bytes));
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Value::Array(messages)) => messages
                    .iter()
                    .for_each(|message| self.expect_reply(message)),
                Ok(message) => self.expect_reply(&message),
                Err(_) => {}
            }
        }
        let sent = self
            .input
            .as_ref()
            .is_some_and(|input| input.send(bytes).is_ok());
        assert!(sent, "the server has closed its stdin, or the test has");
    }

    /// Records the request of a message, so that the reply can be checked.
    pub fn expect_reply(&mut self, message: &Value) {
        let id = &message["id"];
        if !(id.is_string() || id.is_i64() || id.is_u64()) {
            return;
        }
        let named = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        // Errors about unknown versions have the form of the stateless revision.
        let named = named.map(|named| {
            if REVISIONS.contains(&named) {
                named
            } else {
                STATELESS
            }
        });
        self.pending
            .entry(id.to_string())
            .or_default()
            .push(PendingRequest {
                method: message["method"].as_str().unwrap_or_default().to_owned(),
                revision: named.map(str::to_owned),
            });
    }

    /// Waits for the reply to the request with this id; other messages remain for `recv`.
    pub fn reply_to(&mut self, id: &Value) -> Reply {
        let until = Instant::now() + DEADLINE;
        let known = self
            .unread
            .iter()
            .position(|message| is_reply_to(message, id));
        if let Some(message) = known.and_then(|index| self.unread.remove(index)) {
            return Reply(message);
        }
        loop {
            match self.next_message(until) {
                Some(message) if is_reply_to(&message, id) => return Reply(message),
                Some(message) => self.unread.push_back(message),
                None => panic!("no reply to the request with id {id}"),
            }
        }
    }

    /// Waits for the next message of any kind.
    pub fn recv(&mut self) -> Value {
        if let Some(message) = self.unread.pop_front() {
            return message;
        }
        match self.next_message(Instant::now() + DEADLINE) {
            Some(message) => message,
            None => panic!("no message"),
        }
    }

    /// Waits until all previous messages are answered, with a final request. Returns the unread
    /// messages that arrived before its reply.
    pub fn settle(&mut self) -> Vec<Value> {
        let id = self.send("tools/list", json!({}));
        self.reply_to(&id);
        self.unread.drain(..).collect()
    }

    /// Returns one checked message, or `None` at the time limit or at the end of the stream.
    fn next_message(&mut self, until: Instant) -> Option<Value> {
        let left = until.saturating_duration_since(Instant::now());
        let line = match self.output.recv_timeout(left) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        let text = String::from_utf8_lossy(&line).into_owned();
        self.note("<-", &text);
        assert!(line.last() == Some(&b'\n'), "a last line without a newline");
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(error) => panic!("a line that is not JSON: {error}"),
        };
        if !self.checked {
            return Some(message);
        }
        let checked = match &message {
            Value::Array(messages) if self.session == "2025-03-26" && !messages.is_empty() => {
                messages
                    .clone()
                    .iter()
                    .try_for_each(|message| self.check(message))
            }
            message => self.check(message),
        };
        checked.unwrap_or_else(|fault| panic!("{fault}"));
        Some(message)
    }

    fn check(&mut self, message: &Value) -> Result<(), String> {
        check_notes(&message["result"])?;
        if !message.is_object() || message["jsonrpc"] != "2.0" {
            return Err("a line that is no JSON-RPC 2.0 message".to_owned());
        }
        if let Some(method) = message.get("method") {
            if message.get("id").is_some() && method != "roots/list" {
                return Err(format!("a request from the server: {method}"));
            }
            if method == "roots/list" {
                return Ok(());
            }
            return schema::check_notification(&self.session_revision(), message);
        }
        let id = message.get("id").cloned().unwrap_or_default();
        if id.is_null() {
            return schema::check_error(&self.session, message);
        }
        let failed = message.get("error").is_some();
        let waiting = self.pending.entry(id.to_string()).or_default();
        // Of two requests with one id, the later one is refused.
        let sent = if failed {
            waiting.pop()
        } else {
            (!waiting.is_empty()).then(|| waiting.remove(0))
        };
        let Some(sent) = sent else {
            return Err(format!("a reply that nobody waits for: id {id}"));
        };
        if sent.method == "initialize" && !failed && sent.revision.is_none() {
            let agreed = message["result"]["protocolVersion"]
                .as_str()
                .unwrap_or_default();
            if !schema::HANDSHAKE.contains(&agreed) {
                return Err(format!(
                    "`initialize` answered with protocol version `{agreed}`"
                ));
            }
            agreed.clone_into(&mut self.session);
        }
        let revision = sent.revision.as_ref().unwrap_or(&self.session);
        schema::check_reply(revision, &sent.method, message)?;
        if revision == STATELESS && !failed {
            let info = &message["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
            if message["result"]["resultType"] != "complete" || !info["name"].is_string() {
                return Err(
                    "a result without `resultType` or without serverInfo in `_meta`".to_owned(),
                );
            }
        }
        Ok(())
    }

    /// Returns the revision for messages that name none.
    fn session_revision(&self) -> String {
        if self.revision == STATELESS {
            STATELESS.to_owned()
        } else {
            self.session.clone()
        }
    }

    /// Closes the stdin of the server.
    pub fn close_stdin(&mut self) {
        self.note("->", "(end of input)");
        self.input = None;
    }

    /// Returns every message until the server closes its stdout, which must happen before the
    /// deadline.
    pub fn recv_to_end(&mut self) -> Vec<Value> {
        let until = Instant::now() + DEADLINE;
        let mut messages: Vec<Value> = self.unread.drain(..).collect();
        while let Some(message) = self.next_message(until) {
            messages.push(message);
        }
        assert!(
            Instant::now() < until,
            "the server did not close its output"
        );
        messages
    }

    /// Waits for the server to exit by itself.
    pub fn wait_exit(&mut self) -> ExitStatus {
        assert!(ends_within(self.pid(), DEADLINE), "the server did not exit");
        let status = self.child.wait().expect("an ended child");
        let _ = self.silence.recv_timeout(DEADLINE);
        self.note(
            "==",
            &format!("exit {:?}, signal {:?}", status.code(), status.signal()),
        );
        status
    }

    /// Returns true if the server is still running.
    pub fn alive(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Returns the stderr output so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    fn note(&mut self, arrow: &str, text: &str) {
        let text = text.trim_end_matches('\n');
        let end = text
            .char_indices()
            .nth(1500)
            .map_or(text.len(), |(index, _)| index);
        let more = text.len() - end;
        let clipped = if more > 0 {
            format!("{} (and {more} bytes)", &text[..end])
        } else {
            text.to_owned()
        };
        self.conversation.push_back(format!("{arrow} {clipped}"));
        if self.conversation.len() > 60 {
            self.conversation.pop_front();
            self.left_out += 1;
        }
    }

    fn report(&self) -> String {
        let mut text = format!("\n--- {}\n--- files\n{}", self.command, listing(&self.root));
        let _ = writeln!(
            text,
            "--- conversation ({} earlier messages left out)",
            self.left_out
        );
        for line in &self.conversation {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "--- stderr\n{}", self.stderr());
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.input = None;
        // SIGTERM first, so that the server can end its commands; SIGKILL after a timeout. A reaped
        // process has no PID to signal.
        if self.alive() {
            let _ = kill_process(self.pid(), Signal::TERM);
            if !ends_within(self.pid(), Duration::from_secs(2)) {
                let _ = self.child.kill();
            }
        }
        let _ = self.child.wait();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if std::thread::panicking() {
            // Use the captured output of the test, so that a passing test prints no report.
            #[expect(clippy::print_stderr, reason = "the report of a failed test")]
            {
                eprintln!("{}", self.report());
            }
        }
    }
}

fn read_lines(mut stdout: impl BufRead, sender: &Sender<Vec<u8>>) {
    loop {
        let mut line = Vec::new();
        match stdout.read_until(b'\n', &mut line) {
            Ok(1..) if sender.send(line).is_ok() => {}
            _ => return,
        }
    }
}

fn is_reply_to(message: &Value, id: &Value) -> bool {
    message.get("method").is_none() && &message["id"] == id
}

/// Waits for a process to end; returns true if it ended in time.
pub fn ends_within(pid: Pid, limit: Duration) -> bool {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return true;
    };
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::try_from(limit).unwrap())).expect("poll") == 1
}

/// Checks that the text and the structured part of a result have the same notes.
fn check_notes(result: &Value) -> Result<(), String> {
    let Some(structured) = result.get("structuredContent") else {
        return Ok(());
    };
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    let notes = structured["notes"].as_array().into_iter().flatten();
    let notes: Vec<&str> = notes.filter_map(Value::as_str).collect();

    let is_json = texts.first().is_some_and(|text| text.starts_with('{'));
    let unread = notes.iter().find(|note| {
        let (line, quoted) = (format!("[{note}]"), Value::from(**note).to_string());
        !texts
            .iter()
            .any(|text| text.contains(&line) || is_json && text.contains(&quoted))
    });
    let alone = texts.iter().find_map(|text| {
        let note = text.strip_prefix('[')?.strip_suffix(']')?;
        (!note.contains('\n') && !notes.contains(&note)).then_some(note)
    });
    match (unread, alone) {
        (None, None) => Ok(()),
        (Some(note), _) => Err(format!("a note that the text lacks: {note}")),
        (_, Some(note)) => Err(format!("a note that the structured part lacks: {note}")),
    }
}

/// A complete reply.
#[derive(Clone, Debug)]
pub struct Reply(pub Value);

/// Failure of a call, independent of the revision's form of errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// JSON-RPC error code; `None` for a result with `isError`.
    pub code: Option<i64>,
    /// Message of the error, or text content of the result.
    pub message: String,
}

impl Reply {
    /// Returns the result; panics on an error.
    #[track_caller]
    pub fn result(&self) -> &Value {
        assert!(
            self.0.get("error").is_none(),
            "an error where a result is due: {}",
            self.0
        );
        &self.0["result"]
    }

    /// Returns the error code; panics on a result.
    #[track_caller]
    pub fn code(&self) -> i64 {
        self.0["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("a result where an error is due: {}", self.0))
    }

    /// Returns the texts of the content blocks of a successful call.
    #[track_caller]
    pub fn texts(&self) -> Vec<String> {
        assert_eq!(self.failure(), None, "a failed call: {}", self.0);
        self.all_texts()
    }

    /// Returns the first text.
    #[track_caller]
    pub fn text(&self) -> String {
        self.texts().into_iter().next().expect("a content block")
    }

    /// Returns the texts of the content blocks of any result.
    pub fn all_texts(&self) -> Vec<String> {
        let blocks = self.0["result"]["content"].as_array().into_iter().flatten();
        blocks
            .filter_map(|block| block["text"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// Returns the failure, or `None` if the call succeeded.
    pub fn failure(&self) -> Option<Failure> {
        if let Some(error) = self.0.get("error") {
            let message = error["message"].as_str().unwrap_or_default().to_owned();
            return Some(Failure {
                code: error["code"].as_i64(),
                message,
            });
        }
        let failed = self.0["result"]["isError"] == true;
        failed.then(|| Failure {
            code: None,
            message: self.all_texts().join("\n"),
        })
    }

    /// Returns the whole reply as one text, to search for forbidden content.
    pub fn whole(&self) -> String {
        self.0.to_string()
    }
}
