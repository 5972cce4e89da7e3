//! Requests to cancel what another connection asks, which come on connections of their own (`PostgreSQL`, manual, "Canceling
//! Requests in Progress").

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::limits::MAX_CANCEL_KEY_BYTES;

#[derive(Debug, Default)]
struct Entry {
    /// Connections that have the key: servers that do not know of each other may tell the same.
    listeners: usize,
    /// How often there was a request with it.
    count: watch::Sender<u64>,
}

/// The connections of one recording or replay whose server has told them with which key they are cancelled, and how often each
/// was to be.
#[derive(Debug, Default)]
pub struct Cancels(Mutex<HashMap<Vec<u8>, Entry>>);

impl Cancels {
    fn entries(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the requests with this key as long as what is given back lives; `None` if no server tells such a key.
    pub(in crate::record) fn listen(self: &Arc<Self>, key: &[u8]) -> Option<Listening> {
        if key.is_empty() || key.len() > MAX_CANCEL_KEY_BYTES {
            return None;
        }
        let mut entries = self.entries();
        let entry = entries.entry(key.to_vec()).or_default();
        entry.listeners += 1;
        let count = entry.count.subscribe();
        drop(entries);
        Some(Listening { cancels: Arc::clone(self), key: key.to_vec(), count })
    }

    /// There is a request with this key. Where nobody has it, it is of no effect, as on a server.
    pub(in crate::record) fn ask(&self, key: &[u8]) {
        if let Some(entry) = self.entries().get(key) {
            entry.count.send_modify(|count| *count += 1);
        }
    }

    /// Waits until there were more than `seen` requests with this key: for ever, if nobody has it.
    pub async fn asked(&self, key: &[u8], seen: u64) {
        let listened = self.entries().get(key).map(|entry| entry.count.subscribe());
        let Some(mut count) = listened else { return pending().await };
        if count.wait_for(|count| *count > seen).await.is_err() {
            pending::<()>().await;
        }
    }
}

/// A connection whose key is known.
#[derive(Debug)]
pub(in crate::record) struct Listening {
    cancels: Arc<Cancels>,
    key: Vec<u8>,
    count: watch::Receiver<u64>,
}

impl Listening {
    pub(in crate::record) fn key(&self) -> &[u8] {
        &self.key
    }

    /// How often it was to be cancelled.
    pub(in crate::record) fn count(&self) -> u64 {
        *self.count.borrow()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut entries = self.cancels.entries();
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.listeners -= 1;
            if entry.listeners == 0 {
                entries.remove(&self.key);
            }
        }
    }
}
