//! A tenant: whoever has one token, with tools, grants, commands, sessions and limits of its own.
//! What belongs to one cannot be named by another, since each has a server of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::blocking::Pace;
use super::rate_limit::Bucket;
use super::sessions::Sessions;
use crate::budget::{Account, Purpose, Share};
use crate::limits::{
    HTTP_LOOKS_BURST, HTTP_LOOKS_PER_MINUTE, HTTP_ROOM_LOOK_MS, MAX_HTTP_WAITING_CALLS,
    MAX_HTTP_WEBSOCKETS, MAX_WAITING_REQUESTS, TOKEN_END_LOOK_MS, TOKEN_END_MS,
};
use crate::server::{Metered, Metrics, Service};

/// What is said to whoever sends messages faster than it may.
pub const TOO_MANY: &str = "too many messages in a minute (--rate-limit)";

/// What a tenant is held to.
#[derive(Clone, Copy, Debug)]
pub struct TenantLimits {
    /// Messages in a minute; 0 for any number.
    pub per_minute: u64,
    /// Requests at once, after silence.
    pub burst: u64,
    /// Calls that run at the same time.
    pub max_calls: usize,
    pub max_sessions: usize,
    /// A session that nobody uses for so long ends.
    pub session_idle: Duration,
    /// Connections, be they of HTTP or of `WebSocket`.
    pub max_connections: usize,
}

/// What of a tenant's runs now, beside its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Commands whose call waits for them.
    pub commands: usize,
    /// Commands that run on behind their call.
    pub background: usize,
    /// Its Python sessions that have had an interpreter, each with one word on how it is.
    pub python: Vec<(String, &'static str)>,
}

impl Usage {
    /// How many Python interpreters there are.
    pub fn interpreters(&self) -> usize {
        self.python
            .iter()
            .filter(|(_, word)| matches!(*word, "idle" | "busy"))
            .count()
    }
}

/// What a tenant is served.
pub struct Offer {
    pub service: Arc<dyn Service>,
    /// The names of its tools, as far as they are to be counted by name.
    pub tools: Vec<String>,
    /// What of it runs now.
    pub usage: Box<dyn Fn() -> Usage + Send + Sync>,
    /// What it may reach, and what goes on there, as `Server::place` has it.
    pub place: Box<dyn Fn() -> Value + Send + Sync>,
    /// What its calls leave behind.
    pub leavings: Box<dyn Leavings>,
}

/// What calls leave behind for later calls of the same tenant.
pub trait Leavings: Send + Sync {
    /// Ends all of it that runs, and has nothing new begin.
    fn end(&self);
    /// Whether nothing of it runs any more. To be asked when no call runs.
    fn have_ended(&self) -> bool;
    /// Removes the rest; how many commands still ran. Nothing can be served after that.
    fn remove(&self) -> usize;
}

/// What calls leave behind that leave nothing behind.
#[derive(Debug)]
pub struct Nothing;

impl Leavings for Nothing {
    fn end(&self) {}

    fn have_ended(&self) -> bool {
        true
    }

    fn remove(&self) -> usize {
        0
    }
}

/// A tenant, and the SHA-256 of the token that its client has shown.
pub type Client = (Arc<Tenant>, Option<[u8; 32]>);

pub struct Tenant {
    /// What the operator calls it.
    pub name: String,
    /// Whether it is whoever comes to a server without tokens.
    is_anyone: bool,
    /// SHA-256 of its token; `None` where there is none, or none any more.
    digest: RwLock<Option<[u8; 32]>>,
    /// Whether it sees what all tenants do.
    sees_all: AtomicBool,
    /// What answers it, counted.
    pub service: Arc<dyn Service>,
    /// What of it runs now.
    pub usage: Box<dyn Fn() -> Usage + Send + Sync>,
    /// What it may reach, and what goes on there.
    pub place: Box<dyn Fn() -> Value + Send + Sync>,
    leavings: Box<dyn Leavings>,
    pub metrics: Arc<Metrics>,
    pub sessions: Sessions,
    bucket: Mutex<Bucket>,
    max_calls: usize,
    calls: Arc<Semaphore>,
    /// Calls that only wait for something else.
    waits: Arc<Semaphore>,
    /// Calls that run or wait for a place.
    open: AtomicUsize,
    /// Who pays for requests and replies.
    pub account: Account,
    max_connections: usize,
    connections: Arc<AtomicUsize>,
    websockets: Arc<AtomicUsize>,
    /// What its connections are told when they have to end, by the numbers of their places.
    leaves: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    /// Of requests that are no messages.
    looks: Mutex<Bucket>,
    /// Whether its quick calls are.
    pub pace: Pace,
}

