//! Cli -> Config: resolves the command line against the file system and the environment. No other
//! module reads the environment.
//!
//! Each mode has a constructor of [`Config`], and other modules only read it. State of a running
//! server, such as files to hide, is passed to a method that returns another `Config`.
#![expect(
    clippy::disallowed_methods,
    reason = "start-up reads the environment and the operator's own profile"
)]

mod command_limits;
mod commands;
mod credentials;
mod directories;
mod downloads;
mod http;
mod machine;
mod memory;
mod modes;
mod process_state;
mod profile;
mod publish;
mod reasons;
mod telemetry;
mod tenants;
mod undo;
mod upstream_proxy;
mod withheld;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use command_limits::{CommandLimits, PythonConfig};
use directories::{absolute, here_first, own_file};
use memory::MemoryConfig;
use modes::Purpose;
use process_state::ProcessState;
use replay_clients::{Client, Clients, FailureForm, ReplyStyle};
use replay_files::fs::Durability;
use replay_files::policy::{Grant, GrantFlag, Hidden, Restrictions};
use replay_mcp::transport::Limits;
use replay_proxy::Learned;
use tracing::level_filters::LevelFilter;

use crate::calls::Reach;
use crate::cli::{ClientArgs, Errors, Isolation, LogLevel, Options, Replies, ToolsetArg};
use crate::server::ClientChoice;
use crate::tools::Toolset;

pub(crate) use commands::{CacheConfig, SandboxConfig};
pub(crate) use credentials::configure_git;
pub(crate) use directories::{access_of, own_directory};
pub(crate) use http::{HttpConfig, TokenEntry, encryption, entries, tokens};
pub use profile::{derived_profile_keys, profile_keys};
pub(crate) use reasons::reasons;
pub(crate) use telemetry::{telemetry, trust};
pub(crate) use tenants::{RunningServer, TenantConfigs};
pub(crate) use undo::{UndoConfig, state_directory};
pub(crate) use upstream_proxy::proxy_of_environment;

/// The complete configuration of one mode. Other modules only read its settings.
#[derive(Debug)]
pub struct Config(Settings);

impl Deref for Config {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.0
    }
}

/// Settings of a configuration.
#[derive(Debug)]
pub struct Settings {
    /// Allowed directories in command line order.
    pub grants: Vec<Grant>,
    /// Flag that gave them.
    pub grant_flag: GrantFlag,
    /// Additional read-only paths.
    pub protect: Vec<PathBuf>,
    /// Paths that are writable although they are read-only by default.
    pub unprotect: Vec<PathBuf>,
    /// Patterns of paths hidden from agents (`--hide`).
    pub hide: Vec<String>,
    /// Configuration files of this server. Read-only if they lie in an allowed directory.
    pub own_files: Vec<PathBuf>,
    /// The operator's files that agents must not see, even in an allowed directory.
    pub hidden: Vec<Hidden>,
    /// Settings of the walls around commands.
    pub sandbox: SandboxConfig,
    /// Directory for temporary files, including private directories of commands.
    pub temporary: PathBuf,
    /// Parent of the private directory of commands, instead of the default one.
    pub scratch_parent: Option<PathBuf>,
    /// Tool sets to serve.
    pub toolsets: Vec<Toolset>,
    /// Profiles of clients, and the choice among them.
    pub clients: Clients,
    pub client_choice: ClientChoice,
    /// Form of failures for all clients, if given.
    pub errors: Option<FailureForm>,
    /// Style of replies for all clients, if the operator chose one.
    pub reply_style: Option<ReplyStyle>,
    /// The operator's maximum of a reply in tokens; 0 for none.
    pub reply_tokens: Option<u64>,
    /// Limits of commands.
    pub commands: CommandLimits,
    /// Settings of Python sessions.
    pub python: PythonConfig,
    /// Durability of file writes: with or without fsync.
    pub durability: Durability,
    /// Memory of calls and of searches.
    pub memory: MemoryConfig,
    /// Settings of the journal of changes.
    pub undo: UndoConfig,
    /// Settings of recorded calls.
    pub calls: CallsConfig,
    /// Log file of decisions about connections of commands.
    pub net_log: Option<PathBuf>,
    /// Recorder of the connections of commands, to derive rules from.
    pub learned: Option<Arc<Learned>>,
    /// Limits of the client.
    pub client_limits: Limits,
    pub log_level: LevelFilter,
}

