//! Both halves together, and what is said of the result.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use replay_sandbox::{Network, RawString, Tier};

use super::battery::{CONTROLS, GROUPS};
use super::inside::ATTACK_ARGUMENT;
use super::inside::BatteryLine;
use super::outcome::Outcome;
use super::stage::Stage;
use super::victims::Victims;

/// Attempts that no tier stops. A lock needs no write permission, and many programs lock files that
/// they only read.
pub(super) const GAPS: &[&str] = &["lock of a read-only file"];

/// Attempts that [`Tier::Landlock`] neither stops nor promises to stop.
pub const LANDLOCK_GAPS: [&str; 11] = [
    "stat outside",
    "access outside",
    "readlink outside",
    "chdir outside",
    "O_PATH outside",
    "statfs outside",
    "inotify outside",
    "arguments of others",
    "pidfd of others",
    "list processes outside",
    "list System V objects",
];

/// The same, where commands run as root: /proc cannot be given in parts without a mount.
pub(super) const LANDLOCK_ROOT_GAPS: &[&str] = &["memory of the machine"];

/// Their supervisor is root as well, and before Linux 5.14 only Landlock asks who looks.
pub(super) const ROOT_GAPS_WITHOUT_LANDLOCK: &[&str] = &["descriptor information of others"];

/// Attempts that get through if the operator grants the machine's network.
pub(super) const HOST_NETWORK: &[&str] = &[
    "TCP",
    "TCP over IPv6",
    "multipath TCP",
    "TCP Fast Open",
    "TCP after disconnecting",
    "TCP server",
    "TCP server without bind",
    "UDP",
    "UDP-Lite",
    "netlink about the network",
    "route out",
    "route out over IPv6",
];

/// Isolation that the sandbox promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Isolation tier of the commands.
    pub tier: Tier,
    /// Network of the commands.
    pub network: Network,
    /// `true` if the commands run as root.
    pub root: bool,
    /// `true` if Landlock restricts the commands, too.
    pub landlock: bool,
}

impl Promise {
    /// Returns true if this attempt may get through.
    pub fn leaves(self, attempt: &str) -> bool {
        match self.tier {
            Tier::Off => true,
            Tier::Landlock | Tier::Namespaces if GAPS.contains(&attempt) => true,
            Tier::Namespaces
                if !self.landlock && self.root && ROOT_GAPS_WITHOUT_LANDLOCK.contains(&attempt) =>
            {
                true
            }
            Tier::Landlock if LANDLOCK_GAPS.contains(&attempt) => true,
            Tier::Landlock if self.root && LANDLOCK_ROOT_GAPS.contains(&attempt) => true,
            Tier::Landlock | Tier::Namespaces => {
                self.network == Network::Host && HOST_NETWORK.contains(&attempt)
            }
        }
    }
}

/// Results of the battery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Outcome of each attempt, by name.
    pub attempts: BTreeMap<String, Outcome>,
    /// Outcome of each control; `Through` if it works.
    pub controls: BTreeMap<String, Outcome>,
    /// Damage to the victims.
    pub damage: Vec<String>,
    /// Attempt during which the inner half broke off, if it did not finish.
    pub broke_at: Option<String>,
}

/// Runs the inner half with `run`, then checks the victims. `run` starts an argument list inside
/// the walls and returns its standard output. `program` is this program's path inside the walls.
pub fn probe(
    victims: &mut Victims,
    stage: &Stage,
    program: &Path,
    network: Network,
    run: &mut dyn FnMut(&[RawString]) -> io::Result<Vec<u8>>,
) -> io::Result<Report> {
    let stage = serde_json::to_string(stage)?;
    let output = run(&[program.into(), ATTACK_ARGUMENT.into(), stage.into()])?;
    let mut report = Report::read(&output);
    report.damage = victims.damage(network == Network::Host)?;
    Ok(report)
}

