//! End-to-end tests: loopback servers are recorded through the proxy, stopped, and replayed.

mod bodies;
mod dialing;
mod generic;
mod http1;
mod http2;
mod opened;
mod opening;
mod tls;

use replay_base::budget::Account;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::*;
use crate::call::{Exchange, Target};
use crate::matching::{Noise, Report};
use crate::net::ca::certificates;

/// Maximum time of any wait.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Test network: maps listeners of the proxy to servers, and dials these.
#[derive(Default)]
pub(super) struct Net {
    routes: Mutex<HashMap<SocketAddr, SocketAddr>>,
    hosts: HashMap<&'static str, Vec<IpAddr>>,
    access: Option<Arc<dyn AccessPolicy>>,
}

/// Opens a connection without waiting for it.
fn connecting(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let socket = socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno.into()),
    }
}

impl Wires for Net {
    fn access(&self) -> Option<&dyn AccessPolicy> {
        self.access.as_deref()
    }

    fn destination(&self, accepted_local: SocketAddr, _peer: SocketAddr) -> Option<Attempt> {
        self.routes
            .lock()
            .unwrap()
            .get(&accepted_local)
            .map(|to| Attempt {
                key: 0,
                to: *to,
                by: ProgramName::default(),
                caller: Caller::default(),
            })
    }

    fn dial(&self, to: SocketAddr, done: Dialed) {
        done(connecting(to));
    }

    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.hosts
            .get(name)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A server with one thread per connection.
pub(super) struct Server {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts a server that handles each connection with `serve`.
    pub(super) fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = Arc::new(serve);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A proxy in front of one server.
pub(super) struct Setup {
    pub proxy: Proxy,
    pub address: SocketAddr,
    pub authority: Arc<Authority>,
}

pub(super) fn setup(mode: Mode, to: SocketAddr, system: &[u8]) -> Setup {
    setup_within(mode, to, system, Account::default())
}

/// Does the same as [`setup`] with a memory account.
pub(super) fn setup_within(mode: Mode, to: SocketAddr, system: &[u8], account: Account) -> Setup {
    setup_behind(None, mode, to, system, account)
}

/// Does the same as [`setup_within`] with an access policy.
pub(super) fn setup_behind(
    access: Option<Arc<dyn AccessPolicy>>,
    mode: Mode,
    to: SocketAddr,
    system: &[u8],
    account: Account,
) -> Setup {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let net = Net {
        access,
        ..Net::default()
    };
    net.routes.lock().unwrap().insert(address, to);
    let authority = Arc::new(Authority::new().unwrap());
    let sockets = Sockets {
        tcp: vec![listener],
        ..Sockets::default()
    };
    let proxy = start(
        sockets,
        Arc::new(net),
        mode,
        Arc::clone(&authority),
        system,
        account,
    );
    Setup {
        proxy,
        address,
        authority,
    }
}

/// Starts a proxy with its own runtime. `system` holds the authorities (PEM) that verify real
/// servers.
pub(super) fn start(
    sockets: Sockets,
    wires: Arc<dyn Wires>,
    mode: Mode,
    authority: Arc<Authority>,
    system: &[u8],
    account: Account,
) -> Proxy {
    let verifier = Arc::new(Verifier::new(authority.provider(), certificates(system)));
    Proxy::start(None, sockets, wires, mode, authority, verifier, account).unwrap()
}

pub(super) fn replay_of(exchanges: Vec<Exchange>) -> Arc<Replay> {
    let outline = Outline::of(&exchanges);
    Arc::new(Replay {
        book: Arc::new(Recordings::new(exchanges, Noise::default())),
        outline,
        quiet: PATIENCE,
    })
}

/// Replays recordings to a client, and returns its result and the report.
pub(super) fn run_replay<T>(
    exchanges: Vec<Exchange>,
    to: SocketAddr,
    client: impl Fn(&Setup) -> T,
) -> (T, Report) {
    let replay = replay_of(exchanges);
    let setup = setup(
        Mode::Replay {
            replay: Arc::clone(&replay),
            on_miss: OnMiss::Fail,
        },
        to,
        b"",
    );
    let got = client(&setup);
    let counts = setup.proxy.attempts.shared.state().counts;
    setup.proxy.finish();
    assert_eq!(counts.panics, 0);
    (got, replay.book.report())
}

/// Records a client, stops the server, and asserts that a replay has the same result.
pub(super) fn record_and_replay<T: PartialEq + std::fmt::Debug>(
    server: Server,
    system: &[u8],
    client: impl Fn(&Setup) -> T,
) -> (T, Recorded) {
    let to = server.address;
    let setup = setup(Mode::Record, to, system);
    let live = client(&setup);
    let recorded = setup.proxy.finish();
    assert_eq!(recorded.counts.panics, 0);
    drop(server);
    let (again, report) = run_replay(recorded.exchanges.clone(), to, client);
    assert_eq!(again, live, "replayed and recorded");
    assert_eq!((report.missed, report.unused), (vec![], vec![]));
    (live, recorded)
}

pub(super) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads until the peer closes.
pub(super) fn ask(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(to);
    stream.write_all(bytes).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    got
}

/// Reads up to and including `end`.
pub(super) fn until(stream: &mut impl io::Read, end: &[u8]) -> Vec<u8> {
    let mut got = Vec::new();
    let mut byte = [0];
    while !got.ends_with(end) {
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "ended after {}",
            got.escape_ascii()
        );
        got.push(byte[0]);
    }
    got
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
