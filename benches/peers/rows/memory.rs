//! Peak memory of a server (`VmHWM`, including children), each in a separate session.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::json;

use crate::args::Args;
use crate::client::{Client, text_of};
use crate::machine;
use crate::peers::{FLOOR, NPM, REPLAY, Server};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

const PINGS: u64 = 100_000;
const ROUNDS: usize = 3;
/// Time without progress of the writer after which the server counts as blocked and reading starts.
const STALLED: Duration = Duration::from_millis(500);
const MIB: f64 = 1024.0 * 1024.0;

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("memory")?;
    let path = dir.join("large.txt");
    fs::write(&path, trees::text(10_000_000))?;
    let spec = |title: &str, counted, must: f64| Spec {
        name: "memory",
        title: title.to_owned(),
        unit: Unit::Bytes,
        counted,
        base: None,
        goals: vec![Goal::Absolute {
            must,
            excellent: must / 2.0,
        }],
        note: "",
    };
    let title = "peak memory, read_file 10 MB five times";
    let mut rows = rounds(
        vec![spec(title, "bytes of text", 64.0 * MIB)],
        contenders(&dir, &path, reading),
        ROUNDS,
    )?;
    let title = "peak memory, 100,000 pings written before one answer is read";
    rows.extend(rounds(
        vec![spec(title, "answers", 64.0 * MIB)],
        contenders(&dir, &path, flood_pings),
        ROUNDS,
    )?);
    let _ = args;
    Ok(rows)
}

type Measurement = fn(&mut Client, &Path) -> Result<(u64, u64)>;

fn contenders(dir: &Path, path: &Path, way: Measurement) -> Vec<Contender<'static>> {
    let servers = [
        (REPLAY, Ok(Server::replay(dir))),
        (FLOOR, Server::floor()),
        (NPM, Server::npm(dir)),
    ];
    let contender = |(name, server): (&'static str, Result<Server, String>)| match server {
        Err(reason) => Contender::missing(name, reason),
        Ok(server) => {
            let path = path.to_path_buf();
            Contender::new(name, server.how.clone(), move || {
                let mut client = Client::start(&server)?;
                let (count, bytes) = way(&mut client, &path)?;
                Ok(Trial::of(
                    machine::memory(client.pid(), "VmHWM")?,
                    count,
                    bytes,
                ))
            })
        }
    };
    servers.into_iter().map(contender).collect()
}

fn reading(client: &mut Client, path: &Path) -> Result<(u64, u64)> {
    let mut last = (0, 0);
    for _ in 0..5 {
        let line = client.call("read_file", &json!({"path": path}));
        let reply = client.ask(&line)?;
        last.1 = reply.len() as u64;
        last.0 = text_of(reply)?.len() as u64;
    }
    Ok(last)
}

/// Writes requests until all are written or the server blocks, then reads and requires every
/// answer.
fn flood_pings(client: &mut Client, _path: &Path) -> Result<(u64, u64)> {
    let lines: Vec<u8> = (0..PINGS)
        .flat_map(|_| client.request("ping", &json!({})))
        .collect();
    let mut stdin = client.take_stdin().context("no stdin")?;
    let written = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&written);
    let total = lines.len() as u64;
    let writing = thread::spawn(move || {
        for chunk in lines.chunks(4096) {
            stdin.write_all(chunk)?;
            count.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
        Ok::<_, std::io::Error>(stdin)
    });
    let (mut last, mut since) = (0, Instant::now());
    while last < total && since.elapsed() < STALLED {
        thread::sleep(Duration::from_millis(10));
        let now = written.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    let (mut answered, mut bytes) = (0, 0);
    while answered < PINGS {
        answered += client.receive_some(|reply| {
            bytes += reply.len() as u64;
            ensure!(
                reply.ends_with(b"\"result\":{}}") || reply.starts_with(b"{\"result\":{},"),
                "no ping answer"
            );
            Ok(())
        })? as u64;
    }
    client.return_stdin(writing.join().map_err(|_| anyhow!("the writer failed"))??);
    Ok((answered, bytes))
}
