//! Queue of the recordings of one call, and the choice among them.
//!
//! If the recordings have several answers, the state of the connection selects (`history`). An
//! effect that precedes only some of them, or with other values, must be the same before the
//! request. An effect that precedes all of them alike does not select, but must not have other
//! values. The remaining recordings are served in order.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::Entry;
use super::history::{self, ConnectionState, EffectDigests};
use super::workers::Worker;
use crate::call::{Content, Exchange, Protocol, Side, Target};
use crate::protocol::responder::messages_from;
use crate::protocol::{frames, mysql};

/// Recordings in order. A recording may be in two queues.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) entries: Vec<usize>,
    /// Number of recordings at the start that were all served.
    given: AtomicUsize,
    /// Shapes of effects that select, if there are several answers.
    choosing: Option<BTreeSet<String>>,
    /// Shapes of the call itself, which do not select: the order covers its repetitions.
    own: Vec<String>,
    /// `true` if the last recording is repeated because it is a read.
    pub(super) repeats: bool,
    /// For each generated value: `true` if it is the same in all recordings.
    constant: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueChoice {
    pub(super) index: usize,
    pub(super) is_again: bool,
}

impl QueueChoice {
    fn again(index: usize) -> Self {
        let is_again = true;
        Self { index, is_again }
    }
}

impl Queue {
    pub(super) fn prepare(&mut self, entries: &[Entry]) {
        self.drop_unanswered(entries);
        let all = || self.entries.iter().map(|index| &entries[*index]);
        let Some(first) = all().next() else { return };
        self.repeats = history::repeats(&first.exchange);
        let is_constant = |(at, value)| all().all(|entry| entry.volatile.get(at) == Some(value));
        self.constant = first.volatile.iter().enumerate().map(is_constant).collect();
        let answers: BTreeSet<[u8; 32]> = all().map(|entry| answer(&entry.exchange)).collect();
        if answers.len() < 2 {
            return;
        }
        self.own = history::shapes(&first.exchange);
        let shapes: BTreeSet<&String> = all().flat_map(|entry| entry.done.keys()).collect();
        let differs =
            |shape: &&String| all().any(|entry| entry.done.get(*shape) != first.done.get(*shape));
        let choosing = shapes
            .into_iter()
            .filter(|shape| !self.own.contains(shape))
            .filter(differs);
        self.choosing = Some(choosing.cloned().collect());
    }

    /// Drops calls that the program did not wait for, if others have the answer.
    fn drop_unanswered(&mut self, entries: &[Entry]) {
        let has_answer = |index: &usize| {
            let exchange = &entries[*index].exchange;
            !frames::polls(exchange) || messages_from(exchange, Side::Server).next().is_some()
        };
        if self.entries.iter().any(has_answer) {
            self.entries.retain(has_answer);
        }
    }

    /// Returns true if a recording after the first state may answer a request after the second.
    pub(super) fn is_after(&self, recorded: &EffectDigests, asked: &EffectDigests) -> bool {
        self.choosing.as_ref().is_none_or(|choosing| {
            let is_same = |shape: &String| recorded.get(shape) == asked.get(shape);
            let is_other = |(shape, values): (&String, &u64)| {
                recorded.get(shape).is_some_and(|known| known != values)
                    && !self.own.contains(shape)
            };
            choosing.iter().all(is_same)
                && (std::ptr::eq(recorded, asked) || !asked.iter().any(is_other))
        })
    }

    /// Takes the next recording that `fits` this state, or repeats the last one. It prefers the
    /// transaction and the connection that have answered already, then those of the same worker.
    /// `without`: values were ignored as noise, so it is unknown which of several answers to repeat.
    pub(super) fn take(
        &self,
        entries: &[Entry],
        state: &ConnectionState,
        without: bool,
        worker: &Worker,
        fits: impl Fn(usize) -> bool,
    ) -> Option<QueueChoice> {
        let chooser = Chooser {
            queue: self,
            entries,
            state,
            worker,
            repeats: self.repeats && !(without && self.choosing.is_some()),
            from: self.skip_given(entries),
            fits,
        };
        let within = chooser
            .within_transaction()
            .and_then(|index| chooser.next(index));
        within
            .or_else(|| chooser.in_order())
            .or_else(|| chooser.repeated())
    }

    /// Returns the place of the first recording that was not served.
    fn skip_given(&self, entries: &[Entry]) -> usize {
        let from = self.given.load(Ordering::Relaxed);
        let given = self.entries[from..]
            .iter()
            .take_while(|index| entries[**index].is_given());
        let from = from + given.count();
        self.given.fetch_max(from, Ordering::Relaxed);
        from
    }

