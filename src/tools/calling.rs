//! What the tools that run a command and look at its calls share.

use std::path::PathBuf;
use std::time::Duration;

use super::Context;
use super::command_notes::exit_code;
use crate::calls::{CallsError, Ground, Play, Ran, Run, run};
use crate::error::Error;
use crate::exec::{self, Stage, place_of};
use crate::limits::{CALLS_OUTPUT_BYTES, DEFAULT_CALLS_TIMEOUT_SECS};

/// Runs the command in the project directory. `Err` of the inner result is what a reply tells; the outer one ends the call.
pub(super) fn run_command(
    context: &Context<'_>,
    line: &str,
    timeout_secs: Option<u64>,
    play: Play,
) -> Result<Result<Ran, CallsError>, Error> {
    let services = context.services;
    let rules = &services.commands;
    let (Some(launcher), Some(scratch)) = (&rules.launcher, &rules.scratch) else {
        let reason = rules.standing.refused.clone().unwrap_or_else(|| "there is no launcher of commands".to_owned());
        return Ok(Err(CallsError::Refused { reason }));
    };
    let tmp = rules.standing.tmp.as_ref().map_or_else(|| scratch.path().join("tmp"), |tmp| PathBuf::from(&tmp.0));
    let ground = Ground {
        launcher,
        running: &rules.running,
        scratch,
        tmp: &tmp,
        network: rules.standing.network,
        roots: &services.calls.roots,
    };
    let root = services.policy.roots().iter().find(|root| root.writable()).or_else(|| services.policy.project());
    let directory = services.policy.read(root.map_or(".".as_ref(), |root| root.path()))?;
    let command = exec::Command { line, dir: place_of(&directory).map_err(Error::from)?, terminal: None };
    let timeout = Duration::from_secs(timeout_secs.unwrap_or(DEFAULT_CALLS_TIMEOUT_SECS));
    let how = Run {
        command: &command,
        timeout,
        output_cap_bytes: CALLS_OUTPUT_BYTES,
        streams: services.calls.streams.as_ref().map(Streams::borrowed),
        open: services.calls.open,
    };
    let mut progress = |elapsed: Duration, stage: Stage| {
        let message = match stage {
            Stage::Waiting => "waiting for a free place".to_owned(),
            Stage::Running { bytes } => format!("running, {bytes} bytes of output"),
        };
        context.progress.report(elapsed.as_millis() as u64, Some(timeout.as_millis() as u64), &message);
    };
    Ok(run(&ground, &how, play, context.cancel, &mut progress))
}

/// The end of what a command wrote, both streams, for a reply about one that failed.
pub(super) fn last_words(ran: &Ran) -> Option<String> {
    const SHOWN_CHARS: usize = 2000;
    if exit_code(ran.outcome.exit) == 0 && !ran.outcome.timed_out {
        return None;
    }
    let text = format!("{}{}", ran.outcome.stdout.text(), ran.outcome.stderr.text());
    let skipped = text.chars().count().saturating_sub(SHOWN_CHARS);
    Some(text.chars().skip(skipped).collect::<String>()).filter(|text| !text.is_empty())
}

/// The last part of the path that commands run in.
pub(super) fn folder(context: &Context<'_>) -> String {
    let policy = &context.services.policy;
    let root = policy.roots().iter().find(|root| root.writable()).or_else(|| policy.project());
    root.and_then(|root| Some(root.path().file_name()?.to_string_lossy().into_owned())).unwrap_or_default()
}

/// What there is to tell about a run beside its calls.
pub(super) fn notes(ran: &Ran) -> Vec<String> {
    let mut notes: Vec<String> = ran.recorded.notes.iter().map(ToString::to_string).collect();
    let (counts, more) = (&ran.recorded.counts, &ran.counts);
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    };
    add(counts.dropped, "calls were too long to be kept");
    add(counts.passed, "calls went to real servers");
    add(counts.refused, "connections were refused by the real server");
    add(more.datagrams_refused, "datagrams were refused: UDP other than name lookups cannot be recorded");
    if ran.outcome.timed_out {
        notes.push("the application was ended at the timeout".to_owned());
    }
    notes
}
