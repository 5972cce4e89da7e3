//! The inner half: makes every attempt in a copy of this process and prints how it ended.

use std::io::{self, PipeReader, Read as _, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::battery::{CONTROLS, GROUPS};
use super::outcome::{Outcome, Stopped, error_name};
use super::stage::Stage;

/// First argument that makes this program the inner half; the second is the [`Stage`] as JSON.
pub const ATTACK_ARGUMENT: &str = "__attack";

/// Longest that one attempt may take.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(5);

/// One line of what the inner half prints, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BatteryLine {
    /// This control or attempt comes next; what ends the battery is so known by name.
    Begins(String),
    /// Outcome of a control: `Through` if it works.
    Control(String, Outcome),
    /// Outcome of an attempt.
    Attempt(String, Outcome),
    Done,
}

/// Runs the inner half on a [`Stage`] as JSON. Lines of JSON on stdout; fails if the stage cannot
/// be read.
pub fn inside(stage: &str) -> ExitCode {
    match run(stage, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "replay: the stage of the attack battery: {error}"
            );
            ExitCode::from(2)
        }
    }
}

fn run(stage: &str, output: &mut impl Write) -> io::Result<()> {
    let mut stage: Stage = serde_json::from_str(stage)?;
    stage.supervisor = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    for control in CONTROLS {
        say(output, &BatteryLine::Begins(control.name.to_owned()))?;
        let outcome = apart(|| match (control.run)(&stage) {
            Ok(()) => Outcome::Through(String::new()),
            Err(error) => Outcome::Held(error_name(&error)),
        })?;
        say(
            output,
            &BatteryLine::Control(control.name.to_owned(), outcome),
        )?;
    }
    for attempt in GROUPS.iter().flat_map(|(_, attempts)| *attempts) {
        say(output, &BatteryLine::Begins(attempt.name.to_owned()))?;
        let outcome = apart(|| (attempt.run)(&stage).into())?;
        say(
            output,
            &BatteryLine::Attempt(attempt.name.to_owned(), outcome),
        )?;
    }
    say(output, &BatteryLine::Done)
}

fn say(output: &mut impl Write, line: &BatteryLine) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Runs something in a copy of this process, which may lose its rights, its root or its life.
fn apart(act: impl FnOnce() -> Outcome) -> io::Result<Outcome> {
    let (reader, mut writer) = io::pipe()?;
    let Some(child) = replay_sys::fork()? else {
        drop(reader);
        let outcome = act();
        let _ = serde_json::to_writer(&mut writer, &outcome);
        drop(writer);
        replay_sys::exit_now(0);
    };
    drop(writer);
    let (told, late) = collect(reader);
    if late && let Some(child) = rustix::process::Pid::from_raw(child.as_raw()) {
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
    let status = waitpid(child, Some(WaitPidFlag::__WALL));
    if let Ok(outcome) = serde_json::from_slice(&told) {
        return Ok(outcome);
    }
    Ok(Stopped::Held(match status {
        _ if late => format!("no end within {} s", ATTEMPT_LIMIT.as_secs()),
        Ok(WaitStatus::Signaled(_, signal, _)) => format!("ended by {}", signal.as_str()),
        other => format!("ended without a word: {other:?}"),
    })
    .into_outcome())
}

impl Stopped {
    fn into_outcome(self) -> Outcome {
        Err(self).into()
    }
}

/// Reads until end of file or the time limit; the flag tells if the limit passed.
fn collect(mut reader: PipeReader) -> (Vec<u8>, bool) {
    let until = Instant::now() + ATTEMPT_LIMIT;
    let mut told = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(&reader, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) => return (told, true),
            Ok(_) => match reader.read(&mut chunk) {
                Ok(length @ 1..) => told.extend_from_slice(&chunk[..length]),
                Ok(0) | Err(_) => return (told, false),
            },
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return (told, true),
        }
    }
}
