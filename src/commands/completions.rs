//! `replay completions`: script for a shell, derived from the declaration of the flags.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::process::print_content;
use crate::cli::Cli;

pub(super) fn run(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "replay", &mut script);
    print_content(script)
}
