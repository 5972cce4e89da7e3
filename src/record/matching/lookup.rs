//! Lookup of a call: first without noise, then without generated values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, PoisonError};
use std::time::{Instant, SystemTime};

use super::Recordings;
use super::call_parts::{Parts, chooses};
use super::fields::NoiseFields;
use super::head_selection::HeadSelection;
use super::history::{self, ConnectionState};
use super::key::{self, Key, Question};
use super::queue::{Queue, QueueChoice};
use super::report::Miss;
use super::volatile_values::{ValueBlanker, VolatileValue};
use super::workers::Worker;
use crate::call::{Content, Exchange, Message, Protocol, Side, Target};
use crate::protocol::part_list::Part;
use crate::protocol::{frames, registry};

/// Recordings of a call that were all used.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsedRecordings {
    pub(super) count: usize,
    pub(super) last: usize,
}

#[derive(Default)]
pub(super) struct LookupMiss {
    /// Matching recordings, which were all used.
    pub(super) used: Option<UsedRecordings>,
    /// A similar recording: with a secret of another call, or after another connection state.
    pub(super) alike: Option<usize>,
    /// Header fields that distinguish otherwise equal recordings.
    pub(super) choosing: BTreeSet<String>,
}

/// A recording, and its transaction if it identifies one.
pub(crate) type FoundAnswer = (Arc<Exchange>, u64);

impl Recordings {
    /// Returns the recording that answers a call. Each recording is given out once, in order. The
    /// last reusable one is repeated, as are those of connections and names.
    ///
    /// Recordings with an actual destination answer only calls to it. Recordings without one, or
    /// with that of the request, answer if no other does.
    pub fn find(&self, asked: &Exchange) -> Result<Arc<Exchange>, Miss> {
        let asked = self.secrets.redact_request(asked);
        let (mut question, before) = (Question::of(&asked), ConnectionState::default());
        let found = self.look_up(&mut question, &before).map(|(found, _)| found);
        found.map_err(|unfound| self.missed_call(&question, &before, &unfound))
    }

    /// Like [`find`](Self::find), for a connection in this state. Also returns the transaction, if
    /// the recording identifies one. `plain` answers a call that needs no recording.
    pub(crate) fn find_in(
        &self,
        asked: &Exchange,
        before: &ConnectionState,
        plain: impl FnOnce() -> Option<Vec<Vec<u8>>>,
    ) -> Result<FoundAnswer, Miss> {
        let said = self.secrets.redact_request(asked);
        let mut question = Question::of(&said);
        self.look_up(&mut question, before).or_else(|unfound| {
            let Some(plain) = plain() else {
                let idle = self.without_news(asked);
                return idle.ok_or_else(|| self.missed_call(&question, before, &unfound));
            };
            let mut answered = asked.clone();
            if let Content::Wire(_, wire) = &mut answered.content {
                wire.messages.extend(plain.into_iter().map(|bytes| Message {
                    from: Side::Server,
                    bytes,
                }));
            }
            Ok((Arc::new(answered), 0))
        })
    }

    /// Returns a call that waits for news with an answer that has none.
    fn without_news(&self, asked: &Exchange) -> Option<FoundAnswer> {
        let recorded = self.entries.iter().map(|entry| &*entry.exchange);
        let near = recorded.filter(|recorded| recorded.target == asked.target);
        let as_recorded = |question: &[u8]| self.pairs.as_recorded(question);
        let answered = frames::without_news(asked, as_recorded, near)?;
        self.repeated();
        Some((Arc::new(answered), 0))
    }

