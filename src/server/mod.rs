//! One server, its sessions, and the way of a request: admitted, dispatched, answered. Knows no transport.

mod call;
mod dispatch;
mod in_flight;
mod instructions;
mod ledger;
mod level;
mod listing;
mod logs;
mod metrics;
mod place;
mod recent;
mod service;
mod session;
mod spans;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use ledger::{Begun, Ending, Entry, Ledger, Observer, size};
pub use level::Level;
pub use metrics::{Families, Metered, Metrics};
pub use recent::{Follower, News, Recent, View};
pub use service::{Exchange, ExclusiveWork, Outbox, Service};
pub use session::{Admission, ClientInfo, Session, Ticket, stateless_revisions};
pub use spans::{Traced, Way};

use crate::protocol::Revision;
use crate::tools::{Hints, Registry, Services};

/// How a tool's failure is reported to handshake revisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStyle {
    /// As JSON-RPC errors with the codes of the contract.
    #[default]
    Codes,
    /// As results with `isError`, for clients that hide protocol errors from their model.
    Results,
}

/// What all sessions share.
pub struct Server {
    registry: Registry,
    services: Services,
    errors: ErrorStyle,
    lists: listing::Lists,
}

impl Server {
    /// A server for these tools.
    pub fn new(registry: Registry, services: Services, errors: ErrorStyle) -> Arc<Self> {
        let lists = listing::Lists::default();
        Arc::new(Self { registry, services, errors, lists })
    }

    /// What the tools share.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Ends what calls have left behind: Python sessions, background commands, logs of tests, and commands that run now.
    /// Nothing new starts. Files stay.
    pub fn end_left_behind(&self) {
        let Services { commands, python, tests, calls, .. } = &self.services;
        commands.pause();
        python.clear();
        tests.clear();
        calls.forget();
    }

    /// The same once more; whether nothing of it runs any more. To be asked when no call runs.
    pub fn has_left_nothing(&self) -> bool {
        // Calls that came to their end meanwhile may have left something.
        self.end_left_behind();
        self.services.commands.are_over()
    }

    /// The names of the tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.registry.iter().map(crate::tools::Callable::name)
    }

    /// The names of those that run programs or change something.
    pub fn names_of_changing(&self) -> impl Iterator<Item = &str> {
        let changing = self.registry.iter().filter(|tool| tool.hints() != Hints::Observes);
        changing.map(crate::tools::Callable::name)
    }

    /// The tools, as clients of this revision see them: a `ListToolsResult`.
    pub fn list(&self, revision: Revision) -> Arc<str> {
        self.lists.tools(&self.registry, revision)
    }
}
