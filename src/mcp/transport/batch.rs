//! Batches of 2025-03-26: the members are served in sequence, and their replies form one array.

use replay_base::budget::{Room, Share};
use replay_base::cancel::CancelToken;
use serde_json::value::RawValue;

use crate::protocol::{Code, Id, Incoming, Outcome, Refusal, Revision, RpcError, parse, render};
use crate::sessions::{Admission, Outbox, Session};

/// Largest size of the reply to one batch before its other members are refused, in bytes. It is
/// held until it is complete.
const MAX_BATCH_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// Serves all members and appends the array of their replies to `out`, without a newline. A batch
/// of notifications has no reply. After `cancel`, no further member is served. Returns the share of
/// the memory budget that the array takes.
pub(super) fn serve(
    session: &Session,
    members: &[&RawValue],
    outbox: &dyn Outbox,
    cancel: &CancelToken,
    out: &mut Vec<u8>,
) -> Share {
    let start = out.len();
    let account = session.account();
    let room = Room {
        account: Some(&account),
        cancel,
    };
    let mut share = room.share();
    out.push(b'[');
    for member in members {
        if cancel.is_cancelled() {
            break;
        }
        let bytes = out.len() - start;
        let is_full = bytes > MAX_BATCH_REPLY_BYTES || room.cover(&mut share, bytes).is_err();
        let before = out.len();
        if before > start + 1 {
            out.push(b',');
        }
        let written = out.len();
        answer(
            session,
            member,
            outbox,
            is_full,
            &mut |id, outcome, revision| render(out, id, outcome, revision),
        );
        if out.len() == written {
            out.truncate(before);
        }
    }
    if out.len() > start + 1 {
        out.push(b']');
    } else {
        out.truncate(start);
    }
    share
}

/// Serves one member, and passes its reply, if any, to `reply`.
fn answer(
    session: &Session,
    member: &RawValue,
    outbox: &dyn Outbox,
    is_full: bool,
    reply: &mut dyn FnMut(Option<&Id>, &Outcome, Revision),
) {
    let invalid = |message: String| Err(RpcError::new(Code::InvalidRequest, message));
    let revision = session.state.revision();
    let request = match parse(member.get().as_bytes()) {
        Incoming::Request(request) if is_full && request.id.is_some() => {
            let message = format!(
                "the earlier replies of this batch use all memory for it ({MAX_BATCH_REPLY_BYTES} \
                 bytes or less); send fewer messages in one batch"
            );
            return reply(request.id.as_ref(), &invalid(message), revision);
        }
        Incoming::Refused(Refusal { id: None, .. }) | Incoming::Batch(_) if is_full => return,
        Incoming::Request(request) if request.method == "initialize" && request.id.is_some() => {
            let message = "initialize must not be part of a batch".to_owned();
            return reply(request.id.as_ref(), &invalid(message), revision);
        }
        Incoming::Request(request) => request,
        Incoming::Response(response) => return session.answered(&response),
        Incoming::Refused(refusal) => {
            let error = RpcError::new(refusal.code, refusal.message);
            return reply(refusal.id.as_ref(), &Err(error), revision);
        }
        Incoming::Batch(_) => {
            return reply(
                None,
                &invalid("a batch must not hold a batch".to_owned()),
                revision,
            );
        }
    };
    match session.admit(&request) {
        Admission::Admitted(ticket) => {
            if let Some(outcome) = session.serve(&ticket, &request, outbox) {
                reply(Some(&ticket.id), &outcome, ticket.revision);
            }
        }
        Admission::Refused(refused) => {
            reply(Some(&refused.id), &Err(refused.error), refused.revision);
        }
        Admission::Nothing => {}
    }
}

/// Returns the error of a batch of `members` members under this revision, if any.
pub(super) fn fault(revision: Revision, members: usize) -> Option<String> {
    match (revision, members) {
        (_, 0) => Some("a batch must not be empty".to_owned()),
        (revision, _) if revision.has_batches() => None,
        (revision, _) => Some(format!(
            "revision {revision} has no batches; send one message at a time"
        )),
    }
}
