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
mod secrets;
mod server;
mod tenants;
mod tools;

// For the binary, tests and benches; not a stable interface.
pub use cli::{Cli, parse};
pub use commands::{report, run};
pub use compose::{alone, globs_of, skips_of};
pub use config::{Config, derived_profile_keys, profile_keys};
pub use server::Server;
pub use tools::{Callable, DERIVED, Descriptor, Hints, TOOLS, Toolset};
