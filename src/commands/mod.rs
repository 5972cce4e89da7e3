//! Entry points of the program: one module per subcommand, and `serve` for the server.

mod audit;
mod bench;
mod call;
mod calls;
mod changes;
mod doctor;
pub mod generate;
mod health;
mod mock;
mod net;
mod process;
mod sandbox;
mod serve;
mod setup;
mod token;
mod tools;
mod why;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::text::reasons::reasons;

/// Runs the command line.
pub fn run(cli: Cli) -> Result<ExitCode> {
    process::raise_open_files();
    let Some(command) = cli.command else {
        return serve::run(&cli.server);
    };
    let options = cli.server.options;
    match command {
        Command::Generate { document } => process::print_content(generate::document(document)?),
        Command::Setup(asked) => setup::run(&options.allow, &asked),
        Command::Doctor { json } => doctor::run(&options, json),
        Command::Tools { json } => tools::run(&options, json),
        Command::Why(asked) => why::run(&options, &asked),
        Command::Call(asked) => call::run(&options, &asked),
        Command::Bench(asked) => bench::run(&asked),
        Command::Mock {
            serve,
            action: None,
        } => mock::serve(&serve, &options),
        Command::Mock {
            action: Some(action),
            ..
        } => mock::run(&action, &options),
        Command::Calls { action } => calls::run(options, &action),
        Command::Sandbox { action } => sandbox::run(options, &action),
        Command::Net { action } => net::run(options, &action),
        Command::Token { action } => process::print(token::act(&action)?),
        Command::Changes { of, action } => changes::run(&of, action.as_ref()),
        Command::Audit(action) => audit::run(&action),
        Command::Health(asked) => health::run(&asked),
    }
}

/// Prints an error to stderr.
pub fn report(error: &anyhow::Error) {
    process::tell(format!("replay: {}", reasons(error)));
}
