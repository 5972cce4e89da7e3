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

    /// Gives a place to a connection, as soon as there is one: a free one, or that of the oldest stranger. What is returned
    /// beside it is told when the connection has to leave it; that its other end is gone means nothing.
    pub async fn take(self: &Arc<Self>) -> (Seat, oneshot::Receiver<()>) {
        loop {
            let freed = self.freed.notified();
            if let Some(taken) = self.try_take() {
                return taken;
            }
            freed.await;
        }
    }

    /// Waits until no connection has one.
    pub async fn emptiness(&self) {
        loop {
            let freed = self.freed.notified();
            if self.lock().taken == 0 {
                return;
            }
            freed.await;
        }
    }

    /// `None` if all places are taken, and none of them by a stranger.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<(Seat, oneshot::Receiver<()>)> {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.lock();
        if table.taken >= self.most {
            let (_, oldest) = table.strangers.pop_first()?;
            table.taken -= 1;
            // It may be about to end by itself.
            let _ = oldest.send(());
        }
        table.taken += 1;
        table.next += 1;
        let number = table.next;
        table.strangers.insert(number, sender);
        Some((Seat { places: Arc::clone(self), number, held: OnceLock::new() }, receiver))
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
        let (first, mut first_leave) = places.try_take().unwrap();
        let (second, mut second_leave) = places.try_take().unwrap();
        assert!(first.claim(&alice, None) && first.claim(&alice, None));
        let (third, mut third_leave) = places.try_take().unwrap();
        assert_eq!([&mut first_leave, &mut second_leave, &mut third_leave].map(is_told), [false, true, false]);
        // Too late, and it counts for nobody.
        assert!(second.claim(&alice, None) && third.claim(&alice, None));
        assert_eq!(places.lock().taken, 2);
        assert!(places.lock().strangers.is_empty());
        drop((second, third));
        assert_eq!(places.lock().taken, 1);
        let (fourth, _leave) = places.try_take().unwrap();
        assert!(fourth.claim(&alice, None));
        assert!(places.try_take().is_none());
        drop((first, fourth));
        assert_eq!(places.lock().taken, 0);
        // There are places, and they are not for alice.
        let roomy = Places::new(3);
        let seats = [(); 3].map(|()| roomy.try_take().unwrap().0);
        assert_eq!([0, 1, 2].map(|at| seats[at].claim(&alice, None)), [true, true, false]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_place_is_waited_for_and_one_of_a_stranger_is_not() {
        let places = Places::new(1);
        let (_stranger, _leave) = places.take().await;
        let (seat, _leave) = places.take().await;
        assert!(seat.claim(&tenant("alice", 1), None));
        let waiting = tokio::spawn({
            let places = Arc::clone(&places);
            async move { drop(places.take().await) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished() && places.try_take().is_none());
        drop(seat);
        waiting.await.unwrap();
        places.emptiness().await;
    }
}
