//! State that all connections of one recording or replay share.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use replay_base::budget::{Account, Purpose, Share};
use replay_base::limits::{
    CONNECTION_DESCRIPTORS, MAX_RECORDING_BYTES, MAX_RECORDING_NOTES, MEMORY_LOOK_MS,
    MEMORY_WAIT_MS, UPSTREAM_CONNECT_MS,
};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::judging::PendingVerdicts;
use super::stream::Stream;
use super::{Counts, Mode, Note, OnMiss, Recorded, Wires};
use crate::call::{Content, Exchange, Link, Refusal, Target};
use crate::matching::{Workers, join_pieces};
use crate::net::ca::Authority;
use crate::net::dns::{FakeNames, is_fake};
use crate::protocol::frames;
use replay_network::http_client::Verifier;

/// Memory for a recorded call until its set is written, as a multiple of its length: as kept, and
/// as written or searched for secrets.
const RECORDING_COPIES: usize = 2;
/// Delay before the next address is tried as well, in milliseconds (RFC 8305, 8).
const NEXT_ADDRESS_MS: u64 = 250;
/// TTL of a name's real addresses, in milliseconds.
const RESOLVED_MS: u64 = 30_000;
/// Time for the lookup of a name that a proxy reaches, in milliseconds. It only serves to judge the
/// addresses.
const PROXIED_LOOKUP_MS: u64 = 2000;
/// Names of one command that the system's resolver is asked for at once.
const MAX_LOOKUPS_AT_ONCE: usize = 16;
/// Sockets for recorded connections that are requested from a supervisor at the same time. Each is
/// in flight in a message, and the kernel limits their number (`RLIMIT_NOFILE`, unix(7)).
const MAX_SOCKETS_ASKED_FOR: usize = 64;

pub(super) struct Hub {
    /// Budget account for recorded data.
    account: Account,
    /// Source of connections and their destinations.
    pub wires: Arc<dyn Wires>,
    pub mode: Mode,
    pub authority: Arc<Authority>,
    pub verifier: Arc<Verifier>,
    pub names: FakeNames,
    /// Callers of the connections, and their tests.
    pub workers: Arc<Workers>,
    /// Address at which tests are announced; `None` if nothing is recorded or replayed.
    pub agent: Option<Target>,
    /// Becomes true when the proxy stops.
    pub stop: watch::Receiver<bool>,
    pub judging: Arc<PendingVerdicts>,
    /// Permits for simultaneous dials.
    dialing: Semaphore,
    state: Mutex<RecordingState>,
    /// Lookups by name, with their start.
    lookups: Mutex<HashMap<String, Lookup>>,
    /// Permits for simultaneous lookups.
    resolving: Arc<Semaphore>,
}

/// Result of a name lookup.
type LookupResult = Result<Vec<IpAddr>, io::ErrorKind>;
type Lookup = (Instant, watch::Receiver<Option<LookupResult>>);

/// A connection whose server has not answered yet.
pub(super) struct PendingDial {
    pub link: Link,
    pub nth: u64,
    pub keep: bool,
}

/// Data recorded so far, with the bookkeeping of the recording.
#[derive(Default)]
pub(super) struct RecordingState {
    exchanges: Vec<Exchange>,
    bytes: usize,
    /// Budget share of the exchanges.
    share: Option<Share>,
    notes: Vec<Note>,
    pub counts: Counts,
    /// Targets whose programs reject our certificates. `true` if that is a guess, because the
    /// program closed the connection without an alert.
    opaque: HashMap<Target, bool>,
    /// Targets whose programs accept our certificates.
    trusted: HashSet<Target>,
    refused: BTreeSet<Target>,
    unanswered: BTreeSet<Target>,
    of_target: HashMap<Target, u64>,
    /// Names and record types with an exchange.
    asked: HashSet<(String, &'static str)>,
    /// Connections whose servers have not answered yet, by number.
    pub dialing: HashMap<u64, PendingDial>,
    /// Targets with an exchange for an idle connection.
    silent: HashSet<Target>,
}

impl RecordingState {
    pub(super) fn refused(&mut self, refusal: Refusal, target: &Target) {
        let (count, targets) = if refusal.is_silence() {
            (&mut self.counts.unanswered, &mut self.unanswered)
        } else {
            (&mut self.counts.refused, &mut self.refused)
        };
        *count += 1;
        if targets.len() < MAX_RECORDING_NOTES {
            targets.insert(target.clone());
        }
    }
}

impl Hub {
    pub(super) fn new(
        wires: Arc<dyn Wires>,
        mode: Mode,
        authority: Arc<Authority>,
        verifier: Arc<Verifier>,
        stop: watch::Receiver<bool>,
        account: Account,
    ) -> Self {
        let workers = match &mode {
            Mode::Replay { replay, .. } => Arc::clone(replay.book.workers()),
            Mode::Pass | Mode::Record => Arc::default(),
        };
        Self {
            wires,
            account,
            mode,
            workers,
            agent: None,
            authority,
            verifier,
            names: FakeNames::default(),
            stop,
            judging: PendingVerdicts::new(),
            dialing: Semaphore::new(MAX_SOCKETS_ASKED_FOR),
            state: Mutex::default(),
            lookups: Mutex::default(),
            resolving: Arc::new(Semaphore::new(MAX_LOOKUPS_AT_ONCE)),
        }
    }

