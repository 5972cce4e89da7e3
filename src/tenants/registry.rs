//! Tenants of a server: the service of each, and the remains of its calls.

use std::sync::Arc;

use replay_mcp::sessions::{Ledger, Traced, Way};
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::http::{Leavings, Offer, Tenant, TenantLimits, Usage};
use replay_sandbox::exec::BackgroundCommands;

use crate::config::TokenEntry;
use crate::server::Server;
use crate::tools::Services;

/// Tenant name on a server without tokens.
pub const ANYONE: &str = "anyone";

/// Returns the tenant of a token, served by `server`.
pub fn tenant_of(
    entry: &TokenEntry,
    server: &Arc<Server>,
    ledger: &Arc<Ledger>,
    tracer: Option<&Arc<Tracer>>,
    usual: TenantLimits,
) -> Arc<Tenant> {
    let offer = offer(server, ledger, tracer, Some(&entry.name));
    Tenant::new(
        entry.name.clone(),
        entry.digest(),
        entry.operator,
        offer,
        entry.limits(usual),
    )
}

/// Returns the offer of this server to the holder of the named token, or to anyone.
pub fn offer(
    server: &Arc<Server>,
    ledger: &Arc<Ledger>,
    tracer: Option<&Arc<Tracer>>,
    token: Option<&str>,
) -> Offer {
    let tools = server.names().map(str::to_owned).collect();
    let service = ledger.over(server.clone(), token.unwrap_or(ANYONE));
    let service = Traced::over(service, tracer, Way::Http(token.map(str::to_owned)));
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
