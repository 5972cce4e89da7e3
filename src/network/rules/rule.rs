//! One rule: which hosts, at which ports, and for which requests.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

use super::host_name::{canonical, ends_in_number, punycode};
use super::request::{RequestLine, Requests};

/// Port of DNS queries (RFC 1035, 4.2).
const NAMES_PORT: u16 = 53;
/// Default ports of a rule: those of HTTP and HTTPS.
pub(super) const WEB: [u16; 2] = [80, 443];

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    pub(super) transport: Transport,
    pub(super) hosts: Hosts,
    pub(super) ports: Ports,
    /// HTTP requests that the rule is limited to; `None` for whole connections.
    pub(super) requests: Option<Requests>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    Tcp,
    /// UDP, written `udp://` before host and port. Both are required.
    Udp,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Hosts {
    Name(String),
    /// All names below this one: `*.example.com`.
    Below(String),
    Network(Network),
}

/// Network of addresses with a common prefix. IPv4 is never written as IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Network {
    pub(super) first: IpAddr,
    pub(super) prefix: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Ports {
    /// 80 and 443.
    Web,
    One(u16),
    All,
}

/// Destination of a connection or datagram.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    pub transport: Transport,
    pub host: Host,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name as [`canonical`] writes it.
    Name(String),
    Address(IpAddr),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the network rule `{rule}` {why}")]
pub struct RuleError {
    pub rule: String,
    pub why: Cow<'static, str>,
}

impl Ports {
    pub(super) fn has(self, port: u16) -> bool {
        match self {
            Self::Web => WEB.contains(&port),
            Self::One(one) => one == port,
            Self::All => true,
        }
    }

    pub(super) fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (_, Self::One(port)) => self.has(port),
            _ => self == other,
        }
    }
}

impl Network {
    pub(super) fn bits(address: IpAddr) -> u8 {
        if address.is_ipv4() { 32 } else { 128 }
    }

    /// Returns the network of this prefix length that contains an address.
    pub(super) fn around(address: IpAddr, prefix: u8) -> Self {
        let first = match address {
            IpAddr::V4(address) => {
                let kept = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                Ipv4Addr::from(u32::from(address) & kept).into()
            }
            IpAddr::V6(address) => {
                let kept = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                Ipv6Addr::from(u128::from(address) & kept).into()
            }
        };
        Self { first, prefix }
    }
}

impl Destination {
    /// Returns the narrowest rule that allows this destination.
    pub fn rule(&self) -> Rule {
        let hosts = match &self.host {
            Host::Name(name) => Hosts::Name(name.clone()),
            Host::Address(address) => {
                let address = address.to_canonical();
                Hosts::Network(Network {
                    first: address,
                    prefix: Network::bits(address),
                })
            }
        };
        let is_web = self.transport == Transport::Tcp && WEB.contains(&self.port);
        let ports = if is_web {
            Ports::Web
        } else {
            Ports::One(self.port)
        };
        Rule {
            transport: self.transport,
            hosts,
            ports,
            requests: None,
        }
    }