impl Settings {
    /// Resolves relative paths against the working directory and reads the profile.
    fn resolve(options: &Options, purpose: &Purpose<'_>) -> Result<Self> {
        let here = std::env::current_dir().context("the working directory cannot be read")?;
        let world = ProcessState::read(here, matches!(purpose, Purpose::OwnProgram));
        let here = &world.here;
        let profile = purpose.profile(&options.directories)?;

        let mut grants = directories::grants(here, &options.directories, &profile)?;
        let commands = CommandLimits::resolve(&options.commands, &profile.limits)?;
        let learns = purpose.learned().is_some();
        let mut sandbox = SandboxConfig::resolve(options, &profile, &world, &grants, learns)?;
        sandbox.is_tried = purpose.tries_walls();
        let mut undo = UndoConfig::resolve(options, &profile, &world, &grants)?;
        if !purpose.is_for_agents() {
            (undo.is_on, undo.freezes) = (false, false);
            here_first(here, &mut grants);
        }

        let toolsets = toolsets(&options.tools.tools);
        let opens = sandbox.rules.are_about_requests() || !sandbox.credentials.is_empty();
        let calls = CallsConfig::resolve(&toolsets, options.calls.isolation, opens);

        let all_absolute = |typed: &[PathBuf], of_profile: &[PathBuf]| {
            let paths = typed.iter().chain(of_profile);
            paths.map(|path| absolute(here, path)).collect()
        };
        let own_files = options.directories.sandbox_profile.iter();
        let own_files = own_files.chain(&options.replies.clients);
        let clients = clients(here, options.replies.clients.as_deref())?;
        let client_choice = client_choice(&clients, &options.replies.client)?;
        let net_log = options.network.net_log.as_ref();
        let reply_tokens = options.replies.reply_tokens.or(profile.limits.reply_tokens);
        Ok(Self {
            grants,
            grant_flag: purpose.grant_flag(),
            protect: all_absolute(&options.protection.protect, &profile.protect),
            unprotect: all_absolute(&options.protection.unprotect, &profile.unprotect),
            hide: [&options.walls.hide[..], &profile.hide].concat(),
            own_files: own_files.flat_map(|path| own_file(here, path)).collect(),
            hidden: Vec::new(),
            sandbox,
            temporary: std::env::temp_dir(),
            scratch_parent: None,
            toolsets,
            clients,
            client_choice,
            errors: failure_form(&options.client),
            reply_style: options.replies.replies.map(|style| match style {
                Replies::Exact => ReplyStyle::Exact,
                Replies::Lean => ReplyStyle::Lean,
            }),
            reply_tokens,
            commands,
            python: PythonConfig::resolve(&options.python, &profile.limits),
            durability: if options.writes.no_fsync {
                Durability::Kernel
            } else {
                Durability::Disk
            },
            memory: MemoryConfig::resolve(&options.memory, &options.replies),
            undo,
            calls,
            net_log: net_log
                .or(profile.net_log.as_ref())
                .map(|path| absolute(here, path)),
            learned: purpose.learned().cloned(),
            client_limits: client_limits(&options.client),
            log_level: level_filter(options.log.log_level),
        })
    }

    /// Restrictions of agents within the allowed directories.
    pub fn restrictions(&self) -> Restrictions<'_> {
        Restrictions {
            protect: &self.protect,
            unprotect: &self.unprotect,
            own: &self.own_files,
            hidden: &self.hidden,
            freezes_autorun: self.undo.freezes,
            flag: self.grant_flag,
        }
    }
}

