//! DNS messages (RFC 1035) and fake addresses. Each name has its own fake address, so a connection
//! reveals its target name and lookups need no network.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use replay_base::limits::{FAKE_ADDRESS_SECS, MAX_FAKE_NAMES};

use crate::call::Dns;

/// Response code for a query that cannot be parsed.
const FORMERR: u8 = 1;
/// Response code if the real resolver gave no answer.
pub const SERVFAIL: u8 = 2;
/// Response code for an unsupported kind of query.
const NOTIMP: u8 = 4;

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;

/// The first address of the block for benchmarking (RFC 2544), which no network routes.
const FIRST: u32 = 0xC612_0000;
const COUNT: u32 = 1 << 17;

#[derive(Debug, Default)]
pub struct FakeNames(Mutex<HashMap<Ipv4Addr, String>>);

impl FakeNames {
    /// Returns the address of a name: constant within a run, and across runs unless two names
    /// collide. `None` if there are too many names.
    pub fn address(&self, name: &str) -> Option<Ipv4Addr> {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // FNV-1a.
        let hash = name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        // Skip the first and the last address, which resemble a network address and a broadcast
        // address.
        let mut places = (0..COUNT)
            .map(|step| Ipv4Addr::from(FIRST + 1 + (hash % (COUNT - 2) + step) % (COUNT - 2)));
        let is_free = |address: &Ipv4Addr| given.get(address).is_none_or(|known| known == name);
        let address = places.find(is_free)?;
        if given.len() >= MAX_FAKE_NAMES && !given.contains_key(&address) {
            return None;
        }
        given.entry(address).or_insert_with(|| name.to_owned());
        Some(address)
    }

    pub fn name(&self, address: IpAddr) -> Option<String> {
        let IpAddr::V4(address) = address.to_canonical() else {
            return None;
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&address)
            .cloned()
    }
}

/// Returns true if an address is in the fake block.
pub fn is_fake(address: IpAddr) -> bool {
    matches!(address.to_canonical(), IpAddr::V4(address) if u32::from(address) & !(COUNT - 1) == FIRST)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsQuestion {
    id: [u8; 2],
    recursion: bool,
    /// The question section, as sent.
    section: Vec<u8>,
    /// The name, in lower case and without a trailing dot.
    pub name: String,
    /// Number of the record type.
    kind: u16,
    class: u16,
}

impl DnsQuestion {
    /// Parses a query. The error is the response to send, if one is possible.
    pub fn read(message: &[u8]) -> Result<Self, Option<Vec<u8>>> {
        let Some((head, rest)) = message.split_at_checked(12) else {
            return Err(None);
        };
        if head[2] & 0x80 != 0 {
            return Err(None);
        }
        let fault = |code: u8| {
            Some(vec![
                head[0],
                head[1],
                0x80 | head[2] & 0x79,
                code,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
            ])
        };
        if head[2] & 0x78 != 0 {
            return Err(fault(NOTIMP));
        }
        if head[4..6] != [0, 1] {
            return Err(fault(FORMERR));
        }
        let Some((name, length)) = read_name(rest) else {
            return Err(fault(FORMERR));
        };
        let Some(section) = rest.get(..length + 4) else {
            return Err(fault(FORMERR));
        };
        let number = |at: usize| u16::from_be_bytes([section[at], section[at + 1]]);
        Ok(Self {
            id: [head[0], head[1]],
            recursion: head[2] & 1 != 0,
            name,
            kind: number(length),
            class: number(length + 2),
            section: section.to_vec(),
        })
    }

    /// Returns the record type as text, or `None` for types that get an empty answer.
    pub fn kind(&self) -> Option<&'static str> {
        match (self.class, self.kind) {
            (1, TYPE_A) => Some("A"),
            (1, TYPE_AAAA) => Some("AAAA"),
            _ => None,
        }
    }

    /// Returns true if the name is `localhost` or below it.
    pub fn is_local(&self) -> bool {
        self.name == "localhost" || self.name.ends_with(".localhost")
    }

    pub fn answer(&self, code: u8, address: Option<IpAddr>) -> Vec<u8> {
        let data: Option<Vec<u8>> = match (self.kind, address) {
            (TYPE_A, Some(IpAddr::V4(address))) => Some(address.octets().to_vec()),
            (TYPE_AAAA, Some(IpAddr::V6(address))) => Some(address.octets().to_vec()),
            _ => None,
        };
        let count = u8::from(data.is_some());
        let flags = [0x80 | u8::from(self.recursion), 0x80 | code & 0x0F];
        let mut out = vec![
            self.id[0], self.id[1], flags[0], flags[1], 0, 1, 0, count, 0, 0, 0, 0,
        ];
        out.extend_from_slice(&self.section);
        if let Some(data) = data {
            // The name is a pointer to the question's name (RFC 1035, 4.1.4).
            out.extend_from_slice(&[0xC0, 12]);
            out.extend_from_slice(&self.kind.to_be_bytes());
            out.extend_from_slice(&self.class.to_be_bytes());
            out.extend_from_slice(&FAKE_ADDRESS_SECS.to_be_bytes());
            out.extend_from_slice(&(data.len() as u16).to_be_bytes());
            out.extend_from_slice(&data);
        }
        out
    }

    /// Returns the answer for local names: the loopback address.
    pub fn local(&self) -> Vec<u8> {
        let address = if self.kind == TYPE_AAAA {
            IpAddr::V6(Ipv6Addr::LOCALHOST)
        } else {
            IpAddr::V4(Ipv4Addr::LOCALHOST)
        };
        self.answer(Dns::NOERROR, Some(address))
    }
}

