//! Bytes to messages and back. The only code that touches stdin and stdout, and that is reached
//! over the network.

mod batch;
pub mod http;
mod lines;
mod pool;
mod stdio;
mod wake;
mod writer;

pub use stdio::{Door, End, Limits};
pub use writer::Writer;
