//! Status of the walls once the server has started.

use std::borrow::Cow;

use super::plan::{Network, Tier};
use super::raw_string::RawString;
use super::wire::{CgroupView, MemoryHold};

/// Confinement of commands, or the reason for refusing them. Made at start; shown in the start-up
/// line, in `list_allowed_directories` and by `replay sandbox explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallStatus {
    /// Tier of commands; `None` if commands are refused, or there are no command tools.
    pub tier: Option<Tier>,
    /// One-line reason for refusing commands; `None` if they run, or there are no command tools.
    pub refused: Option<String>,
    /// Tiers that could not be built, each with the reason, in the order of the attempts.
    pub tried: Vec<(Tier, String)>,
    /// The network of commands.
    pub network: Network,
    /// `true` if commands also reach the hosts that the operator's rules allow.
    pub by_rule: bool,
    /// `true` if commands have a private HOME, which lives as long as the server.
    pub private_home: bool,
    /// HOME of commands, if the launcher sets it.
    pub home: Option<RawString>,
    /// TMPDIR of commands, once walls stand.
    pub tmp: Option<RawString>,
    /// Version of the Landlock interface; `None` if it is not used.
    pub landlock_abi: Option<u32>,
    /// Memory limit mechanism; `None` if memory is not limited.
    pub memory: Option<MemoryHold>,
    /// Cgroup of the server in the view of commands; `None` without a view.
    pub cgroup: Option<CgroupView>,
    /// Gaps of the walls, one line each.
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
            cgroup: None,
            gaps: Vec::new(),
        }
    }

    /// Status without command tools.
    pub fn none() -> Self {
        Self {
            refused: None,
            ..Self::refused("", Vec::new())
        }
    }

    /// Status without walls.
    pub fn off() -> Self {
        Self {
            tier: Some(Tier::Off),
            refused: None,
            network: Network::Host,
            ..Self::refused("", Vec::new())
        }
    }

    /// Tier, or reason for refusing commands, for the start-up line.
    pub fn word(&self) -> Cow<'_, str> {
        match (&self.refused, self.tier) {
            (Some(reason), _) => format!("commands are refused: {reason}").into(),
            (None, Some(tier)) => tier.as_str().into(),
            (None, None) => "the tools have no commands".into(),
        }
    }

    /// Effective network of commands: without namespaces there is no private loopback device.
    pub fn effective_network(&self) -> Network {
        match (self.tier, self.network) {
            (Some(Tier::Landlock), Network::Loopback) => Network::None,
            (_, network) => network,
        }
    }

    /// Word used in flags, logs and replies.
    pub fn network_word(&self) -> &'static str {
        if self.by_rule {
            "by rule"
        } else {
            self.effective_network().as_str()
        }
    }

    /// Returns true if commands reach other machines.
    pub fn reaches_hosts(&self) -> bool {
        self.by_rule || self.effective_network() == Network::Host
    }

    /// Short description of the command environment, for agents.
    pub fn instruction(&self) -> String {
        let held = match self.tier {
            None => {
                return "execute_command is refused: no kernel wall stands around it.".to_owned();
            }
            Some(Tier::Off) => {
                return "It runs OUTSIDE any kernel wall: the operator switched the walls off with \
                    --sandbox off.".to_owned();
            }
            Some(Tier::Namespaces) => "It sees only these directories and installed programs",
            Some(Tier::Landlock) => {
                "The kernel keeps it inside these directories and installed programs"
            }
        };
        let network = match self.effective_network() {
            _ if self.by_rule => "network to the hosts that the operator allows",
            Network::None => "no network",
            Network::Loopback => "no network but 127.0.0.1",
            Network::Host => "network",
        };
        let home = match (self.private_home, self.tier) {
            (true, Some(Tier::Namespaces)) => "HOME, /tmp and processes are its own",
            (true, _) => "HOME and TMPDIR are its own, /tmp is not writable",
            (false, Some(Tier::Namespaces)) => "HOME is read-only, /tmp its own",
            (false, _) => "HOME is read-only, TMPDIR its own, /tmp not writable",
        };
        format!("{held}, with {network}; {home}.")
    }
}

/// Describes the command environment before the tier is known: the text is true for every tier, and
/// for none.
pub fn instruction_before(network: Network, by_rule: bool, private_home: bool) -> String {
    let network = match network {
        _ if by_rule => "network to the hosts that the operator allows",
        Network::None => "no network",
        Network::Loopback => "no network but 127.0.0.1 at most",
        Network::Host => "network",
    };
    let home = if private_home {
        "HOME, TMPDIR and, where the kernel can, processes are its own"
    } else {
        "HOME is read-only, TMPDIR its own"
    };
    format!(
        "The kernel keeps it inside these directories and installed programs, with {network}; \
         {home}. If the kernel cannot, commands are refused."
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
    fn instruction_names_confinement_of_tier() {
        let told = |tier, network, home| standing(tier, network, home).instruction();
        assert_eq!(
            told(Tier::Namespaces, Network::Loopback, true),
            "It sees only these directories and installed programs, with no network but 127.0.0.1; HOME, /tmp and processes \
             are its own."
        );
        assert_eq!(
            told(Tier::Landlock, Network::Loopback, true),
            "The kernel keeps it inside these directories and installed programs, with no network; HOME and TMPDIR are \
             its own, /tmp is not writable."
        );
        assert_eq!(
            told(Tier::Namespaces, Network::Host, false),
            "It sees only these directories and installed programs, with network; HOME is read-only, /tmp its own."
        );
        assert_eq!(
            instruction_before(Network::Loopback, false, true),
            "The kernel keeps it inside these directories and installed programs, with no \
             network but 127.0.0.1 at most; HOME, TMPDIR and, where the kernel can, processes are its \
             own. If the kernel cannot, commands are refused."
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
    fn loopback_without_namespaces_is_none() {
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
