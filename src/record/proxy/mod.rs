//! The other end of a program's connections: passes them on to the real servers and looks on, or
//! plays those servers.
//!
//! It has a runtime of its own, so that the rest of the program can go on waiting in threads. A
//! connection has a task; one that fails, also by a panic, ends alone.

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

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use self::connect::{Attempts, Decision};
pub use self::host_mismatch::Misfit;
pub use self::intercept_tls::{Inspector, Refusal, Rewriter};
use self::judging::Unjudged;
pub use self::login::StandIn;
pub use self::outcome::{Counts, Note, Recorded};
use self::session::Hub;
pub use crate::record::protocol::mysql::login::Known;

use self::stream::Stream;
use crate::budget::{Account, Share};
use crate::http_client::Verifier;
use crate::limits::{
    MAX_DATAGRAM_ASSOCIATIONS, MAX_RECORDED_CONNECTIONS, MAX_RESOLVE_THREADS, PROXY_END_MS,
    RECORDED_CONNECTION_BYTES,
};
use crate::network::rules::Transport;
use crate::record::call::{Outline, Target};
use crate::record::matching::Book;
use crate::record::net::ca::Authority;
use crate::sandbox::intercept::{Datagrams, ProgramName};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// A number that no other one has at the same time.
    pub key: u64,
    pub to: SocketAddr,
    /// Who makes it.
    pub by: ProgramName,
}

/// What is told of a connection, see [`Wires::dial`]; dropped if there is nobody to tell of it.
pub type Dialed = Box<dyn FnOnce(io::Result<OwnedFd>) + Send>;

/// Who knows where connections were going, and who may call whom. Called from threads that may wait
/// a little.
pub trait Wires: Send + Sync + 'static {
    /// Who decides what may be reached; without one, everything may be that [`Self::dial`] reaches.
    fn door(&self) -> Option<&dyn Door> {
        None
    }
    /// Where the connection was going that was accepted at this local address from this peer;
    /// `None` if nobody knows it.
    fn destination(&self, accepted_local: SocketAddr, peer: SocketAddr) -> Option<Attempt>;
    /// Has this be told every connection before it is made, which then waits for [`Self::decide`],
    /// unless the one to its server is there already. Where connections do not wait they are told
    /// by [`Self::destination`] only.
    fn on_attempt(&self, _told: Box<dyn Fn(Attempt, Option<OwnedFd>) + Send + Sync>) {}
    /// Has this be told the key of every attempt that its program has given up.
    fn on_given_up(&self, _told: Box<dyn Fn(u64) + Send + Sync>) {}
    /// Has this be told every connection that is accepted by nobody, since it was on its way for
    /// long.
    fn on_arrival(&self, _told: Box<dyn Fn(OwnedFd) + Send + Sync>) {}
    /// Has this be told every place before the first datagram goes there, which then waits for
    /// [`Self::decide_datagrams`].
    fn on_datagrams(&self, _told: Box<dyn Fn(Datagrams) + Send + Sync>) {}
    /// Datagrams may go to the place of this number, or have no route.
    fn decide_datagrams(&self, _token: u64, _may_send: bool) {}
    /// A socket that sends datagrams there and receives those from there alone.
    fn datagrams_to(&self, _to: SocketAddr) -> io::Result<UdpSocket> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    /// The connection of this number may be made, or fails with this number of errno(3).
    fn decide(&self, _key: u64, _errno: Option<i32>) {}
    /// Has `done` be told a TCP connection to there, which does not block and may still be on its
    /// way; or why nobody may call there. At once, or from another thread.
    fn dial(&self, to: SocketAddr, done: Dialed);
    /// The real addresses of a name. `NotFound` says that there is no such name.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Who decides what may be reached, and is told what was not. Called from threads that may wait a
