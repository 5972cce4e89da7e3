//! Upstream proxy of the operator: which destinations are reached through it, and the handshake
//! with it (RFC 9110, 9.3.6; RFC 1928; RFC 1929).

mod error;
mod exceptions;
mod handshake;
mod server;

use std::ffi::OsStr;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use thiserror::Error;

pub use error::{ProxyError, ProxyFault};
pub use handshake::{Handshake, Step};
pub use server::{ProxyScheme, ProxyServer};

use crate::trust::Trust;
use exceptions::Exceptions;

/// Variables that name proxies, in both spellings. Programs do not agree on the order; an empty
/// value never hides the other spelling.
const ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];
const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const NO: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A proxy URL with the flag, key or variable that has it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxySetting {
    pub name: String,
    pub url: String,
}

/// Shows no password.
impl fmt::Debug for ProxySetting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ProxySetting")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Error of a proxy setting. It never repeats the URL, which may have a password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{name}: {why}")]
pub struct ProxySettingError {
    pub name: String,
    pub why: &'static str,
}

/// Settings of the proxies. Equal settings have equal behavior.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// Proxy of port 80.
    pub http: Option<ProxySetting>,
    /// Proxy of all other ports.
    pub https: Option<ProxySetting>,
    /// Destinations without a proxy, as in `NO_PROXY`.
    pub except: String,
}

impl ProxySettings {
    /// Reads the variables. `REQUEST_METHOD` has no effect, since this program is no CGI script.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&str; 2]| {
            let set = |name: &str| {
                let url = variable(name).filter(|value| !value.trim().is_empty())?;
                Some(ProxySetting {
                    name: name.to_owned(),
                    url: url.trim().to_owned(),
                })
            };
            names.into_iter().find_map(set)
        };
        let all = first(ALL);
        Self {
            http: first(HTTP).or_else(|| all.clone()),
            https: first(HTTPS).or(all),
            except: first(NO).map(|no| no.url).unwrap_or_default(),
        }
    }

    /// Replaces the proxies by this one, and keeps the exceptions.
    #[must_use]
    pub fn with_proxy(self, setting: ProxySetting) -> Self {
        Self {
            http: Some(setting.clone()),
            https: Some(setting),
            except: self.except,
        }
    }
}

/// Proxies of the operator, with the destinations that are reached without them.
#[derive(Clone)]
pub struct UpstreamProxy {
    settings: ProxySettings,
    http: Option<Arc<ProxyServer>>,
    https: Option<Arc<ProxyServer>>,
    exceptions: Arc<Exceptions>,
    /// Trust anchors for `https://` proxies.
    trust: Option<Trust>,
}

impl UpstreamProxy {
    /// Returns the proxies of the settings, `None` if they name none. `trust` is called for an
    /// `https://` proxy.
    pub fn new(
        settings: ProxySettings,
        trust: impl FnOnce() -> Option<Trust>,
    ) -> Result<Option<Self>, ProxySettingError> {
        let server = |setting: &Option<ProxySetting>| {
            setting
                .as_ref()
                .map(|setting| ProxyServer::parse(setting).map(Arc::new))
                .transpose()
        };
        let https = server(&settings.https)?;
        let http = if settings.http == settings.https {
            https.clone()
        } else {
            server(&settings.http)?
        };
        if http.is_none() && https.is_none() {
            return Ok(None);
        }
        let is_encrypted = |server: &Arc<ProxyServer>| server.scheme == ProxyScheme::Https;
        let trust = if http.iter().chain(&https).any(is_encrypted) {
            trust()
        } else {
            None
        };
        Ok(Some(Self {
            exceptions: Arc::new(Exceptions::parse(&settings.except)),
            settings,
            http,
            https,
            trust,
        }))
    }

    /// Returns the proxy that leads to this host and port, if any. A port other than 80 counts as
    /// `https`.
    pub fn of(&self, host: &str, port: u16) -> Option<&Arc<ProxyServer>> {
        self.of_url(port != 80, host, port)
    }

    /// Returns the proxy for a URL with this host and port, if any.
    pub fn of_url(&self, is_encrypted: bool, host: &str, port: u16) -> Option<&Arc<ProxyServer>> {
        let server = if is_encrypted {
            &self.https
        } else {
            &self.http
        };
        server
            .as_ref()
            .filter(|_| !self.exceptions.have(host, port))
    }

    /// Returns true if a proxy leads to this name, at least at the usual ports.
    pub fn reaches(&self, name: &str) -> bool {
        [80, 443].iter().any(|port| self.of(name, *port).is_some())
    }

    /// Returns the proxies, each once.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<ProxyServer>> {
        let http = self.http.as_ref();
        let is_other =
            move |server: &&Arc<ProxyServer>| http.is_none_or(|http| !Arc::ptr_eq(http, server));
        self.https.iter().filter(is_other).chain(http)
    }

    /// Returns the proxy that has this name and port, if any.
    pub fn at_name(&self, name: &str, port: u16) -> Option<&Arc<ProxyServer>> {
        self.servers()
            .find(|server| server.port == port && server.is_named(name))
    }

    /// Returns the proxy that has this address and port, if any.
    pub fn at_address(&self, address: IpAddr, port: u16) -> Option<&Arc<ProxyServer>> {
        self.servers()
            .find(|server| server.port == port && server.is_at(address))
    }

    pub fn trust(&self) -> Option<&Trust> {
        self.trust.as_ref()
    }
}

/// Formats as `http://10.1.2.3:3128 (HTTPS_PROXY)`, without passwords.
impl fmt::Display for UpstreamProxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.servers().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(out, "{comma}{server} ({})", server.setting)?;
        }
        if !self.settings.except.is_empty() {
            out.write_str(", except hosts of NO_PROXY")?;
        }
        Ok(())
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("UpstreamProxy")
            .field(&self.to_string())
            .finish()
    }
}

impl PartialEq for UpstreamProxy {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings
    }
}

impl Eq for UpstreamProxy {}

/// Returns true for a variable that configures a proxy, such as `HTTPS_PROXY` and
/// `npm_config_proxy`.
pub fn is_proxy_variable(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let end = name.len().saturating_sub("_PROXY".len());
    name[end..].eq_ignore_ascii_case(b"_PROXY")
}

#[cfg(test)]
mod tests;
