//! What a server is played from on one connection: who keeps the recordings, and what was done on
//! the connection, tells a protocol by this what to say.

use std::sync::Arc;
use std::time::Duration;

use crate::record::call::{Exchange, Protocol, Target};

/// See the module. All recordings are of one run.
pub trait Script: Send {
    /// The recording that answers a call. Where there is none, `plain` gives the messages of a
    /// server to what needs no recording, and is told whether a transaction is open. Else the call
    /// is missed; what it was, in words.
    fn ask(
        &mut self,
        asked: Exchange,
        plain: &dyn Fn(bool) -> Option<Vec<Vec<u8>>>,
    ) -> Result<Arc<Exchange>, String>;
    /// The recording that would answer a call. It is not taken out.
    fn peek(&self, asked: &Exchange) -> Option<Arc<Exchange>>;
    fn opened(&mut self, who: &Who);
    /// What was sent together is at its end.
    fn synchronised(&mut self);
    /// The recordings of a target that belong to its connections, in their order. They are not
    /// taken out.
    fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>>;
    /// The same of all targets, which are not used by that.
    fn logins(&self, protocol: Protocol) -> Vec<Arc<Exchange>>;
    /// Counts a login that was answered with one of the [`sessions`](Self::sessions).
    fn logged_in(&self);
    /// Counts a login that no recording answers, as `what` says.
    fn missed_login(&self, target: &Target, what: &str);
    /// Counts a call that there are no words of its protocol for.
    fn missed(&self, target: &Target, what: &str);
    /// How long an answer took, if the program had asked something else on the connection before it
    /// came.
    fn overtaken(&self, found: &Exchange) -> Option<Duration>;
    /// Bytes that it keeps of what was done on the connection.
    fn kept(&self) -> usize;
}

/// Who a connection is of, as a login says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    pub user: Vec<u8>,
    /// The database that is in use at first.
    pub database: Vec<u8>,
    /// Other settings, by their names.
    pub settings: Vec<(String, Vec<u8>)>,
}
