//! The calls of one tenant: those that run, and the last ones that have ended.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::{Told, View};
use crate::limits::{MAX_RECENT_BYTES, MAX_RECENT_CALLS, MAX_RECENT_RUNNING, RECENT_PROGRESS_MS};

/// What a call takes beside its texts, in bytes: about that.
const OVERHEAD_BYTES: usize = 256;

/// A number for who sees the calls of all tenants, and one for the tenant itself, which counts
/// nothing of others: it would tell how much they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number {
    pub all: u64,
    pub own: u64,
}

impl Number {
    /// The one that is told in this view.
    pub const fn seen(self, view: View<'_>) -> u64 {
        match view {
            View::All => self.all,
            View::Only(_) => self.own,
        }
    }
}

/// The calls of one tenant.
#[derive(Debug, Default)]
pub struct Ring {
    /// Calls that have a number of the tenant's.
    numbered: u64,
    /// The tenant's number of the last change.
    pub last: u64,
    /// By their numbers among all.
    running: BTreeMap<u64, Kept>,
    running_bytes: usize,
    /// In the order of their ends, which is that of `seq`.
    ended: VecDeque<Kept>,
    bytes: usize,
    /// `seq` of the last one that ended and is not kept any more.
    pub forgotten: Number,
}

#[derive(Debug)]
pub struct Kept {
    /// The number of its last change.
    pub seq: Number,
    id: Number,
    told: Told,
    /// How far it is, and when that was told.
    progress: Option<(String, Instant)>,
    /// What it takes of memory.
    bytes: usize,
}

impl Kept {
    /// A call with this number among all, of which this is told; the numbers of its change and of
    /// its tenant are to come.
    pub fn new(id: u64, told: Told) -> Self {
        let bytes = OVERHEAD_BYTES + told.bytes();
        Self {
            seq: Number::default(),
            id: Number { all: id, own: 0 },
            told,
            progress: None,
            bytes,
        }
    }

    /// What a list shows, as a JSON object.
    pub fn summary(&self, view: View<'_>) -> String {
        format!(
            "{{\"id\":{},{}{}}}",
            self.id.seen(view),
            self.told.summary(),
            self.progress_member()
        )
    }

    /// All of it, as a JSON object.
    pub fn whole(&self, view: View<'_>) -> String {
        let (id, summary, detail) = (self.id.seen(view), self.told.summary(), self.told.detail());
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
    /// Puts in a call that runs. Whether there was a place for it.
    pub fn begin(&mut self, seq: Number, mut kept: Kept) -> bool {
        let bytes = self.running_bytes + kept.bytes;
        let has_place = self.running.len() < MAX_RECENT_RUNNING && bytes <= MAX_RECENT_BYTES;
        if has_place {
            self.running_bytes = bytes;
            kept.id.own = self.next_number();
            self.running.insert(kept.id.all, Kept { seq, ..kept });
        }
        has_place
    }

    /// Notes how far a call is. Whether that is worth telling.
    pub fn progress(&mut self, seq: Number, id: u64, progress: &str, now: Instant) -> bool {
        let Some(kept) = self.running.get_mut(&id) else {
            return false;
        };
        let least = Duration::from_millis(RECENT_PROGRESS_MS);
        if kept
            .progress
            .as_ref()
            .is_some_and(|(_, told)| now.duration_since(*told) < least)
        {
            return false;
        }
        kept.progress = Some((progress.to_owned(), now));
        kept.seq = seq;
        true
    }

    /// Moves a call to those that have ended, and forgets the oldest of them where there are too
    /// many. What was forgotten first is returned: it is many small pieces of memory, and others
    /// wait.
    pub fn end(&mut self, seq: Number, mut kept: Kept) -> Option<Kept> {
        kept.id.own = match self.running.remove(&kept.id.all) {
            Some(begun) => {
                self.running_bytes -= begun.bytes;
                begun.id.own
            }
            None => self.next_number(),
        };
        self.bytes += kept.bytes;
        self.ended.push_back(Kept { seq, ..kept });
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

    /// What runs, in the order of the numbers.
    pub fn running(&self) -> impl Iterator<Item = &Kept> {
        self.running.values()
    }

    /// What has ended before this, the last first.
    pub fn ended_before(&self, view: View<'_>, seq: u64) -> impl Iterator<Item = &Kept> {
        let end = self.ended.partition_point(|kept| kept.seq.seen(view) < seq);
        self.ended.range(..end).rev()
    }

    /// The first change after this.
    pub fn after(&self, view: View<'_>, seq: u64) -> Option<&Kept> {
        let ended = self.ended.get(
            self.ended
                .partition_point(|kept| kept.seq.seen(view) <= seq),
        );
        let running = self
            .running
            .values()
            .filter(|kept| kept.seq.seen(view) > seq);
        running.chain(ended).min_by_key(|kept| kept.seq.seen(view))
    }

    /// The call with this number.
    pub fn find(&self, view: View<'_>, id: u64) -> Option<&Kept> {
        self.running
            .values()
            .chain(&self.ended)
            .find(|kept| kept.id.seen(view) == id)
    }
}
