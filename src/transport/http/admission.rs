//! The places that connections have. One that nobody is known to be behind yet has its place only
//! until another needs it, so that strangers are in nobody's way ([`super::eviction`] says whose
//! place it is); and no tenant has all of them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, oneshot};

use super::eviction::Strangers;
use super::peer::Peer;
use super::tenant::{Held, Tenant};

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
    /// Those of nobody that is known, each with what makes it end.
    strangers: Strangers<oneshot::Sender<()>>,
}

/// A place, and what is told when the connection has to leave it; that its other end is gone means
/// nothing.
pub type Taken = (Seat, oneshot::Receiver<()>);

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// Those who are known have all of them.
    Full,
    /// Others that come from there, or from nowhere else either, are about to show who they are.
    Crowded,
}

/// The place of one connection, until it is dropped.
pub struct Seat {
    places: Arc<Places>,
    number: u64,
    peer: Peer,
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
        out.debug_struct("Seat")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Places {
    /// So many, all of them free.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most: most.max(1),
            table: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Gives a place to a connection that comes from `peer`, as soon as there is one: a free one,
    /// or that of a stranger. `None` if it should not be waited for, as others would wait behind
    /// it.
    pub async fn take(self: &Arc<Self>, peer: Peer) -> Option<Taken> {
        loop {
            let freed = self.freed.notified();
            match self.try_take(peer, Instant::now()) {
                Ok(taken) => return Some(taken),
                Err(NoPlace::Crowded) => return None,
                Err(NoPlace::Full) => freed.await,
            }
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

    /// The same for one that comes `now`, and finds a place or does not.
    pub(super) fn try_take(self: &Arc<Self>, peer: Peer, now: Instant) -> Result<Taken, NoPlace> {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.lock();
        if table.taken >= self.most {
            if table.strangers.is_empty() {
                return Err(NoPlace::Full);
            }
            let given = table
                .strangers
                .give_way(peer, self.most, now)
                .ok_or(NoPlace::Crowded)?;
            table.taken -= 1;
            // It may be about to end by itself.
            let _ = given.send(());
        }
        table.taken += 1;
        table.next += 1;
        let number = table.next;
        table.strangers.insert(number, peer, now, sender);
        Ok((
            Seat {
                places: Arc::clone(self),
                number,
                peer,
                held: OnceLock::new(),
            },
            receiver,
        ))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Says whose connection it is, by the digest of which token: nobody takes its place any more.
    /// False if this tenant has as many as it may. The first tenant is what counts.
    pub fn claim(&self, tenant: &Arc<Tenant>, shown: Option<[u8; 32]>) -> bool {
        if self.held.get().is_some() {
            return true;
        }
        let Some(held) = tenant.hold_connection() else {
            return false;
        };
        // Another request of this connection may have been faster, or the place may have gone to
        // another connection.
        if let Some(leave) = self.places.lock().strangers.remove(self.number) {
            tenant.keep(self.number, shown, leave);
            let _ = self.held.set(Holder {
                tenant: Arc::clone(tenant),
                shown,
                _held: held,
            });
        }
        true
    }
}

impl Seat {
    /// Where the connection comes from.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Whether it is known whose connection it is.
    pub fn is_claimed(&self) -> bool {
        self.held.get().is_some()
    }

    /// Its client has said something.
    pub fn speaks(&self) {
        self.places.lock().strangers.speaks(self.number);
    }

    /// Its client was refused, and the connection is closed as soon as that is read: nobody waits
    /// for its place.
    pub fn falls_silent(&self) {
        self.places.lock().strangers.falls_silent(self.number);
    }

    /// What is told from now on when the connection has to be left, for one that nobody drives as
    /// before.
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
        if table.strangers.remove(self.number).is_some() || self.held.get().is_some() {
            table.taken -= 1;
        }
        drop(table);
        self.places.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::tests::tenant;

    fn take(places: &Arc<Places>) -> Result<Taken, NoPlace> {
        places.try_take(
            Peer::from(std::net::IpAddr::from([127, 0, 0, 1])),
            Instant::now(),
        )
    }

    fn is_told(leave: &mut oneshot::Receiver<()>) -> bool {
        leave.try_recv().is_ok()
    }

    #[test]
    fn the_oldest_stranger_gives_way_and_nobody_else_does() {
        let places = Places::new(2);
        let alice = tenant("alice", 2);
        let (first, mut first_leave) = take(&places).unwrap();
        let (second, mut second_leave) = take(&places).unwrap();
        assert!(first.claim(&alice, None) && first.claim(&alice, None));
        let (third, mut third_leave) = take(&places).unwrap();
        assert_eq!(
            [&mut first_leave, &mut second_leave, &mut third_leave].map(is_told),
            [false, true, false]
        );
        // Too late, and it counts for nobody.
        assert!(second.claim(&alice, None) && third.claim(&alice, None));
        assert_eq!(places.lock().taken, 2);
        assert!(places.lock().strangers.is_empty());
        drop((second, third));
        assert_eq!(places.lock().taken, 1);
        let (fourth, _leave) = take(&places).unwrap();
        assert!(fourth.claim(&alice, None));
        assert_eq!(take(&places).err(), Some(NoPlace::Full));
        drop((first, fourth));
        assert_eq!(places.lock().taken, 0);
        // There are places, and they are not for alice.
        let roomy = Places::new(3);
        let seats = [(); 3].map(|()| take(&roomy).unwrap().0);
        assert_eq!(
            [0, 1, 2].map(|at| seats[at].claim(&alice, None)),
            [true, true, false]
        );
    }

    #[test]
    fn who_has_begun_to_speak_keeps_its_place_for_a_moment() {
        // Most places are those of who is known.
        let places = Places::new(5);
        let alice = tenant("alice", 5);
        let known = [(); 3].map(|()| take(&places).unwrap());
        assert!(known.iter().all(|(seat, _)| seat.claim(&alice, None)));
        let (first, mut first_leave) = take(&places).unwrap();
        let (_second, mut second_leave) = take(&places).unwrap();
        first.speaks();
        let (third, mut third_leave) = take(&places).unwrap();
        assert_eq!(
            [&mut first_leave, &mut second_leave, &mut third_leave].map(is_told),
            [false, true, false]
        );
        third.speaks();
        assert_eq!(take(&places).err(), Some(NoPlace::Crowded));
        let elsewhere = Peer::from(std::net::IpAddr::from([127, 0, 0, 2]));
        assert!(places.try_take(elsewhere, Instant::now()).is_ok());
        assert_eq!(
            [&mut first_leave, &mut third_leave].map(is_told),
            [true, false]
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_place_is_waited_for_and_one_of_a_stranger_is_not() {
        let places = Places::new(1);
        let peer = Peer::from(std::net::IpAddr::from([127, 0, 0, 1]));
        let (_stranger, _leave) = places.take(peer).await.unwrap();
        let (seat, _leave) = places.take(peer).await.unwrap();
        assert!(seat.claim(&tenant("alice", 1), None));
        let waiting = tokio::spawn({
            let places = Arc::clone(&places);
            async move { drop(places.take(peer).await.unwrap()) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished() && take(&places).is_err());
        drop(seat);
        waiting.await.unwrap();
        places.emptiness().await;
    }
}
