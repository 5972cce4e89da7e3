//! What is known of one connection, whatever is spoken on it.

use crate::record::call::Target;

/// One connection of the program, or what is inside its tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it goes.
    pub target: Target,
    /// Whether it is encrypted.
    pub tls: bool,
    /// Its number within a recording, from 1.
    pub connection: u64,
}
