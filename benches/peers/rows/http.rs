//! The server over HTTP: many connections that read a small file, beside two echo servers, and many
//! idle event streams.

use std::env;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::args::Args;
use crate::machine;
use crate::peers::{AXUM, AXUM_FILE, ECHO, REPLAY};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;
use crate::web::{WebServer, ask, is_whole, load};

const FILE_BYTES: usize = 1024;
const CONNECTIONS: usize = 64;
const STREAMS: usize = 1000;
const KIB: f64 = 1024.0;

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let files = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: files.maximum,
            maximum: files.maximum,
        },
    )?;
    let dir = trees::fresh("http")?;
    fs::write(dir.join("small.txt"), trees::text(FILE_BYTES))?;
    let spec = |title: String, unit, counted, goals| Spec {
        name: "http",
        title,
        unit,
        counted,
        base: None,
        goals,
        note: "axum gives back the JSON that it got, the same call; \"axum, file\" reads the file for each and gives it as JSON, by the \
            same system calls; the echo answers with a file from memory; all run with two threads for bytes, on the processors that the load needs too. A reply that is no success, or of \
            another length, ends the run: there were no errors.",
    };
    let title =
        |what: &str| format!("read_file of 1 KB over HTTP, {CONNECTIONS} connections, {what}");
    let twice = || {
        vec![Goal::Ratio {
            of: AXUM,
            must: 2.0,
            excellent: 1.5,
        }]
    };
    let flat = vec![Goal::Absolute {
        must: 1024.0 * KIB,
        excellent: 256.0 * KIB,
    }];
    let specs = vec![
        spec(
            title("time for each request (its inverse is requests/s)"),
            Unit::Seconds,
            "connections",
            twice(),
        ),
        spec(title("requests/s"), Unit::Number, "connections", Vec::new()),
        spec(
            title("requests in all"),
            Unit::Number,
            "connections",
            Vec::new(),
        ),
        spec(
            title("processor time of the server for each request"),
            Unit::Seconds,
            "connections",
            twice(),
        ),
        spec(title("p50"), Unit::Seconds, "connections", Vec::new()),
        spec(title("p99"), Unit::Seconds, "connections", twice()),
        spec(
            title("memory that it takes more than idle"),
            Unit::Bytes,
            "connections",
            Vec::new(),
        ),
        spec(
            title("memory that it takes more than after a quarter of the time"),
            Unit::Bytes,
            "connections",
            flat,
        ),
    ];
    let length = Duration::from_secs(args.seconds);
    let contenders = [REPLAY, AXUM, AXUM_FILE, ECHO].map(|who| {
        let dir = dir.clone();
        Contender::new(who, how(who), move || {
            loaded(&mut command(who, &dir)?, length)
        })
    });
    let mut rows = rounds(specs, contenders.into(), args.rounds)?;
    let goal = vec![Goal::Absolute {
        must: 64.0 * KIB,
        excellent: 32.0 * KIB,
    }];
    let title = format!("memory of one of {STREAMS} idle streams, with its session");
    let spec = spec(title, Unit::Bytes, "streams", goal);
    let contenders = [REPLAY, ECHO].map(|who| {
        let dir = dir.clone();
        Contender::new(who, how(who), move || {
            idle(&mut command(who, &dir)?, who == REPLAY)
        })
        .at_most(3)
    });
    rows.extend(rounds(vec![spec], contenders.into(), args.rounds)?);
    Ok(rows)
}

fn how(who: &str) -> &'static str {
    match who {
        REPLAY => "replay --mcp-server --http 127.0.0.1:0 --allow DIR --sandbox off --rate-limit 0",
        AXUM => "axum that gives JSON back as a value (benches/peers/json_echo.rs)",
        AXUM_FILE => {
            "the same that reads the file (openat2, fstat, pread, close) and gives it as a value"
        }
        _ => "hyper that parses a message and answers from memory (benches/peers/echo.rs)",
    }
}

fn command(who: &str, dir: &std::path::Path) -> Result<Command> {
    if who != REPLAY {
        let mut command =
            Command::new(env::current_exe().context("its own program is not to be found")?);
        match who {
            AXUM => command.arg("--json-echo"),
            AXUM_FILE => command.arg("--json-echo").arg(dir),
            _ => command.args(["--echo", &FILE_BYTES.to_string()]),
        };
        return Ok(command);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    command
        .args([
            "--mcp-server",
            "--http",
            "127.0.0.1:0",
            "--sandbox",
            "off",
            "--rate-limit",
            "0",
            "--allow",
        ])
        .arg(dir);
    Ok(command)
}

fn loaded(command: &mut Command, length: Duration) -> Result<Trial> {
    let server = WebServer::start(command)?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"path": "small.txt"}}});
    let request = server.request("POST", "", &body.to_string());
    let memory = || machine::memory(server.pid(), "VmRSS");
    let (before, worked) = (memory()?, machine::processor_time(server.pid())?);
    let (seen, early) = thread::scope(|scope| {
        let early = scope.spawn(|| {
            thread::sleep(length / 4);
            memory()
        });
        let seen = load(&server, &request, CONNECTIONS, length);
        (seen, early.join())
    });
    let (seen, early) = (
        seen?,
        early.map_err(|_| anyhow!("nobody looked at its memory"))??,
    );
    let (after, worked) = (memory()?, machine::processor_time(server.pid())? - worked);
    ensure!(!seen.times.is_empty(), "no request was answered in time");
    let place = |hundredth: usize| Some(seen.times[(seen.times.len() - 1) * hundredth / 100]);
    let requests = seen.times.len() as f64;
    let figures = vec![
        Some(seen.took / requests),
        Some(requests / seen.took),
        Some(requests),
        Some(worked / requests),
        place(50),
        place(99),
        Some((after - before).max(0.0)),
        Some((after - early).max(0.0)),
    ];
    Ok(Trial {
        figures,
        count: CONNECTIONS as u64,
        bytes: seen.reply as u64,
    })
}

/// Opens event streams, each in its own session if the server has sessions.
fn idle(command: &mut Command, has_sessions: bool) -> Result<Trial> {
    let server = WebServer::start(command)?;
    let opening = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}});
    let opening = server.request("POST", "", &opening.to_string());
    let mut streams = Vec::with_capacity(STREAMS);
    let mut before = 0.0;
    let (mut first, mut bytes) = (true, 0);
    for _ in 0..=STREAMS {
        let mut stream = server.connect()?;
        let mut headers = "Accept: text/event-stream\r\n".to_owned();
        if has_sessions {
            let opened = ask(&mut stream, &opening, is_whole)?;
            let name = opened.lines().find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("mcp-session-id:")
                    .map(str::to_owned)
            });
            headers.extend(["Mcp-Session-Id:", &name.context("no session")?, "\r\n"]);
        }
        let begun = ask(&mut stream, &server.request("GET", &headers, ""), |text| {
            text.contains("\r\n\r\n")
        })?;
        ensure!(begun.starts_with("HTTP/1.1 200 "), "{begun}");
        bytes = begun.len() as u64;
        streams.push(stream);
        // Exclude the memory of the first stream.
        if std::mem::take(&mut first) {
            before = machine::memory(server.pid(), "VmRSS")?;
        }
    }
    let after = machine::memory(server.pid(), "VmRSS")?;
    Ok(Trial::of(
        (after - before).max(0.0) / STREAMS as f64,
        STREAMS as u64,
        bytes,
    ))
}
