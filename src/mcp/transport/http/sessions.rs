//! Sessions of one tenant: opened by `initialize`, identified by a random number, expired when
//! idle.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replay_base::limits::MAX_RECENT_PAGE;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::conversation::Conversation;
use super::feed::Feed;

/// Closed sessions whose ids are remembered.
const REMEMBERED_CLOSED_SESSIONS: usize = 256;

#[derive(Debug)]
pub struct Sessions {
    most: usize,
    idle: Duration,
    table: Mutex<HashMap<String, Entry>>,
    /// Ids of the last sessions that their clients closed.
    closed: Mutex<VecDeque<String>>,
    /// `true` once the server ends, and streams are closed.
    ended: AtomicBool,
    /// Number of sessions evicted for new ones.
    pub displaced: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    conversation: Arc<Conversation>,
    /// Feed for unsolicited messages, while the client listens.
    feed: Option<Feed>,
    opened: Instant,
    used: Instant,
}

impl Entry {
    /// Returns true if a client listens or waits for a reply.
    fn is_busy(&self) -> bool {
        self.feed.is_some() || !self.conversation.session.is_idle()
    }

    fn hang_up(&self) {
        if let Some(feed) = &self.feed {
            feed.end();
        }
    }
}

impl Sessions {
    /// Creates a table of at most `most` sessions, which expire after `idle`.
    pub fn new(most: usize, idle: Duration) -> Self {
        Self {
            most: most.max(1),
            idle,
            table: Mutex::default(),
            closed: Mutex::default(),
            ended: AtomicBool::new(false),
            displaced: AtomicU64::new(0),
        }
    }

    /// Adds a session, and returns its id. A full table evicts the least recently used session.
    /// Returns `None` if all are busy.
    pub fn open(&self, conversation: Arc<Conversation>) -> Option<String> {
        let name = random_name()?;
        let digest = Sha256::digest(&name);
        let shown = digest[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        conversation
            .session
            .state
            .set_name(&format!("{shown:016x}"));
        self.sweep();
        let mut table = self.lock();
        if table.len() >= self.most {
            let idle = table.iter().filter(|(_, entry)| !entry.is_busy());
            let oldest = idle
                .min_by_key(|(_, entry)| entry.used)
                .map(|(name, _)| name.clone())?;
            if let Some(entry) = table.remove(&oldest) {
                self.displaced.fetch_add(1, Relaxed);
                let idle_seconds = entry.used.elapsed().as_secs();
                tracing::info!(
                    idle_seconds,
                    "an idle session was ended for a new one: {} are open (--max-sessions)",
                    self.most
                );
            }
        }
        table.insert(
            name.clone(),
            Entry {
                conversation,
                feed: None,
                opened: Instant::now(),
                used: Instant::now(),
            },
        );
        Some(name)
    }

    /// Returns the session with this id, and marks it as used.
    pub fn find(&self, name: &str) -> Option<Arc<Conversation>> {
        let mut table = self.lock();
        let entry = table
            .get_mut(name)
            .filter(|entry| entry.is_busy() || entry.used.elapsed() < self.idle)?;
        entry.used = Instant::now();
        Some(Arc::clone(&entry.conversation))
    }

    /// Directs unsolicited messages to this feed, and ends the previous feed. Returns true if the
    /// session exists.
    pub fn listen(&self, name: &str, feed: &Feed) -> bool {
        let Some(conversation) = self.find(name) else {
            return false;
        };
        if let Some(entry) = self.lock().get_mut(name)
            && let Some(before) = entry.feed.replace(feed.clone())
        {
            before.end();
        }
        // Set before the table is read, so that either this thread or `hang_up` ends the feed.
        if self.ended.load(SeqCst) {
            feed.end();
        }
        conversation.session.connected(Arc::new(feed.clone()));
        true
    }

    /// The client with this feed has disconnected.
    pub fn leave(&self, name: &str, feed: &Feed) {
        if let Some(entry) = self.lock().get_mut(name)
            && entry
                .feed
                .as_ref()
                .is_some_and(|current| current.is_same(feed))
        {
            entry.feed = None;
            entry.used = Instant::now();
        }
    }

    /// Ends a session and its calls in flight. Returns true if it existed. Background commands,
    /// logs and Python sessions belong to the tenant and stay. The client finds them in its next
    /// session.
    pub fn close(&self, name: &str) -> bool {
        let entry = self.lock().remove(name);
        if let Some(entry) = &entry {
            entry.conversation.session.cancel_all();
            entry.hang_up();
            let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            closed.push_back(name.to_owned());
            if closed.len() > REMEMBERED_CLOSED_SESSIONS {
                closed.pop_front();
            }
        }
        entry.is_some()
    }

    /// Returns true for the id of a session that its client closed lately.
    pub fn was_closed(&self, name: &str) -> bool {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.iter().any(|closed| closed == name)
    }

    /// Ends all sessions.
    pub fn close_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        for entry in all.into_values() {
            entry.conversation.session.cancel_all();
            entry.hang_up();
        }
    }

