//! Locations of the targets of all attempts.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::outcome::{Stopped, Try, blocked, through};

/// Parameters that the outer half passes to the inner half.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// A directory that nobody allowed.
    pub outside: PathBuf,
    /// A directory allowed for reading and writing.
    pub rw: PathBuf,
    /// Another.
    pub rw2: PathBuf,
    /// A directory allowed for reading.
    pub ro: PathBuf,
    /// Content of every file that must not be read.
    pub canary: String,
    /// Part of the names that attempts use, so that left-overs can be found.
    pub nonce: String,
    /// The process that asks for commands.
    pub server: i32,
    /// Its launcher, if the outer half knows it.
    pub launcher: Option<i32>,
    /// A process of the same user with the canary in its arguments and environment, and in the file
    /// that is its descriptor 9.
    pub victim: i32,
    /// Another of the same kind.
    pub target: i32,
    /// An address at which the victim's memory begins with the four bytes of an ELF file.
    pub address: u64,
    /// A TCP port of 127.0.0.1 at which somebody listens.
    pub tcp: u16,
    /// A TCP port of `::1`, if there is such an address.
    pub tcp6: Option<u16>,
    /// A UDP port of 127.0.0.1 at which somebody listens.
    pub udp: u16,
    /// An abstract address at which somebody listens.
    pub abstract_stream: String,
    pub abstract_datagrams: String,
    /// A segment of System V shared memory with the canary in it.
    pub segment: i32,
    /// A System V queue of messages.
    pub messages: i32,
    /// A set of one System V semaphore.
    pub semaphores: i32,
    /// A POSIX queue of messages, if the kernel has them.
    pub queue: Option<String>,
    /// A file with the canary in it in `/dev/shm`.
    pub memory: PathBuf,
    /// A pseudoterminal whose other side is read, if there could be one.
    pub terminal: Option<PathBuf>,
    /// Devices that the operator gives to commands.
    pub devices: Vec<PathBuf>,
    /// Disks of the machine.
    pub disks: Vec<PathBuf>,
    /// Sockets of services that are on this machine.
    pub services: Vec<PathBuf>,
    /// Programs below `ro` that would give more rights to who starts them.
    pub set_uid: Option<PathBuf>,
    /// A copy of cat(1) with a file capability.
    pub capable: Option<PathBuf>,
    /// Device and inode of `/`.
    pub root: (u64, u64),
    /// Device and inode of the directory in which the one lies that holds all the allowed ones.
    pub above: (u64, u64),
    /// The outer half's `/proc/self/ns/net` and `/proc/self/ns/pid`, as links read.
    pub network: String,
    /// See `network`.
    pub processes: String,
    /// Supervisor of the command; the inner half finds it itself.
    #[serde(default)]
    pub supervisor: i32,
}

impl Stage {
    pub fn beyond(&self, name: &str) -> PathBuf {
        self.outside.join(name)
    }

    /// Processes that are none of the command's business, with their names.
    pub(super) fn strangers(&self) -> Vec<(String, i32)> {
        let named = [
            ("the victim", Some(self.victim)),
            ("the server", Some(self.server)),
            ("the launcher", self.launcher),
        ];
        let own = self.own_processes();
        // In a pid namespace of its own such a number is nobody's, or by chance that of one of the
        // command's.
        let chance = |pid: i32| {
            own && (pid == 1
                || pid == self.supervisor
                || Path::new(&format!("/proc/{pid}")).exists())
        };
        named
            .into_iter()
            .filter_map(|(name, pid)| Some((name.to_owned(), pid?)))
            .filter(|(_, pid)| !chance(*pid))
            .collect()
    }

    /// The same and the supervisor.
    pub(super) fn others(&self) -> Vec<(String, i32)> {
        let mut found = self.strangers();
        found.push(("the supervisor".to_owned(), self.supervisor));
        found
    }

    /// Returns true if this process is in another pid namespace than the outer half.
    pub(super) fn own_processes(&self) -> bool {
        is_other_namespace("pid", &self.processes)
    }

    /// Returns true if this process is in another network namespace than the outer half.
    pub(super) fn own_network(&self) -> bool {
        is_other_namespace("net", &self.network)
    }

    /// Through if these bytes have the canary in them.
    pub(super) fn secret(&self, bytes: &[u8]) -> Try {
        let wanted = self.canary.as_bytes();
        if bytes.windows(wanted.len()).any(|window| window == wanted) {
            return through("the canary");
        }
        blocked(format!("{} bytes without the canary", bytes.len()))
    }

    /// Through if this file can be read and has the canary in it.
    pub(super) fn reads(&self, path: impl AsRef<Path>) -> Try {
        self.secret(&fs::read(path)?)
    }
}

fn is_other_namespace(kind: &str, outer: &str) -> bool {
    fs::read_link(format!("/proc/self/ns/{kind}")).is_ok_and(|link| link.as_os_str() != outer)
}

/// A path as the raw calls take it.
pub(super) fn text(path: &Path) -> Result<CString, Stopped> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Stopped::NotPossible("a path with a NUL".to_owned()))
}

pub(super) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}
