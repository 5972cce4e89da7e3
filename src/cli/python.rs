//! Flags of Python sessions.

use clap::Args;

use super::{COMMANDS, IDLE_SECS, TIMEOUT_SECS};

/// Number of Python sessions, and their timeouts.
#[derive(Clone, Debug, Args)]
pub struct PythonArgs {
    /// Limit the concurrent Python sessions (16 by default)
    #[arg(long, help_heading = "Python", hide_short_help = true, value_name = "COUNT", value_parser = COMMANDS.parser())]
    pub max_python_sessions: Option<u64>,
    /// Limit the timeout that Python code can request, in seconds (300 by default)
    #[arg(long, help_heading = "Python", hide_short_help = true, value_name = "SECS", value_parser = TIMEOUT_SECS.parser())]
    pub max_cell_secs: Option<u64>,
    /// End a Python session after this many seconds without use (3600 by default); its variables
    /// are lost
    #[arg(long, help_heading = "Python", hide_short_help = true, value_name = "SECS", value_parser = IDLE_SECS.parser())]
    pub python_idle_timeout_secs: Option<u64>,
    /// Start each Python interpreter only when a session needs it
    ///
    /// This saves 10 to 20 MiB. Each session then waits for its interpreter to start.
    #[arg(long, help_heading = "Python", hide_short_help = true)]
    pub no_python_spare: bool,
}
