//! Benchmarks of whole MCP sessions over stdio, beside the installed peers: `cargo bench --bench
//! peers`.
//!
//! Every row has one warm-up and interleaved rounds. Counts and sizes of the answers are printed
//! beside each figure. A wrong answer ends the run. See `benches/peers/install.sh` for the sources
//! of the peers.
#![expect(unreachable_pub, reason = "a program exports nothing")]
#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own: it lays out trees, starts peers, reads its arguments"
)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to a person"
)]

mod args;
mod client;
mod echo;
mod escape;
mod floor;
mod json_echo;
mod machine;
mod peers;
mod plot;
mod report;
mod rows;
mod samples;
mod survivors;
mod trees;
mod web;

use std::fs;

use anyhow::Result;
use replay_sandbox::{LAUNCHER_ARGUMENT, run_launcher};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--floor") {
        return floor::serve();
    }
    if let Some(at) = words.iter().position(|word| word == "--echo") {
        return echo::serve(
            words
                .get(at + 1)
                .and_then(|bytes| bytes.parse().ok())
                .unwrap_or(1024),
        );
    }
    if let Some(at) = words.iter().position(|word| word == "--json-echo") {
        return json_echo::serve(words.get(at + 1).map(AsRef::as_ref));
    }
    if words.first().is_some_and(|word| word == LAUNCHER_ARGUMENT) {
        // Rows that use the launcher of the library without a server start this program as the
        // launcher.
        return Ok(run_launcher(replay::skips_of, replay::globs_of)?);
    }
    if words.iter().any(|word| word == "--help") {
        println!("{}", args::USAGE);
        return Ok(());
    }
    let args = args::Args::parse(words.into_iter())?;
    fs::create_dir_all(trees::home())?;
    if let Some(rounds) = args.survivors {
        print!("{}", survivors::run(rounds)?);
        return Ok(());
    }
    let machine = report::machine();
    let rows = rows::all(&args)?;
    println!("{}", report::table(&rows));
    let json = format!("{:#}\n", report::json(&rows, &machine));
    if let Some(path) = &args.json {
        fs::write(path, &json)?;
    }
    if let Some(dir) = &args.save {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("results.json"), &json)?;
        fs::write(dir.join("table.md"), report::table(&rows))?;
        fs::write(
            dir.join("plot.svg"),
            plot::svg(report::heading(&rows), &report::bars(&rows)),
        )?;
        fs::write(dir.join("README.md"), report::page(&args, &rows, &machine))?;
    }
    Ok(())
}
