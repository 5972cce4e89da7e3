//! The attack battery: what a command might try to get out, tried.
//!
//! It runs in two halves. [`Victims`] are laid out beyond the walls; then this program is started inside them with
//! [`ATTACK_ARGUMENT`] and a [`Stage`] that says where everything is, makes every attempt of [`GROUPS`] in a copy of
//! itself and prints a line for each. Afterwards the victims are looked at: an attempt that got through without
//! noticing shows there. [`probe`] puts both together.
//!
//! Every attempt is harmless when it gets through: what it opens it does not write, and what would change the machine
//! is spoilt on purpose.
#![expect(clippy::disallowed_methods, reason = "an attempt goes round the doors of this program on purpose")]

mod attempt;
mod controls;
mod escalation;
mod files;
mod inside;
mod ipc;
mod kernel;
mod metadata;
mod namespaces;
mod network;
mod others;
mod processes;
mod readonly;
mod report;
mod signals;
mod stage;
mod terminal;
mod victims;

#[cfg(test)]
mod tests;

pub use attempt::{Attempt, Control, Outcome, Stopped, Try};
pub use inside::inside;
#[cfg(test)]
pub(in crate::sandbox) use report::LANDLOCK_GAPS;
pub use report::{Promise, Report, probe};
pub use stage::Stage;
pub use victims::Victims;

/// First argument that makes this program the inner half; the second is the [`Stage`] as JSON.
pub const ATTACK_ARGUMENT: &str = "__attack";

/// Every attempt, by what it is after. The last group ends with what would end the battery itself.
pub const GROUPS: &[(&str, &[Attempt])] = &[
    ("files", files::ATTEMPTS),
    ("read-only", readonly::ATTEMPTS),
    ("metadata", metadata::ATTEMPTS),
    ("namespaces", namespaces::ATTEMPTS),
    ("processes", processes::ATTEMPTS),
    ("other processes' settings", others::ATTEMPTS),
    ("ipc", ipc::ATTEMPTS),
    ("network", network::ATTEMPTS),
    ("kernel", kernel::ATTEMPTS),
    ("terminal", terminal::ATTEMPTS),
    ("escalation", escalation::ATTEMPTS),
    ("signals", signals::ATTEMPTS),
];

/// What must work inside the walls.
pub const CONTROLS: &[Control] = controls::CONTROLS;
