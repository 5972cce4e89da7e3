//! Sandbox of everything that runs for an agent.
//!
//! - `plan` describes the walls; the server builds it.
//! - `wire` is the protocol between the server and the launcher.
//! - The launcher (this program started again) builds the walls and starts commands inside them.
//! - `status` and `explain` describe the result.
//! - `exec` starts the launcher, sends it commands and follows each to its end.
//!
//! ARCHITECTURE.md shows the processes.
#![forbid(unsafe_code)]

mod bpf;
pub mod broker;
mod cache;
mod caller;
mod capabilities;
mod certificates;
mod cgroup;
mod cgroup_view;
mod common_git;
mod denied;
mod descriptors;
mod dry_run;
mod etc;
pub mod exec;
pub mod explain;
pub mod fault;
mod hidden_paths;
mod home_watch;
pub mod intercept;
mod journaling;
mod kernel_filesystems;
mod kill_scope;
pub mod landlock;
mod launcher;
mod layers;
mod memory_watch;
mod monitor;
mod mount;
mod namespaces;
mod opens;
pub mod plan;
pub mod port_sockets;
mod processors;
mod program;
mod protected_paths;
mod raw_string;
mod reader_sandbox;
mod reaper;
mod remedy;
mod route_counters;
mod scratch;
pub mod seccomp;
mod shared_directory;
pub mod status;
mod supervisor;
mod supervisor_table;
pub mod system_call;
mod system_gaps;
mod terminal;
mod thread_names;
pub mod traced_call;
mod unix_sockets;
mod view;
mod vitals;
mod walls;
pub mod wire;

pub use cache::Cache;
pub use common_git::cannot_hold;
pub use denied::{Blocked, Denied, ProxyRefusal};
pub use dry_run::{Content, DryRunReport, ReportedChange};
pub use etc::own_host_names;
pub use home_watch::HomeWatch;
pub use launcher::run as run_launcher;
pub use plan::{
    CanonicalPath, Extent, Limits, Network, Plan, PlannedDevices, PlannedHide, PlannedJournal,
    PlannedLayer, PlannedRoot, Tier,
};
pub use raw_string::RawString;
pub use reader_sandbox::enclose;
pub use replay_sys::close_on_exec_from;
pub use replay_sys::heap::{give_back as give_back_memory, keep_little as keep_little_heap};
pub use replay_sys::resolver::{addresses, keep_to_own_sources};
pub use scratch::{Scratch, ScratchHold, depot};
pub use shared_directory::SharedDirectory;
pub use status::{WallStatus, instruction_before};
pub use view::{DEVICES, OwnPlaces, home as private_home, is_below_link};
pub use walls::{hold_server, is_inside};
pub use wire::{
    Cause, Changed, Dial, Event, Exit, Guard, Hello, Intercept, MemoryHold, PROXY_PORT, Request,
    Run, Vitals,
};

/// The first argument that makes this program the launcher. Only the server uses it.
pub const LAUNCHER_ARGUMENT: &str = "__launcher";
