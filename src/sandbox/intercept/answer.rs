//! Answers to intercepted calls, and the operations that precede them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use replay_sys::seccomp::Notification;
use rustix::io::Errno;

use super::call::Network;
use super::descriptor::CallerDescriptor;
use super::messages::Mark;
use super::transfer::{Incoming, Outgoing};

/// An operation that must finish before a call is answered.
#[derive(Debug)]
pub(super) enum Deed {
    /// To connect there, once the server has decided about the connection that this stands for. The
    /// kernel would not have a caller wait that `does_not_wait`.
    Ask {
        via: SocketAddr,
        mark: Mark,
        does_not_wait: bool,
    },
    /// To begin anew once the server has decided about this relay of datagrams.
    Begin {
        call: Network,
        relay: u64,
    },
    Connect(SocketAddr),
    Receive(Incoming),
    Send(Outgoing),
}

/// The answer to a call.
#[derive(Debug)]
pub(super) enum CallAnswer {
    Value(i64),
    GoOn,
    /// A descriptor, and its close-on-exec flag.
    Socket(OwnedFd, bool),
    /// The answer follows after this operation on the socket.
    Later(CallerDescriptor, Deed),
}

/// Reason that a call could not proceed.
#[derive(Debug)]
pub(super) enum Halt {
    Errno(Errno),
    /// The server has not decided about this relay, which the socket needs.
    Undecided(CallerDescriptor, u64),
}

impl From<Errno> for Halt {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// A call that is not answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) asked: Notification,
    pub(super) socket: CallerDescriptor,
    pub(super) deed: Deed,
    pub(super) until: Option<Instant>,
}

pub(super) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO))
}
