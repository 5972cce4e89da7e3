//! Memory budget of the process, shared among its clients. A second budget counts the file
//! descriptors of their commands' connections.
//!
//! A caller takes a [`Share`] before it allocates many bytes and returns it by dropping it. Later
//! stages of a call may use more of the budget than earlier ones ([`Purpose`]). So queued requests
//! cannot take the memory that running calls need to finish, and large calls cannot take the memory
//! of small ones.
//!
//! With several accounts, each may hold as much as it leaves free (Choudhury and Hahne, "Dynamic
//! Queue Length Thresholds for Shared-Memory Packet Switches"). One account gets half, two get a
//! third each, and as much is always left for the next.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use rustix::process::{Resource, getrlimit};

use crate::limits::{
    CONNECTION_FILES_SHARE, MEMORY_LOOK_MS, MEMORY_STEP_BYTES, MEMORY_WAIT_MS, SMALL_MESSAGE_BYTES,
};

/// Default memory budget of a server whose operator sets none, such as a mock, in bytes.
const DEFAULT_MEMORY_BYTES: usize = 512 * 1024 * 1024;

/// Purpose of a share: each may use a part of the budget, in sixteenths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A request, until its call has finished.
    Request,
    /// Working memory of a call.
    #[default]
    Work,
    /// A reply, until its client has read it.
    Reply,
    /// A request or reply of at most [`SMALL_MESSAGE_BYTES`], with a reserve that large ones cannot
    /// use.
    Small,
}

impl Purpose {
    /// Returns the purpose of a request of this size.
    pub fn request(bytes: usize) -> Self {
        if bytes <= SMALL_MESSAGE_BYTES {
            Self::Small
        } else {
            Self::Request
        }
    }

    /// Returns the purpose of a reply of this size.
    pub fn reply(bytes: usize) -> Self {
        if bytes <= SMALL_MESSAGE_BYTES {
            Self::Small
        } else {
            Self::Reply
        }
    }

    /// Part of a budget of `total` bytes that may be held before this purpose gets no more.
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
    /// Lock of the call that overdraws the budget.
    overdraft: Mutex<()>,
    /// Budget of descriptors; `None` in that budget itself.
    descriptors: Option<Arc<Self>>,
}

impl Budget {
    /// Creates a budget of `bytes`, and one of descriptors: [`CONNECTION_FILES_SHARE`] of the
    /// process's limit.
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

    /// Opens an account for one client.
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

/// Account of one client in a budget. Clones share the account.
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
    /// Opens an account in a new budget.
    fn default() -> Self {
        Budget::new(DEFAULT_MEMORY_BYTES).account()
    }
}

/// Error: not enough free memory for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{wanted} bytes of memory are needed, and {free} of the {most} that may be held (--memory-mib) are free"
)]
pub struct Exhausted {
    /// Requested bytes.
    pub wanted: usize,
    /// Available bytes.
    pub free: usize,
    /// Bytes available while no other account holds any.
    pub most: usize,
}

impl Exhausted {
    /// Advice for the client.
    pub fn hint(&self) -> &'static str {
        if self.wanted > self.most {
            "ask for less at once, or have the operator raise --memory-mib"
        } else {
            "repeat the call when others have ended; if none run, have the operator raise --memory-mib"
        }
    }
}

impl Account {
    /// Takes a share of `bytes`, if they are free now.
    pub fn try_take(&self, bytes: usize, purpose: Purpose) -> Result<Share, Exhausted> {
        self.enter(bytes, purpose)?;
        Ok(Share {
            account: Some(self.clone()),
            bytes,
            purpose,
        })
    }

    /// Takes a share and waits for free bytes until the deadline or cancellation. A request above
    /// the total fails immediately.
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

    /// Counts bytes that a call needs to finish, even if they are not free. Others get nothing
    /// until they are returned.
    pub fn overdraw(&self, bytes: usize) -> Share {
        self.0.budget.held.fetch_add(bytes, SeqCst);
        self.0.held.fetch_add(bytes, SeqCst);
        Share {
            account: Some(self.clone()),
            bytes,
            purpose: Purpose::Work,
        }
    }

    /// Waits until no other call of the process overdraws the budget.
    pub fn overdraft(&self) -> MutexGuard<'_, ()> {
        self.0
            .budget
            .overdraft
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a share of `count` descriptors for connections of commands, before they are opened, if
    /// they are free now.
    pub fn descriptors(&self, count: usize) -> Result<Share, Exhausted> {
        self.of_descriptors().try_take(count, Purpose::Small)
    }

    /// Descriptors available while no other account holds any.
    pub fn most_descriptors(&self) -> usize {
        self.of_descriptors().most(Purpose::Small)
    }

    fn of_descriptors(&self) -> &Self {
        self.0.descriptors.as_ref().unwrap_or(self)
    }

    /// Returns an empty share, to be grown later.
    pub fn share(&self) -> Share {
        Share {
            account: Some(self.clone()),
            ..Share::default()
        }
    }

    /// Bytes available while no other account holds any.
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

/// Reserved bytes of a budget, returned on drop.
#[derive(Debug, Default)]
pub struct Share {
    account: Option<Account>,
    bytes: usize,
    purpose: Purpose,
}

impl Share {
    /// Size of the share in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds bytes and waits for them until the deadline or cancellation. A request above the total
    /// fails immediately.
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

    /// Resizes the share to cover `bytes`, in steps; the first step is free. Returns false if the
    /// bytes are not free; the share is then no larger than before.
    pub fn try_cover(&mut self, bytes: usize) -> bool {
        let wanted = bytes
            .saturating_sub(MEMORY_STEP_BYTES)
            .next_multiple_of(MEMORY_STEP_BYTES);
        self.shrink(wanted);
        self.try_grow(wanted.saturating_sub(self.bytes)).is_ok()
    }

    /// Merges another share of the same account into this one.
    pub fn join(&mut self, mut other: Self) {
        if self.account.is_none() {
            *self = other;
        } else {
            self.bytes += std::mem::take(&mut other.bytes);
        }
    }

    /// Splits off a share of `bytes`, or of all that is left.
    #[must_use]
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self {
            account: self.account.clone(),
            bytes,
            purpose: self.purpose,
        }
    }

    /// Returns all but `bytes`.
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

/// Shares are bookkeeping and no part of a value.
impl PartialEq for Share {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Share {}

/// Account and cancellation for the memory of a call.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Account to charge; `None` if memory is not counted.
    pub account: Option<&'a Account>,
    pub cancel: &'a CancelToken,
}

impl Room<'_> {
    /// Returns an empty share, to be grown later.
    pub fn share(&self) -> Share {
        self.account.map(Account::share).unwrap_or_default()
    }

    /// Takes working memory, waiting at most [`MEMORY_WAIT_MS`].
    pub fn take(&self, bytes: usize) -> Result<Share, Exhausted> {
        let mut share = self.share();
        self.grow(&mut share, bytes)?;
        Ok(share)
    }

    /// Adds bytes to a share, waiting at most [`MEMORY_WAIT_MS`].
    pub fn grow(&self, share: &mut Share, bytes: usize) -> Result<(), Exhausted> {
        share.grow(
            bytes,
            Some(Instant::now() + Duration::from_millis(MEMORY_WAIT_MS)),
            Some(self.cancel),
        )
    }

    /// Grows a share to cover `bytes` in all. It grows in large steps, so that many small
    /// increments are cheap. The first step is free.
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
    fn single_account_gets_all_but_reply_reserve() {
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
    fn account_among_several_leaves_its_share_free() {
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
    fn released_memory_wakes_waiter() {
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
    fn share_covers_in_steps_after_free_first() {
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
