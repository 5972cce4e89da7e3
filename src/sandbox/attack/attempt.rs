//! What an attempt is.

use std::io;

use super::outcome::Try;
use super::stage::Stage;

#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// A few words, the same in every report.
    pub name: &'static str,
    /// What it does, in a line.
    pub tries: &'static str,
    /// Makes it, in a process of its own.
    pub run: fn(&Stage) -> Try,
}

/// Something that must work.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// A few words, the same in every report.
    pub name: &'static str,
    /// Whether it needs namespaces; without them it is known not to work.
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
