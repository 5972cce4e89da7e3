//! What the connections of one recording or replay share.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::judging::Judging;
use super::stream::Stream;
use super::{Counts, Mode, Note, OnMiss, Recorded, Wires};
use crate::budget::{Account, Purpose, Share};
use crate::http_client::Verifier;
use crate::limits::{
    CONNECTION_DESCRIPTORS, MAX_LOOKUPS_AT_ONCE, MAX_RECORDING_BYTES, MAX_RECORDING_NOTES,
    MAX_SOCKETS_ASKED_FOR, MEMORY_LOOK_MS, MEMORY_WAIT_MS, NEXT_ADDRESS_MS, RECORDING_COPIES,
    RESOLVED_MS, UPSTREAM_CONNECT_MS,
};
use crate::record::call::{Content, Exchange, Link, Refusal, Target};
use crate::record::net::ca::Authority;
use crate::record::net::dns::{FakeNames, is_fake};

pub struct Hub {
    /// Who pays for what is kept.
    account: Account,
    /// Who knows where connections go.
    pub wires: Arc<dyn Wires>,
    pub mode: Mode,
    pub authority: Arc<Authority>,
    pub verifier: Arc<Verifier>,
    pub names: FakeNames,
    /// Turns true when all is to end.
    pub stop: watch::Receiver<bool>,
    pub judging: Arc<Judging>,
    /// Places for sockets that are asked for.
    dialing: Semaphore,
    kept: Mutex<Kept>,
    /// Names that were asked for, and since when.
    lookups: Mutex<HashMap<String, Lookup>>,
    /// Places for those that the resolver is at.
    resolving: Arc<Semaphore>,
}

/// What the resolver says of a name.
type Found = Result<Vec<IpAddr>, io::ErrorKind>;
type Lookup = (Instant, watch::Receiver<Option<Found>>);

/// A connection whose server has not answered yet.
pub(super) struct Dialing {
    pub link: Link,
    pub nth: u64,
    pub keep: bool,
}

/// What was recorded so far, and what it takes to record the rest.
#[derive(Default)]
pub(super) struct Kept {
    exchanges: Vec<Exchange>,
    bytes: usize,
    /// What they take of the budget.
    share: Option<Share>,
    notes: Vec<Note>,
    pub counts: Counts,
    /// Targets whose programs do not accept our certificates, and whether that is only a guess: the
    /// program left without a word.
    opaque: HashMap<Target, bool>,
    /// Targets whose programs accept our certificates.
    trusted: HashSet<Target>,
    refused: BTreeSet<Target>,
    unanswered: BTreeSet<Target>,
    of_target: HashMap<Target, u64>,
    /// Names and types that have an exchange.
    asked: HashSet<(String, &'static str)>,
    /// Connections whose servers have not answered yet, by their numbers.
    pub dialing: HashMap<u64, Dialing>,
    /// Targets with an exchange that says that nothing was said.
    silent: HashSet<Target>,
}

impl Kept {
    pub fn refused(&mut self, refusal: Refusal, target: &Target) {
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
    pub fn new(
        wires: Arc<dyn Wires>,
        mode: Mode,
        authority: Arc<Authority>,
        verifier: Arc<Verifier>,
        stop: watch::Receiver<bool>,
        account: Account,
    ) -> Self {
        Self {
            wires,
            account,
            mode,
            authority,
            verifier,
            names: FakeNames::default(),
            stop,
            judging: Judging::new(),
            dialing: Semaphore::new(MAX_SOCKETS_ASKED_FOR),
            kept: Mutex::default(),
            lookups: Mutex::default(),
            resolving: Arc::new(Semaphore::new(MAX_LOOKUPS_AT_ONCE)),
        }
    }

    pub fn share(&self) -> Share {
        self.account.share()
    }

    /// So many bytes for a connection, waited for as long as it takes; that it takes long is told.
    /// Connections go further into the budget than calls that are kept, so a full recording does
    /// not stop the program.
    pub async fn room(&self, bytes: usize) -> Share {
        let begun = Instant::now();
        loop {
            match self.account.try_take(bytes, Purpose::Reply) {
                Ok(share) => return share,
                Err(_) if begun.elapsed() > Duration::from_millis(MEMORY_WAIT_MS) => {
                    self.note(Note::Crowded)
                }
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(MEMORY_LOOK_MS)).await;
        }
    }

    /// So many descriptors for a connection, before they are opened: [`Refusal::NO_ROOM`] if there
    /// are none, which is told.
    pub fn descriptors(&self, count: usize) -> io::Result<Share> {
        self.account.descriptors(count).map_err(|_| {
            self.note(Note::Many(self.most_connections()));
            io::Error::from_raw_os_error(Refusal::NO_ROOM)
        })
    }

    /// Connections that there can be at once while others have none.
    pub fn most_connections(&self) -> usize {
        self.account.most_descriptors() / CONNECTION_DESCRIPTORS
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.kept().counts);
    }

    /// Something to tell beside the calls, once.
    pub fn note(&self, note: Note) {
        let mut kept = self.kept();
        if kept.notes.len() < MAX_RECORDING_NOTES && !kept.notes.contains(&note) {
            kept.notes.push(note);
        }
    }

