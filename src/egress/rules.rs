//! All rules together: what is allowed, and what is denied of that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use super::request::{Path, RequestLine, Requests, is_method};
use super::rule::{Destination, Host, Hosts, Network, Ports, Rule, RuleError, Transport, WEB};
use super::sets::rules_of;
use super::special_addresses::{danger, is_special};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Table,
    deny: Table,
    /// What there is to tell of rules that change nothing, since others cover them.
    redundant: Vec<String>,
    /// Whether what no rule names is allowed, to learn what is needed.
    is_learning: bool,
}

/// A look-up costs a step for each label of a name, or for each length of a prefix that some rule has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table {
    /// As they were written.
    texts: Vec<String>,
    names: HashMap<String, Vec<Entry>>,
    /// By the name that they are below.
    below: HashMap<String, Vec<Entry>>,
    networks: HashMap<Network, Vec<Entry>>,
    prefixes_4: BTreeSet<u8>,
    prefixes_6: BTreeSet<u8>,
    /// Of all rules that are about requests, as they are printed.
    requests: BTreeMap<usize, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    transports: &'static [Transport],
    ports: Ports,
    requests: Option<Requests>,
    /// The place of the text that it comes from.
    text: usize,
}

/// What the rules say of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Missing,
    Denied,
    /// No rule can allow it: servers differ about what the method is.
    OddMethod,
    /// Servers differ about what the path is, and no rule allows all paths.
    OddPath,
}

impl Table {
    fn of(texts: &[String], denies: bool) -> Result<(Self, Vec<Vec<Rule>>), RuleError> {
        let all = texts.iter().map(|text| rules_of(text)).collect::<Result<Vec<_>, _>>()?;
        let mut table = Self { texts: texts.to_vec(), ..Self::default() };
        for (text, rules) in all.iter().enumerate() {
            for rule @ Rule { transport, hosts, ports, requests } in rules {
                if requests.is_some() {
                    table.requests.insert(text, rule.to_string());
                }
                // What takes connections away takes datagrams away, too.
                let transports: &[_] = match transport {
                    Transport::Tcp if denies => &[Transport::Tcp, Transport::Udp],
                    Transport::Tcp => &[Transport::Tcp],
                    Transport::Udp => &[Transport::Udp],
                };
                let entry = Entry { transports, ports: *ports, requests: requests.clone(), text };
                match hosts {
                    Hosts::Name(name) => table.names.entry(name.clone()).or_default().push(entry),
                    Hosts::Below(name) => table.below.entry(name.clone()).or_default().push(entry),
                    Hosts::Network(network) => {
                        let prefixes =
                            if network.first.is_ipv4() { &mut table.prefixes_4 } else { &mut table.prefixes_6 };
                        prefixes.insert(network.prefix);
                        table.networks.entry(*network).or_default().push(entry);
                    }
                }
            }
        }
        Ok((table, all))
    }

    fn of_name(&self, name: &str) -> impl Iterator<Item = &Entry> {
        self.names.get(name).into_iter().chain(self.above(name)).flatten()
    }

    /// Those of `*.` and a name that this one is below.
    fn above(&self, name: &str) -> impl Iterator<Item = &Vec<Entry>> {
        name.match_indices('.').filter_map(|(dot, _)| self.below.get(&name[dot + 1..]))
    }

    /// Those of all networks that hold this one.
    fn of_network(&self, network: Network) -> impl Iterator<Item = &Entry> {
        let prefixes = if network.first.is_ipv4() { &self.prefixes_4 } else { &self.prefixes_6 };
        let around = prefixes.range(..=network.prefix).map(move |prefix| Network::around(network.first, *prefix));
        around.filter_map(|around| self.networks.get(&around)).flatten()
    }

    fn of_address(&self, address: IpAddr) -> impl Iterator<Item = &Entry> {
        let first = address.to_canonical();
        self.of_network(Network { first, prefix: Network::bits(first) })
    }

