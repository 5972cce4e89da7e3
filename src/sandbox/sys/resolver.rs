//! Names of servers, with the code of the system's resolver: the standard library keeps only its
//! text.
#![expect(
    unsafe_code,
    reason = "no safe crate that is used here tells why a name was not found"
)]

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// Looks names up only in /etc/hosts and by DNS, if this program is linked statically. Other
/// sources in nsswitch.conf(5) are modules of the system's C library. They crash a process with
/// another version of that library. Call it before the first lookup.
pub fn keep_to_own_sources() {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    {
        unsafe extern "C" {
            fn __nss_configure_lookup(
                database: *const libc::c_char,
                sources: *const libc::c_char,
            ) -> libc::c_int;
        }
        // SAFETY: both are strings with an end, which the function does not keep, and no other
        // thread looks names up meanwhile.
        unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
    }
}

/// The addresses of a name, as getaddrinfo(3) finds them, each once. That there is no such name, or
/// none with an address, is [`io::ErrorKind::NotFound`]; any other failure may be over when it is
/// asked again.
pub fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
    let hints = libc::addrinfo {
        ai_flags: 0,
        ai_family: libc::AF_UNSPEC,
        ai_socktype: libc::SOCK_STREAM,
        ai_protocol: 0,
        ai_addrlen: 0,
        ai_addr: ptr::null_mut(),
        ai_canonname: ptr::null_mut(),
        ai_next: ptr::null_mut(),
    };
    let mut list = ptr::null_mut();
    // SAFETY: the name ends with a zero byte, the hints are whole, and all of them live past the
    // call; what it writes to is ours.
    let code =
        unsafe { libc::getaddrinfo(name.as_ptr(), ptr::null(), &raw const hints, &raw mut list) };
    match code {
        0 => {}
        libc::EAI_NONAME | libc::EAI_NODATA => return Err(io::ErrorKind::NotFound.into()),
        libc::EAI_SYSTEM => return Err(io::Error::last_os_error()),
        code => {
            return Err(io::Error::other(format!(
                "the resolver fails (getaddrinfo(3) {code})"
            )));
        }
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list is one of getaddrinfo(3), which ends with a null pointer and is freed only
    // below.
    while let Some(entry) = unsafe { next.as_ref() } {
        let address = match entry.ai_family {
            libc::AF_INET => {
                // SAFETY: the address is of the type that its family has (getaddrinfo(3), ip(7)); its
                // alignment is unknown.
                let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(
                    address.sin_addr.s_addr,
                ))))
            }
            libc::AF_INET6 => {
                // SAFETY: as above (ipv6(7)).
                let address =
                    unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
                Some(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)))
            }
            _ => None,
        };
        found.extend(address.filter(|address| !found.contains(address)));
        next = entry.ai_next;
    }
    // SAFETY: getaddrinfo(3) has made the list, and nothing of it is used any more.
    unsafe { libc::freeaddrinfo(list) };
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolver_accepts_literals_but_no_zero_bytes() {
        assert_eq!(
            addresses("127.0.0.1").unwrap(),
            [IpAddr::V4(Ipv4Addr::LOCALHOST)]
        );
        assert_eq!(addresses("::1").unwrap(), [IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        assert_eq!(
            addresses("a\0b").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
