//! UDP datagrams of a program to one target, forwarded like a NAT (RFC 4787): each socket of the
//! program has its own outgoing socket.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use replay_base::budget::Share;
use replay_sandbox::intercept::ProgramName;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::judging::VerdictGuard;
use super::session::Hub;
use super::{Datagrams, Mode};
use crate::call::Target;
use replay_network::rules::Transport;

/// Idle timeout of a socket for datagrams of a command, in seconds (RFC 4787, 4.3: not less than
/// two minutes).
const DATAGRAM_IDLE_SECS: u64 = 120;

const IDLE: Duration = Duration::from_secs(DATAGRAM_IDLE_SECS);

/// A socket of the program with its outgoing socket.
struct Association {
    way: Arc<Route>,
    /// Task that forwards answers to the program.
    answers: AbortHandle,
}

struct Route {
    real: UdpSocket,
    _descriptor: Share,
    used: Mutex<Instant>,
}

impl Route {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn use_now(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Decides about a target and forwards its datagrams until the proxy stops.
pub(super) async fn serve(
    shared: Arc<Hub>,
    associations: Arc<Semaphore>,
    told: Datagrams,
    unjudged: VerdictGuard,
) {
    let Datagrams {
        token,
        to,
        by,
        socket,
    } = told;
    let target = shared.target(to);
    let Ok(_descriptor) = shared.descriptors(1) else {
        shared.wires.decide_datagrams(token, false);
        return;
    };
    let mut first = reach(&shared, &target, by).await.ok();
    let inside = std::net::UdpSocket::from(socket);
    let inside = inside
        .set_nonblocking(true)
        .and_then(|()| UdpSocket::from_std(inside));
    shared
        .wires
        .decide_datagrams(token, first.is_some() && inside.is_ok());
    drop(unjudged);
    let (Some(_), Ok(inside)) = (&first, inside) else {
        return;
    };
    let (inside, mut stop) = (Arc::new(inside), shared.stop.clone());
    let (mut of_peers, mut answering) = (HashMap::<SocketAddr, Association>::new(), JoinSet::new());
    loop {
        let received = tokio::select! {
            received = receive(&inside) => received,
            Some(ended) = answering.join_next() => {
                // An aborted task has already been replaced.
                if let Ok(peer) = ended {
                    of_peers.remove(&peer);
                }
                continue;
            }
            _ = stop.wait_for(|stop| *stop) => return,
        };
        // The error belongs to an answer to a closed socket (ip(7), ICMP).
        let Ok((data, peer)) = received else { continue };
        if let Some(Association { way, .. }) = of_peers.get(&peer) {
            way.use_now();
            // Undeliverable datagrams are lost, as on any network.
            let _ = way.real.send(&data).await;
            continue;
        }
        let real = match first.take() {
            Some(real) => Ok(real),
            None => reach(&shared, &target, by).await,
        };
        let (Some(place), Ok((real, descriptor))) = (room(&associations, &mut of_peers), real)
        else {
            continue;
        };
        let way = Arc::new(Route {
            real,
            _descriptor: descriptor,
            used: Mutex::new(Instant::now()),
        });
        let _ = way.real.send(&data).await;
        let answers = answering.spawn(answer(
            Arc::clone(&way),
            Arc::clone(&inside),
            peer,
            place,
            IDLE,
        ));
        of_peers.insert(peer, Association { way, answers });
    }
}

/// Acquires a permit for one more association. Without a free permit, closes the least recently
/// used association here and returns `None`.
fn room(
    associations: &Arc<Semaphore>,
    of_peers: &mut HashMap<SocketAddr, Association>,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(associations).try_acquire_owned() {
        return Some(place);
    }
    let oldest = *of_peers
        .iter()
        .min_by_key(|(_, association)| association.way.used())?
        .0;
    of_peers.remove(&oldest)?.answers.abort();
    None
}

/// Forwards answers until the association is idle for the given time, and returns the program's
/// address.
async fn answer(
    way: Arc<Route>,
    inside: Arc<UdpSocket>,
    peer: SocketAddr,
    _place: OwnedSemaphorePermit,
    idle: Duration,
) -> SocketAddr {
    loop {
        let until = way.used() + idle;
        match timeout_at(until, receive(&way.real)).await {
            Ok(Ok((data, _))) => {
                way.use_now();
                let _ = inside.send_to(&data, peer).await;
            }
            // The target is unreachable now (ip(7), ICMP), but may recover.
            Ok(Err(_)) => {}
            Err(_) if way.used() + idle > until => {}
            Err(_) => return peer,
        }
    }
}

/// Receives the next datagram. Allocates no buffer while waiting.
async fn receive(socket: &UdpSocket) -> io::Result<(Vec<u8>, SocketAddr)> {
    loop {
        socket.ready(Interest::READABLE).await?;
        let mut data = Vec::with_capacity(usize::from(u16::MAX));
        match socket.try_recv_buf_from(&mut data) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            received => return received.map(|(_, peer)| (data, peer)),
        }
    }
}

/// Returns a socket that is connected to the real target, if the program may send to it.
async fn reach(
    shared: &Arc<Hub>,
    target: &Target,
    by: ProgramName,
) -> io::Result<(UdpSocket, Share)> {
    let refused = || io::Error::from_raw_os_error(libc::EACCES);
    let (Mode::Pass, Some(access)) = (&shared.mode, shared.wires.access()) else {
        return Err(refused());
    };
    if !access.admits(Transport::Udp, target, by) {
        return Err(refused());
    }
    let (mut failed, descriptor) = (refused(), shared.descriptors(1)?);
    for address in shared.resolve(&target.host).await? {
        if !access.leads_to(Transport::Udp, target, address, by) {
            continue;
        }
        let made = shared
            .wires
            .datagrams_to(SocketAddr::new(address, target.port));
        match made.and_then(|socket| {
            socket
                .set_nonblocking(true)
                .and_then(|()| UdpSocket::from_std(socket))
        }) {
            Ok(socket) => return Ok((socket, descriptor)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn idle_association_ends_and_oldest_is_evicted() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let here = || async { UdpSocket::bind("127.0.0.1:0").await.unwrap() };
            let (server, program, inside) = (here().await, here().await, Arc::new(here().await));
            let way = || async {
                let real = here().await;
                real.connect(server.local_addr().unwrap()).await.unwrap();
                Arc::new(Route {
                    real,
                    _descriptor: Share::default(),
                    used: Mutex::new(Instant::now()),
                })
            };
            let (associations, mut of_peers) = (Arc::new(Semaphore::new(1)), HashMap::new());
            let (first, peer) = (way().await, program.local_addr().unwrap());
            let place = room(&associations, &mut of_peers).unwrap();
            let real = first.real.local_addr().unwrap();
            let (idle, long) = (Duration::from_millis(50), Duration::from_mins(10));
            let answers = tokio::spawn(answer(
                Arc::clone(&first),
                Arc::clone(&inside),
                peer,
                place,
                idle,
            ));
            server.send_to(b"back", real).await.unwrap();
            assert_eq!(
                receive(&program).await.unwrap(),
                (b"back".to_vec(), inside.local_addr().unwrap())
            );
            let begun = first.used();
            assert_eq!(answers.await.unwrap(), peer);
            assert!(begun.elapsed() >= idle);
            let place = room(&associations, &mut of_peers).unwrap();
            let answers = tokio::spawn(answer(Arc::clone(&first), inside, peer, place, long));
            of_peers.insert(
                peer,
                Association {
                    way: first,
                    answers: answers.abort_handle(),
                },
            );
            assert!(room(&associations, &mut of_peers).is_none() && of_peers.is_empty());
            assert!(answers.await.unwrap_err().is_cancelled());
            assert!(room(&associations, &mut of_peers).is_some());
        });
    }
}
