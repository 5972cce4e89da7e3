//! Runs a command under call recording, for the tools and for the command line.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use replay_base::cancel::CancelToken;
use replay_base::limits::DEFAULT_CALLS_TIMEOUT_SECS;
use replay_base::text::count::counted;
use replay_files::journal::Changes;
use replay_record::redact::Secrets;
use replay_record::{Content, Exchange};
use replay_sandbox::exec::{self, Launcher, Stage, place_of};
use replay_sandbox::{Exit, Network, Tier};
use replay_testrun::path;

use super::notes::command::{denied_lines, exit_code};
use super::services::Services;
use crate::calls::{CallsError, Isolation, Play, Ran, Reach, Run, RunHost, WrittenSet, run};

/// Output kept of a program whose calls are watched, in bytes for each of its two streams.
const CALLS_OUTPUT_BYTES: usize = 256 * 1024;

/// A command to run in the first writable directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRequest<'a> {
    /// Journal of the call's changes.
    pub changes: &'a Changes<'a>,
    /// Shell command line.
    pub line: &'a str,
    /// Timeout; `None` for the default.
    pub timeout_secs: Option<u64>,
    /// Its streams, if they are not captured.
    pub streams: Option<[BorrowedFd<'a>; 3]>,
    /// Signals of this process to forward to it.
    pub signals: Option<BorrowedFd<'a>>,
}

