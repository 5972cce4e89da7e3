//! The file of the log and the lines that are still to get there.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::chain::{Hasher, Head, Link, check};
use super::entry::{members, time};
use super::verify::CONTINUED;
use crate::limits::MAX_AUDIT_LINE_BYTES;
use crate::policy::Hidden;
use crate::secrets::{identity, leads_to, reading};
use crate::text::escape::hex;

/// Where a log has got to.
pub struct Writing {
    file: File,
    /// Where it was when it was opened.
    place: Hidden,
    pub(super) hasher: Hasher,
    pub(super) head: Head,
    /// Where the last whole line ends.
    pub(super) end: u64,
    /// Lines to be written, without their place in the chain.
    pub(super) waiting: VecDeque<String>,
    /// Whether part of a line may lie behind that.
    is_torn: bool,
}

#[derive(Serialize)]
struct Recovered {
    at: String,
    event: &'static str,
    torn_bytes: u64,
    torn_sha256: String,
}

/// The first line of a log whose chain began in another file: its number and the hash of the line
/// before say where.
#[derive(Serialize)]
struct Continued {
    at: String,
    event: &'static str,
}

impl Writing {
    /// Goes on with the chain of an open and locked file. Fails when its last line is not one of
    /// this chain. Nothing is written but what makes up for a line that was torn when its server
    /// was ended.
    pub fn resume(mut file: File, place: Hidden, hasher: Hasher) -> Result<Self> {
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
                "the last line of the audit log is torn: its server was ended while it wrote"
            );
            writing
                .recover(&torn)
                .context("what makes up for its torn last line cannot be written")?;
        }
        Ok(writing)
    }

    /// Goes on, in a file that is empty, with the chain of the log at this path; a line says so
    /// before all others. Which file that is; `None` if there is none, and the chain begins here.
    /// Fails when its last line is torn or not one of this chain.
    pub fn follow(&mut self, previous: &Path) -> Result<Option<Hidden>> {
        let is_missing = |error: &anyhow::Error| {
            error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let (mut file, is_regular) = match reading::open(previous) {
            Err(error) if is_missing(&error) => {
                tracing::warn!(
                    "there is no log at `{}` to go on from: the chain begins anew",
                    previous.display()
                );
                return Ok(None);
            }
            opened => opened?,
        };
        if !is_regular {
            bail!("it is no regular file");
        }
        let place = identity(previous, &file)?;
        let size = file.metadata().context("it cannot be looked at")?.len();
        let (head, torn) = tail(&mut file, size, &self.hasher)?;
        if !torn.is_empty() {
            bail!(
                "its last line is torn; start a server that goes on in it (--audit), which says so there, and rotate it then"
            );
        }
        if head.seq > 0 {
            self.head = head;
            self.waiting.push_back(members(&Continued {
                at: time(SystemTime::now()),
                event: CONTINUED,
            })?);
        }
        Ok(Some(place))
    }

    /// Writes all that waits. What could not be written goes on waiting.
    pub fn flush(&mut self) -> io::Result<()> {
        self.look()?;
        while let Some(members) = self.waiting.front() {
            let (line, head) = self.head.line(members, &self.hasher);
            self.put(line.as_bytes())?;
            self.head = head;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Whether the file is as it was left, and where it was.
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
        if known.nlink() != 1 {
            return Err(io::Error::other("it has got a second name (a hard link)"));
        }
        if !leads_to(&self.place.path, self.place.id) && !self.is_shut_away() {
            return Err(io::Error::other(
                "its name leads elsewhere: it, or a directory above it, was moved or replaced",
            ));
        }
        Ok(())
    }

    /// Whether only a directory above it is closed to the server, as an agent may close one that it
    /// owns, and the kernel still knows the open file by its name (`proc_pid_fd(5)`).
    fn is_shut_away(&self) -> bool {
        let path = self.place.path.as_path();
        rustix::fs::lstat(path).is_err_and(|errno| errno == Errno::ACCESS)
            && rustix::fs::readlink(
                format!("/proc/self/fd/{}", self.file.as_raw_fd()),
                Vec::new(),
            )
            .is_ok_and(|known| known.to_bytes() == path.as_os_str().as_bytes())
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
        let line = Recovered {
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

/// Where the chain of a file of this size has got to, and the bytes behind its last newline.
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
        Ok(link) => Ok((
            Head {
                seq: link.seq,
                hash: link.hash,
            },
            bytes.split_off(end + 1),
        )),
        Err(what) => bail!(
            "its last line cannot be gone on with: {what}, as {} has it; `replay audit verify` says more. Give the key that \
             it was begun with, or another file",
            hasher.name()
        ),
    }
}
