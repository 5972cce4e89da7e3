//! Writes the log: a line is in the file before the reply of its call leaves.
//!
//! What cannot be written waits here, in order, and no call is served until it has been: there are never more lines
//! waiting than calls were in flight when writing failed. The file is locked (flock(2)), so that there is one chain.
#![expect(clippy::disallowed_methods, reason = "the log is the operator's file, named on the command line")]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::chain::{Hasher, Head, Link, check};
use super::entry::{self, members, time};
use crate::limits::MAX_AUDIT_LINE_BYTES;
use crate::protocol::{Code, Outcome, RpcError};
use crate::server::{Begun, Entry, Observer, hex};

/// A log that is open, and locked.
pub struct AuditLog {
    /// As the operator named it.
    path: PathBuf,
    key: Option<PathBuf>,
    writing: Mutex<Writing>,
}

struct Writing {
    file: File,
    hasher: Hasher,
    head: Head,
    /// Where the last whole line ends.
    end: u64,
    /// Lines to be written, without their place in the chain.
    waiting: VecDeque<String>,
    /// Whether part of a line may lie behind that.
    is_torn: bool,
    /// Whether the operator has been told that writing fails.
    is_told: bool,
}

/// How the log is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Bytes in the file.
    pub bytes: u64,
    /// The number of its last line.
    pub lines: u64,
    /// The hash of that line, to be kept elsewhere and given to `replay audit verify --head`.
    pub head: String,
}

#[derive(Serialize)]
struct Recovered {
    at: String,
    event: &'static str,
    torn_bytes: u64,
    torn_sha256: String,
}

