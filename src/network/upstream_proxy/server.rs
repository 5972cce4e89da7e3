//! One proxy: its address, and its user and password.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::{ProxySetting, ProxySettingError};

/// Longest user and longest password of SOCKS5, in bytes (RFC 1929, 2).
const MAX_SOCKS_LOGIN_BYTES: usize = 255;
/// TTL of a proxy's addresses, in seconds.
const ADDRESSES_SECS: u64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyScheme {
    Http,
    /// HTTP over TLS.
    Https,
    Socks5,
}

pub struct ProxyServer {
    pub scheme: ProxyScheme,
    /// A name or an address, an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
    /// Flag, key or variable that names the proxy.
    pub setting: String,
    /// User and password as in a URL.
    via: Intercept,
    /// Addresses of the name, with the time of the lookup.
    addresses: Mutex<Option<(Instant, Vec<IpAddr>)>>,
}

impl ProxyServer {
    pub(super) fn parse(setting: &ProxySetting) -> Result<Self, ProxySettingError> {
        let fault = |why| ProxySettingError {
            name: setting.name.clone(),
            why,
        };
        let (scheme, rest) = match setting.url.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => ("http".to_owned(), setting.url.as_str()),
        };
        let scheme = match scheme.as_str() {
            "http" => ProxyScheme::Http,
            "https" => ProxyScheme::Https,
            "socks5" | "socks5h" => ProxyScheme::Socks5,
            "socks4" | "socks4a" => {
                return Err(fault(
                    "SOCKS4 is not supported; name a socks5:// or http:// proxy",
                ));
            }
            _ => {
                return Err(fault(
                    "a proxy must begin with http://, https:// or socks5://",
                ));
            }
        };
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        if [".pac", ".dat"].iter().any(|end| path.ends_with(end)) {
            return Err(fault(
                "PAC files are not supported; name the proxy that the file chooses",
            ));
        }
        let unreadable = || {
            fault(
                "it is no URL of a proxy, such as http://proxy.example:3128; special characters of \
                 a user and password must be percent-encoded",
            )
        };
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.matches('@').count() > 1 {
            return Err(unreadable());
        }
        let every = Uri::from_static("https://proxied.invalid");
        let matcher = Matcher::builder().all(setting.url.as_str()).build();
        let via = matcher.intercept(&every).ok_or_else(unreadable)?;
        let host = via.uri().host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = via.uri().port_u16().unwrap_or(match scheme {
            ProxyScheme::Http => 80,
            ProxyScheme::Https => 443,
            ProxyScheme::Socks5 => 1080,
        });
        if host.is_empty() || port == 0 {
            return Err(unreadable());
        }
        if let Some((user, password)) = via.raw_auth()
            && [user, password]
                .iter()
                .any(|part| part.len() > MAX_SOCKS_LOGIN_BYTES)
        {
            return Err(fault(
                "its user or password is longer than SOCKS5 allows, 255 bytes",
            ));
        }
        Ok(Self {
            scheme,
            host: host.to_ascii_lowercase(),
            port,
            setting: setting.name.clone(),
            via,
            addresses: Mutex::default(),
        })
    }

    /// Returns host and port.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns the value of `Proxy-Authorization`, if the proxy has a user.
    pub fn basic_authorization(&self) -> Option<&HeaderValue> {
        self.via.basic_auth()
    }

    /// Returns user and password for SOCKS5, if the proxy has a user.
    pub(super) fn login(&self) -> Option<(&str, &str)> {
        self.via.raw_auth()
    }

    pub(super) fn has_login(&self) -> bool {
        self.basic_authorization().is_some() || self.login().is_some()
    }

    /// Returns the addresses, if they are known and not outdated.
    pub fn addresses(&self) -> Option<Vec<IpAddr>> {
        if let Ok(address) = self.host.parse() {
            return Some(vec![address]);
        }
        let known = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (since, addresses) = known.as_ref()?;
        (since.elapsed() < Duration::from_secs(ADDRESSES_SECS)).then(|| addresses.clone())
    }

    /// Remembers the addresses of the name.
    pub fn set_addresses(&self, addresses: Vec<IpAddr>) {
        let mut known = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), addresses));
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        self.host
            .strip_suffix('.')
            .unwrap_or(&self.host)
            .eq_ignore_ascii_case(name)
    }

    /// Returns true if the proxy is known to have this address. Outdated addresses count.
    pub(super) fn is_at(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if let Ok(own) = self.host.parse::<IpAddr>() {
            return own.to_canonical() == address;
        }
        if self.host == "localhost" && address.is_loopback() {
            return true;
        }
        let known = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_it = |own: &IpAddr| own.to_canonical() == address;
        known
            .as_ref()
            .is_some_and(|(_, addresses)| addresses.iter().any(is_it))
    }
}

/// Formats as a URL without user and password.
impl fmt::Display for ProxyServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            ProxyScheme::Http => "http",
            ProxyScheme::Https => "https",
            ProxyScheme::Socks5 => "socks5",
        };
        write!(out, "{scheme}://{}", self.address())
    }
}

impl fmt::Debug for ProxyServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ProxyServer")
            .field(&self.to_string())
            .finish()
    }
}
