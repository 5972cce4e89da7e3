//! Who may ask at all: a page in somebody's browser must not, be it through a name that it made to
//! lead here (DNS rebinding) or through a request across origins (2026-07-28,
//! basic/transports/streamable-http.mdx, "Security Warning").

use std::net::{IpAddr, SocketAddr};

/// What `Host` and `Origin` may say.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Names and addresses beside those of this machine, lower case, without ports. `None` if any
    /// name will do.
    hosts: Option<Vec<String>>,
    /// Origins of pages that may ask, such as `https://app.example`.
    origins: Vec<String>,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// From no page, or from one of this server's own.
    Nowhere,
    /// From a page that the operator allows.
    Page,
    /// From any other page.
    Stranger,
}

impl Guard {
    /// For a server at `bound`. One that others reach has names that it cannot know: they are
    /// checked only if the operator has said some.
    pub fn new(bound: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let checked = bound.ip().is_loopback() || !hosts.is_empty();
        let hosts = checked.then(|| hosts.iter().map(|host| host.to_ascii_lowercase()).collect());
        let origins = origins
            .iter()
            .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
            .collect();
        Self { hosts, origins }
    }

    /// Whether a request for this host, as it stands in the head, may be answered.
    pub fn allows_host(&self, authority: Option<&str>) -> bool {
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

    /// Where a request with this `Origin` comes from, that came for this host.
    pub fn origin(&self, origin: Option<&str>, authority: Option<&str>) -> From {
        let Some(origin) = origin.map(str::to_ascii_lowercase) else {
            return From::Nowhere;
        };
        if self.origins.contains(&origin) {
            return From::Page;
        }
        let own = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let is_own = own.is_some() && own == authority.map(str::to_ascii_lowercase).as_deref();
        if is_own {
            From::Nowhere
        } else {
            From::Stranger
        }
    }
}

/// The name or the address without its port; an IPv6 address keeps its brackets. `None` if what
/// follows is no port.
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
    fn only_names_of_this_machine_lead_to_a_loopback_server() {
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
    fn pages_of_others_are_strangers() {
        let local = guard("127.0.0.1:8000", &[]);
        let host = Some("localhost:8000");
        assert_eq!(local.origin(None, host), From::Nowhere);
        assert_eq!(
            local.origin(Some("http://localhost:8000"), host),
            From::Nowhere
        );
        assert_eq!(local.origin(Some("https://app.example"), host), From::Page);
        for bad in [
            "null",
            "http://localhost:3000",
            "http://evil.example",
            "file://localhost:8000",
            "",
            "https://app.example.evil",
        ] {
            assert_eq!(local.origin(Some(bad), host), From::Stranger, "{bad}");
        }
        assert_eq!(local.origin(Some("http://"), None), From::Stranger);
    }
}
