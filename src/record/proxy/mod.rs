//! Server side of a program's connections: relays them to the real servers and records, or replays
//! those servers.
//!
//! The proxy has its own runtime, so the rest of the program can use blocking threads. Each
//! connection is a task; a failure or panic ends only that connection.

mod agent;
mod connect;
mod context;
mod datagrams;
mod first_bytes;
mod forward_proxy;
mod h2;
mod h2_play;
mod host_mismatch;
mod http_play;
mod intercept_tls;
mod judging;
mod login;
mod miss;
mod mysql_login;
mod nameserver;
mod outcome;
mod passthrough;
mod protocols;
mod record;
mod relay;
mod replay;
mod requests;
mod session;
mod splice;
mod stream;
mod tap;
#[cfg(test)]
mod tests;
mod tls;
mod truncation;
mod upstream;
mod upstream_proxy;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use replay_base::budget::{Account, Share};
use replay_base::limits::{
    MAX_RECORDED_CONNECTIONS, MAX_RESOLVE_THREADS, PROXY_END_MS, RECORDED_CONNECTION_BYTES,
};
use replay_sandbox::intercept::{Caller, Datagrams, ProgramName};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use self::connect::{Attempts, Decision};
use self::judging::VerdictGuard;
use self::session::Hub;
use self::stream::Stream;
use crate::call::{Outline, Target};
use crate::matching::Recordings;
use crate::net::ca::Authority;
use replay_network::http_client::Verifier;
use replay_network::rules::Transport;
use replay_network::upstream_proxy::{ProxyError, ProxyServer, UpstreamProxy};

pub use self::agent::AGENT;
pub use self::host_mismatch::Misfit;
pub use self::intercept_tls::{Inspector, Refusal, Rewriter};
pub use self::login::StandIn;
pub use self::outcome::{Counts, Note, Recorded};
pub use crate::protocol::mysql::login::PasswordSubstitution;

/// Sockets by which datagrams of one command leave at once: for one more, the one of its place goes
/// that was not used for longest.
const MAX_DATAGRAM_ASSOCIATIONS: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Identifier, unique among concurrent attempts.
    pub key: u64,
    pub to: SocketAddr,
    /// Program that connects.
    pub by: ProgramName,
    pub caller: Caller,
}

/// Receiver of a dial's result, see [`Wires::dial`]; dropped if the caller is gone.
pub type Dialed = Box<dyn FnOnce(io::Result<OwnedFd>) + Send>;

/// Source of the program's connections and their destinations. Its methods may block briefly.
pub trait Wires: Send + Sync + 'static {
    /// Returns the access policy. Without one, every address that [`Self::dial`] reaches is
    /// permitted.
    fn access(&self) -> Option<&dyn AccessPolicy> {
        None
    }
    /// Returns the operator's proxy, if connections to real servers may need one.
    fn upstream_proxy(&self) -> Option<&UpstreamProxy> {
        None
    }
    /// Returns the original destination of an accepted connection, by its local and peer address,
    /// if known.
    fn destination(&self, accepted_local: SocketAddr, peer: SocketAddr) -> Option<Attempt>;
    /// Registers a callback for each connection attempt. The attempt waits for [`Self::decide`],
    /// unless the connection to the server already exists. Without waiting attempts, only
    /// [`Self::destination`] reports connections.
    fn on_attempt(&self, _told: Box<dyn Fn(Attempt, Option<OwnedFd>) + Send + Sync>) {}
    /// Registers a callback for the keys of attempts that the program gave up.
    fn on_given_up(&self, _told: Box<dyn Fn(u64) + Send + Sync>) {}
    /// Registers a callback for connections that no listener accepts, because they were under way
    /// for long.
    fn on_arrival(&self, _told: Box<dyn Fn(OwnedFd) + Send + Sync>) {}
    /// Registers a callback for each new datagram target. The first datagram waits for
    /// [`Self::decide_datagrams`].
    fn on_datagrams(&self, _told: Box<dyn Fn(Datagrams) + Send + Sync>) {}
    /// Permits datagrams to the target of this token, or reports no route.
    fn decide_datagrams(&self, _token: u64, _may_send: bool) {}
    /// Returns a UDP socket that is connected to this address.
    fn datagrams_to(&self, _to: SocketAddr) -> io::Result<UdpSocket> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    /// Permits the connection attempt of this key, or fails it with an errno.
    fn decide(&self, _key: u64, _errno: Option<i32>) {}
    /// Opens a TCP connection and passes the result to `done`, at once or from another thread. The
    /// socket is non-blocking and may still be connecting. A denied dial gives an error.
    fn dial(&self, to: SocketAddr, done: Dialed);
    /// Returns the real addresses of a name. `NotFound` means that the name does not exist.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Access policy, which also receives denials. Its methods may block briefly.
