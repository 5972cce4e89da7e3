//! Descriptors of the caller, as this process's own.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use replay_sys::time_limit;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::capabilities::look_at;

/// Descriptor of a caller, as this process's own.
///
/// The caller may close its descriptor first. Then `SO_LINGER` makes the close here wait
/// (socket(7)), so that close has a time limit. Only the main thread may drop it.
#[derive(Debug)]
pub(crate) struct CallerDescriptor {
    descriptor: OwnedFd,
    /// Dropped after the descriptor.
    _limit: CloseLimit,
}

/// End of the time limit of a close.
#[derive(Debug)]
struct CloseLimit;

impl Drop for CallerDescriptor {
    fn drop(&mut self) {
        time_limit::begin();
    }
}

impl Drop for CloseLimit {
    fn drop(&mut self) {
        time_limit::end();
    }
}

impl From<OwnedFd> for CallerDescriptor {
    fn from(descriptor: OwnedFd) -> Self {
        Self {
            descriptor,
            _limit: CloseLimit,
        }
    }
}

impl Deref for CallerDescriptor {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        &self.descriptor
    }
}

impl AsFd for CallerDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Fetches a thread's file descriptor. It is the caller's only if the caller still waits
/// afterwards.
pub(crate) fn fetch(pid: u32, number: i32) -> Result<CallerDescriptor, Errno> {
    LastCaller::default().fetch(pid, number)
}

/// The thread that called last, which mostly is the next one, too.
#[derive(Debug, Default)]
pub(crate) struct LastCaller(Option<(u32, OwnedFd)>);

impl LastCaller {
    /// Like [`fetch`].
    pub(crate) fn fetch(&mut self, pid: u32, number: i32) -> Result<CallerDescriptor, Errno> {
        if number < 0 {
            return Err(Errno::BADF);
        }
        if let Some((_, thread)) = self.0.as_ref().filter(|(known, _)| *known == pid) {
            match look_at(|| pidfd_getfd(thread, number, PidfdGetfdFlags::empty())) {
                // It has ended, and another one has its number.
                Err(Errno::SRCH) => {}
                fetched => return fetched.map(Into::into),
            }
        }
        // `PIDFD_THREAD` of `linux/pidfd.h`: threads can have descriptors of their own. Since Linux
        // 6.9.
        let thread = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());
        let thread = match pidfd_open(number_of(pid)?, thread) {
            // That of the process may outlive the thread, so it is not kept.
            Err(Errno::INVAL) => {
                let process = pidfd_open(number_of(leader(pid)?)?, PidfdFlags::empty())?;
                return look_at(|| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()))
                    .map(Into::into);
            }
            other => other?,
        };
        let fetched = look_at(|| pidfd_getfd(&thread, number, PidfdGetfdFlags::empty()));
        self.0 = Some((pid, thread));
        fetched.map(Into::into)
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
pub(super) enum SocketKind {
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

impl SocketKind {
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use replay_sys::exit_now;
    use replay_sys::testing::fork_among_threads;
    use replay_sys::time_limit::limited;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::net::sockopt::set_socket_linger;
    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

    use super::*;

    const DEADLINE: Timespec = Timespec {
        tv_sec: 20,
        tv_nsec: 0,
    };

    /// Returns true if the check passes before the deadline, on the main thread of a child.
    fn passes_in_child(check: impl FnOnce() -> bool) -> bool {
        let (result, sender) = rustix::pipe::pipe().unwrap();
        let Some(child) = fork_among_threads().unwrap() else {
            if check() {
                let _ = rustix::io::write(&sender, b"x");
            }
            exit_now(0)
        };
        drop(sender);
        let mut ready = [PollFd::new(&result, PollFlags::IN)];
        let is_over = poll(&mut ready, Some(&DEADLINE)) == Ok(1);
        let child = Pid::from_raw(child.as_raw()).unwrap();
        let passed = is_over && rustix::io::read(&result, &mut [0; 1]) == Ok(1);
        let _ = kill_process(child, Signal::KILL);
        waitpid(Some(child), WaitOptions::empty()).unwrap();
        passed
    }

    #[test]
    fn close_with_linger_ends_at_time_limit() {
        assert!(passes_in_child(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let _unread = listener.accept().unwrap();
            stream.set_nonblocking(true).unwrap();
            while stream.write(&[0; 1 << 13]).is_ok() {}
            set_socket_linger(&stream, Some(Duration::from_mins(10))).unwrap();
            drop(CallerDescriptor::from(OwnedFd::from(stream)));
            true
        }));
    }

    #[test]
    fn limited_accept_without_connection_is_interrupted() {
        assert!(passes_in_child(|| {
            let listener = OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
            limited(|| rustix::net::accept(&listener)).err() == Some(Errno::INTR)
        }));
    }
}
