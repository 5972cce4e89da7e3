//! Sends and receives on behalf of a caller.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use replay_sys::sockets;
use rustix::fs::{Mode, OFlags, fcntl_getfl, open};
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrAny, SocketType, sendmsg,
    sendmsg_addr,
};

use super::address::{MAX_ADDRESS_BYTES, write, write_to};
use super::call::{Room, Span};
use super::descriptor::CallerDescriptor;
use super::msghdr::Header;
use super::own_ports::Holder;
use crate::caller::CallerMemory;

/// Flags of a message that are passed on.
const PASSED: u32 = (libc::MSG_OOB | libc::MSG_EOR | libc::MSG_MORE).cast_unsigned();

/// Something to be sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) data: Vec<u8>,
    pub(super) sent: usize,
    pub(super) to: Option<Box<SocketAddrAny>>,
    /// Base directory of a relative path in `to`.
    pub(super) dir: Option<OwnedFd>,
    pub(super) passed: Vec<CallerDescriptor>,
    pub(super) flags: u32,
    pub(super) holder: Option<Holder>,
}

/// Something to be received.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) memory: CallerMemory,
    pub(super) flags: u32,
    pub(super) buffer: ReceiveBuffer,
    /// Address to which the caller sent name queries.
    pub(super) asked: Option<SocketAddr>,
    /// `true` for an IPv6 socket.
    pub(super) six: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ReceiveBuffer {
    Plain(Span, Room),
    /// The address of a message header.
    Message(u64),
    /// The address of several, of which the first is filled.
    First(u64),
}

impl ReceiveBuffer {
    /// Puts a datagram and its sender there. How much room there was.
    pub(super) fn put(
        self,
        memory: CallerMemory,
        data: &[u8],
        from: SocketAddr,
    ) -> Result<usize, Errno> {
        match self {
            Self::Plain(into, room) => {
                let length = usize::try_from(into.length).unwrap_or(usize::MAX);
                memory.put(into.address, &data[..data.len().min(length)])?;
                write_to(memory, room, from)?;
                Ok(length)
            }
            Self::Message(header) | Self::First(header) => {
                let header = Header::read(memory, header)?;
                let room = usize::try_from(header.room(memory)?).unwrap_or(usize::MAX);
                header.scatter(
                    memory,
                    &data[..data.len().min(room)],
                    &write(from),
                    data.len(),
                )?;
                Ok(room)
            }
        }
    }
}

impl Outgoing {
    /// Sends what is left. How long all of it was; `None` if there is no room now and the caller
    /// waits for it.
    pub(super) fn send(&mut self, socket: &OwnedFd) -> Result<Option<usize>, Errno> {
        let flags = SendFlags::from_bits_retain(self.flags & PASSED)
            | SendFlags::NOSIGNAL
            | SendFlags::DONTWAIT;
        loop {
            let rest = &self.data[self.sent..];
            match in_dir(self.dir.as_ref(), || {
                pass(socket, rest, self.to.as_deref(), &self.passed, flags)
            })? {
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

/// Returns a message over a socket of another family than IP. `whole` is true if `data` is
/// complete.
pub(super) fn other(
    socket: &OwnedFd,
    memory: CallerMemory,
    pid: u32,
    data: Vec<u8>,
    whole: bool,
    name: Span,
) -> Result<Outgoing, Errno> {
    // Of a stream the caller sends the rest with its next call.
    if !whole && socket_type(socket)? != SocketType::STREAM {
        return Err(Errno::MSGSIZE);
    }
    if name.address == 0 || name.length == 0 {
        return Ok(Outgoing {
            data,
            ..Outgoing::default()
        });
    }
    let name = memory.bytes(
        name.address,
        usize::try_from(name.length.min(MAX_ADDRESS_BYTES)).unwrap_or(0),
    )?;
    let dir = match name.split_first_chunk() {
        Some((family, path)) if i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX => {
            match path.first() {
                // Landlock keeps the command, but not this process, from names outside.
                Some(0) => return Err(Errno::PERM),
                Some(b'/') | None => None,
                Some(_) => Some(directory(format!("/proc/{pid}/cwd").as_str())?),
            }
        }
        _ => None,
    };
    Ok(Outgoing {
        data,
        to: Some(Box::new(sockets::address(&name).ok_or(Errno::INVAL)?)),
        dir,
        ..Outgoing::default()
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the caller's own working directory, and this process's"
)]
fn directory(path: &str) -> Result<OwnedFd, Errno> {
    open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Does something in another working directory: a path in an address has no other place to begin
/// at.
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
    passed: &[CallerDescriptor],
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
pub(super) fn value(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Returns true if the call must not block.
pub(super) fn is_impatient(socket: &OwnedFd, flags: u32) -> Result<bool, Errno> {
    Ok(flags & libc::MSG_DONTWAIT.cast_unsigned() != 0
        || fcntl_getfl(socket)?.contains(OFlags::NONBLOCK))
}
