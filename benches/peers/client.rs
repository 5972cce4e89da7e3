//! Measuring client: blocking pipes and one thread, with no work but the call between the two clock
//! readings.

use std::io::{ErrorKind, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use memchr::memchr;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::peers::Server;

/// Maximum lifetime of a session, so that a hanging peer fails the run instead of blocking it.
const LIFE: Duration = Duration::from_mins(10);

/// Ids have one width, so that replies to equal requests have equal lengths.
const FIRST_ID: u64 = 1_000_000;

/// A server process and its two pipes.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// Read buffer; the unread bytes are `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    next_id: u64,
    /// Dropped with the session, which ends the watchdog thread.
    _life: Sender<()>,
}

impl Client {
    /// Starts a server without a handshake.
    pub fn spawn(server: &Server) -> Result<Self> {
        let mut command = server.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", server.name))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("no pipes")
        };
        let (life, ended) = channel::<()>();
        let pid = Pid::from_child(&child);
        thread::spawn(move || {
            if ended.recv_timeout(LIFE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let buffer = vec![0; 1 << 20];
        Ok(Self {
            child,
            stdin: Some(stdin),
            stdout,
            buffer,
            start: 0,
            end: 0,
            next_id: FIRST_ID,
            _life: life,
        })
    }

    /// Starts a server and performs the handshake.
    pub fn start(server: &Server) -> Result<Self> {
        let mut client = Self::spawn(server)?;
        client.handshake()?;
        Ok(client)
    }

    pub fn handshake(&mut self) -> Result<()> {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "peers", "version": "0"}});
        let line = self.request("initialize", &hello);
        let reply: Value = serde_json::from_slice(self.ask(&line)?)?;
        ensure!(
            reply["result"]["serverInfo"].is_object(),
            "no handshake: {reply}"
        );
        self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns a request line with a fresh id.
    pub fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        line
    }

    /// Returns a `tools/call` line.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Vec<u8> {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        Ok(stdin.write_all(bytes)?)
    }

    /// Takes the stdin pipe, for use in another thread.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Puts the stdin pipe back; the server runs until it is closed.
    pub fn return_stdin(&mut self, stdin: ChildStdin) {
        self.stdin = Some(stdin);
    }

    /// Sends a line and waits for the next one.
    pub fn ask(&mut self, line: &[u8]) -> Result<&[u8]> {
        self.send(line)?;
        self.receive()
    }

    /// Returns the next line, without its newline.
    pub fn receive(&mut self) -> Result<&[u8]> {
        let mut scanned = self.start;
        loop {
            if let Some(found) = memchr(b'\n', &self.buffer[scanned..self.end]) {
                let (from, to) = (self.start, scanned + found);
                self.start = to + 1;
                return Ok(&self.buffer[from..to]);
            }
            scanned = self.end;
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                scanned -= self.start;
                self.end -= self.start;
                self.start = 0;
            }
            self.fill()?;
        }
    }

    /// Waits for a line, then passes it and all further buffered lines to `each`, without newlines.
    /// Returns their number.
    pub fn receive_some(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<usize> {
        let first = self.receive()?;
        each(first)?;
        let mut lines = 1;
        while let Some(found) = memchr(b'\n', &self.buffer[self.start..self.end]) {
            each(&self.buffer[self.start..self.start + found])?;
            self.start += found + 1;
            lines += 1;
        }
        Ok(lines)
    }

    fn fill(&mut self) -> Result<()> {
        if self.end == self.buffer.len() {
            self.buffer.resize(self.end * 2, 0);
        }
        loop {
            match self.stdout.read(&mut self.buffer[self.end..]) {
                Ok(0) => bail!("the server closed its output"),
                Ok(read) => {
                    self.end += read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Grows the buffer in advance, so that the growth is not measured with a reply of up to this
    /// length.
    pub fn expect_bytes(&mut self, bytes: usize) {
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 1);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the text of a `tools/call` reply, or an error if the tool failed.
pub fn text_of(reply: &[u8]) -> Result<String> {
    let mut reply: Value = serde_json::from_slice(reply)?;
    let failed = reply["result"]["isError"] == true || !reply["error"].is_null();
    match reply["result"]["content"][0]["text"].take() {
        Value::String(text) if !failed => Ok(text),
        other => bail!("the call failed: {other} {}", reply["error"]),
    }
}
