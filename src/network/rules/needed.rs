//! Proposed rules for the destinations that a command reached.

use std::collections::BTreeSet;

use super::rule::Destination;
use super::rule_set::Rules;
use super::sets::SETS;

/// Returns rules that allow these destinations, as `--allow-host` takes them. A set replaces its
/// hosts if at least half of its rules were needed; else it would allow too much.
pub fn rules_for(needed: &BTreeSet<Destination>) -> Vec<String> {
    let mut left: Vec<&Destination> = needed.iter().collect();
    let mut texts = Vec::new();
    for set in SETS {
        let rules: Vec<Rules> = set
            .rules
            .iter()
            .filter_map(|rule| Rules::new(&[(*rule).to_owned()], &[]).ok())
            .collect();
        let used = rules
            .iter()
            .filter(|rule| left.iter().any(|to| rule.allows(to)))
            .count();
        if used > 0 && 2 * used >= rules.len() {
            texts.push(format!("@{}", set.names[0]));
            left.retain(|to| !rules.iter().any(|rule| rule.allows(to)));
        }
    }
    texts.extend(left.into_iter().map(|to| to.rule().to_string()));
    // 80 and 443 of a host are one rule.
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Host, Transport};
    use pretty_assertions::assert_eq;

    #[test]
    fn proposed_rules_allow_all_needed_destinations() {
        type Places = &'static [(&'static str, u16)];
        let to = |(host, port): &(&str, u16)| {
            let host = host
                .parse()
                .map_or_else(|_| Host::Name((*host).to_owned()), Host::Address);
            Destination {
                transport: Transport::Tcp,
                host,
                port: *port,
            }
        };
        let cases: [(Places, &[&str]); 4] = [
            (&[("registry.npmjs.org", 443)], &["@npm"]),
            (
                &[
                    ("pypi.org", 443),
                    ("pypi.org", 80),
                    ("files.pythonhosted.org", 443),
                ],
                &["@pypi", "pypi.org"],
            ),
            (
                &[("github.com", 443), ("a.example", 443), ("a.example", 80)],
                &["a.example", "github.com"],
            ),
            (
                &[
                    ("git.corp.example", 22),
                    ("10.0.0.9", 22),
                    ("2001:db8::1", 443),
                ],
                &["git.corp.example:22", "10.0.0.9:22", "2001:db8::1"],
            ),
        ];
        for (needed, expected) in cases {
            let needed: BTreeSet<Destination> = needed.iter().map(to).collect();
            let texts = rules_for(&needed);
            assert_eq!(texts, expected);
            let rules = Rules::new(&texts, &[]).unwrap();
            assert!(needed.iter().all(|to| rules.allows(to)));
        }
    }
}
