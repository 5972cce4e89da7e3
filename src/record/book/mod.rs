//! Recordings by what they answer: an exact key, and behind each key a queue in the order of the recording.
//!
//! Nothing is served that does not match. A second identical call gets the second answer; when all are used the call is
//! missed, unless the last one may be used again. What is nearest to a missed call is looked for only to be told.

mod body;
mod closest;
mod commands;
mod echoes;
mod fields;
mod json;
mod key;
mod learning;
mod leaving;
mod made;
mod noise;
mod overtaken;
mod parts;
mod places;
mod queue;
mod report;
mod secrets;
mod shelf;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

pub use closest::describe;
use echoes::Echoes;
pub use key::{Key, Place, canonical, canonical_call, is_key_header};
use key::{Keys, Said};
pub use noise::{Change, Lesson, Noise};
pub use overtaken::Overtaken;
use places::{places, targets, usual_protocol};
use queue::Queue;
use report::Missed;
pub use report::{Closest, Miss, Report, Unused, Why};
use secrets::Statements;
use shelf::{Fields, Found, Shelf};

use super::exchange::{Content, Exchange, Protocol, Target};
use super::files::DeclaredNoise;
use super::outline::{Refusal, is_no_call};
use super::{mysql, postgres, state};

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
    reusable: bool,
    named: bool,
    used: AtomicBool,
    /// Whether it answered a call as one of a queue.
    given: AtomicBool,
}

/// Recordings, and how they were used. All threads of a run share one.
pub struct Book {
    entries: Vec<Entry>,
    queues: HashMap<Key, Shelf>,
    statements: Statements,
    noise: Noise,
    protocols: HashMap<Target, Protocol>,
    /// Those that belong to connections.
    sessions: HashMap<(Target, Protocol), Vec<usize>>,
    /// Where recordings say what state their connections were in.
    stateful: HashSet<(Target, Protocol)>,
    /// Targets at which several users of `MySQL` were, who are in the calls there.
    users: HashSet<Target>,
    /// Where the states say all settings.
    full: HashSet<(Target, Protocol)>,
    index: closest::Index,
    /// The calls by when they were asked.
    asked: Vec<(SystemTime, usize)>,
    /// Tells that a recording was used.
    turns: watch::Sender<()>,
    replayed: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
    others: Mutex<BTreeMap<String, u64>>,
    echoes: Echoes,
    /// Whether misses go to the real servers, where they can.
    passes_on: bool,
    missed: Mutex<Missed>,
}

/// Why there is no recording of a call.
struct Unfound<'a> {
    /// Recordings of it, which were all used.
    used: Option<&'a Queue>,
    /// A recording of it with another secret, where its own is one of another call.
    alike: Option<usize>,
    /// Fields that choose between recordings that are the same in all else.
    choosing: BTreeSet<String>,
}

impl Book {
    /// A book of these calls in their order.
    pub fn new(exchanges: Vec<Exchange>, noise: Noise) -> Self {
        Self::of(Recording::number(exchanges), noise)
    }

