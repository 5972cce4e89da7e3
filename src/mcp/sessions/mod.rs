//! Sessions of clients with a service, and the path of a request: admission, dispatch, reply.
//! Independent of the transport.

mod in_flight;
mod ledger;
mod level;
mod metrics;
mod recent;
mod service;
mod session;
mod session_state;
mod spans;

pub use ledger::{Begun, Ending, Entry, Ledger, Observer, size};
pub use level::Level;
pub use metrics::{Families, Metered, Metrics};
pub use recent::{Follower, News, Recent, View, subject};
pub use service::{AdmittedRequest, ExclusiveWork, Outbox, Service, Ticket, Weight};
pub use session::{Admission, Session};
pub use session_state::{ClientInfo, SessionState, stateless_revisions};
pub use spans::{Traced, Way};
