//! Shell workloads inside and outside the sandbox: the same command line, with a counted result.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::grep::LITERAL;
use super::tree::MISSING;
use crate::args::Args;
use crate::client::Client;
use crate::peers::{LANDLOCK, NAMESPACES, Server, TIERS, on_path};
use crate::samples::{Contender, Goal, Row, Spec, Trial, Unit, rounds};
use crate::trees;

const OUTSIDE: &str = "outside";
/// Number of files for cat.
const FILES: usize = 20_000;
/// Number of files for gcc.
const UNITS: usize = 200;
/// Time limit of a command line, in seconds.
const LIMIT_SECS: u64 = 60;

pub fn rows(args: &Args) -> Result<Vec<Row>> {
    let within = |must| {
        let goal = |who| Goal::Multiple {
            who,
            must,
            excellent: 1.01,
        };
        vec![goal(LANDLOCK), goal(NAMESPACES)]
    };
    let mut rows = Vec::new();

    let grep = format!("LC_ALL=C grep -rI {LITERAL} . | wc -l");
    let title = format!("GNU grep of `{LITERAL}` in the source tree");
    rows.extend(match args.tree.canonicalize() {
        Ok(tree) => work(&title, "hits", &tree, &grep, within(1.03), args.rounds)?,
        Err(_) => rounds(
            vec![spec(&title, "hits", Vec::new())],
            vec![Contender::missing(OUTSIDE, MISSING)],
            1,
        )?,
    });

    let dir = trees::fresh("walled-cat")?;
    for part in 0..FILES / 200 {
        let part = dir.join(format!("{part:03}"));
        fs::create_dir(&part)?;
        for file in 0..200 {
            fs::write(part.join(format!("{file:03}")), trees::text(300))?;
        }
    }
    let cat = "find . -type f -print0 | xargs -0 cat | wc -c";
    rows.extend(work(
        "cat of 20,000 files of 300 bytes",
        "bytes",
        &dir,
        cat,
        within(1.1),
        args.rounds,
    )?);

    let dir = trees::fresh("walled-gcc")?;
    for unit in 0..UNITS {
        fs::write(
            dir.join(format!("{unit}.c")),
            format!("int f{unit}(int a) {{ return a * {unit} + 1; }}\n"),
        )?;
    }
    let build = "rm -f *.o; for unit in *.c; do gcc -c \"$unit\" || exit 1; done; ls *.o | wc -l";
    if on_path("gcc").is_some() {
        rows.extend(work(
            "200 times gcc -c of one line",
            "objects",
            &dir,
            build,
            within(1.1),
            args.rounds.min(5),
        )?);
    }

    let dir = trees::fresh("walled-chmod")?;
    fs::write(dir.join("file"), "x")?;
    let change = "perl -e 'for (1..20000) { $done += chmod(0600 + ($_ & 1) * 0044, \"file\") } print \"$done\\n\"'";
    rows.extend(work(
        "20,000 times chmod(2), one program",
        "calls",
        &dir,
        change,
        Vec::new(),
        args.rounds,
    )?);
    Ok(rows)
}

fn spec(title: &str, counted: &'static str, goals: Vec<Goal>) -> Spec {
    let (title, unit) = (title.to_owned(), Unit::Seconds);
    Spec {
        name: "walled-work",
        title,
        unit,
        counted,
        goals,
        base: Some(OUTSIDE),
        note: "",
    }
}

/// Runs one command line that prints a number, outside the sandbox and by `execute_command` in each
/// tier.
fn work(
    title: &str,
    counted: &'static str,
    dir: &Path,
    line: &str,
    goals: Vec<Goal>,
    most_rounds: usize,
) -> Result<Vec<Row>> {
    eprintln!("  {title}");
    let mut contenders = vec![Contender::new(
        OUTSIDE,
        format!("sh -c, `{line}`"),
        move || {
            let mut command = Command::new("/bin/sh");
            command
                .args(["-c", line])
                .current_dir(dir)
                .stdin(Stdio::null())
                .stderr(Stdio::null());
            let begin = Instant::now();
            let output = command.output()?;
            let time = begin.elapsed().as_secs_f64();
            ensure!(output.status.success(), "{}", output.status);
            counted_in(time, &String::from_utf8_lossy(&output.stdout))
        },
    )];
    for tier in TIERS {
        let server = Server::walled(tier, dir);
        let mut session = None;
        contenders.push(Contender::new(
            tier,
            format!("{}, execute_command", server.how),
            move || {
                let client = match &mut session {
                    Some(client) => client,
                    none => none.insert(Client::start(&server)?),
                };
                let call = client.call(
                    "execute_command",
                    &json!({"command": line, "timeout": LIMIT_SECS}),
                );
                let begin = Instant::now();
                let reply = client.ask(&call)?;
                let time = begin.elapsed().as_secs_f64();
                let reply: Value = serde_json::from_slice(reply)?;
                let result = &reply["result"]["structuredContent"];
                ensure!(result["exitCode"] == 0, "{tier}: {reply}");
                counted_in(time, result["stdout"].as_str().context("no output")?)
            },
        ));
    }
    rounds(vec![spec(title, counted, goals)], contenders, most_rounds)
}

fn counted_in(time: f64, output: &str) -> Result<Trial> {
    let count = output
        .trim()
        .parse()
        .with_context(|| format!("no number: {output}"))?;
    Ok(Trial::of(time, count, output.len() as u64))
}
