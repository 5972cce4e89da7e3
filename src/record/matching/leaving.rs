//! What a book leaves out of calls: noise, and values that each run makes anew.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use super::anew::{Blank, Value};
use super::heads::{self, Head};
use super::key::{self, Anew, Key, Said};
use super::noise::Fields;
use super::places::targets;
use super::queue::Queue;
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
    /// The keys of a call but for its head, as if it went to this target, with what is left out of each. Where values of a database are left out
    /// it has one with them as well: a recording of the very same values is the better answer.
    pub(super) fn keys(
        &self,
        said: &mut Said<'_>,
        exchange: &Exchange,
        target: &Target,
        named: bool,
        before: &Before,
    ) -> Vec<(Key, Fields)> {
        let noise = self.noise.at(exchange, target);
        let context = self.context(target, exchange, before);
        let reduced = said.key(target, named, context, &noise);
        if noise.is_empty() || !matches!(exchange.content, Content::Wire(..)) {
            return vec![(reduced, noise)];
        }
        let exact = said.key(target, named, context, &Fields::default());
        let mut keys = vec![(exact, Fields::default()), (reduced, noise)];
        keys.truncate(if exact == reduced { 1 } else { 2 });
        keys
    }

    /// The context of a call, where recordings of this target say theirs.
    pub(super) fn context<'a>(&self, target: &Target, exchange: &Exchange, before: &'a Before) -> &'a [u8] {
        let is_known = self.contexts.contains(&(target.clone(), exchange.content.protocol()));
        if is_known { before.context.as_slice() } else { b"" }
    }

    /// The recordings that stand under a key with what chooses in this head.
    pub(super) fn queue(&self, bare: Key, head: &Head) -> Option<&Queue> {
        self.queues.get(&key::with_head(bare, heads::chosen(head, self.choosing(bare)), key::as_it_is))
    }

    /// The names of the fields of the head that choose between the recordings of a key.
    pub(super) fn choosing(&self, bare: Key) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.choosing.get(&bare).unwrap_or(&NONE)
    }

    /// A call of a run at this time without secrets and values that are made anew.
    pub(super) fn anew<'a>(&self, exchange: &'a Exchange, near: SystemTime) -> Option<Anew<'a>> {
        Said::of(exchange).anew(near, &self.noise.at(exchange, &exchange.target), self.noise.is_exact())
    }

    /// The values that are made anew in a call and in what chooses in its head, and its key without them.
    pub(super) fn blanked(&self, bare: Key, head: &Head, mut blank: Blank) -> (Vec<Value>, Key) {
        let chosen = heads::chosen(head, self.choosing(bare));
        let key = key::with_head(bare, chosen, |value| Cow::Owned(blank.text(value)));
        (blank.values, key)
    }

    /// The recording that answers a call in which nothing but values differs that each run makes anew; or one that does not.
    pub(super) fn look_up_anew(&self, asked: &Exchange, before: &Before) -> Result<(Arc<Exchange>, u64), NotAnew> {
        let Some(said) = self.anew(asked, SystemTime::now()) else { return Err(NotAnew::Other(None)) };
        let (mut other, mut used) = (None, None);
        let found = targets(asked).into_iter().find_map(|(target, named)| {
            let bare = said.key(&target, named, self.context(&target, asked, before));
            let (values, key) =
                self.blanked(bare, &heads::of(asked, &self.noise.at(asked, &target)), said.blank.clone());
            let queue = self.queues.get(&key).filter(|_| !values.is_empty())?;
            other = other.or(queue.entries.first().copied());
            let fits = |index: usize| {
                let entry = &self.entries[index];
                self.pairs.fit(index, |at| queue.is_alone(at), &entry.anew, &values)
            };
            let Some(taken) = queue.take(&self.entries, before, false, fits) else {
                let is_after = |index: &usize| queue.is_after(&self.entries[*index].done, &before.done);
                let fitting = queue.entries.iter().copied().filter(|index| fits(*index) && is_after(index));
                let fitting: Vec<usize> = fitting.collect();
                used = used.or(fitting.last().map(|last| Used { count: fitting.len(), last: *last }));
                return None;
            };
            let entry = &self.entries[taken.index];
            self.pairs.pair(&entry.name, &entry.anew, &values);
            Some(self.given(asked, queue, taken))
        });
        found.ok_or(used.map_or(NotAnew::Other(other), NotAnew::Used))
    }
}