    /// Counts a call beyond the recorded ones, which gets an answer without news.
    pub(super) fn repeated(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
        self.again.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the recording that would answer a call, used or not, without using it up.
    pub(crate) fn peek(&self, asked: &Exchange, before: &ConnectionState) -> Option<Arc<Exchange>> {
        let asked = self.secrets.redact_request(asked);
        let mut question = Question::of(&asked);
        targets(&asked).into_iter().find_map(|(target, named)| {
            let keys = self.keys(&mut question, &target, named, before);
            let queue = keys
                .into_iter()
                .find_map(|(bare, noise)| self.queue(bare, question.parts.head(&noise)))?;
            Some(Arc::clone(&self.entries[*queue.entries.first()?].exchange))
        })
    }

    fn look_up(
        &self,
        question: &mut Question<'_>,
        before: &ConnectionState,
    ) -> Result<FoundAnswer, LookupMiss> {
        let mut unfound = LookupMiss::default();
        let connection = question.exchange.connection;
        let worker = self.workers.at(connection, SystemTime::now());
        let worker = worker.named(|test| self.secrets.name(test));
        for (target, named) in targets(question.exchange) {
            for (bare, noise) in self.keys(question, &target, named, before) {
                let selection = self.selection(bare);
                let Some(queue) = self.queue(bare, question.parts.head(&noise)) else {
                    let required = &selection.required;
                    unfound.choosing.extend(required.iter().cloned());
                    continue;
                };
                let limits = selection.limits(question.parts.head(&noise));
                if !queue.entries.iter().any(|index| limits.permit(*index)) {
                    let names = limits.names().map(str::to_owned);
                    unfound.choosing.extend(names);
                    unfound.alike = unfound.alike.or(queue.entries.first().copied());
                    continue;
                }
                let fits = |index: usize| limits.permit(index);
                let is_reduced = !noise.is_empty();
                if let Some(taken) = queue.take(&self.entries, before, is_reduced, &worker, fits) {
                    if noise.is_empty() {
                        self.pairs.keep(&self.entries[taken.index].volatile);
                    } else {
                        self.pair_ignored(question, &noise, taken.index);
                    }
                    return Ok(self.serve(question, queue, taken, &worker));
                }
                if !queue.has(&self.entries, &before.done) {
                    unfound.alike = unfound.alike.or(queue.entries.first().copied());
                    continue;
                }
                // Recordings with equal values are among those without the values.
                let is_whole =
                    noise.is_empty() || !matches!(question.exchange.content, Content::Wire(..));
                let all = queue.entries.last().map(|last| UsedRecordings {
                    count: queue.entries.len(),
                    last: *last,
                });
                unfound.used = unfound.used.filter(|_| is_whole).or(all);
            }
        }
        if unfound.used.is_some() {
            return Err(unfound);
        }
        self.look_up_volatile(question, before, &worker, &mut unfound)
            .ok_or(unfound)
    }

    /// Pairs the generated values of ignored parts, so that they come back in answers, too.
    fn pair_ignored(&self, question: &Question<'_>, noise: &NoiseFields, index: usize) {
        let entry = &self.entries[index];
        let finder = |near| ValueBlanker::new(near, self.noise.is_exact);
        let recorded = Parts::of(entry.request());
        let recorded = recorded.ignored_values(noise, &finder(entry.exchange.sent_at));
        let asked = question
            .parts
            .ignored_values(noise, &finder(SystemTime::now()));
        for ((form, one), (other_form, other)) in recorded.iter().zip(&asked) {
            if form == other_form && self.pairs.fit(index, |_| false, one, other) {
                self.pairs.pair(&entry.name, one, other);
            }
        }
    }

    /// Returns the recording of a call that differs only in generated values.
    fn look_up_volatile(
        &self,
        question: &Question<'_>,
        before: &ConnectionState,
        worker: &Worker,
        unfound: &mut LookupMiss,
    ) -> Option<FoundAnswer> {
        let asked = question.exchange;
        let (said, blank) = self.digest_without_values(question, SystemTime::now())?;
        let mut other = None;
        let found = targets(asked).into_iter().find_map(|(target, named)| {
            let bare = question.key_of(&said, &target, named, self.context(&target, asked, before));
            let noise = self.noise.at(question, &target);
            let (values, key) = self.blanked(bare, question.parts.head(&noise), blank.clone());
            let queue = self.queues.get(&key).filter(|_| !values.is_empty())?;
            other = other.or(queue.entries.first().copied());
            let limits = self.selection(bare).limits(question.parts.head(&noise));
            let fits = |index: usize| {
                limits.permit(index)
                    && self.pairs.fit(
                        index,
                        |at| queue.is_constant(at),
                        &self.entries[index].volatile,
                        &values,
                    )
            };
            let Some(taken) = queue.take(&self.entries, before, false, worker, fits) else {
                let is_after =
                    |index: &usize| queue.is_after(&self.entries[*index].done, &before.done);
                let fitting = queue
                    .entries
                    .iter()
                    .copied()
                    .filter(|index| fits(*index) && is_after(index));
                let mut fitting: Vec<usize> = fitting.collect();
                if fitting.is_empty()
                    && queue.is_used_up(&self.entries)
                    && self.pairs.are_new(&values)
                {
                    fitting.clone_from(&queue.entries);
                }
                unfound.used = unfound.used.or(fitting.last().map(|last| UsedRecordings {
                    count: fitting.len(),
                    last: *last,
                }));
                return None;
            };
            let entry = &self.entries[taken.index];
            self.pairs.pair(&entry.name, &entry.volatile, &values);
            Some(self.serve(question, queue, taken, worker))
        });
        // It differs only in such values, but they belong to another object.
        unfound.alike = unfound.alike.or(other.filter(|_| unfound.used.is_none()));
        found
    }

    fn serve(
        &self,
        question: &Question<'_>,
        queue: &Queue,
        taken: QueueChoice,
        worker: &Worker,
    ) -> FoundAnswer {
        let entry = &self.entries[taken.index];
        if queue.has_several_answers() && worker.is_other(&entry.worker, &self.processes) {
            self.of_other_workers.fetch_add(1, Ordering::Relaxed);
        }
        let _ = entry.used_at.set(Instant::now());
        entry.used.store(true, Ordering::Release);
        self.turns.send_replace(());
        let none = NoiseFields::default();
        for field in &entry.credentials {
            if question
                .parts
                .head(&none)
                .any(|other| other.name == field.name && other.text != field.text)
            {
                let name = field.name.trim_start_matches("header.").to_owned();
                *self
                    .others
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .entry(name)
                    .or_default() += 1;
            }
        }
        self.replayed.fetch_add(1, Ordering::Relaxed);
        if taken.is_again && queue.repeats && !entry.reusable {
            self.again.fetch_add(1, Ordering::Relaxed);
        }
        let is_poll = frames::polls(&entry.exchange);
        entry
            .again
            .fetch_or(taken.is_again && is_poll, Ordering::Relaxed);
        // Writes during its wait may be its causes.
        let is_caused = entry.around[0].is_some_and(|write| write > taken.index);
        let found = if is_caused || taken.is_again && is_poll {
            entry.exchange.delayed()
        } else if !taken.is_again || entry.exchange.is_answered_late() {
            Arc::clone(&entry.exchange)
        } else {
            // They are sent once.
            entry.exchange.without_pushes()
        };
        let found = self.pairs.replace_own(&self.entries, taken.index, found);
        // Many transactions read and prepare alike: only an effect identifies one.
        let tells = entry.transaction != 0 && !history::shapes(&entry.exchange).is_empty();
        (found, if tells { entry.transaction } else { 0 })
    }

    /// Returns the keys of a call without its header, for this target, each with its ignored
    /// fields. For databases with noise the first key includes all values, since a recording with
    /// equal values is the better answer.
    pub(super) fn keys(
        &self,
        question: &mut Question<'_>,
        target: &Target,
        named: bool,
        before: &ConnectionState,
    ) -> Vec<(Key, NoiseFields)> {
        let noise = self.noise.at(question, target);
        let context = self.context(target, question.exchange, before);
        let reduced = question.key(target, named, context, &noise);
        if noise.is_empty() || !matches!(question.exchange.content, Content::Wire(..)) {
            return vec![(reduced, noise)];
        }
        let exact = question.key(target, named, context, &NoiseFields::default());
        let mut keys = vec![(exact, NoiseFields::default()), (reduced, noise)];
        keys.truncate(if exact == reduced { 1 } else { 2 });
        keys
    }

    /// Returns the context of a call, if recordings of this target have one.
    pub(super) fn context<'a>(
        &self,
        target: &Target,
        exchange: &Exchange,
        before: &'a ConnectionState,
    ) -> &'a [u8] {
        let is_known = self
            .contexts
            .contains(&(target.clone(), exchange.content.protocol()));
        if is_known {
            before.context.as_slice()
        } else {
            b""
        }
    }

    /// Returns the queue of a key with the selecting fields of this header.
    fn queue<'a>(&self, bare: Key, head: impl Iterator<Item = &'a Part>) -> Option<&Queue> {
        self.queues.get(&self.with_head(bare, head))
    }

    pub(super) fn with_head<'a>(&self, bare: Key, head: impl Iterator<Item = &'a Part>) -> Key {
        let required = &self.selection(bare).required;
        key::with_head(
            bare,
            head.filter(|field| chooses(field, required)),
            Cow::Borrowed,
        )
    }

    fn selection(&self, bare: Key) -> &HeadSelection {
        static NONE: LazyLock<HeadSelection> = LazyLock::new(HeadSelection::default);
        self.selections.get(&bare).unwrap_or(&NONE)
    }

    /// Returns the digest of a call without secrets and generated values.
    pub(super) fn digest_without_values(
        &self,
        question: &Question<'_>,
        near: SystemTime,
    ) -> Option<(Key, ValueBlanker)> {
        question.digest_without_values(
            near,
            &self.noise.at(question, &question.exchange.target),
            self.noise.is_exact,
        )
    }

    /// Returns the generated values of a call and its selecting header fields, and the key without
    /// them.
    pub(super) fn blanked<'a>(
        &self,
        bare: Key,
        head: impl Iterator<Item = &'a Part>,
        mut blank: ValueBlanker,
    ) -> (Vec<VolatileValue>, Key) {
        let required = &self.selection(bare).required;
        let chosen = head.filter(|field| chooses(field, required));
        let key = key::with_head(bare, chosen, |value| Cow::Owned(blank.text(value)));
        (blank.values, key)
    }

    /// Returns the protocol of a target, if any call to it was recorded. It decides which side
    /// speaks first.
    pub fn protocol(&self, target: &Target) -> Option<Protocol> {
        let spoken = |target: Target| self.protocols.get(&target);
        let known = places(target).into_iter().find_map(spoken);
        // For recordings without a destination: the usual protocol of the port, or the only one.
        let here = || spoken(NOWHERE).map(Vec::as_slice).unwrap_or_default();
        let usual = || registry::on_port(target.port).filter(|protocol| here().contains(protocol));
        let only = || here().first().copied().filter(|_| here().len() == 1);
        known
            .and_then(|known| known.first().copied())
            .or_else(usual)
            .or_else(only)
    }

    /// Returns the recordings that belong to connections to a target (greetings, authentication),
    /// in order, without using them up.
    pub fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>> {
        let of = |target: Target| {
            self.sessions
                .get(&(target, protocol))
                .filter(|found| !found.is_empty())
        };
        let found = places(target).into_iter().chain([NOWHERE]).find_map(of);
        let entries = found
            .into_iter()
            .flatten()
            .map(|index| &self.entries[*index]);
        entries
            .inspect(|entry| entry.used.store(true, Ordering::Relaxed))
            .map(|entry| Arc::clone(&entry.exchange))
            .collect()
    }
}

