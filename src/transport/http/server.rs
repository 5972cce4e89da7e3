//! Takes connections until the server ends, and sees to it that what runs then is still answered.

use std::net::TcpListener;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::time::{interval, sleep, timeout};

use super::admission::{Places, Taken};
use super::auth_failures::Refusals;
use super::connection;
use super::origin::Guard;
use super::peer::Peer;
use super::roster::Roster;
use super::router::Context;
use super::tls::Encryption;
use super::watching::Pages;
use crate::limits::{
    HTTP_END_MS, HTTP_LOOK_MS, MAX_HTTP_CALLS, MAX_HTTP_TENANTS, MAX_HTTP_THREADS,
    MAX_STUCK_REQUESTS, MAX_WAITING_REQUESTS, MIN_HTTP_THREADS,
};
use crate::server::{Ledger, Recent};
use crate::telemetry::Tracer;
use crate::transport::stdio::Limits;

/// How long threads that still run may take when all else has ended.
const LAST_THREADS: Duration = Duration::from_secs(1);
/// A pause after a connection could not be accepted: mostly there are too many open files, and
/// trying at once is no use.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What a message is held to.
    pub limits: Limits,
    /// Names beside those of this machine that `Host` may have.
    pub hosts: Vec<String>,
    /// Origins of pages that may ask.
    pub origins: Vec<String>,
    /// Connections at the same time.
    pub max_connections: usize,
    /// A client that says nothing of what it has begun, or takes nothing of what is sent to it, for
    /// so long is hung up on.
    pub client_timeout: Duration,
    /// Encryption, if there is any.
    pub tls: Option<Arc<Encryption>>,
    /// Who hears of a SIGHUP, by `true`; nobody if it ends the server.
    pub again: Option<Sender<bool>>,
    /// Who makes the spans of requests, to be counted.
    pub tracer: Option<Arc<Tracer>>,
}

/// Serves these tenants, whose calls are entered in the ledger and remembered in `recent`, until
/// `stop` becomes readable; then nothing new is accepted, and what runs is answered. If it becomes
/// readable again, that is not waited for. `ending` is told when that begins. A tenant that needs
/// no token is the only one.
///
/// The listener was bound before: once the process is inside its own walls it can bind nothing.
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
    // Who comes later needs them as well; a thread is made when there is work for it.
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
    let signals = heard(stop, settings.again)?;
    let result = runtime.block_on(run(
        &context,
        listener,
        settings.max_connections,
        (&stopping, ending),
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
    (stopping, ending): (&watch::Sender<bool>, &dyn Fn()),
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
    tracing::info!("ending: what runs is still answered");
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

/// A place for the next connection, which is in `next` then; `None` if it is to be refused. One
/// that is accepted stays there while it waits for a place: whether there is one is only known when
/// it is taken.
async fn accept(
    listener: &tokio::net::TcpListener,
    places: &Arc<Places>,
    next: &mut Option<(tokio::net::TcpStream, Peer)>,
) -> std::io::Result<Option<Taken>> {
    let peer = if let Some((_, peer)) = next {
        *peer
    } else {
        let (stream, address) = listener.accept().await?;
        next.insert((stream, address.ip().into())).1
    };
    Ok(places.take(peer).await)
}

/// Waits on a thread of its own until the descriptor is readable, and takes one signal from it, if
/// it is one of signals (signalfd(2)); says so, to whom it is for, and begins anew.
fn heard(stop: OwnedFd, again: Option<Sender<bool>>) -> std::io::Result<mpsc::Receiver<()>> {
    let (hears, heard) = mpsc::channel(1);
    let listen = move || {
        while !hears.is_closed() {
            let mut fds = [PollFd::new(&stop, PollFlags::IN)];
            if poll(&mut fds, None).is_err() {
                continue;
            }
            let mut signal = [0_u8; 128];
            let _ = rustix::io::read(&stop, &mut signal);
            // Its first word is the number (signalfd(2)).
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
