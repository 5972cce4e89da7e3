//! `replay --mcp-server`: serves the tools over stdin and stdout, or over HTTP.

use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use replay_base::text::count::counted;
use replay_files::policy::Root;
use replay_mcp::sessions::{Ledger, Observer, Service, Session, Traced, Way};
use replay_mcp::telemetry::Tracer;
use replay_mcp::transport::{End, StdioServer, Writer};
use replay_mock::{Observed, Observers};
use replay_sandbox::{Tier, give_back_memory};

use super::mock;
use super::process::{catch_signals, interruptible, logging, status, stdin, stdout};
use crate::audit::{self, AuditLog};
use crate::cli::{Redact, ServerArgs};
use crate::compose::{greeting, linked_git, look_around, wall_in};
use crate::config::{self, Config};
use crate::server::Server;
use crate::server::ServerAndMock;
use crate::tenants;

/// Serves until the client disconnects, or until a signal.
pub(super) fn run(cli: &ServerArgs) -> Result<ExitCode> {
    if cli.http.http.is_some() {
        serve_http(Config::for_server(&cli.options)?, cli)
    } else {
        serve(Config::for_stdio(cli)?, cli)
    }
}

fn serve(config: Config, cli: &ServerArgs) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(config.log_level);
    // Read the manifest before the server enters its own walls, since it may lie anywhere.
    let mock = cli
        .mock
        .as_deref()
        .map(|path| mock::load_beside(path, config.errors.unwrap_or_default()))
        .transpose()?;
    let is_incomplete = Arc::<AtomicBool>::default();
    let recorder = cli
        .record
        .as_deref()
        .map(|path| mock::recorder(path, &Redact::default(), &is_incomplete))
        .transpose()?;
    let log = audit::open(&cli.audit)?.map(Arc::new);
    let files_of_log = log.iter().flat_map(|log| log.hidden().iter().cloned());
    let config = &config.hiding(files_of_log);
    let ledger = Ledger::new(observers(log.as_ref()));
    let tracer = tracer(cli, config)?;
    // Observers need the whole session, so the early greeting is skipped.
    let is_watched = mock.is_some() || recorder.is_some() || log.is_some() || tracer.is_some();
    let (mut greeted, mut has_met) = (None, false);
    let server = greeting(config, &mut |coming, ready| {
        if greeted.is_none() && !is_watched {
            // A failure here is reported by the second attempt below.
            greeted = open(coming.clone(), config)
                .ok()
                .map(|stdio_server| (stdio_server, Arc::clone(coming)));
        }
        let from = std::io::stdin();
        has_met |= greeted.as_ref().is_some_and(|(stdio_server, _)| {
            interruptible(|| stdio_server.greet(from.as_fd(), ready))
        });
    })?;
    let service: Arc<dyn Service> = match mock {
        Some(mock) => {
            Arc::new(ServerAndMock::new(server.clone(), mock).map_err(anyhow::Error::msg)?)
        }
        None => server.clone(),
    };
    let service = Traced::over(service, tracer.as_ref(), Way::Stdio);
    let service = match recorder {
        Some(recorder) => Arc::new(Observed::new(
            service,
            Arc::new(Observers::new(vec![Arc::new(recorder)])),
        )),
        None => service,
    };
    let service = ledger.over(service, "stdio");
    if let Some(log) = &log {
        log.start(&audit::Started {
            serves: "stdio".to_owned(),
            servers: vec![("stdio", &*server)],
            config,
        })?;
    }
    announce(&[("stdio", &*server)], wall_in(&[server.services()], &[]));
    look_around(server.services());
    let stdio_server = match greeted {
        Some((stdio_server, coming)) => {
            coming.arrived(service);
            stdio_server
        }
        None => open(service, config)?,
    };
    if has_met {
        server.met();
    }
    give_back_memory();
    let end = stdio_server
        .run(Some(signals.as_fd()))
        .context("stdin cannot be served")?;
    let ended = server.services().commands.end_all();
    server.services().memory.end();
    let why = if end == End::Served {
        "stdin has ended"
    } else {
        "stopped by a signal, or the client closed its end"
    };
    tracing::debug!(ended, "{why}");
    if let Some(log) = &log {
        log.end();
    }
    if let Some(tracer) = tracer {
        tracer.end();
    }
    Ok(status(!is_incomplete.load(Ordering::Relaxed)))
}

/// Connects a service to stdin and stdout.
fn open(service: Arc<dyn Service>, config: &Config) -> Result<Arc<StdioServer>> {
    Ok(StdioServer::new(
        Session::new(service),
        stdin()?,
        Writer::to_descriptor(stdout()?)?,
        config.client_limits,
    )?)
}

/// Observers of calls.
fn observers(log: Option<&Arc<AuditLog>>) -> Vec<Arc<dyn Observer>> {
    log.cloned()
        .into_iter()
        .map(|log| log as Arc<dyn Observer>)
        .collect()
}

/// Starts the exporter of request spans, if requested. Must run before the server enters its own
/// walls, which deny TCP.
fn tracer(cli: &ServerArgs, config: &Config) -> Result<Option<Arc<Tracer>>> {
    let settings = config::telemetry(&cli.telemetry, config.sandbox.upstream_proxy.as_ref())?;
    settings
        .map(|settings| {
            Tracer::start(settings).context(
                "no thread can be started; raise the \
            limit of processes (ulimit -u)",
            )
        })
        .transpose()
}

