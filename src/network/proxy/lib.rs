//! Network gate: decides, opens and forwards every connection of a server's commands.
//!
//! The gate's threads start before this process enters its Landlock domain, in which no thread may
//! connect. A command runs in a network namespace without routes. Its supervisor hands over each
//! connection (`sandbox/intercept`). If the supervisor or this process ends, no more connections
//! are made.
#![forbid(unsafe_code)]

mod access;
mod blocked_list;
mod filling;
mod learned;
mod net_log;
mod player;
mod publish;
mod ssh_agent;
mod trust;
mod watching;
mod ways;

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use replay_base::budget::Account;
use replay_base::limits::{MAX_RESOLVE_THREADS, PROXY_END_MS};
use replay_sandbox::exec::{Denied, Gatekeeper, Guarded, Listening, Trusting};
use tokio::net::lookup_host;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use self::watching::{Origin, Watch};
use self::ways::watched;
use replay_network::http_client::Verifier;
use replay_network::rules::{Credentials, Destination, Host, Rules, Transport};
use replay_network::upstream_proxy::{ProxyServer, UpstreamProxy};
use replay_record::net::ca::{Authority, certificates};
use replay_record::proxy::{Mode, Proxy};

pub use self::access::RuledAccess;
pub use self::learned::Learned;
pub use self::net_log::NetLog;
pub use self::player::Script;
pub use self::publish::{PublishError, PublishRule, PublishRules, PublishedPort, Publisher};
pub use self::ssh_agent::{GIT_SIGNS, SshAgent};
pub use self::trust::{JAVA_OPTIONS, Trust, TrustPlace};
pub use self::watching::Watcher;
pub use self::ways::{Out, Ways};

/// Decides by rules for all commands of a server.
pub struct Gate {
    runtime: Option<Runtime>,
    handle: Handle,
    shared: Arc<Shared>,
}

struct Shared {
    rules: Arc<Rules>,
    credentials: Arc<Credentials>,
    watchers: Arc<[Arc<dyn Watcher>]>,
    script: Option<Script>,
    /// `true` if commands have a loopback device of their own.
    has_loopback: bool,
    authority: Arc<Authority>,
    verifier: Arc<Verifier>,
    /// Files that make programs trust the authority, if some connections are intercepted.
    trust: Option<Trust>,
    account: Account,
    upstream_proxy: Option<Arc<UpstreamProxy>>,
}

/// Guard of one command, which ends when this is dropped.
#[derive(Debug)]
struct Guard {
    guarded: Arc<dyn Guarded>,
    over: Mutex<Option<oneshot::Sender<()>>>,
    settled: Mutex<mpsc::Receiver<()>>,
}

/// Settings of the gate.
pub struct Terms {
    pub rules: Rules,
    /// Credentials that commands use through stand-ins.
    pub credentials: Credentials,
    /// Watchers of all decisions.
    pub watchers: Vec<Arc<dyn Watcher>>,
    /// Script that answers instead of the network, independent of the rules.
    pub script: Option<Script>,
    /// `true` if commands have a loopback device of their own.
    pub has_loopback: bool,
    /// Operator's proxy for what the rules allow.
    pub upstream_proxy: Option<Arc<UpstreamProxy>>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gate")
            .field("rules", &self.shared.rules)
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// Starts the gate's threads, which inherit the restrictions of the calling thread. Real
    /// servers are verified with the authorities of `system`, as PEM.
    pub fn start(
        terms: Terms,
        place: TrustPlace<'_>,
        system: &[u8],
        account: Account,
    ) -> io::Result<Self> {
        let Terms {
            rules,
            credentials,
            watchers,
            script,
            has_loopback,
            upstream_proxy,
        } = terms;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(MAX_RESOLVE_THREADS)
            .thread_name("gate")
            .enable_io()
            .enable_time()
            .build()?;
        let authority = Arc::new(Authority::new().map_err(io::Error::other)?);
        let verifier = Arc::new(Verifier::new(authority.provider(), certificates(system)));
        let opens = rules.are_about_requests() || !credentials.is_empty() || script.is_some();
        let trust = opens
            .then(|| Trust::show(place, &authority, system))
            .transpose()?;
        let shared = Shared {
            rules: Arc::new(rules),
            credentials: Arc::new(credentials),
            watchers: watchers.into(),
            script,
            has_loopback,
            authority,
            verifier,
            trust,
            account,
            upstream_proxy,
        };
        for server in shared
            .upstream_proxy
            .iter()
            .flat_map(|proxy| proxy.servers())
        {
            runtime.spawn(lookup(Arc::clone(server)));
        }
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            shared: Arc::new(shared),
        })
    }

    /// Returns the flags that define the network access of commands.
    pub fn flags(&self) -> Vec<String> {
        if let Some(script) = &self.shared.script {
            return vec![format!("--network replay:{}", script.name)];
        }
        let (allow, deny) = self.shared.rules.texts();
        let flag = |flag: &'static str| move |rule: &String| format!("{flag} {rule}");
        allow
            .iter()
            .map(flag("--allow-host"))
            .chain(deny.iter().map(flag("--deny-host")))
            .collect()
    }

    /// Returns true if rules lead 127.0.0.1 with this port to the machine, instead of to the loopback of
    /// commands.
    pub fn leads_to_machine(&self, port: u16) -> bool {
        self.shared.rules.allows(&Destination {
            transport: Transport::Tcp,
            host: Host::Address(Ipv4Addr::LOCALHOST.into()),
            port,
        })
    }

    /// Returns the operator's proxy for what the rules allow, if there is one.
    pub fn upstream_proxy(&self) -> Option<&UpstreamProxy> {
        let proxy = self.shared.upstream_proxy.as_deref();
        proxy.filter(|_| self.shared.script.is_none())
    }

    /// Returns the runtime of the gate's threads, the only ones of this process that reach the
    /// network.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns the access decisions for one command that this thread starts. `title` is the tool
    /// and its command.
    pub fn access(&self, title: &str) -> Arc<RuledAccess> {
        let Shared {
            rules,
            credentials,
            watchers,
            has_loopback,
            upstream_proxy,
            ..
        } = &*self.shared;
        let watch = Watch {
            origin: Origin::of(title),
            watchers: Arc::clone(watchers),
        };
        Arc::new(RuledAccess::new(
            Arc::clone(rules),
            Arc::clone(credentials),
            *has_loopback,
            watch,
            upstream_proxy.clone(),
        ))
    }
}

