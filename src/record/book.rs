//! Recordings, and what is asked of them: exact, in order, each once.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::exchange::{Content, Exchange, Protocol, Side, Target};

/// What is left out of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Noise;

/// See the module.
#[derive(Debug, Default)]
pub struct Book {
    sessions: Vec<Arc<Exchange>>,
    protocols: HashMap<Target, Protocol>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<String, VecDeque<Arc<Exchange>>>,
    replayed: u64,
    missed: Vec<Miss>,
}

/// A call that no recording answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The call in words.
    pub asked: String,
    /// The recording that is most like it.
    pub closest: Option<Closest>,
}

/// The recording that is most like a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closest {
    /// Its name.
    pub name: String,
    /// What differs, a line each.
    pub differences: Vec<String>,
}

/// How a replay went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Calls that were answered.
    pub replayed: u64,
    /// Calls that were not.
    pub missed: Vec<Miss>,
    /// Recordings that were not used.
    pub unused: Vec<String>,
}

impl Book {
    /// Of these recordings.
    pub fn new(exchanges: Vec<Exchange>, _noise: Noise) -> Self {
        let mut book = Self::default();
        let mut state = State::default();
        for exchange in exchanges {
            let exchange = Arc::new(exchange);
            book.protocols.entry(exchange.target.clone()).or_insert(exchange.content.protocol());
            if matches!(&exchange.content, Content::Wire(_, wire) if wire.session) {
                book.sessions.push(exchange);
            } else {
                state.queues.entry(key(&exchange)).or_default().push_back(exchange);
            }
        }
        book.state = Mutex::new(state);
        book
    }

    /// The recording that answers a call.
    pub fn find(&self, asked: &Exchange) -> Result<Arc<Exchange>, Miss> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(asked);
        if let Some(found) = state.queues.get_mut(&key).and_then(VecDeque::pop_front) {
            state.replayed += 1;
            return Ok(found);
        }
        let miss = Miss { asked: key, closest: None };
        state.missed.push(miss.clone());
        Err(miss)
    }

    /// What protocol is spoken at this target.
    pub fn protocol(&self, target: &Target) -> Option<Protocol> {
        self.protocols.get(target).copied()
    }

    /// Session recordings of a target.
    pub fn sessions(&self, target: &Target, protocol: Protocol) -> Vec<Arc<Exchange>> {
        let wanted = |found: &&Arc<Exchange>| found.target == *target && found.content.protocol() == protocol;
        self.sessions.iter().filter(wanted).cloned().collect()
    }

    /// Something was asked that nobody recorded.
    pub fn missed(&self, target: &Target, what: &str) {
        let miss = Miss { asked: format!("{target} {what}"), closest: None };
        self.state.lock().unwrap_or_else(PoisonError::into_inner).missed.push(miss);
    }

    /// How it went so far.
    pub fn report(&self) -> Report {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unused: Vec<String> =
            state.queues.iter().flat_map(|(key, queue)| queue.iter().map(|_| key.clone())).collect();
        unused.sort();
        Report { replayed: state.replayed, missed: state.missed.clone(), unused }
    }
}

fn key(exchange: &Exchange) -> String {
    let mut key = format!("{:?} {}", exchange.content.protocol(), exchange.target);
    match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let request = &http.request;
            let _ = write!(key, " {} {} {}", request.method, request.path, request.body.escape_ascii());
        }
        Content::Dns(dns) => {
            let _ = write!(key, " {} {}", dns.name, dns.kind);
        }
        Content::Wire(_, wire) => {
            for message in wire.messages.iter().filter(|message| message.from == Side::Client) {
                let _ = write!(key, " {}", message.bytes.escape_ascii());
            }
        }
    }
    key
}
