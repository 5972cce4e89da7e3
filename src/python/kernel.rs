//! Interface of a running interpreter.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;
use replay_sandbox::exec::{Exit, ProgramStatus};
use replay_sandbox::{Changed, Denied};

use super::error::PythonError;
use super::output::Captured;
use super::protocol::{Completion, DisplayedValue, Inspection, Raised, Ready, Variable};

/// Limits of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Time until the cell is interrupted.
    pub timeout: Duration,
    /// Time from the interrupt until all processes of the session are killed.
    pub grace: Duration,
    /// Maximum bytes shown of each of the two output streams.
    pub output_cap_bytes: usize,
}

/// Result of a cell.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four things that may be true of an end, several at once"
)]
pub struct Cell {
    /// Changes that the cell made in the allowed directories, as far as the journal has them.
    pub changed: Option<Changed>,
    /// Refusals of the sandbox, each once.
    pub denied: Vec<Denied>,
    /// Number of the cell in the life of the interpreter, from 1; 0 if the cell did not end.
    pub number: u64,
    pub stdout: Captured,
    pub stderr: Captured,
    /// Displayed values, in order; the result is last.
    pub shown: Vec<DisplayedValue>,
    /// Number of displayed values beyond the limit.
    pub unshown: u64,
    pub error: Option<Raised>,
    /// Run time of the cell.
    pub elapsed: Duration,
    /// Output of earlier cells' threads and child processes before this cell. Includes repairs that
    /// the interpreter made before the cell began.
    pub late: String,
    /// The timeout passed.
    pub timed_out: bool,
    /// The call was cancelled.
    pub cancelled: bool,
    /// `true` if any part of the cell has run.
    pub has_begun: bool,
    /// Exit of the interpreter, if it ended before the cell did.
    pub ended: Option<Exit>,
    /// The interpreter was killed because the cell ignored an interrupt.
    pub killed: bool,
}

/// Progress of a running cell.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    pub elapsed: Duration,
    /// Bytes written to both streams so far.
    pub bytes: u64,
    /// End of the output since the last report.
    pub text: &'a str,
}

/// A position in a text, for completion or inspection.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub code: &'a str,
    /// Cursor position in code points.
    pub cursor: u64,
}

/// Reply to a ping.
#[derive(Clone, Debug, PartialEq)]
pub struct PingReply {
    /// Time until the reply.
    pub elapsed: Duration,
    /// Value that the interpreter computed: 42.
    pub value: i64,
}

/// A running interpreter. Ended on drop.
pub trait Kernel: Debug + Send + Sync {
    /// Returns the interpreter's data from its start.
    fn ready(&self) -> &Ready;

    /// Runs one cell to its end. The caller makes sure that only one runs at a time.
    ///
    /// At the timeout, and when the call is cancelled, the cell is interrupted. If it still runs
    /// after half of the grace time, it is interrupted again. If it ignores both within the grace
    /// time, all processes of the interpreter are killed. A cell is never run again.
    fn execute(
        &self,
        code: &str,
        bounds: &Bounds,
        cancel: &CancelToken,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<Cell, PythonError>;

    /// Interrupts the running cell, if it already ran at the time `asked`: a later cell belongs to
    /// another call. Returns true if a cell was interrupted.
    fn interrupt(&self, asked: Instant) -> Result<bool, PythonError>;

    /// Returns completions at a cursor. Works while a cell runs.
    fn complete(
        &self,
        question: Question<'_>,
        cancel: &CancelToken,
    ) -> Result<Completion, PythonError>;

    /// Describes the name at a cursor; at level 1 with its source. Works while a cell runs.
    fn inspect(
        &self,
        question: Question<'_>,
        level: u8,
        cancel: &CancelToken,
    ) -> Result<Inspection, PythonError>;

    /// Returns the names that cells have defined. Works while a cell runs.
    fn variables(&self, cancel: &CancelToken) -> Result<Vec<Variable>, PythonError>;

    /// Adds a directory to the module search path.
    fn add_packages(&self, directory: &str, cancel: &CancelToken) -> Result<(), PythonError>;

    /// Pings the interpreter. Returns `None` at the timeout: a cell blocks the interpreter.
    fn ping(
        &self,
        timeout: Duration,
        cancel: &CancelToken,
    ) -> Result<Option<PingReply>, PythonError>;

    /// Returns the state of the process. Works while a cell runs.
    fn status(&self) -> Result<ProgramStatus, PythonError>;

    /// Returns the run time of the current cell.
    fn busy_for(&self) -> Option<Duration>;

    /// Returns the exit of the interpreter, if it has ended.
    fn ended(&self) -> Option<Exit>;

    /// Takes the output since the last cell. Each byte is returned once.
    fn take_late(&self) -> String;

    /// Returns true if the interpreter was ended because it was idle.
    fn has_expired(&self) -> bool;

    /// Kills all processes of the interpreter and waits for their end.
    fn kill(&self);
}
