//! The requests that are being served, so that they can be cancelled and an id is not used twice.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cancel::CancelToken;
use crate::protocol::Id;

/// Ids in flight, each with the token that stops its work.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<HashMap<Id, CancelToken>>);

impl InFlight {
    /// Takes the id; `None` if it is taken already.
    pub fn add(&self, id: &Id) -> Option<CancelToken> {
        match self.lock().entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => Some(place.insert(CancelToken::new()).clone()),
        }
    }

    /// Frees the id; whether it may still be answered, that is, nobody has cancelled it.
    pub fn remove(&self, id: &Id) -> bool {
        self.lock().remove(id).is_some_and(|token| !token.is_cancelled())
    }

    /// Cancels one; an unknown id is ignored, since a cancellation may cross the reply.
    pub fn cancel(&self, id: &Id) {
        if let Some(token) = self.lock().get(id) {
            token.cancel();
        }
    }

    /// Cancels all.
    pub fn cancel_all(&self) {
        self.lock().values().for_each(CancelToken::cancel);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancelToken>> {
        // The map is whole after any panic: each operation on it is one call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
