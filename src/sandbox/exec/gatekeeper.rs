//! Gatekeeper: decides about the network connections of all commands of a launcher.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use super::interception::Listening;
use crate::Denied;

/// Environment and certificates that make a command trust the gatekeeper's TLS certificates.
#[derive(Debug)]
pub struct Trusting<'a> {
    /// Additional environment variables; they override those of all commands.
    pub environment: Vec<(OsString, OsString)>,
    /// Certificates, like [`Intercepted::certificates`](super::Intercepted::certificates).
    pub bundle: &'a [u8],
}

pub trait Gatekeeper: Debug + Send + Sync {
    /// Returns the settings for TLS; `None` if the gatekeeper does not intercept TLS.
    fn trusting(&self) -> io::Result<Option<Trusting<'_>>>;
    /// Decides about the connections of one command, until the returned guard is dropped. `title`
    /// is the tool and its command.
    fn guard(&self, listening: Listening, title: &str) -> Arc<dyn Guarded>;
}

/// Guard of one command's connections.
pub trait Guarded: Debug + Send + Sync {
    /// Waits a while until all requests of an ended command are decided.
    fn settle(&self) {}

    /// Returns the connections blocked since the last call.
    fn blocked(&self) -> Vec<Denied>;
}
