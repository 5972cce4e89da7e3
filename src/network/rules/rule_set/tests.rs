use std::collections::BTreeSet;

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
    let host = host
        .parse()
        .map_or_else(|_| Host::Name(host.to_owned()), Host::Address);
    Destination {
        transport: Transport::Tcp,
        host,
        port,
    }
}

fn datagrams(host: &str, port: u16) -> Destination {
    Destination {
        transport: Transport::Udp,
        ..to(host, port)
    }
}

#[test]
fn datagrams_need_rules_of_their_own() {
    let rules = rules(
        &[
            "udp://*.example.com:123",
            "example.com",
            "udp://10.0.0.0/8:5",
            "10.0.0.0/8:*",
            "udp://a.example.org:*",
        ],
        &[
            "udp://bad.example.com:123",
            "evil.example.com:*",
            "udp://10.0.0.1:*",
            "10.0.0.2:5",
        ],
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
        assert_eq!(
            rules.allows_resolved(
                &datagrams("a.example.org", port),
                "10.0.0.3".parse().unwrap()
            ),
            expected
        );
    }
    let rules = Rules::new(
        &texts(&["udp://a.b:80", "a.b"]),
        &texts(&["c.d:80", "udp://c.d:80"]),
    )
    .unwrap();
    assert_eq!(
        rules.redundant(),
        ["--deny-host `udp://c.d:80` has no effect, since `c.d:80` covers it; leave it out"]
    );
}

#[test]
fn deny_rule_overrides_allow_rule() {
    let rules = rules(
        &[
            "*.example.com",
            "db.example.com:5432",
            "10.0.0.0/8:*",
            "@pypi",
            "[2001:db8::/32]:22",
        ],
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
    assert!(
        rules.knows("db.example.com")
            && !rules.knows("evil.example.com")
            && !rules.knows("example.com")
    );
}

#[test]
fn name_resolves_to_private_address_only_by_address_rule() {
    let rules = rules(
        &["a.example", "10.0.0.0/8"],
        &["10.1.0.0/16", "1.1.1.1:443"],
    );
    let cases = [
        ("1.1.1.2", true),
        ("1.1.1.1", false),
        ("10.0.0.1", true),
        ("10.1.0.1", false),
        ("127.0.0.1", false),
    ];
    for (address, expected) in cases.into_iter().chain([
        ("169.254.169.254", false),
        ("::ffff:169.254.169.254", false),
    ]) {
        assert_eq!(
            rules.allows_resolved(&to("a.example", 443), address.parse().unwrap()),
            expected,
            "{address}"
        );
    }
}

#[test]
fn learning_mode_allows_plain_hosts() {
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
            assert_eq!(
                rules.allows_resolved(&destination, address),
                expected,
                "{address}"
            );
        }
    }
    assert!(rules.knows("any.example") && !rules.knows("evil.example"));
}

#[test]
fn deciding_rule_is_reported_as_written() {
    let rules = rules(
        &["@npm", "*.Example.com", "@npm"],
        &["evil.example.com:443"],
    );
    let cases = [
        (to("registry.npmjs.org", 443), Some("@npm")),
        (to("a.example.com", 80), Some("*.Example.com")),
        (to("evil.example.com", 443), Some("evil.example.com:443")),
        (to("example.org", 443), None),
    ];
    for (destination, expected) in cases {
        assert_eq!(rules.deciding(&destination), expected, "{destination}");
    }
    assert_eq!(rules.sets(), BTreeSet::from(["@npm"]));
}

#[test]
fn covered_rule_is_reported_once() {
    let cases: [(&[&str], &[&str], &str); 9] = [
        (
            &["GET,POST https://a.b/c/**", "GET https://a.b/c/*/d"],
            &[],
            "--allow-host `GET https://a.b/c/*/d` has no effect, since `GET,POST \
             https://a.b/c/**` covers it; leave it out",
        ),
        (
            &["a.b", "https://a.b/c"],
            &[],
            "--allow-host `https://a.b/c` has no effect, since `a.b` covers it; leave it out",
        ),
        (
            &["a.b"],
            &["https://a.b/c", "PUT https://a.b/c"],
            "--deny-host `PUT https://a.b/c` has no effect, since `https://a.b/c` covers it; \
             leave it out",
        ),
        (
            &["a.b", "A.b."],
            &[],
            "--allow-host `a.b` has no effect, since `A.b.` covers it; leave it out",
        ),
        (
            &["*.b:*", "x.a.b:22"],
            &[],
            "--allow-host `x.a.b:22` has no effect, since `*.b:*` covers it; leave it out",
        ),
        (
            &["10.1.0.0/16", "10.0.0.0/8"],
            &[],
            "--allow-host `10.1.0.0/16` has no effect, since `10.0.0.0/8` covers it; leave it out",
        ),
        (
            &["@npm", "registry.npmjs.org:443"],
            &[],
            "--allow-host `registry.npmjs.org:443` has no effect, since `@npm` covers it; leave \
             it out",
        ),
        (
            &["@npm", "@npm"],
            &[],
            "--allow-host `@npm` has no effect, since `@npm` covers it; leave it out",
        ),
        (
            &["a.b"],
            &["c.d", "c.d:80"],
            "--deny-host `c.d:80` has no effect, since `c.d` covers it; leave it out",
        ),
    ];
    for (allow, deny, expected) in cases {
        assert_eq!(rules(allow, deny).redundant(), [expected]);
    }
    assert_eq!(
        rules(&["@npm", "registry.npmjs.org"], &["a.b"]).redundant(),
        [] as [&str; 0]
    );
}

