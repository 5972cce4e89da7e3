//! What is said in calls, without a socket: requests taken apart, and the protocols that are no
//! HTTP, of which each takes a recorded connection apart and plays the server's part of one.

pub(super) mod control;
pub(super) mod database;
pub(super) mod dialogue;
pub(super) mod dissector;
pub(super) mod generic;
pub(super) mod http;
pub(super) mod mongo;
pub(super) mod mysql;
pub(super) mod parts;
pub(super) mod postgres;
pub(super) mod redis;
pub(super) mod registry;
pub(super) mod responder;
pub(super) mod script;
pub(super) mod sql;
pub(super) mod wire;
pub mod words;
