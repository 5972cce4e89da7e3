//! Tokens that the file gets while the server runs: each is served what a restart would serve it,
//! or not at all.
//!
//! What is made here is made on the thread that reads the file again, which is outside the domain
//! of the process: a launcher that is started there can build the walls of its commands. The files
//! themselves are read and written by threads inside the domain, so a newcomer's directories must
//! lie below those that the domain was made for, and so must the private directory of its commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use super::tenants::{LeftBehind, tenant_of};
use crate::audit::AuditLog;
use crate::budget::Budget;
use crate::cli::Options;
use crate::compose::{private_directory, server_beside};
use crate::config::{Config, TokenEntry};
use crate::policy::{Hidden, Pins, Root};
use crate::sandbox::{Scratch, ScratchHold};
use crate::secrets::{Reach, Secrets};
use crate::server::{Ledger, Server};
use crate::telemetry::Tracer;
use crate::transport::http::{Leavings as _, Tenant, TenantLimits};

/// What newcomers are served from.
pub struct Provisioning {
    /// As the server was started.
    pub options: Options,
    /// What no agent may see.
    pub hidden: Vec<Hidden>,
    /// What whoever has no limits of its own is held to.
    pub limits: TenantLimits,
    /// Where calls are entered.
    pub ledger: Arc<Ledger>,
    pub tracer: Option<Arc<Tracer>>,
    pub log: Option<Arc<AuditLog>>,
    /// The directories of all, those included that nobody has any more.
    pub pins: Pins,
    /// The directories of the domain, and whether it lets them be written to.
    pub domain: Vec<(Id, bool)>,
    /// Where private directories of commands are made.
    pub ground: Option<PathBuf>,
    /// Where what they change is kept.
    pub undo_places: Vec<PathBuf>,
    /// What may still be remembered of files between searches.
    pub search_memory_bytes: usize,
    /// The memory that all share.
    pub budget: Arc<Budget>,
}

pub type Id = (u64, u64);

/// Where the private directories of newcomers' commands are made, in the domain of the process.
pub struct Yard {
    scratch: Scratch,
    hold: ScratchHold,
}

impl Yard {
    /// Makes it outside these directories, if that can be.
    pub fn make(config: &Config, roots: &[&Path]) -> Result<Self> {
        let scratch = private_directory(config, roots)?;
        let hold = ScratchHold::hold(&scratch.path().into())
            .map_err(|fault| anyhow::anyhow!(fault.to_string()))?;
        Ok(Self { scratch, hold })
    }

    /// For the domain of the process, and where it is.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Removes it. Not to be called inside the domain, which is for what is in it.
    pub fn remove(self) {
        self.hold.remove();
    }
}

/// The directory as a domain knows it; `None` if it cannot be looked at any more.
pub fn id(root: &Root) -> Option<Id> {
    let stat = rustix::fs::fstat(root).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

impl Provisioning {
    /// Says which entries there will be: nobody's directory goes through a link that another of
    /// them could make.
    pub fn expect(&mut self, entries: &[TokenEntry]) {
        self.pins.expect_nothing();
        let configs: Vec<Config> = entries
            .iter()
            .filter_map(|entry| Config::for_token(&self.options, entry).ok())
            .collect();
        self.pins
            .expect(configs.iter().flat_map(|config| &config.grants));
    }

    /// The tenant of this entry, and what it may reach beside what `others` may. Fails, with the
    /// way out, if it cannot be served without a restart.
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
        // Those that come later have to have some as well; a restart shares it out anew.
        config.search_memory_bytes = self.search_memory_bytes / 2;
        let server = server_beside(&config, self.budget.account(), &mut self.pins)?;
        let apart = others.keeps_cache_apart(server.services());
        let admitted = apart.and_then(|()| self.check(&config, entry, &server, secrets));
        if admitted.is_err() {
            LeftBehind(Arc::clone(&server)).remove();
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
                "`{}` lies below no directory that the server was started for{}: restart it, with `--allow` for a directory above \
                 those of all tokens that are still to come",
                root.path().display(),
                if root.writable() {
                    ", or is only read there"
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
                "the private directory `{}` of its commands cannot be used by the server: restart it",
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

    /// Whether the domain of this process lets its threads use a directory: the kernel looks for a
    /// rule at it and at those above it (landlock(7)).
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
