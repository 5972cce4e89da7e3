//! A program's outgoing calls: what they were, how they stand in files, and how they are answered
//! again without a network.
//!
//! Nothing here starts a program or decides what may be reached: connections come in as sockets,
//! with where they were going, and go out through whatever the caller gives to dial with.
//!
//! Each module knows only those above it in this order: `call`, `net` and `http`, `protocol`,
//! `redact`, `matching`, `store`, `proxy`, `naming` (held by `tests/it/layers.rs`).

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
    Content, Dns, End, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Link, Message,
    Outline, Protocol, Side, Target, Wire,
};
pub use matching::{Book, DeclaredNoise, Noise, Recording, Report};
pub use protocol::registry::{player, recorder};
pub use protocol::wire::{PlayStep, RecordStep};
pub use protocol::words;