    pub(super) fn share(&self) -> Share {
        self.account.share()
    }

    /// Waits for memory for a connection and reports a long wait. Connections may use more of the
    /// budget than recorded calls, so a full recording does not stop the program.
    pub(super) async fn wait_for_memory(&self, bytes: usize) -> Share {
        let begun = Instant::now();
        loop {
            match self.account.try_take(bytes, Purpose::Reply) {
                Ok(share) => return share,
                Err(_) if begun.elapsed() > Duration::from_millis(MEMORY_WAIT_MS) => {
                    self.note(Note::Crowded);
                }
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(MEMORY_LOOK_MS)).await;
        }
    }

    /// Reserves descriptors for a connection before they are opened. Without free ones, reports
    /// that and returns [`Refusal::NO_ROOM`].
    pub(super) fn descriptors(&self, count: usize) -> io::Result<Share> {
        self.account.descriptors(count).map_err(|_| {
            self.note(Note::Many(self.most_connections()));
            io::Error::from_raw_os_error(Refusal::NO_ROOM)
        })
    }

    /// Returns the maximum number of simultaneous connections, if all descriptors are free.
    pub(super) fn most_connections(&self) -> usize {
        self.account.most_descriptors() / CONNECTION_DESCRIPTORS
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RecordingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.state().counts);
    }

    /// Adds a note to the result, unless it exists.
    pub(super) fn note(&self, note: Note) {
        let mut kept = self.state();
        if kept.notes.len() < MAX_RECORDING_NOTES && !kept.notes.contains(&note) {
            kept.notes.push(note);
        }
    }

    pub(super) fn keep(&self, exchange: Exchange) {
        let size = size(&exchange);
        let mut kept = self.state();
        // One record stands for all idle connections to a target.
        if exchange.is_silent() && !kept.silent.insert(exchange.target.clone()) {
            return;
        }
        let share = kept.share.get_or_insert_with(|| self.account.share());
        let fits = share.try_grow(size * RECORDING_COPIES).is_ok();
        if kept.bytes + size > MAX_RECORDING_BYTES || !fits {
            kept.counts.dropped += 1;
            drop(kept);
            self.note(Note::Full);
            return;
        }
        kept.bytes += size;
        kept.exchanges.push(exchange);
    }

    /// Registers a connection to a target. Returns its link and its index among those to the
    /// target, from 1.
    pub(super) fn link(&self, target: Target) -> (Link, u64) {
        let mut kept = self.state();
        kept.counts.connections += 1;
        let connection = kept.counts.connections;
        let nth = kept.of_target.entry(target.clone()).or_default();
        *nth += 1;
        (
            Link {
                target,
                tls: false,
                connection,
            },
            *nth,
        )
    }

    pub(super) fn is_opaque(&self, target: &Target) -> bool {
        self.state().opaque.contains_key(target)
    }

    /// Stops decryption of connections to this target and reports the reason.
    pub(super) fn set_opaque(&self, target: &Target, is_guess: bool, reason: String) {
        self.state().opaque.insert(target.clone(), is_guess);
        self.note(Note::Opaque {
            target: target.clone(),
            reason,
        });
    }

    pub(super) fn is_first_question(&self, name: &str, kind: &'static str) -> bool {
        self.state().asked.insert((name.to_owned(), kind))
    }

    /// Records that the program accepts our certificate for this target, and revokes a contrary
    /// guess.
    pub(super) fn mark_trusted(&self, target: &Target) {
        let mut kept = self.state();
        kept.trusted.insert(target.clone());
        if kept.opaque.get(target) == Some(&true) {
            kept.opaque.remove(target);
            kept.notes
                .retain(|note| !matches!(note, Note::Opaque { target: of, .. } if of == target));
        }
    }

