//! A message on its way through a session: it waits for its turn, is served, at once or on a thread
//! of its own, and is answered once, be it by its work, or because that hangs.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{block_in_place, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::blocking::{Held, Pace, Spent};
use super::conversation::Conversation;
use super::in_flight::Pending;
use super::message::{Answer, Message};
use super::tenant::{Place, Tenant};
use crate::budget::Share;
use crate::cancel::CancelToken;
use crate::limits::{HTTP_ROOM_MS, QUICK_BYTES};
use crate::protocol::{
    Body, Code, Id, Incoming, Outcome, Revision, RpcError, parse, render, rendered_length,
};
use crate::server::{ExclusiveWork, Outbox, Ticket, size};
use crate::tools::Weight;
use crate::transport::batch;

/// What a reply to a call has beside its content, about, in bytes.
const ENVELOPE_BYTES: usize = 384;

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// For nothing: it is no call of a tool, and its answer is there at once.
    None,
    /// For its turn among the calls that work.
    Calls,
    /// For its turn among the calls that only wait for something else.
    Waits,
}

impl Queue {
    pub fn of(method: &str, weight: Weight) -> Self {
        match weight {
            Weight::Waits => Self::Waits,
            Weight::Quick | Weight::Light if method != "tools/call" => Self::None,
            Weight::Quick | Weight::Light | Weight::Heavy => Self::Calls,
        }
    }
}

/// What is to be served.
pub enum Work {
    /// An admitted request, its message, and which queue it stands in.
    Request(Ticket, Message, Queue),
    /// The message of a batch, the ids of its requests, and what stops it.
    Batch(Message, Vec<Id>, CancelToken),
}

impl Work {
    pub fn id(&self) -> Option<Id> {
        match self {
            Self::Request(ticket, ..) => Some(ticket.id.clone()),
            Self::Batch(..) => None,
        }
    }

    pub fn cancel(&self) -> &CancelToken {
        match self {
            Self::Request(ticket, ..) => &ticket.cancel,
            Self::Batch(_, _, cancel) => cancel,
        }
    }
}

/// Where it is served.
#[derive(Clone)]
pub struct Stage {
    pub tenant: Arc<Tenant>,
    pub conversation: Arc<Conversation>,
    /// Where messages go that come before the reply.
    pub outbox: Arc<dyn Outbox>,
    /// A call that hangs in the kernel for so long is given up.
    pub stall: Duration,
}

/// The right to be served by a thread on which others wait, until it is dropped.
struct Turn {
    held: Held,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Messages of work that a thread does on which others wait.
struct Between<'a> {
    inner: &'a dyn Outbox,
    pace: &'a Pace,
    /// How long others did not wait, in microseconds.
    aside: AtomicU64,
}

impl Outbox for Between<'_> {
    fn send(&self, message: &[u8]) {
        self.inner.send(message);
    }

    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        self.inner.exclusively(work);
    }

    /// The runtime gives what else this thread has to do to another one.
    fn at_length(&self, work: &mut dyn FnMut()) {
        let begun = Instant::now();
        self.pace.aside(|| block_in_place(work));
        self.aside
            .fetch_add(begun.elapsed().as_micros() as u64, Relaxed);
    }
}

impl Stage {
    /// Serves it on a task of its own, whether or not anybody waits for the reply: whoever carries
    /// the bytes of its client sees that this goes away, and what else it says.
    pub fn start(self, place: Place, work: Work) -> Pending {
        Pending::Task(tokio::spawn(async move {
            let Some(turn) = self.turn_now(&place, &work) else {
                return self.serve(&place, work).await;
            };
            let (answer, id) = self.now(turn, work)?;
            Some(self.account(answer, id.as_ref()).await)
        }))
    }

    /// Lets this thread, on which others wait, serve it if it is work that is done at once and may
    /// begin at once: going to another thread and back takes longer than a small file. Nobody would
    /// see it hang, so the service has to be sure.
    fn turn_now(&self, place: &Place, work: &Work) -> Option<Turn> {
        let queue = match work {
            Work::Request(ticket, message, queue)
                if ticket.weight == Weight::Quick && message.bytes.len() <= QUICK_BYTES =>
            {
                *queue
            }
            _ => return None,
        };
        if !self.tenant.service.is_prompt() {
            return None;
        }
        let permit = match queue {
            Queue::None => None,
            Queue::Calls => Some(place.turn_now()?),
            Queue::Waits => return None,
        };
        let held = self
            .tenant
            .pace
            .begin(Instant::now().into_std(), Spent::now)?;
        Some(Turn {
            held,
            _permit: permit,
        })
    }

    /// Serves it on this thread. The answer, and the id that it is for.
    fn now(&self, turn: Turn, work: Work) -> Option<(Answer, Option<Id>)> {
        let Turn { held, _permit } = turn;
        let id = work.id();
        let outbox = Between {
            inner: &*self.outbox,
            pace: &self.tenant.pace,
            aside: AtomicU64::new(0),
        };
        let served = catch_unwind(AssertUnwindSafe(|| {
            perform(&self.tenant, &self.conversation, &outbox, work)
        }));
        let aside = Duration::from_micros(outbox.aside.into_inner());
        self.tenant
            .pace
            .end(&held, aside, Instant::now().into_std(), Spent::now);
        Some((served.ok().flatten()?, id))
    }

