//! Who decides about the connections of all commands of a launcher.

use std::fmt::Debug;
use std::sync::Arc;

use super::interception::Listening;
use crate::sandbox::Blocked;

pub trait Gatekeeper: Debug + Send + Sync {
    /// Decides about the connections of one command from now on, until what this gives is dropped. `title` is the tool and its command.
    fn guard(&self, listening: Listening, title: &str) -> Arc<dyn Guarded>;
}

/// One command whose connections are decided about.
pub trait Guarded: Debug + Send + Sync {
    /// What was blocked since this was asked before.
    fn blocked(&self) -> Vec<Blocked>;
}
