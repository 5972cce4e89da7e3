//! Descriptors of the caller, as this process's own.

use std::os::fd::OwnedFd;

use crate::sandbox::capabilities::look_at;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// Fetches a thread's file descriptor. It is the caller's only if the caller still waits
/// afterwards.
pub(in crate::sandbox) fn fetch(pid: u32, number: i32) -> Result<OwnedFd, Errno> {
    LastCaller::default().fetch(pid, number)
}

/// The thread that called last, which mostly is the next one, too.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct LastCaller(Option<(u32, OwnedFd)>);

impl LastCaller {
    /// Like [`fetch`].
    pub(in crate::sandbox) fn fetch(&mut self, pid: u32, number: i32) -> Result<OwnedFd, Errno> {
        if number < 0 {
            return Err(Errno::BADF);
        }
        if let Some((_, thread)) = self.0.as_ref().filter(|(known, _)| *known == pid) {
            match look_at(|| pidfd_getfd(thread, number, PidfdGetfdFlags::empty())) {
                // It has ended, and another one has its number.
                Err(Errno::SRCH) => {}
                fetched => return fetched,
            }
        }
        // `PIDFD_THREAD` of `linux/pidfd.h`: threads can have descriptors of their own. Since Linux
        // 6.9.
        let thread = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());
        let thread = match pidfd_open(number_of(pid)?, thread) {
            // That of the process may outlive the thread, so it is not kept.
            Err(Errno::INVAL) => {
                let process = pidfd_open(number_of(leader(pid)?)?, PidfdFlags::empty())?;
                return look_at(|| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()));
            }
            other => other?,
        };
        let fetched = look_at(|| pidfd_getfd(&thread, number, PidfdGetfdFlags::empty()));
        self.0 = Some((pid, thread));
        fetched
    }
}

/// Returns true if descriptors can be fetched. This process may do to itself whatever it may do to
/// others, so a refusal is no question of rights.
pub fn can_fetch() -> bool {
    // Nobody has that many, and it is looked for only after the call was let through.
    const NOBODYS: i32 = i32::MAX;
    let fetched = pidfd_open(getpid(), PidfdFlags::empty())
        .and_then(|own| pidfd_getfd(own, NOBODYS, PidfdGetfdFlags::empty()));
    matches!(fetched, Err(Errno::BADF))
}

fn number_of(pid: u32) -> Result<Pid, Errno> {
    Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)
}

/// The process of a thread.
pub(super) fn leader(pid: u32) -> Result<u32, Errno> {
    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| Errno::SRCH)?;
    let line = text.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok())
        .ok_or(Errno::SRCH)
}

/// Kind of a descriptor, as the interception distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// TCP over IPv4 or, if so, IPv6.
    Stream {
        six: bool,
    },
    Datagram {
        six: bool,
    },
    /// A socket of another family.
    Other,
}

impl Kind {
    /// `ENOTSOCK` if it is none.
    pub(super) fn of(socket: &OwnedFd) -> Result<Self, Errno> {
        let six = match socket_domain(socket)? {
            AddressFamily::INET => false,
            AddressFamily::INET6 => true,
            _ => return Ok(Self::Other),
        };
        Ok(match socket_type(socket)? {
            SocketType::STREAM => Self::Stream { six },
            // None of another type is made.
            _ => Self::Datagram { six },
        })
    }
}
