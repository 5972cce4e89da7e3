//! The network by rule: every connection of every command of a server is decided here, made from here, and passed on.
//!
//! It has threads of its own, which begin before this process enters its Landlock domain, where nothing could connect. A command
//! is in a network that leads nowhere; its supervisor hands each connection over (`sandbox/intercept`), and where the supervisor
//! or this process ends, none is made any more.

mod blocked_list;
mod filling;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use self::blocked_list::BlockedList;
use self::filling::Filling;
use crate::budget::Account;
use crate::egress::{Credentials, Destination, Host, Rules, canonical};
use crate::exec::{Blocked, Flow, Gatekeeper, Guarded, Interception, Listening, Mark, ProgramName, readable};
use crate::limits::MAX_RESOLVE_THREADS;
use crate::outbound::Verifier;
use crate::record::Target;
use crate::record::net::ca::Authority;
use crate::record::proxy::{Attempt, Dialed, Door, Inspector, Misfit, Mode, Proxy, RealPassword, Sockets, Wires};
use crate::sandbox::addresses;

/// Decides by rules for all commands of a server.
pub struct Gate {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
}

struct Shared {
    rules: Rules,
    credentials: Arc<Credentials>,
    /// Whether commands have a loopback device that is theirs.
    has_loopback: bool,
    authority: Arc<Authority>,
    verifier: Arc<Verifier>,
    account: Account,
}

/// One command: it is over when this is dropped.
struct Guard {
    blocked: Arc<BlockedList>,
    _over: oneshot::Sender<()>,
}

/// The ways of one command.
struct Ways {
    interception: Interception,
    shared: Arc<Shared>,
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
    pub fn start(rules: Rules, credentials: Credentials, has_loopback: bool, account: Account) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(MAX_RESOLVE_THREADS)
            .thread_name("gate")
            .enable_io()
            .enable_time()
            .build()?;
        let authority = Arc::new(Authority::new().map_err(io::Error::other)?);
        let verifier = Arc::new(Verifier::new(authority.provider(), Vec::new()));
        let shared =
            Arc::new(Shared { rules, credentials: Arc::new(credentials), has_loopback, authority, verifier, account });
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
    fn guard(&self, listening: Listening) -> Arc<dyn Guarded> {
        let (over, is_over) = oneshot::channel();
        let blocked = Arc::new(BlockedList::default());
        if let Some(runtime) = &self.runtime {
            let (shared, told) = (Arc::clone(&self.shared), Arc::clone(&blocked));
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
        Arc::new(Guard { blocked, _over: over })
    }
}

/// Waits for the supervisor's first word; `None` if it is gone, and with it the command.
async fn begin(
    shared: &Arc<Shared>,
    runtime: &Handle,
    listening: Listening,
    blocked: Arc<BlockedList>,
) -> io::Result<Option<Proxy>> {
    let first_word = move || readable([Some(listening.as_fd())], None).and_then(|_| listening.begin());
    let begun = tokio::task::spawn_blocking(first_word).await.map_err(io::Error::other)?.map_err(io::Error::other)?;
    begun.map(|interception| shared.serve(runtime, interception, blocked)).transpose()
}

impl Guarded for Guard {
    fn blocked(&self) -> Vec<Blocked> {
        self.blocked.take()
    }
}

impl Shared {
    fn serve(
        self: &Arc<Self>,
        runtime: &Handle,
        mut interception: Interception,
        blocked: Arc<BlockedList>,
    ) -> io::Result<Proxy> {
        let taken = interception.sockets().ok_or(io::ErrorKind::NotConnected)?;
        let tcp = [Some(taken.tcp_4), taken.tcp_6].into_iter().flatten().map(Into::into).collect();
        let udp = [Some(taken.udp_4), taken.udp_6].into_iter().flatten().map(Into::into).collect();
        let ways = Arc::new(Ways { interception, shared: Arc::clone(self) });
        let door = Arc::new(Ruled { shared: Arc::clone(self), blocked });
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

    /// Whether this is the commands' own loopback: no rule gives them the machine's.
    fn is_own(&self, to: SocketAddr) -> bool {
        let destination = Destination { host: Host::Address(to.ip()), port: to.port() };
        self.has_loopback && to.ip().to_canonical().is_loopback() && !self.rules.allows(&destination)
    }
}

/// What one command may reach.
struct Ruled {
    shared: Arc<Shared>,
    blocked: Arc<BlockedList>,
}

/// `None` if nothing can be reached there.
fn destination(target: &Target) -> Option<Destination> {
    let host = match target.host.parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(canonical(&target.host)?),
    };
    Some(Destination { host, port: target.port })
}

impl Ruled {
    /// A connection is not made for want of a rule about this, or because of one.
    fn block(&self, target: &Target, why: Option<String>, by: ProgramName, missing: &Destination) {
        let (why, rule) = if self.shared.rules.denies(missing) {
            let said = "--deny-net names it";
            (Some(why.map_or(said.to_owned(), |why| format!("{why}, {said}"))), None)
        } else {
            (why, Some(missing.rule().to_string()))
        };
        self.blocked.add(target, why, by, rule);
    }
}

impl Door for Ruled {
    fn admits(&self, target: &Target, by: ProgramName) -> bool {
        let Some(to) = destination(target) else {
            self.blocked.add(target, None, by, None);
            return false;
        };
        let is_own = matches!(to.host, Host::Address(address) if self.shared.is_own((address, to.port).into()));
        let admits = is_own || self.shared.rules.allows(&to);
        if !admits {
            self.block(target, None, by, &to);
        }
        admits
    }

    fn may_ask(&self, name: &str) -> bool {
        self.shared.rules.knows(name)
    }

    fn leads_to(&self, target: &Target, address: IpAddr, by: ProgramName) -> bool {
        // Of an address the rules have said it.
        let good = target.host.parse::<IpAddr>().is_ok() || self.shared.rules.allows_resolved(address, target.port);
        if !good {
            let why = format!("it leads to {}", address.to_canonical());
            self.block(target, Some(why), by, &Destination { host: Host::Address(address), port: target.port });
        }
        good
    }

    fn opens(&self, target: &Target, by: ProgramName) -> Option<Arc<dyn Inspector>> {
        let (to, credentials) = (destination(target)?, &self.shared.credentials);
        if !credentials.are_for(&to) {
            return None;
        }
        let (blocked, target) = (Arc::clone(&self.blocked), target.clone());
        let told = Box::new(move |why: &str| blocked.add(&target, Some(why.to_owned()), by, None));
        Some(Arc::new(Filling::new(Arc::clone(credentials), to, None, told)))
    }

    fn password(&self, target: &Target) -> Option<Box<RealPassword>> {
        let (to, credentials) = (destination(target)?, Arc::clone(&self.shared.credentials));
        credentials
            .log_in(&to)
            .then(|| Box::new(move |given: &[u8]| credentials.password(&to, given)) as Box<RealPassword>)
    }

    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) {
        let why = Some(misfit.to_string());
        let other = if let Misfit::Name(name) = misfit { canonical(&name) } else { None };
        match other {
            Some(name) => self.block(target, why, by, &Destination { host: Host::Name(name), port: target.port }),
            None => self.blocked.add(target, why, by, None),
        }
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
        if self.shared.is_own(to) {
            self.interception.dial(to, done);
        } else {
            done(connecting(to));
        }
    }

    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        addresses(name)
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
