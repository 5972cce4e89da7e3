//! Telemetry: spans of requests, exported to an OpenTelemetry collector over OTLP/HTTP as JSON.
//!
//! A request only puts its span into a bounded queue. One thread sends them in batches of some
//! hundred, or after a few seconds. The thread starts before the server enters its Landlock domain,
//! which refuses TCP, and opens no files but those of the resolver. A span is dropped and counted
//! if the queue is full or its export fails for good.

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
