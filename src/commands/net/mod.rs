//! `replay net`: network rules.

mod learn;

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;

use super::process::print;
use crate::cli::NetAction;
use replay_network::rules::{SETS, WARNING};

pub(super) fn run(action: &NetAction) -> Result<ExitCode> {
    match action {
        NetAction::Sets => print(sets()),
        NetAction::Learn {
            confined,
            out,
            program,
        } => learn::learn(confined.options(), out.as_deref(), program),
    }
}

/// Lists each set, with its rules below it.
fn sets() -> String {
    let mut text = String::new();
    for set in SETS {
        let names: Vec<String> = set.names.iter().map(|name| format!("@{name}")).collect();
        let _ = writeln!(text, "{}  {}", names.join(", "), set.about);
        for rule in set.rules {
            let _ = writeln!(text, "    {rule}");
        }
    }
    let _ = writeln!(text, "Note for all of them: {WARNING}.");
    text
}
