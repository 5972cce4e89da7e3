//! Outcome of a run or a check, and the end of its process.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use replay_sandbox::exec::{Denied, Exit, Log, Outcome};

/// Outcome of a test run or a type check.
#[derive(Debug)]
pub struct RunOutcome<R> {
    pub report: R,
    /// Chosen tool with the reasons, and further notes.
    pub notes: Vec<String>,
    /// Refusals of the sandbox.
    pub denied: Vec<Denied>,
    pub log: Option<Arc<Log>>,
}

/// End of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnding {
    pub exit_code: Option<i32>,
    /// Signal that ended the process.
    pub signal: Option<i32>,
    /// The process was ended because its time was up.
    pub timed_out: bool,
    /// The process was ended before the time limit, because it went on after its tests had ended.
    pub lingered: bool,
    /// The process never started: there is no such program.
    pub missing: bool,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

impl ProcessEnding {
    /// Describes the end of a process after `took`; `missing` is `true` if the program does not
    /// exist.
    pub fn of(outcome: &Outcome, took: Duration, missing: bool) -> Self {
        let (exit_code, signal) = match outcome.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        Self {
            exit_code,
            signal,
            timed_out: outcome.timed_out,
            lingered: false,
            missing,
            duration_ms: took.as_millis() as u64,
        }
    }

    /// Returns `exit code 3` or `SIGSEGV (signal 11)`.
    pub fn words(&self) -> String {
        match (self.exit_code, self.signal) {
            (_, Some(signal)) => {
                let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
                format!("{name} (signal {signal})")
            }
            (code, None) => format!("exit code {}", code.unwrap_or_default()),
        }
    }
}
