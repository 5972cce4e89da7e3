//! Connections to published ports.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use replay_sandbox::exec::{IpVersion, Ports};
use rustix::process::{Resource, getrlimit};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::ways::watched;

/// Most connections to the published ports of a server at the same time. Later ones wait.
const MAX_CONNECTIONS: u64 = 256;
/// Connections take at most this part of the open files of the process, two for each.
const OPEN_FILES_SHARE: u64 = 16;
/// Buffer for each direction of a connection, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;
/// Timeout for a server of a command whose queue of connections is full, in milliseconds.
const CONNECT_MS: u64 = 30_000;
/// Pause after a failure to accept, such as too many open files, in milliseconds.
const ACCEPT_PAUSE_MS: u64 = 100;

/// Connects published ports with servers of commands.
pub(super) struct Forwarder {
    ports: Arc<Ports>,
    /// Readable when the launcher has answered.
    channel: AsyncFd<OwnedFd>,
    /// Unconnected sockets of the commands' network. The lock also keeps requests apart.
    sockets: Mutex<Sockets>,
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Sockets {
    version_4: Vec<OwnedFd>,
    version_6: Vec<OwnedFd>,
}

impl Sockets {
    fn of(&mut self, version: IpVersion) -> &mut Vec<OwnedFd> {
        match version {
            IpVersion::V4 => &mut self.version_4,
            IpVersion::V6 => &mut self.version_6,
        }
    }
}

impl Forwarder {
    pub(super) fn new(handle: &Handle, ports: Arc<Ports>) -> io::Result<Self> {
        let _entered = handle.enter();
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let places = (files / OPEN_FILES_SHARE / 2).clamp(1, MAX_CONNECTIONS);
        Ok(Self {
            channel: watched(ports.as_fd())?,
            ports,
            sockets: Mutex::default(),
            places: Arc::new(Semaphore::new(places as usize)),
        })
    }

    /// Accepts connections and leads them to this port of commands.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener, inside: u16) {
        loop {
            let Ok((outer, _)) = listener.accept().await else {
                sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                continue;
            };
            // Not before: an idle listener needs no place. The semaphore is never closed.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                return;
            };
            tokio::spawn(Arc::clone(&self).forward(outer, inside, place));
        }
    }

    /// Copies bytes in both directions until both have ended. The end of one is passed on as a
    /// half-close.
    async fn forward(
        self: Arc<Self>,
        mut outer: TcpStream,
        inside: u16,
        place: OwnedSemaphorePermit,
    ) {
        // Nothing listens: the connection is closed at once.
        let Ok(mut inner) = self.connect(inside).await else {
            return;
        };
        // Both ends have decided already which bytes go together.
        let _ = (outer.set_nodelay(true), inner.set_nodelay(true));
        // An error is a reset of one side, which ends both.
        let _ =
            copy_bidirectional_with_sizes(&mut outer, &mut inner, BUFFER_BYTES, BUFFER_BYTES).await;
        drop(place);
    }

    /// Connects to a server of a command at 127.0.0.1, else at `::1`.
    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let places = [
            (IpVersion::V4, IpAddr::V4(Ipv4Addr::LOCALHOST)),
            (IpVersion::V6, IpAddr::V6(Ipv6Addr::LOCALHOST)),
        ];
        for (version, address) in places {
            let Some(socket) = self.socket(version).await? else {
                continue;
            };
            let socket = TcpSocket::from_std_stream(socket.into());
            let connecting = socket.connect(SocketAddr::new(address, port));
            if let Ok(Ok(stream)) = timeout(Duration::from_millis(CONNECT_MS), connecting).await
                && !is_connected_to_itself(&stream)
            {
                return Ok(stream);
            }
        }
        Err(io::ErrorKind::ConnectionRefused.into())
    }

    /// Returns a socket of the commands' network; `None` without this version of the protocol.
    ///
    /// No caller may be cancelled while it waits for the launcher: the next one would get its answer.
    async fn socket(&self, version: IpVersion) -> io::Result<Option<OwnedFd>> {
        let mut sockets = self.sockets.lock().await;
        if sockets.of(version).is_empty() {
            self.ports.request_sockets(version)?;
            let made = loop {
                let mut ready = self.channel.readable().await?;
                // An error: nothing has come yet.
                if let Ok(made) = ready.try_io(|_| self.ports.receive_sockets()) {
                    break made?;
                }
            };
            sockets.of(version).extend(made);
        }
        Ok(sockets.of(version).pop())
    }
}

/// Returns true if the kernel chose the port that the socket connects to as its own (tcp(7): a
/// simultaneous open), since nothing listens there.
fn is_connected_to_itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(peer)) if own == peer)
}
