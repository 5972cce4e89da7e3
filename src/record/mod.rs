//! A program's outgoing calls: what they were, how they stand in files, and how they are answered again without a network.
//!
//! Nothing here starts a program or decides what may be reached: connections come in as sockets, with where they were
//! going, and go out through whatever the caller gives to dial with.

pub mod book;
pub mod ca;
mod cancels;
mod coding;
mod dialogue;
mod dns;
mod exchange;
pub mod files;
mod generic;
mod history;
mod http1;
mod link;
mod mongo;
mod mysql;
pub mod names;
mod outline;
mod postgres;
pub mod proxy;
pub mod redact;
mod redis;
mod role;
mod service;
mod silence;
pub mod sniff;
mod spoken;
mod sql;
pub mod summary;
#[cfg(test)]
mod trial;
mod trust_store;
mod websocket;
mod wire;

pub use book::{Book, Change, Closest, Lesson, Miss, Noise, Recording, Report, Unused};
pub use cancels::Cancels;
pub use exchange::{
    Content, Dns, Exchange, Http, HttpRequest, HttpResponse, HttpVersion, Message, Protocol, Side, Target, Wire,
};
pub use generic::{GenericPlayer, GenericRecorder};
pub use link::Link;
pub use outline::{Outline, Refusal};
pub use silence::Silence;
pub use spoken::{Origin, player, recorder};
pub use wire::{Cancellable, PlayStep, Player, RecordStep, Recorder};
