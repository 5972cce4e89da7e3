//! Addresses of clients.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// An address of a client: an IPv4 address, or the /64 network of an IPv6 address, since each
/// subscriber has a whole network (RFC 6177, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Peer(IpAddr);

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            address => address,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V6(address) if !address.is_loopback() => write!(out, "{address}/64"),
            address => address.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_peer_is_its_64_prefix() {
        let shown = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap()).to_string();
        let cases = [
            "192.0.2.1",
            "::ffff:192.0.2.1",
            "::1",
            "2001:db8:1:2:3:4:5:6",
            "2001:db8:1:2:ffff::",
        ];
        let expected = [
            "192.0.2.1",
            "192.0.2.1",
            "::1",
            "2001:db8:1:2::/64",
            "2001:db8:1:2::/64",
        ];
        assert_eq!(cases.map(shown), expected);
    }
}
