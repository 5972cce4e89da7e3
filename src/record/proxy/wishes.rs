//! What becomes of connections is decided before they are made: the real server is called first, so that a program that it
//! refuses is refused by its own call of connect(2).

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::context::Context;
use super::shared::Shared;
use super::{Mode, Replay, Wish, names, replay};
use crate::limits::{MAX_RECORDED_CONNECTIONS, UPSTREAM_CONNECT_MS};
use crate::record::call::Refusal;

/// What becomes of a connection.
pub enum Awaited {
    /// The real server is called; nothing comes if it is not reached, and that has been told.
    Dialed(Context, oneshot::Receiver<TcpStream>),
    /// Recordings answer.
    Played(Context, Arc<Replay>),
    /// Nothing: it was refused.
    Refused,
}

/// Connections that were decided about and have not come yet.
#[derive(Default)]
pub struct Wishes(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    awaited: HashMap<u64, (Instant, Awaited)>,
    /// Their numbers, the oldest first.
    order: VecDeque<(Instant, u64)>,
}

impl Wishes {
    fn keep(&self, key: u64, awaited: Awaited) {
        let now = Instant::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.awaited.insert(key, (now, awaited));
        kept.order.push_back((now, key));
        // Some never come: their program was ended meanwhile.
        let late = Duration::from_millis(2 * UPSTREAM_CONNECT_MS);
        while let Some((since, key)) = kept.order.front().copied()
            && (since.elapsed() > late || kept.order.len() > MAX_RECORDED_CONNECTIONS)
        {
            kept.order.pop_front();
            if kept.awaited.get(&key).is_some_and(|(kept, _)| *kept == since) {
                kept.awaited.remove(&key);
            }
        }
    }

    /// What was decided about this one.
    pub fn take(&self, key: u64) -> Option<Awaited> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.awaited.remove(&key).map(|(_, awaited)| awaited)
    }
}

impl Awaited {
    /// Of a connection that nobody had told of before it came.
    pub fn new(shared: &Arc<Shared>, to: SocketAddr) -> Self {
        match decided(shared, to) {
            Decided::Dial(context) => {
                let (tell, told) = oneshot::channel();
                tokio::spawn(dial(context.clone(), None, tell));
                Self::Dialed(context, told)
            }
            Decided::Play(context, replay) => Self::Played(context, replay),
            Decided::Refuse(_) => Self::Refused,
        }
    }
}

/// What is to become of a connection of the program.
pub enum Decided {
    /// It goes to the real server.
    Dial(Context),
    /// Recordings answer.
    Play(Context, Arc<Replay>),
    /// It fails with this number of errno(3).
    Refuse(i32),
}

fn decided(shared: &Arc<Shared>, to: SocketAddr) -> Decided {
    let (link, nth) = shared.link(shared.target(to));
    let shared = Arc::clone(shared);
    let context = Context { keep: matches!(shared.mode, Mode::Record), link, nth, shared };
    match context.shared.mode.clone() {
        Mode::Record => Decided::Dial(context),
        Mode::Replay { replay, .. } => replay::decide(context, replay),
    }
}

/// A program wants to make this connection, and waits.
pub fn asked(shared: &Arc<Shared>, runtime: &Handle, wish: Wish) {
    if names::is_nameserver(wish.to) {
        shared.wires.decide(wish.key, None);
        return;
    }
    match decided(shared, wish.to) {
        Decided::Dial(context) => {
            let (tell, told) = oneshot::channel();
            shared.wishes.keep(wish.key, Awaited::Dialed(context.clone(), told));
            runtime.spawn(dial(context, Some(wish.key), tell));
        }
        Decided::Play(context, replay) => {
            shared.wishes.keep(wish.key, Awaited::Played(context, replay));
            shared.wires.decide(wish.key, None);
        }
        Decided::Refuse(errno) => {
            // It may come all the same, if it could not wait for this.
            shared.wishes.keep(wish.key, Awaited::Refused);
            shared.wires.decide(wish.key, Some(errno));
        }
    }
}

/// Calls the real server of a connection, which waits for that under a number if it has one.
async fn dial(context: Context, key: Option<u64>, tell: oneshot::Sender<TcpStream>) {
    context.dials(true);
    let dialed = context.shared.dial(&context.link.target).await;
    context.dials(false);
    let errno = match dialed {
        Ok(server) => {
            let _ = tell.send(server);
            None
        }
        Err(error) => {
            let refusal = Refusal::of(&error);
            context.refused(refusal);
            refusal.errno()
        }
    };
    if let Some(key) = key {
        context.shared.wires.decide(key, errno);
    }
}