pub trait AccessPolicy: Send + Sync {
    /// Returns true if the program may connect or send to the target.
    fn admits(&self, transport: Transport, target: &Target, by: ProgramName) -> bool;
    /// Returns true if the system's resolver may look up this name.
    fn may_ask(&self, name: &str) -> bool;
    /// Returns true if an admitted target may be reached at this address.
    fn leads_to(
        &self,
        transport: Transport,
        target: &Target,
        address: IpAddr,
        by: ProgramName,
    ) -> bool;
    /// Returns true if an admitted target may be reached through a proxy. The name has these
    /// addresses here; none if only the proxy knows it.
    fn leads_through(
        &self,
        _proxy: &ProxyServer,
        _target: &Target,
        _addresses: &[IpAddr],
        _by: ProgramName,
    ) -> bool {
        false
    }
    /// Reports a connection through a proxy.
    fn reached_through(
        &self,
        _proxy: &ProxyServer,
        _target: &Target,
        _addresses: &[IpAddr],
        _by: ProgramName,
    ) {
    }
    /// Reports that the proxy did not lead to an admitted target.
    fn proxy_failed(&self, _target: &Target, _error: &ProxyError, _by: ProgramName) {}
    /// Returns the inspector of requests on an admitted connection, if its rules need decrypted
    /// requests.
    fn opens(&self, target: &Target, by: ProgramName) -> Option<Arc<dyn Inspector>>;
    /// Returns the login method of a database whose password the program does not have.
    fn login(&self, _target: &Target) -> Option<StandIn> {
        None
    }
    /// Reports that an admitted connection was ended or a request refused, because its content
    /// violates the target.
    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) -> Refusal;
}

#[derive(Clone)]
pub enum Mode {
    /// Relays everything and records nothing.
    Pass,
    /// Relays and records everything.
    Record,
    Replay {
        replay: Arc<Replay>,
        /// Handling of calls without a recording.
        on_miss: OnMiss,
    },
}

pub struct Replay {
    pub book: Arc<Recordings>,
    /// Server properties from the same recordings.
    pub outline: Outline,
    /// Time to wait for the rest of a possibly incomplete message.
    pub quiet: Duration,
}

/// Handling of calls without a recording. The last two variants forward connections to unrecorded
/// targets and single HTTP calls. Other protocols always answer with an error, because their calls
/// depend on their connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMiss {
    /// Answer with an error of the protocol.
    Fail,
    /// Forward to the real server.
    Passthrough,
    /// Forward to the real server and record.
    Record,
}

/// Sockets that receive the program's connections.
#[derive(Debug, Default)]
pub struct Sockets {
    pub tcp: Vec<TcpListener>,
    /// DNS sockets.
    pub udp: Vec<UdpSocket>,
    /// Listeners for programs that use this as their HTTP proxy (RFC 9112, 3.2.2 and 3.2.3), where
    /// transparent redirection is impossible.
    pub forward: Vec<TcpListener>,
}

/// A running proxy, which stops when dropped.
pub struct Proxy {
    runtime: Handle,
    /// The proxy's own runtime, if it has one.
    own: Option<Runtime>,
    attempts: Arc<Attempts>,
    stop: watch::Sender<bool>,
    served: Option<tokio::task::JoinHandle<()>>,
}

