//! What becomes of connections is decided before they are made: the real server is called first, so that a program that it
//! refuses is refused by its own call of connect(2).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::context::Context;
use super::hub::{Dialing, Hub};
use super::stream::Stream;
use super::{Attempt, Mode, Replay, nameserver, replay, upstream};
use crate::egress::Transport;
use crate::limits::{MAX_RECORDED_CONNECTIONS, UPSTREAM_CONNECT_MS};

pub enum Decision {
    /// The real server is called; nothing comes if it is not reached, and that has been told.
    Dialed(Context, oneshot::Receiver<Stream>),
    Played(Context, Arc<Replay>),
    /// It fails with this number of errno(3).
    Refused(i32),
}

/// Connections that were decided about and have not come yet.
pub struct Attempts {
    pub shared: Arc<Hub>,
    /// By the keys of attempts, the oldest first.
    decided: Mutex<VecDeque<(Instant, u64, Decision)>>,
}

impl Attempts {
    pub fn new(shared: Hub) -> Self {
        Self { shared: Arc::new(shared), decided: Mutex::default() }
    }

    /// What was decided about a connection that comes; or is now, if nobody had told of it before.
    pub fn decision(&self, attempt: Attempt) -> Decision {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        let at = decided.iter().position(|(_, key, _)| *key == attempt.key);
        if let Some((.., decision)) = at.and_then(|at| decided.remove(at)) {
            return decision;
        }
        drop(decided);
        let (decision, dialing) = decide(&self.shared, attempt);
        if let Some((context, tell)) = dialing {
            tokio::spawn(dial(context, None, tell));
        }
        decision
    }

    /// A program wants to make this connection, and waits.
    pub fn asked(&self, runtime: &Handle, attempt: Attempt) {
        if nameserver::is_nameserver(attempt.to) {
            self.shared.wires.decide(attempt.key, None);
            return;
        }
        let (decision, dialing) = decide(&self.shared, attempt);
        let errno = if let Decision::Refused(errno) = decision { Some(errno) } else { None };
        // One that is refused may come all the same, if it could not wait for this.
        self.keep(attempt.key, decision);
        if let Some((context, tell)) = dialing {
            runtime.spawn(dial(context, Some(attempt.key), tell));
        } else {
            self.shared.wires.decide(attempt.key, errno);
        }
    }

    fn keep(&self, key: u64, decision: Decision) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        // Some never come: their program was ended meanwhile.
        let late = Duration::from_millis(2 * UPSTREAM_CONNECT_MS);
        decided.retain(|(since, other, _)| *other != key && since.elapsed() <= late);
        if decided.len() == MAX_RECORDED_CONNECTIONS {
            decided.pop_front();
        }
        decided.push_back((Instant::now(), key, decision));
    }
}

/// Decides about a connection; with what there is to do if the real server is to be called.
fn decide(shared: &Arc<Hub>, attempt: Attempt) -> (Decision, Option<(Context, oneshot::Sender<Stream>)>) {
    let (link, nth) = shared.link(shared.target(attempt.to));
    let mut context = Context { keep: false, link, nth, by: attempt.by, shared: Arc::clone(shared) };
    let keep = match shared.mode.clone() {
        Mode::Pass => false,
        Mode::Record => true,
        Mode::Replay { replay, .. } => match replay::decide(&context, &replay) {
            Ok(Some(keep)) => keep,
            Ok(None) => return (Decision::Played(context, replay), None),
            Err(errno) => return (Decision::Refused(errno), None),
        },
    };
    // Said at once, before a program that does not wait has gone on.
    if shared.wires.door().is_some_and(|door| !door.admits(Transport::Tcp, &context.link.target, context.by)) {
        return (Decision::Refused(libc::EACCES), None);
    }
    context.keep = keep;
    let (tell, told) = oneshot::channel();
    (Decision::Dialed(context.clone(), told), Some((context, tell)))
}

/// Calls the real server of a connection, which waits for that under a number if it has one.
async fn dial(context: Context, key: Option<u64>, tell: oneshot::Sender<Stream>) {
    let dialing = Dialing { link: context.link.clone(), nth: context.nth, keep: context.keep };
    context.shared.kept().dialing.insert(context.link.connection, dialing);
    let dialed = upstream::dial(&context).await;
    context.shared.kept().dialing.remove(&context.link.connection);
    let errno = match dialed {
        Ok(server) => {
            let _ = tell.send(server);
            None
        }
        Err(error) => context.not_reached(&error).errno(),
    };
    if let Some(key) = key {
        context.shared.wires.decide(key, errno);
    }
}
