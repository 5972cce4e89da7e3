//! Config -> server: opens the allowed directories and puts the parts together.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::cli::Sandbox;
use crate::config::Config;
use crate::exec::{BackgroundCommands, Launcher, Running};
use crate::fs::Writer;
use crate::policy::Policy;
use crate::sandbox::{Scratch, Standing, Tier};
use crate::server::Server;
use crate::tools::{Commands, Registry, Services};
use crate::walls;

/// The server that this configuration asks for. Fails when a directory cannot be opened.
pub fn server(config: &Config) -> Result<Arc<Server>> {
    let policy = Policy::open(&config.grants, &config.protect).context("cannot start")?;
    let read_only = !policy.roots().is_empty() && !policy.roots().iter().any(crate::policy::Root::writable);
    let commands = commands(config, &policy)?;
    let services = Services { policy, writer: Writer::default(), commands };
    let registry = Registry::declared(&config.toolsets, read_only, services.commands.are_walled());
    Ok(Server::new(registry, services, config.errors))
}

/// No wall stands yet that could hold a shell, so it takes the operator's word to run one.
fn commands(config: &Config, policy: &Policy) -> Result<Commands> {
    let commands = match (&config.sandbox.refused, config.sandbox.mode) {
        (Some(reason), _) => Commands::of(Standing::refused(reason.clone(), Vec::new())),
        (None, Sandbox::Off) => launched(config, policy, Tier::Off).context("cannot start the launcher of commands")?,
        (None, Sandbox::Require | Sandbox::Namespaces | Sandbox::Landlock) => Commands::of(Standing::refused(
            "no kernel wall stands around commands in this version, and the operator requires one (--sandbox require)",
            Vec::new(),
        )),
    };
    Ok(Commands {
        timeout: config.command_timeout,
        max_timeout: config.max_command_timeout,
        output_cap_bytes: config.output_cap_bytes,
        running: Running::new(config.max_commands),
        ..commands
    })
}

/// Commands held by walls of this tier.
fn launched(config: &Config, policy: &Policy, tier: Tier) -> Result<Commands> {
    let scratch = Scratch::create(&std::env::temp_dir())?;
    let plan = walls::plan(config, policy, tier, scratch.path())?;
    let (launcher, ready) = Launcher::start(Path::new("/proc/self/exe"), &plan)?;
    // This handle keeps the lock on the private directory as long as the server lives.
    let dir = scratch.as_fd().try_clone_to_owned()?;
    let standing = Standing {
        tier: Some(tier),
        network: plan.network,
        private_home: plan.private_home,
        home: ready.home,
        tmp: ready.tmp,
        landlock_abi: ready.landlock_abi,
        gaps: ready.gaps,
        ..Standing::off()
    };
    let background = BackgroundCommands::new(dir, config.max_background_commands, config.background_output_bytes);
    Ok(Commands { launcher: Some(launcher), background: Some(background), ..Commands::of(standing) })
}
