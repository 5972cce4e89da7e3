//! A session with this program as the server, whose calls are timed.
#![expect(
    clippy::disallowed_methods,
    reason = "the program starts itself, as a client would"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use serde_json::{Value, json};

/// One measurement.
pub(super) struct Trial {
    pub(super) time: Duration,
    /// Processor time, where all of it is known.
    pub(super) processor: Option<Duration>,
    pub(super) count: u64,
}

/// A session with this program as the server.
pub(super) struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    /// Starts a server for this directory. `allow` is the flag that allows it.
    pub(super) fn start(tree: &Path, allow: &str, flags: &[&str]) -> Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .args(["--mcp-server", "--log-level", "off", "--no-search-cache"])
            .args(flags)
            .arg(allow)
            .arg(tree)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the server cannot be started")?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("no pipes")
        };
        let mut client = Self {
            child,
            stdin,
            stdout: BufReader::with_capacity(1 << 20, stdout),
            last_id: 0,
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "replay bench", "version": env!("CARGO_PKG_VERSION")}});
        client.ask("initialize", &hello)?;
        client
            .stdin
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(client)
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.last_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.stdin.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            bail!("the server ended");
        }
        Ok(line)
    }

    /// Calls a tool. `count` is a JSON pointer into the structured reply.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value, count: &str) -> Result<Trial> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        let clock = clock_getcpuclockid(pid).ok();
        let used = || Some(Duration::from(clock?.now().ok()?));
        let (before, begin) = (used(), Instant::now());
        let line = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let time = begin.elapsed();
        let processor = used().and_then(|now| now.checked_sub(before?));
        let reply: Value = serde_json::from_str(&line)?;
        let result = &reply["result"];
        if result["isError"] == true || !reply["error"].is_null() {
            let error = reply["error"]["message"]
                .as_str()
                .or_else(|| result["content"][0]["text"].as_str());
            bail!("{tool}: {}", error.unwrap_or("failed"));
        }
        let found = result["structuredContent"]
            .pointer(count)
            .unwrap_or(&Value::Null);
        let listed = || {
            found
                .as_array()
                .map_or_else(|| nodes(found), |list| list.len() as u64)
        };
        Ok(Trial {
            time,
            processor,
            count: found.as_u64().unwrap_or_else(listed),
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number of entries of a tree, including the root.
fn nodes(tree: &Value) -> u64 {
    1 + tree["children"]
        .as_array()
        .into_iter()
        .flatten()
        .map(nodes)
        .sum::<u64>()
}
