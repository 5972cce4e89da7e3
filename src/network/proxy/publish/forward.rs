//! Connections to published ports.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use replay_sandbox::exec::{IpVersion, Ports};
use rustix::process::{Resource, getrlimit};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::ways::watched;

/// Most connections to the published ports of a server at the same time. Later ones wait.
const MAX_CONNECTIONS: u64 = 256;
/// Connections take at most this part of the open files of the process, two for each.
const OPEN_FILES_SHARE: u64 = 16;
/// Buffer for each direction of a connection, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;
/// Longest pause of a direction whose other one has ended, in milliseconds.
const HALF_CLOSED_PAUSE_MS: u64 = 60_000;
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
        let ends = Ends::default();
        let (outer_reader, outer_writer) = outer.split();
        let (inner_reader, inner_writer) = inner.split();
        // An error is a reset of one side, which ends both.
        let _ = tokio::try_join!(
            copy(outer_reader, inner_writer, &ends),
            copy(inner_reader, outer_writer, &ends)
        );
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

/// Directions of a connection that have ended.
#[derive(Default)]
struct Ends {
    is_half_closed: AtomicBool,
    changed: Notify,
}

/// Copies one direction to its end, and passes the end on. Once the other direction has ended, a pause
/// ends this one, too: a command could hold the connections of clients that are gone.
async fn copy(mut reader: ReadHalf<'_>, mut writer: WriteHalf<'_>, ends: &Ends) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let changed = ends.changed.notified();
        let read = reader.read(&mut buffer);
        let length = if ends.is_half_closed.load(SeqCst) {
            let limit = Duration::from_millis(HALF_CLOSED_PAUSE_MS);
            timeout(limit, read).await??
        } else {
            tokio::select! {
                length = read => length?,
                () = changed => continue,
            }
        };
        if length == 0 {
            break;
        }
        writer.write_all(&buffer[..length]).await?;
    }
    ends.is_half_closed.store(true, SeqCst);
    ends.changed.notify_waiters();
    writer.shutdown().await
}

/// Returns true if the kernel chose the port that the socket connects to as its own (tcp(7): a
/// simultaneous open), since nothing listens there.
fn is_connected_to_itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(peer)) if own == peer)
}
