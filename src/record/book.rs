//! Recordings by what they answer: exact matches alone, each queue in its order.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::exchange::{Content, Exchange, Protocol, Side, Target};

/// What is left out of comparisons.
#[derive(Clone, Debug, Default)]
pub struct Noise {}

/// A call that no recording answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The call, in a few words.
    pub asked: String,
}

/// What was played so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls that a recording answered.
    pub replayed: usize,
    /// Calls that none did.
    pub missed: Vec<Miss>,
}

type Key = (Target, Protocol, Vec<Vec<u8>>);

#[derive(Debug, Default)]
struct Shelf {
    queues: HashMap<Key, VecDeque<Arc<Exchange>>>,
    report: Report,
}

/// The recordings that a run is played from.
#[derive(Debug)]
pub struct Book {
    recorded: Vec<Arc<Exchange>>,
    shelf: Mutex<Shelf>,
}

impl Book {
    /// A book of these recordings, in the order in which they are to be used.
    pub fn new(exchanges: Vec<Exchange>, _noise: Noise) -> Self {
        let recorded: Vec<_> = exchanges.into_iter().map(Arc::new).collect();
        let mut shelf = Shelf::default();
        for exchange in &recorded {
            shelf.queues.entry(key(exchange)).or_default().push_back(Arc::clone(exchange));
        }
        Self { recorded, shelf: Mutex::new(shelf) }
    }

    /// The recording that answers a call; taken out, unless it belongs to a connection.
    pub fn find(&self, asked: &Exchange) -> Result<Arc<Exchange>, Miss> {
        let mut shelf = self.shelf();
        let queue = shelf.queues.entry(key(asked)).or_default();
        let found = match queue.front() {
            Some(first) if is_session(first) && queue.len() == 1 => queue.front().cloned(),
            _ => queue.pop_front(),
        };
        if let Some(found) = found {
            shelf.report.replayed += 1;
            return Ok(found);
        }
        let miss = Miss { asked: format!("a {:?} call to `{}`", asked.content.protocol(), asked.target) };
        shelf.report.missed.push(miss.clone());
        Err(miss)
    }

    /// What is spoken at a target, if anything was recorded there.
    pub fn protocol(&self, target: &Target) -> Option<Protocol> {
        self.recorded.iter().find(|exchange| exchange.target == *target).map(|exchange| exchange.content.protocol())
    }

    /// The recordings of a target that belong to connections.
    pub fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>> {
        let of = |exchange: &&Arc<Exchange>| exchange.target == *target && exchange.content.protocol() == protocol;
        self.recorded.iter().filter(of).filter(|exchange| is_session(exchange)).cloned().collect()
    }

    /// Counts something that nobody recorded, where there is no call to ask with.
    pub fn missed(&self, target: &Target, what: &str) {
        self.shelf().report.missed.push(Miss { asked: format!("`{target}`: {what}") });
    }

    /// What was played so far.
    pub fn report(&self) -> Report {
        self.shelf().report.clone()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_session(exchange: &Exchange) -> bool {
    matches!(&exchange.content, Content::Wire(_, wire) if wire.session)
}

fn key(exchange: &Exchange) -> Key {
    let messages = match &exchange.content {
        Content::Wire(_, wire) => wire.messages.as_slice(),
        _ => &[],
    };
    let asked = messages.iter().filter(|message| message.from == Side::Client).map(|message| message.bytes.clone());
    (exchange.target.clone(), exchange.content.protocol(), asked.collect())
}
