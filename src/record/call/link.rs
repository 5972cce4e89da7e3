//! What is known of one connection, whatever is spoken on it.

use std::time::SystemTime;

use crate::record::call::{Content, Exchange, Target};

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

impl Link {
    /// A call on it that went its way, from when it was sent to when it was answered.
    pub fn exchange(&self, content: Content, sent_at: SystemTime, answered_at: SystemTime) -> Exchange {
        Exchange {
            target: self.target.clone(),
            tls: self.tls,
            connection: self.connection,
            sent_at,
            answered_at,
            abandoned: false,
            content,
        }
    }
}
