//! Config -> server: opens the allowed directories and puts the parts together.

use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::config::Config;
use crate::fs::Writer;
use crate::policy::Policy;
use crate::server::Server;
use crate::tools::{Commands, Registry, Services};

/// The server that this configuration asks for. Fails when a directory cannot be opened.
pub fn server(config: &Config) -> Result<Arc<Server>> {
    let policy = Policy::open(&config.grants, &config.protect).context("cannot start")?;
    let read_only = !policy.roots().is_empty() && !policy.roots().iter().any(crate::policy::Root::writable);
    let services = Services {
        policy,
        writer: Writer::default(),
        commands: Commands {
            timeout: config.command_timeout,
            max_timeout: config.max_command_timeout,
            output_cap_bytes: config.output_cap_bytes,
            ..Commands::refused(config.commands_refused.clone().unwrap_or_default())
        },
    };
    let registry = Registry::declared(&config.toolsets, read_only, services.commands.are_walled());
    Ok(Server::new(registry, services, config.errors))
}
