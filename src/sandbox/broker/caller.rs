//! The thread that waits for an answer: what its paths and descriptors mean.
#![expect(
    clippy::disallowed_methods,
    reason = "opens what the command named, in its place, to look where it is"
)]

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use replay_base::limits::MAX_PATH_BYTES;
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags, accessat,
    openat, openat2, stat, statat, statx,
};
use rustix::io::Errno;

use super::call::Object;
use crate::caller_memory::CallerMemory;
use crate::capabilities::look_at;

/// Enough of `/proc/PID/fdinfo/N` to hold its first two lines.
const FDINFO_BYTES: usize = 128;

/// A thread, held by its directory in `/proc` once that was needed: a number alone could be given
/// to another one.
#[derive(Debug)]
pub struct Caller {
    pid: u32,
    proc: OnceLock<OwnedFd>,
}

impl Caller {
    /// Creates a handle for the thread with this number. Data read through it belong to the caller
    /// only if the caller still waits afterwards.
    pub fn new(pid: u32) -> Self {
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

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns true if the handle has this number. If another thread has the number by now, lookups
    /// through the handle fail.
    pub fn is(&self, pid: u32) -> bool {
        self.pid == pid
    }

    pub fn is_there(&self) -> bool {
        // A directory of /proc is one process's, and empty when that has been reaped.
        self.proc().is_ok_and(|proc| {
            accessat(proc, "cwd", Access::EXISTS, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        })
    }

    pub fn memory(&self) -> CallerMemory {
        CallerMemory::of(self.pid)
    }

    /// Opens (`O_PATH`) what the call names, and says what it called it, if by a path.
    pub fn open(&self, object: Object) -> Result<(OwnedFd, Option<Vec<u8>>), Errno> {
        let (dir, address, follow, empty) = match object {
            Object::Descriptor(fd) if self.is_only_a_path(fd) => return Err(Errno::BADF),
            Object::Descriptor(fd) => return Ok((self.descriptor(fd)?, None)),
            Object::Path {
                dir,
                address,
                follow,
                empty,
            } => (dir, address, follow, empty),
        };
        let path = self.path(address)?;
        if path.is_empty() {
            return if empty {
                Ok((self.base(dir)?, None))
            } else {
                Err(Errno::NOENT)
            };
        }
        Ok((self.open_path(dir, &path, follow)?, Some(path)))
    }

    /// The path that stands at an address.
    pub fn path(&self, address: u64) -> Result<Vec<u8>, Errno> {
        self.memory()
            .text(address, MAX_PATH_BYTES)?
            .ok_or(Errno::NAMETOOLONG)
    }

    /// Opens (`O_PATH`) what a path leads to; an empty one leads to where paths begin.
    pub fn walk_to(&self, dir: i32, path: &[u8]) -> Result<OwnedFd, Errno> {
        if path.is_empty() {
            self.base(dir)
        } else {
            self.open_path(dir, path, true)
        }
    }

    /// Returns device and inode number of the object at a path, for comparisons only. A path below
    /// /proc that names the caller without its number may give another object. `None` if one step
    /// cannot resolve the path.
    pub fn id_of(&self, dir: i32, path: &[u8]) -> Option<(u64, u64)> {
        let stat = if path.starts_with(b"/") {
            stat(OsStr::from_bytes(path))
        } else {
            let base = if dir == libc::AT_FDCWD {
                "cwd/".to_owned()
            } else {
                format!("fd/{dir}/")
            };
            statat(
                self.proc().ok()?,
                OsStr::from_bytes(&[base.as_bytes(), path].concat()),
                AtFlags::empty(),
            )
        };
        stat.ok().map(|stat| (stat.st_dev, stat.st_ino))
    }

    /// Calls statx(2) on a descriptor of the caller.
    pub fn statx(&self, fd: i32, wanted: StatxFlags) -> Result<Statx, Errno> {
        let proc = self.proc()?;
        look_at(|| statx(proc, format!("fd/{fd}"), AtFlags::empty(), wanted))
    }

    fn open_path(&self, dir: i32, path: &[u8], follow: bool) -> Result<OwnedFd, Errno> {
        match own_descriptor(path, self.pid) {
            // C libraries spell it so when the kernel lacks a call on descriptors, or one on paths
            // below them.
            Some((fd, Some(rest))) => self.walk(fd, rest, follow).map_err(not_open),
            Some((fd, None)) if follow => self.descriptor(fd).map_err(not_open),
            Some((fd, None)) => self.open_inside(&format!("fd/{fd}"), OFlags::NOFOLLOW),
            None => self.walk(dir, path, follow),
        }
    }

    /// Follows a path from where the caller stands. Links that procfs makes up (`/proc/self/cwd`)
    /// would mean this process instead of the caller: they end the walk with `ELOOP`.
    fn walk(&self, dir: i32, path: &[u8], follow: bool) -> Result<OwnedFd, Errno> {
        let mut flags = OFlags::PATH | OFlags::CLOEXEC;
        flags.set(OFlags::NOFOLLOW, !follow);
        let opened;
        let (base, path) = match below_own(path) {
            Some(rest) => (self.proc()?.as_fd(), rest),
            None if path.starts_with(b"/") => (CWD, path),
            None => {
                opened = self.base(dir)?;
                (opened.as_fd(), path)
            }
        };
        openat2(
            base,
            Path::new(OsStr::from_bytes(path)),
            flags,
            Mode::empty(),
            ResolveFlags::NO_MAGICLINKS,
        )
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

    /// Opens what a link in its directory of `/proc` stands for.
    fn inside(&self, name: &str) -> Result<OwnedFd, Errno> {
        self.open_inside(name, OFlags::empty())
    }

    fn open_inside(&self, name: &str, more: OFlags) -> Result<OwnedFd, Errno> {
        let proc = self.proc()?;
        look_at(|| {
            openat(
                proc,
                name,
                OFlags::PATH | OFlags::CLOEXEC | more,
                Mode::empty(),
            )
        })
    }

    /// The files that it has open to write to them, and whether to append and nothing else.
    pub fn written(&self) -> Vec<(OwnedFd, bool)> {
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
    pub fn has_queued_descriptors(&self) -> bool {
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
    pub fn mapped(&self) -> Vec<OwnedFd> {
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
        found
            .iter()
            .filter_map(|path| self.walk(libc::AT_FDCWD, path, false).ok())
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

/// Parses a path to a descriptor of the thread itself. Returns the descriptor and the rest of the
/// path, if any.
fn own_descriptor(path: &[u8], pid: u32) -> Option<(i32, Option<&[u8]>)> {
    let own = format!("/proc/{pid}/fd/");
    let number = match path {
        b"/dev/stdin" => b"0",
        b"/dev/stdout" => b"1",
        b"/dev/stderr" => b"2",
        _ => ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/", &own]
            .iter()
            .find_map(|prefix| path.strip_prefix(prefix.as_bytes()))?,
    };
    let slash = number.iter().position(|byte| *byte == b'/');
    let (number, rest) = slash.map_or((number, None), |slash| {
        (&number[..slash], Some(relative(&number[slash..])))
    });
    let plain = number == b"0"
        || number
            .first()
            .is_some_and(|first| (b'1'..=b'9').contains(first));
    let fd = std::str::from_utf8(number)
        .ok()?
        .parse()
        .ok()
        .filter(|_| plain)?;
    Some((fd, rest))
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

/// Converts the error for a path through a closed descriptor: such a path does not exist.
fn not_open(errno: Errno) -> Errno {
    if errno == Errno::BADF {
        Errno::NOENT
    } else {
        errno
    }
}

/// A path without its leading slashes.
fn relative(path: &[u8]) -> &[u8] {
    let slashes = path.iter().take_while(|byte| **byte == b'/').count();
    if slashes == path.len() {
        b"."
    } else {
        &path[slashes..]
    }
}

/// The rest of a path behind the caller's own directory in procfs, which this process would take
/// for its own.
fn below_own(path: &[u8]) -> Option<&[u8]> {
    let own = ["/proc/self/", "/proc/thread-self/"];
    own.iter()
        .find_map(|own| path.strip_prefix(own.as_bytes()))
        .map(relative)
}

/// Returns the procfs link to a descriptor of this process; it survives renames of the file.
pub fn link(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// The directory of these links.
pub fn links() -> Result<OwnedFd, Errno> {
    openat(
        CWD,
        "/proc/self/fd",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}
