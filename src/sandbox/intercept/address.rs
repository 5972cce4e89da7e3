//! Addresses of sockets as they stand in memory (`ip(7)`, `ipv6(7)`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use rustix::io::Errno;

use super::call::{Room, Span};
use crate::caller::CallerMemory;

/// The most that the kernel takes for an address (`struct sockaddr_storage`).
pub const MAX_ADDRESS_BYTES: u64 = 128;
/// Bytes of `struct sockaddr_in`.
const VERSION_4_BYTES: usize = 16;
/// The least that the kernel takes for an IPv6 address (`SIN6_LEN_RFC2133`): without the scope.
const LEAST_VERSION_6_BYTES: usize = 24;

/// A decoded address argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressArgument {
    Address(SocketAddr),
    /// `AF_UNSPEC`: that there shall be none any more.
    Nobody,
}

/// Reads an address. `EINVAL` if it is too short, `EAFNOSUPPORT` if it is of another family.
pub fn read(bytes: &[u8]) -> Result<AddressArgument, Errno> {
    let (family, rest) = bytes.split_first_chunk().ok_or(Errno::INVAL)?;
    let family = i32::from(u16::from_ne_bytes(*family));
    let port = |rest: &[u8]| rest.first_chunk().map(|port| u16::from_be_bytes(*port));
    match family {
        libc::AF_UNSPEC => Ok(AddressArgument::Nobody),
        libc::AF_INET if bytes.len() >= VERSION_4_BYTES => {
            let (port, ip) = (
                port(rest).ok_or(Errno::INVAL)?,
                rest[2..].first_chunk::<4>().ok_or(Errno::INVAL)?,
            );
            Ok(AddressArgument::Address(
                SocketAddrV4::new(Ipv4Addr::from(*ip), port).into(),
            ))
        }
        libc::AF_INET6 if bytes.len() >= LEAST_VERSION_6_BYTES => {
            let word = |at: usize| {
                rest.get(at..)
                    .and_then(<[u8]>::first_chunk::<4>)
                    .copied()
                    .unwrap_or_default()
            };
            let ip = rest[6..].first_chunk::<16>().ok_or(Errno::INVAL)?;
            let (flow, scope) = (u32::from_be_bytes(word(2)), u32::from_ne_bytes(word(22)));
            let port = port(rest).ok_or(Errno::INVAL)?;
            Ok(AddressArgument::Address(
                SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope).into(),
            ))
        }
        libc::AF_INET | libc::AF_INET6 => Err(Errno::INVAL),
        _ => Err(Errno::AFNOSUPPORT),
    }
}

/// An address as a socket of its family tells it.
pub fn write(address: SocketAddr) -> Vec<u8> {
    match address {
        SocketAddr::V4(address) => {
            let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
            bytes.extend(address.port().to_be_bytes());
            bytes.extend(address.ip().octets());
            bytes.resize(VERSION_4_BYTES, 0);
            bytes
        }
        SocketAddr::V6(address) => {
            let mut bytes = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
            bytes.extend(address.port().to_be_bytes());
            bytes.extend(address.flowinfo().to_be_bytes());
            bytes.extend(address.ip().octets());
            bytes.extend(address.scope_id().to_ne_bytes());
            bytes
        }
    }
}

/// The address that is meant: an IPv4 one also where it is written as IPv6 (`::ffff:192.0.2.1`).
pub(super) fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The same for a socket of IPv6.
pub(super) fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(address) => {
            SocketAddrV6::new(address.ip().to_ipv6_mapped(), address.port(), 0, 0).into()
        }
        SocketAddr::V6(_) => address,
    }
}

/// Replaces the unspecified address by the loopback address of its family, as the kernel does. The
/// kernel would prefer the address that the socket is bound to, if any.
pub(super) fn somebody(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.to_canonical().is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()),
    }
    address
}

/// Returns true for loopback and unspecified addresses; the kernel treats the latter as its own.
pub(super) fn is_here(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

/// Reads an address out of the caller's memory.
pub(super) fn read_from(memory: CallerMemory, span: Span) -> Result<AddressArgument, Errno> {
    if span.length > MAX_ADDRESS_BYTES {
        return Err(Errno::INVAL);
    }
    read(&memory.bytes(span.address, span.length as usize)?)
}

/// Writes an address where the caller wants it, as getsockname(2) does.
pub(super) fn write_to(memory: CallerMemory, room: Room, address: SocketAddr) -> Result<(), Errno> {
    let bytes = write(address);
    let most = memory
        .bytes(room.length, 4)?
        .first_chunk()
        .map_or(0, |most| i32::from_ne_bytes(*most));
    let most = usize::try_from(most).map_err(|_| Errno::INVAL)?;
    memory.put(room.address, &bytes[..bytes.len().min(most)])?;
    memory.put(room.length, &(bytes.len() as u32).to_ne_bytes())
}
