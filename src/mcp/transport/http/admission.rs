//! Admission of connections to a limited number of places. An anonymous connection keeps its place
//! only until another needs it ([`super::eviction`] chooses). No tenant gets all places.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, oneshot};

use super::eviction::AnonymousConnections;
use super::peer::Peer;
use super::tenant::{CounterGuard, Tenant};

#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    table: Mutex<Table>,
    /// Notified when a place becomes free.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    /// Number of connections with a place.
    taken: usize,
    next: u64,
    /// Anonymous connections, each with the sender that ends it.
    anonymous: AnonymousConnections<oneshot::Sender<()>>,
}

/// A place, and the receiver that signals that the connection must end. A dropped sender has no
/// meaning.
pub(super) type SeatGrant = (Seat, oneshot::Receiver<()>);

/// Reason that there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// Tenants have all places.
    Full,
    /// All candidates for eviction are in their grace period.
    Crowded,
}

/// The place of one connection, until it is dropped.
pub(super) struct Seat {
    places: Arc<Places>,
    number: u64,
    peer: Peer,
    /// The tenant of the connection, once known.
    held: OnceLock<Holder>,
}

/// The tenant of a connection.
struct Holder {
    tenant: Arc<Tenant>,
    /// Digest of the client's token.
    shown: Option<[u8; 32]>,
    _held: CounterGuard,
}

impl fmt::Debug for Seat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Seat")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Places {
    /// Creates `most` free places.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most: most.max(1),
            table: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Waits for a place for a connection from `peer`: a free one, or one of an evicted connection.
    /// Returns `None` if the connection should be refused, as others would wait behind it.
    pub(super) async fn take(self: &Arc<Self>, peer: Peer) -> Option<SeatGrant> {
        loop {
            let freed = self.freed.notified();
            match self.try_take(peer, Instant::now()) {
                Ok(taken) => return Some(taken),
                Err(NoPlace::Crowded) => return None,
                Err(NoPlace::Full) => freed.await,
            }
        }
    }

    /// Waits until there are no connections.
    pub(super) async fn emptiness(&self) {
        loop {
            let freed = self.freed.notified();
            if self.lock().taken == 0 {
                return;
            }
            freed.await;
        }
    }

    /// Takes a place at time `now`, without waiting.
    pub(super) fn try_take(
        self: &Arc<Self>,
        peer: Peer,
        now: Instant,
    ) -> Result<SeatGrant, NoPlace> {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.lock();
        if table.taken >= self.most {
            if table.anonymous.is_empty() {
                return Err(NoPlace::Full);
            }
            let given = table
                .anonymous
                .give_way(peer, self.most, now)
                .ok_or(NoPlace::Crowded)?;
            table.taken -= 1;
            // The connection may be ending already.
            let _ = given.send(());
        }
        table.taken += 1;
        table.next += 1;
        let number = table.next;
        table.anonymous.insert(number, peer, now, sender);
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
    /// Assigns the connection to a tenant, which protects it from eviction. Returns false if the
    /// tenant is at its connection limit. Later calls have no effect.
    pub(super) fn claim(&self, tenant: &Arc<Tenant>, shown: Option<[u8; 32]>) -> bool {
        if self.held.get().is_some() {
            return true;
        }
        let Some(held) = tenant.hold_connection() else {
            return false;
        };
        // Another request of this connection may have been faster, or the connection may be evicted
        // already.
        if let Some(leave) = self.places.lock().anonymous.remove(self.number) {
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
    /// Address of the client.
    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    /// Returns true if the connection has a tenant.
    pub(super) fn is_claimed(&self) -> bool {
        self.held.get().is_some()
    }

    /// The client has sent bytes.
    pub(super) fn mark_speaking(&self) {
        self.places.lock().anonymous.mark_speaking(self.number);
    }

    /// The client was refused, and the connection is about to close: its place can be taken at
    /// once.
    pub(super) fn mark_silent(&self) {
        self.places.lock().anonymous.mark_silent(self.number);
    }

    /// Returns a new receiver that signals the end of the connection, after an upgrade.
    pub(super) fn leave(&self) -> oneshot::Receiver<()> {
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
        // An anonymous connection's place may have gone to another connection already.
        if table.anonymous.remove(self.number).is_some() || self.held.get().is_some() {
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

    fn take(places: &Arc<Places>) -> Result<SeatGrant, NoPlace> {
        places.try_take(
            Peer::from(std::net::IpAddr::from([127, 0, 0, 1])),
            Instant::now(),
        )
    }

    fn is_signalled(leave: &mut oneshot::Receiver<()>) -> bool {
        leave.try_recv().is_ok()
    }

    #[test]
    fn oldest_anonymous_connection_is_evicted() {
        let places = Places::new(2);
        let alice = tenant("alice", 2);
        let (first, mut first_leave) = take(&places).unwrap();
        let (second, mut second_leave) = take(&places).unwrap();
        assert!(first.claim(&alice, None) && first.claim(&alice, None));
        let (third, mut third_leave) = take(&places).unwrap();
        assert_eq!(
            [&mut first_leave, &mut second_leave, &mut third_leave].map(is_signalled),
            [false, true, false]
        );
        // Too late, and counted for no tenant.
        assert!(second.claim(&alice, None) && third.claim(&alice, None));
        assert_eq!(places.lock().taken, 2);
        assert!(places.lock().anonymous.is_empty());
        drop((second, third));
        assert_eq!(places.lock().taken, 1);
        let (fourth, _leave) = take(&places).unwrap();
        assert!(fourth.claim(&alice, None));
        assert_eq!(take(&places).err(), Some(NoPlace::Full));
        drop((first, fourth));
        assert_eq!(places.lock().taken, 0);
        // There are places, but not for alice.
        let roomy = Places::new(3);
        let seats = [(); 3].map(|()| take(&roomy).unwrap().0);
        assert_eq!(
            [0, 1, 2].map(|at| seats[at].claim(&alice, None)),
            [true, true, false]
        );
    }

    #[test]
    fn speaking_connection_has_grace_period() {
        // Most places belong to a tenant.
        let places = Places::new(5);
        let alice = tenant("alice", 5);
        let known = [(); 3].map(|()| take(&places).unwrap());
        assert!(known.iter().all(|(seat, _)| seat.claim(&alice, None)));
        let (first, mut first_leave) = take(&places).unwrap();
        let (_second, mut second_leave) = take(&places).unwrap();
        first.mark_speaking();
        let (third, mut third_leave) = take(&places).unwrap();
        assert_eq!(
            [&mut first_leave, &mut second_leave, &mut third_leave].map(is_signalled),
            [false, true, false]
        );
        third.mark_speaking();
        assert_eq!(take(&places).err(), Some(NoPlace::Crowded));
        let elsewhere = Peer::from(std::net::IpAddr::from([127, 0, 0, 2]));
        assert!(places.try_take(elsewhere, Instant::now()).is_ok());
        assert_eq!(
            [&mut first_leave, &mut third_leave].map(is_signalled),
            [true, false]
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn full_server_waits_for_free_place() {
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
