//! Arguments after `cargo bench --bench peers --`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

pub const USAGE: &str = "\
usage: cargo bench --bench peers -- [--only NAME]... [--rounds N] [--tree DIR] [--json FILE] [--save DIR]
  --only NAME   rows of this name: start, read, read10, edit50, edit1000, memory, tree, names, grep,
                first500, sizes, cold (as root alone), walls, walled-start, walled-work, mock, calls,
                python, http (repeatable)
  --rounds N    interleaved rounds after the warm-up (default 9; quick rows take three times as many, slow contenders fewer)
  --seconds N   how long the rows of http load a server each time (default 5)
  --survivors N instead of all that: commands that leave processes behind, N rounds of each, and whether any lives on
  --tree DIR    the source tree for the rows from tree to sizes (default target/bench/linux-source-6.1)
  --json FILE   the figures as JSON
  --save DIR    README.md, results.json, table.md and plot.svg in this directory (see benches/runs)";

/// Options of one run.
pub struct Args {
    /// Names of the rows to run; empty for all rows.
    pub only: Vec<String>,
    pub rounds: usize,
    /// Duration of the load on each HTTP server.
    pub seconds: u64,
    pub survivors: Option<usize>,
    pub tree: PathBuf,
    pub json: Option<PathBuf>,
    pub save: Option<PathBuf>,
    /// Original arguments, printed in the report.
    pub typed: Vec<String>,
}

impl Args {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self> {
        // cargo appends `--bench` to the arguments.
        let typed: Vec<String> = words.filter(|word| word != "--bench").collect();
        let mut args = Self {
            only: Vec::new(),
            rounds: 9,
            seconds: 5,
            survivors: None,
            tree: crate::trees::home().join("linux-source-6.1"),
            json: None,
            save: None,
            typed: typed.clone(),
        };
        let mut words = typed.into_iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} needs a value\n{USAGE}"))
            };
            match word.as_str() {
                "--only" => args.only.push(value()?),
                "--rounds" => {
                    args.rounds = value()?.parse().context("--rounds takes a number")?;
                }
                "--seconds" => {
                    args.seconds = value()?.parse().context("--seconds takes a number")?;
                }
                "--survivors" => {
                    args.survivors = Some(value()?.parse().context("--survivors takes a number")?);
                }
                "--tree" => args.tree = value()?.into(),
                "--json" => args.json = Some(value()?.into()),
                "--save" => args.save = Some(value()?.into()),
                _ => bail!("unknown argument `{word}`\n{USAGE}"),
            }
        }
        if args.rounds == 0 {
            bail!("--rounds is 0; it must be 1 or more");
        }
        Ok(args)
    }

    /// Returns true if rows of this name are selected.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name == only)
    }
}
