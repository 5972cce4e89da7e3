//! Recordings by what they answer: an exact key, and behind each key a queue in the order of the
//! recording.
//!
//! Nothing is served that does not match. A second identical call gets the second answer; when all
//! are used the call is missed, unless the last one may be used again, as that of a read. What is
//! nearest to a missed call is looked for only to be told.

mod connection;
mod description;
mod diagnosis;
mod fields;
pub(super) mod history;
mod key;
mod learned_noise;
mod lookup;
mod noise;
mod parts;
mod queue;
mod report;
mod timing;
mod volatile_values;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

pub use connection::Connection;
pub use description::describe;
use fields::Fields;
use history::{Before, Done};
use key::{Key, Question};
pub use learned_noise::learn;
use lookup::{Unfound, Used};
pub use noise::{DeclaredNoise, Noise};
use queue::Queue;
use report::Missed;
pub use report::{Closest, Miss, Report, Unused, Why};
use volatile_values::{Blank, Pairs, Volatile};

use crate::record::call::{Content, Exchange, Protocol, Refusal, Side, Target};
use crate::record::protocol::parts::Part;
use crate::record::protocol::postgres;
use crate::record::redact::{Secrets, places};

/// A call with its name in a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// `mock-<n>`.
    pub name: String,
    pub exchange: Exchange,
    /// Whether it answers as often as it is asked, once those before it are used.
    pub reusable: bool,
    /// What of it changes from run to run.
    pub noise: Option<DeclaredNoise>,
    /// Whether its target is only what the request names, as in files that do not say where a call
    /// went.
    pub named: bool,
}

impl Recording {
    /// Names calls in their order, from 1.
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
            });
        named.collect()
    }
}

struct Entry {
    name: String,
    exchange: Arc<Exchange>,
    /// What it asks without secrets, if it has any.
    said: Option<Exchange>,
    /// Fields of its head in which something stands for a secret.
    credentials: Vec<Part>,
    reusable: bool,
    named: bool,
    /// What its connection had done before it.
    done: Arc<Done>,
    anew: Vec<Volatile>,
    used: AtomicBool,
    /// Whether it may change what is read after it.
    writes: bool,
    /// The recorded transaction that it is in, from 1.
    transaction: u64,
    /// The places of the last write to its target before it, and of the next one.
    around: [Option<usize>; 2],
    /// Whether it answered a call as one of a queue.
    given: AtomicBool,
}

impl Entry {
    fn asked(&self) -> &Exchange {
        self.said.as_ref().unwrap_or(&self.exchange)
    }
}

/// A way in which a recording is found, as far as it is known before it is known which fields of
/// its head choose.
struct PartialKey {
    /// Its key without its head.
    bare: Key,
    head: Vec<Part>,
    /// What finds the values that its run made anew, with those outside of its head; none where
    /// they count.
    blank: Option<Blank>,
    index: usize,
}

/// Recordings, and how they were used. All threads of a run share one.
#[derive(Default)]
pub struct Book {
    entries: Vec<Entry>,
    pairs: Pairs,
    /// Recordings of one call, and those of one call without values that each run makes anew.
    queues: HashMap<Key, Queue>,
    /// Which fields of the head choose, by the key without any, where some do.
    choosing: HashMap<Key, BTreeSet<String>>,
    secrets: Secrets,
    noise: Noise,
    /// What is spoken at each target, the first of it first.
    protocols: HashMap<Target, Vec<Protocol>>,
    /// Those that belong to connections.
    sessions: HashMap<(Target, Protocol), Vec<usize>>,
    /// Where it is known of connections who they are of, and which database they use.
    contexts: HashSet<(Target, Protocol)>,
    index: OnceLock<diagnosis::Index>,
    /// The calls by when they were asked.
    asked: Vec<(SystemTime, usize)>,
    /// Tells that a recording was used.
    turns: watch::Sender<()>,
    replayed: AtomicU64,
    again: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
    others: Mutex<BTreeMap<String, u64>>,
    /// Whether misses go to the real servers, where they can.
    passes_on: bool,
    missed: Mutex<Missed>,
}

impl Book {
    pub fn new(exchanges: Vec<Exchange>, noise: Noise) -> Self {
        Self::of(Recording::number(exchanges), noise, Secrets::default())
    }

    /// A book of these recordings in their order, which are looked up without these secrets. Noise
    /// that they declare is the caller's to add ([`Noise::declare`]).
    pub fn of(recordings: Vec<Recording>, noise: Noise, secrets: Secrets) -> Self {
        let mut book = Self {
            secrets,
            noise,
            ..Self::default()
        };
        let histories = history::befores(recordings.iter().map(|recording| &recording.exchange));
        for (recording, before) in recordings.iter().zip(&histories) {
            // A connection to Redis begins with a database and a user; one to others tells them.
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
            queue.settle(entries);
        }
        book.asked = book.in_order();
        book
    }

