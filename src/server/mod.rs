//! The server, its sessions, and the path of a request: admission, dispatch, reply. Independent of
//! the transport.

mod call;
mod deferred_service;
mod dispatch;
mod in_flight;
mod instructions;
mod ledger;
mod level;
mod listing;
mod logs;
mod metrics;
mod recent;
mod service;
mod session;
mod session_state;
mod spans;
mod status;
#[cfg(test)]
mod tests;
mod tool_server;

pub use deferred_service::{Front, StartingService};
pub use instructions::instructions;
pub use ledger::{Begun, Ending, Entry, Ledger, Observer, size};
pub use level::Level;
pub use metrics::{Families, Metered, Metrics};
pub use recent::{Follower, News, Recent, View};
pub use service::{AdmittedRequest, ExclusiveWork, Outbox, Service, Ticket};
pub use session::{Admission, Session};
pub use session_state::stateless_revisions;
pub use spans::{Traced, Way};
pub use tool_server::{ErrorStyle, Server};
