//! Blocked destinations of one command, without duplicates.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use http::request;
use replay_base::limits::MAX_DENIED;
use replay_sandbox::exec::{Blocked, Denied, ProgramName, ProxyRefusal};

use replay_network::rules::Transport;
use replay_network::upstream_proxy::ProxyError;
use replay_record::Target;

/// Longest URL shown for a refused request, in bytes.
const MAX_SHOWN_URL_BYTES: usize = 200;

/// Transport, host, port, request, and reason.
type BlockedPlace = (Transport, String, u16, Option<String>, Option<String>);

#[derive(Debug, Default)]
pub(super) struct BlockedList(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    places: BTreeMap<BlockedPlace, Blocked>,
    /// Number of blocks at destinations that are not listed.
    more: u64,
}

impl BlockedList {
    /// Counts a connection to there that was not made or a datagram that was not sent, or was
    /// ended, or what was `asked` for on it: `why`, if it is not the place itself, and the rule
    /// that would allow it. Places beyond [`MAX_DENIED`] are only counted. With how it is told
    /// alone.
    pub(super) fn add(
        &self,
        transport: Transport,
        target: &Target,
        asked: Option<String>,
        why: Option<String>,
        by: ProgramName,
        rule: Option<String>,
    ) -> Blocked {
        let place = (
            transport,
            target.host.clone(),
            target.port,
            asked.clone(),
            why.clone(),
        );
        let scheme = if transport == Transport::Udp {
            "udp://"
        } else {
            ""
        };
        let once = Blocked {
            target: asked.unwrap_or_else(|| format!("{scheme}{}", authority(target))),
            why,
            by: BTreeSet::from([by.to_string()]),
            times: 1,
            rule,
            proxy: None,
        };
        self.insert(place, &once, by);
        once
    }

    /// Counts a connection that the operator's proxy did not make.
    pub(super) fn add_failed_proxy(&self, target: &Target, error: &ProxyError, by: ProgramName) {
        let reason = format!("{}; {}", error.answer, error.advice);
        let place = (
            Transport::Tcp,
            target.host.clone(),
            target.port,
            None,
            Some(reason),
        );
        let once = Blocked {
            target: authority(target),
            why: None,
            by: BTreeSet::from([by.to_string()]),
            times: 1,
            rule: None,
            proxy: Some(ProxyRefusal {
                address: error.proxy().to_owned(),
                answer: error.answer.clone(),
                advice: error.advice.clone(),
            }),
        };
        self.insert(place, &once, by);
    }

    fn insert(&self, place: BlockedPlace, once: &Blocked, by: ProgramName) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = list.places.len() >= MAX_DENIED;
        let List { places, more } = &mut *list;
        match places.entry(place) {
            Entry::Vacant(_) if is_full => *more += 1,
            Entry::Vacant(place) => {
                place.insert(once.clone());
            }
            Entry::Occupied(mut place) => {
                let blocked = place.get_mut();
                blocked.times += 1;
                if blocked.by.len() < MAX_DENIED {
                    blocked.by.insert(by.to_string());
                }
            }
        }
    }

    pub(super) fn take(&self) -> Vec<Denied> {
        let List { places, more } =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let more = (more > 0).then_some(Denied::MoreBlocked(more));
        places
            .into_values()
            .map(Denied::Blocked)
            .chain(more)
            .collect()
    }
}

/// Returns host and port.
fn authority(target: &Target) -> String {
    if target.host.contains(':') {
        format!("[{}]:{}", target.host, target.port)
    } else {
        format!("{}:{}", target.host, target.port)
    }
}

/// Returns a request for messages, without its query.
pub(super) fn shorten_request(head: &request::Parts) -> String {
    let url = head.uri.to_string();
    let url = url.split('?').next().unwrap_or_default();
    let end = url.floor_char_boundary(MAX_SHOWN_URL_BYTES);
    let rest = if end < url.len() { "..." } else { "" };
    format!("{} {}{rest}", head.method, &url[..end])
}
