//! All that is tried inside the walls, in order.

use super::attempt::{Attempt, Control};
use super::{
    controls, escalation, files, ipc, kernel, metadata, namespaces, network, process_settings,
    processes, readonly, repositories, signals, terminal,
};

/// Every attempt, by what it is after. The last group ends with what would end the battery itself.
pub const GROUPS: &[(&str, &[Attempt])] = &[
    ("files", files::ATTEMPTS),
    ("read-only", readonly::ATTEMPTS),
    ("git directories", repositories::ATTEMPTS),
    ("metadata", metadata::ATTEMPTS),
    ("namespaces", namespaces::ATTEMPTS),
    ("processes", processes::ATTEMPTS),
    ("other processes' settings", process_settings::ATTEMPTS),
    ("ipc", ipc::ATTEMPTS),
    ("network", network::ATTEMPTS),
    ("kernel", kernel::ATTEMPTS),
    ("terminal", terminal::ATTEMPTS),
    ("escalation", escalation::ATTEMPTS),
    ("signals", signals::ATTEMPTS),
];

/// Operations that must work inside the sandbox.
pub const CONTROLS: &[Control] = controls::CONTROLS;
