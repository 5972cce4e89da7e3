//! Rule set: the allow rules, and the deny rules that override them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use super::host_name::canonical;
use super::request::{Path, RequestLine, Requests, is_method};
use super::rule::{
    Destination, Host, Hosts, Network, Ports, Rule, RuleError, Transport, WEB, own_name_fault,
};
use super::sets::rules_of;
use super::special_addresses::{danger, is_special};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Table,
    deny: Table,
    /// Notes about rules that other rules cover.
    redundant: Vec<String>,
    /// `true` in learning mode: connections that no rule names are allowed.
    is_learning: bool,
}

/// A look-up costs a step for each label of a name, or for each length of a prefix that some rule
/// has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table {
    /// The rules as the operator wrote them.
    texts: Vec<String>,
    names: HashMap<String, Vec<Entry>>,
    /// Entries of `*.` rules by parent name.
    below: HashMap<String, Vec<Entry>>,
    networks: HashMap<Network, Vec<Entry>>,
    prefixes_4: BTreeSet<u8>,
    prefixes_6: BTreeSet<u8>,
    /// Rules about requests, as printed.
    requests: BTreeMap<usize, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    transports: &'static [Transport],
    ports: Ports,
    requests: Option<Requests>,
    /// Index of the rule text.
    text: usize,
}

/// Verdict of the rules on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Missing,
    Denied,
    /// No rule can allow the request: servers read its method differently.
    OddMethod,
    /// Servers read the path differently, and no rule allows all paths.
    OddPath,
}

impl Table {
    fn of(texts: &[String], denies: bool) -> Result<(Self, Vec<Vec<Rule>>), RuleError> {
        let all = texts
            .iter()
            .map(|text| rules_of(text))
            .collect::<Result<Vec<_>, _>>()?;
        let mut table = Self {
            texts: texts.to_vec(),
            ..Self::default()
        };
        for (text, rules) in all.iter().enumerate() {
            for rule @ Rule {
                transport,
                hosts,
                ports,
                requests,
            } in rules
            {
                if requests.is_some() {
                    table.requests.insert(text, rule.to_string());
                }
                // A deny rule for TCP also denies UDP.
                let transports: &[_] = match transport {
                    Transport::Tcp if denies => &[Transport::Tcp, Transport::Udp],
                    Transport::Tcp => &[Transport::Tcp],
                    Transport::Udp => &[Transport::Udp],
                };
                let entry = Entry {
                    transports,
                    ports: *ports,
                    requests: requests.clone(),
                    text,
                };
                match hosts {
                    Hosts::Name(name) => table.names.entry(name.clone()).or_default().push(entry),
                    Hosts::Below(name) => table.below.entry(name.clone()).or_default().push(entry),
                    Hosts::Network(network) => {
                        let prefixes = if network.first.is_ipv4() {
                            &mut table.prefixes_4
                        } else {
                            &mut table.prefixes_6
                        };
                        prefixes.insert(network.prefix);
                        table.networks.entry(*network).or_default().push(entry);
                    }
                }
            }
        }
        Ok((table, all))
    }

    fn of_name(&self, name: &str) -> impl Iterator<Item = &Entry> {
        self.names
            .get(name)
            .into_iter()
            .chain(self.above(name))
            .flatten()
    }

    /// Returns the entries of each `*.` rule that covers this name.
    fn above(&self, name: &str) -> impl Iterator<Item = &Vec<Entry>> {
        name.match_indices('.')
            .filter_map(|(dot, _)| self.below.get(&name[dot + 1..]))
    }

    /// Returns the entries of all networks that contain this one.
    fn of_network(&self, network: Network) -> impl Iterator<Item = &Entry> {
        let prefixes = if network.first.is_ipv4() {
            &self.prefixes_4
        } else {
            &self.prefixes_6
        };
        let around = prefixes
            .range(..=network.prefix)
            .map(move |prefix| Network::around(network.first, *prefix));
        around
            .filter_map(|around| self.networks.get(&around))
            .flatten()
    }

