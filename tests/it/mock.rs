//! Mock servers from manifests and cassettes.

#![expect(
    clippy::needless_pass_by_value,
    reason = "parameters are written in place, as `json!`"
)]

mod authorization;
mod behaviour;
mod files;
mod http_faults;
mod matching;
mod misbehaviour;
mod over_http;
mod proxy;
mod recording;
mod slips;
mod url_proxy;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{DEADLINE, Server};
use crate::tree::Tree;

pub const BINARY: &str = env!("CARGO_BIN_EXE_replay");

/// Example manifest of the contract.
pub const WEATHER: &str = r##"
mock_server:
  name: weather-fixture
  tools:
    - name: get_weather
      description: "Get the weather for a city."
      input_schema:
        type: object
        required: [city]
        properties:
          city: { type: string }
      response:
        content:
          - type: text
            text: "It is 72 F and sunny in ${args.city}."
    - name: bare
  resources:
    - uri: "file:///workspace/README.md"
      name: readme
      mime_type: text/plain
      text: "# Project\nHello."
  prompts:
    - name: bug_triage
      description: "Triage a bug report."
      text: "Classify the report by severity and component."
"##;

/// Starts a mock of this manifest and opens a session. Every line is checked against the official
/// schema.
pub fn open(tree: &Tree, revision: &str, manifest: &str, args: &[&str]) -> Server {
    tree.file("mock.yaml", manifest);
    let line = [&[BINARY, "mock", "--tools-from", "mock.yaml"], args].concat();
    Server::start_program(tree, &line, &[]).opened(revision)
}

/// Output of a finished program: stdout lines, stderr and exit status.
pub struct ProgramOutput {
    pub lines: Vec<String>,
    pub stderr: String,
    pub status: Option<i32>,
}

impl ProgramOutput {
    /// Returns the lines that are JSON.
    pub fn messages(&self) -> Vec<Value> {
        self.lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

/// Runs `replay ARGS` with all input lines sent at once, without schema checks.
pub fn run(tree: &Tree, args: &[&str], input: &[Value]) -> ProgramOutput {
    converse(tree, args, input, false)
}

/// Runs `replay ARGS`, and sends each input line after the reply to the previous one.
pub fn ask(tree: &Tree, args: &[&str], input: &[Value]) -> ProgramOutput {
    converse(tree, args, input, true)
}

fn converse(tree: &Tree, args: &[&str], input: &[Value], in_turn: bool) -> ProgramOutput {
    let mut command = Command::new(BINARY);
    command.args(args).current_dir(tree.root()).env_clear();
    command
        .env("PATH", "/usr/bin:/bin")
        .env("TEST_TOKEN", "s3cr3t-value");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (sender, written) = channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in out.split(b'\n').map_while(Result::ok) {
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    let mut err = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        text
    });
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = Vec::new();
    let until = Instant::now() + DEADLINE;
    let next = || written.recv_timeout(until.saturating_duration_since(Instant::now()));
    for message in input {
        // The write fails if the program has already exited.
        let _ = stdin.write_all(format!("{message}\n").as_bytes());
        if in_turn {
            lines.extend(next());
        }
    }
    drop(stdin);
    loop {
        match next() {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                panic!(
                    "the program did not end; stderr: {}",
                    errors.join().unwrap()
                );
            }
        }
    }
    ProgramOutput {
        lines,
        stderr: errors.join().unwrap(),
        status: child.wait().unwrap().code(),
    }
}

pub fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub fn call(id: i64, name: &str, arguments: Value) -> Value {
    request(
        id,
        "tools/call",
        json!({"name": name, "arguments": arguments}),
    )
}

pub fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Removes the members that revision 2026-07-28 adds to a result.
pub fn bare(result: &Value) -> Value {
    let mut result = result.clone();
    for key in ["resultType", "_meta", "ttlMs", "cacheScope"] {
        result.as_object_mut().unwrap().shift_remove(key);
    }
    result
}