/// One of something that a tenant may have only so many of, until it is dropped.
#[derive(Debug)]
pub struct Held(Arc<AtomicUsize>);

impl Held {
    fn of(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let held = count.fetch_update(SeqCst, SeqCst, |count| (count < most).then_some(count + 1));
        held.is_ok().then(|| Self(Arc::clone(count)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A place in the queue of a tenant.
pub struct Place {
    tenant: Arc<Tenant>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.tenant.open.fetch_sub(1, SeqCst);
    }
}

impl Place {
    /// Waits until the call may run, for as long as the permit lives. `only_waits` says that it
    /// costs no work.
    pub async fn turn(&self, only_waits: bool) -> Option<OwnedSemaphorePermit> {
        let kind = if only_waits {
            &self.tenant.waits
        } else {
            &self.tenant.calls
        };
        Arc::clone(kind).acquire_owned().await.ok()
    }

    /// The same for a call that works, if it may run at once.
    pub fn turn_now(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.tenant.calls).try_acquire_owned().ok()
    }
}

impl Tenant {
    /// A tenant that is served this. Without a digest it is whoever comes.
    pub fn new(
        name: String,
        digest: Option<[u8; 32]>,
        is_operator: bool,
        offer: Offer,
        limits: TenantLimits,
    ) -> Arc<Self> {
        let looks = if limits.per_minute == 0 {
            0
        } else {
            HTTP_LOOKS_PER_MINUTE
        };
        let metrics = Arc::new(Metrics::default());
        let service = Arc::new(Metered::new(
            offer.service,
            offer.tools,
            Arc::clone(&metrics),
        ));
        Arc::new(Self {
            name,
            is_anyone: digest.is_none(),
            digest: RwLock::new(digest),
            sees_all: AtomicBool::new(is_operator),
            account: service.account(),
            service,
            usage: offer.usage,
            place: offer.place,
            leavings: offer.leavings,
            metrics,
            sessions: Sessions::new(limits.max_sessions, limits.session_idle),
            bucket: Mutex::new(Bucket::new(limits.per_minute, limits.burst, Instant::now())),
            max_calls: limits.max_calls,
            calls: Arc::new(Semaphore::new(limits.max_calls)),
            waits: Arc::new(Semaphore::new(MAX_WAITING_REQUESTS)),
            open: AtomicUsize::new(0),
            max_connections: limits.max_connections,
            connections: Arc::default(),
            websockets: Arc::default(),
            leaves: Mutex::default(),
            looks: Mutex::new(Bucket::new(looks, HTTP_LOOKS_BURST, Instant::now())),
            pace: Pace::default(),
        })
    }

    /// Whether it is whoever comes.
    pub fn is_anyone(&self) -> bool {
        self.is_anyone
    }

    /// Whether its token was taken away since the server has started.
    pub fn is_revoked(&self) -> bool {
        !self.is_anyone
            && self
                .digest
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .is_none()
    }

    /// Whether the token with this digest is its own.
    pub fn has_token(&self, digest: [u8; 32]) -> bool {
        *self.digest.read().unwrap_or_else(PoisonError::into_inner) == Some(digest)
    }

    /// Takes its token away for good: it is hung up on, its sessions and calls end, and what they
    /// have left behind is removed. Waits for that at most [`TOKEN_END_MS`]; whether nothing is
    /// left. If something is, this may be tried again.
    pub fn end(&self) -> bool {
        *self.digest.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.sessions.close_all();
        self.hang_up();
        self.leavings.end();
        let until = Instant::now() + Duration::from_millis(TOKEN_END_MS);
        // Nobody enters any more: that takes the token that is gone.
        while self.open.load(SeqCst) > 0 || !self.leavings.have_ended() {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(TOKEN_END_LOOK_MS));
        }
        self.leavings.remove();
        true
    }

    /// Removes what its calls have left behind, when the server ends; how many commands still ran.
    pub fn remove_leavings(&self) -> usize {
        self.leavings.remove()
    }

    /// Whether it sees what all tenants do.
    pub fn is_operator(&self) -> bool {
        self.sees_all.load(SeqCst)
    }

    /// Lets it see what all tenants do, or no more. If it did and does not any more, its
    /// connections are hung up on, as it may look on at one of them. Whether that is so.
    pub fn set_operator(&self, sees_all: bool) -> bool {
        let is_less = self.sees_all.swap(sees_all, SeqCst) && !sees_all;
        if is_less {
            self.hang_up();
        }
        is_less
    }

    fn hang_up(&self) {
        let leaves =
            std::mem::take(&mut *self.leaves.lock().unwrap_or_else(PoisonError::into_inner));
        for leave in leaves.into_values() {
            // It may be about to end by itself.
            let _ = leave.send(());
        }
    }

    /// Keeps what is told when the connection of this number has to be left, whose client has shown
    /// the token with this digest. It is told at once if that was taken away since.
    pub fn keep(&self, number: u64, shown: Option<[u8; 32]>, leave: oneshot::Sender<()>) {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        // Who takes it away writes this first, and looks for connections then.
        if *self.digest.read().unwrap_or_else(PoisonError::into_inner) == shown {
            leaves.insert(number, leave);
        } else {
            let _ = leave.send(());
        }
    }

    /// That connection has ended.
    pub fn forget(&self, number: u64) {
        self.leaves
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&number);
    }

