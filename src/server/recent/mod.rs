//! What was called lately and what is being called, for whoever looks on: bounded for each tenant,
//! and followed without a queue for each follower. Everything has a number that rises with each
//! change, a follower is no more than the number that it has got to, and one that is slow finds
//! what has changed last, or is told that something is gone.

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

use ring::{Kept, Number, Ring};
pub use summary::Told;

use crate::limits::{MAX_RECENT_FOLLOWERS, MAX_RECENT_PAGE, MAX_RECENT_PAGE_BYTES};

/// Whose calls are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<'a> {
    /// Those of all tenants.
    All,
    /// Those of this tenant.
    Only(&'a str),
}

/// The calls of all tenants.
pub struct Recent {
    /// Tells one run of the server from another, so that nobody goes on where another run has
    /// ended.
    run: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the last change of all.
    last: u64,
    /// By the names of the tenants, of which there are few: whoever has a token, and stdin.
    rings: BTreeMap<Arc<str>, Ring>,
    followers: HashMap<u64, Waiting>,
    next_follower: u64,
    ended: bool,
}

/// A follower, as far as others have to do with it.
struct Waiting {
    /// Of which tenant it hears; `None` for all.
    only: Option<Arc<str>>,
    waker: Option<Waker>,
}

/// Some calls that have ended, the last to end first, and all that run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where a follower goes on that knows all of this.
    pub position: String,
    /// What runs, each a JSON object.
    pub running: Vec<String>,
    /// What has ended, each a JSON object.
    pub calls: Vec<String>,
    /// What to ask for to get what ended before; `None` if nothing is left.
    pub before: Option<u64>,
}

/// Something that a follower hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A call has begun, has got on, or has ended.
    Call {
        /// Where to go on after it.
        position: String,
        /// The call, a JSON object.
        call: String,
    },
    /// Calls have ended and are forgotten before they could be told.
    Gap {
        /// Where to go on after it.
        position: String,
    },
}

/// Somebody who looks on. Holds nothing of what it has not been told yet.
#[derive(Debug)]
pub struct Follower {
    recent: Arc<Recent>,
    only: Option<Arc<str>>,
    own: u64,
    seen: u64,
    /// What it knows is of another run, or of a time that is forgotten.
    has_missed: bool,
}

impl fmt::Debug for Recent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Recent").finish_non_exhaustive()
    }
}

impl Recent {
    /// Nothing yet. `run` should be another number in every run of the server.
    pub fn new(run: u32) -> Arc<Self> {
        Arc::new(Self {
            run,
            state: Mutex::default(),
        })
    }

    /// A call of this tenant has begun. Its number is one that no call of any tenant had before.
    pub fn begin(&self, tenant: &Arc<str>, id: u64, told: Told) {
        let kept = Kept::new(id, told);
        self.change(tenant, |ring, seq| ring.begin(seq, kept));
    }

    /// A call has got on; `progress` is a JSON value. Left out if it comes soon after the one
    /// before.
    pub fn progress(&self, tenant: &Arc<str>, id: u64, progress: &str) {
        let now = Instant::now();
        self.change(tenant, |ring, seq| ring.progress(seq, id, progress, now));
    }

    /// A call has ended; this is told instead of what was told before.
    pub fn end(&self, tenant: &Arc<str>, id: u64, told: Told) {
        let kept = Kept::new(id, told);
        let mut forgotten = None;
        self.change(tenant, |ring, seq| {
            forgotten = ring.end(seq, kept);
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
            |waiting: &&mut Waiting| waiting.only.as_ref().is_none_or(|only| only == tenant);
        let woken: Vec<Waker> = state
            .followers
            .values_mut()
            .filter(hears)
            .filter_map(|waiting| waiting.waker.take())
            .collect();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// At most so many calls that have ended, of those that `before` (of an earlier page) says;
    /// none if that is 0.
    pub fn page(&self, view: View<'_>, before: Option<u64>, most: usize) -> Page {
        let state = self.lock();
        let most = most.min(MAX_RECENT_PAGE);
        let before = before.unwrap_or(u64::MAX);
        let mut found: Vec<_> = state
            .rings(view)
            .flat_map(|ring| ring.ended_before(view, before).take(most + 1))
            .collect();
        found.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.seq.seen(view)));
        let mut calls: Vec<String> = Vec::new();
        let mut bytes = 0;
        for kept in found.iter().take(most) {
            let summary = kept.summary(view);
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
            .map(|last| found[last].seq.seen(view));
        Page {
            position: self.position(state.last(view)),
            running: state
                .rings(view)
                .flat_map(Ring::running)
                .take(MAX_RECENT_PAGE)
                .map(|kept| kept.summary(view))
                .collect(),
            before: last,
            calls,
        }
    }

    /// All that is known of the call that has this number in this view, a JSON object.
    pub fn detail(&self, view: View<'_>, id: u64) -> Option<String> {
        let state = self.lock();
        state
            .rings(view)
            .find_map(|ring| ring.find(view, id))
            .map(|kept| kept.whole(view))
    }

    /// Follows the calls from now on, or from a position that it was told before. `None` if there
    /// are too many already.
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
            Waiting {
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

    /// Lets all who follow go: the server ends.
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
    /// Of the last change that is seen in this view.
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
    /// What comes next; `None` when the server ends.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<News>> {
        let recent = Arc::clone(&self.recent);
        let mut state = recent.lock();
        if state.ended {
            return Poll::Ready(None);
        }
        let view = self.only.as_deref().map_or(View::All, View::Only);
        let forgotten = state
            .rings(view)
            .map(|ring| ring.forgotten.seen(view))
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
            .min_by_key(|kept| kept.seq.seen(view));
        if let Some(kept) = next {
            let (position, call) = (recent.position(kept.seq.seen(view)), kept.summary(view));
            self.seen = kept.seq.seen(view);
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
