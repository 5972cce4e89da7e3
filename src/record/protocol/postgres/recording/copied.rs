//! Data that is copied in (`COPY ... FROM STDIN`), as it is recorded.

use super::{Recording, Slot};
use crate::record::call::Side;
use crate::record::protocol::dialogue::{Draft, unanswered};
use crate::record::protocol::postgres::message;
use crate::record::protocol::wire::RecordStep;

impl Recording {
    pub(super) fn copying(&self) -> bool {
        matches!(self.slots.front(), Some(Slot::Copied(draft, _)) if !has_ended(draft))
    }

    /// An answer to data that was copied in. Without all of the data it would be taken for the answer to the question.
    pub(super) fn copied(&mut self, draft: Draft, made: &mut Vec<RecordStep>) {
        if has_ended(&draft) {
            self.done.push(draft);
        } else {
            made.push(unanswered(&self.link));
        }
    }

    /// The client has sent all data, or gave up.
    pub(super) fn copied_in(&mut self, end: Vec<u8>) {
        let data = std::mem::take(&mut self.data);
        // Data that nothing asked for is ignored by the server.
        if let Some(Slot::Copied(draft, _)) = self.slots.front_mut() {
            draft.push(Side::Client, message::message(b'd', &[&data]));
            draft.push(Side::Client, end);
        }
    }
}

/// Whether the client has sent all the data that was asked for, or gave up.
pub(super) fn has_ended(draft: &Draft) -> bool {
    draft.said(Side::Client).next_back().is_some_and(|last| matches!(last.first(), Some(b'c' | b'f')))
}

/// A call that begins with the same questions.
pub(super) fn copy_of(draft: &Draft) -> Draft {
    let mut copy = draft.successor();
    for question in draft.said(Side::Client) {
        copy.push(Side::Client, question.clone());
    }
    copy
}