    /// Whether one that this is true of is about connections there.
    fn any(&self, to: &Destination, mut is_one: impl FnMut(&Entry) -> bool) -> bool {
        let mut is_one =
            |entry: &Entry| entry.transports.contains(&to.transport) && entry.ports.has(to.port) && is_one(entry);
        match &to.host {
            Host::Name(name) => self.of_name(name).any(&mut is_one),
            Host::Address(address) => self.of_address(*address).any(&mut is_one),
        }
    }

    /// One that this is true of, as it was written.
    fn deciding(&self, to: &Destination, is_one: impl Fn(&Entry) -> bool) -> Option<&str> {
        let mut text = None;
        self.any(to, |entry| {
            text = is_one(entry).then_some(entry.text);
            text.is_some()
        });
        text.map(|text| self.texts[text].as_str())
    }

    /// A rule about requests there.
    fn opens(&self, to: &Destination) -> Option<&str> {
        let mut found = None;
        self.any(to, |entry| {
            found = entry.requests.as_ref().and_then(|_| self.requests.get(&entry.text));
            found.is_some()
        });
        found.map(String::as_str)
    }

    /// The text of a rule that holds for all that this one does, but for those of this text.
    fn covering(&self, rule: &Rule, but: Option<usize>) -> Option<usize> {
        let requests = |entry: &Entry| match (&entry.requests, &rule.requests) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => wide.cover(narrow),
        };
        self.covering_where(rule, |entry| Some(entry.text) != but && requests(entry))
    }

    /// The text of a rule that this is true of, and that names all of the hosts and ports.
    fn covering_where(&self, rule: &Rule, is_one: impl Fn(&Entry) -> bool) -> Option<usize> {
        let covers = |entry: &&Entry| {
            entry.transports.contains(&rule.transport) && entry.ports.covers(rule.ports) && is_one(entry)
        };
        let found = match &rule.hosts {
            Hosts::Name(name) => self.of_name(name).find(covers),
            Hosts::Below(name) => self.below.get(name).into_iter().chain(self.above(name)).flatten().find(covers),
            Hosts::Network(network) => self.of_network(*network).find(covers),
        };
        found.map(|entry| entry.text)
    }
}

/// A line for each text of which others cover all rules; of several that are alike the last one is none of those.
fn redundant(flag: &str, table: &Table, rules_of_texts: &[Vec<Rule>]) -> Vec<String> {
    let mut told = BTreeSet::new();
    let mut lines = Vec::new();
    for (at, rules) in rules_of_texts.iter().enumerate() {
        let covering: Option<Vec<_>> = rules.iter().map(|rule| table.covering(rule, Some(at))).collect();
        if let Some(by) = covering.and_then(|by| by.first().copied())
            && !told.contains(&by)
        {
            told.insert(at);
            lines.push(format!("{flag} `{}` changes nothing beside `{}`", table.texts[at], table.texts[by]));
        }
    }
    lines
}

impl Rules {
    /// Reads rules and names of sets. Fails on one that never matches, and names it: it is not what the operator meant. One that others
    /// cover is only told ([`Self::redundant`]): a profile and a command line may both name what they need.
    pub fn new(allow: &[String], deny: &[String]) -> Result<Self, RuleError> {
        let ((allowed, of_allow), (denied, of_deny)) = (Table::of(allow, false)?, Table::of(deny, true)?);
        let error = |rule: &String, why: String| Err(RuleError { rule: rule.clone(), why: why.into() });
        for (text, rules) in allow.iter().zip(&of_allow) {
            let by_deny: Option<Vec<_>> = rules.iter().map(|rule| denied.covering(rule, None)).collect();
            if let Some(by) = by_deny.and_then(|by| by.first().copied()) {
                return error(text, format!("never matches: `{}` denies all of it", deny[by]));
            }
        }
        let redundant =
            [redundant("--allow-net", &allowed, &of_allow), redundant("--deny-net", &denied, &of_deny)].concat();
        Ok(Self { allow: allowed, deny: denied, redundant, is_learning: false })
    }