    fn of_address(&self, address: IpAddr) -> impl Iterator<Item = &Entry> {
        let first = address.to_canonical();
        self.of_network(Network {
            first,
            prefix: Network::bits(first),
        })
    }

    /// Returns true if an entry for this destination satisfies the predicate.
    fn any(&self, to: &Destination, mut is_one: impl FnMut(&Entry) -> bool) -> bool {
        let mut is_one = |entry: &Entry| {
            entry.transports.contains(&to.transport) && entry.ports.has(to.port) && is_one(entry)
        };
        match &to.host {
            Host::Name(name) => self.of_name(name).any(&mut is_one),
            Host::Address(address) => self.of_address(*address).any(&mut is_one),
        }
    }

    /// Returns the text of a rule for this destination that satisfies the predicate.
    fn deciding(&self, to: &Destination, is_one: impl Fn(&Entry) -> bool) -> Option<&str> {
        let mut text = None;
        self.any(to, |entry| {
            text = is_one(entry).then_some(entry.text);
            text.is_some()
        });
        text.map(|text| self.texts[text].as_str())
    }

    /// Returns the text of a rule about requests to this destination.
    fn opens(&self, to: &Destination) -> Option<&str> {
        let mut found = None;
        self.any(to, |entry| {
            found = entry
                .requests
                .as_ref()
                .and_then(|_| self.requests.get(&entry.text));
            found.is_some()
        });
        found.map(String::as_str)
    }

    /// Returns the text of a rule that covers this one, except the text `but`.
    fn covering(&self, rule: &Rule, but: Option<usize>) -> Option<usize> {
        let requests = |entry: &Entry| match (&entry.requests, &rule.requests) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => wide.cover(narrow),
        };
        self.covering_where(rule, |entry| Some(entry.text) != but && requests(entry))
    }

    /// Returns the text of a rule that satisfies the predicate and names all of the hosts and
    /// ports.
    fn covering_where(&self, rule: &Rule, is_one: impl Fn(&Entry) -> bool) -> Option<usize> {
        let covers = |entry: &&Entry| {
            entry.transports.contains(&rule.transport)
                && entry.ports.covers(rule.ports)
                && is_one(entry)
        };
        let found = match &rule.hosts {
            Hosts::Name(name) => self.of_name(name).find(covers),
            Hosts::Below(name) => self
                .below
                .get(name)
                .into_iter()
                .chain(self.above(name))
                .flatten()
                .find(covers),
            Hosts::Network(network) => self.of_network(*network).find(covers),
        };
        found.map(|entry| entry.text)
    }
}

/// Returns a line for each text whose rules are all covered by other texts. Of several equal texts
/// the last one is not listed.
fn redundant(flag: &str, table: &Table, rules_of_texts: &[Vec<Rule>]) -> Vec<String> {
    let mut told = BTreeSet::new();
    let mut lines = Vec::new();
    for (at, rules) in rules_of_texts.iter().enumerate() {
        let covering: Option<Vec<_>> = rules
            .iter()
            .map(|rule| table.covering(rule, Some(at)))
            .collect();
        if let Some(by) = covering.and_then(|by| by.first().copied())
            && !told.contains(&by)
        {
            told.insert(at);
            lines.push(format!(
                "{flag} `{}` has no effect, since `{}` covers it; leave it out",
                table.texts[at], table.texts[by]
            ));
        }
    }
    lines
}

impl Rules {
    /// Parses rules and set names. Fails if a rule can never match, and names it. Rules that others
    /// cover are only reported ([`Self::redundant`]): a profile and a command line may name the
    /// same ones.
    pub fn new(allow: &[String], deny: &[String]) -> Result<Self, RuleError> {
        let ((allowed, of_allow), (denied, of_deny)) =
            (Table::of(allow, false)?, Table::of(deny, true)?);
        let error = |rule: &String, why: String| {
            Err(RuleError {
                rule: rule.clone(),
                why: why.into(),
            })
        };
        for (text, rules) in allow.iter().zip(&of_allow) {
            let by_deny: Option<Vec<_>> = rules
                .iter()
                .map(|rule| denied.covering(rule, None))
                .collect();
            if let Some(by) = by_deny.and_then(|by| by.first().copied()) {
                return error(
                    text,
                    format!("never matches: `{}` denies all of it", deny[by]),
                );
            }
        }
        let redundant = [
            redundant("--allow-host", &allowed, &of_allow),
            redundant("--deny-host", &denied, &of_deny),
        ]
        .concat();
        Ok(Self {
            allow: allowed,
            deny: denied,
            redundant,
            is_learning: false,
        })
    }

