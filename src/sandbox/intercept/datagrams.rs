//! Datagrams with addresses, and messages: sendto(2), sendmsg(2), recvfrom(2), recvmsg(2).

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use replay_base::limits::MAX_INTERCEPTED_BYTES;
use replay_sys::seccomp::Notification;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketAddrAny, recvfrom};

use super::Interceptor;
use super::address::{AddressArgument, mapped, read_from, somebody};
use super::answer::{CallAnswer, Deed, Halt};
use super::call::Span;
use super::descriptor::{CallerDescriptor, SocketKind};
use super::destinations::Destination;
use super::msghdr::{Header, MANY_HEADER_BYTES};
use super::own_ports::Holder;
use super::transfer::{Incoming, Outgoing, ReceiveBuffer, is_impatient, other, value};
use crate::caller::CallerMemory;

/// Largest datagram over IPv4, in bytes.
const MAX_DATAGRAM_BYTES: usize = 65_507;

/// Flags with which a message is received here.
const PLAIN_FLAGS: u32 = (libc::MSG_PEEK
    | libc::MSG_TRUNC
    | libc::MSG_DONTWAIT
    | libc::MSG_WAITALL
    | libc::MSG_CMSG_CLOEXEC
    | libc::MSG_WAITFORONE)
    .cast_unsigned();

impl Interceptor {
    /// Reads the data and the address of a sendto(2).
    pub(super) fn outgoing_to(
        &mut self,
        socket: &OwnedFd,
        memory: CallerMemory,
        pid: u32,
        data: Span,
        to: Span,
    ) -> Result<Outgoing, Halt> {
        let length = usize::try_from(data.length).unwrap_or(usize::MAX);
        match SocketKind::of(socket)? {
            SocketKind::Datagram { six } => {
                if length > MAX_DATAGRAM_BYTES {
                    return Err(Errno::MSGSIZE.into());
                }
                let data = memory.bytes(data.address, length)?;
                let AddressArgument::Address(to) = read_from(memory, to)? else {
                    return Err(Errno::AFNOSUPPORT.into());
                };
                let via = self.route(socket, pid, six, to)?;
                Ok(Outgoing {
                    data,
                    to: Some(Box::new(via.into())),
                    ..Outgoing::default()
                })
            }
            // The kernel overlooks the address of one that is connected.
            SocketKind::Stream { .. } => Ok(Outgoing {
                data: memory.bytes(data.address, length.min(MAX_INTERCEPTED_BYTES))?,
                ..Outgoing::default()
            }),
            SocketKind::Other => {
                let data = memory.bytes(data.address, length.min(MAX_INTERCEPTED_BYTES))?;
                Ok(other(
                    socket,
                    memory,
                    pid,
                    data,
                    length <= MAX_INTERCEPTED_BYTES,
                    to,
                )?)
            }
        }
    }

    /// The same of sendmsg(2).
    pub(super) fn outgoing_of(
        &mut self,
        socket: &OwnedFd,
        memory: CallerMemory,
        pid: u32,
        header: u64,
    ) -> Result<Outgoing, Halt> {
        let kind = SocketKind::of(socket)?;
        let header = Header::read(memory, header)?;
        let (data, whole) = header.gather(memory)?;
        match kind {
            SocketKind::Datagram { six } => {
                if !whole || data.len() > MAX_DATAGRAM_BYTES {
                    return Err(Errno::MSGSIZE.into());
                }
                let to = if header.name.address == 0 || header.name.length == 0 {
                    None
                } else {
                    let AddressArgument::Address(to) = read_from(memory, header.name)? else {
                        return Err(Errno::AFNOSUPPORT.into());
                    };
                    Some(Box::new(self.route(socket, pid, six, to)?.into()))
                };
                Ok(Outgoing {
                    data,
                    to,
                    ..Outgoing::default()
                })
            }
            SocketKind::Stream { .. } => Ok(Outgoing {
                data,
                ..Outgoing::default()
            }),
            SocketKind::Other => {
                let passed = header.passed(memory, pid)?;
                Ok(Outgoing {
                    passed,
                    ..other(socket, memory, pid, data, whole, header.name)?
                })
            }
        }
    }

    fn route(
        &mut self,
        socket: &OwnedFd,
        pid: u32,
        six: bool,
        to: SocketAddr,
    ) -> Result<SocketAddr, Halt> {
        if to.is_ipv6() != six {
            return Err(Errno::AFNOSUPPORT.into());
        }
        self.lead(socket, pid, six, somebody(to))
    }

    pub(super) fn send(
        &mut self,
        socket: CallerDescriptor,
        holder: Holder,
        mut outgoing: Outgoing,
        flags: u32,
    ) -> Result<CallAnswer, Errno> {
        (outgoing.flags, outgoing.holder) = (flags, Some(holder));
        self.send_now(socket, outgoing)
    }

