//! `replay net learn`: the rules that a program needs.
#![expect(clippy::disallowed_methods, reason = "a file that a person names on the command line")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};

use crate::cli::Options;
use crate::commands::sandbox::run_program;
use crate::config::Config;
use crate::gate::Learned;

pub fn learn(options: Options, out: Option<&Path>, program: &[OsString]) -> Result<ExitCode> {
    // Before the program runs for minutes.
    let file = out
        .filter(|path| *path != Path::new("-"))
        .map(|path| File::create(path).with_context(|| format!("--out `{}`", path.display())))
        .transpose()?;
    let learned = Arc::new(Learned::default());
    let status = run_program(&mut Config::for_learning(options, Arc::clone(&learned))?, program)?;
    let mut err = io::stderr();
    for (name, why) in learned.unresolved() {
        // Nobody may be reading stderr.
        let _ = writeln!(err, "replay: not resolved: {name}: {why}");
    }
    let rules = learned.rules().map_err(|why| anyhow!(why))?;
    if rules.is_empty() {
        let _ = writeln!(err, "replay: the program reached nothing, so it needs no rule");
    }
    let mut to: Box<dyn io::Write> = file.map_or_else(|| Box::new(io::stdout()) as _, |file| Box::new(file) as _);
    for rule in rules {
        writeln!(to, "--allow-net {rule}")?;
    }
    Ok(ExitCode::from(status))
}