    /// Fails if an allow rule has one of these names, which the hosts file of commands maps to
    /// their loopback.
    pub fn refuse_own_names(&self, own: &[String]) -> Result<(), RuleError> {
        let mut names = own.iter().filter_map(|name| canonical(name));
        let entry = names.find_map(|name| self.allow.names.get(&name)?.first());
        entry.map_or(Ok(()), |entry| {
            Err(RuleError {
                rule: self.allow.texts[entry.text].clone(),
                why: own_name_fault(entry.ports),
            })
        })
    }

    /// Fails if an allow rule names exactly the host and port of the operator's proxy, by its name or
    /// one of its addresses. That proxy would lead past all rules.
    pub fn refuse_proxy(
        &self,
        name: &str,
        addresses: &[IpAddr],
        port: u16,
        setting: &str,
    ) -> Result<(), RuleError> {
        let named = canonical(name).and_then(|name| self.allow.names.get(&name));
        let networks = addresses.iter().filter_map(|address| {
            let first = address.to_canonical();
            let prefix = Network::bits(first);
            self.allow.networks.get(&Network { first, prefix })
        });
        let is_it =
            |entry: &&Entry| entry.transports.contains(&Transport::Tcp) && entry.ports.has(port);
        let mut entries = named.into_iter().chain(networks).flatten();
        entries.find(is_it).map_or(Ok(()), |entry| {
            Err(RuleError {
                rule: self.allow.texts[entry.text].clone(),
                why: format!(
                    "names the operator's proxy ({setting}), which leads past all rules; leave it \
                     out, since allowed hosts are reached through the proxy, or give commands the \
                     proxy with --upstream-proxy off"
                )
                .into(),
            })
        })
    }

    /// Returns true if an allow rule has exactly one address and this port.
    pub fn name_address_at(&self, port: u16) -> bool {
        let is_one = |(network, _): &(&Network, _)| network.prefix == Network::bits(network.first);
        let entries = self
            .allow
            .networks
            .iter()
            .filter(is_one)
            .flat_map(|(_, entries)| entries);
        entries.into_iter().any(|entry| entry.ports.has(port))
    }

    /// Switches to learning mode: destinations that no rule names are allowed, except for dangerous
    /// addresses ([`danger`]).
    #[must_use]
    pub fn learning(self) -> Self {
        Self {
            is_learning: true,
            ..self
        }
    }

    pub fn is_empty(&self) -> bool {
        self.allow.texts.is_empty() && self.deny.texts.is_empty() && !self.is_learning
    }

    /// Returns true if a rule is about requests, so that connections have to be intercepted.
    pub fn are_about_requests(&self) -> bool {
        !(self.allow.requests.is_empty() && self.deny.requests.is_empty())
    }

    /// Returns true if a connection may be made, at least for some requests.
    pub fn allows(&self, to: &Destination) -> bool {
        let is_dangerous = matches!(to.host, Host::Address(address) if danger(address).is_some());
        (self.is_learning && !is_dangerous || self.allow.any(to, |_| true)) && !self.denies(to)
    }

    /// Returns true if a rule denies the whole connection.
    pub fn denies(&self, to: &Destination) -> bool {
        self.deny.any(to, |entry| entry.requests.is_none())
    }

    /// Returns the rule that decides a connection, as written.
    pub fn deciding(&self, to: &Destination) -> Option<&str> {
        self.deny
            .deciding(to, |entry| entry.requests.is_none())
            .or_else(|| self.allow.deciding(to, |_| true))
    }

