//! How it stands with the walls once the server has started: what came of the plan.

use std::borrow::Cow;

use super::plan::{Network, Tier};
use super::raw_string::RawString;
use super::wire::MemoryHold;

/// What holds commands, or why there are none. Made at start, shown in the start-up line, in
/// `list_allowed_directories` and by `replay sandbox explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallStatus {
    /// What holds commands; `None` when they are refused, or the tools have none.
    pub tier: Option<Tier>,
    /// Why commands are refused, in one line; `None` when they run, or the tools have none.
    pub refused: Option<String>,
    /// The tiers that could not be built, each with the reason, in the order in which they were
    /// tried.
    pub tried: Vec<(Tier, String)>,
    /// The network of commands.
    pub network: Network,
    /// Whether commands reach hosts by rule beside it.
    pub by_rule: bool,
    /// Whether commands have a HOME of their own, which lives as long as the server.
    pub private_home: bool,
    /// HOME of commands, if the launcher sets it.
    pub home: Option<RawString>,
    /// TMPDIR of commands, once walls stand.
    pub tmp: Option<RawString>,
    /// Version of the Landlock interface; `None` if it is not used.
    pub landlock_abi: Option<u32>,
    /// What holds commands to their memory; `None` if it is not limited.
    pub memory: Option<MemoryHold>,
    /// What the walls leave open, a line each.
    pub gaps: Vec<String>,
}

impl WallStatus {
    pub fn refused(reason: impl Into<String>, tried: Vec<(Tier, String)>) -> Self {
        Self {
            tier: None,
            refused: Some(reason.into()),
            tried,
            network: Network::None,
            by_rule: false,
            private_home: false,
            home: None,
            tmp: None,
            landlock_abi: None,
            memory: None,
            gaps: Vec::new(),
        }
    }

    /// The tools have no commands, so nothing holds any.
    pub fn none() -> Self {
        Self {
            refused: None,
            ..Self::refused("", Vec::new())
        }
    }

    /// Commands run with no wall around them.
    pub fn off() -> Self {
        Self {
            tier: Some(Tier::Off),
            refused: None,
            network: Network::Host,
            ..Self::refused("", Vec::new())
        }
    }

    /// For the start-up line: the tier, or why there is none.
    pub fn word(&self) -> Cow<'_, str> {
        match (&self.refused, self.tier) {
            (Some(reason), _) => format!("commands are refused: {reason}").into(),
            (None, Some(tier)) => tier.as_str().into(),
            (None, None) => "the tools have no commands".into(),
        }
    }

    /// The network as commands really have it: without namespaces there is no loopback of their
    /// own.
    pub fn effective_network(&self) -> Network {
        match (self.tier, self.network) {
            (Some(Tier::Landlock), Network::Loopback) => Network::None,
            (_, network) => network,
        }
    }

    /// The word for flags, logs and replies.
    pub fn network_word(&self) -> &'static str {
        if self.by_rule {
            "by rule"
        } else {
            self.effective_network().as_str()
        }
    }

    /// Whether commands reach other machines.
    pub fn reaches_hosts(&self) -> bool {
        self.by_rule || self.effective_network() == Network::Host
    }

    /// What an agent is told about commands, in as few words as it takes.
    pub fn instruction(&self) -> String {
        let held = match self.tier {
            None => {
                return "execute_command is refused: no kernel wall stands around it.".to_owned();
            }
            Some(Tier::Off) => {
                return "It runs OUTSIDE any kernel wall: the operator switched it off with --sandbox off.".to_owned();
            }
            Some(Tier::Namespaces) => "It sees only these directories and the system's programs",
            Some(Tier::Landlock) => {
                "The kernel keeps it inside these directories and the system's programs"
            }
        };
        let network = match self.effective_network() {
            _ if self.by_rule => "network to the hosts that the operator allows",
            Network::None => "no network",
            Network::Loopback => "no network but 127.0.0.1",
            Network::Host => "network",
        };
        let home = match (self.private_home, self.tier) {
            (true, Some(Tier::Namespaces)) => "HOME and /tmp are its own",
            (true, _) => "HOME and TMPDIR are its own, /tmp is not writable",
            (false, Some(Tier::Namespaces)) => "HOME is read-only, /tmp its own",
            (false, _) => "HOME is read-only, TMPDIR its own, /tmp not writable",
        };
        format!("{held}, with {network}; {home}.")
    }
}

/// The same before it is known which walls can be built: true of each of them, and where there will
/// be none.
pub fn instruction_before(network: Network, by_rule: bool, private_home: bool) -> String {
    let network = match network {
        _ if by_rule => "network to the hosts that the operator allows",
        Network::None => "no network",
        Network::Loopback => "no network but 127.0.0.1 at most",
        Network::Host => "network",
    };
    let home = if private_home {
        "HOME and TMPDIR are its own"
    } else {
        "HOME is read-only, TMPDIR its own"
    };
    format!(
        "The kernel keeps it inside these directories and the system's programs, with {network}; {home}. Where the kernel cannot, \
         it is refused."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn standing(tier: Tier, network: Network, private_home: bool) -> WallStatus {
        WallStatus {
            tier: Some(tier),
            network,
            private_home,
            ..WallStatus::off()
        }
    }

    #[test]
    fn an_agent_is_told_what_holds_it() {
        let told = |tier, network, home| standing(tier, network, home).instruction();
        assert_eq!(
            told(Tier::Namespaces, Network::Loopback, true),
            "It sees only these directories and the system's programs, with no network but 127.0.0.1; HOME and /tmp are \
             its own."
        );
        assert_eq!(
            told(Tier::Landlock, Network::Loopback, true),
            "The kernel keeps it inside these directories and the system's programs, with no network; HOME and TMPDIR are \
             its own, /tmp is not writable."
        );
        assert_eq!(
            told(Tier::Namespaces, Network::Host, false),
            "It sees only these directories and the system's programs, with network; HOME is read-only, /tmp its own."
        );
        assert_eq!(
            instruction_before(Network::Loopback, false, true),
            "The kernel keeps it inside these directories and the system's programs, with no network but 127.0.0.1 at most; HOME \
             and TMPDIR are its own. Where the kernel cannot, it is refused."
        );
        assert!(WallStatus::off().instruction().contains("OUTSIDE"));
        let refused = WallStatus::refused("the kernel is too old", Vec::new());
        assert_eq!(
            refused.instruction(),
            "execute_command is refused: no kernel wall stands around it."
        );
        assert_eq!(
            refused.word(),
            "commands are refused: the kernel is too old"
        );
        assert_eq!(WallStatus::none().word(), "the tools have no commands");
    }

    #[test]
    fn without_namespaces_there_is_no_loopback() {
        assert_eq!(
            standing(Tier::Landlock, Network::Loopback, true).effective_network(),
            Network::None
        );
        assert_eq!(
            standing(Tier::Landlock, Network::Host, true).effective_network(),
            Network::Host
        );
        assert_eq!(
            standing(Tier::Namespaces, Network::Loopback, true).effective_network(),
            Network::Loopback
        );
    }
}
