//! The attack battery: what a command might try to get out, tried.
//!
//! The battery has two halves. [`Victims`] are set up outside the walls. Then this program is
//! started inside them with [`ATTACK_ARGUMENT`] and a [`Stage`](stage::Stage), which holds all
//! paths. It makes every attempt of [`GROUPS`] in a copy of itself, and prints a line for each.
//! Afterwards the victims are checked: they show attempts that succeeded unnoticed. [`probe`] runs
//! both halves.
//!
//! Every attempt is harmless when it gets through: what it opens it does not write, and what would
//! change the machine is spoilt on purpose.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "an attempt uses system calls directly on purpose"
)]

#[cfg(target_arch = "aarch64")]
mod arm32;
mod attempt;
mod battery;
mod controls;
mod escalation;
mod files;
mod inside;
mod ipc;
mod kernel;
mod metadata;
mod namespaces;
mod network;
mod outcome;
mod process_settings;
mod processes;
mod readonly;
mod report;
mod repositories;
mod signals;
mod stage;
mod terminal;
mod traced;
mod victims;

#[cfg(test)]
mod tests;

pub use battery::{CONTROLS, GROUPS};
pub use inside::{ATTACK_ARGUMENT, inside};
pub use outcome::{Outcome, Stopped, Try};
pub use report::{LANDLOCK_GAPS, Promise, Report, probe};
pub use victims::Victims;
