//! Published ports: listeners on this machine's loopback that lead to ports of commands.
//!
//! The threads start before this process enters its Landlock domain, in which no thread may bind or
//! connect. Bytes are copied in both directions, whatever the protocol.

mod forward;
mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use replay_sandbox::exec::{ListeningPort, Ports};
use rustix::io::Errno;
use thiserror::Error;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use self::forward::Forwarder;

pub use self::rule::{PublishRule, PublishRules};

/// Time between two looks for new ports while a command runs, in milliseconds.
const LOOK_MS: u64 = 250;
/// Longest time that a call waits for the listeners of new ports, in milliseconds.
const REFRESH_MS: u64 = 1000;
/// Ports that are published on their own at the same time.
const MAX_AUTOMATIC_PORTS: usize = 64;
/// Lowest port that is published on its own; lower ones belong to the system.
const FIRST_AUTOMATIC_PORT: u16 = 1024;
/// Attempts to find a port that is free in both versions of the protocol.
const FREE_PORT_ATTEMPTS: usize = 16;

/// Host name of links. Browsers resolve it to the loopback, and keep its cookies apart from those of
/// `localhost`.
const LINK_HOST: &str = "replay.localhost";

/// The published ports of a server. Dropping this closes them.
pub struct Publisher {
    runtime: Option<Runtime>,
    listeners: Arc<Listeners>,
    /// Orders to the thread that looks for new ports, if ports are published on their own.
    watcher: Option<mpsc::Sender<Order>>,
}

/// A published port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedPort {
    /// Port on which commands listen.
    pub inside: u16,
    /// Port of this machine's loopback.
    pub outside: u16,
}

impl PublishedPort {
    /// Returns the link for a browser.
    pub fn link(self) -> String {
        format!("http://{LINK_HOST}:{}/", self.outside)
    }
}

/// Reason for ports that are not published.
#[derive(Debug, Error)]
pub enum PublishError {
    #[error(
        "--publish {outside}: this user may not listen on port {outside}; choose one above 1023 \
         with --publish OTHER:{inside}"
    )]
    Forbidden { outside: u16, inside: u16 },
    #[error("--publish {outside}: {cause}")]
    Listen {
        outside: u16,
        #[source]
        cause: io::Error,
    },
    #[error("--publish: its threads cannot be started: {0}")]
    Start(#[source] io::Error),
}

/// Order to the thread that looks for new ports.
enum Order {
    /// A command has started.
    Started,
    /// Look now, and report.
    Look(mpsc::SyncSender<()>),
    End,
}

/// Open listeners.
struct Listeners {
    ports: Arc<Ports>,
    handle: Handle,
    forwarder: Arc<Forwarder>,
    /// Ports that the operator named.
    named: Vec<PublishedPort>,
    /// Tasks that accept connections to these.
    tasks: Mutex<Vec<JoinHandle<()>>>,
    /// Ports that are published on their own, by the port inside.
    automatic: Mutex<BTreeMap<u16, OpenPort>>,
    is_closed: AtomicBool,
}

/// Listeners of a port that is published on its own. Dropping this closes them; connections go on.
struct OpenPort {
    outside: u16,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Publisher")
            .field("published", &self.published())
            .finish_non_exhaustive()
    }
}

