//! Recent calls of one tenant: running calls, and the last ended ones.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use replay_base::limits::{MAX_RECENT_BYTES, MAX_RECENT_CALLS};

use super::{CallDescription, View};

/// Calls of one tenant that are remembered while they run, within as many bytes again; of more,
/// only the end is.
const MAX_RECENT_RUNNING: usize = 2048;
/// Time between two reports of one call's progress that are passed on, in milliseconds.
const RECENT_PROGRESS_MS: u64 = 500;

/// Estimated memory of a call without its texts, in bytes.
const OVERHEAD_BYTES: usize = 256;

/// A pair of sequence numbers: one over all tenants, and one of the tenant alone. The latter does
/// not reveal how much other tenants do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    pub all: u64,
    pub own: u64,
}

impl Number {
    /// Returns the number for this view.
    pub(super) const fn in_view(self, view: View<'_>) -> u64 {
        match view {
            View::All => self.all,
            View::Only(_) => self.own,
        }
    }
}

/// Recent calls of one tenant.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// Number of calls that have a number of the tenant's.
    numbered: u64,
    /// The tenant's number of the last change.
    pub last: u64,
    /// Running calls, by their numbers over all tenants.
    running: BTreeMap<u64, RecentCall>,
    running_bytes: usize,
    /// Ended calls in the order of their ends, which is that of `seq`.
    ended: VecDeque<RecentCall>,
    bytes: usize,
    /// `seq` of the last ended call that was dropped.
    pub forgotten: Number,
}

#[derive(Debug)]
pub(super) struct RecentCall {
    /// Number of its last change.
    pub seq: Number,
    id: Number,
    description: CallDescription,
    /// The last progress value, and the time of its report.
    progress: Option<(String, Instant)>,
    /// Memory of the call, in bytes.
    bytes: usize,
}

impl RecentCall {
    /// Creates a call with a number over all tenants. The ring sets the other numbers.
    pub(super) fn new(id: u64, description: CallDescription) -> Self {
        let bytes = OVERHEAD_BYTES + description.bytes();
        Self {
            seq: Number::default(),
            id: Number { all: id, own: 0 },
            description,
            progress: None,
            bytes,
        }
    }

    /// Returns the summary for a list, as a JSON object.
    pub(super) fn summary(&self, view: View<'_>) -> String {
        format!(
            "{{\"id\":{},{}{}}}",
            self.id.in_view(view),
            self.description.summary(),
            self.progress_member()
        )
    }

    /// Returns all details, as a JSON object.
    pub(super) fn whole(&self, view: View<'_>) -> String {
        let (id, summary, detail) = (
            self.id.in_view(view),
            self.description.summary(),
            self.description.detail(),
        );
        let comma = if detail.is_empty() { "" } else { "," };
        format!(
            "{{\"id\":{id},{summary}{}{comma}{detail}}}",
            self.progress_member()
        )
    }

    fn progress_member(&self) -> String {
        self.progress
            .as_ref()
            .map_or_else(String::new, |(progress, _)| {
                format!(",\"progress\":{progress}")
            })
    }
}

impl Ring {
    /// Adds a running call. Returns true if there was room for it.
    pub(super) fn begin(&mut self, seq: Number, mut entry: RecentCall) -> bool {
        let bytes = self.running_bytes + entry.bytes;
        let has_place = self.running.len() < MAX_RECENT_RUNNING && bytes <= MAX_RECENT_BYTES;
        if has_place {
            self.running_bytes = bytes;
            entry.id.own = self.next_number();
            self.running
                .insert(entry.id.all, RecentCall { seq, ..entry });
        }
        has_place
    }

    /// Stores the progress of a call. Returns true if it should be reported.
    pub(super) fn progress(&mut self, seq: Number, id: u64, progress: &str, now: Instant) -> bool {
        let Some(entry) = self.running.get_mut(&id) else {
            return false;
        };
        let least = Duration::from_millis(RECENT_PROGRESS_MS);
        if entry
            .progress
            .as_ref()
            .is_some_and(|(_, told)| now.duration_since(*told) < least)
        {
            return false;
        }
        entry.progress = Some((progress.to_owned(), now));
        entry.seq = seq;
        true
    }

    /// Moves a call to the ended ones, and drops the oldest of these above the limits. Returns the
    /// first dropped call: its memory is freed outside the lock.
    pub(super) fn end(&mut self, seq: Number, mut entry: RecentCall) -> Option<RecentCall> {
        entry.id.own = match self.running.remove(&entry.id.all) {
            Some(begun) => {
                self.running_bytes -= begun.bytes;
                begun.id.own
            }
            None => self.next_number(),
        };
        self.bytes += entry.bytes;
        self.ended.push_back(RecentCall { seq, ..entry });
        let mut first = None;
        while self.ended.len() > MAX_RECENT_CALLS || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.ended.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
            self.forgotten = oldest.seq;
            first.get_or_insert(oldest);
        }
        first
    }

    fn next_number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    /// Returns the running calls, ordered by number.
    pub(super) fn running(&self) -> impl Iterator<Item = &RecentCall> {
        self.running.values()
    }

    /// Returns the calls that ended before `seq`, the last first.
    pub(super) fn ended_before(
        &self,
        view: View<'_>,
        seq: u64,
    ) -> impl Iterator<Item = &RecentCall> {
        let end = self
            .ended
            .partition_point(|entry| entry.seq.in_view(view) < seq);
        self.ended.range(..end).rev()
    }

    /// Returns the first call that changed after `seq`.
    pub(super) fn after(&self, view: View<'_>, seq: u64) -> Option<&RecentCall> {
        let ended = self.ended.get(
            self.ended
                .partition_point(|entry| entry.seq.in_view(view) <= seq),
        );
        let running = self
            .running
            .values()
            .filter(|entry| entry.seq.in_view(view) > seq);
        running
            .chain(ended)
            .min_by_key(|entry| entry.seq.in_view(view))
    }

    /// Returns the call with this number.
    pub(super) fn find(&self, view: View<'_>, id: u64) -> Option<&RecentCall> {
        self.running
            .values()
            .chain(&self.ended)
            .find(|entry| entry.id.in_view(view) == id)
    }
}
