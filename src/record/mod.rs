//! A program's outgoing calls: what they were, how they stand in files, and how they are answered again without a network.
//!
//! Nothing here starts a program or decides what may be reached: connections come in as sockets, with where they were
//! going, and go out through whatever the caller gives to dial with.

pub mod book;
mod exchange;
pub mod files;
pub mod names;
pub mod redact;
pub mod summary;
mod dialogue;
mod exchange;
mod mongo;
mod mysql;
mod postgres;
mod redis;
mod role;
pub mod sniff;
mod spoken;
#[cfg(test)]
mod trial;
mod wire;

pub use book::{Book, Closest, Miss, Noise, Recording, Report, Unused};
pub use exchange::{
    Content, Dns, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message, Protocol, Side, Target, Wire,
};
pub use spoken::{Origin, player, recorder};
pub use wire::{PlayStep, Player, RecordStep, Recorder};
