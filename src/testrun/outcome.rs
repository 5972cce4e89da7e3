//! What came of a run or a check, and how its process ended.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::exec::{Denied, Exit, Log, Outcome};

/// What came of a run of tests or a check of types.
#[derive(Debug)]
pub struct RunOutcome<R> {
    pub report: R,
    /// What was chosen and why, and what else there is to say.
    pub notes: Vec<String>,
    /// What the walls refused.
    pub denied: Vec<Denied>,
    pub log: Option<Arc<Log>>,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnding {
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It was ended because its time was up.
    pub timed_out: bool,
    /// That was before the time limit: its tests had ended, and it had not.
    pub lingered: bool,
    /// It was never started: there is no such program.
    pub missing: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl ProcessEnding {
    /// How a process ended after this time; `missing` says that there was no such program.
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

    /// `exit code 3`, `SIGSEGV (signal 11)`.
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
