//! Tenants of a server: the service of each, and the work that its calls leave behind.

use std::sync::Arc;

use anyhow::Result;
use replay_base::budget::Budget;
use replay_files::policy::Pins;
use replay_mcp::sessions::{Ledger, Traced, Way};
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::http::{BackgroundWork, Tenant, TenantBackend, TenantLimits, Usage};
use replay_sandbox::exec::BackgroundCommands;

use crate::compose::server_beside;
use crate::config::{Config, TokenEntry};
use crate::server::Server;
use crate::tools::Services;

/// Tenant name on a server without tokens.
pub(super) const ANYONE: &str = "anyone";

/// Each server with the name of its tenant.
pub(super) type NamedServers = Vec<(String, Arc<Server>)>;

/// Maker of tenants, with the parts that all of them share.
pub(super) struct TenantFactory {
    /// Limits of tenants without limits of their own.
    pub limits: TenantLimits,
    /// Ledger in which calls are entered.
    pub ledger: Arc<Ledger>,
    pub tracer: Option<Arc<Tracer>>,
    /// The memory budget that all tenants share.
    pub budget: Arc<Budget>,
    /// Pinned directories of all tenants, including former ones.
    pub pins: Pins,
}

impl TenantFactory {
    /// Builds the server of a tenant.
    pub(super) fn server(&mut self, config: &Config) -> Result<Arc<Server>> {
        server_beside(config, self.budget.account(), &mut self.pins)
    }

    /// Returns the tenant of all clients, if there are no tokens.
    pub(super) fn anyone(&self, server: &Arc<Server>) -> Arc<Tenant> {
        let backend = self.backend(server, None);
        Tenant::new(ANYONE.to_owned(), None, true, backend, self.limits)
    }

    /// Returns the tenant of a token, served by `server`.
    pub(super) fn tenant(&self, entry: &TokenEntry, server: &Arc<Server>) -> Arc<Tenant> {
        Tenant::new(
            entry.name.clone(),
            entry.digest(),
            entry.operator,
            self.backend(server, Some(&entry.name)),
            entry.limits(self.limits),
        )
    }

    /// Returns the backend for the holder of the named token, or for anyone.
    fn backend(&self, server: &Arc<Server>, token: Option<&str>) -> TenantBackend {
        let tools = server.names().map(str::to_owned).collect();
        let service = self.ledger.over(server.clone(), token.unwrap_or(ANYONE));
        let way = Way::Http(token.map(str::to_owned));
        let service = Traced::over(service, self.tracer.as_ref(), way);
        let counted = Arc::clone(server);
        let usage = Box::new(move || {
            let Services {
                commands, python, ..
            } = counted.services();
            Usage {
                commands: commands.running.len(),
                background: commands
                    .background
                    .as_ref()
                    .map_or(0, BackgroundCommands::running),
                python: python
                    .list()
                    .0
                    .iter()
                    .filter(|session| session.was_started())
                    .map(|session| (session.name().to_owned(), session.word()))
                    .collect(),
            }
        });
        let described = Arc::clone(server);
        let place = Box::new(move || described.place());
        let background_work = Box::new(ServerBackgroundWork(Arc::clone(server)));
        TenantBackend {
            service,
            tools,
            usage,
            place,
            background_work,
        }
    }
}

/// Processes and files that the calls of one server have left behind.
pub(super) struct ServerBackgroundWork(pub Arc<Server>);

impl BackgroundWork for ServerBackgroundWork {
    fn end(&self) {
        self.0.end_left_behind();
    }

    fn have_ended(&self) -> bool {
        self.0.has_left_nothing()
    }

    fn remove(&self) -> usize {
        self.0.services().commands.end_all()
    }
}
