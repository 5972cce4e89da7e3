//! The command's sockets, where its descriptors cannot be fetched.
//!
//! The default filter of container runtimes refuses `pidfd_getfd(2)` to who may not trace others.
//! Every socket of the command is made here, so a descriptor of it can stay, and be found again by
//! the inode number that `/proc/PID/fd/NUMBER` leads to (proc(5)). As long as it stays the kernel
//! does not end a connection that the command has closed. So it goes as soon as the command needs
//! no more help with it, or nobody in the command has the socket open any more.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use replay_base::limits::MAX_INTERCEPTED_SOCKETS;
use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::net::getpeername;

use super::address::{AddressArgument, read_from, write_to};
use super::answer::CallAnswer;
use super::call::Network;
use super::descriptor::{CallerDescriptor, SocketKind, can_fetch, leader};
use super::destinations::{Destination, Destinations};
use super::own_ports::Holder;
use crate::caller::CallerMemory;
use crate::descriptors::at_most;
use crate::kill_scope::descendants;

/// Sockets of an intercepted command that a supervisor which cannot fetch them keeps; beyond that
/// the command can make none.
const MAX_KEPT_SOCKETS: usize = 4096;

/// Descriptors of sockets by the inode numbers of these.
#[derive(Debug, Default)]
pub(super) struct SocketTable {
    /// See [`Rules::strict`](super::Rules::strict).
    is_strict: bool,
    held: HashMap<u64, HeldSocket>,
    connected: HashMap<u64, Connected>,
    order: VecDeque<u64>,
}

#[derive(Debug)]
struct HeldSocket {
    socket: CallerDescriptor,
    /// Process and descriptor that had the socket open at the last search.
    holder: Holder,
}

/// A connection whose descriptor was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Connected {
    /// Destination that the command requested, unless its own socket.
    to: Option<SocketAddr>,
    /// It knows that it is connected.
    is_told: bool,
}

/// Socket of a descriptor of the caller.
#[derive(Debug)]
pub(super) enum Lookup {
    /// A socket with a descriptor in this process.
    Open(CallerDescriptor),
    /// A socket without a descriptor here, by its inode number: of another family, accepted, or
    /// released.
    Elsewhere(u64),
}

impl SocketTable {
    /// Something to keep descriptors in, if they cannot be fetched.
    pub(super) fn if_needed(is_strict: bool) -> Option<Self> {
        (!can_fetch()).then(|| Self {
            is_strict,
            ..Self::default()
        })
    }

    /// Keeps a socket that was given to the command.
    pub(super) fn hold(&mut self, socket: CallerDescriptor, holder: Holder) {
        // A thread may end before its process.
        let holder = Holder {
            pid: leader(holder.pid).unwrap_or(holder.pid),
            ..holder
        };
        if let Some(inode) = inode_of(&socket) {
            self.connected.remove(&inode);
            self.held.insert(inode, HeldSocket { socket, holder });
        }
    }

    /// `ENFILE` if no more can be kept.
    pub(super) fn make_room(&mut self) -> Result<(), Errno> {
        let most = at_most(MAX_KEPT_SOCKETS, 2);
        if self.held.len() >= most {
            self.sweep();
        }
        if self.held.len() < most {
            Ok(())
        } else {
            Err(Errno::NFILE)
        }
    }

