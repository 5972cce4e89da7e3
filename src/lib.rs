//! `replay`: a Model Context Protocol server that gives an agent a filesystem and a shell.
//!
//! Folders are layers; a file imports only from layers below its own (see the map in
//! ARCHITECTURE.md).
#![forbid(unsafe_code)]

mod audit;
mod autorun;
mod calls;
mod cli;
mod commands;
mod compose;
mod config;
mod documents;
mod edit;
mod error;
mod exec;
mod fs;
mod hide;
mod http_client;
pub mod internals;
mod journal;
mod mock;
mod network;
mod policy;
mod protocol;
mod python;
mod record;
mod sandbox;
mod schema;
mod search;
mod secrets;
mod server;
mod set_aside;
mod telemetry;
mod tenants;
mod testrun;
mod tools;
mod transport;