/// Settings of recorded and replayed calls.
#[derive(Clone, Debug, Default)]
pub struct CallsConfig {
    /// PEM certificates of the authorities that real servers are verified with.
    pub roots: Vec<u8>,
    /// Real servers that can be reached, if different from the network of commands.
    pub reach: Option<Reach>,
    /// `true` if other machines can reach servers that a program starts.
    pub open: bool,
    /// `true` if recordings keep secrets.
    pub keep_secrets: bool,
    /// Minimum isolation of programs; `None` for the best available.
    pub isolation: Option<Isolation>,
}

impl CallsConfig {
    fn resolve(toolsets: &[Toolset], isolation: Option<Isolation>, opens: bool) -> Self {
        let is_there = toolsets.contains(&Toolset::Calls);
        let roots = if is_there || opens {
            telemetry::authorities()
        } else {
            Vec::new()
        };
        Self {
            roots,
            isolation: isolation.filter(|_| is_there),
            ..Self::default()
        }
    }
}

/// Limits of a client of the tools or of a mock.
pub(crate) fn client_limits(client: &ClientArgs) -> Limits {
    Limits {
        max_line_bytes: client.max_line_bytes,
        stall_timeout: Duration::from_secs(client.stall_timeout_secs),
    }
}

/// Returns the form of failures for clients of the tools or of a mock, if given.
pub(crate) fn failure_form(client: &ClientArgs) -> Option<FailureForm> {
    client.errors.map(|errors| match errors {
        Errors::Codes => FailureForm::Codes,
        Errors::Results => FailureForm::Results,
    })
}

/// Reads the operator's additions to the table of clients.
#[expect(
    clippy::disallowed_methods,
    reason = "a file that the operator names at the start"
)]
fn clients(here: &Path, file: Option<&Path>) -> Result<Clients> {
    let Some(file) = file else {
        return Ok(Clients::embedded().clone());
    };
    let failed = || format!("--clients {}", file.display());
    let text = std::fs::read_to_string(absolute(here, file)).with_context(failed)?;
    let clients = Clients::embedded().with(&text).with_context(failed)?;
    let protects = |client: &&Client| {
        let known = Clients::embedded().named(&client.id);
        known.map_or(&[][..], |known| &known.protects) != client.protects
    };
    if let Some(Client { id, .. }) = clients.iter().find(protects) {
        bail!(
            "--clients {}: [{id}] has `protects`, which only the embedded table can have; give the \
             paths with --protect",
            file.display()
        );
    }
    Ok(clients)
}

fn client_choice(clients: &Clients, name: &str) -> Result<ClientChoice> {
    Ok(match name {
        "auto" => ClientChoice::ByName,
        "none" => ClientChoice::Unknown,
        _ if clients.named(name).is_some() => ClientChoice::Named(name.to_owned()),
        _ => {
            let known: Vec<&str> = clients.iter().map(|client| client.id.as_str()).collect();
            bail!(
                "--client {name} is not in the table of clients; it has {}, besides `auto` and \
                 `none`; --clients FILE adds others",
                known.join(", ")
            );
        }
    })
}

/// Converts `--log-level` for the logger.
pub(crate) fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

fn toolsets(args: &[ToolsetArg]) -> Vec<Toolset> {
    let wanted = |set: Toolset| {
        args.iter().any(|arg| match arg {
            ToolsetArg::All => true,
            ToolsetArg::Files => set == Toolset::Files,
            ToolsetArg::Command => set == Toolset::Command,
            ToolsetArg::Calls => set == Toolset::Calls,
            ToolsetArg::Python => set == Toolset::Python,
            ToolsetArg::Tests => set == Toolset::Tests,
        })
    };
    Toolset::ALL
        .into_iter()
        .filter(|&set| wanted(set))
        .collect()
}
