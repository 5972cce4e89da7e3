//! A server over HTTP: one tool server for each token, all in the same Landlock domain.

mod notify;
mod provisioning;
mod registry;
mod reload;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use notify::Notifier;
use provisioning::{LaterDirectories, Provisioning, ScratchParent};
use registry::{ANYONE, NamedServers, TenantFactory};
use reload::{Reload, Reloader};
use replay_base::budget::Budget;
use replay_base::limits::{
    CONNECTION_FILES_SHARE, HTTP_CLIENT_TIMEOUT_SECS, HTTP_SESSION_IDLE_SECS, MAX_HTTP_CALLS,
    MAX_HTTP_CONNECTIONS, MAX_HTTP_SESSIONS,
};
use replay_files::policy::Pins;
use replay_mcp::sessions::{Ledger, Observer, Recent, Service, Session, Traced, Way};
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::http::{
    NoBackgroundWork, Roster, Settings, Tenant, TenantBackend, TenantLimits, Usage, serve,
};
use replay_mcp::transport::{Limits, StdioServer, Writer};
use replay_sandbox::Tier;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, getrlimit};
use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::Value;

use crate::audit::AuditLog;
use crate::cli::ServerArgs;
use crate::compose::{look_around, wall_in};
use crate::config::{Config, HttpConfig, RunningServer, TenantConfigs, TokenEntry};
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
pub(crate) struct Servers {
    listener: TcpListener,
    settings: Settings,
    roster: Arc<Roster>,
    recent: Arc<Recent>,
    ledger: Arc<Ledger>,
    /// Each server once, with the name of its tenant. The first serves stdin and stdout, if those
    /// are served.
    cores: NamedServers,
    /// Directories for the domain of the process, for later tokens; `true` if writable.
    more: Vec<(OwnedFd, bool)>,
    reloader: Option<Reloader>,
    config: Config,
    manager: Notifier,
}

/// Binds the address and starts a server for each token: everything that the sandbox of this
/// process would prevent later. Calls are reported to the audit log, then to observers over HTTP.
/// `tracer` makes spans of requests. Files of the log, and files with secrets on the command line,
/// are hidden.
pub(crate) fn prepare(
    cli: &ServerArgs,
    config: Config,
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
    } = HttpConfig::resolve(address, &cli.http, &cli.options)?;
    let mut secrets = Secrets::open(&cli.http)?;
    let files_of_log = log.into_iter().flat_map(|log| log.hidden().iter().cloned());
    let hidden = files_of_log.chain(secrets.hidden());
    let TenantConfigs {
        server: config,
        tenants,
        search_bytes,
    } = config.with_tenants(cli, &tokens, hidden)?;
    for config in tenants.iter().chain([&config]) {
        secrets.add_credentials(&config.sandbox.secret_files);
    }

    let listener = listen(address)?;
    settings.max_connections = connections(settings.max_connections);
    limits.max_connections = share(settings.max_connections);
    let recent = Recent::new(random_number()?);
    let observers = log.cloned().into_iter().map(|log| log as Arc<dyn Observer>);
    let observers = observers.chain([Arc::clone(&recent) as Arc<dyn Observer>]);
    let ledger = Ledger::new(observers.collect());

    let mut factory = TenantFactory {
        limits,
        ledger: Arc::clone(&ledger),
        tracer: tracer.clone(),
        budget: Budget::new(config.memory.call_bytes),
        pins: Pins::default(),
    };
    let (roster, cores) = start_tenants(&mut factory, cli, &config, &tokens, &tenants)?;
    let manager = Notifier::connect(manager.as_deref()).unwrap_or_else(|error| {
        tracing::warn!("the service manager does not listen at NOTIFY_SOCKET: {error}");
        Notifier::nobody()
    });
    settings.tracer = tracer;
    let reach = check_reach(&config, &cores, &secrets)?;

    let later = if cli.http.token_file.is_some() {
        LaterDirectories::open(&config, &cores, &mut factory.pins)?
    } else {
        LaterDirectories::default()
    };
    let tls = settings.tls.clone();
    let reloader = if cli.http.token_file.is_some() || tls.is_some() {
        let running = RunningServer {
            options: cli.options.clone(),
            hidden: config.hidden.clone(),
            scratch_parent: later.scratch_parent.as_ref().map(ScratchParent::path),
            undo_places: later.undo_places,
            search_bytes,
        };
        Some(Reloader::start(Reload {
            args: cli.http.clone(),
            secrets,
            reach,
            served: tokens,
            roster: Arc::clone(&roster),
            provisioning: Provisioning {
                running,
                factory,
                log: log.cloned(),
                domain: later.domain,
            },
            scratch_parent: later.scratch_parent,
            tls,
        })?)
    } else {
        None
    };
    settings.again = reloader.as_ref().map(Reloader::sender);
    Ok(Servers {
        listener,
        settings,
        roster,
        recent,
        ledger,
        cores,
        more: later.handles,
        reloader,
        config,
        manager,
    })
}