impl Report {
    /// Parses the output of the inner half.
    pub fn read(output: &[u8]) -> Self {
        let mut report = Self {
            broke_at: Some("its start".to_owned()),
            ..Self::default()
        };
        for line in output.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(BatteryLine::Begins(name)) => report.broke_at = Some(name),
                Ok(BatteryLine::Control(name, outcome)) => {
                    report.controls.insert(name, outcome);
                }
                Ok(BatteryLine::Attempt(name, outcome)) => {
                    report.attempts.insert(name, outcome);
                }
                Ok(BatteryLine::Done) => report.broke_at = None,
                Err(_) => {}
            }
        }
        report
    }

    /// The names of the attempts that got through, in the order of [`GROUPS`].
    pub fn through(&self) -> Vec<&'static str> {
        let all = GROUPS
            .iter()
            .flat_map(|(_, attempts)| *attempts)
            .map(|attempt| attempt.name);
        all.filter(|name| matches!(self.attempts.get(*name), Some(Outcome::Through(_))))
            .collect()
    }

    /// The names of the controls that do not work.
    pub fn broken(&self) -> Vec<&'static str> {
        let all = CONTROLS.iter().map(|control| control.name);
        all.filter(|name| !matches!(self.controls.get(*name), Some(Outcome::Through(_))))
            .collect()
    }

    /// Returns true if the sandbox kept every promise.
    pub fn holds(&self, promise: Promise) -> bool {
        self.faults(promise).is_empty()
    }

    /// Returns the broken promises, one line each.
    pub fn faults(&self, promise: Promise) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(name) = &self.broke_at {
            faults.push(format!("the battery stopped at: {name}"));
        }
        for name in self
            .through()
            .into_iter()
            .filter(|name| !promise.leaves(name))
        {
            faults.push(format!("got through: {name}"));
        }
        if promise.tier != Tier::Off {
            faults.extend(
                self.damage
                    .iter()
                    .map(|damage| format!("afterwards: {damage}")),
            );
        }
        faults
    }

    /// For a person: a line for each group, what got through, what does not work, what held
    /// nothing.
    pub fn text(&self, promise: Promise) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<26} {:>5} {:>8} {:>13}",
            "", "held", "through", "not possible"
        );
        for (group, attempts) in GROUPS {
            let count = |wanted: fn(&Outcome) -> bool| {
                attempts
                    .iter()
                    .filter(|attempt| self.attempts.get(attempt.name).is_some_and(wanted))
                    .count()
            };
            let held = count(|outcome| matches!(outcome, Outcome::Held(_)));
            let through = count(|outcome| matches!(outcome, Outcome::Through(_)));
            let not_possible = count(|outcome| matches!(outcome, Outcome::NotPossible(_)));
            let _ = writeln!(
                text,
                "{group:<26} {held:>5} {through:>8} {not_possible:>13}"
            );
        }
        for attempt in GROUPS.iter().flat_map(|(_, attempts)| *attempts) {
            if let Some(Outcome::Through(effect)) = self.attempts.get(attempt.name) {
                let known = if promise.leaves(attempt.name) {
                    " (known)"
                } else {
                    ""
                };
                let effect = if effect.is_empty() {
                    String::new()
                } else {
                    format!(": {effect}")
                };
                let _ = writeln!(
                    text,
                    "through{known}: {}, {}{effect}",
                    attempt.name, attempt.tries
                );
            }
        }
        for attempt in GROUPS.iter().flat_map(|(_, attempts)| *attempts) {
            if let Some(Outcome::NotPossible(why)) = self.attempts.get(attempt.name) {
                let _ = writeln!(
                    text,
                    "not possible: {}, {}: {why}",
                    attempt.name, attempt.tries
                );
            }
        }
        for control in CONTROLS {
            let needs_more = control.namespaces_only && promise.tier != Tier::Namespaces;
            match self.controls.get(control.name) {
                Some(Outcome::Held(why) | Outcome::NotPossible(why)) => {
                    let known = if needs_more { " (known)" } else { "" };
                    let _ = writeln!(text, "does not work{known}: {}: {why}", control.name);
                }
                Some(Outcome::Through(_)) | None => {}
            }
        }
        for line in &self.damage {
            let _ = writeln!(text, "afterwards: {line}");
        }
        if let Some(name) = &self.broke_at {
            let _ = writeln!(text, "the battery stopped at: {name}");
        }
        let verdict = match promise.tier {
            Tier::Off => "without walls nothing is promised",
            _ if self.holds(promise) => "every promised wall held",
            _ => "NOT every wall held",
        };
        let _ = writeln!(text, "{verdict}");
        text
    }
}
