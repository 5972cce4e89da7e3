//! A server over HTTP: one tool server for each token, all in the same Landlock domain.

mod notify;
mod provisioning;
mod registry;
mod reload;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use notify::Notifier;
use provisioning::{Provisioning, ScratchParent};
use registry::{ANYONE, offer, tenant_of};
use reload::{Reload, Reloader};
use replay_base::budget::Budget;
use replay_base::limits::{
    CONNECTION_FILES_SHARE, HTTP_CLIENT_TIMEOUT_SECS, HTTP_SESSION_IDLE_SECS, MAX_HTTP_CALLS,
    MAX_HTTP_CONNECTIONS, MAX_HTTP_SESSIONS,
};
use replay_files::policy::{Pins, Policy, Root};
use replay_mcp::sessions::{Ledger, Observer, Recent, Service, Session, Traced, Way};
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::http::{
    NoLeavings, Offer, Roster, Settings, Tenant, TenantLimits, Usage, serve,
};
use replay_mcp::transport::{Limits, StdioServer, Writer};
use replay_sandbox::Tier;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, getrlimit};
use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::Value;

use crate::audit::AuditLog;
use crate::cli::ServerArgs;
use crate::compose::{look_around, server_beside, undo_places, wall_in};
use crate::config::{Config, HttpConfig};
use crate::secrets::{Reach, Secrets};
use crate::server::Server;

/// Share of the connections that one token may have unless its line says otherwise, in percent. The
/// rest is for other tokens and for clients without a token yet.
const HTTP_CONNECTIONS_SHARE_PERCENT: usize = 75;
/// Connections that may wait to be accepted (listen(2); the system allows no more than
/// `net.core.somaxconn`).
const HTTP_BACKLOG: i32 = 4096;
/// Open files that connections leave to calls, or half of those that the system allows if that is
/// less.
const RESERVED_OPEN_FILES: u64 = 1024;

/// Name of the stdin client, for observers.
const STDIO: &str = "stdio";

/// Servers, ready to run once the sandbox is in place.
pub struct Servers {
    listener: TcpListener,
    settings: Settings,
    roster: Arc<Roster>,
    recent: Arc<Recent>,
    ledger: Arc<Ledger>,
    /// Each server once, with the name of its tenant. The first serves stdin and stdout, if those
    /// are served.
    cores: Vec<(String, Arc<Server>)>,
    /// Directories for the domain of the process, for later tokens; `true` if writable.
    more: Vec<(OwnedFd, bool)>,
    reloader: Option<Reloader>,
    limits: Limits,
    manager: Notifier,
}