    async fn serve(self, place: &Place, work: Work) -> Option<Answer> {
        let (ids, queue, is_batch) = match &work {
            Work::Request(ticket, _, queue) => (vec![ticket.id.clone()], *queue, false),
            Work::Batch(_, ids, _) => (ids.clone(), Queue::Calls, true),
        };
        // Given back when this ends, even if the thread hangs: others must not wait for it.
        let _turn = match queue {
            Queue::None => None,
            Queue::Calls => Some(place.turn(false).await?),
            Queue::Waits => Some(place.turn(true).await?),
        };
        let (give_up, mut given_up) = mpsc::channel(1);
        self.conversation.wait(&ids, &give_up);
        let (tenant, served) = (self.tenant.clone(), self.conversation.clone());
        let outbox = self.outbox.clone();
        let mut done = spawn_blocking(move || perform(&tenant, &served, &*outbox, work));
        // The first look comes later: most calls are done by then.
        let mut look = interval_at(Instant::now() + self.stall / 4, self.stall / 4);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let answer = loop {
            tokio::select! {
                biased;
                done = &mut done => break done.ok().flatten(),
                Some(bytes) = given_up.recv() => {
                    let bytes = if is_batch { [b"[", &bytes[..], b"]"].concat() } else { bytes };
                    break Some(Answer { bytes, code: Some(Code::Internal), room: None });
                }
                _ = look.tick() => self.conversation.give_up(self.stall),
            }
        };
        self.conversation.forget(&ids, &give_up);
        let id = if is_batch { None } else { ids.first() };
        Some(self.account(answer?, id).await)
    }

    /// Waits until there is room for a reply that has none yet, or says instead that there is none.
    async fn account(&self, mut answer: Answer, id: Option<&Id>) -> Answer {
        if answer.room.is_none() {
            let Some(room) = room(&self.tenant, answer.bytes.len()).await else {
                return crowded(id, self.conversation.session.state.revision());
            };
            answer.room = Some(Arc::new(room));
        }
        answer
    }
}

/// Room for a reply of so many bytes among those that clients have not taken yet, waited for a
/// moment.
async fn room(tenant: &Tenant, bytes: usize) -> Option<Share> {
    if let Some(room) = tenant.try_give_out(bytes) {
        return Some(room);
    }
    let room = timeout(Duration::from_millis(HTTP_ROOM_MS), tenant.give_out(bytes))
        .await
        .ok();
    if room.is_none() {
        tenant.metrics.turned_away.fetch_add(1, Relaxed);
    }
    room
}

/// What is said instead of a reply for which there is no room.
fn crowded(id: Option<&Id>, revision: Revision) -> Answer {
    let text = "the call is done, but replies that nobody has read take all the room there is for them; read those, or ask \
        for less at once";
    let mut bytes = Vec::new();
    render(
        &mut bytes,
        id,
        &Err(RpcError::new(Code::Internal, text)),
        revision,
    );
    Answer {
        bytes,
        code: Some(Code::Internal),
        room: None,
    }
}

fn perform(
    tenant: &Tenant,
    conversation: &Conversation,
    outbox: &dyn Outbox,
    work: Work,
) -> Option<Answer> {
    let session = &conversation.session;
    match work {
        Work::Request(ticket, message, _) => {
            let Incoming::Request(request) = parse(&message.bytes) else {
                return None;
            };
            let outcome = session.serve(&ticket, &request, outbox)?;
            let mut answer = Answer {
                bytes: Vec::new(),
                code: outcome.as_ref().err().map(|error| error.code),
                room: None,
            };
            let size = size(&outcome) as usize;
            if size <= QUICK_BYTES {
                answer.bytes.reserve(size + size / 16 + ENVELOPE_BYTES);
                render(
                    &mut answer.bytes,
                    Some(&ticket.id),
                    &outcome,
                    ticket.revision,
                );
            } else {
                let waits = Handle::current();
                outbox.at_length(&mut || answer = write(tenant, &waits, &ticket, &outcome));
            }
            Some(answer)
        }
        Work::Batch(message, _, cancel) => {
            let Incoming::Batch(members) = parse(&message.bytes) else {
                return None;
            };
            let mut bytes = Vec::new();
            let _held = batch::serve(session, &members, outbox, &cancel, &mut bytes);
            (!bytes.is_empty()).then_some(Answer {
                bytes,
                code: None,
                room: None,
            })
        }
    }
}

/// Writes a large reply once there is room for it: control characters become six times as long, so
/// that replies which wait to be counted could take far more memory than those that are.
fn write(tenant: &Tenant, waits: &Handle, ticket: &Ticket, outcome: &Outcome) -> Answer {
    let bytes = rendered_length(outcome) + ENVELOPE_BYTES;
    let held = match outcome {
        Ok(Body::Tool(reply)) => reply.held.clone(),
        _ => None,
    };
    let Some(room) = held.or_else(|| waits.block_on(room(tenant, bytes)).map(Arc::new)) else {
        return crowded(Some(&ticket.id), ticket.revision);
    };
    let code = outcome.as_ref().err().map(|error| error.code);
    // `render` asks for a sixteenth more than a text has; what is not written takes no memory.
    let mut answer = Answer {
        bytes: Vec::with_capacity(bytes + bytes / 16),
        code,
        room: Some(room),
    };
    render(
        &mut answer.bytes,
        Some(&ticket.id),
        outcome,
        ticket.revision,
    );
    answer
}
