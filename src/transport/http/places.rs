//! The places that connections have. One that nobody is known to be behind yet has its place only until another needs it,
//! so that strangers are in nobody's way; and no tenant has all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::tenant::{Held, Tenant};

/// All places.
#[derive(Debug)]
pub struct Places {
    most: usize,
    table: Mutex<Table>,
    /// A place has become free.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    /// Connections that have a place.
    taken: usize,
    next: u64,
    /// Those of nobody that is known, the oldest first, each with what makes it end.
    strangers: BTreeMap<u64, oneshot::Sender<()>>,
}

/// The place of one connection, until it is dropped.
pub struct Seat {
    places: Arc<Places>,
    number: u64,
    /// What it counts for, once it is known whose it is.
    held: OnceLock<Holder>,
}

/// A tenant that has a place.
struct Holder {
    tenant: Arc<Tenant>,
    /// The digest of the token that its client has shown.
    shown: Option<[u8; 32]>,
    _held: Held,
}

impl fmt::Debug for Seat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Seat").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Places {
    /// So many, all of them free.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), table: Mutex::default(), freed: Notify::new() })
    }

    /// Waits until a connection can have a place.
    pub async fn vacancy(&self) {
        self.until(|table| table.taken < self.most || !table.strangers.is_empty()).await;
    }

    /// Waits until no connection has one.
    pub async fn emptiness(&self) {
        self.until(|table| table.taken == 0).await;
    }

    async fn until(&self, is_so: impl Fn(&Table) -> bool) {
        loop {
            let freed = self.freed.notified();
            if is_so(&self.lock()) {
                return;
            }
            freed.await;
        }
    }

    /// Gives a place to a connection, and takes it from the oldest stranger if none is free. What is returned beside it
    /// is told when the connection has to leave it; that its other end is gone means nothing.
    pub fn take(self: &Arc<Self>) -> (Seat, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.lock();
        if table.taken >= self.most
            && let Some((_, oldest)) = table.strangers.pop_first()
        {
            table.taken -= 1;
            // It may be about to end by itself.
            let _ = oldest.send(());
        }
        table.taken += 1;
        table.next += 1;
        let number = table.next;
        table.strangers.insert(number, sender);
        (Seat { places: Arc::clone(self), number, held: OnceLock::new() }, receiver)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Says whose connection it is, by the digest of which token: nobody takes its place any more. False if this tenant has as
    /// many as it may. The first tenant is what counts.
    pub fn claim(&self, tenant: &Arc<Tenant>, shown: Option<[u8; 32]>) -> bool {
        if self.held.get().is_some() {
            return true;
        }
        let Some(held) = tenant.hold_connection() else { return false };
        // Another request of this connection may have been faster, or the place may have gone to another connection.
        if let Some(leave) = self.places.lock().strangers.remove(&self.number) {
            tenant.keep(self.number, shown, leave);
            let _ = self.held.set(Holder { tenant: Arc::clone(tenant), shown, _held: held });
        }
        true
    }
}

impl Seat {
    /// What is told from now on when the connection has to be left, for one that nobody drives as before.
    pub fn leave(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        if let Some(Holder { tenant, shown, .. }) = self.held.get() {
            tenant.keep(self.number, *shown, sender);
        }
        receiver
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(Holder { tenant, .. }) = self.held.get() {
            tenant.forget(self.number);
        }
        let mut table = self.places.lock();
        // A stranger's place may have gone to another connection already.
        if table.strangers.remove(&self.number).is_some() || self.held.get().is_some() {
            table.taken -= 1;
        }
        drop(table);
        self.places.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::tenant::tests::tenant;

    fn is_told(leave: &mut oneshot::Receiver<()>) -> bool {
        leave.try_recv().is_ok()
    }

    #[test]
    fn the_oldest_stranger_gives_way_and_nobody_else_does() {
        let places = Places::new(2);
        let alice = tenant("alice", 2);
        let (first, mut first_leave) = places.take();
        let (second, mut second_leave) = places.take();
        assert!(first.claim(&alice, None) && first.claim(&alice, None));
        let (third, mut third_leave) = places.take();
        assert_eq!([&mut first_leave, &mut second_leave, &mut third_leave].map(is_told), [false, true, false]);
        // Too late, and it counts for nobody.
        assert!(second.claim(&alice, None) && third.claim(&alice, None));
        assert_eq!(places.lock().taken, 2);
        assert!(places.lock().strangers.is_empty());
        drop((second, third));
        assert_eq!(places.lock().taken, 1);
        let (fourth, _leave) = places.take();
        assert!(fourth.claim(&alice, None));
        let (fifth, _leave) = places.take();
        assert!(!fifth.claim(&alice, None));
        drop((first, fourth, fifth));
        assert_eq!(places.lock().taken, 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_vacancy_is_a_free_place_or_one_of_a_stranger() {
        let places = Places::new(1);
        places.vacancy().await;
        let (seat, _leave) = places.take();
        places.vacancy().await;
        assert!(seat.claim(&tenant("alice", 1), None));
        let waiting = tokio::spawn({
            let places = Arc::clone(&places);
            async move { places.vacancy().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(seat);
        waiting.await.unwrap();
        places.emptiness().await;
    }

    #[test]
    fn who_comes_with_a_token_that_was_just_taken_away_is_hung_up_on() {
        let (places, alice) = (Places::new(3), tenant("alice", 3));
        let (early, mut early_leave) = places.take();
        assert!(early.claim(&alice, None));
        alice.rekey(Some([1; 32]));
        let (late, mut late_leave) = places.take();
        let (good, mut good_leave) = places.take();
        assert!(late.claim(&alice, None) && good.claim(&alice, Some([1; 32])));
        assert_eq!([&mut early_leave, &mut late_leave, &mut good_leave].map(is_told), [true, true, false]);
        // A WebSocket that was being opened.
        assert_eq!([early.leave(), good.leave()].map(|mut leave| is_told(&mut leave)), [true, false]);
    }
}
