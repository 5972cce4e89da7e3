//! What becomes of connections is decided before they are made: the real server is called first, so
//! that a program that it refuses is refused by its own call of connect(2).

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::context::Context;
use super::session::{Dialing, Hub};
use super::stream::Stream;
use super::{Attempt, Mode, Replay, nameserver, replay, upstream};
use crate::budget::Share;
use crate::limits::{CONNECTION_DESCRIPTORS, MAX_RECORDED_CONNECTIONS, UPSTREAM_CONNECT_MS};
use crate::network::rules::Transport;

pub enum Decision {
    /// The real server is called; nothing comes if it is not reached, and that has been told.
    /// Nobody calls it any more when this is dropped.
    Dialed(Context, oneshot::Receiver<Stream>),
    Played(Context, Arc<Replay>),
    /// It fails with this number of errno(3).
    Refused(i32),
}

/// One that comes, with the descriptor that it takes.
pub type Decided = (Decision, Share);

/// Connections that were decided about and have not come yet.
pub struct Attempts {
    pub shared: Arc<Hub>,
    /// By the keys of attempts, the oldest first.
    decided: Mutex<VecDeque<(Instant, u64, Decided)>>,
}

impl Attempts {
    pub fn new(shared: Hub) -> Self {
        Self {
            shared: Arc::new(shared),
            decided: Mutex::default(),
        }
    }

    /// What was decided about a connection that comes; or is now, if nobody had told of it before.
    pub fn decision(&self, attempt: Attempt) -> Decided {
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

    /// A program wants to make this connection, and waits unless it is `dialed` to its server.
    pub fn asked(&self, runtime: &Handle, attempt: Attempt, dialed: Option<OwnedFd>) {
        if nameserver::is_nameserver(attempt.to) {
            self.shared.wires.decide(attempt.key, None);
            return;
        }
        let (decided, dialing) = decide(&self.shared, attempt);
        if let Some(server) = dialed {
            self.keep(attempt.key, decided);
            if let Some((context, tell, descriptor)) = dialing {
                let _entered = runtime.enter();
                match Stream::socket(server, descriptor) {
                    Ok(server) => drop(tell.send(server)),
                    Err(error) => drop(context.not_reached(&error)),
                }
            }
            return;
        }
        let errno = if let Decision::Refused(errno) = decided.0 {
            Some(errno)
        } else {
            None
        };
        // One that is refused may come all the same, if it could not wait for this.
        self.keep(attempt.key, decided);
        if let Some(dialing) = dialing {
            runtime.spawn(dial(dialing, Some(attempt.key)));
        } else {
            self.shared.wires.decide(attempt.key, errno);
        }
    }

    /// A program that wanted to make this connection does not any more.
    pub fn given_up(&self, key: u64) {
        self.decided
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(_, other, _)| *other != key);
    }

    fn keep(&self, key: u64, last: Decided) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        // Some never come: their program was ended meanwhile.
        let late = Duration::from_millis(2 * UPSTREAM_CONNECT_MS);
        decided.retain(|(since, other, _)| *other != key && since.elapsed() <= late);
        if decided.len() == MAX_RECORDED_CONNECTIONS {
            decided.pop_front();
        }
        decided.push_back((Instant::now(), key, last));
    }
}

/// Who calls the real server, whom to tell, and the descriptor for that.
type Dial = (Context, oneshot::Sender<Stream>, Share);

/// Decides about a connection; with what there is to do if the real server is to be called.
fn decide(shared: &Arc<Hub>, attempt: Attempt) -> (Decided, Option<Dial>) {
    let refused = |errno| ((Decision::Refused(errno), Share::default()), None);
    let (link, nth) = shared.link(shared.target(attempt.to));
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
    // Said at once, before a program that does not wait has gone on.
    if shared
        .wires
        .door()
        .is_some_and(|door| !door.admits(Transport::Tcp, &context.link.target, context.by))
    {
        return refused(libc::EACCES);
    }
    let mut descriptors = match context.descriptors(CONNECTION_DESCRIPTORS) {
        Ok(descriptors) => descriptors,
        Err(errno) => return refused(errno),
    };
    context.keep = keep;
    let (tell, told) = oneshot::channel();
    let dialing = (context.clone(), tell, descriptors.split(1));
    (
        (Decision::Dialed(context, told), descriptors),
        Some(dialing),
    )
}

/// Calls the real server of a connection, which waits for that under a number if it has one, as
/// long as somebody wants it.
async fn dial((context, mut tell, descriptor): Dial, key: Option<u64>) {
    let dialing = Dialing {
        link: context.link.clone(),
        nth: context.nth,
        keep: context.keep,
    };
    context
        .shared
        .kept()
        .dialing
        .insert(context.link.connection, dialing);
    let dialed = tokio::select! {
        dialed = upstream::dial_by(&context, descriptor) => dialed,
        () = tell.closed() => Err(io::ErrorKind::TimedOut.into()),
    };
    context
        .shared
        .kept()
        .dialing
        .remove(&context.link.connection);
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
