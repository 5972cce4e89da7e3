//! Test for processes that survive their command: programs that try to escape, by the hundred,
//! through the real server. Each has a tag among its arguments. The test searches `/proc` (proc(5))
//! for the tag right after the answer.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use memchr::memmem;
use serde_json::{Value, json};

use crate::client::Client;
use crate::peers::{LANDLOCK, NAMESPACES, Server};
use crate::trees;

/// One method to survive. `TAG` stands for the tag, `READY` for the signal that the program has
/// reached its final state.
struct Case {
    name: &'static str,
    line: &'static str,
    /// Time limit in seconds that the answer must report, if any.
    timeout_secs: Option<u64>,
    /// The case runs in one of this many rounds, because it is slow.
    each: usize,
}

const READY: &str = "open F, q(>), q(ready); close F;";
/// The shell continues when the program is ready.
const WAIT: &str = "until [ -e ready ]; do :; done; rm ready";

const CASES: [Case; 8] = [
    case(
        "daemon by setsid",
        "setsid perl -e 'READY sleep 300' TAG >/dev/null 2>&1 </dev/null & WAIT",
    ),
    case(
        "daemon by two forks",
        "perl -MPOSIX -e 'if (fork) { wait; exit } setsid; exit if fork; READY close STDOUT; close STDERR; sleep 300' TAG; WAIT",
    ),
    case(
        "hydra: each generation a session of its own",
        "perl -MPOSIX -e 'exit if fork; READY while (1) { exit if fork; setsid }' TAG; WAIT",
    ),
    case(
        "bomb: 64 hydras",
        "perl -MPOSIX -e 'exit if fork; fork for 1..6; READY while (1) { exit if fork; setsid }' TAG; WAIT",
    ),
    case(
        "SIGTERM ignored",
        "perl -e '$SIG{TERM} = q(IGNORE); READY sleep 300' TAG & WAIT",
    ),
    case("pipe held open", "perl -e 'READY sleep 300' TAG & WAIT"),
    case(
        "shell killed by itself",
        "perl -e 'READY sleep 300' TAG & WAIT; kill -9 $$",
    ),
    Case {
        name: "SIGTERM ignored, time limit of 1 s",
        line: "perl -e '$SIG{TERM} = q(IGNORE); sleep 300; print 1' TAG",
        timeout_secs: Some(1),
        each: 50,
    },
];

const fn case(name: &'static str, line: &'static str) -> Case {
    Case {
        name,
        line,
        timeout_secs: None,
        each: 1,
    }
}

/// Returns the results as a Markdown table. Fails if any process survived.
pub fn run(rounds: usize) -> Result<String> {
    let mut out = String::from(
        "| what stays | walls | rounds | survivors | slowest answer |\n|---|---|--:|--:|--:|\n",
    );
    let mut all = 0;
    for case in &CASES {
        for tier in [NAMESPACES, LANDLOCK] {
            let rounds = rounds.div_ceil(case.each);
            let (survivors, slowest) = measure(case, tier, rounds)?;
            all += survivors;
            let line = format!(
                "| {} | {tier} | {rounds} | {survivors} | {:.0} ms |",
                case.name,
                slowest.as_secs_f64() * 1e3
            );
            eprintln!("{line}");
            let _ = writeln!(out, "{line}");
        }
    }
    ensure!(all == 0, "{all} processes survived:\n{out}");
    Ok(out)
}

fn measure(case: &Case, tier: &'static str, rounds: usize) -> Result<(usize, Duration)> {
    let dir = trees::fresh("survivors")?;
    let mut client = Client::start(&Server::walled(tier, &dir))?;
    let (mut survivors, mut slowest) = (0, Duration::ZERO);
    for round in 0..rounds {
        let tag = format!("survivor-{}-{tier}-{round}-", std::process::id());
        let line = case
            .line
            .replace("READY", READY)
            .replace("WAIT", WAIT)
            .replace("TAG", &tag);
        let mut arguments = json!({"command": line});
        if let Some(timeout) = case.timeout_secs {
            arguments["timeout"] = timeout.into();
        }
        let call = client.call("execute_command", &arguments);
        let begin = Instant::now();
        let reply = client.ask(&call)?.to_vec();
        let time = begin.elapsed();
        let alive = count_tagged(&tag)?;
        slowest = slowest.max(time);
        let reply: Value = serde_json::from_slice(&reply)?;
        let result = &reply["result"]["structuredContent"];
        if result["timedOut"] != case.timeout_secs.is_some() {
            bail!("{} ({tier}): {reply}", case.name);
        }
        survivors += alive;
    }
    Ok((survivors, slowest))
}

/// Returns the number of processes with the tag among their arguments. A process that has ended has
/// no arguments.
fn count_tagged(tag: &str) -> Result<usize> {
    let finder = memmem::Finder::new(tag);
    let own = std::process::id().to_string();
    let mut found = 0;
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if is_process && name.to_str() != Some(&own) {
            let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found += usize::from(finder.find(&arguments).is_some());
        }
    }
    Ok(found)
}
