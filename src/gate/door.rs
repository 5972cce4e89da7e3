//! What one command may reach by the rules, and what of it was blocked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::blocked_list::BlockedList;
use super::judge::Judge;
use super::watching::{Decision, Ruling, Watch};
use crate::egress::{Destination, Host, Rules, canonical, danger};
use crate::exec::{Blocked, Guarded, ProgramName};
use crate::record::Target;
use crate::record::proxy::{Door, Inspector, Misfit};

/// Cheap to clone; all clones are the same.
#[derive(Clone, Debug)]
pub struct RuledDoor {
    rules: Arc<Rules>,
    /// Whether commands have a loopback device that is theirs.
    has_loopback: bool,
    blocked: Arc<BlockedList>,
    watch: Watch,
}

/// `None` if nothing can be reached there.
pub(super) fn destination(target: &Target) -> Option<Destination> {
    let host = match target.host.parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(canonical(&target.host)?),
    };
    Some(Destination { host, port: target.port })
}

impl RuledDoor {
    pub(super) fn new(rules: Arc<Rules>, has_loopback: bool, watch: Watch) -> Self {
        Self { rules, has_loopback, blocked: Arc::default(), watch }
    }

    /// A name that may be asked for has no address.
    pub(super) fn unresolved(&self, name: &str, why: &io::Error) {
        self.watch.unresolved(name, why);
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether this is the commands' own loopback: no rule gives them the machine's.
    pub(super) fn is_own(&self, to: SocketAddr) -> bool {
        let destination = Destination { host: Host::Address(to.ip()), port: to.port() };
        self.has_loopback && to.ip().to_canonical().is_loopback() && !self.rules.allows(&destination)
    }

    /// A connection is not made for want of a rule about this, or because of one.
    fn block(&self, target: &Target, why: Option<String>, by: ProgramName, missing: &Destination) -> Blocked {
        let danger = if let Host::Address(address) = missing.host { danger(address) } else { None };
        let (why, rule) = match danger {
            _ if self.rules.denies(missing) => {
                let said = "--deny-net names it";
                (Some(why.map_or(said.to_owned(), |why| format!("{why}, {said}"))), None)
            }
            Some(danger) => (Some(why.map_or(format!("it {danger}"), |why| format!("{why}, which {danger}"))), None),
            None => (why, Some(missing.rule().to_string())),
        };
        self.add(target, None, Some(missing), why, by, rule)
    }

    /// What was asked for there if it was more than a connection, what no rule allows or one denies, and the rule that would allow it.
    pub(super) fn add(
        &self,
        target: &Target,
        asked: Option<String>,
        missing: Option<&Destination>,
        why: Option<String>,
        by: ProgramName,
        rule: Option<String>,
    ) -> Blocked {
        let address =
            missing.and_then(|missing| if let Host::Address(address) = missing.host { Some(address) } else { None });
        let decided =
            missing.filter(|missing| self.rules.denies(missing)).and_then(|missing| self.rules.deciding(missing));
        self.watch.decided(&Decision {
            by,
            host: &target.host,
            port: target.port,
            asked: asked.as_deref(),
            address,
            rule: decided,
            ruling: Ruling::Blocked(why.as_deref()),
        });
        self.blocked.add(target, asked, why, by, rule)
    }

    /// A connection to this address is made, or what was `asked` for is passed on.
    pub(super) fn allow(&self, target: &Target, asked: Option<&str>, address: Option<IpAddr>, by: ProgramName) {
        let to = destination(target);
        let rule = to.as_ref().and_then(|to| self.rules.deciding(to));
        let Target { host, port } = target;
        self.watch.decided(&Decision { by, host, port: *port, asked, address, rule, ruling: Ruling::Allowed });
    }

    /// A connection or a request was ended, since what was said does not fit the target.
    pub(super) fn end(&self, target: &Target, misfit: Misfit, by: ProgramName) -> Blocked {
        let opening =
            || destination(target).and_then(|to| self.rules.opens(&to).map(|(flag, rule)| format!("{flag} '{rule}'")));
        let (why, other) = match misfit {
            Misfit::Name(ref name) => (misfit.to_string(), canonical(name)),
            Misfit::Distrust => {
                let needs = opening().map(|rule| format!("the program does not trust the authority that {rule} needs"));
                (needs.unwrap_or_else(|| misfit.to_string()), None)
            }
            _ => (misfit.to_string(), None),
        };
        match other {
            Some(name) => self.block(target, Some(why), by, &Destination { host: Host::Name(name), port: target.port }),
            None => self.add(target, None, None, Some(why), by, None),
        }
    }
}

impl Guarded for RuledDoor {
    fn blocked(&self) -> Vec<Blocked> {
        self.blocked.take()
    }
}

impl Door for RuledDoor {
    fn admits(&self, target: &Target, by: ProgramName) -> bool {
        let Some(to) = destination(target) else {
            self.add(target, None, None, None, by, None);
            return false;
        };
        let is_own = matches!(to.host, Host::Address(address) if self.is_own((address, to.port).into()));
        let admits = is_own || self.rules.allows(&to);
        if !admits {
            self.block(target, None, by, &to);
        }
        admits
    }

    fn may_ask(&self, name: &str) -> bool {
        self.rules.knows(name)
    }

    fn leads_to(&self, target: &Target, address: IpAddr, by: ProgramName) -> bool {
        // Of an address the rules have said it.
        let good = target.host.parse::<IpAddr>().is_ok() || self.rules.allows_resolved(address, target.port);
        if !good {
            let why = format!("it leads to {}", address.to_canonical());
            self.block(target, Some(why), by, &Destination { host: Host::Address(address), port: target.port });
        } else if !self.is_own((address, target.port).into()) {
            self.allow(target, None, Some(address), by);
        }
        good
    }

    fn opens(&self, target: &Target, by: ProgramName) -> Option<Arc<dyn Inspector>> {
        let to = destination(target)?;
        self.rules.opens(&to)?;
        Some(Arc::new(Judge { door: self.clone(), target: target.clone(), to, by }))
    }

    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) {
        self.end(target, misfit, by);
    }
}
