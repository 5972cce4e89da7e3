//! Tokens added to the token file while the server runs. Each is served as after a restart, or
//! refused.
//!
//! Launchers and directories are created on the reload thread, which is outside the Landlock domain
//! of the process. A launcher started there can build the sandbox of its commands.
//!
//! Threads inside the domain read and write the files. So a new tenant's directories must lie below
//! those of the domain, and so must the private directory of its commands.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use replay_files::policy::{Pins, Policy, Root};
use replay_mcp::transport::http::{BackgroundWork as _, Tenant};
use replay_sandbox::{Scratch, ScratchHold};

use super::registry::{NamedServers, ServerBackgroundWork, TenantFactory};
use crate::audit::AuditLog;
use crate::compose::{private_directory, undo_places};
use crate::config::{Config, RunningServer, TokenEntry};
use crate::secrets::{Reach, Secrets};
use crate::server::Server;

/// Resources from which new tenants are served.
pub(super) struct Provisioning {
    pub running: RunningServer,
    pub factory: TenantFactory,
    pub log: Option<Arc<AuditLog>>,
    /// Directories of the domain, and `true` for each that is writable in it.
    pub domain: Vec<(Id, bool)>,
}

pub(super) type Id = (u64, u64);

/// Parent directory of private directories of new tenants' commands, inside the domain of the
/// process.
pub(super) struct ScratchParent {
    scratch: Scratch,
    hold: ScratchHold,
}

impl ScratchParent {
    /// Creates it outside these directories, if possible.
    pub(super) fn make(config: &Config, roots: &[&Path]) -> Result<Self> {
        let scratch = private_directory(config, roots)?;
        let hold = ScratchHold::hold(&scratch.path().into())
            .map_err(|fault| anyhow::anyhow!(fault.to_string()))?;
        Ok(Self { scratch, hold })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// Removes the directory. Do not call it inside the domain, which covers only its contents.
    pub(super) fn remove(self) {
        self.hold.remove();
    }
}

/// Directories for tokens that are added later, all inside the domain of the process.
#[derive(Default)]
pub(super) struct LaterDirectories {
    /// Directories of the domain, and `true` for each that is writable in it.
    pub domain: Vec<(Id, bool)>,
    /// Directories to add to the domain; `true` if writable.
    pub handles: Vec<(OwnedFd, bool)>,
    /// Parent of the private directories of commands. Without one, the commands of new tenants are
    /// refused, as those of all tenants are then.
    pub scratch_parent: Option<ScratchParent>,
    /// Directories for undo data.
    pub undo_places: Vec<PathBuf>,
}

impl LaterDirectories {
    /// Opens and creates them for a server beside the servers of the first tenants.
    pub(super) fn open(config: &Config, servers: &NamedServers, pins: &mut Pins) -> Result<Self> {
        let offered = Policy::open_pinned(&config.grants, &config.restrictions(), pins)?;
        let roots: Vec<&Root> = servers
            .iter()
            .flat_map(|(_, server)| server.services().policy.roots())
            .chain(offered.roots())
            .collect();
        let paths: Vec<&Path> = roots.iter().map(|root| root.path()).collect();
        let scratch_parent = ScratchParent::make(config, &paths).ok();

        let mut handles = Vec::new();
        for root in offered.roots() {
            handles.push((duplicate(root, "an allowed directory")?, root.writable()));
        }
        let undo_places = undo_places(config, &offered)?;
        for place in &undo_places {
            handles.push((open_place(place)?, true));
        }
        if let Some(parent) = &scratch_parent {
            handles.push((duplicate(&parent.scratch, "the private directory")?, true));
        }
        Ok(Self {
            domain: roots
                .iter()
                .filter_map(|root| Some((id(root)?, root.writable())))
                .collect(),
            handles,
            scratch_parent,
            undo_places,
        })
    }
}

/// Duplicates the handle of a directory, which `what` names in errors.
fn duplicate(directory: &impl AsFd, what: &'static str) -> Result<OwnedFd> {
    directory.as_fd().try_clone_to_owned().context(what)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a directory of the operator's, for the domain of this process"
)]
fn open_place(path: &Path) -> Result<OwnedFd> {
    let place = std::fs::File::open(path).with_context(|| format!("`{}`", path.display()))?;
    Ok(place.into())
}

/// The directory's device and inode, as a domain identifies it; `None` if stat fails.
fn id(root: &Root) -> Option<Id> {
    let stat = rustix::fs::fstat(root).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

impl Provisioning {
    /// Announces the coming entries. A path of one tenant must not lead through a symlink that
    /// another tenant could make.
    pub(super) fn expect(&mut self, entries: &[TokenEntry]) {
        self.factory.pins.expect_nothing();
        let configs: Vec<Config> = entries
            .iter()
            .filter_map(|entry| Config::for_added_token(entry, &self.running).ok())
            .collect();
        self.factory
            .pins
            .expect(configs.iter().flat_map(|config| &config.grants));
    }

    /// Returns the tenant of this entry, and the paths that it can reach in addition to `others`.
    /// Fails, with advice, if the tenant cannot be served without a restart.
    pub(super) fn admit(
        &mut self,
        entry: &TokenEntry,
        secrets: &mut Secrets,
        others: &Reach,
    ) -> Result<(Arc<Tenant>, Reach)> {
        let config = Config::for_added_token(entry, &self.running)?;
        let files = &config.sandbox.secret_files;
        files
            .iter()
            .try_for_each(|file| others.keeps_apart("--credential", file))?;
        secrets.add_credentials(files);
        let server = self.factory.server(&config)?;
        let apart = others.keeps_cache_apart(server.services());
        let admitted = apart.and_then(|()| self.check(&config, entry, &server, secrets));
        if admitted.is_err() {
            ServerBackgroundWork(Arc::clone(&server)).remove();
        }
        let reach = admitted?;
        self.running.search_bytes -= config.memory.search_bytes;
        Ok((self.factory.tenant(entry, &server), reach))
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
            self.running
                .scratch_parent
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