    /// Returns a line for each redundant rule.
    pub fn redundant(&self) -> &[String] {
        &self.redundant
    }

    /// The rules as they were written: what is allowed, and what is denied.
    pub fn texts(&self) -> (&[String], &[String]) {
        (&self.allow.texts, &self.deny.texts)
    }

    /// The sets that are allowed, as they were written, each once.
    pub fn sets(&self) -> BTreeSet<&str> {
        self.allow
            .texts
            .iter()
            .map(String::as_str)
            .filter(|text| text.starts_with('@'))
            .collect()
    }

    /// Returns true if an allowed name may be reached at this address. An address outside the
    /// public Internet needs a rule of its own, for whole connections. A name alone proves too
    /// little, since its DNS answers decide, and request rules are checked against the name.
    pub fn allows_resolved(&self, to: &Destination, address: IpAddr) -> bool {
        let to = Destination {
            host: Host::Address(address),
            ..*to
        };
        let is_allowed = || {
            self.is_learning && danger(address).is_none()
                || self.allow.any(&to, |entry| entry.requests.is_none())
        };
        !self.deny.any(&to, |_| true) && (!is_special(address) || is_allowed())
    }

    /// Returns the flag and the rule that require interception of connections to this destination,
    /// if any.
    pub fn opens(&self, to: &Destination) -> Option<(&'static str, &str)> {
        let allow = || self.allow.opens(to).map(|rule| ("--allow-host", rule));
        allow().or_else(|| self.deny.opens(to).map(|rule| ("--deny-host", rule)))
    }

    /// Returns the rule to add so that connections to this destination are allowed.
    pub fn proposal(&self, to: &Destination) -> Rule {
        let rule = to.rule();
        // Whole connections to a port that is opened would take the rule for that away.
        let is_opened = |port: &u16| {
            self.opens(&Destination {
                port: *port,
                ..to.clone()
            })
            .is_some()
        };
        if rule.ports == Ports::Web && WEB.iter().any(is_opened) {
            return Rule {
                ports: Ports::One(to.port),
                ..rule
            };
        }
        rule
    }

    pub fn judge(&self, to: &Destination, asked: RequestLine<'_>) -> Verdict {
        if !is_method(asked.method) {
            return Verdict::OddMethod;
        }
        let path = Path::read(asked.path);
        let of = |entry: &Entry, holds: fn(&Requests, RequestLine<'_>, &Path<'_>) -> bool| {
            entry
                .requests
                .as_ref()
                .is_none_or(|requests| holds(requests, asked, &path))
        };
        if self.deny.any(to, |entry| of(entry, Requests::deny)) {
            Verdict::Denied
        } else if self.allow.any(to, |entry| of(entry, Requests::allow)) {
            Verdict::Allowed
        } else if path.is_odd() {
            Verdict::OddPath
        } else {
            Verdict::Missing
        }
    }

    /// Returns true if the rules allow connections to everything that `rule` names, at least for
    /// some requests.
    pub fn reach(&self, rule: &Rule) -> bool {
        let is_denied = || {
            self.deny
                .covering_where(rule, |entry| entry.requests.is_none())
                .is_some()
        };
        self.allow.covering_where(rule, |_| true).is_some() && !is_denied()
    }

    /// Returns true if the name may be reached at some port.
    pub fn knows(&self, name: &str) -> bool {
        let allowed = self.allow.of_name(name);
        let allowed = allowed.flat_map(|entry| {
            entry
                .transports
                .iter()
                .map(|transport| (*transport, entry.ports))
        });
        let is_denied = |transport, ports| {
            let denied = self
                .deny
                .of_name(name)
                .filter(|entry| entry.requests.is_none());
            denied
                .into_iter()
                .any(|entry| entry.transports.contains(&transport) && entry.ports.covers(ports))
        };
        let learning = self.is_learning.then_some((Transport::Tcp, Ports::All));
        allowed
            .chain(learning)
            .any(|(transport, ports)| !is_denied(transport, ports))
    }
}

#[cfg(test)]
mod tests;