    /// The same book, where what nothing answers goes to the real servers if so, as far as it can:
    /// what is asked on a connection that recordings have answered cannot.
    #[must_use]
    pub fn passing_on(self, passes_on: bool) -> Self {
        Self { passes_on, ..self }
    }

    fn choose(&mut self, ways: &[PartialKey]) {
        let mut alike: HashMap<Key, Vec<&PartialKey>> = HashMap::new();
        for way in ways {
            alike.entry(way.bare).or_default().push(way);
        }
        for (bare, ways) in alike {
            let answer = |way: &PartialKey| queue::answer(&self.entries[way.index].exchange);
            let differ = || ways.iter().any(|way| answer(way) != answer(ways[0]));
            let heads: Vec<Vec<&Part>> = ways.iter().map(|way| way.head.iter().collect()).collect();
            let choosing = parts::choosing(&heads, differ);
            if !choosing.is_empty() {
                self.choosing.insert(bare, choosing);
            }
        }
    }

    fn put(
        &mut self,
        PartialKey {
            bare,
            head,
            blank,
            index,
        }: PartialKey,
    ) {
        let key = if let Some(blank) = blank {
            let (values, key) = self.blanked(bare, head.iter(), blank);
            if values.is_empty() {
                return;
            }
            self.pairs.know(&values, index);
            self.entries[index].anew = values;
            key
        } else {
            self.with_head(bare, head.iter())
        };
        self.queues.entry(key).or_default().entries.push(index);
    }

    fn add(&mut self, recording: Recording, before: &Before) -> Vec<PartialKey> {
        let index = self.entries.len();
        let exchange = Arc::new(recording.exchange);
        let said = self.secrets.asked(&exchange);
        let mut question = Question::of(&said);
        let protocol = exchange.content.protocol();
        let target = &exchange.target;
        let head = |question: &Question<'_>, noise: &Fields| {
            question.parts.head(noise).cloned().collect::<Vec<_>>()
        };
        let mut ways = Vec::new();
        // What is ignored in a transaction that failed is answered so without a recording.
        let is_aborted = is_aborted(&exchange);
        if !is_aborted {
            for (bare, noise) in self.keys(&mut question, target, recording.named, before) {
                ways.push(PartialKey {
                    bare,
                    head: head(&question, &noise),
                    blank: None,
                    index,
                });
            }
            if let Some((said, blank)) = self.anew(&question, exchange.sent_at) {
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
        let mut credentials = head(&question, &Fields::default());
        credentials.retain(|field| !places(&field.bytes).is_empty());
        drop(question);
        self.entries.push(Entry {
            name: recording.name,
            said: (!asks_same(&said, &exchange)).then_some(said),
            credentials,
            // A name is asked for as often as a resolver likes.
            reusable: recording.reusable || is_session || protocol == Protocol::Dns,
            named: recording.named,
            done: Arc::clone(&before.done),
            anew: Vec::new(),
            used: AtomicBool::new(is_aborted),
            writes: history::writes(&exchange),
            transaction: before.transaction,
            around: [None; 2],
            given: AtomicBool::new(false),
            exchange,
        });
        ways
    }

    fn missed_call(&self, asked: &Question<'_>, before: &Before, unfound: &Unfound) -> Miss {
        let closest = match unfound.used {
            Some(Used { last, .. }) => Some(Closest {
                name: self.entries[last].name.clone(),
                differences: Vec::new(),
            }),
            None => self.closest(asked, unfound, &before.done),
        };
        let why = match unfound.used {
            Some(Used { count, .. }) => Why::Used(count),
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

    /// Counts a call that there are no words of its protocol for: a connection that was refused, or
    /// what was no request.
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

    /// Counts a connection that goes to the real server, since nothing was recorded of its target.
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

    /// Counts a login that no recording answers, as `what` says.
    pub fn missed_login(&self, target: &Target, what: &str) {
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

    /// Counts a connection that was refused, or not answered, as it was in its recording.
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
            .map(|entry| Unused {
                name: entry.name.clone(),
                call: describe(&entry.exchange),
            })
            .collect();
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        Report {
            replayed: self.replayed.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            others: self
                .others
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            anew: self.pairs.told(),
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
        (Content::Wire(_, one), Content::Wire(_, other)) => {
            one.said(Side::Client).eq(other.said(Side::Client))
        }
        (one, other) => one == other,
    }
}

fn is_aborted(exchange: &Exchange) -> bool {
    let Content::Wire(Protocol::Postgres, wire) = &exchange.content else {
        return false;
    };
    wire.said(Side::Server).any(postgres::is_aborted)
}

fn is_session(exchange: &Exchange) -> bool {
    matches!(&exchange.content, Content::Wire(_, wire) if wire.session)
}
