//! What a book leaves out of calls as noise.

use super::Book;
use super::key::{Keys, Said};
use super::noise::Fields;
use crate::record::exchange::{Content, Exchange, Target};

impl Book {
    /// The keys of a call, as if it went to this target, with what is left out of each. Where values of a database are left out
    /// it has one with them as well: a recording of the very same values is the better answer.
    pub(super) fn keys(
        &self,
        said: &mut Said<'_>,
        exchange: &Exchange,
        target: &Target,
        named: bool,
    ) -> Vec<(Keys, Fields)> {
        let noise = self.noise.at(exchange, target);
        let reduced = said.keys(target, named, &noise);
        if noise.is_empty() || !matches!(exchange.content, Content::Wire(..)) {
            return vec![(reduced, noise)];
        }
        let exact = said.keys(target, named, &Fields::default());
        let mut keys = vec![(exact, Fields::default()), (reduced, noise)];
        keys.truncate(if exact.whole == reduced.whole { 1 } else { 2 });
        keys
    }

    /// Whether values are left out of the calls that this recording answers, so that it may have others than were asked.
    pub fn leaves_values_out(&self, recorded: &Exchange) -> bool {
        matches!(recorded.content, Content::Wire(..)) && !self.noise.at(recorded, &recorded.target).is_empty()
    }
}
