//! Bytes to messages and back. The only code that touches stdin and stdout.

mod door;
mod lines;
mod pool;
mod wake;
mod writer;

pub use door::{Door, End, Limits};
pub use writer::Writer;
