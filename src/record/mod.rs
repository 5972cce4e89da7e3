//! A program's outgoing calls: what they were, how they stand in files, and how they are answered again without a network.
//!
//! Nothing here starts a program or decides what may be reached: connections come in as sockets, with where they were
//! going, and go out through whatever the caller gives to dial with.

pub mod book;
pub mod ca;
mod coding;
mod dns;
mod exchange;
mod generic;
mod http1;
mod link;
mod outline;
pub mod proxy;
mod sniff;
mod trust_store;
mod websocket;
mod wire;

pub use book::{Book, Closest, Miss, Noise, Report};
pub use exchange::{
    Content, Dns, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message, Protocol, Side, Target, Wire,
};
pub use generic::{GenericPlayer, GenericRecorder};
pub use link::Link;
pub use outline::{Outline, Refusal};
pub use wire::{PlayStep, Player, RecordStep, Recorder};
