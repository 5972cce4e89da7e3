//! Text, cancellation, memory budget and limits: the layer below all others.
#![forbid(unsafe_code)]

pub mod budget;
pub mod cancel;
pub mod limits;
pub mod mounts;
pub mod remaining_path;
pub mod removal;
pub mod text;

/// Name of the program, as clients and collectors see it.
pub const PROGRAM_NAME: &str = "replay";
