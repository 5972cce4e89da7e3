//! Attempts and controls of the attack battery.

use std::io;

use super::outcome::Try;
use super::stage::Stage;

#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// A few words, the same in every report.
    pub name: &'static str,
    /// One-line description.
    pub tries: &'static str,
    /// Makes the attempt, in a process of its own.
    pub run: fn(&Stage) -> Try,
}

/// Something that must work.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// A few words, the same in every report.
    pub name: &'static str,
    /// `true` if the control works only with namespaces.
    pub namespaces_only: bool,
    /// Does it, in a process of its own.
    pub run: fn(&Stage) -> io::Result<()>,
}

pub(super) const fn attempt(
    name: &'static str,
    tries: &'static str,
    run: fn(&Stage) -> Try,
) -> Attempt {
    Attempt { name, tries, run }
}