/// little.
pub trait Door: Send + Sync {
    /// Whether this program may connect there, or send.
    fn admits(&self, transport: Transport, target: &Target, by: ProgramName) -> bool;
    /// Whether the system's resolver may be asked for this name.
    fn may_ask(&self, name: &str) -> bool;
    /// Whether a target that was admitted may be reached at this address.
    fn leads_to(
        &self,
        transport: Transport,
        target: &Target,
        address: IpAddr,
        by: ProgramName,
    ) -> bool;
    /// Who judges what is asked for on a connection that was admitted, if it has to be opened for
    /// that.
    fn opens(&self, target: &Target, by: ProgramName) -> Option<Arc<dyn Inspector>>;
    /// How programs log in to a database there, if they do not have its password.
    fn login(&self, _target: &Target) -> Option<StandIn> {
        None
    }
    /// A connection that was admitted was ended, or a request on it was refused: what was said does
    /// not fit the target.
    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) -> Refusal;
}

#[derive(Clone)]
pub enum Mode {
    /// Everything goes to the real servers, and nothing is kept.
    Pass,
    /// The same, and it is kept.
    Record,
    Replay {
        replay: Arc<Replay>,
        /// What becomes of a call that nothing answers.
        on_miss: OnMiss,
    },
}

pub struct Replay {
    pub book: Arc<Book>,
    /// What the same recordings say of their targets.
    pub outline: Outline,
    /// How long what may be the beginning of a longer recorded message waits for the rest.
    pub quiet: Duration,
}

/// What becomes of a call that no recording answers. With the last two, connections to a target of
/// which nothing was recorded, and single calls of HTTP, go to the real server; other protocols
/// answer with an error in any case, since their calls make sense in their own connection only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMiss {
    /// An error of its protocol.
    Fail,
    /// It goes to the real server.
    Passthrough,
    /// It goes to the real server and is kept.
    Record,
}

/// Sockets that the program's connections arrive at.
#[derive(Debug, Default)]
pub struct Sockets {
    pub tcp: Vec<TcpListener>,
    /// Of questions of names.
    pub udp: Vec<UdpSocket>,
    /// Of programs that were told to use this as their HTTP proxy (RFC 9112, 3.2.2 and 3.2.3),
    /// where connections cannot be turned here without their knowing.
    pub forward: Vec<TcpListener>,
}

/// A proxy that runs. Dropping it ends it.
pub struct Proxy {
    runtime: Handle,
    /// If it is its own.
    own: Option<Runtime>,
    attempts: Arc<Attempts>,
    stop: watch::Sender<bool>,
    served: Option<tokio::task::JoinHandle<()>>,
}

