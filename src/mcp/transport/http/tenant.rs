//! A tenant: the holder of one token, with its own tools, grants, commands, sessions and limits.
//! Each tenant has its own server, so it cannot name resources of another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use replay_base::budget::{Account, Purpose, Share};
use replay_base::limits::{HTTP_STATUS_PER_MINUTE, MAX_HTTP_WEBSOCKETS, MAX_WAITING_REQUESTS};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::blocking::BlockingMonitor;
use super::rate_limit::Bucket;
use super::sessions::Sessions;
use crate::sessions::{Metered, Metrics, Service};

/// Time for calls of a revoked token to end before the next token of its name is served, in
/// milliseconds.
const TOKEN_END_MS: u64 = 15_000;
/// Polling interval for that, in milliseconds.
const TOKEN_END_LOOK_MS: u64 = 5;
/// Such requests that a tenant who was silent may send at once.
const HTTP_STATUS_BURST: u64 = 600;
/// Calls of one tenant that may wait for a place before more are refused.
const MAX_HTTP_WAITING_CALLS: usize = 256;
/// Polling interval for that, in milliseconds.
const HTTP_ROOM_LOOK_MS: u64 = 10;

/// Error message above the rate limit.
pub(super) const TOO_MANY: &str = "too many messages in a minute (--rate-limit)";

/// Limits of a tenant.
#[derive(Clone, Copy, Debug)]
pub struct TenantLimits {
    /// Messages per minute; 0 for no limit.
    pub per_minute: u64,
    /// Burst size after silence.
    pub burst: u64,
    /// Maximum number of running calls.
    pub max_calls: usize,
    pub max_sessions: usize,
    /// Idle time after which a session ends.
    pub session_idle: Duration,
    /// Maximum number of connections, HTTP and `WebSocket`.
    pub max_connections: usize,
}

/// Running processes of a tenant, besides its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of commands with a waiting call.
    pub commands: usize,
    /// Number of background commands.
    pub background: usize,
    /// Python sessions that had an interpreter, each with a word for its state.
    pub python: Vec<(String, &'static str)>,
}

impl Usage {
    /// Number of running Python interpreters.
    pub fn interpreters(&self) -> usize {
        self.python
            .iter()
            .filter(|(_, word)| matches!(*word, "idle" | "busy"))
            .count()
    }
}

/// Service and callbacks of a tenant.
pub struct TenantBackend {
    pub service: Arc<dyn Service>,
    /// Tool names for metrics by name.
    pub tools: Vec<String>,
    /// Returns the current usage.
    pub usage: Box<dyn Fn() -> Usage + Send + Sync>,
    /// Returns the status of its server, as `Server::place` does.
    pub place: Box<dyn Fn() -> Value + Send + Sync>,
    /// Work that outlives its calls.
    pub background_work: Box<dyn BackgroundWork>,
}

/// Work that outlives the calls of a tenant, such as background commands.
pub trait BackgroundWork: Send + Sync {
    /// Ends all that runs, and prevents new commands.
    fn end(&self);
    /// Returns true if nothing runs any more. Call it when no call runs.
    fn have_ended(&self) -> bool;
    /// Removes the rest, after which no call can be served. Returns the number of commands that still
    /// ran.
    fn remove(&self) -> usize;
}

/// No work: the calls of the service leave nothing behind.
#[derive(Debug)]
pub struct NoBackgroundWork;

impl BackgroundWork for NoBackgroundWork {
    fn end(&self) {}

    fn have_ended(&self) -> bool {
        true
    }

    fn remove(&self) -> usize {
        0
    }
}

/// A client, as its request shows it.
pub(super) struct Client {
    pub tenant: Arc<Tenant>,
    /// SHA-256 of its token; `None` without tokens.
    pub token: Option<[u8; 32]>,
}

