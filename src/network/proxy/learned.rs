//! Learning mode: converts the destinations that a command reached into rules.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use replay_base::limits::MAX_RECORDING_NOTES;

use super::access::destination;
use super::watching::{Decision, Origin, Ruling, Watcher};
use replay_network::rules::{Destination, Host, is_special, rules_for};
use replay_record::Target;

/// Most places that `replay net learn` makes rules of.
const MAX_LEARNED: usize = 4096;

#[derive(Debug, Default)]
pub struct Learned(Mutex<ReachedDestinations>);

#[derive(Debug, Default)]
struct ReachedDestinations {
    reached: BTreeSet<Destination>,
    /// Names without an address, each with the reason.
    unresolved: BTreeMap<String, String>,
    is_full: bool,
}

impl Learned {
    /// Returns rules that allow the reached destinations. Fails if there were too many.
    pub fn rules(&self) -> Result<Vec<String>, String> {
        let seen = self.lock();
        if seen.is_full {
            return Err(format!(
                "more than {MAX_LEARNED} hosts were reached; run a smaller part of the program"
            ));
        }
        Ok(rules_for(&seen.reached))
    }

    /// Names that had no address, each with the reason.
    pub fn unresolved(&self) -> Vec<(String, String)> {
        self.lock().unresolved.clone().into_iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, ReachedDestinations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Learned {
    fn decided(&self, _: &Origin, decision: &Decision<'_>) {
        let Decision {
            transport,
            host,
            port,
            address,
            ruling: Ruling::Allowed,
            ..
        } = *decision
        else {
            return;
        };
        let Some(to) = destination(
            transport,
            &Target {
                host: host.to_owned(),
                port,
            },
        ) else {
            return;
        };
        let is_name = matches!(to.host, Host::Name(_));
        // A rule about a name does not allow such an address.
        let beside = address.filter(|address| is_name && is_special(*address));
        let beside = beside.map(|address| Destination {
            transport,
            host: Host::Address(address.to_canonical()),
            port,
        });
        let mut seen = self.lock();
        for to in [Some(to), beside].into_iter().flatten() {
            if seen.reached.len() < MAX_LEARNED {
                seen.reached.insert(to);
            } else {
                seen.is_full |= !seen.reached.contains(&to);
            }
        }
    }

    fn unresolved(&self, name: &str, why: &io::Error) {
        let mut seen = self.lock();
        if seen.unresolved.len() < MAX_RECORDING_NOTES {
            let why = if why.kind() == io::ErrorKind::NotFound {
                "there is no such name".to_owned()
            } else {
                why.to_string()
            };
            seen.unresolved.insert(name.to_owned(), why);
        }
    }
}
