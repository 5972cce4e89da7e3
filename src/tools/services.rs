//! What all calls share: the policy, the writer of files, and the rules for commands.

use std::time::Duration;

use crate::exec::Running;
use crate::fs::Writer;
use crate::policy::Policy;
use crate::sandbox::Standing;

/// Made once at start; nothing in it is ever replaced.
#[derive(Debug)]
pub struct Services {
    /// Decides about every path.
    pub policy: Policy,
    /// Writes files, and keeps two changes of one file apart.
    pub writer: Writer,
    /// The rules for commands.
    pub commands: Commands,
}

/// The rules for commands.
#[derive(Debug)]
pub struct Commands {
    /// What holds commands, or why they are refused.
    pub standing: Standing,
    /// Time limit of a command that asks for none.
    pub timeout: Duration,
    /// Largest time limit that a call may ask for.
    pub max_timeout: Duration,
    /// Output kept, in bytes for each of the two streams.
    pub output_cap_bytes: usize,
    /// What runs now.
    pub running: Running,
}
