//! Checks of `Host` and `Origin`. A page in a browser must not reach the server by DNS rebinding or
//! by a cross-origin request (2026-07-28, basic/transports/streamable-http.mdx, "Security
//! Warning").

use std::net::{IpAddr, SocketAddr};

/// Allowed values of `Host` and `Origin`.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// Host names and addresses besides those of this machine, in lower case, without ports. `None`
    /// allows any name.
    hosts: Option<Vec<String>>,
    /// Allowed origins of pages, such as `https://app.example`.
    origins: Vec<String>,
}

/// Origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// No page, or a page of this server.
    Own,
    /// A page that the operator allows.
    Page,
    /// Any other page.
    Foreign,
}

impl Guard {
    /// Creates the guard of a server at `bound`. A server that other machines reach cannot know its
    /// names. It checks them only if the operator lists some.
    pub(super) fn new(bound: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let checked = bound.ip().is_loopback() || !hosts.is_empty();
        let hosts = checked.then(|| hosts.iter().map(|host| host.to_ascii_lowercase()).collect());
        let origins = origins
            .iter()
            .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
            .collect();
        Self { hosts, origins }
    }

    /// Returns true if requests for this host, as in the header, are allowed.
    pub(super) fn allows_host(&self, authority: Option<&str>) -> bool {
        let Some(hosts) = &self.hosts else {
            return true;
        };
        let name = authority
            .and_then(without_port)
            .map(str::to_ascii_lowercase);
        let Some(name) = name else { return false };
        name == "localhost"
            || address(&name).is_some_and(|address| address.is_loopback())
            || hosts.contains(&name)
    }

    /// Classifies the `Origin` of a request for this host.
    pub(super) fn origin(&self, origin: Option<&str>, authority: Option<&str>) -> RequestOrigin {
        let Some(origin) = origin.map(str::to_ascii_lowercase) else {
            return RequestOrigin::Own;
        };
        if self.origins.contains(&origin) {
            return RequestOrigin::Page;
        }
        let own = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let is_own = own.is_some() && own == authority.map(str::to_ascii_lowercase).as_deref();
        if is_own {
            RequestOrigin::Own
        } else {
            RequestOrigin::Foreign
        }
    }
}

/// Returns the name or address without its port; an IPv6 address keeps its brackets. `None` if the
/// port is invalid.
fn without_port(authority: &str) -> Option<&str> {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (name, rest) = authority.split_at(end);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

fn address(name: &str) -> Option<IpAddr> {
    name.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(name)
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bound: &str, hosts: &[&str]) -> Guard {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        Guard::new(
            bound.parse().unwrap(),
            &hosts,
            &["https://App.example/".to_owned()],
        )
    }

    #[test]
    fn loopback_server_refuses_foreign_hosts() {
        let local = guard("127.0.0.1:8000", &["Box.example"]);
        for good in [
            "localhost",
            "localhost:8000",
            "LOCALHOST:1",
            "127.0.0.1:8000",
            "[::1]:8000",
            "box.example:80",
        ] {
            assert!(local.allows_host(Some(good)), "{good}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]:8000",
            "",
            "[",
            "[::1]evil",
            "localhost:evil",
            "localhost:1:2",
        ] {
            assert!(!local.allows_host(Some(bad)), "{bad}");
        }
        assert!(!local.allows_host(None));
        assert!(guard("0.0.0.0:8000", &[]).allows_host(Some("anything")));
        assert!(!guard("0.0.0.0:8000", &["box"]).allows_host(Some("anything")));
    }

    #[test]
    fn page_origin_must_be_own_or_allowed() {
        let local = guard("127.0.0.1:8000", &[]);
        let host = Some("localhost:8000");
        assert_eq!(local.origin(None, host), RequestOrigin::Own);
        assert_eq!(
            local.origin(Some("http://localhost:8000"), host),
            RequestOrigin::Own
        );
        assert_eq!(
            local.origin(Some("https://app.example"), host),
            RequestOrigin::Page
        );
        for bad in [
            "null",
            "http://localhost:3000",
            "http://evil.example",
            "file://localhost:8000",
            "",
            "https://app.example.evil",
        ] {
            assert_eq!(
                local.origin(Some(bad), host),
                RequestOrigin::Foreign,
                "{bad}"
            );
        }
        assert_eq!(local.origin(Some("http://"), None), RequestOrigin::Foreign);
    }
}
