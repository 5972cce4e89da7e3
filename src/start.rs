//! Config -> server: opens the allowed directories and puts the parts together.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::config::Config;
use crate::exec::{BackgroundCommands, Launcher};
use crate::fs::Writer;
use crate::limits::{BACKGROUND_OUTPUT_BYTES, MAX_BACKGROUND_COMMANDS};
use crate::policy::Policy;
use crate::sandbox::{Limits, Network, Plan, Scratch, Tier};
use crate::server::Server;
use crate::tools::{Commands, Registry, Services};

/// The server that this configuration asks for. Fails when a directory cannot be opened.
pub fn server(config: &Config) -> Result<Arc<Server>> {
    let policy = Policy::open(&config.grants, &config.protect).context("cannot start")?;
    let read_only = !policy.roots().is_empty() && !policy.roots().iter().any(crate::policy::Root::writable);
    let commands = match &config.commands_refused {
        Some(reason) => Commands::refused(reason.clone()),
        None => unwalled().context("cannot start the launcher of commands")?,
    };
    let commands = Commands {
        timeout: config.command_timeout,
        max_timeout: config.max_command_timeout,
        output_cap_bytes: config.output_cap_bytes,
        ..commands
    };
    let services = Services { policy, writer: Writer::default(), commands };
    let registry = Registry::declared(&config.toolsets, read_only, services.commands.are_walled());
    Ok(Server::new(registry, services, config.errors))
}

/// Commands without a wall, with the server's own environment.
#[expect(clippy::disallowed_methods, reason = "start-up reads the environment")]
fn unwalled() -> Result<Commands> {
    let scratch = Scratch::create(&std::env::temp_dir())?;
    let plan = Plan {
        tier: Tier::Off,
        network: Network::Host,
        roots: Vec::new(),
        protected: Vec::new(),
        system: Vec::new(),
        scratch: scratch.path().into(),
        private_home: false,
        environment: std::env::vars_os().map(|(name, value)| (name.into(), value.into())).collect(),
        limits: Limits::default(),
    };
    let (launcher, _) = Launcher::start(Path::new("/proc/self/exe"), &plan)?;
    let dir = scratch.as_fd().try_clone_to_owned()?;
    Ok(Commands {
        refused: None,
        walls: Some(Tier::Off),
        network: Network::Host,
        launcher: Some(launcher),
        background: Some(BackgroundCommands::new(dir, MAX_BACKGROUND_COMMANDS, BACKGROUND_OUTPUT_BYTES)),
        ..Commands::refused("")
    })
}
