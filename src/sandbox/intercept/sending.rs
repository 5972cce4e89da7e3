//! Datagrams with addresses, and messages: sendto(2), sendmsg(2), recvfrom(2), recvmsg(2).

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fcntl_getfl, open};
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrAny, SocketType, recvfrom, sendmsg,
    sendmsg_addr,
};

use super::address::{Given, MAX_ADDRESS_BYTES, mapped, plain, somebody, write};
use super::call::{Room, Span};
use super::connecting::put_address;
use super::fetch::Kind;
use super::known::Was;
use super::message::{Header, MANY_HEADER_BYTES};
use super::own::Holder;
use super::{Answer, Deed, Interceptor, address_of};
use crate::limits::{MAX_DATAGRAM_BYTES, MAX_INTERCEPTED_BYTES};
use crate::sandbox::memory::Memory;
use crate::sandbox::sys::seccomp::Notification;
use crate::sandbox::sys::sockets;

/// Flags of a message that are passed on.
const PASSED: u32 = (libc::MSG_OOB | libc::MSG_EOR | libc::MSG_MORE).cast_unsigned();
/// Flags with which a message is received here.
const PLAIN_FLAGS: u32 =
    (libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_CMSG_CLOEXEC)
        .cast_unsigned();

/// Something to be sent.
#[derive(Debug, Default)]
pub(super) struct Parcel {
    data: Vec<u8>,
    sent: usize,
    to: Option<Box<SocketAddrAny>>,
    /// Where a path in `to` begins, if it does not begin at the root.
    dir: Option<OwnedFd>,
    passed: Vec<OwnedFd>,
    flags: u32,
    holder: Option<Holder>,
}

/// Something to be received.
#[derive(Debug)]
pub(super) struct Receipt {
    memory: Memory,
    flags: u32,
    place: Place,
    /// From whom the caller expects it.
    from: SocketAddr,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Plain(Span, Room),
    /// The address of a message header.
    Message(u64),
}

impl Interceptor {
    /// What sendto(2) is to send.
    pub(super) fn parcel_to(
        &mut self,
        socket: &OwnedFd,
        memory: Memory,
        pid: u32,
        data: Span,
        to: Span,
    ) -> Result<Parcel, Errno> {
        let length = usize::try_from(data.length).unwrap_or(usize::MAX);
        match Kind::of(socket)? {
            Kind::Datagram { six } => {
                if length > MAX_DATAGRAM_BYTES {
                    return Err(Errno::MSGSIZE);
                }
                let data = memory.bytes(data.address, length)?;
                let Given::Address(to) = address_of(memory, to)? else { return Err(Errno::AFNOSUPPORT) };
                Ok(Parcel { data, to: Some(Box::new(self.route(socket, six, to)?.into())), ..Parcel::default() })
            }
            // The kernel overlooks the address of one that is connected.
            Kind::Stream { .. } => {
                Ok(Parcel { data: memory.bytes(data.address, length.min(MAX_INTERCEPTED_BYTES))?, ..Parcel::default() })
            }
            Kind::Other => {
                let data = memory.bytes(data.address, length.min(MAX_INTERCEPTED_BYTES))?;
                other(socket, memory, pid, data, length <= MAX_INTERCEPTED_BYTES, to)
            }
        }
    }

    /// The same of sendmsg(2).
    pub(super) fn parcel_of(
        &mut self,
        socket: &OwnedFd,
        memory: Memory,
        pid: u32,
        header: u64,
    ) -> Result<Parcel, Errno> {
        let kind = Kind::of(socket)?;
        let header = Header::read(memory, header)?;
        let (data, whole) = header.gather(memory)?;
        match kind {
            Kind::Datagram { six } => {
                if !whole || data.len() > MAX_DATAGRAM_BYTES {
                    return Err(Errno::MSGSIZE);
                }
                let to = if header.name.address == 0 || header.name.length == 0 {
                    None
                } else {
                    let Given::Address(to) = address_of(memory, header.name)? else { return Err(Errno::AFNOSUPPORT) };
                    Some(Box::new(self.route(socket, six, to)?.into()))
                };
                Ok(Parcel { data, to, ..Parcel::default() })
            }
            Kind::Stream { .. } => Ok(Parcel { data, ..Parcel::default() }),
            Kind::Other => {
                let passed = header.passed(memory, pid)?;
                Ok(Parcel { passed, ..other(socket, memory, pid, data, whole, header.name)? })
            }
        }
    }

