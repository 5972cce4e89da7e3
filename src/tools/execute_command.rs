//! `execute_command`: one shell command, its output and its exit status.

use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Context, Hints, Reply, Tool, Toolset, Weight};
use crate::error::Error;
use crate::exec::{self, Captured, Exit, Outcome};
use crate::limits::KILL_GRACE_MS;
use crate::policy::Kind;
use crate::protocol::Content;
use crate::text::escape::show_path;

/// Runs `/bin/sh -c` in an allowed directory.
pub struct ExecuteCommand;

/// Arguments of `execute_command`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// Command line for /bin/sh -c
    command: String,
    /// Where to run it (default: the first writable allowed directory)
    #[schemars(extend("x-aliases" = ["cwd", "working_directory", "workdir"]))]
    working_directory: Option<String>,
    /// Seconds (default 30, max 60 unless the operator set others)
    #[schemars(range(min = 1), extend("x-aliases" = ["timeout_secs"]))]
    timeout: Option<u64>,
}

/// What a program wants to know of a command.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    stdout: String,
    stderr: String,
    exit_code: i32,
    timed_out: bool,
}

impl Tool for ExecuteCommand {
    type Params = Params;
    type Output = Output;
    const NAME: &'static str = "execute_command";
    const TITLE: &'static str = "Run a shell command";
    const DESCRIPTION: &'static str = "Run a shell command (no stdin) and get stdout, stderr and the exit code. For \
        builds, tests and git; to read, search or edit files use the file tools. Background processes end with the command.";
    const HINTS: Hints = Hints::Runs;
    const TOOLSET: Toolset = Toolset::Command;
    const WEIGHT: Weight = Weight::Heavy;

    fn run(context: &Context<'_>, params: Params) -> Result<Reply<Output>, Error> {
        let rules = &context.services.commands;
        if let Some(reason) = &rules.standing.refused {
            return Err(Error::Refused {
                what: "execute_command",
                reason: reason.clone(),
                hint: "use the file tools; the operator can allow commands without a wall with --sandbox off",
            });
        }
        let policy = &context.services.policy;
        let default = policy.roots().iter().find(|root| root.writable()).or_else(|| policy.project());
        let directory = match (&params.working_directory, default) {
            (Some(path), _) => policy.read(path)?,
            (None, Some(root)) => policy.read(root.path())?,
            (None, None) => policy.read(".")?,
        };
        if directory.kind() != Kind::Directory {
            let message = format!("`workingDirectory` {} is not a directory", show_path(directory.shown()));
            return Err(Error::params(message));
        }
        let asked = params.timeout.map_or(rules.timeout, Duration::from_secs);
        let timeout = asked.min(rules.max_timeout);
        let command = exec::Command {
            line: &params.command,
            dir: directory.as_fd(),
            timeout,
            grace: Duration::from_millis(KILL_GRACE_MS),
            output_cap_bytes: rules.output_cap_bytes,
        };
        let mut progress = |elapsed: Duration, bytes: u64| {
            let message = format!("running for {:.1} s, {bytes} bytes of output", elapsed.as_secs_f64());
            context.progress.report(elapsed.as_millis() as u64, Some(timeout.as_millis() as u64), &message);
        };
        let outcome = exec::run(&command, &rules.running, context.cancel, &mut progress)?;
        if outcome.cancelled {
            return Err(Error::Cancelled);
        }
        Ok(reply(&outcome, asked, timeout))
    }
}

fn reply(outcome: &Outcome, asked: Duration, timeout: Duration) -> Reply<Output> {
    let exit_code = match outcome.exit {
        Exit::Code(code) => code,
        // As shells report it.
        Exit::Signal(signal) => 128 + signal,
    };
    let stdout = outcome.stdout.text().into_owned();
    let stderr = outcome.stderr.text().into_owned();
    let mut text = if stdout.is_empty() { "(no output)".to_owned() } else { stdout.clone() };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut note = |note: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "[{note}]");
    };
    for (name, stream) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        if let Some(cut) = cut(name, stream) {
            note(format_args!("{cut}"));
        }
    }
    if asked > timeout {
        let (asked, most) = (asked.as_secs(), timeout.as_secs());
        note(format_args!("a timeout of {asked} s is above the maximum; {most} s was used"));
    }
    if outcome.timed_out {
        note(format_args!("timed out after {} s; the output is what there was until then", timeout.as_secs()));
    }
    if let Exit::Signal(signal) = outcome.exit {
        note(format_args!("ended by signal {signal}"));
    }
    let _ = write!(text, "[exit code: {exit_code}]");
    let mut content = vec![Content::text(text)];
    if !stderr.is_empty() {
        content.push(Content::text(format!("[stderr]\n{stderr}")));
    }
    let mut reply = Reply::content(content).with(Output { stdout, stderr, exit_code, timed_out: outcome.timed_out });
    reply.is_error = exit_code != 0 || outcome.timed_out;
    reply
}

fn cut(name: &str, stream: &Captured) -> Option<String> {
    stream.truncated.then(|| {
        format!("{name} truncated: the first {} of {} bytes are shown", stream.bytes.len(), stream.total_bytes)
    })
}
