//! What was blocked of one command, each place once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::exec::{Blocked, ProgramName};
use crate::limits::MAX_DENIED;
use crate::record::Target;

/// Host, port, and what it is about them.
type Place = (String, u16, Option<String>);

#[derive(Debug, Default)]
pub(super) struct BlockedList(Mutex<BTreeMap<Place, Blocked>>);

impl BlockedList {
    /// Counts a connection to there that was not made, or was ended: `why`, if it is not the place itself, and the rule that would
    /// allow it. Places beyond [`MAX_DENIED`] are not kept.
    pub(super) fn add(&self, target: &Target, why: Option<String>, by: ProgramName, rule: Option<String>) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = list.len() >= MAX_DENIED;
        let blocked = match list.entry((target.host.clone(), target.port, why.clone())) {
            Entry::Vacant(_) if is_full => return,
            Entry::Vacant(place) => {
                let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
                let target = format!("{host}:{}", target.port);
                place.insert(Blocked { target, why, by: BTreeSet::new(), times: 0, rule })
            }
            Entry::Occupied(place) => place.into_mut(),
        };
        blocked.times += 1;
        if blocked.by.len() < MAX_DENIED {
            blocked.by.insert(by.to_string());
        }
    }

    pub(super) fn take(&self) -> Vec<Blocked> {
        let list = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        list.into_values().collect()
    }
}
