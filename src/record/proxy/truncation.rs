//! Answers that the program did not wait for the end of when they were recorded.

use std::time::Duration;

use super::Note;
use super::context::Context;
use crate::limits::CUT_OFF_HELD_MS;
use crate::record::call::{Exchange, HttpResponse};
use crate::record::http::h1::is_cut_off;
use crate::record::matching::describe;

/// What becomes of a connection, or a stream, after what was recorded of an answer.
#[derive(Debug)]
pub struct Truncation {
    /// How long the program may stay before that is told: as long as it did, and a little more.
    pub patience: Duration,
    pub note: Note,
    /// Whether the answer had begun. Then who stays reads further, and is told so by an error.
    pub resets: bool,
}

impl Truncation {
    /// Tells that the program has stayed longer than when this was recorded, once it has, and ends
    /// if the answer had begun.
    pub async fn overstayed(&self, context: &Context) {
        tokio::time::sleep(self.patience).await;
        context.shared.note(self.note.clone());
        if !self.resets {
            std::future::pending::<()>().await;
        }
    }

    /// What was recorded of the answer to a call, and how it goes on if the program left there.
    pub fn of<'a>(
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
            Some(response) if is_cut_off(response) => Some(Note::CutOff {
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