    /// Allows what no rule names, too, but for addresses that are more than a host ([`danger`]).
    #[must_use]
    pub fn learning(self) -> Self {
        Self { is_learning: true, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.allow.texts.is_empty() && self.deny.texts.is_empty() && !self.is_learning
    }

    /// Whether there are connections that have to be opened.
    pub fn are_about_requests(&self) -> bool {
        !(self.allow.requests.is_empty() && self.deny.requests.is_empty())
    }

    /// Whether a connection may be made there, if only for some requests.
    pub fn allows(&self, to: &Destination) -> bool {
        let is_dangerous = matches!(to.host, Host::Address(address) if danger(address).is_some());
        (self.is_learning && !is_dangerous || self.allow.any(to, |_| true)) && !self.denies(to)
    }

    /// Whether a rule says no, whatever others say.
    pub fn denies(&self, to: &Destination) -> bool {
        self.deny.any(to, |entry| entry.requests.is_none())
    }

    /// The rule that says yes or no to a connection, as it was written.
    pub fn deciding(&self, to: &Destination) -> Option<&str> {
        self.deny.deciding(to, |entry| entry.requests.is_none()).or_else(|| self.allow.deciding(to, |_| true))
    }

    /// A line for each rule that changes nothing beside others.
    pub fn redundant(&self) -> &[String] {
        &self.redundant
    }

    /// The rules as they were written: what is allowed, and what is denied.
    pub fn texts(&self) -> (&[String], &[String]) {
        (&self.allow.texts, &self.deny.texts)
    }

    /// The sets that are allowed, as they were written.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        self.allow.texts.iter().map(String::as_str).filter(|text| text.starts_with('@'))
    }

    /// Whether a name that is allowed may be reached at this address. One that is not of the public Internet has to be
    /// allowed by itself, and whole: a name is worth no more than who answers for it, and it is its requests that are judged.
    pub fn allows_resolved(&self, to: &Destination, address: IpAddr) -> bool {
        let to = Destination { host: Host::Address(address), ..*to };
        let is_allowed =
            || self.is_learning && danger(address).is_none() || self.allow.any(&to, |entry| entry.requests.is_none());
        !self.deny.any(&to, |_| true) && (!is_special(address) || is_allowed())
    }

    /// The flag and the rule for which connections there have to be opened, if there is one.
    pub fn opens(&self, to: &Destination) -> Option<(&'static str, &str)> {
        let allow = || self.allow.opens(to).map(|rule| ("--allow-net", rule));
        allow().or_else(|| self.deny.opens(to).map(|rule| ("--deny-net", rule)))
    }

    /// The rule that allows connections there, beside those that there are.
    pub fn proposal(&self, to: &Destination) -> Rule {
        let rule = to.rule();
        // Whole connections to a port that is opened would take the rule for that away.
        let is_opened = |port: &u16| self.opens(&Destination { port: *port, ..to.clone() }).is_some();
        if rule.ports == Ports::Web && WEB.iter().any(is_opened) {
            return Rule { ports: Ports::One(to.port), ..rule };
        }
        rule
    }

