//! Transports: stdin and stdout, and HTTP. The only code that touches stdin and stdout or listens
//! on the network.

mod batch;
mod door;
pub mod http;
mod lines;
mod pool;
mod wake;
mod writer;

pub use door::{Door, End, Limits};
pub use writer::Writer;
