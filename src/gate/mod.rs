//! The network by rule: every connection of every command of a server is decided here, made from here, and passed on.
//!
//! It has threads of its own, which begin before this process enters its Landlock domain, where nothing could connect. A command
//! is in a network that leads nowhere; its supervisor hands each connection over (`sandbox/intercept`), and where the supervisor
//! or this process ends, none is made any more.

mod blocked_list;
mod door;
mod learned;
mod net_log;
mod watching;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

pub use self::door::RuledDoor;
pub use self::learned::Learned;
pub use self::net_log::NetLog;
pub use self::watching::Watcher;
use self::watching::{Origin, Watch};
use crate::budget::Account;
use crate::egress::Rules;
use crate::exec::{Blocked, Flow, Gatekeeper, Guarded, Interception, Listening, Mark, readable};
use crate::limits::MAX_RESOLVE_THREADS;
use crate::outbound::Verifier;
use crate::record::net::ca::Authority;
use crate::record::proxy::{Attempt, Dialed, Mode, Proxy, Sockets, Wires};
use crate::sandbox::addresses;

/// Decides by rules for all commands of a server.
pub struct Gate {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
}

struct Shared {
    rules: Arc<Rules>,
    watchers: Arc<[Arc<dyn Watcher>]>,
    /// Whether commands have a loopback device that is theirs.
    has_loopback: bool,
    authority: Arc<Authority>,
    verifier: Arc<Verifier>,
    account: Account,
}

/// One command: it is over when this is dropped.
struct Guard {
    door: Arc<RuledDoor>,
    _over: oneshot::Sender<()>,
}

/// The ways of one command.
struct Ways {
    interception: Interception,
    door: Arc<RuledDoor>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gate").field("rules", &self.shared.rules).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl Gate {
    /// Starts its threads, which have what the calling thread has.
    pub fn start(
        rules: Rules,
        has_loopback: bool,
        watchers: Vec<Arc<dyn Watcher>>,
        account: Account,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(MAX_RESOLVE_THREADS)
            .thread_name("gate")
            .enable_io()
            .enable_time()
            .build()?;
        let authority = Arc::new(Authority::new().map_err(io::Error::other)?);
        let verifier = Arc::new(Verifier::new(authority.provider(), Vec::new()));
        let shared = Arc::new(Shared {
            rules: Arc::new(rules),
            watchers: watchers.into(),
            has_loopback,
            authority,
            verifier,
            account,
        });
        Ok(Self { runtime: Some(runtime), shared })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Gatekeeper for Gate {
    fn guard(&self, listening: Listening, title: &str) -> Arc<dyn Guarded> {
        let (over, is_over) = oneshot::channel();
        let watch = Watch { origin: Origin::of(title), watchers: Arc::clone(&self.shared.watchers) };
        let door = Arc::new(RuledDoor::new(Arc::clone(&self.shared.rules), self.shared.has_loopback, watch));
        if let Some(runtime) = &self.runtime {
            let (shared, told) = (Arc::clone(&self.shared), Arc::clone(&door));
            let handle = runtime.handle().clone();
            runtime.spawn(async move {
                match begin(&shared, &handle, listening, told).await {
                    Ok(proxy) => {
                        // Until then it serves.
                        let _ = is_over.await;
                        drop(proxy);
                    }
                    Err(error) => tracing::warn!("connections of a command fail: {error}"),
                }
            });
        }
        Arc::new(Guard { door, _over: over })
    }
}

/// Waits for the supervisor's first word; `None` if it is gone, and with it the command.
async fn begin(
    shared: &Arc<Shared>,
    runtime: &Handle,
    listening: Listening,
    door: Arc<RuledDoor>,
) -> io::Result<Option<Proxy>> {
    let first_word = move || readable([Some(listening.as_fd())], None).and_then(|_| listening.begin());
    let begun = tokio::task::spawn_blocking(first_word).await.map_err(io::Error::other)?.map_err(io::Error::other)?;
    begun.map(|interception| shared.serve(runtime, interception, door)).transpose()
}

impl Guarded for Guard {
    fn blocked(&self) -> Vec<Blocked> {
        self.door.blocked()
    }
}

impl Shared {
    fn serve(
        self: &Arc<Self>,
        runtime: &Handle,
        mut interception: Interception,
        door: Arc<RuledDoor>,
    ) -> io::Result<Proxy> {
        let taken = interception.sockets().ok_or(io::ErrorKind::NotConnected)?;
        let tcp = [Some(taken.tcp_4), taken.tcp_6].into_iter().flatten().map(Into::into).collect();
        let udp = [Some(taken.udp_4), taken.udp_6].into_iter().flatten().map(Into::into).collect();
        let ways = Arc::new(Ways { interception, door: Arc::clone(&door) });
        Proxy::start_on(
            runtime,
            Sockets { tcp, udp, ..Sockets::default() },
            ways,
            Mode::Pass(door),
            Arc::clone(&self.authority),
            Arc::clone(&self.verifier),
            self.account.clone(),
        )
    }
}

fn attempt(flow: Flow) -> Attempt {
    Attempt { key: flow.mark.key(), to: flow.to, by: flow.by }
}

impl Wires for Ways {
    fn destination(&self, accepted_local: SocketAddr, peer: SocketAddr) -> Option<Attempt> {
        self.interception.destination(accepted_local, peer).map(attempt)
    }

    fn on_attempt(&self, told: Box<dyn Fn(Attempt) + Send + Sync>) {
        self.interception.on_flow(move |flow| told(attempt(flow)));
    }

    fn on_arrival(&self, told: Box<dyn Fn(OwnedFd) + Send + Sync>) {
        self.interception.on_arrival(told);
    }

    fn decide(&self, key: u64, errno: Option<i32>) {
        // Who is gone waits for nothing.
        let _ = self.interception.decide(Mark::of_key(key), errno);
    }

    fn dial(&self, to: SocketAddr, done: Dialed) {
        if self.door.is_own(to) {
            self.interception.dial(to, done);
        } else {
            done(connecting(to));
        }
    }

    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        addresses(name).inspect_err(|why| self.door.unresolved(name, why))
    }
}

/// A connection on its way, which does not block.
fn connecting(to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno.into()),
    }
}
