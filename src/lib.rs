//! `replay`: a Model Context Protocol server that gives an agent a filesystem and a shell.
//!
//! Folders are layers; a file imports only from layers below its own (see the map in
//! ARCHITECTURE.md).

mod aside;
mod audit;
mod budget;
mod calls;
mod cancel;
mod cli;
mod commands;
mod compose;
mod config;
mod documents;
mod edit;
mod egress;
mod error;
mod exec;
mod fs;
mod gate;
mod hide;
pub mod internals;
mod journal;
mod limits;
mod mock;
mod mounts;
mod outbound;
mod pattern;
mod policy;
mod protocol;
mod python;
mod record;
mod removal;
mod sandbox;
mod schema;
mod search;
mod secrets;
mod server;
mod sinks;
mod telemetry;
mod testrun;
mod text;
mod tools;
mod transport;
mod web;