    /// Ends expired sessions.
    pub fn sweep(&self) {
        self.lock()
            .retain(|_, entry| entry.is_busy() || entry.used.elapsed() < self.idle);
    }

    /// Ends all feeds, since the server ends.
    pub fn hang_up(&self) {
        self.ended.store(true, SeqCst);
        self.lock().values().for_each(Entry::hang_up);
    }

    pub fn cancel_all(&self) {
        self.lock()
            .values()
            .for_each(|entry| entry.conversation.session.cancel_all());
    }

    /// Describes the sessions for observers, the most recently used first. Each has its public
    /// name, since the id is a secret.
    pub fn describe(&self) -> Vec<Value> {
        let table = self.lock();
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(_, entry)| Reverse(entry.used));
        let describe = |(_, entry): (&String, &Entry)| {
            json!({
                "id": entry.conversation.session.state.name().as_deref(),
                "revision": entry.conversation.session.state.revision().as_str(),
                "openSeconds": entry.opened.elapsed().as_secs(),
                "idleSeconds": if entry.conversation.session.is_idle() { entry.used.elapsed().as_secs() } else { 0 },
                "listens": entry.feed.is_some(),
            })
        };
        entries
            .into_iter()
            .take(MAX_RECENT_PAGE)
            .map(describe)
            .collect()
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns 128 random bits of the kernel, in hexadecimal.
fn random_name() -> Option<String> {
    use std::fmt::Write as _;
    let mut bytes = [0; 16];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).ok()?;
    let mut name = String::with_capacity(32);
    for byte in bytes {
        let _ = write!(name, "{byte:02x}");
    }
    (got == bytes.len()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::feed::feed;
    use crate::transport::http::tests::conversation;

    #[test]
    fn full_table_evicts_least_recently_used_session() {
        let sessions = Sessions::new(2, Duration::from_mins(1));
        let first = sessions.open(conversation()).unwrap();
        let second = sessions.open(conversation()).unwrap();
        assert!(first.len() == 32 && first != second);
        assert!(sessions.find(&first).is_some());
        assert_eq!(sessions.displaced.load(Relaxed), 0);
        let third = sessions.open(conversation()).unwrap();
        assert_eq!(sessions.displaced.load(Relaxed), 1);
        assert_eq!(
            [&first, &second, &third].map(|name| sessions.find(name).is_some()),
            [true, false, true]
        );
        let (feed, _fed) = feed();
        assert!(sessions.listen(&first, &feed) && sessions.listen(&third, &feed));
        assert_eq!(sessions.open(conversation()), None);
        sessions.leave(&third, &feed);
        assert!(sessions.open(conversation()).is_some());
        assert_eq!(
            [&first, &third].map(|name| sessions.find(name).is_some()),
            [true, false]
        );
        assert!(sessions.close(&first) && !sessions.close(&first));
        assert_eq!(sessions.len(), 1);
        sessions.hang_up();
        let last = sessions.open(conversation()).unwrap();
        let (feed, mut fed) = crate::transport::http::feed::feed();
        assert!(sessions.listen(&last, &feed));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(matches!(
            fed.poll_next(&mut cx),
            std::task::Poll::Ready(None)
        ));
    }

    #[test]
    fn idle_session_expires() {
        let sessions = Sessions::new(2, Duration::ZERO);
        let name = sessions.open(conversation()).unwrap();
        let (feed, _fed) = feed();
        assert!(!sessions.listen(&name, &feed) && sessions.find(&name).is_none());
        sessions.sweep();
        assert_eq!(sessions.len(), 0);
    }
}
