//! Serves a mock, or a real server, over HTTP behind a front.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Error, Result};
use replay_base::limits::MAX_LINE_BYTES;
use replay_mcp::protocol::Revision;
use replay_mcp::transport::Limits;
use replay_mock::{Exchanges, FaultRules, HttpEvent, Manifest, Observers};
use replay_mock_http::{Front, FrontSettings, Upstream};
use replay_network::http_client::HttpTarget;
use rustix::event::{PollFd, PollFlags, poll};

use super::{Checks, MockService, read, read_manifest, recorder};
use crate::cli::{ClientChecks, FrontArgs, RealServer};
use crate::commands::process::{catch_signals, logging, status};
use crate::config::{self, level_filter};
use crate::tenants;

/// Any free port of this machine.
const FREE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Starts a front with the authorization and the faults of a manifest.
fn start(
    listener: TcpListener,
    manifest: &Manifest,
    upstream: Upstream,
    observers: &Arc<Observers>,
    exchanges: Option<Arc<Exchanges>>,
    max_message_bytes: usize,
) -> Result<Front> {
    let observers = Arc::clone(observers);
    let note = move |event: HttpEvent, params| {
        tracing::debug!("{}: {params}", event.method());
        observers.note(event.method(), params);
    };
    let settings = FrontSettings {
        manifest: manifest.clone(),
        upstream,
        exchanges,
        versions: Revision::ALL.map(Revision::as_str).to_vec(),
        note: Arc::new(note),
        max_message_bytes,
    };
    tracing::info!("serving at http://{}/mcp", listener.local_addr()?);
    Front::start(listener, settings).context("the address cannot be served")
}

/// Serves a mock until a signal.
pub(super) fn serve(
    mock: &MockService,
    address: SocketAddr,
    limits: Limits,
    signals: OwnedFd,
) -> Result<()> {
    let listener = tenants::listen_for_mock(address)?;
    let inner = tenants::listen_for_mock(FREE)?;
    let upstream = Upstream::local(inner.local_addr()?);
    let (observers, most) = (&mock.checks.observers, limits.max_line_bytes);
    let _front = start(listener, &mock.manifest, upstream, observers, None, most)?;
    tenants::serve_mock(&mock.service, inner, limits, signals)
}

/// Serves a real server until a signal.
pub(super) fn proxy(
    server: &RealServer,
    asked: &ClientChecks,
    args: &FrontArgs,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let signals = catch_signals()?;
    logging(level_filter(server.log.log_level));
    let target = HttpTarget::parse(&server.target).context("--target")?;
    let trust = target
        .is_encrypted
        .then(|| config::trust(args.cacert.as_deref(), "--cacert FILE"))
        .transpose()?;
    let mut manifest = match &args.faults_from {
        Some(path) => read_manifest(path, &read(path)?)?.0,
        None => Manifest::default(),
    };
    if !manifest.tools.is_empty() {
        tracing::warn!(
            "the tools of --faults-from are not served: those of {} are",
            server.target
        );
        manifest.tools.clear();
    }
    for fault in &asked.fault {
        let rule = fault.over_http(asked.fault_times).map_err(Error::msg);
        manifest.faults.push(rule.context("--fault")?);
    }
    let checks = Checks::new(asked, Arc::<FaultRules>::default(), None, Arc::default())?;
    let recorder = output
        .map(|path| recorder(path, &server.redact, &checks.is_incomplete))
        .transpose()?;
    let exchanges = Exchanges::new(Arc::clone(&checks.observers), recorder);
    let listener = tenants::listen_for_mock(args.http.unwrap_or(FREE))?;
    let upstream = Upstream::new(target, trust);
    tracing::info!("{} is behind the proxy", server.target);
    let observers = &checks.observers;
    let _front = start(
        listener,
        &manifest,
        upstream,
        observers,
        Some(exchanges),
        MAX_LINE_BYTES,
    )?;
    let mut fds = [PollFd::new(&signals, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
    Ok(status(checks.conclude(asked)?))
}

/// Warns of parts of a manifest that only a front serves.
pub(super) fn warn_of_unserved(manifest: &Manifest) {
    if manifest.auth.is_some() || !manifest.faults.is_empty() {
        tracing::warn!("`auth` and `faults` of the manifest only work with --http");
    }
}