    pub fn keep(&self, exchange: Exchange) {
        let size = size(&exchange);
        let mut kept = self.kept();
        // However many spare connections there are, one says it.
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

    /// The connection that goes to this target: with a number of its own, and which one to that
    /// target it is, from 1.
    pub fn link(&self, target: Target) -> (Link, u64) {
        let mut kept = self.kept();
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

    pub fn is_opaque(&self, target: &Target) -> bool {
        self.kept().opaque.contains_key(target)
    }

    /// From now on connections to this target are not looked into, which is told.
    pub fn set_opaque(&self, target: &Target, is_guess: bool, reason: String) {
        self.kept().opaque.insert(target.clone(), is_guess);
        self.note(Note::Opaque {
            target: target.clone(),
            reason,
        });
    }

    pub fn is_first_question(&self, name: &str, kind: &'static str) -> bool {
        self.kept().asked.insert((name.to_owned(), kind))
    }

    /// The program accepts our certificate for this target, whatever was guessed before.
    pub fn trusts(&self, target: &Target) {
        let mut kept = self.kept();
        kept.trusted.insert(target.clone());
        if kept.opaque.get(target) == Some(&true) {
            kept.opaque.remove(target);
            kept.notes
                .retain(|note| !matches!(note, Note::Opaque { target: of, .. } if of == target));
        }
    }

    pub fn is_trusted(&self, target: &Target) -> bool {
        self.kept().trusted.contains(target)
    }

    /// All that was recorded, in the order in which the calls were sent.
    pub fn take(&self) -> Recorded {
        // Whoever waited for these has given them up.
        let dialing = std::mem::take(&mut self.kept().dialing);
        for Dialing { link, nth, keep } in dialing.into_values() {
            let refusal = Refusal::Connect(libc::ETIMEDOUT);
            self.kept().refused(refusal, &link.target);
            if keep {
                self.keep(link.refused(refusal, nth, SystemTime::now()));
            }
        }
        let kept = std::mem::take(&mut *self.kept());
        let mut exchanges = kept.exchanges;
        let calls = exchanges.iter().filter(|exchange| !exchange.is_no_call());
        let spoken: HashSet<Target> = calls.map(|call| call.target.clone()).collect();
        exchanges.retain(|exchange| !exchange.is_silent() || !spoken.contains(&exchange.target));
        exchanges.sort_by_key(|exchange| exchange.sent_at);
        let (refused, unanswered) = (
            kept.refused.into_iter().collect(),
            kept.unanswered.into_iter().collect(),
        );
        Recorded {
            exchanges,
            refused,
            unanswered,
            notes: kept.notes,
            counts: kept.counts,
            held: kept.share,
        }
    }

    pub fn target(&self, to: SocketAddr) -> Target {
        let host = self
            .names
            .name(to.ip())
            .unwrap_or_else(|| to.ip().to_canonical().to_string());
        Target {
            host,
            port: to.port(),
        }
    }

    /// Whether what nobody recorded may go to the real server, and is recorded there.
    pub fn beyond(&self) -> Option<bool> {
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

    /// The real addresses of a name, or the address that the host is.
    pub async fn resolve(self: &Arc<Self>, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            if is_fake(address) {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "the address was given to no name",
                ));
            }
            return Ok(vec![address]);
        }
        let mut found = self.lookup(host);
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

    /// Has the resolver asked once for each name, however many wait for it: one that does not
    /// answer holds a thread for long.
    fn lookup(self: &Arc<Self>, host: &str) -> watch::Receiver<Option<Found>> {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, found)) = lookups.get(host)
            && match &*found.borrow() {
                None => true,
                Some(found) => {
                    found.is_ok() && since.elapsed() < Duration::from_millis(RESOLVED_MS)
                }
            }
        {
            return found.clone();
        }
        if lookups.len() > crate::limits::MAX_FAKE_NAMES {
            lookups.clear();
        }
        let (tell, found) = watch::channel(None);
        lookups.insert(host.to_owned(), (Instant::now(), found.clone()));
        let (wires, places, name) = (
            Arc::clone(&self.wires),
            Arc::clone(&self.resolving),
            host.to_owned(),
        );
        tokio::spawn(async move {
            // It is never closed.
            let _place = places.acquire().await;
            let asked = tokio::task::spawn_blocking(move || wires.resolve(&name)).await;
            let found = asked.unwrap_or_else(|panic| Err(io::Error::other(panic)));
            tell.send(Some(found.map_err(|error| error.kind())))
        });
        found
    }

    /// The real server, at the first that answers of its addresses that are good; `EACCES` if none
    /// is. One that does not answer does not keep from the next one (RFC 8305, 5).
    pub async fn dial(
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
        // Who does not wait any more is told nothing.
        self.wires
            .dial(to, Box::new(move |dialed| drop(tell.send(dialed))));
        let socket = told
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::NotConnected))??;
        drop(place);
        let stream = Stream::socket(socket, descriptor)?;
        let socket = stream.bottom();
        // On this machine it mostly is connected by now.
        if socket.peer_addr().is_err() {
            // connect(2): that it can be written to says that it is decided, and the error says
            // how.
            socket.writable().await?;
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
        }
        Ok(stream)
    }
}

/// About what an exchange takes in memory, in bytes.
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
        Content::Wire(_, wire) => wire
            .messages
            .iter()
            .map(|message| message.bytes.len() + 64)
            .sum(),
    }
}
