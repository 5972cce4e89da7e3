//! Protocols of recorded calls, without sockets: parsers of requests, and a recorder and a player
//! for each protocol other than HTTP.

mod byte_parts;
pub(super) mod control;
pub(super) mod database;
pub(super) mod dialogue;
pub(super) mod dissector;
mod frame_format;
pub(super) mod frames;
mod framing;
pub(super) mod generic;
mod grpc;
mod heartbeat;
pub(super) mod http;
pub(super) mod mongo;
pub(super) mod mysql;
pub(super) mod part_list;
pub(super) mod postgres;
pub(super) mod protobuf;
pub(super) mod redis;
pub(super) mod registry;
pub(super) mod responder;
pub(super) mod script;
pub(super) mod sql;
pub(super) mod wire;
pub mod words;
