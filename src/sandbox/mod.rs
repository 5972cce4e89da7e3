//! The kernel walls around everything that runs for an agent.
//!
//! `plan` says what the walls shall be, `wire` how the server speaks with the launcher, and the launcher (this program
//! started again) builds the walls and starts commands inside them. ARCHITECTURE.md shows the processes.

pub mod bpf;
pub mod broker;
pub mod landlock;
pub mod plan;
pub mod seccomp;
pub mod sys;
pub mod wire;

pub use plan::{Limits, Network, Place, Plan, PlannedRoot, Tier};
pub use wire::{Denied, Event, Exit, Hello, RawString, Request};
