//! Accept loop of the HTTP server, and its graceful shutdown.

use std::net::TcpListener;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use replay_base::limits::{
    HTTP_END_MS, HTTP_LOOK_MS, MAX_HTTP_CALLS, MAX_HTTP_TENANTS, MAX_STUCK_REQUESTS,
    MAX_WAITING_REQUESTS,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::{interval, sleep, timeout};

use super::admission::{Places, SeatGrant};
use super::auth_failures::Refusals;
use super::connection;
use super::origin::Guard;
use super::peer::Peer;
use super::roster::Roster;
use super::router::Context;
use super::tls::Encryption;
use super::watching::Pages;
use crate::sessions::{Ledger, Recent};
use crate::telemetry::Tracer;
use crate::transport::stdio::Limits;

/// Least threads that carry bytes between connections and calls, and serve what is quick.
const MIN_HTTP_THREADS: usize = 2;
/// Most threads that carry bytes between connections and calls. In between there is one for each
/// processor.
const MAX_HTTP_THREADS: usize = 8;

/// Time for remaining threads after everything else has ended.
const LAST_THREADS: Duration = Duration::from_secs(1);
/// Pause after a failed accept: mostly there are too many open files, and an immediate retry would
/// fail.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Settings of the HTTP server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of a message.
    pub limits: Limits,
    /// Allowed values of `Host` besides the names of this machine.
    pub hosts: Vec<String>,
    /// Allowed origins of pages.
    pub origins: Vec<String>,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Timeout of a client that neither continues its request nor reads its reply.
    pub client_timeout: Duration,
    /// TLS, if enabled.
    pub tls: Option<Arc<Encryption>>,
    /// Gets `true` on SIGHUP; `None` if SIGHUP ends the server.
    pub again: Option<Sender<bool>>,
    /// Tracer of request spans, whose counters are exported.
    pub tracer: Option<Arc<Tracer>>,
}

/// Serves these tenants until `stop` becomes readable, and enters their calls in the ledger and in
/// `recent`. Then it accepts no more connections, finishes running calls, and calls `ending`. If
/// `stop` becomes readable again, it no longer waits. A tenant without a token must be the only
/// one.
///
/// The listener is bound before: once the process is in its Landlock domain it cannot bind.
pub fn serve(
    listener: TcpListener,
    settings: Settings,
    ledger: Arc<Ledger>,
    tenants: Arc<Roster>,
    recent: Arc<Recent>,
    stop: OwnedFd,
    ending: &dyn Fn(),
) -> std::io::Result<()> {
    let bound = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    // Later tenants need threads as well; a thread starts only when there is work for it.
    let most_tenants = if settings.again.is_some() {
        MAX_HTTP_TENANTS
    } else {
        tenants.all().len()
    };
    let most_threads =
        most_tenants * MAX_HTTP_CALLS as usize + MAX_WAITING_REQUESTS + MAX_STUCK_REQUESTS;
    let processors = thread::available_parallelism().map_or(MIN_HTTP_THREADS, NonZero::get);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(processors.clamp(MIN_HTTP_THREADS, MAX_HTTP_THREADS))
        .max_blocking_threads(most_threads)
        .thread_name("http")
        .enable_all()
        .build()?;
    let anyone = tenants
        .all()
        .iter()
        .find(|tenant| tenant.is_anyone())
        .cloned();
    let (stopping, stopped) = watch::channel(false);
    let context = Arc::new(Context {
        guard: Guard::new(bound, &settings.hosts, &settings.origins),
        tenants,
        pages: Pages::new(anyone.is_none()),
        anyone,
        limits: settings.limits,
        client_timeout: settings.client_timeout,
        tls: settings.tls,
        recent,
        ledger,
        tracer: settings.tracer,
        began: Instant::now(),
        unauthorized: AtomicU64::new(0),
        refusals: Refusals::default(),
        stop: stopped,
    });
    let signals = watch_signals(stop, settings.again)?;
    let result = runtime.block_on(run(
        &context,
        listener,
        settings.max_connections,
        &stopping,
        ending,
        signals,
    ));
    for tenant in &*context.tenants.all() {
        tenant.sessions.cancel_all();
    }
    runtime.shutdown_timeout(LAST_THREADS);
    result
}

async fn run(
    context: &Arc<Context>,
    listener: TcpListener,
    max_connections: usize,
    stopping: &watch::Sender<bool>,
    ending: &dyn Fn(),
    mut signals: mpsc::Receiver<()>,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Places::new(max_connections);
    let mut look = interval(Duration::from_millis(HTTP_LOOK_MS));
    let mut next = None;
    loop {
        tokio::select! {
            _ = signals.recv() => break,
            _ = look.tick() => {
                context.tenants.all().iter().for_each(|tenant| tenant.sessions.sweep());
                context.refusals.sweep();
            }
            accepted = accept(&listener, &places, &mut next) => match accepted {
                Ok(taken) => match (next.take(), taken) {
                    (Some((stream, _)), Some((seat, leave))) => {
                        tokio::spawn(connection::serve(Arc::clone(context), stream, seat, leave));
                    }
                    (refused, _) => drop(refused),
                },
                Err(error) => {
                    tracing::debug!("a connection cannot be accepted: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    ending();
    tracing::info!("shutting down: running calls are still answered");
    let _ = stopping.send(true);
    context.recent.hang_up();
    for tenant in &*context.tenants.all() {
        tenant.sessions.hang_up();
    }
    tokio::select! {
        _ = timeout(Duration::from_millis(HTTP_END_MS), places.emptiness()) => {}
        _ = signals.recv() => {}
    }
    Ok(())
}

/// Accepts the next connection into `next`, and waits for its place; `None` if it is to be refused.
/// The connection stays in `next` while it waits, so that cancellation does not lose it.
async fn accept(
    listener: &tokio::net::TcpListener,
    places: &Arc<Places>,
    next: &mut Option<(tokio::net::TcpStream, Peer)>,
) -> std::io::Result<Option<SeatGrant>> {
    let peer = if let Some((_, peer)) = next {
        *peer
    } else {
        let (stream, address) = listener.accept().await?;
        next.insert((stream, address.ip().into())).1
    };
    Ok(places.take(peer).await)
}

/// Starts a thread that reads signals from the descriptor (signalfd(2)). SIGHUP goes to `again` if
/// set, any other signal to the returned channel.
fn watch_signals(
    stop: OwnedFd,
    again: Option<Sender<bool>>,
) -> std::io::Result<mpsc::Receiver<()>> {
    let (hears, heard) = mpsc::channel(1);
    let listen = move || {
        while !hears.is_closed() {
            let mut fds = [PollFd::new(&stop, PollFlags::IN)];
            if poll(&mut fds, None).is_err() {
                continue;
            }
            let mut signal = [0_u8; 128];
            let _ = rustix::io::read(&stop, &mut signal);
            // Its first word is the signal number (signalfd(2)).
            let number = i32::from_ne_bytes([signal[0], signal[1], signal[2], signal[3]]);
            if number == Signal::HUP.as_raw()
                && let Some(again) = &again
            {
                let _ = again.send(true);
                continue;
            }
            if hears.blocking_send(()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen)?;
    Ok(heard)
}
