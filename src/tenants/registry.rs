//! Tenants of a server: the service of each, and the remains of its calls.

use std::sync::Arc;

use anyhow::Result;
use replay_base::budget::Budget;
use replay_files::policy::Pins;
use replay_mcp::sessions::{Ledger, Traced, Way};
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::http::{Leavings, Offer, Tenant, TenantLimits, Usage};
use replay_sandbox::exec::BackgroundCommands;

use crate::compose::server_beside;
use crate::config::{Config, TokenEntry};
use crate::server::Server;
use crate::tools::Services;

/// Tenant name on a server without tokens.
pub const ANYONE: &str = "anyone";

/// Each server with the name of its tenant.
pub type NamedServers = Vec<(String, Arc<Server>)>;

/// Maker of tenants, with the parts that all of them share.
pub struct TenantFactory {
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
    pub fn server(&mut self, config: &Config) -> Result<Arc<Server>> {
        server_beside(config, self.budget.account(), &mut self.pins)
    }

    /// Returns the tenant of all clients, if there are no tokens.
    pub fn anyone(&self, server: &Arc<Server>) -> Arc<Tenant> {
        let offer = self.offer(server, None);
        Tenant::new(ANYONE.to_owned(), None, true, offer, self.limits)
    }

    /// Returns the tenant of a token, served by `server`.
    pub fn tenant(&self, entry: &TokenEntry, server: &Arc<Server>) -> Arc<Tenant> {
        Tenant::new(
            entry.name.clone(),
            entry.digest(),
            entry.operator,
            self.offer(server, Some(&entry.name)),
            entry.limits(self.limits),
        )
    }

    /// Returns the offer of this server to the holder of the named token, or to anyone.
    fn offer(&self, server: &Arc<Server>, token: Option<&str>) -> Offer {
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
        let leavings = Box::new(ServerLeavings(Arc::clone(server)));
        Offer {
            service,
            tools,
            usage,
            place,
            leavings,
        }
    }
}

/// Processes and files that the calls of one server have left behind.
pub struct ServerLeavings(pub Arc<Server>);

impl Leavings for ServerLeavings {
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