    /// Returns the narrowest rule for a request to this destination.
    pub fn rule_for(&self, asked: RequestLine<'_>) -> Rule {
        Rule {
            ports: Ports::One(self.port),
            requests: Some(Requests::of(asked)),
            ..self.rule()
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let error = |why: Cow<'static, str>| RuleError {
            rule: text.to_owned(),
            why,
        };
        let (before, rest) = text
            .split_once("://")
            .map_or((None, text), |(before, rest)| (Some(before), rest));
        let (methods, scheme) = match before.map(|before| before.split_once(' ').ok_or(before)) {
            None if text.contains(' ') => {
                return Err(error(
                    "has a method but no scheme; write it such as GET https://...".into(),
                ));
            }
            None => (None, None),
            Some(Ok((methods, scheme))) => (Some(methods), Some(scheme)),
            Some(Err(scheme)) => (None, Some(scheme)),
        };
        let transport = if scheme == Some("udp") {
            Transport::Udp
        } else {
            Transport::Tcp
        };
        let scheme = match scheme {
            None | Some("udp") => None,
            Some("http") => Some(80),
            Some("https") => Some(443),
            Some(scheme) => {
                let why = format!(
                    "has the scheme `{scheme}`; use http, https or udp, and for other protocols a \
                     host and a port, such as db.example.com:5432"
                );
                return Err(error(why.into()));
            }
        };
        let behind_host = rest.find(']').unwrap_or(0);
        let path = scheme
            .and_then(|_| rest[behind_host..].find('/'))
            .map(|at| rest.split_at(behind_host + at));
        let (rest, path) = path.map_or((rest, None), |(rest, path)| (rest, Some(path)));
        let (host, port) = split(rest).map_err(error)?;
        if transport == Transport::Udp && (methods.is_some() || port.is_none()) {
            return Err(error(
                "is a UDP rule, which has only a host and a port, such as \
                 udp://ntp.example.com:123"
                    .into(),
            ));
        }
        let ports = match (port, scheme) {
            (None, None) => Ports::Web,
            (None, Some(port)) => Ports::One(port),
            (Some("*"), _) => Ports::All,
            (Some(port), _) => match port.parse() {
                Ok(number @ 1..) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Ports::One(number)
                }
                _ => {
                    return Err(error(
                        format!("has the port `{port}`; 1 to 65535 or `*` is allowed").into(),
                    ));
                }
            },
        };
        if (transport, ports) == (Transport::Udp, Ports::One(NAMES_PORT)) {
            return Err(error(
                "never matches: the server itself answers what is sent to port 53 over UDP".into(),
            ));
        }
        let hosts = hosts(host).map_err(error)?;
        // RFC 6761, 6.3.
        if let Hosts::Name(name) | Hosts::Below(name) = &hosts
            && name.rsplit('.').next() == Some("localhost")
        {
            return Err(error(own_name_fault(ports)));
        }
        let is_length =
            |path: &str| path.len() > 1 && path.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        if matches!(hosts, Hosts::Network(_))
            && !rest.starts_with('[')
            && path.is_some_and(is_length)
        {
            return Err(error(
                "has a path that looks like a prefix length; write a network in brackets".into(),
            ));
        }
        let is_tls = scheme == Some(443);
        let is_about_requests = methods.is_some() || path.is_some();
        let requests = is_about_requests.then(|| Requests::read(is_tls, methods, path));
        Ok(Self {
            transport,
            hosts,
            ports,
            requests: requests.transpose().map_err(error)?,
        })
    }
}

/// Fault of a rule with a name that programs resolve to their loopback.
pub(super) fn own_name_fault(ports: Ports) -> Cow<'static, str> {
    let port = match ports {
        Ports::Web => String::new(),
        Ports::One(port) => format!(":{port}"),
        Ports::All => ":*".to_owned(),
    };
    format!(
        "never matches, since programs resolve this name themselves; give its address, such as \
         127.0.0.1{port}"
    )
    .into()
}

/// Splits host and port. An IPv6 address with a port is in brackets.
fn split(text: &str) -> Result<(&str, Option<&str>), Cow<'static, str>> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("has no `]`")?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("has something other than a port after `]`".into()),
        };
    }
    Ok(match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (text, None),
    })
}

fn hosts(text: &str) -> Result<Hosts, Cow<'static, str>> {
    let (address, prefix) = text
        .split_once('/')
        .map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    if let Ok(address) = address.parse::<IpAddr>() {
        return network(address, prefix).map(Hosts::Network);
    }
    if prefix.is_some() && canonical(address).is_some() {
        return Err(format!("has a path but no scheme; write https://{text}").into());
    }
    if prefix.is_some()
        || address.contains(':')
        || ends_in_number(address.strip_suffix('.').unwrap_or(address))
    {
        return Err(
            "is not a valid address; write it as 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32".into(),
        );
    }
    if !text.is_ascii() {
        return Err(format!("is not ASCII; write it as `{}`", punycode(text)).into());
    }
    let (below, name) = text
        .strip_prefix("*.")
        .map_or((false, text), |name| (true, name));
    if name.contains('*') {
        return Err(
            "has a `*` in the wrong place; `*` must be the first label, such as *.example.com"
                .into(),
        );
    }
    let name = canonical(name).ok_or("is not a host name, an address or a set (@npm)")?;
    Ok(if below {
        Hosts::Below(name)
    } else {
        Hosts::Name(name)
    })
}

