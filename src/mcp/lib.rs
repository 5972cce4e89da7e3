//! The Model Context Protocol (<https://modelcontextprotocol.io>): messages, sessions and transports
//! for any service.
//!
//! From the bottom: `protocol` has the messages of all revisions, `schema` checks arguments, and
//! `telemetry` exports spans. `sessions` has the trait [`Service`](sessions::Service) and what all
//! services share: revisions, ids, cancellation, panics. `transport` carries bytes.
#![forbid(unsafe_code)]

pub mod protocol;
pub mod schema;
pub mod sessions;
pub mod telemetry;
pub mod transport;
