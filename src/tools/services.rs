//! State that all calls share: the policy, the file writer, and the rules for commands.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use replay_base::budget::Account;
use replay_base::cancel::CancelToken;
use replay_base::limits::{BYTES_PER_TOKEN, REPLY_TOKENS};
use replay_base::limits::{
    DEFAULT_COMMAND_TIMEOUT_SECS, KILL_GRACE_MS, MAX_CELL_SECS, MAX_COMMAND_TIMEOUT_SECS,
    MAX_PYTHON_SESSIONS, OUTPUT_CAP_BYTES, RESIDENTS_FOR_A_SESSION,
};
use replay_environment::Devices;
use replay_files::fs::Writer;
use replay_files::journal::Journal;
use replay_files::policy::Policy;
use replay_network::upstream_proxy::UpstreamProxy;
use replay_proxy::{Gate, Publisher, SshAgent};
use replay_python::Sessions;
use replay_sandbox::exec::{BackgroundCommands, Foreground, Launcher, Logs, Slots};
use replay_sandbox::{Cache, RawString, Scratch, Tier, WallStatus};
use replay_search::memory::Memory;
use replay_testrun::History;

use super::background_calls::BackgroundCalls;
use super::missing::MissingOfMachine;
use super::told_ports::ToldPorts;
use crate::calls::{Isolation, Reach};

/// Created once at start; no member is ever replaced.
#[derive(Debug)]
pub struct Services {
    /// Memory account of calls.
    pub account: Account,
    /// The operator's maximum of a reply in tokens, if any; 0 for none.
    pub reply_tokens: Option<u64>,
    /// Access policy of all paths.
    pub policy: Policy,
    /// Journal of changes for undo, or the reason why there is none.
    pub journal: Result<Arc<Journal>, String>,
    /// Writes files, and serializes changes of the same file.
    pub writer: Writer,
    /// Search cache of files.
    pub memory: Memory,
    /// The Python sessions. Dropped before the launcher, which waits for them.
    pub python: Sessions,
    pub commands: Commands,
    /// Calls that go on in the background.
    pub background_calls: BackgroundCalls,
    /// The rules for recording outgoing calls.
    pub calls: Calls,
    /// Output of programs.
    pub logs: Logs,
    /// History of test runs.
    pub tests: History,
}

/// The rules for recording and replaying outgoing calls of commands.
#[derive(Debug, Default)]
pub struct Calls {
    /// Real servers that can be reached.
    pub reach: Reach,
    /// `true` if names can be resolved there.
    pub resolves: bool,
    /// Root certificates for real servers, as PEM.
    pub roots: Vec<u8>,
    /// Operator's proxy for real servers that this process reaches.
    pub upstream_proxy: Option<Arc<UpstreamProxy>>,
    /// `true` if other machines can reach servers of a command, where it has the network of the
    /// system.
    pub open: bool,
    /// `true` if recordings keep secrets.
    pub keep_secrets: bool,
    /// Isolation that the operator requested.
    pub isolation: Option<Isolation>,
    /// Directory of the last recording.
    last: Mutex<Option<String>>,
}

impl Services {
    /// Maximum part of a log that one resources/read returns, in bytes.
    pub fn resource_bytes(&self) -> usize {
        match self.reply_tokens.unwrap_or(REPLY_TOKENS) {
            0 => usize::MAX,
            tokens => (tokens as usize).saturating_mul(BYTES_PER_TOKEN),
        }
    }
}

