//! Modes of the program, with a constructor of the configuration for each.

use std::sync::Arc;

use anyhow::Result;
use replay_files::policy::{GrantFlag, Hidden};
use replay_proxy::Learned;

use super::directories::{allow_here, own_file};
use super::memory::search_cache;
use super::profile::Profile;
use super::{Config, Settings, TokenEntry};
use crate::calls::Reach;
use crate::cli::{
    CallsAction, DirectoryArgs, Isolation, NetworkArg, OnMissArg, Options, ServerArgs, ToolsetArg,
};
use crate::tools::TOOLS;

/// Purpose of a configuration.
pub(super) enum Purpose<'a> {
    /// A server of agents.
    Server,
    /// One tenant of a server.
    Tenant(&'a TokenEntry),
    /// A program that runs as a command of an agent.
    Program,
    /// Calls of the user's own program, which gets the whole environment.
    OwnProgram,
    /// Sets of recorded calls, without a program.
    Sets,
    /// Commands that reach everything; the destinations are recorded.
    Learning(Arc<Learned>),
}

impl Purpose<'_> {
    /// Reads the profile. Own directories and hosts of a tenant replace those of the profile.
    pub(super) fn profile(&self, args: &DirectoryArgs) -> Result<Profile> {
        let path = args.sandbox_profile.as_deref();
        let mut profile = path.map(Profile::load).transpose()?.unwrap_or_default();
        if let Self::Tenant(entry) = self {
            if entry.allow.is_some() {
                profile.read_write.clear();
                profile.read_only.clear();
                profile.unprotect.clear();
            }
            if entry.has_own_hosts() {
                profile.allow_host.clear();
                profile.allow_hosts.clear();
            }
            if entry.publish.is_some() {
                profile.publish.clear();
            }
        }
        Ok(profile)
    }

    /// Flag that allows the directories.
    pub(super) fn grant_flag(&self) -> GrantFlag {
        match self {
            Self::Tenant(entry) if entry.allow.is_some() => GrantFlag::Own,
            _ => GrantFlag::default(),
        }
    }

    /// Returns true for commands of agents. Programs of the user are not journaled.
    pub(super) fn is_for_agents(&self) -> bool {
        matches!(self, Self::Server | Self::Tenant(_) | Self::Program)
    }

    /// Returns true if a trivial command tests the walls at the start. A single program tests them
    /// itself.
    pub(super) fn tries_walls(&self) -> bool {
        matches!(self, Self::Server | Self::Tenant(_))
    }

    pub(super) fn learned(&self) -> Option<&Arc<Learned>> {
        match self {
            Self::Learning(learned) => Some(learned),
            _ => None,
        }
    }
}

impl Config {
    /// Configuration of a server of agents.
    pub fn for_server(options: &Options) -> Result<Self> {
        Settings::resolve(options, &Purpose::Server).map(Self)
    }

    /// Configuration of a server over stdin and stdout. It alone keeps a search cache.
    pub fn for_stdio(cli: &ServerArgs) -> Result<Self> {
        let Self(mut settings) = Self::for_server(&cli.options)?;
        settings.memory.search_cache = search_cache(&cli.options.replies);
        let here = std::env::current_dir().unwrap_or_default();
        let manifest = cli.mock.iter().flat_map(|path| own_file(&here, path));
        settings.own_files.extend(manifest);
        Ok(Self(settings))
    }

    /// Hides more files of the running server from agents.
    #[must_use]
    pub fn hiding(mut self, files: impl IntoIterator<Item = Hidden>) -> Self {
        self.0.hidden.extend(files);
        self
    }

    /// Configuration of one tool call. Walls are built only if the tool needs or describes them.
    pub fn for_tool(options: &Options, tool: &str) -> Result<Self> {
        let Self(mut settings) = Self::for_server(options)?;
        let known = TOOLS
            .iter()
            .map(|make| make())
            .find(|known| known.name() == tool);
        let set = known
            .filter(|known| known.name() != "list_allowed_directories")
            .map(|known| known.toolset());
        if let Some(set) = set {
            settings
                .toolsets
                .retain(|other| *other == set || !other.runs_commands());
            if !settings.toolsets.contains(&set) {
                settings.toolsets.push(set);
            }
        }
        Ok(Self(settings))
    }

    /// Configuration of a server whose agents run no commands.
    pub fn for_files(options: &Options) -> Result<Self> {
        let Self(mut settings) = Self::for_server(options)?;
        settings.toolsets.retain(|set| !set.runs_commands());
        Ok(Self(settings))
    }

    /// Configuration of a test of the walls, without undo.
    pub fn for_wall_test(options: &Options) -> Result<Self> {
        let Self(mut settings) = Self::for_server(options)?;
        settings.undo.is_on = false;
        Ok(Self(settings))
    }

    /// Configuration of `replay sandbox run`. The program runs as a command of an agent.
    pub fn for_program(options: &Options) -> Result<Self> {
        Settings::resolve(options, &Purpose::Program).map(Self)
    }

    /// Adds a trivial command that tests the walls before the program starts, as for a server.
    #[must_use]
    pub fn with_wall_test(mut self) -> Self {
        self.0.sandbox.is_tried = true;
        self
    }

    /// Configuration of `replay calls`. Allows the working directory if no directory is writable. A
    /// recorded program reaches the same network as this process. It is the user's own program and
    /// gets the whole environment.
    pub fn for_calls(action: &CallsAction) -> Result<Self> {
        let mut options = action.options();
        options.tools.tools = vec![ToolsetArg::Calls];
        allow_here(&mut options)?;
        let (has_program, reaches, keep_secrets) = match action {
            CallsAction::Record { keep_secrets, .. } => (true, true, *keep_secrets),
            CallsAction::Test { on_miss, .. } => (true, *on_miss != OnMissArg::Fail, false),
            CallsAction::List { .. } | CallsAction::Noise { .. } | CallsAction::Show { .. } => {
                (false, false, false)
            }
        };
        let is_strict = match options.calls.isolation.filter(|_| has_program) {
            Some(isolation) => isolation == Isolation::Strict,
            // A user may want to connect to a recorded program, but not to one under test.
            None => !matches!(action, CallsAction::Record { .. }),
        };
        let said = options.network.network.is_some()
            || !options.network.allow_host.is_empty()
            || !options.network.allow_hosts.is_empty();
        if !said && !is_strict {
            options.network.network = Some(NetworkArg::Host);
        }

        let purpose = if has_program {
            Purpose::OwnProgram
        } else {
            Purpose::Sets
        };
        let mut settings = Settings::resolve(&options, &purpose)?;
        if !has_program {
            settings.toolsets.clear();
        }
        settings.calls.reach = match (said, reaches) {
            (_, false) => Some(Reach::Nothing),
            (true, true) => None,
            (false, true) => Some(if is_strict {
                Reach::AsServer
            } else {
                Reach::AsCommands
            }),
        };
        settings.calls.open = !is_strict;
        settings.calls.keep_secrets = keep_secrets;
        Ok(Self(settings))
    }

    /// Configuration of `replay net learn`. Commands run as in a server. Allows the working
    /// directory if no directory is writable.
    pub fn for_learning(mut options: Options, learned: Arc<Learned>) -> Result<Self> {
        allow_here(&mut options)?;
        Settings::resolve(&options, &Purpose::Learning(learned)).map(Self)
    }
}
