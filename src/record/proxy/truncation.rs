//! Answers that the program did not wait for completely during recording.

use std::time::Duration;

use super::Note;
use super::context::Context;
use crate::call::{BodyEnd, Exchange, HttpResponse};
use crate::matching::describe;

/// Time for a program to hang up in the middle of an answer as it did when recorded, in
/// milliseconds. A program that stays reads beyond the end of the recording.
const CUT_OFF_HELD_MS: u64 = 2000;

/// Behavior after the recorded part of an answer.
#[derive(Debug)]
pub(super) struct Truncation {
    /// Time before a waiting program is reported: its recorded wait and a little more.
    pub patience: Duration,
    pub note: Note,
    /// `true` if the answer had begun. A program that reads further then gets an error.
    pub resets: bool,
}

impl Truncation {
    /// Reports a program that waits longer than in the recording. Returns only if the answer had
    /// begun.
    pub(super) async fn overstayed(&self, context: &Context) {
        tokio::time::sleep(self.patience).await;
        context.shared.note(self.note.clone());
        if !self.resets {
            std::future::pending::<()>().await;
        }
    }

    /// Returns the recorded part of an answer, and its truncation if the program left there.
    pub(super) fn of<'a>(
        asked: &Exchange,
        found: &'a Exchange,
    ) -> (Option<&'a HttpResponse>, Option<Self>) {
        let response = found.content.http().and_then(|http| http.response.as_ref());
        let stayed = found
            .answered_at
            .duration_since(found.sent_at)
            .unwrap_or_default();
        let patience = stayed + Duration::from_millis(CUT_OFF_HELD_MS);
        let note = match response {
            Some(response) if response.body_end == BodyEnd::CutOff => Some(Note::CutOff {
                call: describe(asked),
                bytes: response.body.len(),
            }),
            None if found.abandoned() => Some(Note::Unanswered {
                call: describe(asked),
                stayed,
            }),
            _ => None,
        };
        let resets = response.is_some();
        (
            response,
            note.map(|note| Self {
                patience,
                note,
                resets,
            }),
        )
    }
}
