//! Properties that hold for arbitrary input, shared by property tests (`tests/it/laws.rs`) and fuzz
//! targets (`fuzz/`).
//!
//! Each function takes bytes and panics if the property is violated. [`Source`] turns bytes into
//! choices.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a law lays out trees, and is broken by a panic"
)]

mod autorun;
mod calls;
mod documents;
mod edits;
mod globs;
mod journals;
mod lines;
mod paths;
mod patterns;
mod reports;
mod walls;
mod wires;

pub use autorun::what_runs_outside_is_found;
pub use calls::{a_call_comes_back, a_file_of_calls_is_read_or_refused, secrets_are_replaced_once};
pub use documents::a_document_has_an_answer;
pub use edits::an_edit_changes_what_it_says;
pub use globs::globs_agree_with_each_other;
pub use journals::a_log_is_read_or_refused;
pub use lines::a_line_has_at_most_one_answer;
pub use paths::a_plan_stays_inside;
pub use patterns::a_pattern_has_one_answer;
pub use reports::a_report_is_read;
pub use walls::{
    a_call_is_read, a_frame_is_read_or_refused, a_network_call_is_read,
    a_packet_is_read_or_refused, an_address_is_read_or_refused,
};
pub use wires::a_call_to_a_database_is_taken_apart;

/// Choices read from bytes. After the last byte, every choice is the first option.
struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn choice<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// Reads up to 255 bytes.
    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }
}
