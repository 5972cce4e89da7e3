//! `replay`: a Model Context Protocol server that gives an agent a filesystem and a shell.
//!
//! Folders are layers; a file imports only from layers below its own (see the map in
//! ARCHITECTURE.md).
#![forbid(unsafe_code)]

mod audit;
mod calls;
mod cli;
mod commands;
mod compose;
mod config;
mod error;
pub mod internals;
mod mock;
mod protocol;
mod schema;
mod secrets;
mod server;
mod telemetry;
mod tenants;
mod tools;
mod transport;
