//! Config -> server: opens the allowed directories and puts the parts together.

use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::cli::Sandbox;
use crate::config::Config;
use crate::exec::Running;
use crate::fs::Writer;
use crate::policy::Policy;
use crate::sandbox::Standing;
use crate::server::Server;
use crate::tools::{Commands, Registry, Services};

/// The server that this configuration asks for. Fails when a directory cannot be opened.
pub fn server(config: &Config) -> Result<Arc<Server>> {
    let policy = Policy::open(&config.grants, &config.protect).context("cannot start")?;
    let read_only = !policy.roots().is_empty() && !policy.roots().iter().any(crate::policy::Root::writable);
    let standing = standing(config);
    let services = Services {
        policy,
        writer: Writer::default(),
        commands: Commands {
            standing,
            timeout: config.command_timeout,
            max_timeout: config.max_command_timeout,
            output_cap_bytes: config.output_cap_bytes,
            running: Running::new(),
        },
    };
    Ok(Server::new(Registry::declared(&config.toolsets, read_only), services, config.errors))
}

/// No wall stands yet that could hold a shell, so it takes the operator's word to run one.
fn standing(config: &Config) -> Standing {
    match (&config.sandbox.refused, config.sandbox.mode) {
        (Some(reason), _) => Standing::refused(reason.clone(), Vec::new()),
        (None, Sandbox::Off) => Standing::off(),
        (None, Sandbox::Require | Sandbox::Namespaces | Sandbox::Landlock) => Standing::refused(
            "no kernel wall stands around commands in this version, and the operator requires one (--sandbox require)",
            Vec::new(),
        ),
    }
}
