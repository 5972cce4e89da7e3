//! A connection to `MongoDB`, as it is recorded.

use std::collections::HashMap;
use std::time::SystemTime;

use super::message::{self, Manner};
use crate::record::call::{Link, Protocol, Side};
use crate::record::protocol::dialogue::{Dialogue, Draft, Fault, Way, unanswered};
use crate::record::protocol::wire::RecordStep;

/// A call that waits for its reply.
struct Pending {
    draft: Draft,
    manner: Manner,
}

/// Makes calls of what is said to `MongoDB`.
pub(crate) struct Recording {
    link: Link,
    /// By the number of the message that the next reply refers to.
    waiting: HashMap<u32, Pending>,
}

impl Recording {
    pub(crate) fn new(link: Link) -> Self {
        Self { link, waiting: HashMap::new() }
    }

    fn asked(&mut self, bytes: &[u8], at: SystemTime, made: &mut Vec<RecordStep>) -> Result<(), Fault> {
        let (question, manner) = message::question(bytes)?;
        let mut draft = Draft::asked(question, at);
        draft.session = matches!(manner, Manner::Session | Manner::Hello);
        if !message::is_answered(bytes) {
            made.push(draft.finish(&self.link, Protocol::Mongo, at));
            return Ok(());
        }
        if self.waiting.insert(message::number(bytes), Pending { draft, manner }).is_some() {
            made.push(unanswered(&self.link));
        }
        Ok(())
    }

    fn answered(&mut self, bytes: Vec<u8>, at: SystemTime, made: &mut Vec<RecordStep>) -> Result<Way, Fault> {
        // A reply to nothing known is the end of what was asked before the recording went wrong; it harms nobody.
        let Some(mut pending) = self.waiting.remove(&message::word(&bytes, 8)) else { return Ok(Way::On) };
        let goes_on = message::flags(&bytes) & message::MORE_TO_COME != 0;
        let number = message::number(&bytes);
        let (way, bytes) = if pending.manner == Manner::Hello {
            let stripped = message::without_offers(&bytes, false)?;
            (Way::Instead(stripped.clone()), stripped)
        } else {
            (Way::On, bytes)
        };
        pending.draft.push(Side::Server, bytes);
        if goes_on {
            // Each reply refers to the one before it.
            self.waiting.insert(number, pending);
        } else {
            // Authentication is not recorded: it holds proofs of a password, and cannot be played.
            if pending.manner != Manner::Proof {
                made.push(pending.draft.finish(&self.link, Protocol::Mongo, at));
            }
        }
        Ok(way)
    }
}

impl Dialogue for Recording {
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
        at: SystemTime,
        made: &mut Vec<RecordStep>,
    ) -> Result<Way, Fault> {
        match from {
            Side::Client => self.asked(&bytes, at, made).map(|()| Way::On),
            Side::Server => self.answered(bytes, at, made),
        }
    }

    fn kept(&self) -> usize {
        self.waiting.values().map(|pending| pending.draft.size()).sum()
    }

    fn end(&mut self, by: Side, at: SystemTime, made: &mut Vec<RecordStep>) {
        let mut waiting: Vec<_> = std::mem::take(&mut self.waiting).into_iter().collect();
        waiting.sort_by_key(|(number, _)| *number);
        for (_, Pending { draft, manner }) in waiting {
            if manner != Manner::Proof {
                made.push(draft.left(by, &self.link, Protocol::Mongo, at));
            }
        }
    }
}
