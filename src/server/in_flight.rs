//! The requests that are being served, so that they can be cancelled and an id is not used twice.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::protocol::{Id, Revision};

/// Ids in flight, each with the token that stops its work.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<HashMap<Id, Work>>);

/// What became of a request while it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Its answer is wanted.
    Wanted,
    /// Nobody wants it any more.
    Cancelled,
    /// It took so long that it has been answered without its work.
    GivenUp,
}

/// A request whose work hangs.
#[derive(Debug)]
pub struct GivenUp {
    pub id: Id,
    /// How it is answered.
    pub revision: Revision,
    pub token: CancelToken,
    /// Whether an answer is still wanted.
    pub is_wanted: bool,
}

/// What is known of one request.
#[derive(Debug)]
struct Work {
    token: CancelToken,
    revision: Revision,
    /// When it was last seen to make a step.
    moved: Instant,
}

impl InFlight {
    /// Takes the id; `None` if it is taken already.
    pub fn add(&self, id: &Id, revision: Revision) -> Option<CancelToken> {
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                let work = Work {
                    token: CancelToken::new(),
                    revision,
                    moved: Instant::now(),
                };
                Some(place.insert(work).token.clone())
            }
        }
    }

    /// Frees the id, if it is still taken by the work with this token.
    pub fn remove(&self, id: &Id, token: &CancelToken) -> Removed {
        let mut all = self.lock();
        if all.get(id).is_none_or(|work| !work.token.is_same(token)) {
            return Removed::GivenUp;
        }
        all.remove(id);
        if token.is_cancelled() {
            Removed::Cancelled
        } else {
            Removed::Wanted
        }
    }

    /// Takes out those that have made no step for `limit`.
    pub fn give_up(&self, limit: Duration) -> Vec<GivenUp> {
        let mut all = self.lock();
        for work in all.values_mut().filter(|work| !work.token.is_stuck()) {
            work.moved = Instant::now();
        }
        let stuck = all.extract_if(|_, work| work.moved.elapsed() >= limit);
        let given_up = |(id, work): (Id, Work)| {
            let is_wanted = !work.token.is_cancelled();
            work.token.cancel();
            GivenUp {
                id,
                revision: work.revision,
                token: work.token,
                is_wanted,
            }
        };
        stuck.map(given_up).collect()
    }

    /// Cancels one; an unknown id is ignored, since a cancellation may cross the reply.
    pub fn cancel(&self, id: &Id) {
        if let Some(work) = self.lock().get(id) {
            work.token.cancel();
        }
    }

    pub fn cancel_all(&self) {
        self.lock().values().for_each(|work| work.token.cancel());
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Work>> {
        // The map is whole after any panic: each operation on it is one call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
