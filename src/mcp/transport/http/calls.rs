//! Execution of a message: it waits in a queue, runs inline or on its own thread, and gets one
//! reply. A stuck call gets an error.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use replay_base::budget::Share;
use replay_base::cancel::CancelToken;
use replay_base::limits::QUICK_BYTES;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{block_in_place, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::blocking::{BlockingMonitor, InlineCall, ThreadUsage};
use super::conversation::Conversation;
use super::in_flight::Pending;
use super::message::{EncodedReply, Message};
use super::tenant::{QueuePlace, Tenant};
use crate::protocol::{
    Body, Code, Id, Incoming, Outcome, Revision, RpcError, parse, render, rendered_length,
};
use crate::sessions::Weight;
use crate::sessions::{ExclusiveWork, Outbox, Ticket, size};
use crate::transport::batch;

/// Timeout for a reply that waits for room among unread replies, in milliseconds; then its call
/// fails.
const HTTP_ROOM_MS: u64 = 1000;

/// Estimated length of a reply without its content, in bytes.
const ENVELOPE_BYTES: usize = 384;

/// Queue of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// None: the request is no tool call, and is answered at once.
    None,
    /// Queue of calls that work.
    Calls,
    /// Queue of calls that only wait for something else.
    Waits,
}

impl Queue {
    pub(super) fn of(method: &str, weight: Weight) -> Self {
        match weight {
            Weight::Waits => Self::Waits,
            Weight::Quick | Weight::Light if method != "tools/call" => Self::None,
            Weight::Quick | Weight::Light | Weight::Heavy => Self::Calls,
        }
    }
}

/// Admitted work.
pub(super) enum Work {
    /// An admitted request, its message, and its queue.
    Request(Ticket, Message, Queue),
    /// The message of a batch, the ids of its requests, and its cancel token.
    Batch(Message, Vec<Id>, CancelToken),
}

impl Work {
    pub(super) fn id(&self) -> Option<Id> {
        match self {
            Self::Request(ticket, ..) => Some(ticket.id.clone()),
            Self::Batch(..) => None,
        }
    }

    pub(super) fn cancel(&self) -> &CancelToken {
        match self {
            Self::Request(ticket, ..) => &ticket.cancel,
            Self::Batch(_, _, cancel) => cancel,
        }
    }
}

/// Runs the work of one client.
#[derive(Clone)]
pub(super) struct CallRunner {
    pub tenant: Arc<Tenant>,
    pub conversation: Arc<Conversation>,
    /// Destination of messages before the reply.
    pub outbox: Arc<dyn Outbox>,
    /// Time after which a call that hangs in the kernel is abandoned.
    pub stall: Duration,
}

/// Permission to run inline on a shared thread, until dropped.
struct InlinePermit {
    held: InlineCall,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Outbox of work that runs inline on a shared thread.
struct InlineOutbox<'a> {
    inner: &'a dyn Outbox,
    monitor: &'a BlockingMonitor,
    /// Time during which other work did not wait, in microseconds.
    aside: AtomicU64,
}

impl Outbox for InlineOutbox<'_> {
    fn send(&self, message: &[u8]) {
        self.inner.send(message);
    }

    fn exclusively(&self, work: &mut ExclusiveWork<'_>) {
        self.inner.exclusively(work);
    }

    /// The runtime moves the other tasks of this thread to another one.
    fn at_length(&self, work: &mut dyn FnMut()) {
        let begun = Instant::now();
        self.monitor.aside(|| block_in_place(work));
        self.aside
            .fetch_add(begun.elapsed().as_micros() as u64, Relaxed);
    }
}

impl CallRunner {
    /// Serves the work on its own task, which goes on if the client disconnects. The task of the
    /// connection notices the disconnect, and reads further messages.
    pub(super) fn start(self, place: QueuePlace, work: Work) -> Pending {
        Pending::Task(tokio::spawn(async move {
            let Some(permit) = self.inline_permit(&place, &work) else {
                return self.serve(&place, work).await;
            };
            let (answer, id) = self.serve_inline(permit, work)?;
            Some(self.account(answer, id.as_ref()).await)
        }))
    }

