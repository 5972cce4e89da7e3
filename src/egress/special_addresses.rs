//! Addresses that are not of the public Internet: what a public name has no reason to lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of the registry of special-purpose addresses (RFC 6890), and multicast (RFC 5771): the first address, and the
/// length of the prefix.
const VERSION_4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// The same below `2000::/3`; nothing else is public (RFC 4291, 2.4). 6to4 and Teredo hold addresses of IPv4.
const VERSION_6: [(u128, u32); 4] =
    [(0x2001 << 112, 23), (0x2001_0db8 << 96, 32), (0x2002 << 112, 16), (0x3fff << 112, 20)];

/// Where Amazon's metadata are (IMDS); all others have a link-local address.
const METADATA_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// `64:ff9b::/96`: addresses of IPv4, translated (RFC 6052).
const TRANSLATED: u128 = 0x0064_ff9b << 96;

/// What an address is that is more than a host: a rule about it would give away more than who writes it may think.
pub fn danger(address: IpAddr) -> Option<&'static str> {
    let address = address.to_canonical();
    if address.is_loopback() || address.is_unspecified() {
        return Some("is the machine itself, with what it keeps from others");
    }
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address == METADATA_6,
    };
    is_link_local.then_some("gives the machine's credentials, in a cloud")
}

/// Whether a public name has no reason to lead there.
pub fn is_special(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_special_4(address),
        IpAddr::V6(address) => is_special_6(address),
    }
}

fn is_special_4(address: Ipv4Addr) -> bool {
    let is_in =
        |(first, prefix): &([u8; 4], u32)| (u32::from(address) ^ u32::from_be_bytes(*first)) >> (32 - prefix) == 0;
    VERSION_4.iter().any(is_in)
}

fn is_special_6(address: Ipv6Addr) -> bool {
    let bits = u128::from(address);
    if bits >> 32 == TRANSLATED >> 32 {
        return is_special_4(Ipv4Addr::from(bits as u32));
    }
    bits >> 125 != 1 || VERSION_6.iter().any(|(first, prefix)| (bits ^ first) >> (128 - prefix) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_a_host_is_known() {
        let dangerous =
            ["127.9.9.9", "0.0.0.0", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "fd00:ec2::254"];
        let others = ["10.0.0.1", "fd00::1", "1.1.1.1"];
        for (texts, expected) in [(&dangerous[..], true), (&others[..], false)] {
            for text in texts {
                assert_eq!(danger(text.parse().unwrap()).is_some(), expected, "{text}");
            }
        }
    }

    #[test]
    fn public_addresses_are_told_from_others() {
        let special = [
            "0.0.0.0",
            "10.255.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.1.1",
            "198.19.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
        ];
        let public = [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ];
        for (texts, expected) in [(&special[..], true), (&public[..], false)] {
            for text in texts {
                assert_eq!(is_special(text.parse().unwrap()), expected, "{text}");
            }
        }
    }
}
