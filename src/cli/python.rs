//! Flags of Python sessions.

use clap::Args;

use super::{COMMANDS, IDLE_SECS};

/// How many sessions, and for how long.
#[derive(Clone, Debug, Args)]
pub struct PythonArgs {
    /// Python sessions that may run at the same time (16 by default)
    #[arg(long, global = true, value_name = "COUNT", value_parser = COMMANDS.parser())]
    pub max_python_sessions: Option<u64>,
    /// End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost
    #[arg(long, global = true, value_name = "SECS", value_parser = IDLE_SECS.parser())]
    pub python_idle_timeout_secs: Option<u64>,
    /// Start interpreters of Python sessions only when they are needed, instead of having one wait: 10 to 20 MiB less, and
    /// each session begins as late as Python is there
    #[arg(long, global = true)]
    pub no_python_spare: bool,
}
