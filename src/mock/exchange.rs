//! Exchanges of a real server over HTTP, as the observers and the recorder see them.

use std::sync::Arc;
use std::time::Instant;

use replay_base::limits::MAX_RECORDED_MESSAGES;
use replay_mcp::protocol::{Incoming, Revision, parse};
use serde_json::{Value, json};

use super::cassette::CassetteRecorder;
use super::observer::{Observers, SeenMessage, SessionObserver as _};

/// Observers of the exchanges with a real server, and its recorder.
pub struct Exchanges {
    observers: Arc<Observers>,
    recorder: Option<CassetteRecorder>,
}

impl Exchanges {
    pub fn new(observers: Arc<Observers>, recorder: Option<CassetteRecorder>) -> Arc<Self> {
        Arc::new(Self {
            observers,
            recorder,
        })
    }

    /// Tells the observers of a message or a batch of a client. `revision` is the date in its
    /// header, if it has one.
    pub fn begin(self: &Arc<Self>, body: &[u8], revision: Option<&str>) -> Exchange {
        let mut exchange = Exchange {
            seen_by: Arc::clone(self),
            open: Vec::new(),
            since: Instant::now(),
        };
        let revision = revision.and_then(Revision::parse);
        match parse(body) {
            Incoming::Batch(members) => {
                for member in members {
                    exchange.add(&parse(member.get().as_bytes()), revision);
                }
            }
            message => exchange.add(&message, revision),
        }
        exchange
    }
}

/// Requests of one POST without an answer so far. When it is dropped, they get none.
pub struct Exchange {
    seen_by: Arc<Exchanges>,
    open: Vec<SeenMessage>,
    since: Instant,
}

impl Exchange {
    fn add(&mut self, message: &Incoming<'_>, revision: Option<Revision>) {
        let Incoming::Request(request) = message else {
            return;
        };
        let observers = &self.seen_by.observers;
        let seen = observers.came(request, None, revision);
        if seen.id.is_some() {
            self.open.push(seen);
        } else {
            observers.answered(&seen);
        }
    }

    /// Takes a message or a batch of the server.
    pub fn receive(&mut self, message: &[u8]) {
        match serde_json::from_slice(message) {
            Ok(Value::Array(members)) => members.into_iter().for_each(|member| self.take(member)),
            Ok(message) => self.take(message),
            Err(_) => {}
        }
    }

    fn take(&mut self, mut message: Value) {
        if message["method"].is_string() {
            for seen in &mut self.open {
                if seen.before.len() < MAX_RECORDED_MESSAGES {
                    let mut kept = json!({"method": message["method"]});
                    if let Some(params) = message.get("params") {
                        kept["params"] = params.clone();
                    }
                    if message.get("id").is_some() {
                        // The client answers in another POST.
                        kept["answer"] = Value::Null;
                    }
                    seen.before.push(kept);
                }
            }
            return;
        }
        let id = message["id"].to_string();
        let is_own = |seen: &SeenMessage| seen.id.as_ref().is_some_and(|own| own.as_json() == id);
        let Some(index) = self.open.iter().position(is_own) else {
            return;
        };
        let mut seen = self.open.swap_remove(index);
        let member = if message.get("result").is_some() {
            "result"
        } else {
            "error"
        };
        seen.reply = Some(json!({ member: message[member].take() }));
        self.finish(seen);
    }

    fn finish(&self, mut seen: SeenMessage) {
        seen.time = self.since.elapsed();
        if let Some(recorder) = &self.seen_by.recorder {
            recorder.answered(&seen);
        }
        self.seen_by.observers.answered(&seen);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        for seen in std::mem::take(&mut self.open) {
            self.finish(seen);
        }
    }
}
