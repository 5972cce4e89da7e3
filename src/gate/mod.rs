//! The network by rule: every connection of every command of a server is decided here, made from here, and passed on.
//!
//! It has threads of its own, which begin before this process enters its Landlock domain, where nothing could connect. A command
//! is in a network that leads nowhere; its supervisor hands each connection over (`sandbox/intercept`), and where the supervisor
//! or this process ends, none is made any more.

mod blocked_list;
mod door;
mod judge;
mod learned;
mod net_log;
mod trust;
mod watching;
mod ways;

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

pub use self::door::RuledDoor;
pub use self::learned::Learned;
pub use self::net_log::NetLog;
pub use self::trust::{JAVA_OPTIONS, Trust, TrustPlace};
pub use self::watching::Watcher;
use self::watching::{Origin, Watch};
pub use self::ways::{Out, Ways};
use crate::budget::Account;
use crate::egress::Rules;
use crate::exec::{Blocked, Gatekeeper, Guarded, Listening, Trusting, readable};
use crate::limits::MAX_RESOLVE_THREADS;
use crate::outbound::Verifier;
use crate::record::net::ca::{Authority, certificates};
use crate::record::proxy::{Mode, Proxy};

/// Decides by rules for all commands of a server.
pub struct Gate {
    runtime: Option<Runtime>,
    handle: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    rules: Arc<Rules>,
    watchers: Arc<[Arc<dyn Watcher>]>,
    /// Whether commands have a loopback device that is theirs.
    has_loopback: bool,
    authority: Arc<Authority>,
    verifier: Arc<Verifier>,
    /// What makes programs trust the authority, if some connections are opened.
    trust: Option<Trust>,
    account: Account,
}

/// One command: it is over when this is dropped.
#[derive(Debug)]
struct Guard {
    door: Arc<RuledDoor>,
    _over: oneshot::Sender<()>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gate").field("rules", &self.shared.rules).finish_non_exhaustive()
    }
}

impl Gate {
    /// Starts its threads, which have what the calling thread has. Real servers are verified with the authorities of `system`, as PEM.
    pub fn start(
        rules: Rules,
        has_loopback: bool,
        watchers: Vec<Arc<dyn Watcher>>,
        place: TrustPlace<'_>,
        system: &[u8],
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
        let verifier = Arc::new(Verifier::new(authority.provider(), certificates(system)));
        let opens = rules.are_about_requests();
        let trust = opens.then(|| Trust::show(place, &authority, system)).transpose()?;
        let shared = Shared {
            rules: Arc::new(rules),
            watchers: watchers.into(),
            has_loopback,
            authority,
            verifier,
            trust,
            account,
        };
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime), shared: Arc::new(shared) })
    }

    /// Its threads, the only ones of this process that reach the network.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What decides about the connections of one command, which this thread starts. `title` is the tool and its command.
    pub fn door(&self, title: &str) -> Arc<RuledDoor> {
        let watch = Watch { origin: Origin::of(title), watchers: Arc::clone(&self.shared.watchers) };
        Arc::new(RuledDoor::new(Arc::clone(&self.shared.rules), self.shared.has_loopback, watch))
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
    fn trusting(&self) -> io::Result<Option<Trusting<'_>>> {
        let Some(trust) = &self.shared.trust else { return Ok(None) };
        Ok(Some(Trusting { environment: trust.environment()?, bundle: trust.bundle() }))
    }

    fn guard(&self, listening: Listening, title: &str) -> Arc<dyn Guarded> {
        let (over, is_over) = oneshot::channel();
        let door = self.door(title);
        let (shared, handle, asked) = (Arc::clone(&self.shared), self.handle.clone(), Arc::clone(&door));
        self.handle.spawn(async move {
            match shared.begin(&handle, listening, asked).await {
                Ok(proxy) => {
                    // Until then it serves.
                    let _ = is_over.await;
                    drop(proxy);
                }
                Err(error) => tracing::warn!("connections of a command fail: {error}"),
            }
        });
        Arc::new(Guard { door, _over: over })
    }
}

impl Guarded for Guard {
    fn blocked(&self) -> Vec<Blocked> {
        self.door.blocked()
    }
}

impl Shared {
    /// Waits for the supervisor's first word; `None` if it is gone, and with it the command.
    async fn begin(&self, handle: &Handle, listening: Listening, door: Arc<RuledDoor>) -> io::Result<Option<Proxy>> {
        let first_word = move || readable([Some(listening.as_fd())], None).and_then(|_| listening.begin());
        let begun =
            tokio::task::spawn_blocking(first_word).await.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let Some(interception) = begun else { return Ok(None) };
        let (ways, sockets) = Ways::new(interception, Out::ByRule(door))?;
        let (authority, verifier) = (Arc::clone(&self.authority), Arc::clone(&self.verifier));
        Proxy::start(Some(handle), sockets, ways, Mode::Pass, authority, verifier, self.account.clone()).map(Some)
    }
}
