//! Tokens added to the token file while the server runs. Each is served as after a restart, or
//! refused.
//!
//! Launchers and directories are created on the reload thread, which is outside the Landlock domain
//! of the process. A launcher started there can build the sandbox of its commands.
//!
//! Threads inside the domain read and write the files. So a new tenant's directories must lie below
//! those of the domain, and so must the private directory of its commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use replay_base::budget::Budget;
use replay_files::policy::{Hidden, Pins, Root};
use replay_mcp::sessions::Ledger;
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::http::{Leavings as _, Tenant, TenantLimits};
use replay_sandbox::{Scratch, ScratchHold};

use super::registry::{ServerLeavings, tenant_of};
use crate::audit::AuditLog;
use crate::cli::Options;
use crate::compose::{private_directory, server_beside};
use crate::config::{Config, TokenEntry};
use crate::secrets::{Reach, Secrets};
use crate::server::Server;

/// Resources from which new tenants are served.
pub struct Provisioning {
    /// Options of the server's command line.
    pub options: Options,
    /// Paths hidden from all agents.
    pub hidden: Vec<Hidden>,
    /// Limits of tenants without limits of their own.
    pub limits: TenantLimits,
    /// Ledger in which calls are entered.
    pub ledger: Arc<Ledger>,
    pub tracer: Option<Arc<Tracer>>,
    pub log: Option<Arc<AuditLog>>,
    /// Pinned directories of all tenants, including former ones.
    pub pins: Pins,
    /// Directories of the domain, and `true` for each that is writable in it.
    pub domain: Vec<(Id, bool)>,
    /// Parent of the private directories of commands.
    pub ground: Option<PathBuf>,
    /// Directories for undo data.
    pub undo_places: Vec<PathBuf>,
    /// Memory left for search caches.
    pub search_memory_bytes: usize,
    /// The memory budget that all tenants share.
    pub budget: Arc<Budget>,
}

pub type Id = (u64, u64);

/// Parent directory of private directories of new tenants' commands, inside the domain of the
/// process.
pub struct ScratchParent {
    scratch: Scratch,
    hold: ScratchHold,
}

impl ScratchParent {
    /// Creates it outside these directories, if possible.
    pub fn make(config: &Config, roots: &[&Path]) -> Result<Self> {
        let scratch = private_directory(config, roots)?;
        let hold = ScratchHold::hold(&scratch.path().into())
            .map_err(|fault| anyhow::anyhow!(fault.to_string()))?;
        Ok(Self { scratch, hold })
    }

    /// The directory, for the domain of the process.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Removes the directory. Do not call it inside the domain, which covers only its contents.
    pub fn remove(self) {
        self.hold.remove();
    }
}

/// The directory's device and inode, as a domain identifies it; `None` if stat fails.
pub fn id(root: &Root) -> Option<Id> {
    let stat = rustix::fs::fstat(root).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

impl Provisioning {
    /// Announces the coming entries. A path of one tenant must not lead through a symlink that
    /// another tenant could make.
    pub fn expect(&mut self, entries: &[TokenEntry]) {
        self.pins.expect_nothing();
        let configs: Vec<Config> = entries
            .iter()
            .filter_map(|entry| Config::for_token(&self.options, entry).ok())
            .collect();
        self.pins
            .expect(configs.iter().flat_map(|config| &config.grants));
    }

    /// Returns the tenant of this entry, and the paths that it can reach in addition to `others`.
    /// Fails, with advice, if the tenant cannot be served without a restart.
    pub fn admit(
        &mut self,
        entry: &TokenEntry,
        secrets: &mut Secrets,
        others: &Reach,
    ) -> Result<(Arc<Tenant>, Reach)> {
        let mut config = Config::for_token(&self.options, entry)?;
        let files = &config.sandbox.secret_files;
        files
            .iter()
            .try_for_each(|file| others.keeps_apart("--credential", file))?;
        secrets.add_credentials(files);
        config.hidden.clone_from(&self.hidden);
        config.ground.clone_from(&self.ground);
        config.undo.places = Some(self.undo_places.clone());
        // Later tenants need a share as well; a restart divides the memory anew.
        config.search_memory_bytes = self.search_memory_bytes / 2;
        let server = server_beside(&config, self.budget.account(), &mut self.pins)?;
        let apart = others.keeps_cache_apart(server.services());
        let admitted = apart.and_then(|()| self.check(&config, entry, &server, secrets));
        if admitted.is_err() {
            ServerLeavings(Arc::clone(&server)).remove();
        }
        let reach = admitted?;
        self.search_memory_bytes -= config.search_memory_bytes;
        Ok((
            tenant_of(
                entry,
                &server,
                &self.ledger,
                self.tracer.as_ref(),
                self.limits,
            ),
            reach,
        ))
    }

    fn check(
        &self,
        config: &Config,
        entry: &TokenEntry,
        server: &Server,
        secrets: &Secrets,
    ) -> Result<Reach> {
        let services = server.services();
        if let Some(root) = services
            .policy
            .roots()
            .iter()
            .find(|root| !self.is_in_domain(root))
        {
            bail!(
                "`{}` is not below a directory of the server's start{}: restart the server with \
                 `--allow` for a directory above those of all tokens",
                root.path().display(),
                if root.writable() {
                    ", or is only readable there"
                } else {
                    ""
                }
            );
        }
        let scratch = services.commands.scratch.as_ref().map(Scratch::path);
        if let Some(scratch) = scratch.filter(|scratch| {
            self.ground
                .as_ref()
                .is_none_or(|at| !scratch.starts_with(at))
        }) {
            bail!(
                "the server cannot use the private directory `{}` of its commands: restart the \
                 server",
                scratch.display()
            );
        }
        let system = config.sandbox.system.iter().map(|seen| seen.path.clone());
        let reach = Reach::of(std::iter::once(services), system);
        secrets.check_all(&reach)?;
        if let Some(log) = &self.log {
            log.add(&entry.name, server, &reach)
                .context("the audit log")?;
        }
        Ok(reach)
    }

    /// Returns true if the domain of this process permits a directory. The kernel looks for a rule
    /// at the directory and its ancestors (landlock(7)).
    #[expect(
        clippy::disallowed_methods,
        reason = "a directory of the operator's, named in the file of tokens"
    )]
    fn is_in_domain(&self, root: &Root) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        root.path()
            .ancestors()
            .filter_map(|above| std::fs::metadata(above).ok())
            .any(|above| {
                let id = (above.dev(), above.ino());
                self.domain
                    .iter()
                    .any(|(ruled, writable)| *ruled == id && (*writable || !root.writable()))
            })
    }
}
