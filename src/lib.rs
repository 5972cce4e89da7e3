//! `replay`: a Model Context Protocol server that gives an agent a filesystem and a shell.
//!
//! Folders are layers; a file imports only from layers below its own (ARCHITECTURE.md shows the map).

pub mod cancel;
pub mod exec;
pub mod limits;
pub mod protocol;
