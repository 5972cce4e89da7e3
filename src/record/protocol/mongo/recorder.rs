//! Recorder of `MongoDB` connections.

use std::collections::BTreeMap;

use super::message::{self, RequestKind};
use crate::call::Side;
use crate::protocol::dialogue::{CallLog, Dialogue, Disposition, Draft, Fault};

#[derive(Default)]
pub(super) struct MongoDialogue {
    /// Calls that wait for a reply, by the message number that it refers to. Authentication is not
    /// recorded: it holds proofs of a password, and cannot be replayed.
    waiting: BTreeMap<u32, (Draft, RequestKind)>,
}

impl MongoDialogue {
    fn on_request(&mut self, bytes: &[u8], log: &mut CallLog) -> Result<(), Fault> {
        let (question, request_kind) = message::question(bytes)?;
        let draft = Draft::with_requests([question], log.at).of_session(matches!(
            request_kind,
            RequestKind::Session | RequestKind::Hello
        ));
        if message::has_more_to_come(bytes) {
            log.complete(draft);
        } else if self
            .waiting
            .insert(message::number(bytes), (draft, request_kind))
            .is_some()
        {
            log.lose();
        }
        Ok(())
    }

    fn on_reply(&mut self, bytes: Vec<u8>, log: &mut CallLog) -> Result<Disposition, Fault> {
        // A reply to an unknown request is harmless: its request came before a fault in the
        // recording.
        let Some((mut draft, request_kind)) = self.waiting.remove(&message::word(&bytes, 8)) else {
            return Ok(Disposition::On);
        };
        let (goes_on, number) = (message::has_more_to_come(&bytes), message::number(&bytes));
        let (way, kept) = if request_kind == RequestKind::Hello {
            (
                Disposition::Instead(message::without_offers(&bytes, false)?),
                message::without_offers(&bytes, true)?,
            )
        } else {
            (Disposition::On, bytes)
        };
        draft.push(Side::Server, kept);
        if goes_on {
            // Each reply refers to the one before.
            self.waiting.insert(number, (draft, request_kind));
        } else if request_kind != RequestKind::Proof {
            log.complete(draft);
        }
        Ok(way)
    }
}

impl Dialogue for MongoDialogue {
    fn length(&mut self, _from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        message::length(bytes)
    }

    fn holds(&self, from: Side) -> bool {
        from == Side::Server
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        log: &mut CallLog,
    ) -> Result<Disposition, Fault> {
        match from {
            Side::Client => self.on_request(&bytes, log).map(|()| Disposition::On),
            Side::Server => self.on_reply(bytes, log),
        }
    }

    fn buffered_bytes(&self) -> usize {
        self.waiting.values().map(|(draft, _)| draft.size()).sum()
    }

    fn end(&mut self, log: &mut CallLog) {
        let calls = std::mem::take(&mut self.waiting)
            .into_values()
            .filter(|(_, request_kind)| *request_kind != RequestKind::Proof);
        calls.for_each(|(draft, _)| log.abandon(draft));
    }
}