/// Binds the address and starts a server for each token: everything that the sandbox of this
/// process would prevent later. Calls are reported to the audit log, then to observers over HTTP.
/// `tracer` makes spans of requests. Files with secrets on the command line are added to the hidden
/// paths.
pub fn prepare(
    cli: &ServerArgs,
    config: &mut Config,
    log: Option<&Arc<AuditLog>>,
    tracer: Option<Arc<Tracer>>,
) -> Result<Servers> {
    let address = cli
        .http
        .http
        .context("--http needs an address, such as 127.0.0.1:8000")?;
    let HttpConfig {
        mut settings,
        tokens,
        tenant: mut limits,
        manager,
        ..
    } = HttpConfig::resolve(address, &cli.http, &cli.options)?;
    let mut secrets = Secrets::open(&cli.http)?;
    config.hidden.extend(secrets.hidden());
    let own = |entry| Config::for_token(&cli.options, entry);
    let configs = tokens.iter().map(own).collect::<Result<Vec<_>>>()?;
    configs
        .iter()
        .chain([&*config])
        .for_each(|of| secrets.add_credentials(&of.sandbox.secret_files));
    let of_tokens = configs
        .iter()
        .flat_map(|own| own.undo.allowed.iter().cloned());
    config
        .undo
        .allowed
        .extend(of_tokens.collect::<Vec<PathBuf>>());
    let config = &*config;
    let listener = listen(address)?;
    settings.max_connections = connections(settings.max_connections);
    limits.max_connections = share(settings.max_connections);
    let recent = Recent::new(random_number()?);
    let observers = log.cloned().into_iter().map(|log| log as Arc<dyn Observer>);
    let ledger = Ledger::new(
        observers
            .chain([Arc::clone(&recent) as Arc<dyn Observer>])
            .collect(),
    );
    let mut tenants = Vec::new();
    let mut cores = Vec::new();
    // Later tenants have a share of their own.
    let search_memory_bytes = config.search_memory_bytes
        / (tokens.len() + usize::from(cli.http.token_file.is_some())).max(1);
    let mut pins = Pins::default();
    pins.expect(config.grants.iter());
    let budget = Budget::new(config.memory_bytes);
    if tokens.is_empty() {
        let server = server_beside(config, budget.account(), &mut pins)?;
        let offer = offer(&server, &ledger, tracer.as_ref(), None);
        tenants.push(Tenant::new(ANYONE.to_owned(), None, true, offer, limits));
        cores.push((ANYONE.to_owned(), server));
        tracing::warn!(
            "any program on this machine can call the tools; give --token-file to serve only \
             holders of a token"
        );
    } else {
        pins.expect(configs.iter().flat_map(|own| &own.grants));
        for (entry, mut own) in tokens.iter().zip(configs) {
            own.hidden.clone_from(&config.hidden);
            own.undo.allowed.clone_from(&config.undo.allowed);
            // The operator has set the limit of the total.
            own.search_memory_bytes = search_memory_bytes;
            let server = server_beside(&own, budget.account(), &mut pins)
                .with_context(|| format!("the token `{}`", entry.name))?;
            tenants.push(tenant_of(entry, &server, &ledger, tracer.as_ref(), limits));
            cores.push((entry.name.clone(), server));
        }
        if cli.http.stdio {
            cores.insert(
                0,
                (
                    STDIO.to_owned(),
                    server_beside(config, budget.account(), &mut pins)?,
                ),
            );
        }
    }
    let manager = Notifier::connect(manager.as_deref()).unwrap_or_else(|error| {
        tracing::warn!("the service manager does not listen at NOTIFY_SOCKET: {error}");
        Notifier::nobody()
    });
    settings.tracer.clone_from(&tracer);
    let system = config.sandbox.system.iter().map(|seen| seen.path.clone());
    let reach = Reach::of(cores.iter().map(|(_, server)| server.services()), system);
    cores
        .iter()
        .try_for_each(|(_, server)| reach.keeps_cache_apart(server.services()))?;
    secrets.kept_from(&reach)?;
    let roster = Roster::new(tenants);
    let mut provisioning = Provisioning {
        options: cli.options.clone(),
        hidden: config.hidden.clone(),
        limits,
        ledger: Arc::clone(&ledger),
        tracer,
        log: log.cloned(),
        domain: Vec::new(),
        pins: Pins::default(),
        ground: None,
        undo_places: Vec::new(),
        search_memory_bytes,
        budget,
    };
    let (mut more, mut yard) = (Vec::new(), None);
    if cli.http.token_file.is_some() {
        let offered = Policy::open_pinned(&config.grants, &config.restrictions(), &mut pins)?;
        let roots = cores
            .iter()
            .flat_map(|(_, server)| server.services().policy.roots())
            .chain(offered.roots());
        let roots: Vec<&Root> = roots.collect();
        provisioning.domain = roots
            .iter()
            .filter_map(|root| Some((provisioning::id(root)?, root.writable())))
            .collect();
        let paths: Vec<&Path> = roots.iter().map(|root| root.path()).collect();
        // Without one, the commands of new tenants are refused, as those of all tenants are then.
        yard = ScratchParent::make(config, &paths).ok();
        provisioning.ground = yard.as_ref().map(|yard| yard.scratch().path().to_owned());
        for root in offered.roots() {
            more.push((
                root.as_fd()
                    .try_clone_to_owned()
                    .context("an allowed directory")?,
                root.writable(),
            ));
        }
        provisioning.undo_places = undo_places(config, &offered)?;
        for place in &provisioning.undo_places {
            more.push((open_place(place)?, true));
        }
        if let Some(yard) = &yard {
            more.push((
                yard.scratch()
                    .as_fd()
                    .try_clone_to_owned()
                    .context("the private directory")?,
                true,
            ));
        }
    }
    provisioning.pins = pins;
    let tls = settings.tls.clone();
    let reloader = if cli.http.token_file.is_some() || tls.is_some() {
        let (args, served, roster) = (cli.http.clone(), tokens, Arc::clone(&roster));
        Some(Reloader::start(Reload {
            args,
            secrets,
            reach,
            served,
            roster,
            provisioning,
            yard,
            tls,
        })?)
    } else {
        None
    };
    settings.again = reloader.as_ref().map(Reloader::sender);
    let limits = config.client_limits;
    Ok(Servers {
        listener,
        settings,
        roster,
        recent,
        ledger,
        cores,
        more,
        reloader,
        limits,
        manager,
    })
}

