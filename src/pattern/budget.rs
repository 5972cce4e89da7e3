//! Matching budget: the steps of all threads of a call together, and its time.

use replay_base::cancel::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps that the matching of one call may take beyond those that are free, before its pattern
/// counts as too costly.
const MAX_PATTERN_STEPS: u64 = 250_000_000;
/// Steps that are free for each byte of a text, so that much text alone costs nothing.
const PATTERN_FREE_STEPS_PER_BYTE: u64 = 16;
/// Steps between two looks at the clock.
const PATTERN_CHUNK_STEPS: u32 = 64 * 1024;

/// The budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Costly;

/// Budget of one call, shared by its threads.
#[derive(Debug)]
pub struct Budget<'a> {
    left: AtomicU64,
    bound: Bound<'a>,
}

impl<'a> Budget<'a> {
    /// The usual number of steps ([`MAX_PATTERN_STEPS`]), until `bound` is over.
    pub fn new(bound: Bound<'a>) -> Self {
        Self::with_steps(MAX_PATTERN_STEPS, bound)
    }

    /// Returns a [`Budget::new`] with extra steps that searches of `bytes` of text may use at no
    /// charge.
    pub(super) fn for_text(bytes: usize, bound: Bound<'a>) -> Self {
        let free = (bytes as u64).saturating_mul(PATTERN_FREE_STEPS_PER_BYTE);
        Self::with_steps(MAX_PATTERN_STEPS.saturating_add(free), bound)
    }

    /// Returns a budget of this number of steps, until `bound` is over.
    pub fn with_steps(steps: u64, bound: Bound<'a>) -> Self {
        Self {
            left: AtomicU64::new(steps),
            bound,
        }
    }

    /// Returns the number of steps left.
    #[cfg(test)]
    pub(super) fn steps_left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Returns the call's deadline.
    pub(super) fn bound(&self) -> Bound<'a> {
        self.bound
    }

    /// Subtracts `steps`. Fails if fewer are left.
    fn spend(&self, steps: u64) -> Result<(), Costly> {
        let less = |left: u64| Some(left.saturating_sub(steps));
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        {
            Ok(left) if left >= steps => Ok(()),
            _ => Err(Costly),
        }
    }
}

/// Counts the steps of one search and charges the budget in chunks.
///
/// Steps in proportion to the text are free. The budget limits work that grows faster than the
/// text, and a large tree alone must not use it up.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    budget: &'a Budget<'a>,
    /// Steps left of the chunk.
    fuel: u32,
    free: u64,
}

impl<'a> Meter<'a> {
    /// A meter for a search through `bytes` of text.
    pub(super) fn new(budget: &'a Budget<'a>, bytes: usize) -> Self {
        let free = (bytes as u64 + 16).saturating_mul(PATTERN_FREE_STEPS_PER_BYTE);
        Self {
            budget,
            fuel: PATTERN_CHUNK_STEPS,
            free,
        }
    }

    #[inline]
    pub(super) fn step(&mut self) -> Result<(), Costly> {
        self.fuel -= 1;
        if self.fuel == 0 {
            self.next_chunk(PATTERN_CHUNK_STEPS)
        } else {
            Ok(())
        }
    }

    /// Counts `steps` at once.
    #[inline]
    pub(super) fn steps(&mut self, steps: usize) -> Result<(), Costly> {
        match u32::try_from(steps) {
            Ok(steps) if steps < self.fuel => {
                self.fuel -= steps;
                Ok(())
            }
            _ => self.many_steps(steps as u64),
        }
    }

    #[cold]
    fn many_steps(&mut self, steps: u64) -> Result<(), Costly> {
        let used = u64::from(PATTERN_CHUNK_STEPS - self.fuel);
        self.charge(used.saturating_add(steps))
    }

    #[cold]
    fn next_chunk(&mut self, used: u32) -> Result<(), Costly> {
        self.charge(u64::from(used))
    }

    /// Charges `used` steps to the budget and begins a new chunk.
    fn charge(&mut self, used: u64) -> Result<(), Costly> {
        self.fuel = PATTERN_CHUNK_STEPS;
        if self.budget.bound.is_over() {
            return Err(Costly);
        }
        self.settle(used)
    }

    fn settle(&mut self, used: u64) -> Result<(), Costly> {
        let paid = used.saturating_sub(self.free);
        self.free = self.free.saturating_sub(used);
        if paid == 0 {
            Ok(())
        } else {
            self.budget.spend(paid)
        }
    }

    /// Charges the rest of the last chunk, at the end of a search.
    pub(super) fn finish(mut self) -> Result<(), Costly> {
        let used = u64::from(PATTERN_CHUNK_STEPS - self.fuel);
        self.settle(used)
    }
}