    /// Charges for one look at what is counted and shown; the error is how long to wait.
    pub fn look(&self) -> Result<(), Duration> {
        self.looks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(1, Instant::now())
    }

    /// Charges so many messages; the error is how long to wait.
    pub fn charge(&self, messages: usize) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(messages, Instant::now()).inspect_err(|_| {
            self.metrics.rate_limited.fetch_add(1, Relaxed);
        })
    }

    /// A place in the queue for whoever has shown the token with this digest, if the queue is not
    /// full. Nobody has one whose token was taken away meanwhile.
    pub fn queue(self: &Arc<Self>, shown: Option<[u8; 32]>) -> Option<Place> {
        // Held until it is counted: who takes the token away counts after that.
        let digest = self.digest.read().unwrap_or_else(PoisonError::into_inner);
        if *digest != shown {
            return None;
        }
        let most = self.max_calls + MAX_HTTP_WAITING_CALLS;
        let entered = self
            .open
            .fetch_update(SeqCst, SeqCst, |open| (open < most).then_some(open + 1));
        entered.is_ok().then(|| Place {
            tenant: Arc::clone(self),
        })
    }

    /// One more connection, if it may have one.
    pub fn hold_connection(&self) -> Option<Held> {
        Held::of(&self.connections, self.max_connections)
    }

    /// One more WebSocket, if it may have one.
    pub fn hold_websocket(&self) -> Option<Held> {
        Held::of(&self.websockets, MAX_HTTP_WEBSOCKETS)
    }

    /// Connections that it has, and how many of them are `WebSocket`s.
    pub fn connections(&self) -> (usize, usize) {
        (self.connections.load(SeqCst), self.websockets.load(SeqCst))
    }

    /// Calls that run, and calls that wait.
    pub fn load(&self) -> (usize, usize) {
        let running = self
            .max_calls
            .saturating_sub(self.calls.available_permits());
        (running, self.open.load(SeqCst).saturating_sub(running))
    }

    /// Memory for a reply of so many bytes, waited for: clients that take nothing are hung up on.
    pub async fn give_out(&self, bytes: usize) -> Share {
        loop {
            if let Some(share) = self.try_give_out(bytes) {
                return share;
            }
            tokio::time::sleep(Duration::from_millis(HTTP_ROOM_LOOK_MS)).await;
        }
    }

    /// The same at once, or not at all. A reply larger than all there is takes that, where nothing
    /// else is held.
    pub fn try_give_out(&self, bytes: usize) -> Option<Share> {
        let purpose = Purpose::reply(bytes);
        self.account
            .try_take(bytes.min(self.account.most(purpose)), purpose)
            .ok()
    }
}

/// What a token is known by.
pub fn digest_of(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Finds the tenant whose token this is, with the digest of that. Always looks at all of them, and
/// at every byte: how long it takes says nothing about a token that is nearly right.
pub fn by_token<'a>(
    tenants: &'a [Arc<Tenant>],
    token: &str,
) -> Option<(&'a Arc<Tenant>, [u8; 32])> {
    let given = digest_of(token);
    let mut found = None;
    for tenant in tenants {
        let Some(digest) = *tenant.digest.read().unwrap_or_else(PoisonError::into_inner) else {
            continue;
        };
        let differs = digest
            .iter()
            .zip(given)
            .fold(0, |differs, (own, given)| differs | (own ^ given));
        if std::hint::black_box(differs) == 0 {
            found = Some((tenant, given));
        }
    }
    found
}
