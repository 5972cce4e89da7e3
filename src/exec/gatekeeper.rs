//! Who decides about the connections of all commands of a launcher.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use super::interception::Listening;
use crate::sandbox::Denied;

/// What makes a command trust who opens its connections.
#[derive(Debug)]
pub struct Trusting<'a> {
    /// Variables beside, or instead of, those that commands have.
    pub environment: Vec<(OsString, OsString)>,
    /// As [`Intercepted::certificates`](super::Intercepted::certificates).
    pub bundle: &'a [u8],
}

pub trait Gatekeeper: Debug + Send + Sync {
    /// `None` if nobody opens connections.
    fn trusting(&self) -> io::Result<Option<Trusting<'_>>>;
    /// Decides about the connections of one command from now on, until what this gives is dropped.
    /// `title` is the tool and its command.
    fn guard(&self, listening: Listening, title: &str) -> Arc<dyn Guarded>;
}

/// One command whose connections are decided about.
pub trait Guarded: Debug + Send + Sync {
    /// Waits a while until all that the command has said is judged. For when the command is over.
    fn settle(&self) {}

    /// What was blocked since this was asked before.
    fn blocked(&self) -> Vec<Denied>;
}
