//! Recent and running calls, for observers. Memory is bounded for each tenant, and followers need
//! no queues.
//!
//! Each change has a rising number. A follower is only the last number it has seen. A slow follower
//! gets the latest state of each call, or is told of a gap.

mod excerpt;
mod observer;
mod ring;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

pub use excerpt::subject;
use replay_base::limits::MAX_RECENT_PAGE;
use ring::{Number, RecentCall, Ring};

pub(super) use summary::CallDescription;

/// Largest size of a page of remembered calls with more than one call, in bytes.
const MAX_RECENT_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Followers of calls at the same time, for one tenant.
const MAX_RECENT_FOLLOWERS: usize = 32;

/// The calls that an observer may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<'a> {
    /// Calls of all tenants.
    All,
    /// Calls of this tenant.
    Only(&'a str),
}

/// Recent calls of all tenants.
pub struct Recent {
    /// Identifies one run of the server, so that no follower resumes at a position of another run.
    run: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of the last change over all tenants.
    last: u64,
    /// Rings by tenant name. There are few: one for each token, and stdin.
    rings: BTreeMap<Arc<str>, Ring>,
    followers: HashMap<u64, FollowerEntry>,
    next_follower: u64,
    ended: bool,
}

/// Registration of a follower.
struct FollowerEntry {
    /// The tenant whose calls it follows; `None` for all.
    only: Option<Arc<str>>,
    waker: Option<Waker>,
}

/// Some ended calls, the last to end first, and all running ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Position at which a follower resumes after this page.
    pub position: String,
    /// Running calls, each a JSON object.
    pub running: Vec<String>,
    /// Ended calls, each a JSON object.
    pub calls: Vec<String>,
    /// Value of `before` for the next page; `None` if no older calls are left.
    pub before: Option<u64>,
}

/// An event for a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A call has begun, progressed, or ended.
    Call {
        /// Position after this event.
        position: String,
        /// The call, a JSON object.
        call: String,
    },
    /// Calls ended and were dropped before the follower saw them.
    Gap {
        /// Position after this event.
        position: String,
    },
}

/// A subscription to recent calls. It buffers no events.
#[derive(Debug)]
pub struct Follower {
    recent: Arc<Recent>,
    only: Option<Arc<str>>,
    own: u64,
    seen: u64,
    /// `true` if its position is of another run, or was dropped.
    has_missed: bool,
}

impl fmt::Debug for Recent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Recent").finish_non_exhaustive()
    }
}

impl Recent {
    /// Creates an empty list. `run` should differ in every run of the server.
    pub fn new(run: u32) -> Arc<Self> {
        Arc::new(Self {
            run,
            state: Mutex::default(),
        })
    }

    /// Adds a running call of this tenant. Its id must be unique over all tenants.
    pub fn begin(&self, tenant: &Arc<str>, id: u64, description: CallDescription) {
        let entry = RecentCall::new(id, description);
        self.change(tenant, |ring, seq| ring.begin(seq, entry));
    }

    /// Reports the progress of a call, a JSON value. Ignored if it comes soon after the previous
    /// one.
    pub fn progress(&self, tenant: &Arc<str>, id: u64, progress: &str) {
        let now = Instant::now();
        self.change(tenant, |ring, seq| ring.progress(seq, id, progress, now));
    }

    /// Ends a call, and replaces its description.
    pub fn end(&self, tenant: &Arc<str>, id: u64, description: CallDescription) {
        let entry = RecentCall::new(id, description);
        let mut forgotten = None;
        self.change(tenant, |ring, seq| {
            forgotten = ring.end(seq, entry);
            true
        });
    }