/// Runs the command. `on_progress` gets the elapsed time and the timeout.
pub(crate) fn run_command(
    services: &Services,
    wanted: &CommandRequest<'_>,
    play: Play,
    cancel: &CancelToken,
    on_progress: &mut dyn FnMut(Duration, Duration, Stage<'_>),
) -> Result<Ran, CallsError> {
    let rules = &services.commands;
    let (Some(launcher), Some(scratch)) = (&rules.launcher, &rules.scratch) else {
        let reason = rules.standing.refused.clone().unwrap_or_else(|| {
            "commands are not available, because their launcher did not start".to_owned()
        });
        return Err(CallsError::Refused { reason });
    };
    let tmp = rules
        .standing
        .tmp
        .as_ref()
        .map_or_else(|| scratch.path().join("tmp"), |tmp| PathBuf::from(&tmp.0));
    let ground = RunHost {
        account: &services.account,
        launcher,
        running: &rules.running,
        scratch,
        tmp: &tmp,
        reach: services.calls.reach,
        gate: rules.gate.as_deref(),
        resolves: services.calls.resolves,
        upstream_proxy: services.calls.upstream_proxy.as_ref(),
        roots: &services.calls.roots,
    };
    let directory = services.policy.read(place(services))?;
    let dir = place_of(&directory)?;
    // A command on the operator's terminal keeps the unmodified PATH.
    let path = wanted
        .streams
        .is_none()
        .then(|| path(&services.policy, launcher, dir.path.as_path()))
        .flatten();
    let command = exec::Command {
        changes: wanted.changes,
        line: wanted.line,
        dir,
        terminal: None,
        path,
    };
    let timeout = Duration::from_secs(wanted.timeout_secs.unwrap_or(DEFAULT_CALLS_TIMEOUT_SECS));
    let how = Run {
        command: &command,
        timeout,
        output_cap_bytes: CALLS_OUTPUT_BYTES,
        streams: wanted.streams,
        signals: wanted.signals,
        open: services.calls.open,
        isolation: isolation(services)?,
    };
    run(&ground, &how, play, cancel, &mut |elapsed, stage| {
        on_progress(elapsed, timeout, stage);
    })
}

/// Returns the redaction rules: secrets in the environment of commands, and those declared by a
/// set.
pub(crate) fn secrets(services: &Services, declared: &[String]) -> Result<Secrets, CallsError> {
    let variables = services
        .commands
        .launcher
        .iter()
        .flat_map(Launcher::variables);
    Secrets::new(variables, declared).map_err(|reason| CallsError::Refused { reason })
}

/// Returns the isolation of commands from real servers. Fails if it is weaker than the operator
/// requested.
fn isolation(services: &Services) -> Result<Isolation, CallsError> {
    let standing = &services.commands.standing;
    let has_own = standing.effective_network() != Network::Host;
    match (services.calls.isolation, has_own) {
        (Some(Isolation::Env), _) => Ok(Isolation::Env),
        (_, true) => Ok(Isolation::Strict),
        (Some(Isolation::Strict), false) => {
            let why = if standing.tier == Some(Tier::Off) {
                "--sandbox off"
            } else {
                "--network host"
            };
            let reason = format!(
                "`--isolation strict` needs a private network for the command, but {why} gives it \
                 the system's network; leave one of the two out"
            );
            Err(CallsError::Refused { reason })
        }
        (_, false) => Ok(Isolation::Seccomp),
    }
}

/// Returns the directory in which the command runs.
fn place(services: &Services) -> &Path {
    let directory = services.policy.default_directory();
    directory.unwrap_or(Path::new("."))
}

/// Returns the name of that directory: the default name of a set.
pub(crate) fn folder(services: &Services) -> String {
    place(services)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns true if the shell found no command or could not run it (sh(1), "Exit Status").
pub(crate) fn did_not_run(ran: &Ran) -> bool {
    matches!(ran.outcome.exit, Exit::Code(126 | 127))
}

/// Message for a directory without sets; `path` is as the caller wrote it.
pub(super) fn no_sets_message(path: &str) -> String {
    format!(
        "No mock sets found. Use keploy_mock_record to create mocks first. Searched: `{path}`; name another \
         directory as `path`"
    )
}

/// Returns the end of a failed command's output, both streams.
pub(super) fn failure_output(ran: &Ran) -> Option<String> {
    const SHOWN_CHARS: usize = 2000;
    if exit_code(ran.outcome.exit) == 0 && !ran.outcome.timed_out {
        return None;
    }
    let text = format!("{}{}", ran.outcome.stdout.text(), ran.outcome.stderr.text());
    let skipped = text.chars().count().saturating_sub(SHOWN_CHARS);
    Some(text.chars().skip(skipped).collect::<String>()).filter(|text| !text.is_empty())
}

/// Notes on a set that was stored elsewhere, or that lacks or changes recorded calls.
pub(crate) fn left_out(kept: &WrittenSet) -> Vec<String> {
    let count = counted(
        kept.left_out as u64,
        "call, the largest one, is",
        "calls, the largest ones, are",
    );
    let text = format!("{count} left out: the set would be too large");
    let more = (kept.left_out > 0)
        .then_some(text)
        .into_iter()
        .chain(kept.altered.iter().cloned());
    kept.elsewhere.clone().into_iter().chain(more).collect()
}

/// Joins the first names of a list, with the number of the others.
pub(crate) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let more = if names.len() > SHOWN {
        format!(" and {} more", names.len() - SHOWN)
    } else {
        String::new()
    };
    names
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
        + &more
}

/// Returns the reason why calls cannot reach other machines, if any.
fn nearness(services: &Services, ran: &Ran) -> Option<String> {
    let reason = match services.calls.reach {
        _ if services.commands.gate.is_some() => return None,
        Reach::AsCommands if !services.calls.resolves => {
            "commands have a private loopback (--network loopback), which does not reach servers \
             of this machine"
        }
        Reach::Nothing if ran.report.is_none() => "commands have no network (--network none)",
        _ => return None,
    };
    Some(format!(
        "{reason}; the operator can allow servers with --allow-host"
    ))
}

/// Notes on a recording without an answered call: names that were looked up and not reached.
pub(crate) fn unreached(services: &Services, ran: &Ran, exchanges: &[Exchange]) -> Vec<String> {
    let names: BTreeSet<&str> = exchanges
        .iter()
        .filter_map(|exchange| match &exchange.content {
            Content::Dns(dns) if dns.is_nowhere() => Some(dns.name.as_str()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let looked_up = counted(names.len() as u64, "name was", "names were");
    let is_told = ran.recorded.counts.refused + ran.recorded.counts.unanswered > 0;
    let why = nearness(services, ran).filter(|_| !is_told);
    [format!(
        "{looked_up} looked up, but no server was reached: {}",
        some_of(&names)
    )]
    .into_iter()
    .chain(why)
    .collect()
}

/// Facts about the answers of a replay; short if all went well.
pub(crate) fn remarks(ran: &Ran) -> Vec<String> {
    let Some(report) = &ran.report else {
        return Vec::new();
    };
    let mut remarks = Vec::new();
    if !report.volatile.is_empty() {
        let is_well = ran.has_passed();
        let said = report.volatile.iter();
        let said: Vec<_> = said
            .map(|(name, said)| format!("{name} ({said})"))
            .collect();
        let count = said.len() as u64;
        let listed = if is_well {
            " with new ids or times (`replay calls test --exact` lists them)".to_owned()
        } else {
            format!(" with new ids or times: {}", some_of(&said))
        };
        remarks.push(counted(count, "call", "calls") + &listed);
    }
    if report.again > 0 {
        let repeated = counted(report.again, "read was repeated", "reads were repeated");
        remarks.push(repeated + " and got the last answer again");
    }
    remarks
}

/// Notes on a run, besides its calls.
pub(crate) fn notes(services: &Services, ran: &Ran) -> Vec<String> {
    let mut notes: Vec<String> = ran.recorded.notes.iter().map(ToString::to_string).collect();
    let (counts, more) = (&ran.recorded.counts, &ran.counts);
    let mut add = |count: u64, one: &str, several: &str, more: &str| {
        if count > 0 {
            notes.push(counted(count, one, several) + more);
        }
    };
    add(counts.dropped, "call was", "calls were", " not recorded");
    add(
        counts.passed,
        "call found no recording and was",
        "calls found no recording and were",
        " passed on",
    );
    let targets: Vec<String> = ran
        .recorded
        .refused
        .iter()
        .map(ToString::to_string)
        .collect();
    add(
        counts.refused,
        "connection was",
        "connections were",
        &format!(" refused: {}", some_of(&targets)),
    );
    let targets: Vec<String> = ran
        .recorded
        .unanswered
        .iter()
        .map(ToString::to_string)
        .collect();
    add(
        counts.unanswered,
        "connection",
        "connections",
        &format!(" had no answer: {}", some_of(&targets)),
    );
    for (name, times) in ran.report.iter().flat_map(|report| &report.others) {
        add(
            *times,
            "call was",
            "calls were",
            &format!(" made with another `{name}` than when recorded"),
        );
    }
    let kept: Vec<String> = ran
        .report
        .iter()
        .flat_map(|report| &report.kept)
        .map(|(name, value)| format!("{name} (`{value}`)"))
        .collect();
    let covered = " a value of the recording, since a digest or a signature covers it: ";
    add(
        kept.len() as u64,
        "answer kept",
        "answers kept",
        &(covered.to_owned() + &some_of(&kept)),
    );
    let others = ran
        .report
        .iter()
        .map(|report| report.of_other_workers)
        .sum();
    let worker = " answered with what another worker or test got when it was recorded";
    add(others, "call was", "calls were", worker);
    let udp = " refused: UDP other than name lookups cannot be recorded";
    add(
        more.datagrams_refused,
        "datagram was",
        "datagrams were",
        udp,
    );
    notes.extend(denied_lines(&ran.outcome.denied, &services.commands));
    notes.extend(nearness(services, ran).filter(|_| counts.refused + counts.unanswered > 0));
    if ran.isolation == Isolation::Env {
        notes.push(
            "only traffic through HTTP_PROXY and similar variables was seen; databases and direct \
             connections were not"
                .to_owned(),
        );
    }
    if ran.outcome.timed_out {
        notes.push("the application was ended at the timeout".to_owned());
    } else if ran.outcome.left > 0 {
        let left = u64::from(ran.outcome.left);
        let processes = counted(
            left,
            "process that was still running was",
            "processes that were still running were",
        );
        notes.push(format!(
            "{processes} ended with the application; start servers in the \
                foreground, not as daemons"
        ));
    }
    notes
}
