//! What a book leaves out of calls: noise, and values that each run makes anew.

use std::sync::Arc;
use std::time::SystemTime;

use super::key::{Anew, Keys, Said};
use super::noise::Fields;
use super::places::targets;
use super::shelf::Found;
use super::{Book, Used};
use crate::record::call::{Content, Exchange, Target};
use crate::record::matching::history::Before;

/// Why nothing answers a call whichever values of its are made anew.
pub(super) enum NotAnew {
    /// Recordings about the same were all used.
    Used(Used),
    /// This one, if there is any, differs in nothing but such values, and is not about the same.
    Other(Option<usize>),
}

impl Book {
    /// The keys of a call, as if it went to this target, with what is left out of each. Where values of a database are left out
    /// it has one with them as well: a recording of the very same values is the better answer.
    pub(super) fn keys(
        &self,
        said: &mut Said<'_>,
        exchange: &Exchange,
        target: &Target,
        named: bool,
        before: &Before,
    ) -> Vec<(Keys, Fields)> {
        let noise = self.noise.at(exchange, target);
        let context = self.context(target, exchange, before);
        let reduced = said.keys(target, named, context, &noise);
        if noise.is_empty() || !matches!(exchange.content, Content::Wire(..)) {
            return vec![(reduced, noise)];
        }
        let exact = said.keys(target, named, context, &Fields::default());
        let mut keys = vec![(exact, Fields::default()), (reduced, noise)];
        keys.truncate(if exact.whole == reduced.whole { 1 } else { 2 });
        keys
    }

    /// The context of a call, where recordings of this target say theirs.
    pub(super) fn context<'a>(&self, target: &Target, exchange: &Exchange, before: &'a Before) -> &'a [u8] {
        let is_known = self.contexts.contains(&(target.clone(), exchange.content.protocol()));
        if is_known { before.context.as_slice() } else { b"" }
    }

    /// A call of a run at this time without secrets and values that are made anew, if it has any.
    pub(super) fn anew<'a>(&self, exchange: &'a Exchange, near: SystemTime) -> Option<Anew<'a>> {
        Said::of(exchange).anew(near, &self.noise.at(exchange, &exchange.target), self.noise.is_exact())
    }

    /// The recording that answers a call in which nothing but values differs that each run makes anew; or one that does not.
    pub(super) fn look_up_anew(&self, asked: &Exchange, before: &Before) -> Result<Arc<Exchange>, NotAnew> {
        let Some(said) = self.anew(asked, SystemTime::now()) else { return Err(NotAnew::Other(None)) };
        let (mut other, mut used) = (None, None);
        let found = targets(asked).into_iter().find_map(|(target, named)| {
            let keys = said.keys(&target, named, self.context(&target, asked, before));
            let noise = self.noise.at(asked, &target);
            let (queue, who) = if let Content::Wire(..) = asked.content {
                (self.without.get(&keys.whole)?, None)
            } else {
                let Found { queue, other } = self.queues.get(&keys.whole)?.of(asked, &noise)?;
                (queue, other)
            };
            other = other.or(queue.entries.first().copied());
            let fits = |index: usize| {
                let entry = &self.entries[index];
                self.pairs.fit(index, |at| queue.is_alone(at), &entry.anew, &said.values)
            };
            let Some(taken) = queue.take(&self.entries, &before.done, false, fits) else {
                let is_after = |index: &usize| queue.is_after(&self.entries[*index].done, &before.done);
                let fitting = queue.entries.iter().copied().filter(|index| fits(*index) && is_after(index));
                let fitting: Vec<usize> = fitting.collect();
                used = used.or(fitting.last().map(|last| Used { count: fitting.len(), last: *last }));
                return None;
            };
            let entry = &self.entries[taken.index];
            self.pairs.pair(&entry.name, &entry.anew, &said.values);
            Some(self.given(asked, queue, taken, who, &noise))
        });
        found.ok_or(used.map_or(NotAnew::Other(other), NotAnew::Used))
    }
}
