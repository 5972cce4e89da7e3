//! Bytes to messages and back. The only code that touches stdin and stdout, and that is reached
//! over the network.

mod batch;
mod door;
pub mod http;
mod lines;
mod pool;
mod wake;
mod writer;

pub use door::{Door, End, Limits};
pub use writer::Writer;