impl Proxy {
    /// Serves these sockets in `runtime` or in a new one. Recorded data is charged to `account`.
    pub fn start(
        runtime: Option<&Handle>,
        sockets: Sockets,
        wires: Arc<dyn Wires>,
        mode: Mode,
        authority: Arc<Authority>,
        verifier: Arc<Verifier>,
        account: Account,
    ) -> io::Result<Self> {
        let (runtime, own) = match runtime {
            Some(runtime) => (runtime.clone(), None),
            None => own_runtime().map(|own| (own.handle().clone(), Some(own)))?,
        };
        let (stop, stopped) = watch::channel(false);
        let mut shared = Hub::new(wires, mode, authority, verifier, stopped, account);
        let intercepted = sockets.tcp.first().map(|listener| (AGENT, listener));
        let requested = sockets.forward.first();
        let entrance = intercepted.or(requested.map(|listener| (Ipv4Addr::LOCALHOST, listener)));
        if let Some((address, listener)) = entrance.filter(|_| !matches!(shared.mode, Mode::Pass)) {
            shared.agent = Some(agent::target(address, listener.local_addr()?.port()));
        }
        let attempts = Arc::new(Attempts::new(shared));
        let (give, given) = mpsc::unbounded_channel();
        let mut sources = vec![(ConnectionSource::HandedOver(given), false)];
        let entered = runtime.enter();
        let listeners = sockets.tcp.into_iter().map(|listener| (listener, false));
        for (listener, forward) in
            listeners.chain(sockets.forward.into_iter().map(|listener| (listener, true)))
        {
            listener.set_nonblocking(true)?;
            sources.push((
                ConnectionSource::Listener(tokio::net::TcpListener::from_std(listener)?),
                forward,
            ));
        }
        let mut datagrams = Vec::new();
        for socket in sockets.udp {
            socket.set_nonblocking(true)?;
            datagrams.push(tokio::net::UdpSocket::from_std(socket)?);
        }
        drop(entered);
        let (weak, handle) = (Arc::downgrade(&attempts), runtime.clone());
        let wires = &attempts.shared.wires;
        wires.on_attempt(Box::new(move |attempt, dialed| {
            if let Some(attempts) = weak.upgrade() {
                attempts.decide_attempt(&handle, attempt, dialed);
            }
        }));
        let weak = Arc::downgrade(&attempts);
        wires.on_given_up(Box::new(move |key| {
            if let Some(attempts) = weak.upgrade() {
                attempts.forget_attempt(key);
            }
        }));
        let (weak, handle) = (Arc::downgrade(&attempts), runtime.clone());
        let associations = Arc::new(Semaphore::new(MAX_DATAGRAM_ASSOCIATIONS));
        wires.on_datagrams(Box::new(move |told| {
            if let Some(attempts) = weak.upgrade() {
                let (shared, associations) =
                    (Arc::clone(&attempts.shared), Arc::clone(&associations));
                let unjudged = shared.judging.begin();
                handle.spawn(datagrams::serve(shared, associations, told, unjudged));
            }
        }));
        wires.on_arrival(Box::new(move |socket| {
            // The receiver is gone after the proxy has stopped.
            let _ = give.send(socket);
        }));
        let served = runtime.spawn(serve(Arc::clone(&attempts), sources, datagrams));
        Ok(Self {
            runtime,
            own,
            attempts,
            stop,
            served: Some(served),
        })
    }

    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Waits briefly until all data of an ended program is judged.
    pub async fn settle(&self) {
        let judging = &self.attempts.shared.judging;
        judging.end();
        let _ = timeout(Duration::from_millis(PROXY_END_MS), judging.all_decided()).await;
    }

    /// Ends all connections and returns the recording. Must not be called from a task of its
    /// runtime.
    pub fn finish(mut self) -> Recorded {
        self.runtime.block_on(self.settle());
        self.wait();
        self.end();
        self.attempts.shared.take_recording()
    }

