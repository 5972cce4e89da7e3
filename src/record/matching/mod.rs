//! Lookup of recordings: an exact key per call, and a queue of recordings for each key, in recorded
//! order.
//!
//! Only an exact match is served. A second identical call gets the second answer. When all are
//! used, the call is missed, unless the last one may be repeated, as that of a read. The closest
//! recording to a missed call is only reported.

mod call_parts;
mod connection;
mod description;
mod diagnosis;
mod encoded_text;
mod fields;
mod head_selection;
pub(super) mod history;
mod key;
mod learned_noise;
mod lookup;
mod noise;
mod own_values;
mod queue;
mod report;
mod timing;
mod volatile_values;
mod workers;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use tokio::sync::watch;

pub use connection::Connection;
pub use description::describe;
use fields::NoiseFields;
use head_selection::{FieldUse, HeadField, HeadSelection, RecordedHead};
use history::{ConnectionState, EffectDigests};
use key::{Key, Question};
pub use learned_noise::learn;
use lookup::{LookupMiss, UsedRecordings};
pub use noise::{DeclaredNoise, Noise};
use queue::Queue;
use report::MissList;
pub use report::{ClosestRecording, Miss, Report, UnusedRecording, Why};
pub(crate) use timing::join_pieces;
use volatile_values::{ValueBlanker, ValuePairs, VolatileValue};
pub use workers::{Worker, Workers};

use crate::call::{Content, Exchange, Protocol, Refusal, Side, Target};
use crate::protocol::part_list::Part;
use crate::protocol::postgres;
use crate::redact::{Secrets, places};

/// A call with its name in a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// `mock-<n>`.
    pub name: String,
    pub exchange: Exchange,
    /// `true` if it may be repeated once the earlier ones are used.
    pub reusable: bool,
    /// Values that change from run to run.
    pub noise: Option<DeclaredNoise>,
    /// `true` if its target comes from the request alone, as in files without the actual
    /// destination.
    pub named: bool,
    /// Test and process that made the call.
    pub worker: Worker,
}

impl Recording {
    /// Names calls in order, from 1.
    pub fn number(exchanges: Vec<Exchange>) -> Vec<Self> {
        let named = exchanges
            .into_iter()
            .enumerate()
            .map(|(index, exchange)| Self {
                name: format!("mock-{}", index + 1),
                reusable: is_session(&exchange),
                exchange,
                noise: None,
                named: false,
                worker: Worker::default(),
            });
        named.collect()
    }
}

struct Entry {
    name: String,
    exchange: Arc<Exchange>,
    /// Its request without secrets, if it has any.
    said: Option<Exchange>,
    /// Header fields with a placeholder for a secret.
    credentials: Vec<Part>,
    reusable: bool,
    named: bool,
    worker: Worker,
    /// State of its connection before it.
    done: Arc<EffectDigests>,
    volatile: Vec<VolatileValue>,
    used: AtomicBool,
    /// Time of its first use.
    used_at: OnceLock<Instant>,
    /// `true` once it has been repeated.
    again: AtomicBool,
    /// `true` if it may change later reads.
    writes: bool,
    /// Number of its recorded transaction, from 1; 0 if none.
    transaction: u64,
    /// Indexes of the last write to its target before it, and of the next one. For a call that waits
    /// for news, before its answer.
    around: [Option<usize>; 2],
    /// `true` once it has been served from a queue.
    given: AtomicBool,
}

impl Entry {
    fn request(&self) -> &Exchange {
        self.said.as_ref().unwrap_or(&self.exchange)
    }
}

/// A preliminary key of a recording, computed before the selecting header fields are known.
struct PartialKey {
    /// Its key without the header.
    bare: Key,
    head: Vec<Part>,
    /// Finder of generated values, with those outside the header; `None` for the exact key.
    blank: Option<ValueBlanker>,
    /// Generated values in ignored parts.
    ignored: Vec<VolatileValue>,
    index: usize,
}