    pub(super) fn is_trusted(&self, target: &Target) -> bool {
        self.state().trusted.contains(target)
    }

    /// Takes everything recorded, in the order in which the calls were sent.
    pub(super) fn take_recording(&self) -> Recorded {
        // The programs of these dials have given up.
        let dialing = std::mem::take(&mut self.state().dialing);
        for PendingDial { link, nth, keep } in dialing.into_values() {
            let refusal = Refusal::Connect(libc::ETIMEDOUT);
            self.state().refused(refusal, &link.target);
            if keep {
                self.keep(link.refused(refusal, nth, SystemTime::now()));
            }
        }
        let kept = std::mem::take(&mut *self.state());
        let mut exchanges = kept.exchanges;
        let calls = exchanges.iter().filter(|exchange| !exchange.is_no_call());
        let spoken: HashSet<Target> = calls.map(|call| call.target.clone()).collect();
        exchanges.retain(|exchange| !exchange.is_silent() || !spoken.contains(&exchange.target));
        exchanges.sort_by_key(|exchange| exchange.sent_at);
        join_pieces(&mut exchanges);
        let (exchanges, too_long) = frames::split(exchanges);
        let mut notes = kept.notes;
        notes.extend(too_long.into_iter().map(|what| Note::Lost { what }));
        let (refused, unanswered) = (
            kept.refused.into_iter().collect(),
            kept.unanswered.into_iter().collect(),
        );
        Recorded {
            exchanges,
            workers: Arc::clone(&self.workers),
            refused,
            unanswered,
            notes,
            counts: kept.counts,
            held: kept.share,
        }
    }

    pub(super) fn target(&self, to: SocketAddr) -> Target {
        let host = self
            .names
            .name(to.ip())
            .unwrap_or_else(|| to.ip().to_canonical().to_string());
        Target {
            host,
            port: to.port(),
        }
    }

    /// Returns true if tests are announced at this address.
    pub(super) fn is_agent(&self, to: SocketAddr) -> bool {
        self.agent.as_ref() == Some(&self.target(to))
    }

    /// Returns the handling of calls without a recording: `None` if they fail, else they are
    /// forwarded. `true` if they are recorded, too.
    pub(super) fn miss_forwarding(&self) -> Option<bool> {
        match &self.mode {
            Mode::Pass => Some(false),
            Mode::Record => Some(true),
            Mode::Replay { on_miss, .. } => match on_miss {
                OnMiss::Fail => None,
                OnMiss::Passthrough => Some(false),
                OnMiss::Record => Some(true),
            },
        }
    }

