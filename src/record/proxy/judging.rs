//! Connections about which a verdict may still come, counted: the report of a command waits for
//! them.

use std::sync::Arc;

use tokio::sync::watch;

pub struct Judging {
    /// Connections without a final verdict, less those that wait for their real server.
    open: watch::Sender<i64>,
    /// Turns true when the command is over.
    is_ending: watch::Sender<bool>,
}

/// A connection, a place of datagrams or a listener without a final verdict.
pub struct Unjudged(Arc<Judging>);

impl Judging {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            open: watch::Sender::new(0),
            is_ending: watch::Sender::new(false),
        })
    }

    pub fn begin(self: &Arc<Self>) -> Unjudged {
        self.open.send_modify(|open| *open += 1);
        Unjudged(Arc::clone(self))
    }

    /// Counts a connection no more, until it is resumed.
    pub fn suspend(&self) {
        self.open.send_modify(|open| *open -= 1);
    }

    pub fn resume(&self) {
        self.open.send_modify(|open| *open += 1);
    }

    /// Has listeners accept what waits already, and nothing more.
    pub fn end(&self) {
        self.is_ending.send_replace(true);
    }

    /// Waits until the command is over.
    pub async fn ending(&self) {
        let _ = self
            .is_ending
            .subscribe()
            .wait_for(|is_ending| *is_ending)
            .await;
    }

    /// Waits until no verdict can come any more.
    pub async fn settled(&self) {
        let _ = self.open.subscribe().wait_for(|open| *open <= 0).await;
    }
}

impl Drop for Unjudged {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}