/// Serves over HTTP, and also over stdin and stdout if requested.
fn serve_http(config: Config, cli: &ServerArgs) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(config.log_level);
    let tracer = tracer(cli, &config)?;
    let log = audit::open(&cli.audit)?.map(Arc::new);
    let servers = tenants::prepare(cli, config, log.as_ref(), tracer.clone())?;
    if let Some(log) = &log {
        log.start(&audit::Started {
            serves: servers.address()?,
            servers: servers.servers_by_name(),
            config: servers.config(),
        })?;
    }
    let own_wall = servers.wall_in();
    announce(&servers.servers_by_name(), own_wall);
    let stdio = if cli.http.stdio {
        Some((stdin()?, stdout()?))
    } else {
        None
    };
    let served = servers.serve(stdio, signals.as_fd().try_clone_to_owned()?);
    if let Some(log) = &log {
        log.end();
    }
    if let Some(tracer) = tracer {
        tracer.end();
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Maximum number of directories in the start-up messages.
const NAMED_DIRECTORIES: usize = 8;

/// Logs the start-up messages: allowed directories, walls of commands, walls of this process.
fn announce(servers: &[(&str, &Server)], own_landlock: Option<u32>) {
    // The servers differ in their directories; the walls are the same for all.
    let Some((_, first)) = servers.first() else {
        return;
    };
    let directories = servers.iter().flat_map(|(name, server)| {
        server.services().policy.roots().iter().map(move |root| {
            let owner = if servers.len() > 1 {
                format!("{name}: ")
            } else {
                String::new()
            };
            format!(
                "{owner}{} ({})",
                root.path().display(),
                if root.writable() {
                    "read-write"
                } else {
                    "read-only"
                }
            )
        })
    });
    let mut directories: Vec<String> = directories.collect();
    let more = directories.len().saturating_sub(NAMED_DIRECTORIES);
    if more > 0 {
        directories.truncate(NAMED_DIRECTORIES);
        directories.push(format!("{more} more"));
    }
    let version = env!("CARGO_PKG_VERSION");
    if directories.is_empty() {
        tracing::warn!(
            "replay {version} serves no directory, so the tools can open nothing; add --allow DIR, or --allow DIR:rw to write"
        );
    } else {
        tracing::info!("replay {version} serves {}", directories.join(", "));
    }
    let mut gates = servers
        .iter()
        .filter_map(|(_, server)| server.services().commands.gate.as_ref());
    if let Some(proxy) = gates.find_map(|gate| gate.upstream_proxy()) {
        tracing::info!("allowed hosts are reached through {proxy}");
    }
    for (name, server) in servers {
        let services = server.services();
        let owner = if servers.len() > 1 {
            format!("{name}: ")
        } else {
            String::new()
        };
        if let Err(reason) = &services.journal
            && services.policy.roots().iter().any(Root::writable)
        {
            tracing::info!("{owner}calls cannot be undone: {reason}");
        }
        let tier = services.commands.standing.tier.unwrap_or(Tier::Namespaces);
        for (is_warning, words) in linked_git::lines(&services.policy, tier) {
            if is_warning {
                tracing::warn!("{owner}{words}");
            } else {
                tracing::info!("{owner}{words}");
            }
        }
        if services
            .journal
            .as_ref()
            .is_ok_and(|journal| journal.freezes())
        {
            tracing::info!(
                "{owner}files that programs outside the walls run cannot be changed \
                 (--freeze-autorun)"
            );
        }
        if services.commands.ssh_agent.is_some() {
            tracing::info!(
                "{owner}the ssh-agent signs git commits and tags of commands \
                (--ssh-sign)"
            );
        }
    }
    let own = own_landlock.map_or_else(
        || "none".to_owned(),
        |version| format!("landlock {version}"),
    );
    let standing = &first.services().commands.standing;
    let network = standing.network_word();
    match (&standing.refused, standing.tier) {
        (Some(_), _) if !standing.tried.is_empty() => {
            let tried: Vec<&str> = standing
                .tried
                .iter()
                .map(|(tier, _)| tier.as_str())
                .collect();
            let tried = tried.join(" and ");
            tracing::info!(
                "commands are refused: no walls can be built ({tried} failed; `replay sandbox explain` says why); walls around the \
                 server: {own}"
            );
        }
        (_, None) => tracing::info!("{}; walls around the server: {own}", standing.word()),
        (_, Some(Tier::Off)) => {
            tracing::warn!(
                "commands run without walls (--sandbox off), network: {network}; walls around the server: {own}"
            );
        }
        (_, Some(tier)) => {
            let tier = tier.as_str();
            let gaps = match standing.gaps.len() as u64 {
                0 => String::new(),
                count => format!(
                    " ({}, see `replay sandbox explain`)",
                    counted(count, "gap", "gaps")
                ),
            };
            tracing::info!(
                "walls around commands: {tier}, network: {network}{gaps}; walls around the server: {own}"
            );
        }
    }
}
