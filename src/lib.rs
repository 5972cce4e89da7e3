//! `replay`: a Model Context Protocol server that gives an agent a filesystem and a shell.
//!
//! Folders are layers; a file imports only from layers below its own (ARCHITECTURE.md shows the map).

pub mod audit;
pub mod bench;
pub mod budget;
pub mod caller;
pub mod calls;
pub mod cancel;
pub mod cli;
pub mod config;
pub mod docs;
pub mod edit;
pub mod error;
pub mod exec;
pub mod fs;
pub mod health;
pub mod inspect;
pub mod limits;
pub mod mock;
pub mod mocking;
pub mod mounts;
pub mod notify;
pub mod oneshot;
pub mod outbound;
pub mod pattern;
pub mod policy;
pub mod probe;
pub mod protocol;
pub mod proxy;
pub mod python;
pub mod record;
pub mod sandbox;
pub mod schema;
pub mod search;
pub mod secrets;
pub mod server;
pub mod start;
pub mod telemetry;
pub mod testrun;
pub mod text;
pub mod tools;
pub mod transport;
pub mod watch;
pub mod web;
