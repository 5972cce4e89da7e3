//! The sessions of one tenant: opened by `initialize`, named by a random number, forgotten when
//! nobody uses them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::conversation::Conversation;
use super::feed::Feed;
use crate::limits::MAX_RECENT_PAGE;

#[derive(Debug)]
pub struct Sessions {
    most: usize,
    idle: Duration,
    table: Mutex<HashMap<String, Entry>>,
    /// Nobody is listened to any more.
    ended: AtomicBool,
    /// Sessions that had to make room for others.
    pub displaced: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    conversation: Arc<Conversation>,
    /// Where what no request asked for goes, while somebody listens.
    feed: Option<Feed>,
    opened: Instant,
    used: Instant,
}

impl Entry {
    /// Somebody listens, or waits for a reply.
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
    /// An empty table of at most so many; one that is not used for `idle` ends.
    pub fn new(most: usize, idle: Duration) -> Self {
        Self {
            most: most.max(1),
            idle,
            table: Mutex::default(),
            ended: AtomicBool::new(false),
            displaced: AtomicU64::new(0),
        }
    }

    /// Takes in a session; its name. Where all places are taken the one goes that was not used for
    /// the longest time; if all of them are busy there is no place.
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
                    "a session makes room for a new one: there are {} (--max-sessions)",
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

    /// The session of this name, which is now used.
    pub fn find(&self, name: &str) -> Option<Arc<Conversation>> {
        let mut table = self.lock();
        let entry = table
            .get_mut(name)
            .filter(|entry| entry.is_busy() || entry.used.elapsed() < self.idle)?;
        entry.used = Instant::now();
        Some(Arc::clone(&entry.conversation))
    }

    /// Sends what no request asked for to this feed from now on; who listened before hears its end.
    /// Whether there is such a session.
    pub fn listen(&self, name: &str, feed: &Feed) -> bool {
        let Some(conversation) = self.find(name) else {
            return false;
        };
        if let Some(entry) = self.lock().get_mut(name)
            && let Some(before) = entry.feed.replace(feed.clone())
        {
            before.end();
        }
        // Set before the table is gone through, so one of the two sees the other.
        if self.ended.load(SeqCst) {
            feed.end();
        }
        conversation.session.connected(Arc::new(feed.clone()));
        true
    }

    /// The one who listened with this feed is gone.
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

    /// Ends a session, and all that it has in flight. Whether there was one. What calls have left
    /// behind stays its tenant's: background commands, logs, Python sessions with their variables.
    /// A client that lost its session finds them in the next.
    pub fn close(&self, name: &str) -> bool {
        let entry = self.lock().remove(name);
        if let Some(entry) = &entry {
            entry.conversation.session.cancel_all();
            entry.hang_up();
        }
        entry.is_some()
    }

    /// Ends all of them.
    pub fn close_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        for entry in all.into_values() {
            entry.conversation.session.cancel_all();
            entry.hang_up();
        }
    }

    /// Ends those that nobody uses any more.
    pub fn sweep(&self) {
        self.lock()
            .retain(|_, entry| entry.is_busy() || entry.used.elapsed() < self.idle);
    }

    /// Lets all who listen go: the server ends.
    pub fn hang_up(&self) {
        self.ended.store(true, SeqCst);
        self.lock().values().for_each(Entry::hang_up);
    }

    pub fn cancel_all(&self) {
        self.lock()
            .values()
            .for_each(|entry| entry.conversation.session.cancel_all());
    }

    /// What a person is told of them, the one that was used last first. Each has the name that
    /// those who look on know it by: the own one lets anybody in.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 bits of the kernel's, in hexadecimal.
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
    fn a_full_table_forgets_what_was_not_used_for_the_longest_time() {
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
    fn a_session_ends_when_nobody_uses_it() {
        let sessions = Sessions::new(2, Duration::ZERO);
        let name = sessions.open(conversation()).unwrap();
        let (feed, _fed) = feed();
        assert!(!sessions.listen(&name, &feed) && sessions.find(&name).is_none());
        sessions.sweep();
        assert_eq!(sessions.len(), 0);
    }
}