/// Looks up the addresses of a proxy, so that a rule about one of them cannot name the proxy.
async fn lookup(server: Arc<ProxyServer>) {
    if server.addresses().is_none()
        && let Ok(found) = lookup_host((server.host.as_str(), server.port)).await
    {
        server.set_addresses(found.map(|address| address.ip()).collect());
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
        let Some(trust) = &self.shared.trust else {
            return Ok(None);
        };
        Ok(Some(Trusting {
            environment: trust.environment()?,
            bundle: trust.bundle(),
        }))
    }

    fn guard(&self, listening: Listening, title: &str) -> Arc<dyn Guarded> {
        let (over, is_over) = oneshot::channel();
        let (tell, settled) = mpsc::channel();
        let (guarded, way) = self.way(title);
        let (shared, handle) = (Arc::clone(&self.shared), self.handle.clone());
        self.handle.spawn(async move {
            let begun = match way {
                Ok((out, mode)) => shared.begin(&handle, listening, out, mode).await,
                Err(error) => Err(error),
            };
            match begun {
                Ok(served) => {
                    // Until then it serves.
                    if let (Ok(()), Some((ways, proxy))) = (is_over.await, &served) {
                        // The last queries may be unread.
                        ways.counts();
                        proxy.settle().await;
                    }
                    let _ = tell.send(());
                    drop(served);
                }
                Err(error) => tracing::warn!("connections of commands fail: {error}"),
            }
        });
        Arc::new(Guard {
            guarded,
            over: Mutex::new(Some(over)),
            settled: Mutex::new(settled),
        })
    }
}

impl Gate {
    /// Returns the guard of one command, and the way out of its connections.
    fn way(&self, title: &str) -> (Arc<dyn Guarded>, io::Result<(Out, Mode)>) {
        let access = self.access(title);
        let Some(script) = &self.shared.script else {
            return (
                Arc::clone(&access) as _,
                Ok((Out::ByRule(access), Mode::Pass)),
            );
        };
        match script.play(&self.shared.account) {
            Ok(player) => {
                let mode = player.mode();
                (Arc::new(player), Ok((Out::Nothing, mode)))
            }
            Err(error) => (access, Err(error)),
        }
    }
}

impl Guarded for Guard {
    fn settle(&self) {
        let Some(over) = self
            .over
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        else {
            return;
        };
        let settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = over.send(());
        let _ = settled.recv_timeout(Duration::from_millis(2 * PROXY_END_MS));
    }

    fn blocked(&self) -> Vec<Denied> {
        self.guarded.blocked()
    }
}

impl Shared {
    /// Waits for the supervisor's first message; `None` if it is gone, and the command with it.
    async fn begin(
        &self,
        handle: &Handle,
        listening: Listening,
        out: Out,
        mode: Mode,
    ) -> io::Result<Option<(Arc<Ways>, Proxy)>> {
        let _ = watched(listening.as_fd())?.readable().await?;
        let Some(interception) = listening.begin().map_err(io::Error::other)? else {
            return Ok(None);
        };
        let (ways, sockets) = Ways::new(interception, out)?;
        let (authority, verifier) = (Arc::clone(&self.authority), Arc::clone(&self.verifier));
        let (wires, account) = (Arc::clone(&ways), self.account.clone());
        let proxy = Proxy::start(
            Some(handle),
            sockets,
            wires,
            mode,
            authority,
            verifier,
            account,
        )?;
        ways.listen(handle)?;
        Ok(Some((ways, proxy)))
    }
}
