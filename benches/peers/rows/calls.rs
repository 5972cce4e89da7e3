//! Cost of recording and replaying the calls of a program, measured by the program's own clock
//! around its calls.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::args::Args;
use crate::peers::first_on_path;
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

const PLAIN: &str = "plain";
const RECORDED: &str = "recorded";
const REPLAYED: &str = "replayed";
/// Baseline for the cost of a second hop.
const RELAYED: &str = "bare relay";
const BYTES: usize = 100_000_000;
const CALLS: usize = 500;

/// Prints the duration of the calls and the number of bytes received.
const CLIENT: &str = "import sys, time, urllib.request
url, count = sys.argv[1], int(sys.argv[2])
begin, total = time.perf_counter(), 0
for _ in range(count):
    answer = urllib.request.urlopen(url)
    while part := answer.read(1 << 18):
        total += len(part)
print(time.perf_counter() - begin, total)
";

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let spec = |title: &str, goals| Spec {
        name: "calls",
        title: title.to_owned(),
        unit: Unit::Seconds,
        counted: "bytes received",
        base: Some(PLAIN),
        goals,
        note: "The server and the program are on this machine; everybody shares its processors.",
    };
    let start = spec("`true`, its start and end included", Vec::new());
    let many = spec(
        "500 HTTP requests, each on a connection of its own",
        Vec::new(),
    );
    let goal = Goal::Multiple {
        who: RECORDED,
        must: 1.1,
        excellent: 1.0,
    };
    let large = spec("download of 100 MB", vec![goal]);
    let python = match first_on_path(&["python3"]) {
        Ok(python) => python,
        Err(reason) => return rounds(vec![many], vec![Contender::missing(PLAIN, reason)], 1),
    };
    let dir = trees::fresh("calls")?;
    std::fs::write(dir.join("client.py"), CLIENT)?;
    let server = serve()?;
    let relay = relay(server)?;
    let python = python.to_string_lossy().into_owned();
    let work = |to: SocketAddr, bytes: usize, count: usize| {
        vec![
            python.clone(),
            "client.py".to_owned(),
            format!("http://{to}/{bytes}"),
            count.to_string(),
        ]
    };
    let mut all = Vec::new();
    for (spec, calls, times) in [
        (start, None, args.rounds * 3),
        (many, Some((100, CALLS)), args.rounds),
        (large, Some((BYTES, 1)), args.rounds),
    ] {
        let words = calls.map_or_else(
            || vec!["true".to_owned()],
            |(bytes, count)| work(server, bytes, count),
        );
        let mut contenders = vec![contender(PLAIN, &dir, &[], &words)];
        if let Some((bytes, count)) = calls {
            contenders.push(contender(RELAYED, &dir, &[], &work(relay, bytes, count)));
        }
        contenders.push(contender(
            RECORDED,
            &dir,
            &["record", "--path", "sets"],
            &words,
        ));
        // The newest set is the recording just made.
        let mut replayed = contender(REPLAYED, &dir, &["test", "--path", "sets"], &words);
        if calls.is_some_and(|(bytes, _)| bytes == BYTES) {
            replayed = replayed.at_most(3);
        }
        contenders.push(replayed);
        std::fs::remove_dir_all(dir.join("sets")).ok();
        all.extend(rounds(vec![spec], contenders, times)?);
    }
    Ok(all)
}

fn contender(name: &'static str, dir: &Path, how: &[&str], words: &[String]) -> Contender<'static> {
    let shown = match how.first() {
        Some(word) => format!("replay calls {word} -- PROGRAM"),
        None if name == RELAYED => {
            "PROGRAM, through a relay that keeps nothing (`std::io::copy`, which splices)"
                .to_owned()
        }
        None => "PROGRAM".to_owned(),
    };
    let (dir, words) = (dir.to_path_buf(), words.to_vec());
    let how: Vec<String> = how.iter().map(|&word| word.to_owned()).collect();
    Contender::new(name, shown, move || {
        let mut line = words.clone();
        if !how.is_empty() {
            let wrapper = [
                vec![env!("CARGO_BIN_EXE_replay").to_owned(), "calls".to_owned()],
                how.clone(),
                vec!["--".to_owned()],
            ];
            line = [wrapper.concat(), line].concat();
        }
        let begin = Instant::now();
        let output = Command::new(&line[0])
            .args(&line[1..])
            .current_dir(&dir)
            .stdin(Stdio::null())
            .output()?;
        let whole = begin.elapsed().as_secs_f64();
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout)?;
        let mut told = text.split_whitespace();
        let (time, bytes) = match (told.next(), told.next()) {
            (Some(time), Some(bytes)) => (time.parse()?, bytes.parse()?),
            _ => (whole, 0),
        };
        Ok(Trial::of(time, bytes, bytes))
    })
}

/// Starts an HTTP server that answers `/N` with N bytes until this program ends.
fn serve() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(answer(stream)));
        }
    });
    Ok(address)
}

/// Starts a relay to the server that forwards bytes unexamined until this program ends.
fn relay(server: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || drop(pass(&client, server)));
        }
    });
    Ok(address)
}

fn pass(client: &TcpStream, server: SocketAddr) -> Result<()> {
    let server = TcpStream::connect(server)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = std::thread::spawn(move || {
        std::io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Write)
    });
    std::io::copy(&mut &server, &mut &*client)?;
    client.shutdown(Shutdown::Both)?;
    drop(up.join());
    Ok(())
}

fn answer(mut stream: TcpStream) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().context("no request")??;
    while !lines.next().context("half a request")??.is_empty() {}
    let bytes: usize = first.split(['/', ' ']).nth(2).context("no path")?.parse()?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let part = vec![b'x'; 1 << 18];
    let mut left = bytes;
    while left > 0 {
        let next = left.min(part.len());
        stream.write_all(&part[..next])?;
        left -= next;
    }
    Ok(())
}