impl Proxy {
    /// Serves these sockets in this runtime or, without one, in one of its own, and keeps what is
    /// recorded in memory of this account.
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
        let shared = Hub::new(wires, mode, authority, verifier, stopped, account);
        let attempts = Arc::new(Attempts::new(shared));
        let (give, given) = mpsc::unbounded_channel();
        let mut sources = vec![(Source::Given(given), false)];
        let entered = runtime.enter();
        let listeners = sockets.tcp.into_iter().map(|listener| (listener, false));
        for (listener, forward) in
            listeners.chain(sockets.forward.into_iter().map(|listener| (listener, true)))
        {
            listener.set_nonblocking(true)?;
            sources.push((
                Source::Listener(tokio::net::TcpListener::from_std(listener)?),
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
                attempts.asked(&handle, attempt, dialed);
            }
        }));
        let weak = Arc::downgrade(&attempts);
        wires.on_given_up(Box::new(move |key| {
            if let Some(attempts) = weak.upgrade() {
                attempts.given_up(key);
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
            // Nobody takes it any more when all has ended.
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

    /// Waits a while until all that the program has said is judged. For when the program is over.
    pub async fn settle(&self) {
        let judging = &self.attempts.shared.judging;
        judging.end();
        let _ = timeout(Duration::from_millis(PROXY_END_MS), judging.settled()).await;
    }

    /// Ends all connections and gives what was recorded. Not for tasks of its runtime.
    pub fn finish(mut self) -> Recorded {
        self.runtime.block_on(self.settle());
        self.wait();
        self.end();
        self.attempts.shared.take()
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
        // Its threads are joined as far as that can be: glibc's pthread_detach(3) of one that is
        // ending can touch a stack that is gone already.
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

enum Source {
    Listener(tokio::net::TcpListener),
    /// One of which only those are taken that wait already.
    Left(std::net::TcpListener),
    Given(mpsc::UnboundedReceiver<OwnedFd>),
}

impl Source {
    /// The next one with its peer; `None` if there are no more.
    async fn next(&mut self) -> Option<io::Result<(TcpStream, SocketAddr)>> {
        match self {
            Self::Listener(listener) => Some(listener.accept().await),
            Self::Left(listener) => listener
                .accept()
                .ok()
                .map(|(socket, peer)| Ok((watched(socket)?, peer))),
            Self::Given(given) => {
                let stream = watched(given.recv().await?.into());
                Some(
                    stream
                        .and_then(|stream| Ok((stream.peer_addr()?, stream)))
                        .map(|(peer, stream)| (stream, peer)),
                )
            }
        }
    }

    /// Who connected before the end is still told of: a program may have ended right after it.
    fn last(self) -> Option<Self> {
        match self {
            Self::Listener(listener) => listener.into_std().ok().map(Self::Left),
            Self::Left(_) => Some(self),
            Self::Given(mut given) => {
                given.close();
                Some(Self::Given(given))
            }
        }
    }
}

fn watched(socket: std::net::TcpStream) -> io::Result<TcpStream> {
    socket.set_nonblocking(true)?;
    TcpStream::from_std(socket)
}

async fn serve(
    attempts: Arc<Attempts>,
    sources: Vec<(Source, bool)>,
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
    mut source: Source,
    forward: bool,
    places: Arc<Semaphore>,
) {
    let shared = &attempts.shared;
    let mut stop = shared.stop.clone();
    let mut connections = JoinSet::new();
    let (mut is_last, listening) = (false, shared.judging.begin());
    loop {
        let next = async {
            // In this order: what has no place yet waits in the socket's queue.
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            let room = shared.room(RECORDED_CONNECTION_BYTES).await;
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
                source = match source.last() {
                    Some(source) => source,
                    None => break,
                };
                continue;
            }
        };
        match accepted {
            Ok((client, peer)) => {
                let _ = client.set_nodelay(true);
                // Before the next one is accepted: who has no descriptor is gone by then.
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
                    // A broken connection is the program's to notice, and it does.
                    if let Err(error) = serve_one(shared, purpose, client, unjudged).await {
                        tracing::debug!(%error, "a recorded connection broke");
                    }
                });
            }
            // No descriptors left: some connection will end (accept(2)).
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    drop(listening);
    let ending = async {
        while let Some(ended) = connections.join_next().await {
            count_panic(shared, &ended);
        }
    };
    let _ = timeout(Duration::from_millis(PROXY_END_MS), ending).await;
}

fn count_panic(shared: &Hub, ended: &Result<(), JoinError>) {
    if ended.as_ref().is_err_and(JoinError::is_panic) {
        shared.count(|counts| counts.panics += 1);
    }
}

/// What a connection has come for.
enum Purpose {
    Requests,
    Names,
    Decided(Decision),
}

/// With its descriptor; `None` if it is for nothing, or there is none.
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
    match attempts.decision(attempt) {
        (Decision::Refused(_), _) => None,
        (decision, descriptor) => Some((Purpose::Decided(decision), descriptor)),
    }
}

async fn serve_one(
    shared: Arc<Hub>,
    purpose: Purpose,
    client: Stream,
    unjudged: Unjudged,
) -> io::Result<()> {
    // Only what is passed on is judged.
    let unjudged = if let Mode::Pass = shared.mode {
        Some(unjudged)
    } else {
        None
    };
    match purpose {
        Purpose::Requests => forward_proxy::serve(shared, client).await,
        Purpose::Names => nameserver::serve_tcp(shared, client).await,
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
            // Whoever dialed has told why.
            (Err(_), _) => {
                client.reset();
                Ok(())
            }
        },
        Purpose::Decided(Decision::Refused(_)) => Ok(()),
    }
}
