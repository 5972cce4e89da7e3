//! Recordings by what they answer: an exact key, and behind each key a queue in the order of the recording.
//!
//! Nothing is served that does not match. A second identical call gets the second answer; when all are used the call is
//! missed, unless the last one may be used again, as that of a read. What is nearest to a missed call is looked for only to be told.

mod anew;
mod body;
mod closest;
mod connection;
mod heads;
pub(super) mod history;
mod json;
mod key;
mod learning;
mod leaving;
mod noise;
mod overtaken;
mod parts;
mod places;
mod queue;
mod report;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

use anew::{Blank, Pairs, Value};
pub use closest::describe;
pub use connection::Connection;
use heads::Head;
use key::{Key, Said};
use leaving::NotAnew;
use noise::Fields;
pub use noise::{Change, DeclaredNoise, Lesson, Noise};
pub use overtaken::Overtaken;
use places::{places, targets};
use queue::{Queue, Taken};
use report::Missed;
pub use report::{Closest, Miss, Report, Unused, Why};

use crate::record::call::{Content, Exchange, Message, Protocol, Refusal, Side, Target, Wire, is_no_call};
use crate::record::protocol::{postgres, spoken, sql};
use crate::record::redact::Secrets;
use history::{Before, Done};

/// A call with its name in a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// `mock-<n>`.
    pub name: String,
    /// The call.
    pub exchange: Exchange,
    /// Whether it answers as often as it is asked, once those before it are used.
    pub reusable: bool,
    /// What of it changes from run to run.
    pub noise: Option<DeclaredNoise>,
    /// Whether its target is only what the request names, as in files that do not say where a call went.
    pub named: bool,
}