    fn wait(&mut self) {
        let _ = self.stop.send(true);
        if let Some(served) = self.served.take() {
            let _ = self
                .runtime
                .block_on(async { timeout(Duration::from_millis(2 * PROXY_END_MS), served).await });
        }
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        let Some(runtime) = self.own.take() else {
            return;
        };
        self.wait();
        // Join the threads as far as possible: glibc's pthread_detach(3) of an ending thread can
        // touch a stack that is already freed.
        runtime.shutdown_timeout(Duration::from_millis(PROXY_END_MS));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

fn own_runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MAX_RESOLVE_THREADS)
        .thread_name("calls")
        .enable_io()
        .enable_time()
        .build()
}

enum ConnectionSource {
    Listener(tokio::net::TcpListener),
    /// A listener that only yields connections in its backlog.
    Backlog(std::net::TcpListener),
    HandedOver(mpsc::UnboundedReceiver<OwnedFd>),
}

impl ConnectionSource {
    /// Returns the next connection with its peer; `None` if there are no more.
    async fn next(&mut self) -> Option<io::Result<(TcpStream, SocketAddr)>> {
        match self {
            Self::Listener(listener) => Some(listener.accept().await),
            Self::Backlog(listener) => listener
                .accept()
                .ok()
                .map(|(socket, peer)| Ok((into_async(socket)?, peer))),
            Self::HandedOver(given) => {
                let stream = into_async(given.recv().await?.into());
                Some(
                    stream
                        .and_then(|stream| Ok((stream.peer_addr()?, stream)))
                        .map(|(peer, stream)| (stream, peer)),
                )
            }
        }
    }

    /// Converts the source to one that only yields earlier connections. Their program may have
    /// ended right after connecting.
    fn into_backlog(self) -> Option<Self> {
        match self {
            Self::Listener(listener) => listener.into_std().ok().map(Self::Backlog),
            Self::Backlog(_) => Some(self),
            Self::HandedOver(mut given) => {
                given.close();
                Some(Self::HandedOver(given))
            }
        }
    }
}

fn into_async(socket: std::net::TcpStream) -> io::Result<TcpStream> {
    socket.set_nonblocking(true)?;
    TcpStream::from_std(socket)
}

async fn serve(
    attempts: Arc<Attempts>,
    sources: Vec<(ConnectionSource, bool)>,
    datagrams: Vec<tokio::net::UdpSocket>,
) {
    let places = Arc::new(Semaphore::new(MAX_RECORDED_CONNECTIONS));
    let mut tasks = JoinSet::new();
    for (source, forward) in sources {
        tasks.spawn(accept(
            Arc::clone(&attempts),
            source,
            forward,
            Arc::clone(&places),
        ));
    }
    for socket in datagrams {
        tasks.spawn(nameserver::serve_udp(Arc::clone(&attempts.shared), socket));
    }
    while tasks.join_next().await.is_some() {}
}