/// Binds a listener with a long backlog. The system drops connections beyond it, and their clients
/// retry a second later.
fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listen = || {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, HTTP_BACKLOG)?;
        Ok(listener)
    };
    listen().map_err(|error: io::Error| {
        let next =
            "give another port (0 takes any that is free), or an address that this machine has";
        anyhow!("--http {address} cannot be listened at: {error}; {next}")
    })
}

/// Reduces the requested number of connections to the limit of open files, which calls and commands
/// need as well.
fn connections(asked: usize) -> usize {
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return asked;
    };
    let most =
        (files - files / CONNECTION_FILES_SHARE - RESERVED_OPEN_FILES.min(files / 2)) as usize;
    if most < asked {
        tracing::warn!(
            "at most {most} connections instead of {asked}: the limit of open files is {files}"
        );
    }
    asked.min(most)
}

/// Maximum number of connections of one tenant.
fn share(all: usize) -> usize {
    (all * HTTP_CONNECTIONS_SHARE_PERCENT / 100).max(1)
}

/// Serves a mock until a signal arrives. Fails for an address that other machines reach: a mock has
/// no tokens.
pub fn serve_mock(
    service: &Arc<dyn Service>,
    address: SocketAddr,
    limits: Limits,
    signals: OwnedFd,
) -> Result<()> {
    if !address.ip().is_loopback() {
        bail!(
            "--http {address}: other machines can connect, and a mock has no tokens; listen at \
             127.0.0.1"
        );
    }
    let listener = listen(address)?;
    let held = TenantLimits {
        per_minute: 0,
        burst: 1,
        max_calls: MAX_HTTP_CALLS as usize,
        max_sessions: MAX_HTTP_SESSIONS as usize,
        session_idle: Duration::from_secs(HTTP_SESSION_IDLE_SECS),
        max_connections: share(connections(MAX_HTTP_CONNECTIONS as usize)),
    };
    let recent = Recent::new(random_number()?);
    let ledger = Ledger::new(vec![Arc::clone(&recent) as Arc<dyn Observer>]);
    let offer = Offer {
        service: ledger.over(Arc::clone(service), ANYONE),
        tools: Vec::new(),
        usage: Box::new(Usage::default),
        place: Box::new(|| Value::Null),
        leavings: Box::new(NoLeavings),
    };
    let tenant = Tenant::new(ANYONE.to_owned(), None, true, offer, held);
    let settings = Settings {
        limits,
        hosts: Vec::new(),
        origins: Vec::new(),
        max_connections: connections(MAX_HTTP_CONNECTIONS as usize),
        client_timeout: Duration::from_secs(HTTP_CLIENT_TIMEOUT_SECS),
        tls: None,
        again: None,
        tracer: None,
    };
    tracing::info!(
        "serving at http://{}/mcp",
        listener.local_addr().context("the address")?
    );
    let served = serve(
        listener,
        settings,
        ledger,
        Roster::new(vec![tenant]),
        recent,
        signals,
        &|| (),
    );
    service.ended();
    served.with_context(|| format!("{address} cannot be served"))
}

impl Servers {
    /// The address that the server listens at.
    pub fn address(&self) -> Result<String> {
        Ok(self
            .listener
            .local_addr()
            .context("the address")?
            .to_string())
    }

