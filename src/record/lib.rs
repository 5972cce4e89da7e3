//! Recording of a program's outgoing calls, the files that hold them, and replay without a network.
//!
//! Code here neither starts a program nor decides which hosts it may reach. Connections arrive as
//! sockets with their original destination. The caller supplies the dialer for outgoing
//! connections.
//!
//! Each module depends only on modules earlier in this order: `call`, `net` and `http`, `protocol`,
//! `redact`, `matching`, `store`, `proxy`, `naming` (checked by `tests/it/layers.rs`).
#![forbid(unsafe_code)]

pub mod call;
mod http;
pub mod matching;
pub mod naming;
pub mod net;
mod protocol;
pub mod proxy;
pub mod redact;
pub mod store;
#[cfg(test)]
mod test_support;

pub use call::{
    BodyEnd, Content, Dns, End, Exchange, Framing, Http, HttpRequest, HttpResponse, HttpVersion,
    Link, Message, Outline, Protocol, Side, StatementMeta, Target, Wire,
};
pub use matching::{DeclaredNoise, Noise, Recording, Recordings, Report};
pub use protocol::registry::{player, recorder};
pub use protocol::wire::{PlayStep, RecordStep};
pub use protocol::words;
