//! Sockets of the commands' network for the server, and the ports on which commands listen.
//!
//! A socket belongs to the network namespace in which it was made. So the launcher makes TCP sockets
//! and passes them to the server, which connects them to servers that commands run. One netlink
//! socket (`sock_diag(7)`) of that network lists the listening ports.

use std::collections::HashSet;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use replay_base::limits::{COUNTING_MS, MAX_COUNTED_PROCESSES};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, ipproto, netlink, recv, recvmsg,
    sendmsg, socket_with, socketpair,
};
use serde::{Deserialize, Serialize};

use super::capabilities::look_at;
use super::kill_scope::each_descendant;

/// TCP sockets that the launcher makes for one request.
pub const SOCKETS_AT_ONCE: usize = 16;
/// Sockets whose holders one order asks for; as many as fit into an order of the server.
pub const MAX_ASKED_SOCKETS: usize = 24;

/// Longest name of a program, in bytes.
const MAX_PROGRAM_BYTES: usize = 32;

/// Version of the Internet Protocol of a requested socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    V4,
    V6,
}

impl IpVersion {
    fn word(self) -> u8 {
        match self {
            Self::V4 => b'4',
            Self::V6 => b'6',
        }
    }

    fn of(word: u8) -> Option<Self> {
        [Self::V4, Self::V6]
            .into_iter()
            .find(|version| version.word() == word)
    }

    fn family(self) -> AddressFamily {
        match self {
            Self::V4 => AddressFamily::INET,
            Self::V6 => AddressFamily::INET6,
        }
    }
}

/// A listening TCP socket that a process of a command holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSocket {
    pub inode: u64,
    /// Name of the program, without control characters.
    pub program: String,
}

/// The launcher's end of the channel on which the server requests sockets.
#[derive(Debug)]
pub(crate) struct PortSockets(OwnedFd);

impl PortSockets {
    /// Makes the channel. Also returns the descriptors for the server: a netlink socket for listening
    /// ports, and its nonblocking end of the channel.
    pub(crate) fn open() -> io::Result<(Self, [OwnedFd; 2])> {
        let diagnosis = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        Ok((Self(here), [diagnosis, there]))
    }

    /// Answers one request. Returns false if the server has closed its end.
    pub(crate) fn serve(&self) -> bool {
        let mut word = [0];
        match recv(&self.0, &mut word, RecvFlags::DONTWAIT) {
            Ok((0, _)) => false,
            Ok(_) => {
                if let Some(version) = IpVersion::of(word[0]) {
                    // The server asks again if the answer is lost.
                    let _ = self.answer(version);
                }
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => true,
            Err(_) => false,
        }
    }

    /// Sends new sockets; none if the kernel makes none of this version.
    fn answer(&self, version: IpVersion) -> io::Result<()> {
        let sockets: Vec<OwnedFd> = (0..SOCKETS_AT_ONCE)
            .map_while(|_| {
                socket_with(
                    version.family(),
                    SocketType::STREAM,
                    SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                    Some(ipproto::TCP),
                )
                .ok()
            })
            .collect();
        let fds: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_AT_ONCE))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(Errno::NOBUFS.into());
        }
        let word = [version.word()];
        let bytes = [io::IoSlice::new(&word)];
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.0, &bytes, &mut ancillary, flags)?;
        Ok(())
    }
}

impl AsFd for PortSockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Requests sockets of this version from the launcher.
pub(crate) fn request_sockets(channel: BorrowedFd<'_>, version: IpVersion) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::send(channel, &[version.word()], flags)?;
    Ok(())
}

/// Receives the answer to a request, which may be empty. Fails with [`io::ErrorKind::WouldBlock`] if
/// there is none yet.
pub(crate) fn receive_sockets(channel: BorrowedFd<'_>) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_AT_ONCE))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    let mut into = [io::IoSliceMut::new(&mut word)];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(channel, &mut into, &mut ancillary, flags)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut sockets = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            sockets.extend(rights);
        }
    }
    Ok(sockets)
}

