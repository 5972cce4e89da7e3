//! The kernel walls around everything that runs for an agent.
//!
//! `plan` says what the walls shall be, `wire` how the server speaks with the launcher, and the launcher (this program
//! started again) builds the walls and starts commands inside them. ARCHITECTURE.md shows the processes.

pub mod plan;
pub mod wire;

pub use plan::{Limits, Network, Place, Plan, PlannedRoot, Tier};
pub use wire::{Denied, Event, Exit, Hello, RawString, Request};

/// The only argument of this program when it is started as a launcher: no flag, and nothing that a person would type.
pub const LAUNCHER_ARGUMENT: &str = "__launcher";
