//! Decisions about connections before they are made. The proxy dials the real server first, so a
//! refusal reaches the program as an error of its own connect(2).

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use replay_base::budget::Share;
use replay_base::limits::{CONNECTION_DESCRIPTORS, MAX_RECORDED_CONNECTIONS, UPSTREAM_CONNECT_MS};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::context::Context;
use super::session::{Hub, PendingDial};
use super::stream::Stream;
use super::{Attempt, Mode, Replay, nameserver, replay, upstream};
use replay_network::rules::Transport;

pub(super) enum Decision {
    /// The proxy dials the real server. If the dial fails, the receiver gets nothing and the failure
    /// is reported. Dropping the receiver cancels the dial.
    Dialed(Context, oneshot::Receiver<Stream>),
    Played(Context, Arc<Replay>),
    /// The connection fails with this errno.
    Refused(i32),
}

/// A decision, with the descriptor that the connection needs.
pub(super) type DecidedConnection = (Decision, Share);

/// Decisions about connections that have not arrived yet.
pub(super) struct Attempts {
    pub shared: Arc<Hub>,
    /// Decisions by key of the attempt, oldest first.
    decided: Mutex<VecDeque<(Instant, u64, DecidedConnection)>>,
}

impl Attempts {
    pub(super) fn new(shared: Hub) -> Self {
        Self {
            shared: Arc::new(shared),
            decided: Mutex::default(),
        }
    }

    /// Returns the decision about an arriving connection, or decides now if it was not announced.
    pub(super) fn decision(&self, attempt: Attempt) -> DecidedConnection {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        let at = decided.iter().position(|(_, key, _)| *key == attempt.key);
        if let Some((.., decided)) = at.and_then(|at| decided.remove(at)) {
            return decided;
        }
        drop(decided);
        let (decided, dialing) = decide(&self.shared, attempt);
        if let Some(dialing) = dialing {
            tokio::spawn(dial(dialing, None));
        }
        decided
    }

    /// Decides about an announced connection. The program waits, unless `dialed` already is the
    /// connection to the server.
    pub(super) fn decide_attempt(
        &self,
        runtime: &Handle,
        attempt: Attempt,
        dialed: Option<OwnedFd>,
    ) {
        if nameserver::is_nameserver(attempt.to) || self.shared.is_agent(attempt.to) {
            self.shared.wires.decide(attempt.key, None);
            return;
        }
        let key = attempt.key;
        let (decided, dialing) = decide(&self.shared, attempt);
        if let Some(server) = dialed {
            self.keep(key, decided);
            if let Some(request) = dialing {
                let _entered = runtime.enter();
                match Stream::socket(server, request.descriptor) {
                    Ok(server) => drop(request.answer.send(server)),
                    Err(error) => drop(request.context.handle_failed_dial(&error)),
                }
            }
            return;
        }
        let errno = if let Decision::Refused(errno) = decided.0 {
            Some(errno)
        } else {
            None
        };
        // A refused connection may still arrive if the program could not wait.
        self.keep(key, decided);
        if let Some(dialing) = dialing {
            runtime.spawn(dial(dialing, Some(key)));
        } else {
            self.shared.wires.decide(key, errno);
        }
    }

    /// Forgets a connection that the program gave up.
    pub(super) fn forget_attempt(&self, key: u64) {
        self.decided
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(_, other, _)| *other != key);
    }

    fn keep(&self, key: u64, last: DecidedConnection) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        // Some connections never arrive, because their program was killed.
        let late = Duration::from_millis(2 * UPSTREAM_CONNECT_MS);
        decided.retain(|(since, other, _)| *other != key && since.elapsed() <= late);
        if decided.len() == MAX_RECORDED_CONNECTIONS {
            decided.pop_front();
        }
        decided.push_back((Instant::now(), key, last));
    }
}

/// A connection to a real server that is to be opened.
struct DialRequest {
    context: Context,
    /// Receives the stream.
    answer: oneshot::Sender<Stream>,
    descriptor: Share,
}

/// Decides about a connection, and returns the dial to the real server if there is one.
fn decide(shared: &Arc<Hub>, attempt: Attempt) -> (DecidedConnection, Option<DialRequest>) {
    let refused = |errno| ((Decision::Refused(errno), Share::default()), None);
    let (link, nth) = shared.link(shared.target(attempt.to));
    if shared.agent.is_some() {
        shared.workers.connected(link.connection, attempt.caller);
    }
    let mut context = Context {
        keep: false,
        link,
        nth,
        by: attempt.by,
        shared: Arc::clone(shared),
    };
    let keep = match shared.mode.clone() {
        Mode::Pass => false,
        Mode::Record => true,
        Mode::Replay { replay, .. } => match replay::decide(&context, &replay) {
            Ok(Some(keep)) => keep,
            Ok(None) => {
                return match context.descriptors(1) {
                    Ok(descriptor) => ((Decision::Played(context, replay), descriptor), None),
                    Err(errno) => refused(errno),
                };
            }
            Err(errno) => return refused(errno),
        },
    };
    // Report a denial now, before a program that does not wait continues.
    if shared
        .wires
        .access()
        .is_some_and(|access| !access.admits(Transport::Tcp, &context.link.target, context.by))
    {
        return refused(libc::EACCES);
    }
    let mut descriptors = match context.descriptors(CONNECTION_DESCRIPTORS) {
        Ok(descriptors) => descriptors,
        Err(errno) => return refused(errno),
    };
    context.keep = keep;
    let (answer, stream) = oneshot::channel();
    let dialing = DialRequest {
        context: context.clone(),
        answer,
        descriptor: descriptors.split(1),
    };
    (
        (Decision::Dialed(context, stream), descriptors),
        Some(dialing),
    )
}

/// Dials the real server until the receiver is dropped. `key` is the attempt that waits for the
/// result, if any.
async fn dial(request: DialRequest, key: Option<u64>) {
    let DialRequest {
        context,
        mut answer,
        descriptor,
    } = request;
    let dialing = PendingDial {
        link: context.link.clone(),
        nth: context.nth,
        keep: context.keep,
    };
    context
        .shared
        .state()
        .dialing
        .insert(context.link.connection, dialing);
    let dialed = tokio::select! {
        dialed = upstream::dial_with_descriptor(&context, descriptor) => dialed,
        () = answer.closed() => Err(io::ErrorKind::TimedOut.into()),
    };
    context
        .shared
        .state()
        .dialing
        .remove(&context.link.connection);
    let errno = match dialed {
        Ok(server) => {
            let _ = answer.send(server);
            None
        }
        Err(error) => context.handle_failed_dial(&error).errno(),
    };
    if let Some(key) = key {
        context.shared.wires.decide(key, errno);
    }
}
