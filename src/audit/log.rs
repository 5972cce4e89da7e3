//! Writer of the audit log. A call's line is in the file before the client gets the reply. Calls
//! that run programs or change something also get a line at their beginning. Such a call is on
//! record even if the server is killed.
//!
//! If a write fails, the lines wait here in order, and the server serves no calls until they are
//! written. The queue is therefore no longer than the number of calls in flight. An exclusive
//! flock(2) on the file keeps the chain single.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use replay_files::policy::{Hidden, TouchedPaths};
use replay_mcp::protocol::{Code, Outcome, RpcError};
use replay_mcp::sessions::{Begun, Entry, Observer};
use replay_sandbox::exec::Background;
use serde::Serialize;
use serde_json::Value;

use super::chain::Hasher;
use super::entry::{self, BackgroundCallEnd, BackgroundEnd, members, time};
use super::opening;
use super::writing::Writing;
use crate::tools::LongCall;

/// An open and locked log.
pub(crate) struct AuditLog {
    /// Path as the operator spelt it.
    path: PathBuf,
    key: Option<PathBuf>,
    /// The log whose chain this one continues.
    previous: Option<PathBuf>,
    /// Files that agents must not see: the log, the previous log, and the key if it is a regular
    /// file.
    hidden: Vec<Hidden>,
    /// Tools that run programs or change something.
    changing: RwLock<HashSet<String>>,
    writing: Mutex<Writing>,
    /// State after the last write. This lock is never held across a wait.
    last_write: Mutex<LastWrite>,
    /// `true` after the last line is written. Changes only while `writing` is locked.
    is_over: AtomicBool,
}

#[derive(Default)]
struct LastWrite {
    standing: WallStatus,
    is_failing: bool,
}

/// State of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct WallStatus {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of the last line.
    pub lines: u64,
    /// Hash of the last line. Kept elsewhere, it can be passed to `replay audit verify --head`.
    pub head: String,
}

impl AuditLog {
    /// Opens the file, creating it if necessary, and continues its chain. A new file continues the
    /// chain of `previous`, if that file exists. `key` is the path of the key file, with its
    /// identity if it is a regular file.
    ///
    /// Fails if other users can change the file (`opening::log`), or if its last line does not
    /// belong to this chain.
    pub(crate) fn open(
        path: &Path,
        key: Option<(&Path, Option<Hidden>)>,
        hasher: Hasher,
        previous: Option<&Path>,
    ) -> Result<Self> {
        let (file, place) = opening::log(path)?;
        let mut writing = Writing::resume(file, place.clone(), hasher)?;
        let previous = previous.filter(|_| writing.end == 0);
        let hidden_previous = match previous {
            Some(path) => writing
                .follow(path)
                .with_context(|| format!("--audit-previous `{}`", path.display()))?,
            None => None,
        };
        let (key, hidden_key) = key.unzip();
        let log = Self {
            path: path.to_owned(),
            key: key.map(Path::to_owned),
            previous: previous
                .filter(|_| hidden_previous.is_some())
                .map(Path::to_owned),
            hidden: std::iter::once(place)
                .chain(hidden_key.flatten())
                .chain(hidden_previous)
                .collect(),
            changing: RwLock::default(),
            last_write: Mutex::default(),
            is_over: AtomicBool::new(false),
            writing: Mutex::new(writing),
        };
        log.record_state(&log.lock(), &Ok(()));
        Ok(log)
    }