pub struct Tenant {
    /// Name given by the operator.
    pub name: String,
    /// `true` for the single tenant of a server without tokens.
    is_anyone: bool,
    /// SHA-256 of its token; `None` without a token, or if it was revoked.
    digest: RwLock<Option<[u8; 32]>>,
    /// `true` if it sees the calls of all tenants.
    sees_all: AtomicBool,
    /// Its service, with metrics.
    pub service: Arc<dyn Service>,
    /// Returns the current usage.
    pub usage: Box<dyn Fn() -> Usage + Send + Sync>,
    pub place: Box<dyn Fn() -> Value + Send + Sync>,
    background_work: Box<dyn BackgroundWork>,
    pub metrics: Arc<Metrics>,
    pub sessions: Sessions,
    bucket: Mutex<Bucket>,
    max_calls: usize,
    calls: Arc<Semaphore>,
    /// Permits for calls that only wait for something else.
    waits: Arc<Semaphore>,
    /// Number of calls that run or are queued.
    open: AtomicUsize,
    /// Account for the memory of requests and replies.
    pub account: Account,
    max_connections: usize,
    connections: Arc<AtomicUsize>,
    websockets: Arc<AtomicUsize>,
    /// Senders that end its connections, by connection number.
    leaves: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    /// Rate limit of status requests, which are no messages.
    status_bucket: Mutex<Bucket>,
    /// Detects calls that block shared threads.
    pub monitor: BlockingMonitor,
}

/// A unit of a limited count, released when dropped.
#[derive(Debug)]
pub struct CounterGuard(Arc<AtomicUsize>);

impl CounterGuard {
    fn of(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let held = count.fetch_update(SeqCst, SeqCst, |count| (count < most).then_some(count + 1));
        held.is_ok().then(|| Self(Arc::clone(count)))
    }
}

impl Drop for CounterGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A place in a tenant's queue of calls.
pub struct QueuePlace {
    tenant: Arc<Tenant>,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.tenant.open.fetch_sub(1, SeqCst);
    }
}

impl QueuePlace {
    /// Waits until the call may run. It may run while the permit lives. `only_waits` selects the
    /// queue of calls without work.
    pub async fn wait_for_permit(&self, only_waits: bool) -> Option<OwnedSemaphorePermit> {
        let kind = if only_waits {
            &self.tenant.waits
        } else {
            &self.tenant.calls
        };
        Arc::clone(kind).acquire_owned().await.ok()
    }

    /// Returns a permit for a call that works, if one is free.
    pub fn free_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.tenant.calls).try_acquire_owned().ok()
    }
}

impl Tenant {
    /// Creates a tenant with this backend. Without a digest it serves clients without tokens.
    pub fn new(
        name: String,
        digest: Option<[u8; 32]>,
        is_operator: bool,
        backend: TenantBackend,
        limits: TenantLimits,
    ) -> Arc<Self> {
        let status_rate = if limits.per_minute == 0 {
            0
        } else {
            HTTP_STATUS_PER_MINUTE
        };
        let metrics = Arc::new(Metrics::default());
        let service = Arc::new(Metered::new(
            backend.service,
            backend.tools,
            Arc::clone(&metrics),
        ));
        Arc::new(Self {
            name,
            is_anyone: digest.is_none(),
            digest: RwLock::new(digest),
            sees_all: AtomicBool::new(is_operator),
            account: service.account(),
            service,
            usage: backend.usage,
            place: backend.place,
            background_work: backend.background_work,
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
            status_bucket: Mutex::new(Bucket::new(status_rate, HTTP_STATUS_BURST, Instant::now())),
            monitor: BlockingMonitor::default(),
        })
    }

    /// Returns true for the tenant of a server without tokens.
    pub fn is_anyone(&self) -> bool {
        self.is_anyone
    }

    /// Returns true if its token was revoked since the start.
    pub fn is_revoked(&self) -> bool {
        !self.is_anyone
            && self
                .digest
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .is_none()
    }

    /// Returns true if its token has this digest.
    pub fn has_token(&self, digest: [u8; 32]) -> bool {
        *self.digest.read().unwrap_or_else(PoisonError::into_inner) == Some(digest)
    }