    /// Each server, with the name of its tenant.
    pub fn servers_by_name(&self) -> Vec<(&str, &Server)> {
        self.cores
            .iter()
            .map(|(name, server)| (name.as_str(), &**server))
            .collect()
    }

    /// Confines this process to what all servers together may reach. Returns the version of
    /// Landlock.
    pub fn wall_in(&self) -> Option<u32> {
        let services: Vec<_> = self
            .cores
            .iter()
            .map(|(_, server)| server.services())
            .collect();
        let more: Vec<_> = self
            .more
            .iter()
            .map(|(directory, writable)| (directory.as_fd(), *writable))
            .collect();
        wall_in(&services, &more)
    }

    /// Serves until a signal arrives, and stdin and stdout as well if given. Their end stops
    /// nothing else.
    pub fn serve(self, stdio: Option<(File, File)>, signals: OwnedFd) -> Result<()> {
        let address = self.listener.local_addr().context("the address")?;
        let is_encrypted = self.settings.tls.is_some();
        if !is_encrypted && !address.ip().is_loopback() {
            tracing::warn!("tokens and files cross the network unencrypted (no --tls-cert)");
        }
        let of_landlock = |(_, server): &&(String, Arc<Server>)| {
            let commands = &server.services().commands;
            commands.launcher.is_some() && commands.standing.tier == Some(Tier::Landlock)
        };
        let count = self.cores.iter().filter(of_landlock).count();
        if count > 1 {
            tracing::warn!(
                "commands of {count} tokens run without namespaces: they can see the arguments of each other's programs in \
                 /proc, and names of each other's files (docs/http.md)"
            );
        }
        let scheme = if is_encrypted { "https" } else { "http" };
        tracing::info!("serving at {scheme}://{address}/mcp; watch it at {scheme}://{address}/");
        // The stdio server waits for the end of this pipe: the signal itself is consumed by its first
        // reader.
        let (ended, end) = pipe_with(PipeFlags::CLOEXEC).context("a pipe")?;
        let stdio_server = match stdio {
            Some((input, output)) => {
                let service = self.ledger.over(self.cores[0].1.clone(), STDIO);
                let session = Session::new(Traced::over(
                    service,
                    self.settings.tracer.as_ref(),
                    Way::Stdio,
                ));
                let stdio_server =
                    StdioServer::new(session, input, Writer::to_descriptor(output)?, self.limits)?;
                let run = move || stdio_server.run(Some(ended.as_fd())).map(drop);
                Some(
                    thread::Builder::new()
                        .name("stdio".to_owned())
                        .spawn(run)
                        .context("no thread can be started")?,
                )
            }
            None => None,
        };
        self.cores
            .iter()
            .for_each(|(_, server)| look_around(server.services()));
        self.manager.ready();
        let ending = || self.manager.stopping();
        let roster = Arc::clone(&self.roster);
        let served = serve(
            self.listener,
            self.settings,
            self.ledger,
            roster,
            self.recent,
            signals,
            &ending,
        );
        drop(end);
        let ended: usize = self
            .cores
            .iter()
            .map(|(_, server)| server.services().commands.end_all())
            .sum();
        let ended = ended
            + self
                .roster
                .all()
                .iter()
                .map(|tenant| tenant.remove_leavings())
                .sum::<usize>();
        if let Some(reloader) = self.reloader {
            reloader.end();
        }
        tracing::debug!(ended, "stopped by a signal");
        if let Some(stdio_server) = stdio_server
            && let Ok(Err(error)) = stdio_server.join()
        {
            tracing::warn!("stdin cannot be served: {error}");
        }
        served.with_context(|| format!("{address} cannot be served"))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a directory of the operator's, for the domain of this process"
)]
fn open_place(path: &Path) -> Result<OwnedFd> {
    let place = std::fs::File::open(path).with_context(|| format!("`{}`", path.display()))?;
    Ok(place.into())
}

fn random_number() -> Result<u32> {
    let mut random = [0; 4];
    getrandom(&mut random, GetRandomFlags::empty()).context("the system has no random numbers")?;
    Ok(u32::from_ne_bytes(random))
}