#[test]
fn unmatchable_rule_is_error() {
    let cases: [(&[&str], &[&str], &str); 3] = [
        (
            &["GET https://a.b/c/d"],
            &["GET https://*.b/*/**"],
            "`GET https://a.b/c/d` never matches: `GET https://*.b/*/**` denies all of it",
        ),
        (
            &["a.b"],
            &["*.b:*"],
            "`a.b` never matches: `*.b:*` denies all of it",
        ),
        (
            &["a.b", "a.b:0"],
            &[],
            "`a.b:0` has the port `0`; 1 to 65535 or `*` is allowed",
        ),
    ];
    for (allow, deny, expected) in cases {
        let error = Rules::new(&texts(allow), &texts(deny))
            .unwrap_err()
            .to_string();
        assert_eq!(error, format!("the network rule {expected}"));
    }
}

#[test]
fn rule_with_own_name_is_refused() {
    let own = texts(&["localhost", "VM"]);
    let refuse = |rule: &str| {
        let refused = rules(&[rule], &[]).refuse_own_names(&own);
        refused.map_err(|error| error.to_string())
    };
    let fault = |rule: &str, address: &str| -> Result<(), String> {
        Err(format!(
            "the network rule `{rule}` never matches, since programs resolve this name themselves; \
             give its address, such as {address}"
        ))
    };
    assert_eq!(refuse("vm:35057"), fault("vm:35057", "127.0.0.1:35057"));
    assert_eq!(refuse("Vm"), fault("Vm", "127.0.0.1"));
    assert_eq!(
        refuse("http://vm:*/a"),
        fault("http://vm:*/a", "127.0.0.1:*")
    );
    for other in ["*.vm:80", "vm.example.com", "127.0.0.1:80"] {
        assert_eq!(refuse(other), Ok(()), "{other}");
    }
}

#[test]
fn ten_thousand_rules_are_fast() {
    let many: Vec<String> = (0..10_000)
        .map(|at| format!("host-{at}.example.com:443"))
        .collect();
    let rules = Rules::new(&many, &[]).unwrap();
    let hits = (0..20_000)
        .filter(|at| rules.allows(&to(&format!("host-{at}.example.com"), 443)))
        .count();
    assert_eq!(hits, 10_000);
}

fn naive(rule: &Rule, to: &Destination) -> bool {
    let host = match (&rule.hosts, &to.host) {
        (Hosts::Name(name), Host::Name(host)) => name == host,
        (Hosts::Below(name), Host::Name(host)) => host.ends_with(&format!(".{name}")),
        (Hosts::Network(network), Host::Address(address)) => {
            address.is_ipv4() == network.first.is_ipv4()
                && Network::around(*address, network.prefix) == *network
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
fn requests_are_judged_individually() {
    use Verdict::{Allowed, Denied, Missing, OddMethod, OddPath};

    let rules = rules(
        &[
            "GET,HEAD https://api.example/repos/**",
            "https://api.example/v1/*/x",
            "whole.example",
            "10.0.0.5",
        ],
        &[
            "DELETE https://whole.example/**",
            "https://whole.example/Admin/**",
        ],
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
        let asked = RequestLine {
            is_tls: true,
            method,
            path,
            may_switch: false,
        };
        assert_eq!(
            rules.judge(&to(host, 443), asked),
            expected,
            "{host} {method} {path}"
        );
    }
    let asked = RequestLine {
        is_tls: false,
        method: "GET",
        path: "/repos/a",
        may_switch: false,
    };
    assert_eq!(rules.judge(&to("api.example", 443), asked), Missing);
    let asked = |path| RequestLine {
        is_tls: true,
        method: "GET",
        path,
        may_switch: true,
    };
    assert_eq!(
        rules.judge(&to("api.example", 443), asked("/repos/a")),
        Missing
    );
    assert_eq!(
        rules.judge(&to("api.example", 443), asked("/v1/a/x")),
        Allowed
    );
    let opens = |host, port| rules.opens(&to(host, port));
    assert_eq!(
        opens("api.example", 443),
        Some(("--allow-host", "GET,HEAD https://api.example/repos/**"))
    );
    assert_eq!(
        opens("whole.example", 443),
        Some(("--deny-host", "DELETE https://whole.example/**"))
    );
    assert_eq!(
        (
            opens("api.example", 80),
            opens("whole.example", 80),
            opens("10.0.0.5", 443)
        ),
        (None, None, None)
    );
    assert!(rules.allows(&to("api.example", 443)) && !rules.allows(&to("api.example", 80)));
    assert!(rules.knows("api.example") && rules.knows("whole.example"));
}

#[test]
fn proposal_fits_existing_rules() {
    let rules = rules(
        &["GET https://api.example/x"],
        &["DELETE http://whole.example/x"],
    );
    for (host, port, expected) in [
        ("api.example", 80, "api.example:80"),
        ("whole.example", 443, "whole.example:443"),
        ("c.example", 80, "c.example"),
    ] {
        assert_eq!(rules.proposal(&to(host, port)).to_string(), expected);
    }
}

#[test]
fn request_rule_allows_no_resolved_address() {
    let rules = rules(
        &["a.example", "GET http://10.0.0.1/x", "10.0.0.2"],
        &["GET http://10.0.0.2/y"],
    );
    for address in ["10.0.0.1", "10.0.0.2"] {
        assert!(
            !rules.allows_resolved(&to("a.example", 80), address.parse().unwrap()),
            "{address}"
        );
    }
}

proptest! {
    #[test]
    fn rule_tables_agree_with_linear_scan(
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
