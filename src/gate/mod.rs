//! The network by rule: every connection of every command of a server is decided here, made from here, and passed on.
//!
//! It has threads of its own, which begin before this process enters its Landlock domain, where nothing could connect. A command
//! is in a network that leads nowhere; its supervisor hands each connection over (`sandbox/intercept`), and where the supervisor
//! or this process ends, none is made any more.

mod blocked_list;
mod door;
mod filling;
mod trust;
mod ways;

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

pub use self::door::RuledDoor;
pub use self::trust::{JAVA_OPTIONS, Trust, TrustPlace};
use self::ways::watched;
pub use self::ways::{Out, Ways};
use crate::budget::Account;
use crate::egress::{Credentials, Rules};
use crate::exec::{Blocked, Gatekeeper, Guarded, Listening, Trusting};
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
    credentials: Arc<Credentials>,
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
        credentials: Credentials,
        has_loopback: bool,
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
        let opens = rules.are_about_requests() || !credentials.is_empty();
        let trust = opens.then(|| Trust::show(place, &authority, system)).transpose()?;
        let (rules, credentials) = (Arc::new(rules), Arc::new(credentials));
        let shared = Shared { rules, credentials, has_loopback, authority, verifier, trust, account };
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime), shared: Arc::new(shared) })
    }

    /// Its threads, the only ones of this process that reach the network.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What decides about the connections of one command.
    pub fn door(&self) -> Arc<RuledDoor> {
        let Shared { rules, credentials, has_loopback, .. } = &*self.shared;
        Arc::new(RuledDoor::new(Arc::clone(rules), Arc::clone(credentials), *has_loopback))
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

    fn guard(&self, listening: Listening) -> Arc<dyn Guarded> {
        let (over, is_over) = oneshot::channel();
        let door = self.door();
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
        watched(listening.as_fd())?.readable().await?;
        let Some(interception) = listening.begin().map_err(io::Error::other)? else { return Ok(None) };
        let (ways, sockets) = Ways::new(interception, Out::ByRule(door))?;
        let (authority, verifier) = (Arc::clone(&self.authority), Arc::clone(&self.verifier));
        let (wires, account) = (Arc::clone(&ways), self.account.clone());
        let proxy = Proxy::start(Some(handle), sockets, wires, Mode::Pass, authority, verifier, account)?;
        ways.listen(handle)?;
        Ok(Some(proxy))
    }
}
