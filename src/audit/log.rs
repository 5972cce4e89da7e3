//! Writes the log: a line is in the file before the reply of its call leaves. Of a call that runs a
//! program or changes something a line is there before its work begins, too, so that one whose
//! server was killed is not forgotten.
//!
//! What cannot be written waits here, in order, and no call is served until it has been: there are
//! never more lines waiting than calls were in flight when writing failed. The file is locked
//! (flock(2)), so that there is one chain.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::Value;

use super::chain::Hasher;
use super::entry::{self, BackgroundEnd, members, time};
use super::opening;
use super::writing::Writing;
use crate::exec::Background;
use crate::policy::Hidden;
use crate::protocol::{Code, Outcome, RpcError};
use crate::server::{Begun, Entry, Observer};

/// A log that is open, and locked.
pub struct AuditLog {
    /// As the operator named it.
    path: PathBuf,
    key: Option<PathBuf>,
    /// The log whose chain goes on in this one.
    previous: Option<PathBuf>,
    /// What no agent may see: the log, its key where that is a file, and the log before it.
    hidden: Vec<Hidden>,
    /// The tools that run programs or change something.
    changing: RwLock<HashSet<String>>,
    writing: Mutex<Writing>,
    /// How it was when it was last written to. Never locked while something is waited for.
    seen: Mutex<Seen>,
    /// Whether the last line was said. Changes only while `writing` is locked.
    is_over: AtomicBool,
}

#[derive(Default)]
struct Seen {
    standing: WallStatus,
    is_failing: bool,
}

/// How the log is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WallStatus {
    /// Bytes in the file.
    pub bytes: u64,
    /// The number of its last line.
    pub lines: u64,
    /// The hash of that line, to be kept elsewhere and given to `replay audit verify --head`.
    pub head: String,
}

impl AuditLog {
    /// Opens the file, which is made if there is none, and goes on with its chain, or, where it is
    /// new, with that of `previous`, if that is there. `key` is the file of the key, with where
    /// that is if it is a regular one.
    ///
    /// Fails for a file that is no log of this user's alone (`opening::log`), or whose last line is
    /// not one of this chain.
    pub fn open(
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
            seen: Mutex::default(),
            is_over: AtomicBool::new(false),
            writing: Mutex::new(writing),
        };
        log.saw(&log.lock(), &Ok(()));
        Ok(log)
    }

    /// As the operator named it, its key, and the log before it.
    pub fn paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let key = self.key.as_deref().map(|path| ("--audit-key", path));
        let previous = self
            .previous
            .as_deref()
            .map(|path| ("--audit-previous", path));
        std::iter::once(("--audit", self.path.as_path()))
            .chain(key)
            .chain(previous)
    }

    /// What no agent may see, should it lie in an allowed directory.
    pub fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// How lines are hashed.
    pub fn chain(&self) -> &'static str {
        self.lock().hasher.name()
    }

    /// How it was when it was last written to.
    pub fn standing(&self) -> WallStatus {
        self.seen().standing.clone()
    }

    /// From here on there is a line before the work of calls of these tools, too.
    pub fn announce(&self, changing: impl Iterator<Item = String>) {
        self.changing
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(changing);
    }

    /// Writes a line that is about no call. `event` holds `at` and `event`.
    pub fn write(&self, event: &impl Serialize) -> Result<()> {
        let mut writing = self.lock();
        self.add_to(&mut writing, event)
    }

    fn add_to(&self, writing: &mut Writing, event: &impl Serialize) -> Result<()> {
        writing.waiting.push_back(members(event)?);
        self.flush(writing)
            .with_context(|| format!("the audit log `{}` cannot be written", self.path.display()))
    }

    /// Writes that a background command of this client has ended. One that ends with the server has
    /// no line of its own. What cannot be written waits with the rest.
    pub fn background(&self, client: &str, command: &Background) {
        let mut writing = self.lock();
        if self.is_over.load(SeqCst) {
            return;
        }
        if let Err(error) = self.add_to(&mut writing, &BackgroundEnd::of(client, command)) {
            tracing::debug!("{error:#}");
        }
    }

    /// Writes that the server ends. What cannot be written is said in the log of the operator.
    pub fn end(&self) {
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

    /// Whether calls of this tool run a program or change something.
    fn changes(&self, tool: &str) -> bool {
        self.changing
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(tool)
    }

    /// Writes what waits, and says once if that fails.
    fn flush(&self, writing: &mut Writing) -> io::Result<()> {
        let flushed = writing.flush();
        let was_failing = self.saw(writing, &flushed);
        if let (Err(error), false) = (&flushed, was_failing) {
            tracing::error!(
                "the audit log `{}` cannot be written, so no call is served: {error}",
                self.path.display()
            );
        }
        flushed
    }

    /// Keeps how it is; whether writing failed the last time.
    fn saw(&self, writing: &Writing, flushed: &io::Result<()>) -> bool {
        let standing = WallStatus {
            bytes: writing.end,
            lines: writing.head.seq,
            head: writing.head.hash.clone(),
        };
        let now = Seen {
            standing,
            is_failing: flushed.is_err(),
        };
        std::mem::replace(&mut *self.seen(), now).is_failing
    }

    /// Writes what waits; what is said to the client if that fails, which names no path of the
    /// operator's.
    fn settle(&self, writing: &mut Writing, consequence: &str) -> Result<(), RpcError> {
        self.flush(writing).map_err(|error| {
            let message = format!(
                "the audit log cannot be written ({error}), {consequence}\nhint: no call is served until the operator has \
                 seen to that; try again later"
            );
            RpcError::new(Code::Internal, message)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl AuditLog {
    /// As a call does that writes.
    pub(super) fn hold(&self) -> impl Drop {
        self.lock()
    }
}

fn unwritable(error: &serde_json::Error, consequence: &str) -> RpcError {
    let message =
        format!("the line of the audit log for this call cannot be made: {error}; {consequence}");
    RpcError::new(Code::Internal, message)
}

impl Observer for AuditLog {
    /// Waits for no call.
    fn health(&self) -> Option<(&'static str, Value)> {
        serde_json::to_value(self.standing())
            .ok()
            .map(|standing| ("audit", standing))
    }

    /// What waits is tried again: nobody may call while whoever watches says that the server is not
    /// well. Waits for no call: while one writes, it is told how the last attempt went.
    fn is_well(&self) -> bool {
        match self.writing.try_lock() {
            Ok(mut writing) => self.flush(&mut writing).is_ok(),
            Err(TryLockError::Poisoned(poisoned)) => self.flush(&mut poisoned.into_inner()).is_ok(),
            Err(TryLockError::WouldBlock) => !self.seen().is_failing,
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
            // It is the last one, and was not written: nothing has begun.
            writing.waiting.pop_back();
        }
        settled
    }

    fn ended(&self, entry: &Arc<Entry>, reply: Option<&Outcome>) -> Result<(), RpcError> {
        let detail = reply
            .filter(|_| self.changes(&entry.call.tool))
            .and_then(entry::detail);
        let line = entry::call(entry, detail, reply)
            .map_err(|error| unwritable(&error, "what it did stands"))?;
        let mut writing = self.lock();
        writing.waiting.push_back(line);
        self.settle(
            &mut writing,
            "so the answer is withheld; the call was carried out, and what it did stands",
        )
    }
}
