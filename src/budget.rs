//! Memory counted over calls: one budget of bytes for the process, shared out among those it
//! serves. The descriptors of their commands' connections are counted in the same way beside it.
//!
//! Whoever is about to hold many bytes takes a [`Share`] first and gives it back by dropping it.
//! What comes later in the life of a call may go further into the budget than what comes earlier
//! ([`Purpose`]): requests that wait to begin cannot take the memory that running calls need to
//! end, and large calls cannot take what small ones need.
//!
//! With several accounts, one may hold as much as its grant leaves free, and no more (Choudhury and
//! Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches"): one alone gets
//! half, two a third each, and there is always as much left for one that comes next.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use rustix::process::{Resource, getrlimit};

use crate::limits::{
    CONNECTION_FILES_SHARE, DEFAULT_MEMORY_BYTES, MEMORY_LOOK_MS, MEMORY_STEP_BYTES,
    MEMORY_WAIT_MS, SMALL_MESSAGE_BYTES,
};

/// What bytes are held for: each may use a part of the budget, in sixteenths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A request, until its call is over.
    Request,
    /// What a call works on.
    #[default]
    Work,
    /// A reply, until its client has taken it.
    Reply,
    /// A request or a reply of at most [`SMALL_MESSAGE_BYTES`]: no large one takes its place.
    Small,
}

impl Purpose {
    /// For a request of so many bytes.
    pub fn request(bytes: usize) -> Self {
        if bytes <= SMALL_MESSAGE_BYTES {
            Self::Small
        } else {
            Self::Request
        }
    }

    /// For a reply of so many bytes.
    pub fn reply(bytes: usize) -> Self {
        if bytes <= SMALL_MESSAGE_BYTES {
            Self::Small
        } else {
            Self::Reply
        }
    }

    /// How many bytes of a budget may be held before nothing more is given out for this.
    fn of(self, total: usize) -> usize {
        let sixteenths = match self {
            Self::Request => 8,
            Self::Work => 14,
            Self::Reply => 15,
            Self::Small => 16,
        };
        (total as u128 * sixteenths / 16) as usize
    }
}

/// Bytes that all calls of the process may hold together.
#[derive(Debug)]
pub struct Budget {
    total: usize,
    held: AtomicUsize,
    accounts: AtomicUsize,
    waiting: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
    /// Held by the call that takes memory beyond the budget.
    overdraft: Mutex<()>,
    /// Of descriptors; `None` in that one.
    descriptors: Option<Arc<Self>>,
}

impl Budget {
    /// So many bytes, and of descriptors [`CONNECTION_FILES_SHARE`] of what this process may have.
    pub fn new(bytes: usize) -> Arc<Self> {
        let files = getrlimit(Resource::Nofile)
            .current
            .unwrap_or(u64::from(u32::MAX));
        Self::with_descriptors(bytes, (files / CONNECTION_FILES_SHARE) as usize)
    }

    pub fn with_descriptors(bytes: usize, descriptors: usize) -> Arc<Self> {
        Self::of(bytes, Some(Self::of(descriptors, None)))
    }

    fn of(total: usize, descriptors: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            total,
            held: AtomicUsize::new(0),
            accounts: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            lock: Mutex::new(()),
            freed: Condvar::new(),
            overdraft: Mutex::new(()),
            descriptors,
        })
    }

    /// An account for one of those who are served.
    pub fn account(self: &Arc<Self>) -> Account {
        self.accounts.fetch_add(1, SeqCst);
        let descriptors = self.descriptors.as_ref().map(Self::account);
        Account(Arc::new(Holder {
            budget: Arc::clone(self),
            held: AtomicUsize::new(0),
            descriptors,
        }))
    }
}

/// What one of those who are served holds of a budget. Clones are the same account.
#[derive(Clone, Debug)]
pub struct Account(Arc<Holder>);

#[derive(Debug)]
struct Holder {
    budget: Arc<Budget>,
    held: AtomicUsize,
    descriptors: Option<Account>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.budget.accounts.fetch_sub(1, SeqCst);
    }
}

impl Default for Account {
    /// Of a budget of its own.
    fn default() -> Self {
        Budget::new(DEFAULT_MEMORY_BYTES).account()
    }
}

