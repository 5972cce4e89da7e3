//! The kernel walls around everything that runs for an agent.
//!
//! `plan` says what the walls shall be, `wire` how the server speaks with the launcher, and the launcher (this program
//! started again) builds the walls and starts commands inside them. `environment` and `toolchains` say what commands get
//! of the server's surroundings, `standing` and `explain` what came of it. ARCHITECTURE.md shows the processes.

pub mod attack;
mod bpf;
pub mod broker;
mod capabilities;
mod cell;
mod certificates;
mod cgroup;
mod children;
mod duties;
pub mod environment;
mod etc;
pub mod explain;
pub mod fault;
mod hidden;
pub mod intercept;
mod kernels;
pub mod landlock;
mod launcher;
mod memory;
mod mount;
mod namespaces;
pub mod plan;
mod program;
mod protected;
mod raw_string;
mod reach;
mod removal;
mod roll;
mod routes;
mod scratch;
pub mod seccomp;
mod shared_directory;
pub mod standing;
mod supervisor;
mod sys;
mod terminal;
pub mod toolchains;
mod view;
mod vitals;
mod walls;
mod watch;
pub mod wire;

pub use environment::EnvRules;
pub use fault::Fault;
pub use launcher::run as run_launcher;
pub use plan::{Limits, Network, Place, Plan, PlannedRoot, Tier};
pub use raw_string::RawString;
pub use scratch::{Scratch, ScratchHold, depot};
pub use shared_directory::SharedDirectory;
pub use standing::Standing;
pub use sys::heap::keep_little as keep_little_heap;
pub use sys::leases::{is_lease_undisturbed, take_read_lease};
pub use sys::names::addresses;
pub use sys::pages::unwritten_pages;
pub use toolchains::Visible;
pub use walls::{hold_server, is_inside};
pub use wire::{Cause, Denied, Event, Exit, Guard, Hello, Intercept, MemoryHold, PROXY_PORT, Request, Vitals};

/// The first argument that makes this program the launcher. Only the server uses it.
pub const LAUNCHER_ARGUMENT: &str = "__launcher";