/// Recordings and their use. All threads of a run share one book.
#[derive(Default)]
pub struct Recordings {
    entries: Vec<Entry>,
    pairs: ValuePairs,
    /// Queues of recordings by call, with and without generated values.
    queues: HashMap<Key, Queue>,
    /// Selecting header fields by the key without a header.
    selections: HashMap<Key, HeadSelection>,
    secrets: Secrets,
    noise: Noise,
    /// Protocols at each target, in recorded order.
    protocols: HashMap<Target, Vec<Protocol>>,
    /// Recordings that belong to connections.
    sessions: HashMap<(Target, Protocol), Vec<usize>>,
    /// Targets whose recordings give the user and database of their connections.
    contexts: HashSet<(Target, Protocol)>,
    index: OnceLock<diagnosis::Index>,
    /// Calls ordered by the time of their request.
    asked: Vec<(SystemTime, usize)>,
    /// Notifies that a recording was used.
    turns: watch::Sender<()>,
    replayed: AtomicU64,
    again: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
    others: Mutex<BTreeMap<String, u64>>,
    /// Workers of this run.
    workers: Arc<Workers>,
    /// Recorded processes.
    processes: HashSet<Arc<str>>,
    of_other_workers: AtomicU64,
    /// `true` if misses go to the real servers, where possible.
    passes_on: bool,
    missed: Mutex<MissList>,
}

impl Recordings {
    pub fn new(exchanges: Vec<Exchange>, noise: Noise) -> Self {
        Self::of(Recording::number(exchanges), noise, Secrets::default())
    }

    /// Creates a book of these recordings, which are looked up without these secrets. The caller
    /// adds the noise that they declare ([`Noise::declare`]).
    pub fn of(recordings: Vec<Recording>, noise: Noise, secrets: Secrets) -> Self {
        let mut book = Self {
            secrets,
            noise,
            ..Self::default()
        };
        let histories =
            history::connection_states(recordings.iter().map(|recording| &recording.exchange));
        for (recording, before) in recordings.iter().zip(&histories) {
            // A Redis connection starts with the default database and user; others send theirs.
            let is_known = recording.exchange.content.protocol() == Protocol::Redis
                && recording.exchange.connection != 0;
            if is_known || !before.context.is_empty() {
                book.contexts.insert((
                    recording.exchange.target.clone(),
                    recording.exchange.content.protocol(),
                ));
            }
        }
        let mut ways = Vec::new();
        for (recording, before) in recordings.into_iter().zip(&histories) {
            book.processes.extend(recording.worker.process.clone());
            ways.extend(book.add(recording, before));
        }
        book.choose(&ways);
        for way in ways {
            book.put(way);
        }
        let Self {
            queues, entries, ..
        } = &mut book;
        queue::place_between_writes(entries);
        for queue in queues.values_mut() {
            queue.prepare(entries);
        }
        book.asked = book.in_order();
        book
    }

    /// Sets whether missed calls go to the real servers. Calls on a connection that recordings have
    /// answered cannot.
    #[must_use]
    pub fn passing_on(self, passes_on: bool) -> Self {
        Self { passes_on, ..self }
    }

    /// Returns the workers of this run.
    pub fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    fn choose(&mut self, ways: &[PartialKey]) {
        let mut alike: HashMap<Key, Vec<&PartialKey>> = HashMap::new();
        let mut uses: HashMap<(&Target, &str), Vec<&str>> = HashMap::new();
        for way in ways {
            alike.entry(way.bare).or_default().push(way);
            let target = &self.entries[way.index].exchange.target;
            for field in way.head.iter().filter(|_| way.blank.is_none()) {
                let values = uses.entry((target, &field.name)).or_default();
                values.push(&field.text);
            }
        }
        let count = |values: &Vec<&str>| FieldUse {
            calls: values.len(),
            values: values.iter().collect::<HashSet<_>>().len(),
        };
        let uses: HashMap<_, FieldUse> = uses
            .iter()
            .map(|(field, values)| (*field, count(values)))
            .collect();
        let select = |ways: &[&PartialKey]| {
            let heads: Vec<RecordedHead<'_>> = ways.iter().map(|way| self.head(way)).collect();
            let target = &self.entries[ways[0].index].exchange.target;
            HeadSelection::new(
                &heads,
                |index| queue::answer(&self.entries[index].exchange),
                |name| uses.get(&(target, name)).copied().unwrap_or_default(),
            )
        };
        let selections = alike
            .iter()
            .filter(|(_, ways)| ways.len() > 1)
            .map(|(bare, ways)| (*bare, select(ways)))
            .filter(|(_, selection)| !selection.is_empty());
        self.selections = selections.collect();
    }