    /// A book of these recordings in their order. Noise that they declare is the caller's to add ([`Noise::declare`]).
    pub fn of(mut recordings: Vec<Recording>, noise: Noise) -> Self {
        let mut book = Self {
            entries: Vec::with_capacity(recordings.len()),
            queues: HashMap::with_capacity(recordings.len()),
            statements: Statements::default(),
            noise,
            protocols: HashMap::new(),
            sessions: HashMap::new(),
            stateful: HashSet::new(),
            users: HashSet::new(),
            full: HashSet::new(),
            index: closest::Index::default(),
            asked: Vec::new(),
            turns: watch::Sender::default(),
            replayed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            others: Mutex::default(),
            echoes: Echoes::default(),
            passes_on: false,
            missed: Mutex::default(),
        };
        // As files have them: whether calls there have a state is not a question of users.
        for Recording { exchange, .. } in &recordings {
            let place = || (exchange.target.clone(), exchange.content.protocol());
            if state::leads(exchange) {
                book.stateful.insert(place());
            }
            if state::is_full(exchange) {
                book.full.insert(place());
            }
        }
        book.users = mysql::tell_apart(recordings.iter_mut().map(|recording| &mut recording.exchange));
        let mut alike: HashMap<Key, BTreeSet<Key>> = HashMap::new();
        for recording in recordings {
            for keys in book.add(recording) {
                alike.entry(keys.bare).or_default().insert(keys.whole);
            }
        }
        for keys in alike.into_values() {
            let fields = Fields::of(&keys.iter().filter_map(|key| book.queues.get(key)).collect::<Vec<_>>());
            for key in keys {
                if let Some(shelf) = book.queues.get_mut(&key) {
                    shelf.settle(fields.clone());
                }
            }
        }
        let Self { queues, entries, .. } = &mut book;
        for shelf in queues.values_mut() {
            shelf.each_queue(|queue| queue.tell_apart(|index| (&*entries[index].exchange, entries[index].reusable)));
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

    fn add(&mut self, recording: Recording) -> Vec<Keys> {
        let index = self.entries.len();
        let exchange = Arc::new(recording.exchange);
        let protocol = exchange.content.protocol();
        let target = &exchange.target;
        let mut keys = Vec::new();
        for (own, noise) in self.keys(&mut Said::of(&exchange), &exchange, target, recording.named) {
            self.queues.entry(own.whole).or_default().add(&exchange, &noise, index);
            keys.push(own);
        }
        self.statements.add(&exchange);
        let is_call = !is_no_call(&exchange);
        if protocol != Protocol::Dns && is_call {
            self.protocols.entry(target.clone()).or_insert(protocol);
        }
        let is_session = is_session(&exchange);
        if is_session {
            self.sessions.entry((target.clone(), protocol)).or_default().push(index);
        }
        if is_call {
            self.index.add(&exchange, index);
        }
        // A name is asked for as often as a resolver likes.
        let reusable = recording.reusable || is_session || protocol == Protocol::Dns;
        let (name, named) = (recording.name, recording.named);
        self.entries.push(Entry {
            name,
            exchange,
            reusable,
            named,
            used: AtomicBool::new(false),
            given: AtomicBool::new(false),
        });
        keys
    }

    /// The recording that answers a call, which is given without its answer. Each is given out once, in their order, but
    /// those that belong to connections, names and reusable ones, of which the last is given again.
    ///
    /// Recordings that say where they went answer only calls that go there; those of files that do not say it, or say
    /// only what the request names, answer where nothing else does.
    pub fn find(&self, asked: &Exchange) -> Result<Arc<Exchange>, Miss> {
        self.find_or(asked, None)
    }

    /// As [`find`](Self::find), and where nothing answers the call, what answers the other one. A miss is of the first.
    pub fn find_or(&self, asked: &Exchange, otherwise: Option<&Exchange>) -> Result<Arc<Exchange>, Miss> {
        let unfound = match self.look_up(asked) {
            Ok(found) => return Ok(found),
            Err(unfound) => unfound,
        };
        if let Some(Ok(found)) = otherwise.map(|otherwise| self.look_up(otherwise)) {
            return Ok(found);
        }
        let miss = self.miss(asked, &unfound);
        self.count(miss.clone());
        Err(miss)
    }

    /// The recording that would answer a call, used or not. It is not taken out.
    pub(super) fn peek(&self, asked: &Exchange) -> Option<Arc<Exchange>> {
        let mut said = Said::of(asked);
        let keys = targets(asked).into_iter().flat_map(|(target, named)| self.keys(&mut said, asked, &target, named));
        keys.into_iter().find_map(|(keys, noise)| {
            let queue = self.found(self.queues.get(&keys.whole)?, asked, &noise).ok()?.queue;
            let index = *queue.fitting(&state::hints(asked)).first()?.queue.entries.first()?;
            Some(Arc::clone(&self.entries[index].exchange))
        })
    }

    /// The recording that answers a call, or the recordings of it that were all used.
    fn look_up(&self, asked: &Exchange) -> Result<Arc<Exchange>, Unfound<'_>> {
        let (mut used, mut alike, mut said, mut choosing) = (None, None, Said::of(asked), BTreeSet::new());
        let keys = targets(asked).into_iter().flat_map(|(target, named)| self.keys(&mut said, asked, &target, named));
        for (keys, noise) in keys {
            let Some(shelf) = self.queues.get(&keys.whole) else { continue };
            let Found { queue, other, .. } = match self.found(shelf, asked, &noise) {
                Ok(found) => found,
                Err(refused) => {
                    alike = alike.or(refused);
                    choosing.extend(shelf.choosing().into_iter().map(str::to_owned));
                    continue;
                }
            };
            let fitting = queue.fitting(&state::hints(asked));
            if fitting.is_empty() {
                choosing.extend(queue.choosing().map(str::to_owned));
                continue;
            }
            let taken = fitting.into_iter().find_map(|fitting| Some((self.take(fitting.queue)?, fitting.other)));
            if let Some(((index, is_again), state)) = taken {
                let entry = &self.entries[index];
                entry.used.store(true, Ordering::Relaxed);
                self.turns.send_replace(());
                if let Some(name) = other.or(state.map(str::to_owned)) {
                    *self.others.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
                }
                self.echoes.answered(asked, &self.entries, index, &noise);
                self.replayed.fetch_add(1, Ordering::Relaxed);
                return Ok(if is_again { postgres::again(&entry.exchange) } else { Arc::clone(&entry.exchange) });
            }
            // Those of the very same values are among those without.
            let is_whole = noise.is_empty() || !matches!(asked.content, Content::Wire(..));
            used = used.filter(|_| is_whole).or(Some(queue));
        }
        Err(Unfound { used, alike, choosing })
    }

    /// The next of a queue, and whether it was given before.
    fn take(&self, queue: &Queue) -> Option<(usize, bool)> {
        let last = queue.entries.len() - 1;
        let advance = |next: usize| (next <= last).then_some(next + 1);
        loop {
            match queue.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance) {
                // It may have been given from another queue that it stands in.
                Ok(next) if self.entries[queue.entries[next]].given.swap(true, Ordering::Relaxed) => {}
                Ok(next) => return Some((queue.entries[next], false)),
                // One that the program did not wait for is asked for no more than that.
                Err(_) => {
                    let again = queue.entries.iter().rev().find(|index| !self.entries[**index].exchange.abandoned)?;
                    return self.entries[*again].reusable.then_some((*again, true));
                }
            }
        }
    }

    fn miss(&self, asked: &Exchange, unfound: &Unfound<'_>) -> Miss {
        let bound = self.passes_on && matches!(asked.content, Content::Wire(..));
        let miss = |why, closest| Miss { asked: describe(asked), why, closest, bound, times: 1 };
        if let Some(queue) = unfound.used {
            let name = queue.entries.last().map(|index| self.entries[*index].name.clone()).unwrap_or_default();
            return miss(Why::Used(queue.entries.len()), Some(Closest { name, differences: Vec::new() }));
        }
        let candidate = |index: usize| {
            let entry = &self.entries[index];
            let used = entry.used.load(Ordering::Relaxed);
            closest::Candidate { name: &entry.name, exchange: &entry.exchange, named: entry.named, used }
        };
        let closest = self.index.closest(asked, unfound.alike, candidate, &self.noise, &unfound.choosing);
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
            let usual = usual_protocol(target.port).filter(|protocol| here.contains(protocol));
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
            refused: self.refused.load(Ordering::Relaxed),
            unanswered: self.unanswered.load(Ordering::Relaxed),
            others: self.others.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            repeated: self.echoes.found(),
            missed: missed.told.clone(),
            missed_count: missed.count,
            unused,
        }
    }
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