impl AuditLog {
    /// Opens the file, which is made if there is none, and goes on with its chain.
    ///
    /// Fails where the last link of the path is symbolic, for anything but a regular file of this user with one name that
    /// others may not write, while another server holds it, and when its last line is not one of this chain.
    pub fn open(path: &Path, key: Option<&Path>, hasher: Hasher) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = open(path, flags | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(opened.map_err(|errno| match errno {
            Errno::LOOP => anyhow!("it is a symbolic link, and must be the file itself"),
            errno => anyhow!("it cannot be opened: {}", io::Error::from(errno)),
        })?);
        let known = file.metadata().context("it cannot be looked at")?;
        if !known.is_file() {
            bail!("it is no regular file");
        }
        if known.nlink() != 1 {
            bail!(
                "it has {} names (hard links), and an agent may reach it by another one; give a file with one",
                known.nlink()
            );
        }
        if known.uid() != rustix::process::geteuid().as_raw() || known.mode() & 0o022 != 0 {
            let (uid, mode) = (known.uid(), known.mode() & 0o7777);
            bail!(
                "others may change it (owner {uid}, mode {mode:04o}); it must be this user's own, without rights to write for others"
            );
        }
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => anyhow!("another server writes to it; give each server a file of its own"),
            errno => anyhow!("it cannot be locked: {}", io::Error::from(errno)),
        })?;
        // Looked at again: another server may have written until it let the lock go.
        let size = file.metadata().context("it cannot be looked at")?.len();
        let (head, torn) = tail(&mut file, size, &hasher)?;
        let mut writing =
            Writing { file, hasher, head, end: size, waiting: VecDeque::new(), is_torn: false, is_told: false };
        if !torn.is_empty() {
            tracing::warn!(
                bytes = torn.len(),
                "the last line of the audit log is torn: its server was ended while it wrote"
            );
            writing.recover(&torn).context("what makes up for its torn last line cannot be written")?;
        }
        Ok(Self { path: path.to_owned(), key: key.map(Path::to_owned), writing: Mutex::new(writing) })
    }

    /// As the operator named it, and its key.
    pub fn paths(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let key = self.key.as_deref().map(|path| ("--audit-key", path));
        std::iter::once(("--audit", self.path.as_path())).chain(key)
    }

    /// How lines are hashed.
    pub fn chain(&self) -> &'static str {
        self.lock().hasher.name()
    }

    /// How it is now.
    pub fn standing(&self) -> Standing {
        let writing = self.lock();
        Standing { bytes: writing.end, lines: writing.head.seq, head: writing.head.hash.clone() }
    }

    /// Writes a line that is about no call. `event` holds `at` and `event`.
    pub fn write(&self, event: &impl Serialize) -> Result<()> {
        let mut writing = self.lock();
        writing.waiting.push_back(members(event)?);
        writing.flush().with_context(|| format!("the audit log `{}` cannot be written", self.path.display()))
    }

    /// Writes that the server ends. What cannot be written is said in the log of the operator.
    pub fn end(&self) {
        #[derive(Serialize)]
        struct End {
            at: String,
            event: &'static str,
        }
        if let Err(error) = self.write(&End { at: time(SystemTime::now()), event: "end" }) {
            tracing::error!("{error:#}");
        }
        let Standing { lines, head, .. } = self.standing();
        tracing::info!(lines, head, "the audit log ends");
    }

    /// Writes what waits; what is said to the client if that fails, which names no path of the operator's.
    fn settle(&self, writing: &mut Writing, consequence: &str) -> Result<(), RpcError> {
        let Err(error) = writing.flush() else {
            writing.is_told = false;
            return Ok(());
        };
        if !std::mem::replace(&mut writing.is_told, true) {
            tracing::error!("the audit log `{}` cannot be written, so no call is served: {error}", self.path.display());
        }
        let message = format!(
            "the audit log cannot be written ({error}), {consequence}\nhint: no call is served until the operator has seen to \
             that; try again later"
        );
        Err(RpcError::new(Code::Internal, message))
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for AuditLog {
    fn health(&self) -> Option<(&'static str, Value)> {
        serde_json::to_value(self.standing()).ok().map(|standing| ("audit", standing))
    }

    fn is_well(&self) -> bool {
        // What waits is tried again: nobody may call while whoever watches says that the server is not well.
        self.lock().flush().is_ok()
    }

    fn begun(&self, _call: &Arc<Begun>) -> Result<(), RpcError> {
        self.settle(&mut self.lock(), "so nothing of this call was done")
    }

    fn ended(&self, entry: &Entry, _reply: Option<&Outcome>) -> Result<(), RpcError> {
        let line = entry::call(entry).map_err(|error| {
            let message =
                format!("the line of the audit log for this call cannot be made: {error}; what it did stands");
            RpcError::new(Code::Internal, message)
        })?;
        let mut writing = self.lock();
        writing.waiting.push_back(line);
        self.settle(&mut writing, "so the answer is withheld; the call was carried out, and what it did stands")
    }
}

impl Writing {
    /// Writes all that waits. What could not be written goes on waiting.
    fn flush(&mut self) -> io::Result<()> {
        self.look()?;
        while let Some(members) = self.waiting.front() {
            let (line, head) = self.head.line(members, &self.hasher);
            self.put(line.as_bytes())?;
            self.head = head;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Whether the file is as it was left.
    fn look(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.end)?;
            self.is_torn = false;
        }
        let known = self.file.metadata()?;
        if known.nlink() == 0 {
            return Err(io::Error::other("it was deleted"));
        }
        if known.len() != self.end {
            return Err(io::Error::other("another program has changed it"));
        }
        Ok(())
    }

    /// Appends whole or not at all: of what could be written in part the rest is taken back.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            self.is_torn = self.file.set_len(self.end).is_err();
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Ends the torn line, and says behind it what it is, unless only its end was missing.
    fn recover(&mut self, torn: &[u8]) -> io::Result<()> {
        if let Ok(Link { seq, prev, hash }) = check(torn, &self.hasher)
            && (seq, &prev) == (self.head.seq + 1, &self.head.hash)
        {
            self.put(b"\n")?;
            self.head = Head { seq, hash };
            return Ok(());
        }
        let (torn_bytes, torn_sha256) = (torn.len() as u64, hex(&Sha256::digest(torn)));
        let line = Recovered { at: time(SystemTime::now()), event: "recovered", torn_bytes, torn_sha256 };
        let (line, head) = self.head.line(&members(&line)?, &self.hasher);
        self.put(&[b"\n", line.as_bytes()].concat())?;
        self.head = head;
        Ok(())
    }
}

/// Where the chain of a file of this size has got to, and the bytes behind its last newline.
fn tail(file: &mut File, size: u64, hasher: &Hasher) -> Result<(Head, Vec<u8>)> {
    if size == 0 {
        return Ok((Head::default(), Vec::new()));
    }
    let from = size.saturating_sub(2 * MAX_AUDIT_LINE_BYTES as u64);
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut bytes));
    read.context("it cannot be read")?;
    let no_log = || anyhow!("it is something else than an audit log; give a file of its own");
    let Some(end) = memchr::memrchr(b'\n', &bytes) else {
        // The first line of a new log may be torn; anything else is not to be written to.
        return if from == 0 && b"{\"seq\":1,\"prev\":".starts_with(&bytes[..bytes.len().min(16)]) {
            Ok((Head::default(), bytes))
        } else {
            Err(no_log())
        };
    };
    let begin = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |newline| newline + 1);
    if begin == 0 && from != 0 {
        return Err(no_log());
    }
    match check(&bytes[begin..end], hasher) {
        Ok(link) => Ok((Head { seq: link.seq, hash: link.hash }, bytes.split_off(end + 1))),
        Err(what) => bail!(
            "its last line cannot be gone on with: {what}, as {} has it; `replay audit verify` says more. Give the key that \
             it was begun with, or another file",
            hasher.name()
        ),
    }
}