impl Publisher {
    /// Opens the ports and starts the threads, which inherit the restrictions of the calling thread.
    pub fn start(rules: &PublishRules, ports: Arc<Ports>) -> Result<Self, PublishError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_name("publish")
            .enable_io()
            .enable_time()
            .build()
            .map_err(PublishError::Start)?;
        let handle = runtime.handle().clone();
        let forwarder = Forwarder::new(&handle, Arc::clone(&ports)).map_err(PublishError::Start)?;
        let forwarder = Arc::new(forwarder);
        let (mut tasks, mut named) = (Vec::new(), Vec::new());
        for asked in rules.ports() {
            let failed = |cause| listen_error(*asked, cause);
            let sockets = listen_at_free(asked.outside).map_err(failed)?;
            let outside = port_of(&sockets).map_err(failed)?;
            let port = PublishedPort { outside, ..*asked };
            let accepting = accept(&handle, &forwarder, sockets, port.inside);
            tasks.extend(accepting.map_err(PublishError::Start)?);
            if outside != asked.outside {
                // Such as another server of the same configuration.
                tracing::warn!(
                    "--publish {0}: another program listens on port {0} of 127.0.0.1 or [::1]; another \
                     port takes its place",
                    asked.outside
                );
            }
            announce(port);
            named.push(port);
        }
        let listeners = Arc::new(Listeners {
            ports,
            handle,
            forwarder,
            named,
            tasks: Mutex::new(tasks),
            automatic: Mutex::default(),
            is_closed: AtomicBool::new(false),
        });
        let watcher = rules
            .is_automatic()
            .then(|| watch(&listeners))
            .transpose()
            .map_err(PublishError::Start)?;
        Ok(Self {
            runtime: Some(runtime),
            listeners,
            watcher,
        })
    }

    /// Returns true if every port on which a command listens is published.
    pub fn is_automatic(&self) -> bool {
        self.watcher.is_some()
    }

    /// Opens the ports on which commands have begun to listen, if they are published on their own.
    pub fn refresh(&self) {
        let Some(watcher) = &self.watcher else { return };
        let (done, is_done) = mpsc::sync_channel(1);
        if watcher.send(Order::Look(done)).is_ok() {
            // Later calls report a port that takes longer.
            let _ = is_done.recv_timeout(Duration::from_millis(REFRESH_MS));
        }
    }

    /// Closes the ports and waits until others can listen there. Connections go on until their commands
    /// end.
    pub fn close(&self) {
        self.listeners.is_closed.store(true, SeqCst);
        if let Some(watcher) = &self.watcher {
            // It has ended only if it panicked.
            let _ = watcher.send(Order::End);
        }
        let mut tasks = std::mem::take(&mut *lock(&self.listeners.tasks));
        for (_, mut port) in std::mem::take(&mut *lock(&self.listeners.automatic)) {
            tasks.append(&mut port.tasks);
        }
        tasks.iter().for_each(JoinHandle::abort);
        let closed = async {
            for task in tasks {
                // It was aborted, which is an error.
                let _ = task.await;
            }
        };
        let limit = Duration::from_millis(REFRESH_MS);
        let _ = self
            .listeners
            .handle
            .block_on(async { tokio::time::timeout(limit, closed).await });
    }

    /// Returns the published ports, in the order of the operator, then by number.
    pub fn published(&self) -> Vec<PublishedPort> {
        let automatic = lock(&self.listeners.automatic);
        let automatic = automatic.iter().map(|(inside, open)| PublishedPort {
            inside: *inside,
            outside: open.outside,
        });
        let named = self.listeners.named.iter().copied();
        named
            .filter(|_| !self.listeners.is_closed.load(SeqCst))
            .chain(automatic)
            .collect()
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Listeners {
    /// Opens and closes listeners, so that they are those of the ports on which commands listen.
    fn look(&self) {
        let Ok(listening) = self.ports.listening() else {
            // The next look may succeed.
            return;
        };
        let wanted = wanted(&listening, &self.named);
        let mut open = lock(&self.automatic);
        if self.is_closed.load(SeqCst) {
            return;
        }
        open.retain(|inside, port| {
            let stays = wanted.contains(inside);
            if !stays {
                tracing::info!("port {} is closed: no command listens", port.outside);
            }
            stays
        });
        for inside in wanted {
            if open.len() >= MAX_AUTOMATIC_PORTS {
                break;
            }
            if open.contains_key(&inside) {
                continue;
            }
            match self.open(inside) {
                Ok(port) => drop(open.insert(inside, port)),
                Err(error) => tracing::warn!("port {inside} of commands is not published: {error}"),
            }
        }
    }

    /// Opens a port with the same number, or with a free one.
    fn open(&self, inside: u16) -> io::Result<OpenPort> {
        let sockets = listen_at_free(inside)?;
        let outside = port_of(&sockets)?;
        let tasks = accept(&self.handle, &self.forwarder, sockets, inside)?;
        announce(PublishedPort { inside, outside });
        Ok(OpenPort { outside, tasks })
    }
}

/// Starts the thread that looks for new ports.
fn watch(listeners: &Arc<Listeners>) -> io::Result<mpsc::Sender<Order>> {
    let (orders, received) = mpsc::channel();
    let started = orders.clone();
    listeners.ports.on_start(move || {
        let _ = started.send(Order::Started);
    });
    let listeners = Arc::clone(listeners);
    thread::Builder::new()
        .name("publish auto".to_owned())
        .spawn(move || {
            loop {
                let order = if listeners.ports.has_commands() {
                    received.recv_timeout(Duration::from_millis(LOOK_MS))
                } else {
                    listeners.look();
                    received
                        .recv()
                        .map_err(|_| mpsc::RecvTimeoutError::Disconnected)
                };
                match order {
                    Ok(Order::Started) => {}
                    Ok(Order::Look(done)) => {
                        listeners.look();
                        // The caller may have given up.
                        let _ = done.send(());
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => listeners.look(),
                    Ok(Order::End) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
    Ok(orders)
}

/// Returns the ports inside that are published on their own.
fn wanted(listening: &[ListeningPort], named: &[PublishedPort]) -> BTreeSet<u16> {
    listening
        .iter()
        .filter(|port| port.port >= FIRST_AUTOMATIC_PORT && port.is_on_loopback())
        .map(|port| port.port)
        .filter(|port| named.iter().all(|known| known.inside != *port))
        .collect()
}

/// Listens on both loopback addresses, or on 127.0.0.1 alone without IPv6. Port 0 is any.
fn listen(port: u16) -> io::Result<Vec<TcpListener>> {
    let four = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let port = four.local_addr()?.port();
    match TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
        Ok(six) => Ok(vec![four, six]),
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL)
            ) =>
        {
            Ok(vec![four])
        }
        Err(error) => Err(error),
    }
}

/// Listens on this port, or on a free one if it is in use.
fn listen_at_free(port: u16) -> io::Result<Vec<TcpListener>> {
    let mut result = listen(port);
    for _ in 0..FREE_PORT_ATTEMPTS {
        match &result {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => result = listen(0),
            _ => break,
        }
    }
    result
}

fn port_of(sockets: &[TcpListener]) -> io::Result<u16> {
    let first = sockets.first().ok_or(io::ErrorKind::NotFound)?;
    Ok(first.local_addr()?.port())
}

/// Starts to accept connections for a port of commands.
fn accept(
    handle: &Handle,
    forwarder: &Arc<Forwarder>,
    sockets: Vec<TcpListener>,
    inside: u16,
) -> io::Result<Vec<JoinHandle<()>>> {
    let _entered = handle.enter();
    let start = |socket: TcpListener| {
        socket.set_nonblocking(true)?;
        let socket = tokio::net::TcpListener::from_std(socket)?;
        let serve = Arc::clone(forwarder).serve(socket, inside);
        Ok(handle.spawn(serve))
    };
    sockets.into_iter().map(start).collect()
}

/// Logs a port that has opened.
fn announce(port: PublishedPort) {
    tracing::info!(
        "{} leads to port {} of commands (--publish)",
        port.link(),
        port.inside
    );
}

fn listen_error(
    PublishedPort { inside, outside }: PublishedPort,
    cause: io::Error,
) -> PublishError {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => PublishError::Forbidden { outside, inside },
        _ => PublishError::Listen { outside, cause },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The protected value is consistent at any point, also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn listening(port: u16, address: &str) -> ListeningPort {
        ListeningPort {
            port,
            addresses: vec![address.parse().unwrap()],
            program: "python3".to_owned(),
            command: Some("c1".to_owned()),
            is_lasting: true,
        }
    }

    #[test]
    fn automatic_ports_are_unprivileged_and_on_loopback() {
        let all = [
            listening(1023, "127.0.0.1"),
            listening(1024, "127.0.0.1"),
            listening(5173, "::1"),
            listening(8080, "0.0.0.0"),
            listening(8081, "127.0.0.2"),
            listening(8123, "::"),
        ];
        let named = [PublishedPort {
            inside: 8123,
            outside: 80,
        }];
        assert_eq!(wanted(&all, &named), BTreeSet::from([1024, 5173, 8080]));
        assert_eq!(wanted(&[], &named), BTreeSet::new());
    }

    #[test]
    fn taken_port_is_replaced() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let outside = taken.local_addr().unwrap().port();
        assert!(listen(outside).is_err());
        let free = listen_at_free(outside).unwrap();
        assert_ne!(port_of(&free).unwrap(), outside);
        let addresses: BTreeSet<u16> = free
            .iter()
            .map(|socket| socket.local_addr().unwrap().port())
            .collect();
        assert_eq!(addresses.len(), 1);
    }

    #[test]
    fn link_names_port_outside() {
        let port = PublishedPort {
            inside: 80,
            outside: 8080,
        };
        assert_eq!(port.link(), "http://replay.localhost:8080/");
    }
}
