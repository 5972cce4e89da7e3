//! A session over HTTP, with the requests that wait for its replies.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::protocol::{Id, render};
use crate::sessions::Session;

pub struct Conversation {
    pub session: Session,
    /// Channels for error replies to abandoned requests.
    waiting: Mutex<HashMap<Id, mpsc::Sender<Vec<u8>>>>,
}

impl fmt::Debug for Conversation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Conversation").finish_non_exhaustive()
    }
}

impl Conversation {
    /// Creates a conversation without waiting requests.
    pub fn new(session: Session) -> Arc<Self> {
        Arc::new(Self {
            session,
            waiting: Mutex::default(),
        })
    }

    /// Abandons stuck requests, and sends their error replies.
    pub fn give_up(&self, limit: Duration) {
        for refused in self.session.give_up(limit) {
            let mut bytes = Vec::new();
            render(
                &mut bytes,
                Some(&refused.id),
                &Err(refused.error),
                refused.revision,
            );
            if let Some(waiting) = self.lock().remove(&refused.id) {
                // The channel holds one reply, and only the first counts.
                let _ = waiting.try_send(bytes);
            }
        }
    }

    /// Registers `waiting` for error replies to these requests, unless another channel is
    /// registered.
    pub fn wait(&self, ids: &[Id], waiting: &mpsc::Sender<Vec<u8>>) {
        let mut table = self.lock();
        for id in ids {
            table.entry(id.clone()).or_insert_with(|| waiting.clone());
        }
    }

    /// Removes the registration of this channel for these requests.
    pub fn forget(&self, ids: &[Id], heard: &mpsc::Sender<Vec<u8>>) {
        let mut waiting = self.lock();
        for id in ids {
            if waiting
                .get(id)
                .is_some_and(|other| other.same_channel(heard))
            {
                waiting.remove(id);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, mpsc::Sender<Vec<u8>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
