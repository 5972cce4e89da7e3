//! What one running interpreter can do, whichever it is.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use super::error::PythonError;
use super::output::Captured;
use super::protocol::{Completion, Inspection, Raised, Ready, Shown, Variable};
use crate::cancel::CancelToken;
use crate::exec::{Exit, ProgramStatus};
use crate::sandbox::{Changed, Denied};

/// What a cell is held to.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Time until it is interrupted.
    pub timeout: Duration,
    /// Time from then until everything of the session is killed.
    pub grace: Duration,
    /// Bytes shown of each of its two streams.
    pub output_cap_bytes: usize,
}

/// What a cell came to, however it ended.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four things that may be true of an end, several at once"
)]
pub struct Cell {
    /// What it changed in the allowed directories, as far as that is noted.
    pub changed: Option<Changed>,
    /// Refusals of the walls, each once.
    pub denied: Vec<Denied>,
    /// Its number in the life of the interpreter, from 1; 0 if it did not come to an end.
    pub number: u64,
    pub stdout: Captured,
    pub stderr: Captured,
    /// What it showed, in order; the result is last.
    pub shown: Vec<Shown>,
    /// Values that were shown beyond what is kept.
    pub unshown: u64,
    pub error: Option<Raised>,
    /// How long it ran.
    pub elapsed: Duration,
    /// What was written before it by what earlier cells had left running, or by their threads
    /// meanwhile, and what the interpreter had to put right before it began.
    pub late: String,
    /// The time limit passed.
    pub timed_out: bool,
    /// The call was cancelled.
    pub cancelled: bool,
    /// Whether any of it has run.
    pub has_begun: bool,
    /// How the interpreter ended, if it did so before the cell.
    pub ended: Option<Exit>,
    /// It was ended because the cell did not heed an interrupt.
    pub killed: bool,
}

/// How far a cell is.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    pub elapsed: Duration,
    /// What it wrote to both streams so far, in bytes.
    pub bytes: u64,
    /// What it wrote since the last news, or the end of that.
    pub text: &'a str,
}

/// A place in a text about which something is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub code: &'a str,
    /// The cursor, a count of code points.
    pub cursor: u64,
}

/// The answer to a sign of life.
#[derive(Clone, Debug, PartialEq)]
pub struct Pong {
    /// How long the answer took.
    pub elapsed: Duration,
    /// What the interpreter has computed: 42.
    pub value: i64,
}

/// One running interpreter. Dropping it ends it.
pub trait Kernel: Debug + Send + Sync {
    /// What it said of itself at its start.
    fn ready(&self) -> &Ready;

    /// Runs one cell to its end. Only one at a time; whoever calls sees to that.
    ///
    /// At the time limit, and when the call is cancelled, the cell is interrupted, and once more if
    /// it still runs after half of the grace; if it does not heed that within the grace, everything
    /// of the interpreter is killed. It is never run again.
    fn execute(
        &self,
        code: &str,
        bounds: &Bounds,
        cancel: &CancelToken,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<Cell, PythonError>;

    /// Interrupts the cell that runs, if it did so already when this was asked for; whether one
    /// did. A cell that came later is another one's.
    fn interrupt(&self, asked: Instant) -> Result<bool, PythonError>;

    /// What could stand at a place. Answered while a cell runs, too.
    fn complete(
        &self,
        question: Question<'_>,
        cancel: &CancelToken,
    ) -> Result<Completion, PythonError>;

    /// What stands at a place; at level 1 with its source. Answered while a cell runs, too.
    fn inspect(
        &self,
        question: Question<'_>,
        level: u8,
        cancel: &CancelToken,
    ) -> Result<Inspection, PythonError>;

    /// The names that cells have made. Answered while a cell runs, too.
    fn variables(&self, cancel: &CancelToken) -> Result<Vec<Variable>, PythonError>;

    /// Has modules be found in one more directory.
    fn add_packages(&self, directory: &str, cancel: &CancelToken) -> Result<(), PythonError>;

    /// A sign of life; `None` if there is none in time, because a cell lets nothing else run.
    fn ping(&self, timeout: Duration, cancel: &CancelToken) -> Result<Option<Pong>, PythonError>;

    /// How its process is. Does not depend on what it is busy with.
    fn status(&self) -> Result<ProgramStatus, PythonError>;

    /// How long the cell that runs has run.
    fn busy_for(&self) -> Option<Duration>;

    /// How it ended, if it has.
    fn ended(&self) -> Option<Exit>;

    /// What it wrote since the last cell, which is told once.
    fn take_late(&self) -> String;

    /// Whether it was ended because nobody used it.
    fn has_expired(&self) -> bool;

    /// Ends everything of it, and waits for that.
    fn kill(&self);
}