/// Parses a name to lower case and returns its encoded length. Rejects bytes outside server names.
/// Compression pointers are invalid, because a question has no earlier names.
fn read_name(bytes: &[u8]) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            return Some((name, at));
        }
        if length > 63 || at > 255 {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        for byte in bytes.get(at..at + length)? {
            // A dot inside a label would split it into two.
            let is_part = byte.is_ascii_alphanumeric() || b"-_*+=/@~".contains(byte);
            name.push(is_part.then(|| char::from(byte.to_ascii_lowercase()))?);
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(name: &str, kind: u16) -> Vec<u8> {
        let mut out = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            out.push(label.len() as u8);
            out.extend(label.bytes());
        }
        out.push(0);
        out.extend(kind.to_be_bytes());
        out.extend([0, 1]);
        out
    }

    #[test]
    fn fake_address_resolves_back_to_name() {
        let names = FakeNames::default();
        let mut seen = std::collections::HashSet::new();
        for at in 0..5000 {
            let name = format!("service-{at}.example.com");
            let address = names.address(&name).unwrap();
            assert!(
                is_fake(IpAddr::V4(address)) && seen.insert(address),
                "{name} {address}"
            );
            assert_eq!(names.address(&name), Some(address));
            assert_eq!(names.name(IpAddr::V4(address)), Some(name.clone()));
            assert_eq!(names.name(IpAddr::V6(address.to_ipv6_mapped())), Some(name));
        }
        assert_eq!(
            FakeNames::default().address("a.example"),
            FakeNames::default().address("a.example")
        );
        assert!(!is_fake([198, 20, 0, 1].into()) && is_fake([198, 19, 255, 254].into()));
    }

    #[test]
    fn dns_query_is_parsed_and_answered() {
        let question = DnsQuestion::read(&ask("API.Example.com", 1)).unwrap();
        assert_eq!(
            (question.name.as_str(), question.kind()),
            ("api.example.com", Some("A"))
        );
        let answer = question.answer(Dns::NOERROR, Some([198, 18, 0, 5].into()));
        let mut expected = vec![7, 9, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
        expected.extend(&ask("API.Example.com", 1)[12..]);
        expected.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 5]);
        assert_eq!(answer, expected);
        let question = DnsQuestion::read(&ask("a.b", 28)).unwrap();
        assert_eq!(
            question.answer(Dns::NOERROR, Some([198, 18, 0, 5].into()))[..8],
            [7, 9, 0x81, 0x80, 0, 1, 0, 0]
        );
        assert_eq!(question.answer(Dns::NXDOMAIN, None)[3], 0x83);
        assert_eq!(
            DnsQuestion::read(&ask("x.localhost", 28))
                .unwrap()
                .local()
                .last(),
            Some(&1)
        );
        assert_eq!(
            DnsQuestion::read(&ask("mx.example", 15)).unwrap().kind(),
            None
        );
    }

    #[test]
    fn malformed_dns_query_is_rejected() {
        let whole = ask("api.example.com", 1);
        for cut in 0..whole.len() {
            assert!(DnsQuestion::read(&whole[..cut]).is_err(), "{cut}");
        }
        let mut answer = whole.clone();
        answer[2] |= 0x80;
        assert_eq!(DnsQuestion::read(&answer), Err(None));
        let mut pointer = whole;
        pointer[12] = 0xC0;
        assert_eq!(
            DnsQuestion::read(&ask("a b.example", 1))
                .unwrap_err()
                .map(|sent| sent[3]),
            Some(FORMERR)
        );
        assert_eq!(
            DnsQuestion::read(&pointer).unwrap_err().map(|sent| sent[3]),
            Some(FORMERR)
        );
    }
}