    /// Returns true if all recordings were served.
    pub(super) fn is_used_up(&self, entries: &[Entry]) -> bool {
        let mut all = self.entries.iter();
        all.all(|index| entries[*index].is_given())
    }

    /// Returns true if it matters which recording is taken.
    pub(super) fn has_several_answers(&self) -> bool {
        self.choosing.is_some()
    }

    pub(super) fn has(&self, entries: &[Entry], done: &EffectDigests) -> bool {
        self.entries
            .iter()
            .any(|index| self.is_after(&entries[*index].done, done))
    }

    /// Returns true if a generated value, by its index, is the same in all recordings.
    pub(super) fn is_constant(&self, at: usize) -> bool {
        self.constant.get(at) == Some(&true)
    }
}

/// Choice of a recording for one call.
struct Chooser<'a, F> {
    queue: &'a Queue,
    entries: &'a [Entry],
    state: &'a ConnectionState,
    worker: &'a Worker,
    /// `true` if a recording may be repeated.
    repeats: bool,
    /// Place of the first recording that was not served.
    from: usize,
    fits: F,
}

impl<F: Fn(usize) -> bool> Chooser<'_, F> {
    fn rank(&self, index: usize) -> u8 {
        self.worker.rank(&self.entries[index].worker)
    }

    fn is_after(&self, index: usize) -> bool {
        let recorded = &self.entries[index].done;
        self.queue.is_after(recorded, &self.state.done) && (self.fits)(index)
    }

    fn is_free(&self, index: usize) -> bool {
        !self.entries[index].is_given() && self.is_after(index)
    }

    /// Returns true if tests that run alone or in another order read this state between their writes.
    fn is_now(&self, index: usize) -> bool {
        self.queue.choosing.is_some() && self.entries[index].is_between_writes(self.entries)
    }

    fn is_of_peer(&self, index: usize) -> bool {
        self.state.peer == Some(self.entries[index].exchange.connection)
    }

    /// Returns the free recordings that are wanted, with their places in the queue.
    fn free(&self, is_wanted: impl Fn(usize) -> bool) -> impl Iterator<Item = (usize, usize)> {
        let left = self.queue.entries.iter().copied().enumerate();
        left.skip(self.from)
            .filter(move |(_, index)| is_wanted(*index) && self.is_free(*index))
    }

    /// Serves a recording, unless another call was faster.
    fn next(&self, index: usize) -> Option<QueueChoice> {
        let is_again = false;
        let is_given = self.entries[index].given.swap(true, Ordering::Relaxed);
        (!is_given).then_some(QueueChoice { index, is_again })
    }

    /// Returns the next recording of the same transaction. Answers within it depend on all of it: on
    /// cursors, on uncommitted rows.
    fn within_transaction(&self) -> Option<usize> {
        let transaction = self.state.transaction;
        let is_within =
            |index: usize| transaction != 0 && self.entries[index].transaction == transaction;
        self.free(is_within).map(|(_, index)| index).next()
    }

    /// Returns the free recordings in the order of preference; a recording may be there twice.
    fn preferred(&self) -> impl Iterator<Item = (usize, usize)> {
        let of_peer = || self.free(|index| self.is_of_peer(index));
        let now_of_peer = of_peer().find(|(_, index)| self.is_now(*index));
        let first = now_of_peer.or_else(|| of_peer().next());
        let ranked = (0..Worker::RANKS).flat_map(move |wanted| {
            let of_rank = move || self.free(move |index| self.rank(index) == wanted);
            let is_now = |index| self.is_now(index) && !self.worker.is_own(wanted);
            let now = of_rank().find(|(_, index)| is_now(*index));
            now.into_iter().chain(of_rank())
        });
        first.into_iter().chain(ranked)
    }

    /// Serves the preferred recording. Repeats the one before it instead, while writes between them
    /// were not made.
    fn in_order(&self) -> Option<QueueChoice> {
        self.preferred().find_map(|(at, index)| {
            let last = self.last_before(at, index).filter(|_| self.repeats);
            let waits = |last: &usize| is_before_writes(self.entries, *last, index);
            let again = last.filter(waits).map(QueueChoice::again);
            again.or_else(|| self.next(index))
        })
    }

    /// Returns true if a served recording may answer again; an abandoned one may not.
    fn answers_again(&self, index: usize) -> bool {
        !self.entries[index].exchange.abandoned() && self.is_after(index)
    }

    /// Returns the last served recording before this one, for the same or a closer worker.
    fn last_before(&self, at: usize, index: usize) -> Option<usize> {
        let mut served = self.queue.entries[..at].iter().rev().copied();
        served.find(|last| {
            self.entries[*last].is_given()
                && self.rank(*last) <= self.rank(index)
                && (self.is_of_peer(*last) || !self.is_of_peer(index))
                && self.answers_again(*last)
        })
    }

    /// Repeats the last recording that may answer, if all are served.
    fn repeated(&self) -> Option<QueueChoice> {
        let all = self.queue.entries.iter().rev().copied();
        let again = all
            .filter(|index| self.answers_again(*index))
            .min_by_key(|index| self.rank(*index))?;
        let may_repeat = self.repeats || self.entries[again].reusable;
        may_repeat.then_some(QueueChoice::again(again))
    }
}