    fn change(&self, tenant: &Arc<str>, change: impl FnOnce(&mut Ring, Number) -> bool) {
        let mut state = self.lock();
        let all = state.last + 1;
        let ring = state.rings.entry(Arc::clone(tenant)).or_default();
        let seq = Number {
            all,
            own: ring.last + 1,
        };
        if !change(ring, seq) {
            return;
        }
        ring.last = seq.own;
        state.last = seq.all;
        let hears =
            |waiting: &&mut FollowerEntry| waiting.only.as_ref().is_none_or(|only| only == tenant);
        let woken: Vec<Waker> = state
            .followers
            .values_mut()
            .filter(hears)
            .filter_map(|waiting| waiting.waker.take())
            .collect();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Returns a page of at most `most` ended calls, those before `before` (from an earlier page).
    pub fn page(&self, view: View<'_>, before: Option<u64>, most: usize) -> Page {
        let state = self.lock();
        let most = most.min(MAX_RECENT_PAGE);
        let before = before.unwrap_or(u64::MAX);
        let mut found: Vec<_> = state
            .rings(view)
            .flat_map(|ring| ring.ended_before(view, before).take(most + 1))
            .collect();
        found.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.seq.in_view(view)));
        let mut calls: Vec<String> = Vec::new();
        let mut bytes = 0;
        for entry in found.iter().take(most) {
            let summary = entry.summary(view);
            bytes += summary.len();
            if bytes > MAX_RECENT_PAGE_BYTES && !calls.is_empty() {
                break;
            }
            calls.push(summary);
        }
        let last = calls
            .len()
            .checked_sub(1)
            .filter(|_| found.len() > calls.len())
            .map(|last| found[last].seq.in_view(view));
        Page {
            position: self.position(state.last(view)),
            running: state
                .rings(view)
                .flat_map(Ring::running)
                .take(MAX_RECENT_PAGE)
                .map(|entry| entry.summary(view))
                .collect(),
            before: last,
            calls,
        }
    }

    /// Returns all details of a call, a JSON object. `id` is its number in this view.
    pub fn detail(&self, view: View<'_>, id: u64) -> Option<String> {
        let state = self.lock();
        state
            .rings(view)
            .find_map(|ring| ring.find(view, id))
            .map(|entry| entry.whole(view))
    }

    /// Follows the calls from now on, or from an earlier position. Returns `None` if there are too
    /// many followers.
    pub fn follow(self: &Arc<Self>, view: View<'_>, from: Option<&str>) -> Option<Follower> {
        let mut state = self.lock();
        let only = match view {
            View::All => None,
            View::Only(tenant) => Some(Arc::from(tenant)),
        };
        if state
            .followers
            .values()
            .filter(|other| other.only == only)
            .count()
            >= MAX_RECENT_FOLLOWERS
        {
            return None;
        }
        let own = state.next_follower;
        state.next_follower += 1;
        state.followers.insert(
            own,
            FollowerEntry {
                only: only.clone(),
                waker: None,
            },
        );
        let last = state.last(view);
        let seen = from.map_or(Some(last), |from| {
            self.parse(from).filter(|seen| *seen <= last)
        });
        let has_missed = seen.is_none();
        let seen = seen.unwrap_or(last);
        Some(Follower {
            recent: Arc::clone(self),
            only,
            own,
            seen,
            has_missed,
        })
    }

    /// Ends all followers, since the server ends.
    pub fn hang_up(&self) {
        let mut state = self.lock();
        state.ended = true;
        let woken: Vec<Waker> = state
            .followers
            .values_mut()
            .filter_map(|waiting| waiting.waker.take())
            .collect();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    fn position(&self, seq: u64) -> String {
        format!("{:08x}-{seq}", self.run)
    }

    fn parse(&self, position: &str) -> Option<u64> {
        let (run, seq) = position.split_once('-')?;
        (u32::from_str_radix(run, 16).ok()? == self.run).then_some(())?;
        seq.parse().ok()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Number of the last change in this view.
    fn last(&self, view: View<'_>) -> u64 {
        match view {
            View::All => self.last,
            View::Only(tenant) => self.rings.get(tenant).map_or(0, |ring| ring.last),
        }
    }

    fn rings(&self, view: View<'_>) -> impl Iterator<Item = &Ring> {
        let is_seen = move |tenant: &str| view == View::All || view == View::Only(tenant);
        self.rings
            .iter()
            .filter(move |(tenant, _)| is_seen(tenant))
            .map(|(_, ring)| ring)
    }
}

impl Follower {
    /// Polls for the next event; `None` when the server ends.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<News>> {
        let recent = Arc::clone(&self.recent);
        let mut state = recent.lock();
        if state.ended {
            return Poll::Ready(None);
        }
        let view = self.only.as_deref().map_or(View::All, View::Only);
        let forgotten = state
            .rings(view)
            .map(|ring| ring.forgotten.in_view(view))
            .max()
            .unwrap_or_default();
        if self.has_missed || self.seen < forgotten {
            self.has_missed = false;
            self.seen = self.seen.max(forgotten);
            return Poll::Ready(Some(News::Gap {
                position: recent.position(self.seen),
            }));
        }
        let next = state
            .rings(view)
            .filter_map(|ring| ring.after(view, self.seen))
            .min_by_key(|entry| entry.seq.in_view(view));
        if let Some(entry) = next {
            let (position, call) = (
                recent.position(entry.seq.in_view(view)),
                entry.summary(view),
            );
            self.seen = entry.seq.in_view(view);
            return Poll::Ready(Some(News::Call { position, call }));
        }
        if let Some(waiting) = state.followers.get_mut(&self.own) {
            waiting.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.recent.lock().followers.remove(&self.own);
    }
}