    /// Revokes its token: ends its connections, sessions and calls, and removes their remains.
    /// Waits for that at most [`TOKEN_END_MS`]. Returns true if everything has ended; otherwise it
    /// can be called again.
    pub fn end(&self) -> bool {
        *self.digest.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.sessions.close_all();
        self.hang_up();
        self.background_work.end();
        let until = Instant::now() + Duration::from_millis(TOKEN_END_MS);
        // No new call is queued: that needs the revoked token.
        while self.open.load(SeqCst) > 0 || !self.background_work.have_ended() {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(TOKEN_END_LOOK_MS));
        }
        self.background_work.remove();
        true
    }

    /// Removes the remains of its calls when the server ends. Returns the number of commands that
    /// still ran.
    pub fn remove_background_work(&self) -> usize {
        self.background_work.remove()
    }

    /// Returns true if it sees the calls of all tenants.
    pub fn is_operator(&self) -> bool {
        self.sees_all.load(SeqCst)
    }

    /// Grants or withdraws the right to see the calls of all tenants. Returns true if it was
    /// withdrawn; all connections are closed then, as one may show other tenants' calls.
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
            // The connection may be ending already.
            let _ = leave.send(());
        }
    }

    /// Stores the sender that ends a connection, whose client used the token with this digest.
    /// Signals it at once if the token was revoked since.
    pub fn keep(&self, number: u64, token: Option<[u8; 32]>, leave: oneshot::Sender<()>) {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        // Revocation clears the digest first, and reads this table then.
        if *self.digest.read().unwrap_or_else(PoisonError::into_inner) == token {
            leaves.insert(number, leave);
        } else {
            let _ = leave.send(());
        }
    }

    /// Removes the sender of an ended connection.
    pub fn forget(&self, number: u64) {
        self.leaves
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&number);
    }

    /// Charges one status request. The error is the time to wait.
    pub fn charge_status(&self) -> Result<(), Duration> {
        self.status_bucket
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(1, Instant::now())
    }

    /// Charges messages. The error is the time to wait.
    pub fn charge(&self, messages: usize) -> Result<(), Duration> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(messages, Instant::now()).inspect_err(|_| {
            self.metrics.rate_limited.fetch_add(1, Relaxed);
        })
    }

    /// Returns a place in the queue if it is not full, and if the token with this digest was not
    /// revoked since.
    pub fn queue(self: &Arc<Self>, token: Option<[u8; 32]>) -> Option<QueuePlace> {
        // Locked until the call is counted: a revocation counts the calls after that.
        let digest = self.digest.read().unwrap_or_else(PoisonError::into_inner);
        if *digest != token {
            return None;
        }
        let most = self.max_calls + MAX_HTTP_WAITING_CALLS;
        let entered = self
            .open
            .fetch_update(SeqCst, SeqCst, |open| (open < most).then_some(open + 1));
        entered.is_ok().then(|| QueuePlace {
            tenant: Arc::clone(self),
        })
    }

    /// Counts a connection, if below the limit.
    pub fn hold_connection(&self) -> Option<CounterGuard> {
        CounterGuard::of(&self.connections, self.max_connections)
    }

    /// Counts a WebSocket, if below the limit.
    pub fn hold_websocket(&self) -> Option<CounterGuard> {
        CounterGuard::of(&self.websockets, MAX_HTTP_WEBSOCKETS)
    }

    /// Number of its connections, and of `WebSocket`s among them.
    pub fn connections(&self) -> (usize, usize) {
        (self.connections.load(SeqCst), self.websockets.load(SeqCst))
    }

    /// Number of running calls, and of queued calls.
    pub fn load(&self) -> (usize, usize) {
        let running = self
            .max_calls
            .saturating_sub(self.calls.available_permits());
        (running, self.open.load(SeqCst).saturating_sub(running))
    }

    /// Waits for memory for a reply of `bytes` bytes. Clients that read nothing time out and free
    /// theirs.
    pub async fn give_out(&self, bytes: usize) -> Share {
        loop {
            if let Some(share) = self.try_give_out(bytes) {
                return share;
            }
            tokio::time::sleep(Duration::from_millis(HTTP_ROOM_LOOK_MS)).await;
        }
    }

    /// Reserves memory for a reply without waiting. A reply above the total takes the total, if
    /// nothing else is reserved.
    pub fn try_give_out(&self, bytes: usize) -> Option<Share> {
        let purpose = Purpose::reply(bytes);
        self.account
            .try_take(bytes.min(self.account.most(purpose)), purpose)
            .ok()
    }
}

/// Returns the digest that identifies a token.
pub(super) fn digest_of(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Finds the tenant of this token, and the token's digest. Always compares all tenants and all
/// bytes, so the time reveals nothing about similar tokens.
pub(super) fn by_token<'a>(
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