    /// Flags and paths of the log, its key and the previous log, as the operator spelt them.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let key = self.key.as_deref().map(|path| ("--audit-key", path));
        let previous = self
            .previous
            .as_deref()
            .map(|path| ("--audit-previous", path));
        std::iter::once(("--audit", self.path.as_path()))
            .chain(key)
            .chain(previous)
    }

    /// Files that agents must not see, even in an allowed directory.
    pub(crate) fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// Name of the hash function.
    pub(crate) fn chain(&self) -> &'static str {
        self.lock().hasher.name()
    }

    /// State of the log after the last write.
    pub(crate) fn standing(&self) -> WallStatus {
        self.last_write().standing.clone()
    }

    /// Calls of these tools also get a line at their beginning from now on.
    pub(crate) fn announce(&self, changing: impl Iterator<Item = String>) {
        self.changing
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(changing);
    }

    /// Writes a line that does not belong to a call. `event` contains `at` and `event`.
    pub(crate) fn write(&self, event: &impl Serialize) -> Result<()> {
        let mut writing = self.lock();
        self.add_to(&mut writing, event)
    }

    fn add_to(&self, writing: &mut Writing, event: &impl Serialize) -> Result<()> {
        writing.waiting.push_back(members(event)?);
        self.flush(writing)
            .with_context(|| format!("the audit log `{}` cannot be written", self.path.display()))
    }

    /// Logs the end of a background command of this client. A command that ends with the server
    /// gets no line. If the write fails, the line waits with the others.
    pub(crate) fn background(&self, client: &str, command: &Background) {
        self.add_end(&BackgroundEnd::of(client, command));
    }

    /// The same for a call in the background.
    pub(crate) fn background_call(
        &self,
        client: &str,
        call: &LongCall,
        outcome: &Outcome,
        record: &TouchedPaths,
    ) {
        self.add_end(&BackgroundCallEnd::of(client, call, outcome, record));
    }

    fn add_end(&self, line: &impl Serialize) {
        let mut writing = self.lock();
        if self.is_over.load(SeqCst) {
            return;
        }
        if let Err(error) = self.add_to(&mut writing, line) {
            tracing::debug!("{error:#}");
        }
    }

    /// Logs the end of the server. A failure goes to the operator's log.
    pub(crate) fn end(&self) {
        #[derive(Serialize)]
        struct End {
            at: String,
            event: &'static str,
        }
        let mut writing = self.lock();
        self.is_over.store(true, SeqCst);
        if let Err(error) = self.add_to(
            &mut writing,
            &End {
                at: time(SystemTime::now()),
                event: "end",
            },
        ) {
            tracing::error!("{error:#}");
        }
        drop(writing);
        let WallStatus { lines, head, .. } = self.standing();
        tracing::info!(lines, head, "the audit log ends");
    }

    /// Returns true if calls of this tool run a program or change something.
    fn changes(&self, tool: &str) -> bool {
        self.changing
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(tool)
    }

    /// Writes the waiting lines, and reports the first of consecutive failures.
    fn flush(&self, writing: &mut Writing) -> io::Result<()> {
        let flushed = writing.flush();
        let was_failing = self.record_state(writing, &flushed);
        if let (Err(error), false) = (&flushed, was_failing) {
            tracing::error!(
                "the audit log `{}` cannot be written, so no call is served: {error}",
                self.path.display()
            );
        }
        flushed
    }

    /// Stores the state of the log. Returns true if the previous write failed.
    fn record_state(&self, writing: &Writing, flushed: &io::Result<()>) -> bool {
        let standing = WallStatus {
            bytes: writing.end,
            lines: writing.head.seq,
            head: writing.head.hash.clone(),
        };
        let now = LastWrite {
            standing,
            is_failing: flushed.is_err(),
        };
        std::mem::replace(&mut *self.last_write(), now).is_failing
    }

    /// Writes the waiting lines. The error is for the client and names none of the operator's
    /// paths.
    fn settle(&self, writing: &mut Writing, consequence: &str) -> Result<(), RpcError> {
        self.flush(writing).map_err(|error| {
            let message = format!(
                "the audit log cannot be written ({error}), {consequence}\nhint: no call is \
                 served until the operator has fixed that; try again later"
            );
            RpcError::new(Code::Internal, message)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_write(&self) -> MutexGuard<'_, LastWrite> {
        self.last_write
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl AuditLog {
    /// Takes the lock, as a writing call does.
    pub(super) fn hold(&self) -> impl Drop {
        self.lock()
    }
}

fn unwritable(error: &serde_json::Error, consequence: &str) -> RpcError {
    let message =
        format!("the audit log line of this call cannot be created: {error}; {consequence}");
    RpcError::new(Code::Internal, message)
}

impl Observer for AuditLog {
    /// Does not wait for calls.
    fn health(&self) -> Option<(&'static str, Value)> {
        serde_json::to_value(self.standing())
            .ok()
            .map(|standing| ("audit", standing))
    }

    /// Retries the waiting lines, since no call may begin while a health check fails. Does not wait
    /// for calls: during a write, the result of the last attempt counts.
    fn is_well(&self) -> bool {
        match self.writing.try_lock() {
            Ok(mut writing) => self.flush(&mut writing).is_ok(),
            Err(TryLockError::Poisoned(poisoned)) => self.flush(&mut poisoned.into_inner()).is_ok(),
            Err(TryLockError::WouldBlock) => !self.last_write().is_failing,
        }
    }

    fn begun(&self, call: &Arc<Begun>) -> Result<(), RpcError> {
        let consequence = "so nothing of this call was done";
        let line = self
            .changes(&call.tool)
            .then(|| entry::begin(call))
            .transpose();
        let line = line.map_err(|error| unwritable(&error, consequence))?;
        let mut writing = self.lock();
        let is_announced = line.is_some();
        writing.waiting.extend(line);
        let settled = self.settle(&mut writing, consequence);
        if settled.is_err() && is_announced {
            // The last line is this call's and was not written, so the call has not begun.
            writing.waiting.pop_back();
        }
        settled
    }

    fn ended(&self, entry: &Arc<Entry>, reply: Option<&Outcome>) -> Result<(), RpcError> {
        let detail = reply
            .filter(|_| self.changes(&entry.call.tool))
            .and_then(entry::detail);
        let line = entry::call(entry, detail, reply)
            .map_err(|error| unwritable(&error, "its changes stay"))?;
        let mut writing = self.lock();
        writing.waiting.push_back(line);
        self.settle(
            &mut writing,
            "so the answer is withheld; the call was carried out, and its changes stay",
        )
    }
}