    /// Returns the real addresses of a name; an address resolves to itself.
    pub(super) async fn resolve(self: &Arc<Self>, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            if is_fake(address) {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "the address was given to no name",
                ));
            }
            return Ok(vec![address]);
        }
        let (_, mut found) = self.lookup(host, false);
        let in_time = timeout(
            Duration::from_millis(UPSTREAM_CONNECT_MS),
            found.wait_for(Option::is_some),
        )
        .await;
        match in_time.map_err(|_| io::ErrorKind::TimedOut)?.as_deref() {
            Ok(Some(Ok(addresses))) => Ok(addresses.clone()),
            Ok(Some(Err(kind))) => Err((*kind).into()),
            Ok(None) | Err(_) => Err(io::ErrorKind::Other.into()),
        }
    }

    /// Returns the real addresses of a name that a proxy reaches. Returns none if there are none, or
    /// if the resolver takes long: the proxy may know the name alone.
    pub(super) async fn resolve_beside_proxy(
        self: &Arc<Self>,
        host: &str,
    ) -> io::Result<Vec<IpAddr>> {
        if host.parse::<IpAddr>().is_ok() {
            return self.resolve(host).await;
        }
        let (since, mut found) = self.lookup(host, true);
        let patience = Duration::from_millis(PROXIED_LOOKUP_MS).saturating_sub(since.elapsed());
        match timeout(patience, found.wait_for(Option::is_some)).await {
            Ok(Ok(found)) => Ok(found.clone().and_then(Result::ok).unwrap_or_default()),
            Ok(Err(_)) | Err(_) => Ok(Vec::new()),
        }
    }

    /// Starts one lookup per name for all waiters, because a slow lookup occupies a thread. Returns
    /// its start, too. `keeps_failure` does not repeat a failed lookup at once.
    fn lookup(self: &Arc<Self>, host: &str, keeps_failure: bool) -> Lookup {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, found)) = lookups.get(host)
            && match &*found.borrow() {
                None => true,
                Some(found) => {
                    (found.is_ok() || keeps_failure)
                        && since.elapsed() < Duration::from_millis(RESOLVED_MS)
                }
            }
        {
            return (*since, found.clone());
        }
        if lookups.len() > replay_base::limits::MAX_FAKE_NAMES {
            lookups.clear();
        }
        let (tell, found) = watch::channel(None);
        let lookup = (Instant::now(), found);
        lookups.insert(host.to_owned(), lookup.clone());
        let (wires, places, name) = (
            Arc::clone(&self.wires),
            Arc::clone(&self.resolving),
            host.to_owned(),
        );
        tokio::spawn(async move {
            // The semaphore is never closed.
            let _place = places.acquire().await;
            let asked = tokio::task::spawn_blocking(move || wires.resolve(&name)).await;
            let found = asked.unwrap_or_else(|panic| Err(io::Error::other(panic)));
            tell.send(Some(found.map_err(|error| error.kind())))
        });
        lookup
    }

    /// Connects to the first responsive address that is permitted; `EACCES` if none is. Attempts
    /// overlap, so a silent address does not block the next one (RFC 8305, 5).
    pub(super) async fn dial(
        self: &Arc<Self>,
        target: &Target,
        descriptor: Share,
        is_good: impl Fn(IpAddr) -> bool,
    ) -> io::Result<Stream> {
        let connect = async {
            let mut first = Some(descriptor);
            let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            let mut tried = JoinSet::new();
            let mut left = self.resolve(&target.host).await?.into_iter();
            loop {
                match left.next() {
                    Some(address) if !is_good(address) => {
                        failed = io::Error::from_raw_os_error(libc::EACCES);
                        continue;
                    }
                    Some(address) => {
                        let descriptor = match first.take().map_or_else(|| self.descriptors(1), Ok)
                        {
                            Ok(descriptor) => descriptor,
                            Err(error) => {
                                failed = error;
                                continue;
                            }
                        };
                        let (hub, to) = (Arc::clone(self), SocketAddr::new(address, target.port));
                        if tried.is_empty() && left.len() == 0 {
                            return hub.connect(to, descriptor).await;
                        }
                        tried.spawn(async move { hub.connect(to, descriptor).await });
                    }
                    None if tried.is_empty() => return Err(failed),
                    None => {}
                }
                let patience = if left.len() == 0 {
                    UPSTREAM_CONNECT_MS
                } else {
                    NEXT_ADDRESS_MS
                };
                match timeout(Duration::from_millis(patience), tried.join_next()).await {
                    Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
                    Ok(Some(Ok(Err(error)))) => failed = error,
                    Ok(Some(Err(panic))) => failed = io::Error::other(panic),
                    Ok(None) | Err(_) => {}
                }
            }
        };
        timeout(Duration::from_millis(UPSTREAM_CONNECT_MS), connect)
            .await
            .unwrap_or_else(|_| {
                Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "nothing answered in time",
                ))
            })
    }

    async fn connect(&self, to: SocketAddr, descriptor: Share) -> io::Result<Stream> {
        let place = self.dialing.acquire().await.map_err(io::Error::other)?;
        let (tell, told) = oneshot::channel();
        // A closed receiver no longer waits for the result.
        self.wires
            .dial(to, Box::new(move |dialed| drop(tell.send(dialed))));
        let socket = told
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::NotConnected))??;
        drop(place);
        let stream = Stream::socket(socket, descriptor)?;
        let socket = stream.bottom();
        // On this machine the connection usually is established by now.
        if socket.peer_addr().is_err() {
            // connect(2): a writable socket has finished connecting, and its error is the result.
            socket.writable().await?;
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
        }
        Ok(stream)
    }
}

/// Returns the approximate memory size of an exchange, in bytes.
fn size(exchange: &Exchange) -> usize {
    let fields = |headers: &[(String, Vec<u8>)]| {
        headers
            .iter()
            .map(|(name, value)| name.len() + value.len() + 64)
            .sum::<usize>()
    };
    512 + match &exchange.content {
        Content::Http(http) | Content::Grpc(http) => {
            let response = http.response.as_ref();
            let response = response.map_or(0, |it| {
                fields(&it.headers) + fields(&it.trailers) + it.body.len()
            });
            fields(&http.request.headers)
                + http.request.path.len()
                + http.request.body.len()
                + response
        }
        Content::Dns(dns) => dns.name.len() + dns.answers.iter().map(String::len).sum::<usize>(),
        Content::Wire(_, wire) => {
            let sizes = wire.messages.iter().map(|it| it.bytes.len() + 64);
            wire.meta.size() + sizes.sum::<usize>()
        }
    }
}
