//! Spans of requests, exported to an OpenTelemetry collector over OTLP/HTTP in its JSON encoding.
//!
//! A request only puts its span into a bounded queue. One thread takes them out, some hundred at a
//! time or after a few seconds, and sends them; it is started before the server enters its own
//! domain, which refuses TCP, and opens nothing but what the resolver reads. A span that finds no
//! room, or whose export fails for good, is dropped and counted.

mod exporter;
mod otlp;
mod queue;
mod sampler;
mod span;
#[cfg(test)]
mod tests;
mod tracer;

pub use exporter::Settings;
pub use sampler::Sampler;
pub use span::Failure;
pub use tracer::{Begun, Tracer};