    /// Where a datagram goes, or that there is no route.
    fn route(&mut self, socket: &OwnedFd, six: bool, to: SocketAddr) -> Result<SocketAddr, Errno> {
        if to.is_ipv6() != six {
            return Err(Errno::AFNOSUPPORT);
        }
        self.lead(socket, six, somebody(to)).ok_or_else(|| {
            self.counts.datagrams_refused += 1;
            Errno::NETUNREACH
        })
    }

    pub(super) fn send(
        &mut self,
        socket: OwnedFd,
        holder: Holder,
        mut parcel: Parcel,
        flags: u32,
    ) -> Result<Answer, Errno> {
        (parcel.flags, parcel.holder) = (flags, Some(holder));
        self.send_now(socket, parcel)
    }

    pub(super) fn send_now(&mut self, socket: OwnedFd, mut parcel: Parcel) -> Result<Answer, Errno> {
        match parcel.send(&socket)? {
            Some(length) => {
                // Its own servers answer to where it was sent from.
                if let (Some(to), Some(holder)) = (&parcel.to, parcel.holder)
                    && let Ok(to) = SocketAddr::try_from(SocketAddrAny::clone(to))
                    && !self.is_names(to)
                {
                    self.note_datagrams(&socket, holder);
                }
                Ok(Answer::Value(value(length)))
            }
            None => Ok(Answer::Later(socket, Deed::Send(parcel))),
        }
    }