/// Finds the processes of this supervisor's command that hold these sockets.
pub(crate) fn held_sockets(inodes: &[u64]) -> Vec<HeldSocket> {
    let (begun, most) = (Instant::now(), Duration::from_millis(COUNTING_MS));
    let mut missing: HashSet<u64> = inodes.iter().copied().collect();
    let mut held = Vec::new();
    for pid in each_descendant()
        .take(MAX_COUNTED_PROCESSES)
        .take_while(|_| begun.elapsed() < most)
    {
        if missing.is_empty() {
            break;
        }
        let found = sockets_of(pid.as_raw(), &missing);
        if found.is_empty() {
            continue;
        }
        let program = program_name(pid.as_raw());
        for inode in found {
            missing.remove(&inode);
            let program = program.clone();
            held.push(HeldSocket { inode, program });
        }
    }
    held
}

/// Returns the wanted ones among the sockets of a process (proc(5): `fd`).
#[expect(clippy::disallowed_methods, reason = "files of the kernel")]
fn sockets_of(pid: i32, wanted: &HashSet<u64>) -> Vec<u64> {
    let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let look = || {
        let mut found = HashSet::new();
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).map_err(errno)? {
            let entry = entry.map_err(errno)?;
            let target = match std::fs::read_link(entry.path()) {
                Ok(target) => target,
                // It was closed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(errno(error)),
            };
            let inode = target.to_str().and_then(|text| {
                text.strip_prefix("socket:[")?
                    .strip_suffix(']')?
                    .parse()
                    .ok()
            });
            found.extend(inode.filter(|inode| wanted.contains(inode)));
        }
        Ok(found.into_iter().collect())
    };
    look_at(look).unwrap_or_default()
}

/// Returns the name of a process (proc(5): `comm`), or of its program file if the process has a
/// generic name, as those of Node.js have.
#[expect(clippy::disallowed_methods, reason = "files of the kernel")]
fn program_name(pid: i32) -> String {
    let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let mut name = comm.trim_end().to_owned();
    if name.is_empty() || name == "MainThread" {
        let file = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        if let Some(file) = file.file_name() {
            name = file.to_string_lossy().into_owned();
        }
    }
    name.retain(|sign| !sign.is_control() && sign != '[' && sign != ']');
    name.truncate(name.floor_char_boundary(MAX_PROGRAM_BYTES));
    name
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn requested_sockets_connect() {
        let (launcher, [_, channel]) = PortSockets::open().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let none = receive_sockets(channel.as_fd()).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        request_sockets(channel.as_fd(), IpVersion::V4).unwrap();
        assert!(launcher.serve());
        let mut sockets = receive_sockets(channel.as_fd()).unwrap();
        assert_eq!(sockets.len(), SOCKETS_AT_ONCE);
        let socket = sockets.pop().unwrap();
        rustix::io::ioctl_fionbio(&socket, false).unwrap();
        let at = listener.local_addr().unwrap();
        rustix::net::connect(&socket, &at).unwrap();
        let (_, from) = listener.accept().unwrap();
        assert_eq!(from, TcpStream::from(socket).local_addr().unwrap());
    }

    #[test]
    fn closed_channel_ends_service() {
        let (launcher, [_, channel]) = PortSockets::open().unwrap();
        assert!(launcher.serve());
        drop(channel);
        assert!(!launcher.serve());
        let (launcher, [_, channel]) = PortSockets::open().unwrap();
        drop(launcher);
        let gone = receive_sockets(channel.as_fd()).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn sockets_of_process_are_found() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let inode = rustix::fs::fstat(&listener).unwrap().st_ino;
        let wanted = HashSet::from([inode, 1]);
        let own = std::process::id().cast_signed();
        assert_eq!(sockets_of(own, &wanted), [inode]);
        assert_eq!(sockets_of(own, &HashSet::from([1])), [0; 0]);
        // No process has this number (`PID_MAX_LIMIT` of `linux/threads.h`).
        assert_eq!(sockets_of(1 << 22, &wanted), [0; 0]);
        assert!(!program_name(own).is_empty());
    }
}
