//! The thread that waits for the answer to a system call: its memory, descriptors and paths.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place, to look where it is"
)]

mod memory;
mod walk;

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use replay_base::limits::MAX_PATH_BYTES;
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxFlags, accessat, openat,
    readlinkat, statx,
};
use rustix::io::Errno;

use super::capabilities::look_at;
use super::system_call::Object;
pub(crate) use memory::CallerMemory;
pub(crate) use walk::{CallerPath, LookupResult, NameIn, is_procfs, without_slashes};

/// Enough of `/proc/PID/fdinfo/N` to hold its first two lines.
const FDINFO_BYTES: usize = 128;

/// A thread, held by its directory in `/proc` once that was needed: a number alone could be given
/// to another one.
#[derive(Debug)]
pub(crate) struct Caller {
    pid: u32,
    proc: OnceLock<OwnedFd>,
}

impl Caller {
    /// Creates a handle for the thread with this number. Data read through it belong to the caller
    /// only if the caller still waits afterwards.
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            proc: OnceLock::new(),
        }
    }

    /// Its directory in `/proc`. Absolute paths need none.
    fn proc(&self) -> Result<&OwnedFd, Errno> {
        if let Some(proc) = self.proc.get() {
            return Ok(proc);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = openat(CWD, format!("/proc/{}", self.pid), flags, Mode::empty())?;
        Ok(self.proc.get_or_init(|| proc))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns true if the handle has this number. If another thread has the number by now, lookups
    /// through the handle fail.
    pub(crate) fn is(&self, pid: u32) -> bool {
        self.pid == pid
    }

    pub(crate) fn is_there(&self) -> bool {
        // A directory of /proc is one process's, and empty when that has been reaped.
        self.proc().is_ok_and(|proc| {
            accessat(proc, "cwd", Access::EXISTS, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        })
    }

    pub(crate) fn memory(&self) -> CallerMemory {
        CallerMemory::of(self.pid)
    }

    /// Opens (`O_PATH`) the object of a call. Also returns the path, if the call has one.
    pub(crate) fn open(&self, object: Object) -> Result<(OwnedFd, Option<Vec<u8>>), Errno> {
        let (at, follow, empty) = match object {
            Object::Descriptor(fd) if self.is_only_a_path(fd) => return Err(Errno::BADF),
            Object::Descriptor(fd) => return Ok((self.descriptor(fd)?, None)),
            Object::Path { at, follow, empty } => (at, follow, empty),
        };
        let path = self.path(at, empty)?;
        let object = self.find(&path, follow)?.object()?;
        Ok((object, path.into_text()))
    }

    /// Reads a string at an address.
    pub(crate) fn text(&self, address: u64) -> Result<Vec<u8>, Errno> {
        self.memory()
            .text(address, MAX_PATH_BYTES)?
            .ok_or(Errno::NAMETOOLONG)
    }

    /// Returns the value of a line of `/proc/PID/status`.
    pub(crate) fn status(&self, key: &str) -> Result<String, Errno> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid))
            .map_err(|_| Errno::SRCH)?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        value
            .map(|value| value.trim().to_owned())
            .ok_or(Errno::SRCH)
    }

    /// Returns the controlling terminal, as a device number (pts(4)).
    pub(crate) fn terminal(&self) -> Result<u32, Errno> {
        let text =
            std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).map_err(|_| Errno::SRCH)?;
        // The name in brackets may hold anything.
        let number = text
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_ascii_whitespace().nth(4));
        let device = number
            .and_then(|number| number.parse::<i32>().ok())
            .ok_or(Errno::SRCH)?
            .cast_unsigned();
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
        if (136..144).contains(&major) {
            Ok((major - 136) << 20 | minor)
        } else {
            Err(Errno::NXIO)
        }
    }

    /// Calls statx(2) on a descriptor of the caller, or on its working directory (`AT_FDCWD`).
    pub(crate) fn statx(&self, fd: i32, wanted: StatxFlags) -> Result<Statx, Errno> {
        let proc = self.proc()?;
        let link = if fd == libc::AT_FDCWD {
            "cwd"
        } else {
            &format!("fd/{fd}")
        };
        look_at(|| statx(proc, link, AtFlags::empty(), wanted))
    }

    /// Opens the base directory of relative paths.
    fn base(&self, dir: i32) -> Result<OwnedFd, Errno> {
        if dir == libc::AT_FDCWD {
            self.inside("cwd")
        } else {
            self.descriptor(dir)
        }
    }

    fn descriptor(&self, fd: i32) -> Result<OwnedFd, Errno> {
        if fd < 0 {
            return Err(Errno::BADF);
        }
        self.inside(&format!("fd/{fd}")).map_err(|errno| {
            if errno == Errno::NOENT {
                Errno::BADF
            } else {
                errno
            }
        })
    }

    /// Opens the object of a link in the caller's directory of `/proc`.
    fn inside(&self, name: &str) -> Result<OwnedFd, Errno> {
        let proc = self.proc()?;
        look_at(|| openat(proc, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()))
    }

    /// The files that it has open to write to them, and whether to append and nothing else.
    pub(crate) fn written(&self) -> Vec<(OwnedFd, bool)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = self
            .proc()
            .and_then(|proc| openat(proc, "fd", flags, Mode::empty()))
            .and_then(Dir::new);
        let Ok(dir) = dir else { return Vec::new() };
        let numbers = dir.filter_map(|entry| entry.ok()?.file_name().to_str().ok()?.parse().ok());
        let files = numbers.filter(|fd| {
            self.statx(*fd, StatxFlags::TYPE).is_ok_and(|stat| {
                FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile
            })
        });
        let written = files.filter_map(|fd| {
            let flags = self.flags(fd)?;
            let access = flags & OFlags::ACCMODE;
            let is_written = access != OFlags::RDONLY && !flags.contains(OFlags::PATH);
            let appends = access == OFlags::WRONLY && flags.contains(OFlags::APPEND);
            Some((self.descriptor(fd).ok().filter(|_| is_written)?, appends))
        });
        written.collect()
    }

    /// Returns true if descriptors lie unread in one of its sockets.
    pub(crate) fn has_queued_descriptors(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = self
            .proc()
            .and_then(|proc| openat(proc, "fd", flags, Mode::empty()))
            .and_then(Dir::new);
        let names = dir.into_iter().flatten().filter_map(Result::ok);
        let numbers = names.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok());
        let mut sockets = numbers.filter(|fd| {
            self.statx(*fd, StatxFlags::TYPE)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Socket)
        });
        sockets.any(|fd: i32| {
            let text = std::fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", self.pid))
                .unwrap_or_default();
            let queued = text.lines().find_map(|line| line.strip_prefix("scm_fds:"));
            queued.is_some_and(|number| number.trim() != "0")
        })
    }

    /// The files that it has mapped so that it can write to them, without a descriptor: shared, and
    /// not only for reading (`mw`).
    pub(crate) fn mapped(&self) -> Vec<OwnedFd> {
        let smaps = || std::fs::read(format!("/proc/{}/smaps", self.pid));
        let has_shared = |maps: Vec<u8>| {
            maps.split(|byte| *byte == b'\n')
                .any(|line| shared_file(line).is_some())
        };
        if !std::fs::read(format!("/proc/{}/maps", self.pid)).is_ok_and(has_shared) {
            return Vec::new();
        }
        let (mut found, mut file) = (Vec::new(), None);
        for line in smaps().unwrap_or_default().split(|byte| *byte == b'\n') {
            if let Some(flags) = line.strip_prefix(b"VmFlags:") {
                let is_writable = flags
                    .split(u8::is_ascii_whitespace)
                    .any(|flag| flag == b"mw");
                found.extend(file.take().filter(|_| is_writable));
            } else if !line
                .split(u8::is_ascii_whitespace)
                .next()
                .is_some_and(|word| word.ends_with(b":"))
            {
                file = shared_file(line).map(<[u8]>::to_vec);
            }
        }
        found.sort();
        found.dedup();
        let open = |text| {
            let path = self.path_from_here(text)?;
            self.find(&path, false)?.object()
        };
        found
            .into_iter()
            .filter_map(|text| open(text).ok())
            .collect()
    }

    /// Returns true if the descriptor was opened with `O_PATH`, which allows no change (open(2)).
    fn is_only_a_path(&self, fd: i32) -> bool {
        self.flags(fd)
            .is_some_and(|flags| flags.contains(OFlags::PATH))
    }

    /// Returns the open flags of a descriptor.
    fn flags(&self, fd: i32) -> Option<OFlags> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let info = openat(
            self.proc().ok()?,
            format!("fdinfo/{fd}"),
            flags,
            Mode::empty(),
        )
        .ok()?;
        let mut text = [0; FDINFO_BYTES];
        let got = rustix::io::read(&info, &mut text[..]).ok()?;
        let text = String::from_utf8_lossy(&text[..got]);
        let flags = text
            .lines()
            .find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        flags.map(OFlags::from_bits_retain)
    }
}

/// The path in a line of `/proc/PID/maps`, if it is of a file that is mapped shared.
fn shared_file(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(|byte| *byte == b' ');
    let is_shared = words.nth(1)?.get(3) == Some(&b's');
    let path = line
        .iter()
        .position(|byte| *byte == b'/')
        .map(|at| &line[at..])?;
    (is_shared && !path.ends_with(b" (deleted)")).then_some(path)
}

/// Returns the path of a descriptor (proc(5), `/proc/PID/fd`).
pub(crate) fn path_of(object: &OwnedFd) -> Result<PathBuf, Errno> {
    Ok(OsString::from_vec(readlinkat(CWD, link(object), Vec::new())?.into_bytes()).into())
}

/// Returns the procfs link to a descriptor of this process; it survives renames of the file.
pub(crate) fn link(object: impl AsFd) -> String {
    format!("/proc/self/fd/{}", object.as_fd().as_raw_fd())
}

/// Opens the directory of links to this process's descriptors.
pub(crate) fn links() -> Result<OwnedFd, Errno> {
    openat(
        CWD,
        "/proc/self/fd",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}