impl Calls {
    /// Stores the directory of the last recording.
    pub fn remember(&self, directory: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory.to_owned());
    }

    /// Clears the directory of the last recording.
    pub fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the directory of the last recording.
    pub fn remembered(&self) -> Option<String> {
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Looks at the network of commands at the same time.
const MAX_LOOKS: usize = 64;

/// The rules for commands.
#[derive(Debug)]
pub struct Commands {
    /// The sandbox of commands, or the reason why they are refused.
    pub standing: WallStatus,
    /// Background commands; `None` if commands are refused. Dropped before the launcher, which
    /// waits for them.
    pub background: Option<BackgroundCommands>,
    /// Ports of commands that programs of this machine reach, if there are any.
    pub publisher: Option<Publisher>,
    /// Ports that replies have told.
    pub told_ports: ToldPorts,
    /// Starts commands; `None` if they are refused.
    pub launcher: Option<Launcher>,
    /// Decides about network connections of commands, if there are rules.
    pub gate: Option<Arc<Gate>>,
    /// Signs git commits, if the operator's ssh-agent is enabled.
    pub ssh_agent: Option<SshAgent>,
    /// Private directory of commands, with its lock.
    pub scratch: Option<Scratch>,
    /// Files and programs of the operator's machine that commands lack.
    pub missing: MissingOfMachine,
    /// Devices of the machine for commands, and those that they do not get.
    pub devices: Devices,
    /// Lengths of the logs of git that replies told of, by the directory of the repository.
    pub git_logs: Mutex<HashMap<PathBuf, usize>>,
    /// Cache directory of commands, which outlives the server. File tools have no access.
    pub cache: Option<Cache>,
    /// Default timeout of a command.
    pub timeout: Duration,
    /// `true` if the operator chose it, so that it holds for every client.
    pub is_timeout_chosen: bool,
    /// Maximum timeout that a call may set.
    pub max_timeout: Duration,
    /// The same for Python code.
    pub max_cell: Duration,
    /// Maximum stored output, in bytes per stream.
    pub output_cap_bytes: usize,
    pub running: Slots,
    pub residents: Slots,
    /// Slots for looks at the network of commands.
    pub looks: Slots,
}

impl Commands {
    /// HOME of commands, as they see it, if it is private.
    pub fn home(&self) -> Option<&Path> {
        let home = self.standing.home.as_ref();
        home.filter(|_| self.standing.private_home)
            .map(RawString::as_path)
    }

    /// Rules that refuse all commands for this reason.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self {
            standing: WallStatus::refused(reason, Vec::new()),
            ..Self::none()
        }
    }

    /// Rules for tools without commands.
    pub fn none() -> Self {
        Self {
            standing: WallStatus::none(),
            publisher: None,
            told_ports: ToldPorts::default(),
            launcher: None,
            gate: None,
            ssh_agent: None,
            scratch: None,
            missing: MissingOfMachine::default(),
            devices: Devices::default(),
            git_logs: Mutex::default(),
            cache: None,
            background: None,
            timeout: Duration::from_secs(DEFAULT_COMMAND_TIMEOUT_SECS),
            is_timeout_chosen: false,
            max_timeout: Duration::from_secs(MAX_COMMAND_TIMEOUT_SECS),
            max_cell: Duration::from_secs(MAX_CELL_SECS),
            output_cap_bytes: OUTPUT_CAP_BYTES,
            running: Slots::default(),
            residents: Slots::new(RESIDENTS_FOR_A_SESSION * MAX_PYTHON_SESSIONS),
            looks: Slots::new(MAX_LOOKS),
        }
    }

    /// Returns the settings of a command that its call waits for.
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

    /// Returns true if a kernel sandbox confines commands.
    pub fn are_walled(&self) -> bool {
        matches!(self.standing.tier, Some(Tier::Namespaces | Tier::Landlock))
    }

    /// Ends every command, and refuses new ones. Returns the number of commands.
    pub fn pause(&self) -> usize {
        if let Some(publisher) = &self.publisher {
            publisher.close();
        }
        let background = self
            .background
            .as_ref()
            .map_or(0, BackgroundCommands::end_all);
        background + self.running.end_all() + self.residents.end_all()
    }

    /// Returns true if no command runs or is about to run.
    pub fn are_over(&self) -> bool {
        let background = self
            .background
            .as_ref()
            .is_none_or(BackgroundCommands::is_over);
        background && self.residents.is_empty() && self.running.is_empty()
    }

    /// Ends every command and the launcher, which removes their private directory. Refuses new
    /// commands. Returns the number of commands.
    pub fn end_all(&self) -> usize {
        let ended = self.pause();
        if let Some(launcher) = &self.launcher {
            launcher.end();
        }
        ended
    }
}