fn network(address: IpAddr, prefix: Option<&str>) -> Result<Network, Cow<'static, str>> {
    let bits = Network::bits(address);
    let prefix = match prefix.map(str::parse) {
        None => bits,
        Some(Ok(prefix)) if (1..=bits).contains(&prefix) => prefix,
        Some(_) => {
            return Err(format!("has an invalid prefix length; 1 to {bits} is allowed").into());
        }
    };
    // To the kernel, an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) is IPv4.
    let (address, prefix) = match address.to_canonical() {
        IpAddr::V4(plain) if address.is_ipv6() && prefix > 96 => (plain.into(), prefix - 96),
        _ => (address, prefix),
    };
    let network = Network::around(address, prefix);
    if network.first != address {
        return Err(format!(
            "has bits set beyond its prefix; write {}/{prefix}",
            network.first
        )
        .into());
    }
    Ok(network)
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = match &self.hosts {
            Hosts::Name(name) => name.clone(),
            Hosts::Below(name) => format!("*.{name}"),
            Hosts::Network(Network { first, prefix }) if *prefix == Network::bits(*first) => {
                first.to_string()
            }
            Hosts::Network(Network { first, prefix }) => format!("{first}/{prefix}"),
        };
        if let Some(Requests {
            is_tls, methods, ..
        }) = &self.requests
        {
            let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
            let space = if methods.is_empty() { "" } else { " " };
            write!(
                out,
                "{}{space}{}://",
                methods.join(","),
                if *is_tls { "https" } else { "http" }
            )?;
        }
        if self.transport == Transport::Udp {
            out.write_str("udp://")?;
        }
        let of_scheme = self
            .requests
            .as_ref()
            .map(|requests| Ports::One(if requests.is_tls { 443 } else { 80 }));
        let ports = match self.ports {
            Ports::Web => None,
            ports if Some(ports) == of_scheme => None,
            Ports::One(port) => Some(port.to_string()),
            Ports::All => Some("*".to_owned()),
        };
        let is_bracketed = hosts.contains(':') && (ports.is_some() || of_scheme.is_some());
        if is_bracketed || hosts.contains('/') && of_scheme.is_some() {
            write!(out, "[{hosts}]")?;
        } else {
            out.write_str(&hosts)?;
        }
        if let Some(ports) = ports {
            write!(out, ":{ports}")?;
        }
        self.requests
            .as_ref()
            .map_or(Ok(()), |requests| write!(out, "{}", requests.path))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(name),
            Self::Address(address) => write!(out, "{}", address.to_canonical()),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.to_string();
        if self.transport == Transport::Udp {
            out.write_str("udp://")?;
        }
        if host.contains(':') {
            write!(out, "[{host}]:{}", self.port)
        } else {
            write!(out, "{host}:{}", self.port)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::request::tests::any_requests;
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn rule_is_printed_in_canonical_form() {
        let cases = [
            ("Example.COM.", "example.com"),
            ("example.com:443", "example.com:443"),
            ("https://example.com", "example.com:443"),
            ("http://example.com:8080", "example.com:8080"),
            ("*.example.com:*", "*.example.com:*"),
            ("10.0.0.0/8:5432", "10.0.0.0/8:5432"),
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "::1"),
            ("[::1]:80", "[::1]:80"),
            ("[2001:db8::/32]", "2001:db8::/32"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            (
                "GET https://API.github.com:443/repos/**",
                "GET https://api.github.com/repos/**",
            ),
            ("POST,GET https://a.b", "GET,POST https://a.b/**"),
            ("https://a.b/", "https://a.b/"),
            (
                "http://a.b:*/v1/*/%6Fb(s)/x",
                "http://a.b:*/v1/*/ob%28s%29/x",
            ),
            (
                "POST http://10.0.0.5:8080/hook",
                "POST http://10.0.0.5:8080/hook",
            ),
            ("http://[10.0.0.0/8]/9", "http://[10.0.0.0/8]/9"),
            ("https://[::1]:80/%2A", "https://[::1]:80/%2A"),
            ("udp://NTP.example.com.:123", "udp://ntp.example.com:123"),
            ("udp://*.example.com:*", "udp://*.example.com:*"),
            ("udp://[2001:db8::/32]:5", "udp://[2001:db8::/32]:5"),
            ("udp://10.0.0.0/8:443", "udp://10.0.0.0/8:443"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                text.parse::<Rule>().map(|rule| rule.to_string()),
                Ok(expected.to_owned()),
                "{text}"
            );
        }
    }

    const ODD: &str = "has an ambiguous path; `.`, `..`, `//`, `;`, `\\` and encoded `/` or `%` \
        are not allowed in it";

    const UDP: &str =
        "is a UDP rule, which has only a host and a port, such as udp://ntp.example.com:123";

    #[test]
    fn invalid_rule_is_rejected_with_reason() {
        let cases = [
            (
                "example.com:0",
                "has the port `0`; 1 to 65535 or `*` is allowed",
            ),
            (
                "example.com:+80",
                "has the port `+80`; 1 to 65535 or `*` is allowed",
            ),
            (
                "example.com:65536",
                "has the port `65536`; 1 to 65535 or `*` is allowed",
            ),
            (
                "example.com:",
                "has the port ``; 1 to 65535 or `*` is allowed",
            ),
            (
                "a.*.com",
                "has a `*` in the wrong place; `*` must be the first label, such as *.example.com",
            ),
            (
                "*example.com",
                "has a `*` in the wrong place; `*` must be the first label, such as *.example.com",
            ),
            (
                "*",
                "has a `*` in the wrong place; `*` must be the first label, such as *.example.com",
            ),
            (
                "bücher.example",
                "is not ASCII; write it as `xn--bcher-kva.example`",
            ),
            (
                "010.0.0.1",
                "is not a valid address; write it as 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32",
            ),
            (
                "localhost:3000",
                "never matches, since programs resolve this name themselves; give its address, \
                 such as 127.0.0.1:3000",
            ),
            (
                "example.com/path",
                "has a path but no scheme; write https://example.com/path",
            ),
            (
                "0x7f.1",
                "is not a valid address; write it as 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32",
            ),
            (
                "2130706433",
                "is not a valid address; write it as 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32",
            ),
            (
                "127.0.0.1.",
                "is not a valid address; write it as 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32",
            ),
            (
                "10.0.0.1/8",
                "has bits set beyond its prefix; write 10.0.0.0/8",
            ),
            (
                "10.0.0.0/33",
                "has an invalid prefix length; 1 to 32 is allowed",
            ),
            (
                "0.0.0.0/0",
                "has an invalid prefix length; 1 to 32 is allowed",
            ),
            ("[::1", "has no `]`"),
            ("[::1]80", "has something other than a port after `]`"),
            (
                "ftp://example.com",
                "has the scheme `ftp`; use http, https or udp, and for other protocols a host and a \
                 port, such as db.example.com:5432",
            ),
            (
                "GET example.com",
                "has a method but no scheme; write it such as GET https://...",
            ),
            ("udp://example.com", UDP),
            ("GET udp://example.com:443", UDP),
            (
                "udp://example.com:53",
                "never matches: the server itself answers what is sent to port 53 over UDP",
            ),
            (
                "udp://example.com:0",
                "has the port `0`; 1 to 65535 or `*` is allowed",
            ),
            (
                "udp://example.com:443/a",
                "has the port `443/a`; 1 to 65535 or `*` is allowed",
            ),
            (
                "get https://example.com",
                "has the method `get`; capital letters are allowed, and commas: GET,HEAD https://...",
            ),
            (
                "GET, https://a.b/",
                "has the method ``; capital letters are allowed, and commas: GET,HEAD https://...",
            ),
            (
                "https://a.b/c?d",
                "has `?`, which cannot be in a path of a rule; end the path before it",
            ),
            (
                "https://a.b/c*",
                "has a `*` in the wrong place of its path; `*` must be a whole segment, and `**` \
                 the last one",
            ),
            (
                "https://a.b/**/c",
                "has a `*` in the wrong place of its path; `*` must be a whole segment, and `**` \
                 the last one",
            ),
            ("https://a.b/c/%2e%2E/d", ODD),
            ("https://a.b/c%2fd", ODD),
            ("https://a.b/c//**", ODD),
            ("https://a.b/%zz", ODD),
            (
                "https://10.0.0.0/8",
                "has a path that looks like a prefix length; write a network in brackets",
            ),
            ("", "is not a host name, an address or a set (@npm)"),
            ("a..b", "is not a host name, an address or a set (@npm)"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                text.parse::<Rule>().map_err(|error| error.why.into_owned()),
                Err(expected.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn destination_proposes_rule_that_allows_it() {
        let at = |host: Host, port| Destination {
            transport: Transport::Tcp,
            host,
            port,
        };
        let name = || Host::Name("example.com".to_owned());
        let cases = [
            (at(name(), 443), "example.com:443", "example.com"),
            (at(name(), 5432), "example.com:5432", "example.com:5432"),
            (
                at(Host::Address("::ffff:10.0.0.1".parse().unwrap()), 80),
                "10.0.0.1:80",
                "10.0.0.1",
            ),
            (
                at(Host::Address("2001:db8::1".parse().unwrap()), 8),
                "[2001:db8::1]:8",
                "[2001:db8::1]:8",
            ),
        ];
        for (destination, shown, rule) in cases {
            assert_eq!(
                (
                    destination.to_string().as_str(),
                    destination.rule().to_string().as_str()
                ),
                (shown, rule)
            );
        }
        let long = format!("/{}", "a".repeat(200));
        let asked = |method, path, may_switch| RequestLine {
            is_tls: true,
            method,
            path,
            may_switch,
        };
        let cases = [
            (
                asked("POST", "/repos/x", false),
                "POST https://example.com/repos/x",
            ),
            (
                asked("GET", "/a/'$(id)", false),
                "GET https://example.com/a/%27%24%28id%29",
            ),
            (asked("GET", "/a/../b", false), "GET https://example.com/**"),
            (asked("GET", &long, false), "GET https://example.com/**"),
            (asked("GET", "/socket", true), "https://example.com/socket"),
        ];
        for (asked, rule) in cases {
            assert_eq!(at(name(), 443).rule_for(asked).to_string(), rule);
        }
    }

    pub(in crate::rules) fn any_rule() -> impl Strategy<Value = Rule> {
        let ports = prop_oneof![
            Just(Ports::Web),
            Just(Ports::All),
            prop_oneof![Just(80), 1..=3_u16, any::<u16>()].prop_map(|port| Ports::One(port.max(1)))
        ];
        let name = "[ab](\\.[ab]){0,3}\\.c";
        let network = prop_oneof![
            (any::<u32>(), 1..=32_u8)
                .prop_map(|(bits, prefix)| Network::around(Ipv4Addr::from(bits).into(), prefix)),
            (any::<u128>(), 1..=128_u8)
                .prop_map(|(bits, prefix)| Network::around(Ipv6Addr::from(bits).into(), prefix)),
        ];
        // IPv4 in IPv6's clothes is printed as what it is.
        let network = network.prop_filter("IPv6", |network| {
            network.first.to_canonical() == network.first
        });
        let hosts = prop_oneof![
            name.prop_map(Hosts::Name),
            name.prop_map(Hosts::Below),
            network.prop_map(Hosts::Network),
        ];
        let requests = proptest::option::of(any_requests());
        (hosts, ports, requests, any::<bool>()).prop_map(|(hosts, ports, requests, is_udp)| {
            let is_udp = is_udp && requests.is_none();
            let transport = if is_udp {
                Transport::Udp
            } else {
                Transport::Tcp
            };
            // 80 and 443 together have no scheme.
            let ports = if (requests.is_some() || is_udp) && ports == Ports::Web {
                Ports::All
            } else {
                ports
            };
            let ports = if is_udp && ports == Ports::One(NAMES_PORT) {
                Ports::All
            } else {
                ports
            };
            Rule {
                transport,
                hosts,
                ports,
                requests,
            }
        })
    }

    proptest! {
        #[test]
        fn printed_rule_parses_to_same_rule(rule in any_rule()) {
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
        }

        #[test]
        fn rule_parser_never_panics(text in "([A-Z,]{0,3} )?((https?|udp)://)?[a-z0-9:./*@ %;?\\[\\]ü-]{0,20}") {
            if let Ok(rule) = text.parse::<Rule>() {
                prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
            }
        }
    }
}