impl Entry {
    fn is_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }

    /// Returns true if the last write before it was served, and the next one was not.
    fn is_between_writes(&self, entries: &[Self]) -> bool {
        let is_given = |index: usize| entries[index].is_given();
        let [last, next] = self.around;
        last.is_none_or(is_given) && !next.is_some_and(is_given)
    }
}

/// Returns the index after the last request before the answer of an entry. Only answers to calls
/// that wait for news depend on requests after their own.
fn answered_before(entries: &[Entry], index: usize) -> usize {
    let exchange = &entries[index].exchange;
    let (true, Content::Wire(_, wire)) = (frames::polls(exchange), &exchange.content) else {
        return index + 1;
    };
    let waited = wire.pushed.last().copied().unwrap_or_default();
    let came = exchange.answered_at.max(exchange.sent_at + waited);
    let later = entries[index + 1..].iter();
    index
        + 1
        + later
            .take_while(|entry| entry.exchange.sent_at < came)
            .count()
}

pub(super) fn place_between_writes(entries: &mut [Entry]) {
    for side in [0, 1] {
        let mut writes: HashMap<Target, usize> = HashMap::new();
        let mut mark = |(index, entry): (usize, &mut Entry)| {
            entry.around[side] = writes.get(&entry.exchange.target).copied();
            if entry.writes {
                writes.insert(entry.exchange.target.clone(), index);
            }
        };
        let all = entries.iter_mut().enumerate();
        if side == 0 {
            all.for_each(&mut mark);
        } else {
            all.rev().for_each(&mut mark);
        }
    }
    for index in 0..entries.len() {
        let target = &entries[index].exchange.target;
        let is_write =
            |other: &usize| entries[*other].writes && entries[*other].exchange.target == *target;
        let waited = index + 1..answered_before(entries, index);
        if let Some(write) = waited.rev().find(is_write) {
            entries[index].around = [Some(write), entries[write].around[1]];
        }
    }
}

/// Returns true if writes to the target of two entries came between their answers, and none of them
/// was served: later answers must not come before them. News depends on each of these writes.
fn is_before_writes(entries: &[Entry], last: usize, next: usize) -> bool {
    let target = &entries[last].exchange.target;
    let mut writes = entries[last..answered_before(entries, next)]
        .iter()
        .filter(|entry| entry.writes && entry.exchange.target == *target)
        .peekable();
    let is_left = |entry: &Entry| !entry.is_given();
    if frames::polls(&entries[next].exchange) {
        writes.any(is_left)
    } else {
        writes.peek().is_some() && writes.all(is_left)
    }
}

/// Returns the digest of an answer, without the transaction status and the header of an HTTP
/// response.
pub(super) fn answer(exchange: &Exchange) -> [u8; 32] {
    let mut digest = Sha256::new();
    match &exchange.content {
        Content::Wire(protocol, wire) => {
            for message in wire
                .messages
                .iter()
                .filter(|message| message.from == Side::Server)
            {
                let said = match protocol {
                    Protocol::Postgres if message.bytes.first() == Some(&b'Z') => continue,
                    Protocol::MySql => mysql::without_status(&message.bytes),
                    _ => &message.bytes,
                };
                digest.update(said);
            }
        }
        Content::Http(http) | Content::Grpc(http) => {
            if let Some(response) = &http.response {
                digest.update(response.status.to_le_bytes());
                digest.update(&response.body);
                for (_, value) in &response.trailers {
                    digest.update(value);
                }
            }
        }
        Content::Dns(_) => {}
    }
    digest.finalize().into()
}