impl Recording {
    /// Names calls in their order, from 1.
    pub fn number(exchanges: Vec<Exchange>) -> Vec<Self> {
        let named = exchanges.into_iter().enumerate().map(|(index, exchange)| Self {
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
    reusable: bool,
    named: bool,
    /// What its connection had done before it.
    done: Arc<Done>,
    /// Values that its run made anew.
    anew: Vec<Value>,
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

/// A way in which a recording is found, as far as it is known before it is known which fields of its head choose.
struct Way {
    /// Its key without its head.
    bare: Key,
    head: Head,
    /// What finds the values that its run made anew, with those outside of its head; none where they count.
    blank: Option<Blank>,
    index: usize,
}

/// Recordings, and how they were used. All threads of a run share one.
pub struct Book {
    entries: Vec<Entry>,
    pairs: Pairs,
    /// Recordings of one call, and those of one call without values that each run makes anew.
    queues: HashMap<Key, Queue>,
    /// Which fields of the head choose, by the key without any, where some do.
    choosing: HashMap<Key, BTreeSet<String>>,
    secrets: Secrets,
    noise: Noise,
    protocols: HashMap<Target, Protocol>,
    /// Those that belong to connections.
    sessions: HashMap<(Target, Protocol), Vec<usize>>,
    /// Where it is known of connections who they are of, and which database they use.
    contexts: HashSet<(Target, Protocol)>,
    index: closest::Index,
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

/// Recordings of a call that were all given.
#[derive(Clone, Copy, Debug)]
struct Used {
    count: usize,
    /// The place of the last of them.
    last: usize,
}

/// Why there is no recording of a call.
struct Unfound {
    /// Recordings of it, which were all used.
    used: Option<Used>,
    /// A recording of it with another secret, where its own is one of another call, or after another history.
    alike: Option<usize>,
    /// Fields that choose between recordings that are the same in all else.
    choosing: BTreeSet<String>,
}

impl Book {
    /// A book of these calls in their order.
    pub fn new(exchanges: Vec<Exchange>, noise: Noise) -> Self {
        Self::of(Recording::number(exchanges), noise, Secrets::default())
    }

    /// A book of these recordings in their order, which are looked up without these secrets. Noise that they declare is the caller's
    /// to add ([`Noise::declare`]).
    pub fn of(recordings: Vec<Recording>, noise: Noise, secrets: Secrets) -> Self {
        let mut book = Self {
            entries: Vec::with_capacity(recordings.len()),
            pairs: Pairs::default(),
            queues: HashMap::with_capacity(recordings.len()),
            choosing: HashMap::new(),
            secrets,
            noise,
            protocols: HashMap::new(),
            sessions: HashMap::new(),
            contexts: HashSet::new(),
            index: closest::Index::default(),
            asked: Vec::new(),
            turns: watch::Sender::default(),
            replayed: AtomicU64::new(0),
            again: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            others: Mutex::default(),
            passes_on: false,
            missed: Mutex::default(),
        };
        let histories = history::befores(recordings.iter().map(|recording| &recording.exchange));
        for (recording, before) in recordings.iter().zip(&histories) {
            // A connection to Redis begins with a database and a user; one to others tells them.
            let is_known =
                recording.exchange.content.protocol() == Protocol::Redis && recording.exchange.connection != 0;
            if is_known || !before.context.is_empty() {
                book.contexts.insert((recording.exchange.target.clone(), recording.exchange.content.protocol()));
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
        let Self { queues, entries, .. } = &mut book;
        queue::place_between_writes(entries);
        for queue in queues.values_mut() {
            queue.settle(entries);
        }
        book.asked = book.in_order();
        book
    }

    /// The same book, where what nothing answers goes to the real servers if so, as far as it can: what is asked on a
    /// connection that recordings have answered cannot.
    #[must_use]
    pub fn passing_on(self, passes_on: bool) -> Self {
        Self { passes_on, ..self }
    }

    /// Finds out which fields of the head choose.
    fn choose(&mut self, ways: &[Way]) {
        let mut alike: HashMap<Key, Vec<&Way>> = HashMap::new();
        for way in ways {
            alike.entry(way.bare).or_default().push(way);
        }
        for (bare, ways) in alike {
            let answer = |way: &Way| queue::answer(&self.entries[way.index].exchange);
            let differ = || ways.iter().any(|way| answer(way) != answer(ways[0]));
            let choosing = heads::choosing(&ways.iter().map(|way| &way.head).collect::<Vec<_>>(), differ);
            if !choosing.is_empty() {
                self.choosing.insert(bare, choosing);
            }
        }
    }

    /// Puts a recording into a queue.
    fn put(&mut self, Way { bare, head, blank, index }: Way) {
        let key = if let Some(blank) = blank {
            let (values, key) = self.blanked(bare, &head, blank);
            if values.is_empty() {
                return;
            }
            self.pairs.know(&values, index);
            self.entries[index].anew = values;
            key
        } else {
            key::with_head(bare, heads::chosen(&head, self.choosing(bare)), key::as_it_is)
        };
        self.queues.entry(key).or_default().entries.push(index);
    }

    fn add(&mut self, recording: Recording, before: &Before) -> Vec<Way> {
        let index = self.entries.len();
        let exchange = Arc::new(recording.exchange);
        let said = self.secrets.asked(&exchange);
        let protocol = exchange.content.protocol();
        let target = &exchange.target;
        let mut ways = Vec::new();
        // What is ignored in a transaction that failed is answered so without a recording.
        let is_aborted = is_aborted(&exchange);
        if !is_aborted {
            for (bare, noise) in self.keys(&mut Said::of(&said), &said, target, recording.named, before) {
                ways.push(Way { bare, head: heads::of(&said, &noise), blank: None, index });
            }
            if let Some(found) = self.anew(&said, exchange.sent_at) {
                let bare = found.key(target, recording.named, self.context(target, &said, before));
                let head = heads::of(&said, &self.noise.at(&said, target));
                ways.push(Way { bare, head, blank: Some(found.blank), index });
            }
        }
        let is_call = !is_no_call(&exchange);
        if protocol != Protocol::Dns && is_call {
            self.protocols.entry(target.clone()).or_insert(protocol);
        }
        let is_session = is_session(&exchange);
        if is_session {
            self.sessions.entry((target.clone(), protocol)).or_default().push(index);
        }
        if is_call {
            self.index.add(&said, index);
        }
        // A name is asked for as often as a resolver likes.
        let reusable = recording.reusable || is_session || protocol == Protocol::Dns;
        let (name, named) = (recording.name, recording.named);
        let (used, done) = (AtomicBool::new(is_aborted), Arc::clone(&before.done));
        let said = (!asks_same(&said, &exchange)).then_some(said);
        let (writes, given, anew) = (history::writes(&exchange), AtomicBool::new(false), Vec::new());
        let (transaction, around) = (before.transaction, [None; 2]);
        self.entries.push(Entry {
            name,
            exchange,
            said,
            reusable,
            named,
            done,
            anew,
            used,
            writes,
            transaction,
            around,
            given,
        });
        ways
    }

    /// The recording that answers a call, which is given without its answer. Each is given out once, in their order, but
    /// those that belong to connections, names and reusable ones, of which the last is given again.
    ///
    /// Recordings that say where they went answer only calls that go there; those of files that do not say it, or say
    /// only what the request names, answer where nothing else does.
    pub fn find(&self, asked: &Exchange) -> Result<Arc<Exchange>, Miss> {
        let asked = self.secrets.asked(asked);
        let found = self.look_up(&asked, &Before::default());
        found.map(|(found, _)| found).map_err(|unfound| self.missed_call(&asked, &Before::default(), &unfound))
    }

    /// The same of a call on a connection with this history; and where nothing answers it, what may need no recording.
    pub(in crate::record) fn find_in(
        &self,
        asked: &Exchange,
        before: &Before,
        plain: impl FnOnce() -> Option<Vec<Vec<u8>>>,
    ) -> Result<Answer, Miss> {
        let asked = self.secrets.asked(asked);
        match self.look_up(&asked, before) {
            Ok((found, transaction)) => Ok(Answer::Recorded(found, transaction)),
            Err(unfound) => plain().map(Answer::Plain).ok_or_else(|| self.missed_call(&asked, before, &unfound)),
        }
    }

    /// The recording that would answer a call, used or not. It is not taken out.
    pub(in crate::record) fn peek(&self, asked: &Exchange, before: &Before) -> Option<Arc<Exchange>> {
        let asked = &self.secrets.asked(asked);
        let mut said = Said::of(asked);
        let places = targets(asked).into_iter();
        let keys = places.flat_map(|(target, named)| self.keys(&mut said, asked, &target, named, before));
        keys.into_iter().find_map(|(bare, noise)| {
            let queue = self.queue(bare, &heads::of(asked, &noise))?;
            Some(Arc::clone(&self.entries[*queue.entries.first()?].exchange))
        })
    }

    /// The recording that answers a call, or the recordings of it that were all used.
    fn look_up(&self, asked: &Exchange, before: &Before) -> Result<(Arc<Exchange>, u64), Unfound> {
        let (mut used, mut alike, mut said, mut choosing) = (None, None, Said::of(asked), BTreeSet::new());
        let places = targets(asked).into_iter();
        let keys = places.flat_map(|(target, named)| self.keys(&mut said, asked, &target, named, before));
        for (bare, noise) in keys {
            let Some(queue) = self.queue(bare, &heads::of(asked, &noise)) else {
                choosing.extend(self.choosing(bare).iter().cloned());
                continue;
            };
            if let Some(taken) = queue.take(&self.entries, before, !noise.is_empty(), |_| true) {
                if noise.is_empty() {
                    self.pairs.keep(&self.entries[taken.index].anew);
                }
                return Ok(self.given(asked, queue, taken));
            }
            if !queue.has(&self.entries, &before.done) {
                alike = alike.or(queue.entries.first().copied());
                continue;
            }
            // Those of the very same values are among those without.
            let is_whole = noise.is_empty() || !matches!(asked.content, Content::Wire(..));
            let all = queue.entries.last().map(|last| Used { count: queue.entries.len(), last: *last });
            used = used.filter(|_| is_whole).or(all);
        }
        if used.is_none() {
            match self.look_up_anew(asked, before) {
                Ok(found) => return Ok(found),
                Err(NotAnew::Used(all)) => used = Some(all),
                Err(NotAnew::Other(other)) => alike = alike.or(other),
            }
        }
        Err(Unfound { used, alike, choosing })
    }

    /// A recording answers a call.
    fn given(&self, asked: &Exchange, queue: &Queue, taken: Taken) -> (Arc<Exchange>, u64) {
        let entry = &self.entries[taken.index];
        entry.used.store(true, Ordering::Relaxed);
        self.turns.send_replace(());
        for name in heads::other_secrets(entry.said.as_ref().unwrap_or(&entry.exchange), asked) {
            *self.others.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        }
        self.replayed.fetch_add(1, Ordering::Relaxed);
        if taken.is_again && queue.repeats() && !entry.reusable {
            self.again.fetch_add(1, Ordering::Relaxed);
        }
        let found = if taken.is_again { postgres::again(&entry.exchange) } else { Arc::clone(&entry.exchange) };
        // Many transactions read and prepare alike: what does something tells which it is.
        let tells = entry.transaction != 0 && !history::shapes(&entry.exchange).is_empty();
        (found, if tells { entry.transaction } else { 0 })
    }

    fn missed_call(&self, asked: &Exchange, before: &Before, unfound: &Unfound) -> Miss {
        let miss = self.miss(asked, before, unfound);
        self.count(miss.clone());
        miss
    }

    fn miss(&self, asked: &Exchange, before: &Before, unfound: &Unfound) -> Miss {
        let bound = self.passes_on && matches!(asked.content, Content::Wire(..));
        let miss = |why, closest| Miss { asked: describe(asked), why, closest, bound, times: 1 };
        if let Some(Used { count, last }) = unfound.used {
            let name = self.entries[last].name.clone();
            return miss(Why::Used(count), Some(Closest { name, differences: Vec::new() }));
        }
        let candidate = |index: usize| {
            let entry = &self.entries[index];
            let used = entry.used.load(Ordering::Relaxed);
            let (name, exchange, named) = (&entry.name, entry.said.as_ref().unwrap_or(&entry.exchange), entry.named);
            closest::Candidate { name, exchange, named, used, done: &entry.done }
        };
        let closest = self.index.closest(asked, unfound.alike, candidate, &self.noise, &unfound.choosing, &before.done);
        miss(if closest.is_some() { Why::Differs } else { Why::NothingRecorded }, closest)
    }

    fn count(&self, miss: Miss) {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).add(miss);
    }

    /// What is spoken at a target, if anything was recorded there: who speaks first follows from it.
    pub fn protocol(&self, target: &Target) -> Option<Protocol> {
        let known = places(target).into_iter().find_map(|target| self.protocols.get(&target).copied());
        known.or_else(|| {
            // Of recordings that do not say where they went: the protocol that the port is known for, or the only one.
            let unknown = Target { host: String::new(), port: 0 };
            let here = self.index.targets().filter(|(target, _)| *target == unknown);
            let here: HashSet<Protocol> = here.map(|(_, protocol)| *protocol).collect();
            let usual = spoken::on_port(target.port).filter(|protocol| here.contains(protocol));
            usual.or_else(|| if here.len() == 1 { here.into_iter().next() } else { None })
        })
    }

    /// The recordings of a target that belong to its connections (greetings, authentication), in their order. They are not
    /// taken out.
    pub fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>> {
        let of = |target: Target| self.sessions.get(&(target, protocol)).filter(|found| !found.is_empty());
        let found = places(target).into_iter().chain([Target { host: String::new(), port: 0 }]).find_map(of);
        let entries = found.into_iter().flatten().map(|index| &self.entries[*index]);
        entries
            .inspect(|entry| entry.used.store(true, Ordering::Relaxed))
            .map(|entry| Arc::clone(&entry.exchange))
            .collect()
    }

    /// Counts a call that there are no words of its protocol for: a connection that was refused, or what was no request.
    pub fn missed(&self, target: &Target, what: &str) {
        let asked = format!("{what} ({target})");
        self.count(Miss { asked, why: Why::NothingRecorded, closest: None, bound: false, times: 1 });
    }

    /// Counts a connection that goes to the real server, since nothing was recorded of its target.
    pub fn forwarded(&self, target: &Target) {
        let asked = format!("a connection to {target}");
        self.count(Miss { asked, why: Why::Forwarded, closest: None, bound: false, times: 1 });
    }

    /// Counts a login that no recording answers, as `what` says.
    pub fn missed_login(&self, target: &Target, what: &str) {
        let asked = format!("{what} ({target})");
        self.count(Miss { asked, why: Why::Said, closest: None, bound: self.passes_on, times: 1 });
    }

    /// Counts a login that was answered with one of [`sessions`](Self::sessions).
    pub fn logged_in(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was refused, or not answered, as it was in its recording.
    pub fn refused(&self, refusal: Refusal) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
        let count = if refusal.is_silence() { &self.unanswered } else { &self.refused };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How the replay has gone so far.
    pub fn report(&self) -> Report {
        let unused = self.entries.iter().filter(|entry| {
            let counts = !is_session(&entry.exchange) && entry.exchange.content.protocol() != Protocol::Dns;
            counts && !entry.used.load(Ordering::Relaxed)
        });
        let unused = unused.map(|entry| Unused { name: entry.name.clone(), call: describe(&entry.exchange) }).collect();
        let missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        Report {
            replayed: self.replayed.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            others: self.others.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            anew: self.pairs.told(),
            missed: missed.told.clone(),
            missed_count: missed.count,
            unused,
        }
    }
}

/// Whether two calls ask the same.
fn asks_same(one: &Exchange, other: &Exchange) -> bool {
    match (&one.content, &other.content) {
        (Content::Http(one) | Content::Grpc(one), Content::Http(other) | Content::Grpc(other)) => {
            one.request == other.request
        }
        (Content::Wire(_, one), Content::Wire(_, other)) => {
            let is_asked = |message: &&Message| message.from == Side::Client;
            one.messages.iter().filter(is_asked).eq(other.messages.iter().filter(is_asked))
        }
        (one, other) => one == other,
    }
}

/// What answers a call to a database.
#[derive(Debug)]
pub(in crate::record) enum Answer {
    /// A recording, and the transaction that it is in, if it tells.
    Recorded(Arc<Exchange>, u64),
    /// Messages of a server, of what needs no recording.
    Plain(Vec<Vec<u8>>),
}

/// The statements of a call by their tokens.
pub(in crate::record) fn statement(protocol: Protocol, wire: &Wire) -> Vec<Vec<sql::Token>> {
    let Some(parts) = parts::Parts::of(protocol, wire, &Fields::default()) else { return Vec::new() };
    let (text, bound) = parts.statement();
    sql::statements(&text, protocol == Protocol::MySql, &bound)
}

fn is_aborted(exchange: &Exchange) -> bool {
    let Content::Wire(Protocol::Postgres, wire) = &exchange.content else { return false };
    wire.messages.iter().any(|message| message.from == Side::Server && postgres::is_aborted(&message.bytes))
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book")
            .field("recordings", &self.entries.len())
            .field("keys", &self.queues.len())
            .finish_non_exhaustive()
    }
}

fn is_session(exchange: &Exchange) -> bool {
    matches!(&exchange.content, Content::Wire(_, wire) if wire.session)
}