/// Starts the server of each token, or that of all clients if there are no tokens.
fn start_tenants(
    factory: &mut TenantFactory,
    cli: &ServerArgs,
    config: &Config,
    tokens: &[TokenEntry],
    configs: &[Config],
) -> Result<(Arc<Roster>, NamedServers)> {
    factory.pins.expect(config.grants.iter());
    if tokens.is_empty() {
        let server = factory.server(config)?;
        let roster = Roster::new(vec![factory.anyone(&server)]);
        tracing::warn!(
            "any program on this machine can call the tools; give --token-file to serve only \
             holders of a token"
        );
        return Ok((roster, vec![(ANYONE.to_owned(), server)]));
    }

    let mut tenants = Vec::new();
    let mut cores = Vec::new();
    let grants = configs.iter().flat_map(|config| &config.grants);
    factory.pins.expect(grants);
    for (entry, config) in tokens.iter().zip(configs) {
        let server = factory
            .server(config)
            .with_context(|| format!("the token `{}`", entry.name))?;
        tenants.push(factory.tenant(entry, &server));
        cores.push((entry.name.clone(), server));
    }
    if cli.http.stdio {
        cores.insert(0, (STDIO.to_owned(), factory.server(config)?));
    }
    Ok((Roster::new(tenants), cores))
}

/// Returns the paths that agents can reach. Fails if these include caches of others, or secrets.
fn check_reach(config: &Config, cores: &NamedServers, secrets: &Secrets) -> Result<Reach> {
    let system = config.sandbox.system.iter().map(|seen| seen.path.clone());
    let reach = Reach::of(cores.iter().map(|(_, server)| server.services()), system);
    cores
        .iter()
        .try_for_each(|(_, server)| reach.keeps_cache_apart(server.services()))?;
    secrets.kept_from(&reach)?;
    Ok(reach)
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

/// Listens for clients of a mock. Fails for an address that other machines reach: a mock protects
/// nothing.
pub(crate) fn listen_for_mock(address: SocketAddr) -> Result<TcpListener> {
    if !address.ip().is_loopback() {
        bail!(
            "--http {address}: other machines can connect, and a mock protects nothing, also with \
             `auth`; listen at 127.0.0.1"
        );
    }
    listen(address)
}

/// Serves a mock until a signal arrives.
pub(crate) fn serve_mock(
    service: &Arc<dyn Service>,
    listener: TcpListener,
    limits: Limits,
    signals: OwnedFd,
) -> Result<()> {
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
    let backend = TenantBackend {
        service: ledger.over(Arc::clone(service), ANYONE),
        tools: Vec::new(),
        usage: Box::new(Usage::default),
        place: Box::new(|| Value::Null),
        background_work: Box::new(NoBackgroundWork),
    };
    let tenant = Tenant::new(ANYONE.to_owned(), None, true, backend, held);
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
    served.context("the mock cannot be served")
}

impl Servers {
    /// Configuration of clients without a token.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The address that the server listens at.
    pub(crate) fn address(&self) -> Result<String> {
        Ok(self
            .listener
            .local_addr()
            .context("the address")?
            .to_string())
    }

    /// Each server, with the name of its tenant.
    pub(crate) fn servers_by_name(&self) -> Vec<(&str, &Server)> {
        self.cores
            .iter()
            .map(|(name, server)| (name.as_str(), &**server))
            .collect()
    }

    /// Confines this process to what all servers together may reach. Returns the version of
    /// Landlock.
    pub(crate) fn wall_in(&self) -> Option<u32> {
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
    pub(crate) fn serve(self, stdio: Option<(File, File)>, signals: OwnedFd) -> Result<()> {
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
                let stdio_server = StdioServer::new(
                    session,
                    input,
                    Writer::to_descriptor(output)?,
                    self.config.client_limits,
                )?;
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
                .map(|tenant| tenant.remove_background_work())
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

fn random_number() -> Result<u32> {
    let mut random = [0; 4];
    getrandom(&mut random, GetRandomFlags::empty()).context("the system has no random numbers")?;
    Ok(u32::from_ne_bytes(random))
}