    pub fn judge(&self, to: &Destination, asked: RequestLine<'_>) -> Verdict {
        if !is_method(asked.method) {
            return Verdict::OddMethod;
        }
        let path = Path::read(asked.path);
        let of = |entry: &Entry, holds: fn(&Requests, RequestLine<'_>, &Path<'_>) -> bool| {
            entry.requests.as_ref().is_none_or(|requests| holds(requests, asked, &path))
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

    /// Whether connections to all that this rule names may be made, if only for some requests.
    pub(super) fn reach(&self, rule: &Rule) -> bool {
        let is_denied = || self.deny.covering_where(rule, |entry| entry.requests.is_none()).is_some();
        self.allow.covering_where(rule, |_| true).is_some() && !is_denied()
    }

    /// Whether a name may be reached at some port.
    pub fn knows(&self, name: &str) -> bool {
        let allowed = self.allow.of_name(name);
        let allowed = allowed.flat_map(|entry| entry.transports.iter().map(|transport| (*transport, entry.ports)));
        let is_denied = |transport, ports| {
            let denied = self.deny.of_name(name).filter(|entry| entry.requests.is_none());
            denied.into_iter().any(|entry| entry.transports.contains(&transport) && entry.ports.covers(ports))
        };
        let learning = self.is_learning.then_some((Transport::Tcp, Ports::All));
        allowed.chain(learning).any(|(transport, ports)| !is_denied(transport, ports))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::tests::any_rule;
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn rules(allow: &[&str], deny: &[&str]) -> Rules {
        Rules::new(&texts(allow), &texts(deny)).unwrap()
    }

    fn to(host: &str, port: u16) -> Destination {
        let host = host.parse().map_or_else(|_| Host::Name(host.to_owned()), Host::Address);
        Destination { transport: Transport::Tcp, host, port }
    }

    fn datagrams(host: &str, port: u16) -> Destination {
        Destination { transport: Transport::Udp, ..to(host, port) }
    }

    #[test]
    fn datagrams_need_rules_of_their_own_and_are_denied_by_all() {
        let rules = rules(
            &["udp://*.example.com:123", "example.com", "udp://10.0.0.0/8:5", "10.0.0.0/8:*", "udp://a.example.org:*"],
            &["udp://bad.example.com:123", "evil.example.com:*", "udp://10.0.0.1:*", "10.0.0.2:5"],
        );
        let cases = [
            (datagrams("ntp.example.com", 123), true),
            (datagrams("ntp.example.com", 124), false),
            (to("ntp.example.com", 123), false),
            (datagrams("example.com", 443), false),
            (datagrams("bad.example.com", 123), false),
            (datagrams("evil.example.com", 123), false),
            (datagrams("10.0.0.3", 5), true),
            (datagrams("10.0.0.1", 5), false),
            (to("10.0.0.1", 5), true),
            (datagrams("10.0.0.2", 5), false),
            (datagrams("10.0.0.3", 6), false),
        ];
        for (destination, expected) in cases {
            assert_eq!(rules.allows(&destination), expected, "{destination}");
        }
        assert!(rules.knows("ntp.example.com") && rules.knows("a.example.org"));
        assert!(!rules.knows("bad.example.com") && !rules.knows("evil.example.com"));
        for (port, expected) in [(5, true), (6, false)] {
            assert_eq!(rules.allows_resolved(&datagrams("a.example.org", port), "10.0.0.3".parse().unwrap()), expected);
        }
        let rules = Rules::new(&texts(&["udp://a.b:80", "a.b"]), &texts(&["c.d:80", "udp://c.d:80"])).unwrap();
        assert_eq!(rules.redundant(), ["--deny-net `udp://c.d:80` changes nothing beside `c.d:80`"]);
    }

    #[test]
    fn deny_wins_and_what_no_rule_names_is_refused() {
        let rules = rules(
            &["*.example.com", "db.example.com:5432", "10.0.0.0/8:*", "@pypi", "[2001:db8::/32]:22"],
            &["evil.example.com:*", "10.1.0.0/16:22"],
        );
        let cases = [
            (to("a.example.com", 443), true),
            (to("a.b.example.com", 80), true),
            (to("example.com", 443), false),
            (to("notexample.com", 443), false),
            (to("a.example.com", 22), false),
            (to("db.example.com", 5432), true),
            (to("evil.example.com", 443), false),
            (to("x.evil.example.com", 443), true),
            (to("pypi.org", 443), true),
            (to("pypi.org", 80), false),
            (to("10.9.9.9", 1), true),
            (to("::ffff:10.9.9.9", 1), true),
            (to("10.1.2.3", 22), false),
            (to("10.1.2.3", 23), true),
            (to("11.0.0.1", 80), false),
            (to("2001:db8::1", 22), true),
            (to("2001:db9::1", 22), false),
        ];
        for (destination, expected) in cases {
            assert_eq!(rules.allows(&destination), expected, "{destination}");
        }
        assert!(!Rules::default().allows(&to("a.example", 443)) && Rules::default().is_empty());
        assert!(rules.knows("db.example.com") && !rules.knows("evil.example.com") && !rules.knows("example.com"));
    }

    #[test]
    fn a_name_leads_to_a_private_address_only_by_a_rule_about_the_address() {
        let rules = rules(&["a.example", "10.0.0.0/8"], &["10.1.0.0/16", "1.1.1.1:443"]);
        let cases =
            [("1.1.1.2", true), ("1.1.1.1", false), ("10.0.0.1", true), ("10.1.0.1", false), ("127.0.0.1", false)];
        for (address, expected) in
            cases.into_iter().chain([("169.254.169.254", false), ("::ffff:169.254.169.254", false)])
        {
            assert_eq!(rules.allows_resolved(&to("a.example", 443), address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn while_one_learns_everything_is_allowed_that_is_no_more_than_a_host() {
        let rules = rules(&["127.0.0.1:1"], &["evil.example:*", "10.0.0.1"]).learning();
        let cases = [
            (to("any.example", 5432), true),
            (to("evil.example", 443), false),
            (to("10.0.0.2", 80), true),
            (to("10.0.0.1", 80), false),
            (to("169.254.169.254", 80), false),
            (to("127.0.0.1", 1), true),
            (to("127.0.0.1", 2), false),
        ];
        for (destination, expected) in cases {
            assert_eq!(rules.allows(&destination), expected, "{destination}");
            if let Host::Address(address) = destination.host {
                assert_eq!(rules.allows_resolved(&destination, address), expected, "{address}");
            }
        }
        assert!(rules.knows("any.example") && !rules.knows("evil.example"));
    }

    #[test]
    fn the_rule_that_decides_is_told_as_it_was_written() {
        let rules = rules(&["@npm", "*.Example.com"], &["evil.example.com:443"]);
        let cases = [
            (to("registry.npmjs.org", 443), Some("@npm")),
            (to("a.example.com", 80), Some("*.Example.com")),
            (to("evil.example.com", 443), Some("evil.example.com:443")),
            (to("example.org", 443), None),
        ];
        for (destination, expected) in cases {
            assert_eq!(rules.deciding(&destination), expected, "{destination}");
        }
        assert_eq!(rules.sets().collect::<Vec<_>>(), ["@npm"]);
    }

    #[test]
    fn a_rule_that_others_cover_is_told_once() {
        let cases: [(&[&str], &[&str], &str); 9] = [
            (
                &["GET,POST https://a.b/c/**", "GET https://a.b/c/*/d"],
                &[],
                "--allow-net `GET https://a.b/c/*/d` changes nothing beside `GET,POST https://a.b/c/**`",
            ),
            (&["a.b", "https://a.b/c"], &[], "--allow-net `https://a.b/c` changes nothing beside `a.b`"),
            (
                &["a.b"],
                &["https://a.b/c", "PUT https://a.b/c"],
                "--deny-net `PUT https://a.b/c` changes nothing beside `https://a.b/c`",
            ),
            (&["a.b", "A.b."], &[], "--allow-net `a.b` changes nothing beside `A.b.`"),
            (&["*.b:*", "x.a.b:22"], &[], "--allow-net `x.a.b:22` changes nothing beside `*.b:*`"),
            (&["10.1.0.0/16", "10.0.0.0/8"], &[], "--allow-net `10.1.0.0/16` changes nothing beside `10.0.0.0/8`"),
            (
                &["@npm", "registry.npmjs.org:443"],
                &[],
                "--allow-net `registry.npmjs.org:443` changes nothing beside `@npm`",
            ),
            (&["@npm", "@npm"], &[], "--allow-net `@npm` changes nothing beside `@npm`"),
            (&["a.b"], &["c.d", "c.d:80"], "--deny-net `c.d:80` changes nothing beside `c.d`"),
        ];
        for (allow, deny, expected) in cases {
            assert_eq!(rules(allow, deny).redundant(), [expected]);
        }
        assert_eq!(rules(&["@npm", "registry.npmjs.org"], &["a.b"]).redundant(), [] as [&str; 0]);
    }

    #[test]
    fn a_rule_that_never_matches_is_an_error_that_names_it() {
        let cases: [(&[&str], &[&str], &str); 3] = [
            (
                &["GET https://a.b/c/d"],
                &["GET https://*.b/*/**"],
                "`GET https://a.b/c/d` never matches: `GET https://*.b/*/**` denies all of it",
            ),
            (&["a.b"], &["*.b:*"], "`a.b` never matches: `*.b:*` denies all of it"),
            (&["a.b", "a.b:0"], &[], "`a.b:0` has the port `0`; 1 to 65535 or `*` is allowed"),
        ];
        for (allow, deny, expected) in cases {
            let error = Rules::new(&texts(allow), &texts(deny)).unwrap_err().to_string();
            assert_eq!(error, format!("the network rule {expected}"));
        }
    }

    #[test]
    fn ten_thousand_rules_are_read_and_asked_quickly() {
        let many: Vec<String> = (0..10_000).map(|at| format!("host-{at}.example.com:443")).collect();
        let rules = Rules::new(&many, &[]).unwrap();
        let hits = (0..20_000).filter(|at| rules.allows(&to(&format!("host-{at}.example.com"), 443))).count();
        assert_eq!(hits, 10_000);
    }

    fn naive(rule: &Rule, to: &Destination) -> bool {
        let host = match (&rule.hosts, &to.host) {
            (Hosts::Name(name), Host::Name(host)) => name == host,
            (Hosts::Below(name), Host::Name(host)) => host.ends_with(&format!(".{name}")),
            (Hosts::Network(network), Host::Address(address)) => {
                address.is_ipv4() == network.first.is_ipv4() && Network::around(*address, network.prefix) == *network
            }
            _ => false,
        };
        let port = match rule.ports {
            Ports::Web => to.port == 80 || to.port == 443,
            Ports::One(port) => to.port == port,
            Ports::All => true,
        };
        host && port
    }

    #[test]
    fn requests_are_judged_one_by_one() {
        use Verdict::{Allowed, Denied, Missing, OddMethod, OddPath};

        let rules = rules(
            &["GET,HEAD https://api.example/repos/**", "https://api.example/v1/*/x", "whole.example", "10.0.0.5"],
            &["DELETE https://whole.example/**", "https://whole.example/Admin/**"],
        );
        let cases = [
            ("api.example", "GET", "/repos/a", Allowed),
            ("api.example", "HEAD", "/repos/", Allowed),
            ("api.example", "GET", "/repos", Missing),
            ("api.example", "GET", "/Repos/a", Missing),
            ("api.example", "GET", "/%72epos/a", Allowed),
            ("api.example", "POST", "/repos/a", Missing),
            ("api.example", "get", "/repos/a", OddMethod),
            ("api.example", "POST", "/v1/a/x", Allowed),
            ("api.example", "POST", "/v1/a/b/x", Missing),
            ("api.example", "GET", "/repos/../admin", OddPath),
            ("api.example", "GET", "/repos/%2e%2e/admin", OddPath),
            ("api.example", "GET", "/repos/..%2fadmin", OddPath),
            ("api.example", "GET", "/repos/%c0%ae./admin", OddPath),
            ("api.example", "GET", "/repos/%252e", OddPath),
            ("api.example", "GET", "/repos/..;/admin", OddPath),
            ("api.example", "GET", "/repos//admin", OddPath),
            ("api.example", "GET", "/repos/a\\..\\b", OddPath),
            ("api.example", "GET", "/repos/%00", OddPath),
            ("api.example", "GET", "*", OddPath),
            ("whole.example", "POST", "/a/../b", Denied),
            ("whole.example", "POST", "/a/b", Allowed),
            ("whole.example", "DELETE", "/a", Denied),
            ("whole.example", "GET", "/admin/a", Denied),
            ("whole.example", "GET", "/admi%6E/a", Denied),
            ("10.0.0.5", "GET", "/a//b", Allowed),
        ];
        for (host, method, path, expected) in cases {
            let asked = RequestLine { is_tls: true, method, path, may_switch: false };
            assert_eq!(rules.judge(&to(host, 443), asked), expected, "{host} {method} {path}");
        }
        let asked = RequestLine { is_tls: false, method: "GET", path: "/repos/a", may_switch: false };
        assert_eq!(rules.judge(&to("api.example", 443), asked), Missing);
        let asked = |path| RequestLine { is_tls: true, method: "GET", path, may_switch: true };
        assert_eq!(rules.judge(&to("api.example", 443), asked("/repos/a")), Missing);
        assert_eq!(rules.judge(&to("api.example", 443), asked("/v1/a/x")), Allowed);
        let opens = |host, port| rules.opens(&to(host, port));
        assert_eq!(opens("api.example", 443), Some(("--allow-net", "GET,HEAD https://api.example/repos/**")));
        assert_eq!(opens("whole.example", 443), Some(("--deny-net", "DELETE https://whole.example/**")));
        assert_eq!((opens("api.example", 80), opens("whole.example", 80), opens("10.0.0.5", 443)), (None, None, None));
        assert!(rules.allows(&to("api.example", 443)) && !rules.allows(&to("api.example", 80)));
        assert!(rules.knows("api.example") && rules.knows("whole.example"));
    }

    #[test]
    fn a_proposal_goes_with_the_rules_that_there_are() {
        let rules = rules(&["GET https://api.example/x"], &["DELETE http://whole.example/x"]);
        for (host, port, expected) in [
            ("api.example", 80, "api.example:80"),
            ("whole.example", 443, "whole.example:443"),
            ("c.example", 80, "c.example"),
        ] {
            assert_eq!(rules.proposal(&to(host, port)).to_string(), expected);
        }
    }

    #[test]
    fn a_rule_about_requests_lets_no_name_lead_to_its_address() {
        let rules = rules(&["a.example", "GET http://10.0.0.1/x", "10.0.0.2"], &["GET http://10.0.0.2/y"]);
        for address in ["10.0.0.1", "10.0.0.2"] {
            assert!(!rules.allows_resolved(&to("a.example", 80), address.parse().unwrap()), "{address}");
        }
    }

    proptest! {
        #[test]
        fn the_tables_decide_as_going_through_all_rules_does(
            allow in proptest::collection::vec(any_rule(), 0..8),
            deny in proptest::collection::vec(any_rule(), 0..4),
            name in "[ab](\\.[ab]){0,3}\\.c",
            bits in any::<u32>(),
            port in prop_oneof![Just(80_u16), 1..=3_u16],
            transport in prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)],
        ) {
            let print = |rules: &[Rule]| rules.iter().map(Rule::to_string).collect::<Vec<_>>();
            let (allowed, denied) = (Table::of(&print(&allow), false).unwrap().0, Table::of(&print(&deny), true).unwrap().0);
            let rules = Rules { allow: allowed, deny: denied, ..Rules::default() };
            let hosts = [Host::Name(name), Host::Address(std::net::Ipv4Addr::from(bits).into())];
            for to in hosts.map(|host| Destination { transport, host, port }) {
                let is_whole = |rule: &&Rule| rule.requests.is_none();
                let of_transport = |rule: &&Rule| rule.transport == transport;
                let takes_away = |rule: &&Rule| of_transport(rule) || rule.transport == Transport::Tcp;
                let denied = deny.iter().filter(is_whole).filter(takes_away).any(|rule| naive(rule, &to));
                let allowed = allow.iter().filter(of_transport).any(|rule| naive(rule, &to));
                prop_assert_eq!(rules.allows(&to), allowed && !denied);
                let all = allow.iter().filter(of_transport).chain(deny.iter().filter(takes_away));
                let opens = all.into_iter().any(|rule| !is_whole(&rule) && naive(rule, &to));
                prop_assert_eq!(rules.opens(&to).is_some(), opens);
            }
        }
    }
}
