//! Recorder of Redis connections.

use std::collections::VecDeque;

use super::command::{CommandKind, command_kind, longest_wait};
use super::resp::{FrameScanner, elements};
use crate::call::Side;
use crate::protocol::dialogue::{CallLog, Dialogue, Disposition, Draft, Fault};

struct PendingCall {
    draft: Draft,
    kind: PendingKind,
    /// Number of replies still expected, as far as known.
    left: usize,
    /// `true` for a command that waits for an item.
    waits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingKind {
    /// A call with `left` replies.
    Call,
    /// A transaction that still gets commands.
    Transaction,
    /// A subscription with `left` confirmations; any number if that is 0.
    Subscription,
    /// A call whose replies are not recorded.
    Unrecorded,
}

#[derive(Default)]
pub(super) struct RedisDialogue {
    scans: [FrameScanner; 2],
    waiting: VecDeque<PendingCall>,
    /// The subscription that gets the published messages.
    stream: Option<Draft>,
    subscribed: bool,
}

impl RedisDialogue {
    fn command(&mut self, question: Vec<u8>, log: &CallLog) -> Result<(), Fault> {
        let command_kind = command_kind(&question);
        if let Some(last) = self
            .waiting
            .back_mut()
            .filter(|last| last.kind == PendingKind::Transaction)
            && !matches!(command_kind, CommandKind::Empty | CommandKind::Foreign)
        {
            last.draft.push(Side::Client, question);
            last.left += 1;
            if matches!(
                command_kind,
                CommandKind::Finish | CommandKind::Quit | CommandKind::Reset
            ) {
                last.kind = PendingKind::Call;
            }
            return Ok(());
        }
        let (kind, left) = match command_kind {
            CommandKind::Empty => return Ok(()),
            CommandKind::Foreign => {
                return Err(
                    "the connection became a stream (`MONITOR`, `SYNC`, `PSYNC` or `CLIENT \
                     REPLY`), which is not recorded",
                );
            }
            CommandKind::Begin => (PendingKind::Transaction, 1),
            CommandKind::Subscription(channels) => (PendingKind::Subscription, channels),
            CommandKind::Quit => (PendingKind::Unrecorded, 1),
            CommandKind::Plain
            | CommandKind::Session
            | CommandKind::Finish
            | CommandKind::Reset => (PendingKind::Call, 1),
        };
        let waits = command_kind == CommandKind::Plain && longest_wait(&question).is_some();
        let draft = Draft::with_requests([question], log.at)
            .of_session(command_kind == CommandKind::Session);
        self.waiting.push_back(PendingCall {
            draft,
            kind,
            left,
            waits,
        });
        Ok(())
    }

    fn reply(&mut self, bytes: Vec<u8>, log: &mut CallLog) -> Result<(), Fault> {
        let subscribing = self
            .waiting
            .front()
            .is_some_and(|front| front.kind == PendingKind::Subscription);
        let pushed = bytes.first() == Some(&b'>');
        if pushed || bytes.first() == Some(&b'*') && (self.subscribed || subscribing) {
            let elements = elements(&bytes);
            let kind = elements.first().copied().unwrap_or_default();
            let is_confirmation = matches!(
                kind,
                b"subscribe"
                    | b"psubscribe"
                    | b"ssubscribe"
                    | b"unsubscribe"
                    | b"punsubscribe"
                    | b"sunsubscribe"
            );
            let is_message = matches!(kind, b"message" | b"pmessage" | b"smessage");
            if let Some(front) = self
                .waiting
                .front_mut()
                .filter(|_| is_confirmation && subscribing)
            {
                // Number of channels and patterns of the connection.
                let channels = elements
                    .get(2)
                    .and_then(|text| std::str::from_utf8(text).ok()?.parse().ok())
                    .unwrap_or(0);
                self.subscribed = channels > 0;
                front.draft.push(Side::Server, bytes);
                let whole = if front.left == 0 {
                    channels == 0
                } else {
                    front.left == 1
                };
                front.left = front.left.saturating_sub(1);
                if whole {
                    self.stream_begins(log);
                }
                return Ok(());
            }
            if pushed || is_confirmation || is_message {
                if let Some(stream) = &mut self.stream {
                    stream.push_unasked(bytes, log.at);
                } else if let Some(front) = self.waiting.front_mut() {
                    front.draft.push(Side::Server, bytes);
                }
                return Ok(());
            }
        }
        if subscribing && bytes.first() != Some(&b'-') {
            // It named no channels; this reply belongs to the next request.
            self.stream_begins(log);
        }
        let Some(mut front) = self.waiting.pop_front() else {
            return Err("Redis sent an answer without a request");
        };
        if front.waits {
            // Another client causes it.
            front.draft.push_unasked(bytes, log.at);
        } else {
            front.draft.push(Side::Server, bytes);
        }
        front.left = front.left.saturating_sub(1);
        match front.kind {
            PendingKind::Subscription => log.complete(front.draft),
            PendingKind::Transaction => self.waiting.push_front(front),
            _ if front.left > 0 => self.waiting.push_front(front),
            PendingKind::Call => log.complete(front.draft),
            PendingKind::Unrecorded => {}
        }
        Ok(())
    }

    /// Assigns later published messages to the call that is answered now.
    fn stream_begins(&mut self, log: &mut CallLog) {
        let mut stream = self.waiting.pop_front().map(|pending| pending.draft);
        if let Some(draft) = &mut stream {
            draft.answered_at = Some(log.at);
        }
        if let Some(before) = std::mem::replace(&mut self.stream, stream) {
            log.complete(before);
        }
    }
}

impl Dialogue for RedisDialogue {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        self.scans[from as usize].length(from, bytes)
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        log: &mut CallLog,
    ) -> Result<Disposition, Fault> {
        match from {
            Side::Client => self.command(bytes, log)?,
            Side::Server => self.reply(bytes, log)?,
        }
        Ok(Disposition::On)
    }

    fn buffered_bytes(&self) -> usize {
        self.waiting
            .iter()
            .map(|pending| &pending.draft)
            .chain(&self.stream)
            .map(Draft::size)
            .sum()
    }

    fn end(&mut self, log: &mut CallLog) {
        self.stream
            .take()
            .into_iter()
            .for_each(|stream| log.complete(stream));
        for PendingCall { draft, kind, .. } in std::mem::take(&mut self.waiting) {
            match kind {
                PendingKind::Subscription => log.complete(draft),
                PendingKind::Unrecorded => {}
                // A transaction is looked up only with its `EXEC`.
                PendingKind::Transaction => log.lose(),
                PendingKind::Call => log.abandon(draft),
            }
        }
    }
}
