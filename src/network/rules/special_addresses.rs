//! Special addresses, outside the public Internet. No public name has a reason to resolve to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of the registry of special-purpose addresses (RFC 6890), and multicast (RFC 5771): the
/// first address, and the length of the prefix.
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

/// The same below `2000::/3`; nothing else is public (RFC 4291, 2.4). 6to4 and Teredo hold
/// addresses of IPv4.
const VERSION_6: [(u128, u32); 4] = [
    (0x2001 << 112, 23),
    (0x2001_0db8 << 96, 32),
    (0x2002 << 112, 16),
    (0x3fff << 112, 20),
];

/// Metadata services without a link-local address: Alibaba, Oracle and Azure.
const METADATA_4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
/// The same: Amazon, Google and Scaleway.
const METADATA_6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// `64:ff9b::/96`: addresses of IPv4, translated (RFC 6052).
const TRANSLATED: u128 = 0x0064_ff9b << 96;

/// Ways to write an IPv4 address into an IPv6 one: first address, length of the prefix, bits to the
/// right of the IPv4 address.
const EMBEDDING: [(u128, u32, u32); 7] = [
    // IPv4-compatible (RFC 4291, 2.5.5.1), IPv4-mapped (2.5.5.2) and IPv4-translated (RFC 2765,
    // 2.1).
    (0, 96, 0),
    (0xffff << 32, 96, 0),
    (0xffff << 48, 96, 0),
    // The well-known prefix of translators, and the one for local use (RFC 8215), whose networks
    // may be of any length.
    (TRANSLATED, 96, 0),
    (TRANSLATED | 1 << 80, 48, 0),
    // 6to4 (RFC 3056), and the server of Teredo (RFC 4380).
    (0x2002 << 112, 16, 80),
    (0x2001 << 112, 32, 64),
];

/// Returns the address, and the IPv4 addresses that a translator or a tunnel may take it for.
fn meanings(address: IpAddr) -> Vec<IpAddr> {
    let mut all = vec![address.to_canonical()];
    if let IpAddr::V6(address) = address {
        let bits = u128::from(address);
        let is_in = |first: u128, prefix: u32| (bits ^ first) >> (128 - prefix) == 0;
        let mut add = |bits: u128| all.push(Ipv4Addr::from(bits as u32).into());
        // `::` and `::1` are of IPv6 alone.
        let embedding = EMBEDDING
            .iter()
            .filter(|(first, prefix, _)| is_in(*first, *prefix) && bits > 1);
        embedding.for_each(|(.., right)| add(bits >> right));
        if is_in(TRANSLATED | 1 << 80, 48) {
            // Prefixes of 48, 56 and 64 bits leave out bits 64 to 71 (RFC 6052, 2.2).
            add((bits >> 48 & 0xffff_0000) | (bits >> 40 & 0xffff));
            add((bits >> 40 & 0xff00_0000) | (bits >> 32 & 0x00ff_ffff));
            add(bits >> 24);
        }
        if is_in(0x2001 << 112, 32) {
            // The client of Teredo.
            add(!bits);
        }
        // ISATAP (RFC 5214, 6.1), in any network.
        if (bits >> 32) as u32 & !0x0200_0000 == 0x5efe {
            add(bits);
        }
    }
    all
}

/// Returns the reason why no rule is proposed for a dangerous address, if it is one.
pub fn danger(address: IpAddr) -> Option<&'static str> {
    let all = meanings(address);
    // No translator leads to 0.0.0.0.
    if all[0].is_unspecified() || all.iter().any(IpAddr::is_loopback) {
        return Some("is this machine, with services that other machines cannot reach");
    }
    let is_metadata = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local() || METADATA_4.contains(address),
        IpAddr::V6(address) => address.is_unicast_link_local() || METADATA_6.contains(address),
    };
    all.iter()
        .any(is_metadata)
        .then_some("gives the machine's credentials in a cloud")
}

/// Returns true if a public name has no reason to resolve to this address.
pub fn is_special(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_special_4(address),
        IpAddr::V6(address) => is_special_6(address),
    }
}

fn is_special_4(address: Ipv4Addr) -> bool {
    let is_in = |(first, prefix): &([u8; 4], u32)| {
        (u32::from(address) ^ u32::from_be_bytes(*first)) >> (32 - prefix) == 0
    };
    VERSION_4.iter().any(is_in)
}

fn is_special_6(address: Ipv6Addr) -> bool {
    let bits = u128::from(address);
    if bits >> 32 == TRANSLATED >> 32 {
        return is_special_4(Ipv4Addr::from(bits as u32));
    }
    bits >> 125 != 1
        || VERSION_6
            .iter()
            .any(|(first, prefix)| (bits ^ first) >> (128 - prefix) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_address_is_dangerous_in_any_spelling() {
        let dangerous = [
            "127.9.9.9",
            "0.0.0.0",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "::169.254.169.254",
            "::ffff:169.254.169.254",
            "::ffff:100.100.100.200",
            "::ffff:0:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::7f00:1",
            "64:ff9b::c000:c0",
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:00a9:fe00::",
            "64:ff9b:1:00a9:fe:a9fe::",
            "64:ff9b:1:0:a9:fea9:fe00::",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::",
            "2001:0:a9fe:a9fe::1",
            "2001:0:101:101:0:0:5601:5601",
            "2001:db8::5efe:a9fe:a9fe",
            "2001:db8::200:5efe:a9fe:a9fe",
        ];
        let others = [
            "10.0.0.1",
            "fd00::1",
            "1.1.1.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "64:ff9b:1::101:101",
            "2002:101:101::1",
            "::ffff:1.1.1.1",
        ];
        for (texts, expected) in [(&dangerous[..], true), (&others[..], false)] {
            for text in texts {
                assert_eq!(danger(text.parse().unwrap()).is_some(), expected, "{text}");
            }
        }
    }

    #[test]
    fn public_addresses_are_not_special() {
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
