//! Destinations that are reached without a proxy (`NO_PROXY`).

use std::collections::BTreeMap;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

/// Destinations that no proxy can lead to: this machine, and addresses of its own link.
const OWN: &str = "localhost,127.0.0.0/8,::1,169.254.0.0/16,fe80::/10";

/// Destinations without a proxy.
#[derive(Debug)]
pub(super) struct Exceptions {
    /// Entries without a port.
    of_all_ports: Matcher,
    /// Entries with a port, which the matcher does not know.
    of_port: BTreeMap<u16, Matcher>,
}

impl Exceptions {
    /// Reads a list, separated by commas or spaces. An entry is a name and everything below it,
    /// `.name`, `*.name`, an address, a network or `*`, each also with a port.
    pub(super) fn parse(list: &str) -> Self {
        let mut hosts = vec![OWN.to_owned()];
        let mut with_port = BTreeMap::<u16, Vec<String>>::new();
        let is_end = |letter: char| letter == ',' || letter.is_whitespace();
        for entry in list.split(is_end).filter(|entry| !entry.is_empty()) {
            let (host, port) = split(entry);
            let host = host.strip_suffix('.').unwrap_or(host);
            // The matcher takes `*` for a wildcard only if it is alone.
            let host = host
                .strip_prefix('*')
                .filter(|rest| !rest.is_empty())
                .unwrap_or(host);
            match port {
                Some(port) => with_port.entry(port).or_default().push(host.to_owned()),
                None => hosts.push(host.to_owned()),
            }
        }
        Self {
            of_all_ports: matcher(&hosts),
            of_port: with_port
                .into_iter()
                .map(|(port, hosts)| (port, matcher(&hosts)))
                .collect(),
        }
    }

    /// Returns true if this destination is reached without a proxy.
    pub(super) fn have(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        let text = if host.contains(':') {
            format!("http://[{host}]/")
        } else {
            format!("http://{host}/")
        };
        let Ok(uri) = text.parse::<Uri>() else {
            return false;
        };
        let has = |matcher: &Matcher| matcher.intercept(&uri).is_none();
        has(&self.of_all_ports) || self.of_port.get(&port).is_some_and(has)
    }
}

/// Returns a matcher that intercepts every destination but these.
fn matcher(hosts: &[String]) -> Matcher {
    Matcher::builder()
        .all("http://proxy.invalid")
        .no(hosts.join(","))
        .build()
}

/// Splits the port from an entry. An IPv6 address with a port is in brackets.
fn split(entry: &str) -> (&str, Option<u16>) {
    if let Some((address, rest)) = entry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        return (
            address,
            rest.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}