/// There is not enough memory for what a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{wanted} bytes of memory are needed, and {free} of the {most} that may be held (--memory-mib) are free"
)]
pub struct Exhausted {
    /// Bytes that were asked for.
    pub wanted: usize,
    /// Bytes that could have been had.
    pub free: usize,
    /// Bytes that can be had while nobody else holds any.
    pub most: usize,
}

impl Exhausted {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        if self.wanted > self.most {
            "ask for less at once, or have the operator raise --memory-mib"
        } else {
            "repeat the call when others have ended; if none run, have the operator raise --memory-mib"
        }
    }
}

impl Account {
    /// A share of so many bytes, if they are free now.
    pub fn try_take(&self, bytes: usize, purpose: Purpose) -> Result<Share, Exhausted> {
        self.enter(bytes, purpose)?;
        Ok(Share {
            account: Some(self.clone()),
            bytes,
            purpose,
        })
    }

    /// The same, waited for until then, or until the call is cancelled. What can never be had is
    /// refused at once.
    pub fn take(
        &self,
        bytes: usize,
        purpose: Purpose,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
    ) -> Result<Share, Exhausted> {
        let mut share = Share {
            account: Some(self.clone()),
            bytes: 0,
            purpose,
        };
        share.grow(bytes, until, cancel)?;
        Ok(share)
    }

    /// Counts bytes that a call needs to end, even if they are not free. Others get nothing until
    /// they are given back.
    pub fn overdraw(&self, bytes: usize) -> Share {
        self.0.budget.held.fetch_add(bytes, SeqCst);
        self.0.held.fetch_add(bytes, SeqCst);
        Share {
            account: Some(self.clone()),
            bytes,
            purpose: Purpose::Work,
        }
    }

    /// Waits until no other call of the process takes memory beyond the budget.
    pub fn overdraft(&self) -> MutexGuard<'_, ()> {
        self.0
            .budget
            .overdraft
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// So many descriptors for connections of commands, before they are opened, if they are free
    /// now.
    pub fn descriptors(&self, count: usize) -> Result<Share, Exhausted> {
        self.of_descriptors().try_take(count, Purpose::Small)
    }

    /// How many can be had while nobody holds any.
    pub fn most_descriptors(&self) -> usize {
        self.of_descriptors().most(Purpose::Small)
    }

    fn of_descriptors(&self) -> &Self {
        self.0.descriptors.as_ref().unwrap_or(self)
    }

    /// Nothing yet, to be grown by what is worked on.
    pub fn share(&self) -> Share {
        Share {
            account: Some(self.clone()),
            ..Share::default()
        }
    }

    /// Bytes that can be had while nobody holds any.
    pub fn most(&self, purpose: Purpose) -> usize {
        let most = purpose.of(self.0.budget.total);
        if self.is_alone() { most } else { most / 2 }
    }

    fn is_alone(&self) -> bool {
        self.0.budget.accounts.load(SeqCst) <= 1
    }

    fn enter(&self, bytes: usize, purpose: Purpose) -> Result<(), Exhausted> {
        let Holder { budget, held, .. } = &*self.0;
        let ceiling = purpose.of(budget.total);
        let short = |own: usize, all: usize| {
            let free = ceiling.saturating_sub(all);
            let free = if self.is_alone() {
                free
            } else {
                free.saturating_sub(own) / 2
            };
            Exhausted {
                wanted: bytes,
                free,
                most: self.most(purpose),
            }
        };
        if bytes > ceiling {
            return Err(short(held.load(SeqCst), budget.held.load(SeqCst)));
        }
        let own = held.fetch_add(bytes, SeqCst);
        let counted_twice = if self.is_alone() { 0 } else { own + bytes };
        let entered = budget.held.fetch_update(SeqCst, SeqCst, |all| {
            let all = all + bytes;
            (all + counted_twice <= ceiling).then_some(all)
        });
        entered.map(drop).map_err(|all| {
            held.fetch_sub(bytes, SeqCst);
            short(own, all)
        })
    }

