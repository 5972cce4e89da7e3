//! Recorder of `MongoDB` connections.

use std::collections::BTreeMap;

use super::message::{self, Manner};
use crate::record::call::Side;
use crate::record::protocol::dialogue::{CallLog, Dialogue, Disposition, Draft, Fault};

#[derive(Default)]
pub(super) struct MongoDialogue {
    /// Calls that wait for a reply, by the message number that it refers to. Authentication is not
    /// recorded: it holds proofs of a password, and cannot be replayed.
    waiting: BTreeMap<u32, (Draft, Manner)>,
}

impl MongoDialogue {
    fn asked(&mut self, bytes: &[u8], log: &mut CallLog) -> Result<(), Fault> {
        let (question, manner) = message::question(bytes)?;
        let draft = Draft::with_requests([question], log.at)
            .of_session(matches!(manner, Manner::Session | Manner::Hello));
        if message::goes_on(bytes) {
            log.complete(draft);
        } else if self
            .waiting
            .insert(message::number(bytes), (draft, manner))
            .is_some()
        {
            log.lose();
        }
        Ok(())
    }

    fn answered(&mut self, bytes: Vec<u8>, log: &mut CallLog) -> Result<Disposition, Fault> {
        // A reply to an unknown request is harmless: its request came before a fault in the
        // recording.
        let Some((mut draft, manner)) = self.waiting.remove(&message::word(&bytes, 8)) else {
            return Ok(Disposition::On);
        };
        let (goes_on, number) = (message::goes_on(&bytes), message::number(&bytes));
        let (way, kept) = if manner == Manner::Hello {
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
            self.waiting.insert(number, (draft, manner));
        } else if manner != Manner::Proof {
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
            Side::Client => self.asked(&bytes, log).map(|()| Disposition::On),
            Side::Server => self.answered(bytes, log),
        }
    }

    fn buffered_bytes(&self) -> usize {
        self.waiting.values().map(|(draft, _)| draft.size()).sum()
    }

    fn end(&mut self, log: &mut CallLog) {
        let calls = std::mem::take(&mut self.waiting)
            .into_values()
            .filter(|(_, manner)| *manner != Manner::Proof);
        calls.for_each(|(draft, _)| log.abandon(draft));
    }
}
