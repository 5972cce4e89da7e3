//! Transports: stdin and stdout, and HTTP. The only code that touches stdin and stdout or listens
//! on the network.

mod batch;
pub mod http;
mod lines;
mod pool;
mod stdio;
mod wake;
mod writer;

pub use stdio::{End, Limits, StdioServer};
pub use writer::Writer;
