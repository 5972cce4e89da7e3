//! Source of recordings for one played connection. It tracks the state of the connection, and gives
//! a protocol its answers.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::call::{Exchange, Protocol, Target};

/// Source of recordings for one connection. All recordings belong to one run.
pub trait Script: Send {
    /// Returns the recording that answers a call. Without one, `plain` may return the server's
    /// messages; its argument is true inside a transaction. Otherwise the call counts as missed,
    /// and the error describes it.
    fn ask(
        &mut self,
        asked: Exchange,
        plain: &dyn Fn(bool) -> Option<Vec<Vec<u8>>>,
    ) -> Result<Arc<Exchange>, String>;
    /// Returns the recording that would answer a call, without using it up.
    fn peek(&self, asked: &Exchange) -> Option<Arc<Exchange>>;
    fn opened(&mut self, who: &Identity);
    /// Marks the end of messages that were sent together.
    fn synchronised(&mut self);
    /// Returns the recordings that belong to the connections of a target, in order, without using
    /// them up.
    fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>>;
    /// Returns such recordings of all targets, without using them up.
    fn logins(&self, protocol: Protocol) -> Vec<Arc<Exchange>>;
    /// Counts a login that was answered with one of the [`sessions`](Self::sessions).
    fn logged_in(&self);
    /// Counts a call beyond the recorded ones, which gets an answer without news.
    fn repeated(&self);
    /// Counts a login or a call that no recording answers; `what` describes it, and what to do.
    fn missed_because(&self, target: &Target, what: &str);
    /// Counts a missed call that has no protocol-specific description.
    fn missed(&self, target: &Target, what: &str);
    /// Returns the recorded duration of an answer, if the program sent another request before it
    /// came.
    fn overtaken(&self, found: &Exchange) -> Option<Duration>;
    /// Returns the messages that the server sent unasked after a call, which is played now.
    fn pushes(&self, found: &Exchange) -> Vec<Push>;
    /// Returns the memory, in bytes, for the state of the connection.
    fn buffered_bytes(&self) -> usize;
}

/// A message that the server sends unasked. It follows the requests before it in the recording: the
/// last one of all, and the last one of each connection to its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The message; empty if the server closes the connection.
    pub bytes: Vec<u8>,
    /// Time at which it came in the recording.
    pub came: SystemTime,
    /// Indexes of the recordings of the requests that may have caused it.
    pub after: Vec<usize>,
    /// Index of the recording with the message, and of the message in it; `None` if unknown.
    pub source: Option<(usize, usize)>,
    /// The call of this run, if its number must be in the message.
    pub asked: Option<Arc<[u8]>>,
    /// Delay after that request.
    pub delay: Duration,
    /// Time at which it is sent without that request.
    pub latest: Instant,
}

/// Identity of a connection, from a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub user: Vec<u8>,
    /// The initial database.
    pub database: Vec<u8>,
    /// Other settings by name.
    pub settings: Vec<(String, Vec<u8>)>,
}
