//! Request target: an `http` or `https` URL (RFC 9110, 4.2). Parsing resolves no names.

use thiserror::Error;

/// Error of parsing a request URL.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// Neither `http` nor `https`.
    #[error("`{0}` must begin with http:// or https://")]
    Scheme(String),
    /// A name and a password, which belong into a header.
    #[error("a URL must not have a name and a password; give a header instead")]
    Credentials,
    /// No host, or one with odd characters.
    #[error("`{0}` has no host")]
    Host(String),
    /// No number from 1 to 65535.
    #[error("`{0}` has a port that is not 1 to 65535")]
    Port(String),
    /// Spaces, controls or other characters that no URL has as they stand.
    #[error("`{0}` has characters that a URL must encode")]
    Characters(String),
}

/// URL that can be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    /// `true` for `https`.
    pub is_encrypted: bool,
    /// A name or an address, an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
    /// Path and query; at least `/`.
    pub path: String,
}

impl HttpTarget {
    /// Reads a URL; a fragment is left out.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let (is_encrypted, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            _ => return Err(TargetError::Scheme(url.to_owned())),
        };
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TargetError::Characters(url.escape_default().to_string()));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(TargetError::Credentials);
        }
        let no_host = || TargetError::Host(url.to_owned());
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (address, port) = inner.split_once(']').ok_or_else(no_host)?;
                address
                    .parse::<std::net::Ipv6Addr>()
                    .map_err(|_| no_host())?;
                (address, port)
            }
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let is_name =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
        if host.is_empty() || !host.bytes().all(is_name) {
            return Err(no_host());
        }
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port != 0),
            None if port.is_empty() => Some(if is_encrypted { 443 } else { 80 }),
            None => return Err(no_host()),
        };
        let port = port.ok_or_else(|| TargetError::Port(url.to_owned()))?;
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Self {
            is_encrypted,
            host: host.to_owned(),
            port,
            path,
        })
    }

    /// Returns the URL with `more` behind its path, and without a query.
    #[must_use]
    pub fn below(mut self, more: &str) -> Self {
        let path = self.path.split('?').next().unwrap_or_default();
        self.path = format!("{}/{more}", path.trim_end_matches('/'));
        self
    }

    /// Returns the authority as in the `Host` field.
    pub fn authority(&self) -> String {
        let Self {
            is_encrypted,
            host,
            port,
            ..
        } = self;
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.clone()
        };
        let usual = if *is_encrypted { 443 } else { 80 };
        if *port == usual {
            host
        } else {
            format!("{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_split_into_parts() {
        let read = |url: &str| {
            let target = HttpTarget::parse(url).unwrap();
            (
                target.is_encrypted,
                target.host.clone(),
                target.port,
                target.path.clone(),
                target.authority(),
            )
        };
        let host = || "h.example".to_owned();
        assert_eq!(
            read("http://h.example"),
            (false, host(), 80, "/".to_owned(), host())
        );
        assert_eq!(
            read("HTTPS://h.example/a?b#c"),
            (true, host(), 443, "/a?b".to_owned(), host())
        );
        let local = ("::1".to_owned(), "[::1]:4318".to_owned());
        assert_eq!(
            read("http://[::1]:4318?q"),
            (false, local.0, 4318, "/?q".to_owned(), local.1)
        );
        let below = |url: &str| HttpTarget::parse(url).unwrap().below("v1/traces").path;
        assert_eq!(
            ["http://h", "http://h/", "http://h/a/?b"].map(below),
            ["/v1/traces", "/v1/traces", "/a/v1/traces"]
        );
    }

    #[test]
    fn unsupported_url_is_rejected() {
        let refused = |url: &str| HttpTarget::parse(url).unwrap_err();
        for url in ["", "h.example:4318", "grpc://h", "//h"] {
            assert_eq!(refused(url), TargetError::Scheme(url.to_owned()));
        }
        for url in [
            "http://",
            "http:///a",
            "http://:80",
            "http://[::1",
            "http://[x]:1",
            "http://[::1]x",
            "http://a*b",
        ] {
            assert_eq!(refused(url), TargetError::Host(url.to_owned()));
        }
        for url in ["http://h:0", "http://h:65536", "http://h:", "http://h:x"] {
            assert_eq!(refused(url), TargetError::Port(url.to_owned()));
        }
        assert_eq!(refused("http://a:b@h/"), TargetError::Credentials);
        assert_eq!(
            refused("http://h/a\r\nb"),
            TargetError::Characters("http://h/a\\r\\nb".to_owned())
        );
    }
}
