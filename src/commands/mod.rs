//! Entry points of the program: one module per subcommand, and `serve` for the server.

mod audit;
mod bench;
mod call;
mod calls;
mod changes;
mod completions;
mod doctor;
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

use crate::config::reasons;
use anyhow::Result;

use crate::cli::{Cli, Command, Options};

/// Runs the command line.
pub fn run(cli: Cli) -> Result<ExitCode> {
    process::raise_open_files();
    let Some(command) = cli.command else {
        return serve::run(&cli.server);
    };
    match command {
        Command::Setup(asked) => setup::run(&asked),
        Command::Doctor(asked) => doctor::run(&asked.confined.options(), asked.json),
        Command::Tools(asked) => {
            let tools = asked.tools.clone();
            let options = Options {
                tools,
                ..asked.server.options()
            };
            tools::run(&options, asked.json)
        }
        Command::Why(asked) => why::run(&asked),
        Command::Call(asked) => call::run(&asked),
        Command::Bench(asked) => bench::run(&asked),
        Command::Mock {
            serve,
            action: None,
        } => mock::serve(&serve),
        Command::Mock {
            action: Some(action),
            ..
        } => mock::run(&action),
        Command::Calls { action } => calls::run(&action),
        Command::Sandbox { action } => sandbox::run(&action),
        Command::Net { action } => net::run(&action),
        Command::Token { action } => process::print(token::act(&action)?),
        Command::Changes { of, action } => changes::run(&of, action.as_ref()),
        Command::Completions { shell } => completions::run(shell),
        Command::Audit(action) => audit::run(&action),
        Command::Health(asked) => health::run(&asked),
    }
}

/// Prints an error to stderr.
pub fn report(error: &anyhow::Error) {
    process::tell(format!("replay: {}", reasons(error)));
}
