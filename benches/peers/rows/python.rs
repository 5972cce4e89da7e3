//! Python sessions: start with and without a prepared interpreter, one small cell and one with much
//! output, beside ipykernel.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::args::Args;
use crate::client::{Client, text_of};
use crate::peers::{NAMESPACES, OFF, REPLAY, Server};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

const IPYKERNEL: &str = "ipykernel";
const WALLED: &str = "replay, namespaces";
const NO_SPARE: &str = "replay --no-python-spare";
/// Number of sessions, created in sequence with enough time for the next interpreter to start.
const SESSIONS: usize = 9;
const BETWEEN: Duration = Duration::from_millis(500);
const CELLS: usize = 300;
const LINES: u64 = 200_000;

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let dir = trees::fresh("python")?;
    let spec = |title: String, goal: f64, note| Spec {
        name: "python",
        title,
        unit: Unit::Seconds,
        counted: "lines",
        base: None,
        goals: vec![Goal::Absolute {
            must: goal,
            excellent: goal / 2.0,
        }],
        note,
    };
    let specs = vec![
        spec(
            "a Python session, from nothing to the answer of its first cell".to_owned(),
            0.06,
            "",
        ),
        spec(
            format!("`create_session`, half a second after the one before (median of {SESSIONS})"),
            0.06,
            "That of ipykernel is its start, with the first cell.",
        ),
        spec(
            format!("the cell `x=1`, there and back (median of {CELLS})"),
            0.001,
            "`replay` looks for new files around each cell; the round trip of ipykernel ends when it says that it is idle.",
        ),
        spec(
            format!("a cell that prints {LINES} lines"),
            1.0,
            "`replay` shows the beginning and the end, and keeps the whole in a file, whose bytes are counted.",
        ),
    ];
    let mut contenders = vec![
        contender(REPLAY, OFF, &dir),
        contender(WALLED, NAMESPACES, &dir),
        contender(NO_SPARE, OFF, &dir),
    ];
    contenders.push(match jupyter() {
        Ok(python) => ipykernel(python),
        Err(reason) => Contender::missing(IPYKERNEL, reason),
    });
    rounds(specs, contenders, args.rounds)
}

fn contender(name: &'static str, tier: &'static str, dir: &Path) -> Contender<'static> {
    let (mut server, dir) = (Server::python(tier, dir, base()), dir.to_path_buf());
    if name == NO_SPARE {
        server = server.with_flag("--no-python-spare");
    }
    Contender::new(name, server.how.clone(), move || {
        let mut client = Client::start(&server)?;
        let begin = Instant::now();
        cell(&mut client, "x=1")?;
        let start = begin.elapsed().as_secs_f64();
        let mut made = Vec::with_capacity(SESSIONS);
        for number in 0..SESSIONS {
            std::thread::sleep(BETWEEN);
            let name = json!({"session_id": format!("s{number}")});
            let line = client.call("create_session", &name);
            let begin = Instant::now();
            client.ask(&line)?;
            made.push(begin.elapsed().as_secs_f64());
            let line = client.call("delete_session", &name);
            client.ask(&line)?;
        }
        made.sort_by(f64::total_cmp);
        let mut times = Vec::with_capacity(CELLS);
        for _ in 0..CELLS {
            let line = client.call("run_python_code", &json!({"code": "x=1"}));
            let begin = Instant::now();
            client.ask(&line)?;
            times.push(begin.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let begin = Instant::now();
        let ran = cell(&mut client, &format!("for i in range({LINES}): print(i)"))?;
        let lines = begin.elapsed().as_secs_f64();
        let kept = dir.join(
            ran["outputs"][0]
                .as_str()
                .context("no file with the whole output")?,
        );
        let bytes = std::fs::metadata(&kept)?.len();
        std::fs::remove_file(kept)?;
        Ok(Trial {
            figures: vec![
                Some(start),
                Some(made[SESSIONS / 2]),
                Some(times[CELLS / 2]),
                Some(lines),
            ],
            count: LINES,
            bytes,
        })
    })
}

fn cell(client: &mut Client, code: &str) -> Result<Value> {
    let line = client.call("run_python_code", &json!({"code": code}));
    Ok(serde_json::from_str(&text_of(client.ask(&line)?)?)?)
}

/// Returns the directory of the interpreter behind the virtual environment of ipykernel (PEP 405,
/// `home`). Both contenders run the same interpreter, without a shim.
fn base() -> Option<PathBuf> {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers/python/pyvenv.cfg");
    let settings = std::fs::read_to_string(settings).ok()?;
    settings
        .lines()
        .find_map(|line| line.strip_prefix("home = "))
        .map(PathBuf::from)
}

fn jupyter() -> Result<PathBuf, String> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/peers/python/bin/python");
    if python.is_file() {
        Ok(python)
    } else {
        Err("not installed (benches/peers/install.sh)".to_owned())
    }
}

fn ipykernel(python: PathBuf) -> Contender<'static> {
    Contender::new(
        IPYKERNEL,
        "ipykernel, driven by jupyter_client (benches/peers/jupyter.py)",
        move || {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/jupyter.py");
            let mut command = Command::new(&python);
            command
                .arg(script)
                .args([CELLS.to_string(), LINES.to_string()])
                .stdin(Stdio::null());
            let output = command.output()?;
            ensure!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let text = String::from_utf8(output.stdout)?;
            let told: Vec<&str> = text.split_whitespace().collect();
            let [figures @ .., bytes] = told.as_slice() else {
                anyhow::bail!("no figures")
            };
            let mut figures = figures
                .iter()
                .map(|figure| Ok(Some(figure.parse()?)))
                .collect::<Result<Vec<_>>>()?;
            figures.insert(1, figures[0]);
            Ok(Trial {
                figures,
                count: LINES,
                bytes: bytes.parse()?,
            })
        },
    )
}