    /// sendmmsg(2): as many messages as go without waiting.
    pub(super) fn send_all(
        &mut self,
        socket: &OwnedFd,
        asked: &Notification,
        headers: u64,
        count: u32,
        flags: u32,
        mine: impl Fn() -> Result<(), Errno>,
    ) -> Result<Answer, Errno> {
        /// `UIO_MAXIOV`.
        const MOST: u32 = 1024;
        let memory = Memory::of(asked.pid);
        let mut sent = 0;
        while sent < count.min(MOST) {
            let header = headers.wrapping_add(u64::from(sent) * MANY_HEADER_BYTES);
            let one = self.parcel_of(socket, memory, asked.pid, header).and_then(|mut parcel| {
                mine()?;
                parcel.flags = flags | libc::MSG_DONTWAIT.cast_unsigned();
                let length = parcel.send(socket)?.unwrap_or(0);
                memory.put(header.wrapping_add(MANY_HEADER_BYTES - 8), &(length as u32).to_ne_bytes())
            });
            match one {
                Ok(()) => sent += 1,
                Err(errno) if sent == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(Answer::Value(i64::from(sent)))
    }

    /// Receives in the caller's place on a socket that asks for names; elsewhere the kernel goes on, which hurts nobody.
    pub(super) fn receive(
        &mut self,
        socket: Result<OwnedFd, Errno>,
        memory: Memory,
        flags: u32,
        place: Place,
    ) -> Result<Answer, Errno> {
        let Ok(socket) = socket else { return Ok(Answer::GoOn) };
        let Some(Was::Asks(from)) = self.known.get(&socket) else { return Ok(Answer::GoOn) };
        if flags & !PLAIN_FLAGS != 0 {
            return Ok(Answer::GoOn);
        }
        self.receive_now(socket, Receipt { memory, flags, place, from })
    }

    pub(super) fn receive_now(&mut self, socket: OwnedFd, receipt: Receipt) -> Result<Answer, Errno> {
        let mut data = vec![0; usize::from(u16::MAX)];
        let peek = receipt.flags & libc::MSG_PEEK.cast_unsigned();
        let flags = RecvFlags::from_bits_retain(peek) | RecvFlags::DONTWAIT;
        let (length, _, sender) = match recvfrom(&socket, &mut data[..], flags) {
            Err(Errno::AGAIN) if !is_impatient(&socket, receipt.flags)? => {
                return Ok(Answer::Later(socket, Deed::Receive(receipt)));
            }
            other => other?,
        };
        data.truncate(length);
        let sender = sender.and_then(|sender| SocketAddr::try_from(sender).ok());
        let from = match sender {
            Some(sender) if self.is_names(sender) && receipt.from.is_ipv6() == sender.is_ipv6() => receipt.from,
            // Asked in one family and answered in the other.
            Some(sender) if self.is_names(sender) => mapped(plain(receipt.from)),
            Some(sender) => sender,
            None => receipt.from,
        };
        let room = receipt.place.put(receipt.memory, &data, from)?;
        let all = receipt.flags & libc::MSG_TRUNC.cast_unsigned() != 0;
        Ok(Answer::Value(value(if all { length } else { length.min(room) })))
    }
}

impl Place {
    /// Puts a datagram and its sender there. How much room there was.
    fn put(self, memory: Memory, data: &[u8], from: SocketAddr) -> Result<usize, Errno> {
        match self {
            Self::Plain(into, room) => {
                let length = usize::try_from(into.length).unwrap_or(usize::MAX);
                memory.put(into.address, &data[..data.len().min(length)])?;
                put_address(memory, room, from)?;
                Ok(length)
            }
            Self::Message(header) => {
                let header = Header::read(memory, header)?;
                let room = usize::try_from(header.room(memory)?).unwrap_or(usize::MAX);
                header.scatter(memory, &data[..data.len().min(room)], &write(from), data.len())?;
                Ok(room)
            }
        }
    }
}

impl Parcel {
    /// Sends what is left. How long all of it was; `None` if there is no room now and the caller waits for it.
    fn send(&mut self, socket: &OwnedFd) -> Result<Option<usize>, Errno> {
        let flags = SendFlags::from_bits_retain(self.flags & PASSED) | SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            let rest = &self.data[self.sent..];
            match in_dir(self.dir.as_ref(), || pass(socket, rest, self.to.as_deref(), &self.passed, flags))? {
                Ok(length) => {
                    self.sent += length;
                    self.passed.clear();
                    if self.sent >= self.data.len() {
                        return Ok(Some(self.sent));
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if !is_impatient(socket, self.flags)? => return Ok(None),
                Err(_) if self.sent > 0 => return Ok(Some(self.sent)),
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// What is sent over a socket that is none of IP. `whole`: the data are all that there is.
fn other(socket: &OwnedFd, memory: Memory, pid: u32, data: Vec<u8>, whole: bool, name: Span) -> Result<Parcel, Errno> {
    // Of a stream the caller sends the rest with its next call.
    if !whole && socket_type(socket)? != SocketType::STREAM {
        return Err(Errno::MSGSIZE);
    }
    if name.address == 0 || name.length == 0 {
        return Ok(Parcel { data, ..Parcel::default() });
    }
    let name = memory.bytes(name.address, usize::try_from(name.length.min(MAX_ADDRESS_BYTES)).unwrap_or(0))?;
    let dir = match name.split_first_chunk() {
        Some((family, path)) if i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX => match path.first() {
            // Landlock keeps the command, but not this process, from names outside.
            Some(0) => return Err(Errno::PERM),
            Some(b'/') | None => None,
            Some(_) => Some(directory(format!("/proc/{pid}/cwd").as_str())?),
        },
        _ => None,
    };
    Ok(Parcel { data, to: Some(Box::new(sockets::address(&name).ok_or(Errno::INVAL)?)), dir, ..Parcel::default() })
}

#[expect(clippy::disallowed_methods, reason = "the caller's own working directory, and this process's")]
fn directory(path: &str) -> Result<OwnedFd, Errno> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Does something in another working directory: a path in an address has no other place to begin at.
fn in_dir<T>(dir: Option<&OwnedFd>, act: impl FnOnce() -> T) -> Result<T, Errno> {
    let Some(dir) = dir else { return Ok(act()) };
    let own = directory(".")?;
    rustix::process::fchdir(dir)?;
    let done = act();
    rustix::process::fchdir(own)?;
    Ok(done)
}

fn pass(
    socket: &OwnedFd,
    data: &[u8],
    to: Option<&SocketAddrAny>,
    passed: &[OwnedFd],
    flags: SendFlags,
) -> Result<usize, Errno> {
    let passed: Vec<BorrowedFd<'_>> = passed.iter().map(AsFd::as_fd).collect();
    let mut space = vec![MaybeUninit::uninit(); SendAncillaryMessage::ScmRights(&passed).size()];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !passed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&passed)) {
        return Err(Errno::NOBUFS);
    }
    let data = [IoSlice::new(data)];
    match to {
        Some(to) => sendmsg_addr(socket, to, &data, &mut control, flags),
        None => sendmsg(socket, &data, &mut control, flags),
    }
}

/// A length as the value of a call; none is near as long as that.
fn value(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Whether the caller does not want to wait.
fn is_impatient(socket: &OwnedFd, flags: u32) -> Result<bool, Errno> {
    Ok(flags & libc::MSG_DONTWAIT.cast_unsigned() != 0 || fcntl_getfl(socket)?.contains(OFlags::NONBLOCK))
}