    fn leave(&self, bytes: usize) {
        let Holder { budget, held, .. } = &*self.0;
        budget.held.fetch_sub(bytes, SeqCst);
        held.fetch_sub(bytes, SeqCst);
        if budget.waiting.load(SeqCst) > 0 {
            drop(budget.lock.lock().unwrap_or_else(PoisonError::into_inner));
            budget.freed.notify_all();
        }
    }
}

/// Bytes of a budget that somebody holds, until it is dropped.
#[derive(Debug, Default)]
pub struct Share {
    account: Option<Account>,
    bytes: usize,
    purpose: Purpose,
}

impl Share {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds bytes, waited for until then, or until the call is cancelled. What can never be had is
    /// refused at once.
    pub fn grow(
        &mut self,
        bytes: usize,
        until: Option<Instant>,
        cancel: Option<&CancelToken>,
    ) -> Result<(), Exhausted> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        let Err(short) = account.enter(bytes, self.purpose) else {
            self.bytes += bytes;
            return Ok(());
        };
        let is_hopeless = |short: Exhausted| bytes > short.most.saturating_sub(self.bytes);
        if is_hopeless(short) {
            return Err(short);
        }
        let budget = &account.0.budget;
        budget.waiting.fetch_add(1, SeqCst);
        let mut guard = budget.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let entered = loop {
            let entered = account.enter(bytes, self.purpose);
            let is_over = cancel.is_some_and(CancelToken::is_cancelled)
                || until.is_some_and(|end| Instant::now() >= end);
            if is_over || entered.map_or_else(is_hopeless, |()| true) {
                break entered;
            }
            let look = Duration::from_millis(MEMORY_LOOK_MS);
            guard = budget
                .freed
                .wait_timeout(guard, look)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        };
        drop(guard);
        budget.waiting.fetch_sub(1, SeqCst);
        entered.map(|()| self.bytes += bytes)
    }

    /// Adds bytes that are free now.
    pub fn try_grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.grow(bytes, Some(Instant::now()), None)
    }

    /// Has it be for so many bytes from now on, in steps of which the first takes nothing. `false`,
    /// and as much as before or less, if there are not as many now.
    pub fn try_cover(&mut self, bytes: usize) -> bool {
        let wanted = bytes
            .saturating_sub(MEMORY_STEP_BYTES)
            .next_multiple_of(MEMORY_STEP_BYTES);
        self.shrink(wanted);
        self.try_grow(wanted.saturating_sub(self.bytes)).is_ok()
    }

    /// Takes over what another share of the same account holds.
    pub fn join(&mut self, mut other: Self) {
        if self.account.is_none() {
            *self = other;
        } else {
            self.bytes += std::mem::take(&mut other.bytes);
        }
    }

    /// Takes a share of so many bytes, or of what there is, out of this one.
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            account: self.account.clone(),
            bytes,
            purpose: self.purpose,
        }
    }

    /// Gives back what is beyond so many bytes.
    pub fn shrink(&mut self, bytes: usize) {
        if let Some(account) = &self.account
            && let Some(less) = self.bytes.checked_sub(bytes)
        {
            self.bytes = bytes;
            account.leave(less);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// Shares are accounts of a value and no part of it.
impl PartialEq for Share {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Share {}

/// Whose memory a call takes, and what ends its waiting for it.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Who pays; `None` where nothing is counted.
    pub account: Option<&'a Account>,
    pub cancel: &'a CancelToken,
}

impl Room<'_> {
    /// Nothing yet, to be grown.
    pub fn share(&self) -> Share {
        self.account.map(Account::share).unwrap_or_default()
    }

    /// So many bytes to work with, waited for at most [`MEMORY_WAIT_MS`].
    pub fn take(&self, bytes: usize) -> Result<Share, Exhausted> {
        let mut share = self.share();
        self.grow(&mut share, bytes)?;
        Ok(share)
    }

    /// Adds so many bytes to a share, waited for likewise.
    pub fn grow(&self, share: &mut Share, bytes: usize) -> Result<(), Exhausted> {
        share.grow(
            bytes,
            Some(Instant::now() + Duration::from_millis(MEMORY_WAIT_MS)),
            Some(self.cancel),
        )
    }

    /// Has a share cover so many bytes in all. It grows by large steps, so that this is cheap for
    /// what grows by small ones, and nothing is taken for the first of them.
    pub fn cover(&self, share: &mut Share, bytes: usize) -> Result<(), Exhausted> {
        if bytes <= share.bytes.max(MEMORY_STEP_BYTES) {
            return Ok(());
        }
        self.grow(
            share,
            (bytes - share.bytes).next_multiple_of(MEMORY_STEP_BYTES),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn one_that_is_alone_has_all_but_what_ends_calls() {
        let account = Budget::new(16 * MIB).account();
        let work = account.try_take(14 * MIB, Purpose::Work).unwrap();
        let short = Exhausted {
            wanted: 1,
            free: 0,
            most: 14 * MIB,
        };
        assert_eq!(account.try_take(1, Purpose::Work).unwrap_err(), short);
        assert_eq!(
            account.try_take(1, Purpose::Request).unwrap_err(),
            Exhausted {
                most: 8 * MIB,
                ..short
            }
        );
        let reply = account.try_take(MIB, Purpose::Reply).unwrap();
        let small = account.try_take(MIB, Purpose::Small).unwrap();
        assert_eq!(
            account.try_take(1, Purpose::Small).unwrap_err(),
            Exhausted {
                most: 16 * MIB,
                ..short
            }
        );
        drop((work, reply, small));
        assert_eq!(
            account.try_take(16 * MIB, Purpose::Small).unwrap().bytes(),
            16 * MIB
        );
    }

    #[test]
    fn one_of_several_leaves_as_much_as_it_has() {
        let budget = Budget::new(16 * MIB);
        let (greedy, other) = (budget.account(), budget.account());
        let most = greedy.try_take(7 * MIB, Purpose::Work).unwrap();
        assert_eq!(
            greedy.try_take(MIB, Purpose::Work).unwrap_err(),
            Exhausted {
                wanted: MIB,
                free: 0,
                most: 7 * MIB
            }
        );
        let second = other.try_take(3 * MIB, Purpose::Work).unwrap();
        assert!(other.try_take(MIB, Purpose::Work).is_err());
        assert!(greedy.try_take(MIB / 2, Purpose::Small).is_err());
        assert!(other.try_take(MIB / 2, Purpose::Small).is_ok());
        drop((most, second, other));
        assert_eq!(
            greedy.try_take(14 * MIB, Purpose::Work).unwrap().bytes(),
            14 * MIB
        );
    }

    #[test]
    fn what_is_given_back_wakes_who_waits_and_what_can_never_be_had_is_refused_at_once() {
        let account = Budget::new(16 * MIB).account();
        let held = account.try_take(10 * MIB, Purpose::Work).unwrap();
        let begun = Instant::now();
        let hour = Some(begun + Duration::from_hours(1));
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                account
                    .take(10 * MIB, Purpose::Work, hour, None)
                    .map(|share| share.bytes())
            });
            assert!(account.take(15 * MIB, Purpose::Work, hour, None).is_err());
            drop(held);
            assert_eq!(waits.join().unwrap(), Ok(10 * MIB));
        });
        let cancel = CancelToken::new();
        cancel.cancel();
        let held = account.try_take(10 * MIB, Purpose::Work).unwrap();
        assert!(
            account
                .take(10 * MIB, Purpose::Work, hour, Some(&cancel))
                .is_err()
        );
        drop(held);
        assert!(begun.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn a_share_covers_in_steps_and_nothing_at_first() {
        let (account, cancel) = (Budget::new(16 * MIB).account(), CancelToken::new());
        let room = Room {
            account: Some(&account),
            cancel: &cancel,
        };
        let mut share = room.share();
        let mut covered = |bytes| room.cover(&mut share, bytes).map(|()| share.bytes());
        assert_eq!(covered(MEMORY_STEP_BYTES), Ok(0));
        assert_eq!(covered(MEMORY_STEP_BYTES + 1), Ok(2 * MEMORY_STEP_BYTES));
        assert_eq!(covered(2 * MEMORY_STEP_BYTES), Ok(2 * MEMORY_STEP_BYTES));
    }
}