    /// Returns a permit if the work is quick and can begin now, so that this shared thread may run
    /// it. A switch to another thread takes longer than reading a small file. A hang here would go
    /// unnoticed, so the service must be prompt.
    fn inline_permit(&self, place: &QueuePlace, work: &Work) -> Option<InlinePermit> {
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
            Queue::Calls => Some(place.free_permit()?),
            Queue::Waits => return None,
        };
        let held = self
            .tenant
            .monitor
            .begin(Instant::now().into_std(), ThreadUsage::now)?;
        Some(InlinePermit {
            held,
            _permit: permit,
        })
    }

    /// Serves the work on this thread. Returns the reply and its id.
    fn serve_inline(&self, permit: InlinePermit, work: Work) -> Option<(EncodedReply, Option<Id>)> {
        let InlinePermit { held, _permit } = permit;
        let id = work.id();
        let outbox = InlineOutbox {
            inner: &*self.outbox,
            monitor: &self.tenant.monitor,
            aside: AtomicU64::new(0),
        };
        let served = catch_unwind(AssertUnwindSafe(|| {
            perform(&self.tenant, &self.conversation, &outbox, work)
        }));
        let aside = Duration::from_micros(outbox.aside.into_inner());
        self.tenant
            .monitor
            .end(&held, aside, Instant::now().into_std(), ThreadUsage::now);
        Some((served.ok().flatten()?, id))
    }

    async fn serve(self, place: &QueuePlace, work: Work) -> Option<EncodedReply> {
        let (ids, queue, is_batch) = match &work {
            Work::Request(ticket, _, queue) => (vec![ticket.id.clone()], *queue, false),
            Work::Batch(_, ids, _) => (ids.clone(), Queue::Calls, true),
        };
        // Released at the end even if the thread hangs: other calls must not wait for it.
        let _permit = match queue {
            Queue::None => None,
            Queue::Calls => Some(place.wait_for_permit(false).await?),
            Queue::Waits => Some(place.wait_for_permit(true).await?),
        };
        let (give_up, mut given_up) = mpsc::channel(1);
        self.conversation.wait(&ids, &give_up);
        let (tenant, served) = (self.tenant.clone(), self.conversation.clone());
        let outbox = self.outbox.clone();
        let mut done = spawn_blocking(move || perform(&tenant, &served, &*outbox, work));
        // The first check comes late: most calls are done by then.
        let mut look = interval_at(Instant::now() + self.stall / 4, self.stall / 4);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let answer = loop {
            tokio::select! {
                biased;
                done = &mut done => break done.ok().flatten(),
                Some(bytes) = given_up.recv() => {
                    let bytes = if is_batch { [b"[", &bytes[..], b"]"].concat() } else { bytes };
                    break Some(EncodedReply { bytes, code: Some(Code::Internal), room: None });
                }
                _ = look.tick() => self.conversation.give_up(self.stall),
            }
        };
        self.conversation.forget(&ids, &give_up);
        let id = if is_batch { None } else { ids.first() };
        Some(self.account(answer?, id).await)
    }

    /// Waits for memory for a reply that has none reserved, or replaces the reply by an error.
    async fn account(&self, mut answer: EncodedReply, id: Option<&Id>) -> EncodedReply {
        if answer.room.is_none() {
            let Some(room) = room(&self.tenant, answer.bytes.len()).await else {
                return no_memory_reply(id, self.conversation.session.state.revision());
            };
            answer.room = Some(Arc::new(room));
        }
        answer
    }
}

/// Reserves memory for an unread reply of `bytes` bytes, with a short timeout.
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

/// Error reply if there is no memory for the real one.
fn no_memory_reply(id: Option<&Id>, revision: Revision) -> EncodedReply {
    let text = "the call ended, but unread replies use all memory for replies; read them, or \
        request less at once";
    let mut bytes = Vec::new();
    render(
        &mut bytes,
        id,
        &Err(RpcError::new(Code::Internal, text)),
        revision,
    );
    EncodedReply {
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
) -> Option<EncodedReply> {
    let session = &conversation.session;
    match work {
        Work::Request(ticket, message, _) => {
            let Incoming::Request(request) = parse(&message.bytes) else {
                return None;
            };
            let outcome = session.serve(&ticket, &request, outbox)?;
            let mut answer = EncodedReply {
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
            (!bytes.is_empty()).then_some(EncodedReply {
                bytes,
                code: None,
                room: None,
            })
        }
    }
}

/// Renders a large reply once its memory is reserved. Escaped control characters are six times as
/// long, so rendering first could take far more memory than the limit.
fn write(tenant: &Tenant, waits: &Handle, ticket: &Ticket, outcome: &Outcome) -> EncodedReply {
    let bytes = rendered_length(outcome) + ENVELOPE_BYTES;
    let held = match outcome {
        Ok(Body::Tool(reply)) => reply.held.clone(),
        _ => None,
    };
    let Some(room) = held.or_else(|| waits.block_on(room(tenant, bytes)).map(Arc::new)) else {
        return no_memory_reply(Some(&ticket.id), ticket.revision);
    };
    let code = outcome.as_ref().err().map(|error| error.code);
    // `render` reserves a sixteenth more than the text; untouched pages take no memory.
    let mut answer = EncodedReply {
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
