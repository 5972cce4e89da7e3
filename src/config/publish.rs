//! `--publish`: ports of commands that programs of this machine reach.

use anyhow::{Error, Result, bail};
use replay_proxy::{PublishRule, PublishRules};
use replay_sandbox::Network;

use super::profile::Profile;
use crate::cli::{Options, Sandbox};

/// Parses the list of a profile or of a token.
pub(super) fn publish_rules(list: &[String]) -> Result<Vec<PublishRule>> {
    list.iter()
        .map(|text| {
            let rule = text.parse();
            rule.map_err(|reason: String| Error::msg(reason).context("`publish`"))
        })
        .collect()
}

/// Merges the ports of the command line and of the profile. Fails if commands have no ports of their
/// own.
pub(super) fn resolve(
    options: &Options,
    profile: &Profile,
    mode: Sandbox,
    network: Network,
) -> Result<PublishRules> {
    let of_profile = publish_rules(&profile.publish)?;
    let all = options.network.publish.iter().copied().chain(of_profile);
    let rules = PublishRules::new(all).map_err(Error::msg)?;
    if rules.is_empty() {
        return Ok(rules);
    }
    match (mode, network) {
        (Sandbox::Off, _) => bail!(
            "--publish opens ports of commands with a network of their own; without walls (--sandbox \
             off) their ports are open on this machine already: leave --publish out"
        ),
        (_, Network::Host) => bail!(
            "--publish opens ports of commands with a network of their own; with --network host \
             their ports are open on this machine already: leave one of them out"
        ),
        (_, Network::None) => bail!(
            "--publish needs commands that can listen; with --network none they have no sockets: \
             leave one of them out"
        ),
        (_, Network::Loopback) => Ok(rules),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::cli::Cli;

    fn resolved(flags: &[&str], profile: &str, mode: Sandbox, network: Network) -> String {
        let typed = ["replay", "--mcp-server"].iter().chain(flags);
        let options = Cli::try_parse_from(typed).unwrap().server.options;
        let profile = Profile::parse(profile).unwrap();
        match resolve(&options, &profile, mode, network) {
            Ok(rules) => format!("{:?} {}", rules.ports(), rules.is_automatic()),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn ports_of_flags_and_profile_are_merged() {
        let (mode, network) = (Sandbox::Require, Network::Loopback);
        assert_eq!(resolved(&[], "{}", mode, network), "[] false");
        assert_eq!(
            resolved(
                &["--publish", "3000:80"],
                r#"{"publish": ["8123", "auto"]}"#,
                mode,
                network
            ),
            "[PublishedPort { inside: 80, outside: 3000 }, PublishedPort { inside: 8123, outside: \
             8123 }] true"
        );
        assert_eq!(
            resolved(&[], r#"{"publish": ["x"]}"#, mode, network),
            "`publish`: `x` is not a port; give PORT, HOST_PORT:PORT (from 1 to 65535) or auto"
        );
    }

    #[test]
    fn commands_without_own_ports_are_refused() {
        let publish = ["--publish", "8123"];
        for (mode, network, expected) in [
            (
                Sandbox::Off,
                Network::Host,
                "--publish opens ports of commands with a network of their own; without walls \
                 (--sandbox off) their ports are open on this machine already: leave --publish out",
            ),
            (
                Sandbox::Require,
                Network::Host,
                "--publish opens ports of commands with a network of their own; with --network host \
                 their ports are open on this machine already: leave one of them out",
            ),
            (
                Sandbox::Require,
                Network::None,
                "--publish needs commands that can listen; with --network none they have no sockets: \
                 leave one of them out",
            ),
        ] {
            assert_eq!(resolved(&publish, "{}", mode, network), expected);
            assert_eq!(resolved(&[], "{}", mode, network), "[] false");
        }
    }
}
