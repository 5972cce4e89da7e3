//! Round trips of small reads, and one large read.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::args::Args;
use crate::client::{Client, text_of};
use crate::peers::{FLOOR, NPM, RUST, Server};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

const CALLS: usize = 4000;
const IN_FLIGHT: usize = 64;
const SMALL_BYTES: usize = 1024;
const LARGE_BYTES: usize = 10_000_000;

pub fn small(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("read")?;
    let path = dir.join("small.txt");
    fs::write(&path, trees::text(SMALL_BYTES))?;
    let spec = |title: &str, goals| Spec {
        name: "read",
        title: title.to_owned(),
        unit: Unit::Seconds,
        counted: "replies",
        base: None,
        goals,
        note: "",
    };
    let one_by_one = vec![
        spec(
            "read_file 1 KB, one at a time, p50 of 4,000",
            vec![Goal::Ratio {
                of: FLOOR,
                must: 3.0,
                excellent: 1.5,
            }],
        ),
        spec("read_file 1 KB, one at a time, p99 of 4,000", Vec::new()),
    ];
    let mut rows = rounds(
        one_by_one,
        contenders(&dir, &path, one_at_a_time),
        args.rounds,
    )?;
    let pipelined = vec![spec(
        "read_file 1 KB, 64 in flight, 4,000 calls in all",
        vec![
            Goal::Ratio {
                of: FLOOR,
                must: 3.0,
                excellent: 1.5,
            },
            // Three times the calls per second is a third of the time.
            Goal::Ratio {
                of: RUST,
                must: 1.0 / 3.0,
                excellent: 0.2,
            },
        ],
    )];
    rows.extend(rounds(
        pipelined,
        contenders(&dir, &path, in_flight),
        args.rounds,
    )?);
    Ok(rows)
}

pub fn large(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("read10")?;
    let path = dir.join("large.txt");
    fs::write(&path, trees::text(LARGE_BYTES))?;
    let spec = Spec {
        name: "read10",
        title: "read_file 10 MB of text".to_owned(),
        unit: Unit::Seconds,
        counted: "bytes of text",
        base: None,
        goals: vec![Goal::Ratio {
            of: FLOOR,
            must: 1.2,
            excellent: 0.8,
        }],
        note: "The npm server sends the text twice, as content and as structured content.",
    };
    rounds(vec![spec], contenders(&dir, &path, once), args.rounds * 3)
}

/// Measurement of one round with a client, the tool name and the file.
type Measurement = fn(&mut Client, &str, &Path) -> Result<Trial>;

/// Returns the servers, each with one session for all rounds.
fn contenders(dir: &Path, path: &Path, way: Measurement) -> Vec<Contender<'static>> {
    let servers = [
        (crate::peers::REPLAY, "read_file", Ok(Server::replay(dir))),
        (FLOOR, "read_file", Server::floor()),
        (RUST, "read_text_file", Server::rust(dir)),
        (NPM, "read_file", Server::npm(dir)),
    ];
    let contender =
        |(name, tool, server): (&'static str, &'static str, Result<Server, String>)| match server {
            Err(reason) => Contender::missing(name, reason),
            Ok(server) => {
                let path = path.to_path_buf();
                let mut session = None;
                Contender::new(name, server.how.clone(), move || {
                    let client = match &mut session {
                        Some(client) => client,
                        none => none.insert(Client::start(&server)?),
                    };
                    way(client, tool, &path)
                })
            }
        };
    servers.into_iter().map(contender).collect()
}

/// Returns the request lines, built before the clock starts.
fn lines(client: &mut Client, tool: &str, path: &Path) -> Vec<Vec<u8>> {
    (0..CALLS)
        .map(|_| client.call(tool, &json!({"path": path})))
        .collect()
}

/// Reads once outside the measurement, compares with the disk and returns the length of the reply
/// line.
fn verified_reply_length(client: &mut Client, tool: &str, path: &Path) -> Result<usize> {
    let line = client.call(tool, &json!({"path": path}));
    let reply = client.ask(&line)?;
    let length = reply.len();
    ensure!(
        text_of(reply)? == fs::read_to_string(path)?,
        "the text is not what is in the file"
    );
    Ok(length)
}

fn one_at_a_time(client: &mut Client, tool: &str, path: &Path) -> Result<Trial> {
    let length = verified_reply_length(client, tool, path)?;
    let lines = lines(client, tool, path);
    let mut times = Vec::with_capacity(CALLS);
    for line in &lines {
        let begin = Instant::now();
        let got = client.ask(line)?.len();
        times.push(begin.elapsed().as_secs_f64());
        ensure!(
            got == length,
            "a reply of {got} bytes among such of {length}"
        );
    }
    times.sort_by(f64::total_cmp);
    let figures = vec![Some(times[CALLS / 2]), Some(times[CALLS * 99 / 100])];
    Ok(Trial {
        figures,
        count: CALLS as u64,
        bytes: (CALLS * length) as u64,
    })
}

fn in_flight(client: &mut Client, tool: &str, path: &Path) -> Result<Trial> {
    let length = verified_reply_length(client, tool, path)?;
    let lines = lines(client, tool, path).concat();
    let line_bytes = lines.len() / CALLS;
    let begin = Instant::now();
    let (mut sent, mut answered) = (IN_FLIGHT, 0);
    client.send(&lines[..IN_FLIGHT * line_bytes])?;
    while answered < CALLS {
        let some = client.receive_some(|reply| {
            ensure!(
                reply.len() == length,
                "a reply of {} bytes among such of {length}",
                reply.len()
            );
            Ok(())
        })?;
        answered += some;
        let next = (sent + some).min(CALLS);
        client.send(&lines[sent * line_bytes..next * line_bytes])?;
        sent = next;
    }
    let time = begin.elapsed().as_secs_f64();
    Ok(Trial::of(time, answered as u64, (answered * length) as u64))
}

fn once(client: &mut Client, tool: &str, path: &Path) -> Result<Trial> {
    client.expect_bytes(64 << 20);
    let line = client.call(tool, &json!({"path": path}));
    let begin = Instant::now();
    let reply = client.ask(&line)?;
    let time = begin.elapsed().as_secs_f64();
    let bytes = reply.len() as u64;
    let text = text_of(reply)?;
    ensure!(
        text == fs::read_to_string(path)?,
        "the text is not what is in the file"
    );
    Ok(Trial::of(time, text.len() as u64, bytes))
}