    pub(super) fn find(&self, holder: Holder) -> Result<Lookup, Errno> {
        let inode = inode_at(holder)?;
        Ok(match self.held.get(&inode) {
            Some(held) => {
                let socket = held.socket.try_clone().map_err(|_| Errno::MFILE)?;
                Lookup::Open(socket.into())
            }
            None => Lookup::Elsewhere(inode),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Lets go of a socket, and remembers where it leads.
    fn release(&mut self, inode: u64, connected: Option<Connected>) {
        if self.held.remove(&inode).is_none() {
            return;
        }
        let Some(connected) = connected else { return };
        if self.connected.insert(inode, connected).is_none() {
            self.order.push_back(inode);
        }
        while self.order.len() > MAX_INTERCEPTED_SOCKETS
            && let Some(first) = self.order.pop_front()
        {
            self.connected.remove(&first);
        }
    }

    /// Lets go of what nobody in the command has open any more.
    pub(super) fn sweep(&mut self) {
        let mut lost: HashSet<u64> = self
            .held
            .iter()
            .filter(|(inode, held)| inode_at(held.holder) != Ok(**inode))
            .map(|(inode, _)| *inode)
            .collect();
        if lost.is_empty() {
            return;
        }
        // Somebody may have it from its first owner.
        for process in descendants() {
            let pid = process.as_raw().cast_unsigned();
            #[expect(clippy::disallowed_methods, reason = "a directory of the kernel")]
            let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
                continue;
            };
            for number in open
                .flatten()
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            {
                let holder = Holder { pid, number };
                if let Ok(inode) = inode_at(holder)
                    && lost.remove(&inode)
                    && let Some(held) = self.held.get_mut(&inode)
                {
                    held.holder = holder;
                }
            }
        }
        self.held.retain(|inode, _| !lost.contains(inode));
    }

    /// A TCP socket is connected; whether the caller knows.
    pub(super) fn settled(&mut self, destinations: &Destinations, socket: &OwnedFd, is_told: bool) {
        // Where the kernel goes on with nothing, all that is sent with an address needs the
        // descriptor.
        if self.is_strict || getpeername(socket).is_err() {
            return;
        }
        let to = match destinations.get(socket) {
            Some(Destination::Led { to, .. }) => Some(to),
            _ => None,
        };
        if let Some(inode) = inode_of(socket) {
            self.release(inode, Some(Connected { to, is_told }));
        }
    }

    /// A TCP socket listens: all else goes without help.
    pub(super) fn listens(&mut self, socket: &OwnedFd) {
        if let Some(inode) = inode_of(socket) {
            self.release(inode, None);
        }
    }

    /// Lets go of what is not needed any more.
    pub(super) fn tidy(&mut self, destinations: &Destinations) {
        self.sweep();
        let streams = self.held.values().map(|held| &held.socket);
        let streams = streams
            .filter(|socket| matches!(SocketKind::of(socket), Ok(SocketKind::Stream { .. })));
        let connected: Vec<CallerDescriptor> = streams
            .filter(|socket| getpeername(*socket).is_ok())
            .filter_map(|socket| Some(socket.try_clone().ok()?.into()))
            .collect();
        for socket in &connected {
            self.settled(destinations, socket, false);
        }
    }

    /// Judges a call on a socket without a descriptor here. If this is an IP socket, it was
    /// connected, accepted or listens. Its address can no longer change, and the kernel can report
    /// it.
    pub(super) fn judge(
        &mut self,
        inode: u64,
        memory: CallerMemory,
        call: Network,
        mine: impl Fn() -> Result<(), Errno>,
    ) -> Result<CallAnswer, Errno> {
        let connected = self.connected.get_mut(&inode);
        match call {
            Network::Connect { .. } if self.is_strict => Err(Errno::ISCONN),
            Network::Connect { to, .. } => {
                let to = read_from(memory, to);
                mine()?;
                match (to, connected) {
                    (Ok(AddressArgument::Address(_)), Some(connected)) if !connected.is_told => {
                        connected.is_told = true;
                        Ok(CallAnswer::Value(0))
                    }
                    (Ok(AddressArgument::Address(_)), _) => Err(Errno::ISCONN),
                    (Ok(AddressArgument::Nobody) | Err(Errno::AFNOSUPPORT), _) => {
                        Ok(CallAnswer::GoOn)
                    }
                    (Err(errno), _) => Err(errno),
                }
            }
            Network::Bind { .. } if self.is_strict => Err(Errno::ACCESS),
            Network::Bind { to, .. } => {
                let to = read_from(memory, to);
                mine()?;
                // Bound already.
                if matches!(to, Ok(AddressArgument::Address(_))) {
                    Err(Errno::INVAL)
                } else {
                    Ok(CallAnswer::GoOn)
                }
            }
            Network::PeerName { room, .. } => {
                let Some(to) = connected.and_then(|connected| connected.to) else {
                    return Ok(CallAnswer::GoOn);
                };
                mine()?;
                write_to(memory, room, to)?;
                Ok(CallAnswer::Value(0))
            }
            Network::SendTo { .. } | Network::SendMessage { .. } | Network::SendMessages { .. }
                if self.is_strict =>
            {
                Err(Errno::ACCESS)
            }
            _ => Ok(CallAnswer::GoOn),
        }
    }
}

fn inode_of(socket: &OwnedFd) -> Option<u64> {
    fstat(socket).ok().map(|status| status.st_ino)
}

/// `EBADF` if nothing is open under this number, and `ENOTSOCK` if no socket is.
fn inode_at(holder: Holder) -> Result<u64, Errno> {
    let Holder { pid, number } = holder;
    let link =
        std::fs::read_link(format!("/proc/{pid}/fd/{number}")).map_err(|error| {
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) | None => Errno::BADF,
                Some(number) => Errno::from_raw_os_error(number),
            }
        })?;
    let name = link.as_os_str().as_bytes();
    let number = name
        .strip_prefix(b"socket:[")
        .and_then(|rest| rest.strip_suffix(b"]"));
    number
        .and_then(|number| std::str::from_utf8(number).ok()?.parse().ok())
        .ok_or(Errno::NOTSOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn socket_is_found_until_last_holder_closes() {
        let mut table = SocketTable::default();
        let theirs = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = OwnedFd::from(theirs.try_clone().unwrap());
        let holder = Holder {
            pid: std::process::id(),
            number: theirs.as_raw_fd(),
        };
        let inode = inode_of(&here).unwrap();
        assert_eq!(inode_at(holder), Ok(inode));
        table.hold(here.into(), holder);
        table.sweep();
        let Ok(Lookup::Open(found)) = table.find(holder) else {
            panic!("it was not found")
        };
        assert_eq!(inode_of(&found), Some(inode));
        table.release(
            inode,
            Some(Connected {
                to: None,
                is_told: true,
            }),
        );
        assert!(matches!(table.find(holder), Ok(Lookup::Elsewhere(other)) if other == inode));
        // A closed socket is not only released, but no longer open.
        table.hold(found, holder);
        drop(theirs);
        assert_eq!(inode_at(holder), Err(Errno::BADF));
        table.sweep();
        assert!(table.is_empty());
    }

    #[test]
    fn pipe_descriptor_is_reported_as_not_socket() {
        let (file, _other) = rustix::pipe::pipe().unwrap();
        let holder = Holder {
            pid: std::process::id(),
            number: file.as_raw_fd(),
        };
        assert_eq!(inode_at(holder), Err(Errno::NOTSOCK));
        assert_eq!(
            inode_at(Holder {
                number: -1,
                ..holder
            }),
            Err(Errno::BADF)
        );
    }
}
