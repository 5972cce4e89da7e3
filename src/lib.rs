//! `replay`: a Model Context Protocol server that gives an agent a filesystem and a shell.
//!
//! Folders are layers; a file imports only from layers below its own (ARCHITECTURE.md shows the map).

pub mod audit;
pub mod budget;
pub mod calls;
pub mod cancel;
pub mod cli;
pub mod commands;
pub mod compose;
pub mod config;
pub mod edit;
pub mod error;
pub mod exec;
pub mod fs;
pub mod limits;
pub mod mock;
pub mod mounts;
pub mod outbound;
pub mod pattern;
pub mod policy;
pub mod protocol;
pub mod python;
pub mod record;
pub mod sandbox;
pub mod schema;
pub mod search;
pub mod secrets;
pub mod server;
pub mod telemetry;
pub mod testrun;
pub mod text;
pub mod tools;
pub mod transport;
pub mod web;
