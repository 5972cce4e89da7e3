//! Requests in flight: cancellation, and detection of repeated ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replay_base::cancel::CancelToken;

use crate::protocol::{Id, Revision};

/// Ids in flight, each with the token that cancels its work.
#[derive(Debug, Default)]
pub(super) struct InFlight(Mutex<HashMap<Id, Work>>);

/// State of a request when its work is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    /// Its reply will be sent.
    Wanted,
    /// The client cancelled it.
    Cancelled,
    /// It was stuck, and was answered with an error earlier.
    GivenUp,
}

/// A request whose work is stuck.
#[derive(Debug)]
pub(super) struct StuckRequest {
    pub id: Id,
    /// Revision of its reply.
    pub revision: Revision,
    pub token: CancelToken,
    /// `true` if the client still waits for a reply.
    pub is_wanted: bool,
}

/// State of one request.
#[derive(Debug)]
struct Work {
    token: CancelToken,
    revision: Revision,
    /// Time of its last known progress.
    moved: Instant,
}

impl InFlight {
    /// Registers the id; `None` if it is in flight already.
    pub(super) fn add(&self, id: &Id, revision: Revision) -> Option<CancelToken> {
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

    /// Frees the id, unless another request has it now.
    pub(super) fn remove(&self, id: &Id, token: &CancelToken) -> RequestState {
        let mut all = self.lock();
        if all.get(id).is_none_or(|work| !work.token.is_same(token)) {
            return RequestState::GivenUp;
        }
        all.remove(id);
        if token.is_cancelled() {
            RequestState::Cancelled
        } else {
            RequestState::Wanted
        }
    }

    /// Removes and cancels the requests that made no progress for `limit`.
    pub(super) fn give_up(&self, limit: Duration) -> Vec<StuckRequest> {
        let mut all = self.lock();
        for work in all.values_mut().filter(|work| !work.token.is_stuck()) {
            work.moved = Instant::now();
        }
        let stuck = all.extract_if(|_, work| work.moved.elapsed() >= limit);
        let given_up = |(id, work): (Id, Work)| {
            let is_wanted = !work.token.is_cancelled();
            work.token.cancel();
            StuckRequest {
                id,
                revision: work.revision,
                token: work.token,
                is_wanted,
            }
        };
        stuck.map(given_up).collect()
    }

    /// Cancels a request. An unknown id is ignored, since a cancellation may cross the reply.
    pub(super) fn cancel(&self, id: &Id) {
        if let Some(work) = self.lock().get(id) {
            work.token.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lock().values().for_each(|work| work.token.cancel());
    }

    /// Returns true if no request is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Work>> {
        // The map is consistent after any panic: each operation on it is one call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