    fn head<'a>(&self, way: &'a PartialKey) -> RecordedHead<'a> {
        let near = self.entries[way.index].exchange.sent_at;
        let field = |part| HeadField::new(part, near, self.noise.is_exact);
        RecordedHead {
            index: way.index,
            fields: way.head.iter().map(field).collect(),
        }
    }

    fn put(
        &mut self,
        PartialKey {
            bare,
            head,
            blank,
            ignored,
            index,
        }: PartialKey,
    ) {
        self.pairs.know(&ignored, index);
        let key = if let Some(blank) = blank {
            let (values, key) = self.blanked(bare, head.iter(), blank);
            if values.is_empty() {
                return;
            }
            self.pairs.know(&values, index);
            self.entries[index].volatile = values;
            key
        } else {
            self.with_head(bare, head.iter())
        };
        self.queues.entry(key).or_default().entries.push(index);
    }

    fn add(&mut self, recording: Recording, before: &ConnectionState) -> Vec<PartialKey> {
        let index = self.entries.len();
        let exchange = Arc::new(recording.exchange);
        let said = self.secrets.redact_request(&exchange);
        let mut question = Question::of(&said);
        let protocol = exchange.content.protocol();
        let target = &exchange.target;
        let head = |question: &Question<'_>, noise: &NoiseFields| {
            question.parts.head(noise).cloned().collect::<Vec<_>>()
        };
        let mut ways = Vec::new();
        // An error of a failed transaction is built without a recording.
        let is_aborted = is_aborted(&exchange);
        if !is_aborted {
            let finder = ValueBlanker::new(exchange.sent_at, self.noise.is_exact);
            for (bare, noise) in self.keys(&mut question, target, recording.named, before) {
                let ignored = question.parts.ignored_values(&noise, &finder);
                ways.push(PartialKey {
                    bare,
                    head: head(&question, &noise),
                    blank: None,
                    ignored: ignored.into_iter().flat_map(|(_, values)| values).collect(),
                    index,
                });
            }
            if let Some((said, blank)) = self.digest_without_values(&question, exchange.sent_at) {
                let bare = question.key_of(
                    &said,
                    target,
                    recording.named,
                    self.context(target, &exchange, before),
                );
                let head = head(&question, &self.noise.at(&question, target));
                ways.push(PartialKey {
                    bare,
                    head,
                    blank: Some(blank),
                    ignored: Vec::new(),
                    index,
                });
            }
        }
        if protocol != Protocol::Dns && !exchange.is_no_call() {
            let known = self.protocols.entry(target.clone()).or_default();
            if !known.contains(&protocol) {
                known.push(protocol);
            }
        }
        let is_session = is_session(&exchange);
        if is_session {
            self.sessions
                .entry((target.clone(), protocol))
                .or_default()
                .push(index);
        }
        let mut credentials = head(&question, &NoiseFields::default());
        credentials.retain(|field| !places(&field.bytes).is_empty());
        drop(question);
        self.entries.push(Entry {
            name: recording.name,
            said: (!asks_same(&said, &exchange)).then_some(said),
            credentials,
            // Resolvers repeat name lookups.
            reusable: recording.reusable || is_session || protocol == Protocol::Dns,
            named: recording.named,
            worker: recording.worker.named(|test| self.secrets.name(test)),
            done: Arc::clone(&before.done),
            volatile: Vec::new(),
            used: AtomicBool::new(is_aborted),
            used_at: OnceLock::new(),
            again: AtomicBool::new(false),
            writes: history::writes(&exchange),
            transaction: before.transaction,
            around: [None; 2],
            given: AtomicBool::new(false),
            exchange,
        });
        ways
    }

    fn missed_call(
        &self,
        asked: &Question<'_>,
        before: &ConnectionState,
        unfound: &LookupMiss,
    ) -> Miss {
        let closest = match unfound.used {
            Some(UsedRecordings { last, .. }) => Some(ClosestRecording {
                name: self.entries[last].name.clone(),
                differences: Vec::new(),
            }),
            None => self.closest(asked, unfound, &before.done),
        };
        let why = match unfound.used {
            Some(UsedRecordings { count, .. }) => Why::Used(count),
            None if closest.is_some() => Why::Differs,
            None => Why::NothingRecorded,
        };
        let bound = self.passes_on && matches!(asked.exchange.content, Content::Wire(..));
        let miss = Miss {
            asked: describe(asked.exchange),
            why,
            closest,
            bound,
            times: 1,
        };
        self.count(miss.clone());
        miss
    }

    fn count(&self, miss: Miss) {
        self.missed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(miss);
    }

    /// Counts a missed call that has no protocol-specific description: a refused connection, or a
    /// malformed request.
    pub fn missed(&self, target: &Target, what: &str) {
        let asked = format!("{what} ({target})");
        self.count(Miss {
            asked,
            why: Why::NothingRecorded,
            closest: None,
            bound: false,
            times: 1,
        });
    }

    /// Counts a connection that goes to the real server, since its target was not recorded.
    pub fn forwarded(&self, target: &Target) {
        let asked = format!("a connection to {target}");
        self.count(Miss {
            asked,
            why: Why::Forwarded,
            closest: None,
            bound: false,
            times: 1,
        });
    }

    /// Counts a login that no recording answers; `what` describes it.
    pub fn missed_because(&self, target: &Target, what: &str) {
        let asked = format!("{what} ({target})");
        self.count(Miss {
            asked,
            why: Why::Said,
            closest: None,
            bound: self.passes_on,
            times: 1,
        });
    }

    /// Counts a login that was answered with one of [`sessions`](Self::sessions).
    pub fn logged_in(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was refused or not answered, as in its recording.
    pub fn refused(&self, refusal: Refusal) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
        let count = if refusal.is_silence() {
            &self.unanswered
        } else {
            &self.refused
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn report(&self) -> Report {
        let unused = self.entries.iter().filter(|entry| {
            let counts =
                !is_session(&entry.exchange) && entry.exchange.content.protocol() != Protocol::Dns;
            counts && !entry.used.load(Ordering::Relaxed)
        });
        let unused = unused
            .map(|entry| UnusedRecording {
                name: entry.name.clone(),
                call: describe(&entry.exchange),
            })
            .collect();
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        Report {
            replayed: self.replayed.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
            of_other_workers: self.of_other_workers.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            others: self
                .others
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            volatile: self.pairs.differences(),
            kept: self.pairs.kept(),
            missed: missed.told.clone(),
            missed_count: missed.count,
            unused,
        }
    }
}

fn asks_same(one: &Exchange, other: &Exchange) -> bool {
    match (&one.content, &other.content) {
        (Content::Http(one) | Content::Grpc(one), Content::Http(other) | Content::Grpc(other)) => {
            one.request == other.request
        }
        (Content::Wire(_, one), Content::Wire(_, other)) => one
            .messages_by(Side::Client)
            .eq(other.messages_by(Side::Client)),
        (one, other) => one == other,
    }
}

fn is_aborted(exchange: &Exchange) -> bool {
    let Content::Wire(Protocol::Postgres, wire) = &exchange.content else {
        return false;
    };
    wire.messages_by(Side::Server).any(postgres::is_aborted)
}

fn is_session(exchange: &Exchange) -> bool {
    matches!(&exchange.content, Content::Wire(_, wire) if wire.session)
}
