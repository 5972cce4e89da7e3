//! The log file, and the lines waiting to be written to it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow, bail};
use replay_base::limits::MAX_AUDIT_LINE_BYTES;
use replay_base::text::escape::hex;
use replay_files::policy::Hidden;
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::chain::{Hasher, Head, Link, check};
use super::entry::{members, time};
use super::verify::CONTINUED;
use crate::secrets::{identity, leads_to, reading};

/// An open log file and the end of its chain.
pub(super) struct Writing {
    file: File,
    /// Path and identity of the file when it was opened.
    place: Hidden,
    pub(super) hasher: Hasher,
    pub(super) head: Head,
    /// Offset of the end of the last whole line.
    pub(super) end: u64,
    /// Lines to be written, without their position in the chain.
    pub(super) waiting: VecDeque<String>,
    /// `true` if part of a line may follow `end`.
    is_torn: bool,
}

#[derive(Serialize)]
struct RecoveredLine {
    at: String,
    event: &'static str,
    torn_bytes: u64,
    torn_sha256: String,
}

/// First line of a log that continues the chain of another file. The position in the chain is in
/// `seq` and `prev`.
#[derive(Serialize)]
struct ContinuedLine {
    at: String,
    event: &'static str,
}

impl Writing {
    /// Continues the chain of an open and locked file. Fails if the last line does not belong to
    /// this chain. Writes only the line that follows up a torn line.
    pub(super) fn resume(mut file: File, place: Hidden, hasher: Hasher) -> Result<Self> {
        let size = file.metadata().context("it cannot be looked at")?.len();
        let (head, torn) = tail(&mut file, size, &hasher)?;
        let mut writing = Self {
            file,
            place,
            hasher,
            head,
            end: size,
            waiting: VecDeque::new(),
            is_torn: false,
        };
        if !torn.is_empty() {
            tracing::warn!(
                bytes = torn.len(),
                "the last line of the audit log is torn: its server was killed while it wrote"
            );
            writing
                .recover(&torn)
                .context("the line that completes its torn last line cannot be written")?;
        }
        Ok(writing)
    }

    /// Continues the chain of the log at this path in an empty file, whose first line says so.
    /// Returns the identity of the previous file; `None` if there is none and a new chain begins.
    /// Fails if its last line is torn or not of this chain.
    pub(super) fn follow(&mut self, previous: &Path) -> Result<Option<Hidden>> {
        let is_missing = |error: &anyhow::Error| {
            error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let (mut file, is_regular) = match reading::open(previous) {
            Err(error) if is_missing(&error) => {
                tracing::warn!(
                    "no log to continue at `{}`: a new chain begins",
                    previous.display()
                );
                return Ok(None);
            }
            opened => opened?,
        };
        if !is_regular {
            bail!("it is not a regular file");
        }
        let place = identity(previous, &file)?;
        let size = file.metadata().context("it cannot be looked at")?.len();
        let (head, torn) = tail(&mut file, size, &self.hasher)?;
        if !torn.is_empty() {
            bail!(
                "its last line is torn; start a server with it (--audit), which records that, and \
                 rotate it then"
            );
        }
        if head.seq > 0 {
            self.head = head;
            self.waiting.push_back(members(&ContinuedLine {
                at: time(SystemTime::now()),
                event: CONTINUED,
            })?);
        }
        Ok(Some(place))
    }

    /// Writes the waiting lines. Lines that could not be written stay in the queue.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.check_file()?;
        while let Some(members) = self.waiting.front() {
            let (line, head) = self.head.line(members, &self.hasher);
            self.put(line.as_bytes())?;
            self.head = head;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Checks that the file is unchanged since the last write and still at its path.
    fn check_file(&mut self) -> io::Result<()> {
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
        if known.nlink() != 1 {
            return Err(io::Error::other("it has got a second name (a hard link)"));
        }
        if !leads_to(&self.place.path, self.place.id) && !self.is_parent_inaccessible() {
            return Err(io::Error::other(
                "its path leads to another file: it, or a directory above it, was moved or \
                 replaced",
            ));
        }
        Ok(())
    }

    /// Returns true if only the search permission of a parent directory is missing, and the kernel
    /// still knows the open file by its path (`proc_pid_fd(5)`). An agent may close a directory
    /// that it owns.
    fn is_parent_inaccessible(&self) -> bool {
        let path = self.place.path.as_path();
        rustix::fs::lstat(path).is_err_and(|errno| errno == Errno::ACCESS)
            && rustix::fs::readlink(
                format!("/proc/self/fd/{}", self.file.as_raw_fd()),
                Vec::new(),
            )
            .is_ok_and(|known| known.to_bytes() == path.as_os_str().as_bytes())
    }

    /// Appends all bytes or none: truncates the file after a partial write.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            self.is_torn = self.file.set_len(self.end).is_err();
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Ends the torn line and appends a line that describes it. If only the newline was missing,
    /// appends that alone.
    fn recover(&mut self, torn: &[u8]) -> io::Result<()> {
        if let Ok(Link { seq, prev, hash }) = check(torn, &self.hasher)
            && (seq, &prev) == (self.head.seq + 1, &self.head.hash)
        {
            self.put(b"\n")?;
            self.head = Head { seq, hash };
            return Ok(());
        }
        let (torn_bytes, torn_sha256) = (torn.len() as u64, hex(&Sha256::digest(torn)));
        let line = RecoveredLine {
            at: time(SystemTime::now()),
            event: "recovered",
            torn_bytes,
            torn_sha256,
        };
        let (line, head) = self.head.line(&members(&line)?, &self.hasher);
        self.put(&[b"\n", line.as_bytes()].concat())?;
        self.head = head;
        Ok(())
    }
}

/// Returns the end of the chain in a file of this size, and the bytes after its last newline.
fn tail(file: &mut File, size: u64, hasher: &Hasher) -> Result<(Head, Vec<u8>)> {
    if size == 0 {
        return Ok((Head::default(), Vec::new()));
    }
    let from = size.saturating_sub(2 * MAX_AUDIT_LINE_BYTES as u64);
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(from))
        .and_then(|_| file.read_to_end(&mut bytes));
    read.context("it cannot be read")?;
    let no_log = || anyhow!("it is not an audit log; give a separate file");
    let Some(end) = memchr::memrchr(b'\n', &bytes) else {
        // The first line of a new log may be torn. Never write to any other file.
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
        Ok(link) => Ok((
            Head {
                seq: link.seq,
                hash: link.hash,
            },
            bytes.split_off(end + 1),
        )),
        Err(what) => bail!(
            "its last line cannot be continued: {what}, as {} has it; see `replay audit verify`. \
             Give the key of the log, or another file",
            hasher.name()
        ),
    }
}
