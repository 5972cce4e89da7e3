//! What all calls share: the policy, the writer of files, and the rules for commands.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::budget::Account;
use crate::calls::{Isolation, Reach};
use crate::cancel::CancelToken;
use crate::exec::{BackgroundCommands, Foreground, Launcher, Logs, Slots};
use crate::fs::Writer;
use crate::journal::Journal;
use crate::limits::{
    DEFAULT_COMMAND_TIMEOUT_SECS, KILL_GRACE_MS, MAX_CELL_SECS, MAX_COMMAND_TIMEOUT_SECS,
    MAX_PYTHON_SESSIONS, OUTPUT_CAP_BYTES, RESIDENTS_FOR_A_SESSION,
};
use crate::network::proxy::{Gate, SshAgent};
use crate::policy::Policy;
use crate::python::Sessions;
use crate::sandbox::{Cache, Scratch, Tier, WallStatus};
use crate::search::memory::Memory;
use crate::testrun::History;

/// Made once at start; nothing in it is ever replaced.
#[derive(Debug)]
pub struct Services {
    /// The memory that calls may hold.
    pub account: Account,
    /// Text of a reply to a call that does not say how much it wants.
    pub reply_bytes: usize,
    /// The same of a command's output, which has a cap of its own.
    pub shown_output_bytes: usize,
    /// Decides about every path.
    pub policy: Policy,
    /// Keeps what calls change, so that it can be undone; or why nothing is kept.
    pub journal: Result<Arc<Journal>, String>,
    /// Writes files, and keeps two changes of one file apart.
    pub writer: Writer,
    /// What is known of files from searches before.
    pub memory: Memory,
    /// The Python sessions. Dropped before the launcher, which waits for them.
    pub python: Sessions,
    /// The rules for commands.
    pub commands: Commands,
    /// The rules for recording what commands call.
    pub calls: Calls,
    /// What programs wrote.
    pub logs: Logs,
    /// What is kept of runs of tests.
    pub tests: History,
}

/// The rules for recording what commands call, and answering it.
#[derive(Debug, Default)]
pub struct Calls {
    /// What real servers can be reached.
    pub reach: Reach,
    /// Whether names have addresses there.
    pub resolves: bool,
    /// Authorities that real servers are verified with, as PEM.
    pub roots: Vec<u8>,
    /// Whether servers that a command starts can be reached from other machines, where its network
    /// is that of the system.
    pub open: bool,
    /// Whether secrets stay in recordings.
    pub keep_secrets: bool,
    /// What the operator asked for.
    pub isolation: Option<Isolation>,
    /// Where the last recording went.
    last: Mutex<Option<String>>,
}

impl Calls {
    /// A recording went to this directory.
    pub fn remember(&self, directory: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory.to_owned());
    }

    /// As if there had been none.
    pub fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The directory that the last recording went to.
    pub fn remembered(&self) -> Option<String> {
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The rules for commands.
#[derive(Debug)]
pub struct Commands {
    /// What holds commands, or why they are refused.
    pub standing: WallStatus,
    /// Commands that run on after their call; `None` when they are refused. Dropped before the
    /// launcher, which waits for them.
    pub background: Option<BackgroundCommands>,
    /// Starts commands; `None` when they are refused.
    pub launcher: Option<Launcher>,
    /// Who decides about their connections, if there are rules.
    pub gate: Option<Arc<Gate>>,
    /// Signs what git signs, if the operator's ssh-agent is to.
    pub ssh_agent: Option<SshAgent>,
    /// Holds the lock that says that the private directory of commands is in use.
    pub scratch: Option<Scratch>,
    /// Where caches of commands outlive the server, and no file tool looks.
    pub cache: Option<Cache>,
    /// Time limit of a command that asks for none.
    pub timeout: Duration,
    /// Largest time limit that a call may ask for.
    pub max_timeout: Duration,
    /// The same of Python code.
    pub max_cell: Duration,
    /// Output kept, in bytes for each of the two streams.
    pub output_cap_bytes: usize,
    pub running: Slots,
    pub residents: Slots,
}

impl Commands {
    /// Rules under which no command runs, for this reason.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self {
            standing: WallStatus::refused(reason, Vec::new()),
            ..Self::none()
        }
    }

    /// The same for tools that have no commands.
    pub fn none() -> Self {
        Self {
            standing: WallStatus::none(),
            launcher: None,
            gate: None,
            ssh_agent: None,
            scratch: None,
            cache: None,
            background: None,
            timeout: Duration::from_secs(DEFAULT_COMMAND_TIMEOUT_SECS),
            max_timeout: Duration::from_secs(MAX_COMMAND_TIMEOUT_SECS),
            max_cell: Duration::from_secs(MAX_CELL_SECS),
            output_cap_bytes: OUTPUT_CAP_BYTES,
            running: Slots::default(),
            residents: Slots::new(RESIDENTS_FOR_A_SESSION * MAX_PYTHON_SESSIONS),
        }
    }

    /// How a command is run that its call waits for.
    pub fn foreground<'a>(
        &'a self,
        launcher: &'a Launcher,
        cancel: &'a CancelToken,
        timeout: Duration,
    ) -> Foreground<'a> {
        let grace = Duration::from_millis(KILL_GRACE_MS);
        Foreground {
            launcher,
            running: &self.running,
            cancel,
            timeout,
            grace,
            output_cap_bytes: self.output_cap_bytes,
            files: None,
            over: None,
        }
    }

    /// Whether a kernel wall stands around commands.
    pub fn are_walled(&self) -> bool {
        matches!(self.standing.tier, Some(Tier::Namespaces | Tier::Landlock))
    }

    /// Ends every command, and lets no new one start. Returns how many commands there were.
    pub fn pause(&self) -> usize {
        let background = self
            .background
            .as_ref()
            .map_or(0, BackgroundCommands::end_all);
        background + self.running.end_all() + self.residents.end_all()
    }

    /// Whether no command runs, or is about to.
    pub fn are_over(&self) -> bool {
        let background = self
            .background
            .as_ref()
            .is_none_or(BackgroundCommands::is_over);
        background && self.residents.is_empty() && self.running.is_empty()
    }

    /// Ends every command and the launcher, which removes their private directory, and lets no new
    /// one start. Returns how many commands there were.
    pub fn end_all(&self) -> usize {
        let ended = self.pause();
        if let Some(launcher) = &self.launcher {
            launcher.end();
        }
        ended
    }
}