async fn accept(
    attempts: Arc<Attempts>,
    mut source: ConnectionSource,
    forward: bool,
    places: Arc<Semaphore>,
) {
    let shared = &attempts.shared;
    let mut stop = shared.stop.clone();
    let mut connections = JoinSet::new();
    let (mut is_last, listening) = (false, shared.judging.begin());
    loop {
        let next = async {
            // First the permit: without one, a connection waits in the listener's backlog.
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            let room = shared.wait_for_memory(RECORDED_CONNECTION_BYTES).await;
            Some(((place, room), source.next().await?))
        };
        let (place, accepted) = tokio::select! {
            next = next => match next {
                Some(next) => next,
                None => break,
            },
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                count_panic(shared, &ended);
                continue;
            }
            () = async { tokio::select! { _ = stop.wait_for(|stop| *stop) => {}, () = shared.judging.ending() => {} } },
                if !is_last => {
                is_last = true;
                source = match source.into_backlog() {
                    Some(source) => source,
                    None => break,
                };
                continue;
            }
        };
        match accepted {
            Ok((client, peer)) => {
                let _ = client.set_nodelay(true);
                // Decide before the next accept: a connection without a descriptor is closed by
                // then.
                let purpose = catch_unwind(AssertUnwindSafe(|| {
                    purpose(&attempts, &client, peer, forward)
                }));
                let purpose = purpose.inspect_err(|_| shared.count(|counts| counts.panics += 1));
                let Some((purpose, descriptor)) = purpose.ok().flatten() else {
                    Stream::new(client).reset();
                    continue;
                };
                let (shared, client) = (Arc::clone(shared), Stream::of(client, descriptor));
                let unjudged = shared.judging.begin();
                connections.spawn(async move {
                    let _place = place;
                    // The program notices a broken connection by itself.
                    if let Err(error) = serve_one(shared, purpose, client, unjudged).await {
                        tracing::debug!(%error, "a recorded connection broke");
                    }
                });
            }
            // No free descriptors: wait until some connection ends (accept(2)).
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    drop(listening);
    let ending = async {
        while let Some(ended) = connections.join_next().await {
            count_panic(shared, &ended);
        }
    };
    // Connections end, and record their last call, only after the stop.
    let given_up = async {
        let _ = stop.wait_for(|stop| *stop).await;
        tokio::time::sleep(Duration::from_millis(PROXY_END_MS)).await;
    };
    tokio::select! {
        () = ending => {}
        () = given_up => {}
    }
}

fn count_panic(shared: &Hub, ended: &Result<(), JoinError>) {
    if ended.as_ref().is_err_and(JoinError::is_panic) {
        shared.count(|counts| counts.panics += 1);
    }
}

/// Service that a connection asks for.
enum Purpose {
    Requests,
    Names,
    Agent,
    Decided(Decision),
}

/// Returns the service and a descriptor; `None` without either.
fn purpose(
    attempts: &Attempts,
    client: &TcpStream,
    peer: SocketAddr,
    forward: bool,
) -> Option<(Purpose, Share)> {
    let shared = &attempts.shared;
    if forward {
        return Some((Purpose::Requests, shared.descriptors(1).ok()?));
    }
    let Some(attempt) = shared.wires.destination(client.local_addr().ok()?, peer) else {
        shared.count(|counts| counts.strays += 1);
        return None;
    };
    if nameserver::is_nameserver(attempt.to) {
        return Some((Purpose::Names, shared.descriptors(1).ok()?));
    }
    if shared.is_agent(attempt.to) {
        return Some((Purpose::Agent, shared.descriptors(1).ok()?));
    }
    match attempts.decision(attempt) {
        (Decision::Refused(_), _) => None,
        (decision, descriptor) => Some((Purpose::Decided(decision), descriptor)),
    }
}

async fn serve_one(
    shared: Arc<Hub>,
    purpose: Purpose,
    client: Stream,
    unjudged: VerdictGuard,
) -> io::Result<()> {
    // Verdicts exist only for relayed connections. The guard of others ends here.
    let unjudged = matches!(shared.mode, Mode::Pass).then_some(unjudged);
    match purpose {
        Purpose::Requests => forward_proxy::serve(shared, client).await,
        Purpose::Names => nameserver::serve_tcp(shared, client).await,
        Purpose::Agent => forward_proxy::serve_own(shared, client).await,
        Purpose::Decided(Decision::Played(context, replay)) => {
            replay::serve(context, replay, client).await
        }
        Purpose::Decided(Decision::Dialed(context, server)) => match (server.await, &shared.mode) {
            (Ok(server), Mode::Pass) => {
                passthrough::converse(&context, client, server, unjudged).await
            }
            (Ok(server), Mode::Record | Mode::Replay { .. }) => {
                record::converse(context, client, server).await
            }
            // The dial task has recorded the reason.
            (Err(_), _) => {
                client.reset();
                Ok(())
            }
        },
        Purpose::Decided(Decision::Refused(_)) => Ok(()),
    }
}
