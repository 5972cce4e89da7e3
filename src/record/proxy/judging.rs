//! Count of connections without a final verdict. The report of a command waits for them.

use std::sync::Arc;

use tokio::sync::watch;

pub(super) struct PendingVerdicts {
    /// Number of connections without a final verdict that do not wait for their real server.
    open: watch::Sender<i64>,
    /// Becomes true when the command ends.
    is_ending: watch::Sender<bool>,
}

/// Guard of a connection, a datagram target or a listener without a final verdict.
pub(super) struct VerdictGuard(Arc<PendingVerdicts>);

impl PendingVerdicts {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            open: watch::Sender::new(0),
            is_ending: watch::Sender::new(false),
        })
    }

    pub(super) fn begin(self: &Arc<Self>) -> VerdictGuard {
        self.open.send_modify(|open| *open += 1);
        VerdictGuard(Arc::clone(self))
    }

    /// Excludes a connection from the count until it is resumed.
    pub(super) fn suspend(&self) {
        self.open.send_modify(|open| *open -= 1);
    }

    pub(super) fn resume(&self) {
        self.open.send_modify(|open| *open += 1);
    }

    /// Tells listeners to accept only connections that already wait.
    pub(super) fn end(&self) {
        self.is_ending.send_replace(true);
    }

    /// Waits until the command ends.
    pub(super) async fn ending(&self) {
        let _ = self
            .is_ending
            .subscribe()
            .wait_for(|is_ending| *is_ending)
            .await;
    }

    /// Waits until no further verdict is possible.
    pub(super) async fn all_decided(&self) {
        let _ = self.open.subscribe().wait_for(|open| *open <= 0).await;
    }
}

impl Drop for VerdictGuard {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}