    pub(super) fn send_now(
        &mut self,
        socket: CallerDescriptor,
        mut outgoing: Outgoing,
    ) -> Result<CallAnswer, Errno> {
        match outgoing.send(&socket)? {
            Some(length) => {
                // Its own servers answer to where it was sent from.
                if let (Some(to), Some(holder)) = (&outgoing.to, outgoing.holder)
                    && let Ok(to) = SocketAddr::try_from(SocketAddrAny::clone(to))
                    && !self.is_names(to)
                    && self.relays.place(to).is_none()
                {
                    self.note_datagrams(&socket, holder);
                }
                Ok(CallAnswer::Value(value(length)))
            }
            None => Ok(CallAnswer::Later(socket, Deed::Send(outgoing))),
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
    ) -> Result<CallAnswer, Halt> {
        /// `UIO_MAXIOV`.
        const MOST: u32 = 1024;
        let memory = CallerMemory::of(asked.pid);
        let mut sent = 0;
        while sent < count.min(MOST) {
            let header = headers.wrapping_add(u64::from(sent) * MANY_HEADER_BYTES);
            let one = self
                .outgoing_of(socket, memory, asked.pid, header)
                .and_then(|mut outgoing| {
                    mine()?;
                    outgoing.flags = flags | libc::MSG_DONTWAIT.cast_unsigned();
                    let length = outgoing.send(socket)?.unwrap_or(0);
                    Ok(memory.put(
                        header.wrapping_add(MANY_HEADER_BYTES - 8),
                        &(length as u32).to_ne_bytes(),
                    )?)
                });
            match one {
                Ok(()) => sent += 1,
                Err(halt) if sent == 0 => return Err(halt),
                Err(_) => break,
            }
        }
        Ok(CallAnswer::Value(i64::from(sent)))
    }

    /// Receives in the caller's place on a socket that was led elsewhere; the kernel goes on with
    /// others, which hurts nobody.
    pub(super) fn receive(
        &mut self,
        socket: Result<CallerDescriptor, Errno>,
        memory: CallerMemory,
        flags: u32,
        buffer: ReceiveBuffer,
    ) -> Result<CallAnswer, Errno> {
        let Ok(socket) = socket else {
            return Ok(CallAnswer::GoOn);
        };
        let asked = match self.destinations.get(&socket) {
            Some(Destination::Asks(asked)) => Some(asked),
            _ => None,
        };
        let Ok(SocketKind::Datagram { six }) = SocketKind::of(&socket) else {
            return Ok(CallAnswer::GoOn);
        };
        if flags & !PLAIN_FLAGS != 0 || asked.is_none() && self.relays.is_empty() {
            return Ok(CallAnswer::GoOn);
        }
        self.receive_now(
            socket,
            Incoming {
                memory,
                flags,
                buffer,
                asked,
                six,
            },
        )
    }

    pub(super) fn receive_now(
        &mut self,
        socket: CallerDescriptor,
        incoming: Incoming,
    ) -> Result<CallAnswer, Errno> {
        let mut data = Vec::with_capacity(usize::from(u16::MAX));
        let peek = incoming.flags & libc::MSG_PEEK.cast_unsigned();
        let flags = RecvFlags::from_bits_retain(peek) | RecvFlags::DONTWAIT;
        let (length, _, sender) = match recvfrom(&socket, spare_capacity(&mut data), flags) {
            Err(Errno::AGAIN) if !is_impatient(&socket, incoming.flags)? => {
                return Ok(CallAnswer::Later(socket, Deed::Receive(incoming)));
            }
            other => other?,
        };
        let sender = sender.and_then(|sender| SocketAddr::try_from(sender).ok());
        let sender = sender.ok_or(Errno::INVAL)?;
        let real = if self.is_names(sender) {
            incoming.asked
        } else {
            self.relays.place(sender)
        };
        let from = real.unwrap_or(sender);
        let from = if incoming.six { mapped(from) } else { from };
        let room = incoming.buffer.put(incoming.memory, &data, from)?;
        if let ReceiveBuffer::First(headers) = incoming.buffer {
            let length = (length.min(room) as u32).to_ne_bytes();
            incoming
                .memory
                .put(headers.wrapping_add(MANY_HEADER_BYTES - 8), &length)?;
            return Ok(CallAnswer::Value(1));
        }
        let all = incoming.flags & libc::MSG_TRUNC.cast_unsigned() != 0;
        Ok(CallAnswer::Value(value(if all {
            length
        } else {
            length.min(room)
        })))
    }
}