/// Target of recordings without a destination.
const NOWHERE: Target = Target {
    host: String::new(),
    port: 0,
};

/// Returns the candidate targets of a call, the most exact first: the destination, also without a
/// port; the host in the request; none. The flag is true for targets from requests.
fn targets(asked: &Exchange) -> Vec<(Target, bool)> {
    let mut targets: Vec<(Target, bool)> = places(&asked.target)
        .into_iter()
        .map(|target| (target, false))
        .collect();
    if let Content::Http(http) | Content::Grpc(http) = &asked.content {
        targets.extend(
            places(&asked.target)
                .into_iter()
                .map(|target| (target, true)),
        );
        let mut named = Target::of_authority(&http.request.authority);
        if named.host != asked.target.host && !named.host.is_empty() {
            named.port = if named.port == 0 {
                asked.target.port
            } else {
                named.port
            };
            targets.extend(places(&named).into_iter().map(|target| (target, true)));
        }
        targets.push((NOWHERE, true));
    }
    targets.push((NOWHERE, false));
    targets
}

/// Returns a target with and without its port.
fn places(target: &Target) -> Vec<Target> {
    let mut places = vec![target.clone()];
    if target.port != 0 {
        places.push(Target {
            host: target.host.clone(),
            port: 0,
        });
    }
    places
}
