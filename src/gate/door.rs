//! What one command may reach by the rules, and what of it was blocked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::blocked_list::BlockedList;
use super::watching::{Decision, Verdict, Watch};
use crate::egress::{Destination, Host, Rules, canonical, danger};
use crate::exec::{Blocked, Guarded, ProgramName};
use crate::record::Target;
use crate::record::proxy::{Door, Misfit};

#[derive(Debug)]
pub struct RuledDoor {
    rules: Arc<Rules>,
    /// Whether commands have a loopback device that is theirs.
    has_loopback: bool,
    blocked: BlockedList,
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
        Self { rules, has_loopback, blocked: BlockedList::default(), watch }
    }

    /// A name that may be asked for has no address.
    pub(super) fn unresolved(&self, name: &str, why: &io::Error) {
        self.watch.unresolved(name, why);
    }

    /// Whether this is the commands' own loopback: no rule gives them the machine's.
    pub(super) fn is_own(&self, to: SocketAddr) -> bool {
        let destination = Destination { host: Host::Address(to.ip()), port: to.port() };
        self.has_loopback && to.ip().to_canonical().is_loopback() && !self.rules.allows(&destination)
    }

    /// A connection is not made for want of a rule about this, or because of one.
    fn block(&self, target: &Target, why: Option<String>, by: ProgramName, missing: &Destination) {
        let danger = if let Host::Address(address) = missing.host { danger(address) } else { None };
        let (why, rule) = match danger {
            _ if self.rules.denies(missing) => {
                let said = "--deny-net names it";
                (Some(why.map_or(said.to_owned(), |why| format!("{why}, {said}"))), None)
            }
            Some(danger) => (Some(why.map_or(format!("it {danger}"), |why| format!("{why}, which {danger}"))), None),
            None => (why, Some(missing.rule().to_string())),
        };
        let address = if let Host::Address(address) = missing.host { Some(address) } else { None };
        self.add(target, address, why, by, rule, self.rules.deciding(missing));
    }

    /// `rule` would allow it, and `decided` is the one that forbids it.
    fn add(
        &self,
        target: &Target,
        address: Option<IpAddr>,
        why: Option<String>,
        by: ProgramName,
        rule: Option<String>,
        decided: Option<&str>,
    ) {
        let Target { host, port } = target;
        let verdict = Verdict::Blocked(why.as_deref());
        self.watch.decided(&Decision { by, host, port: *port, address, rule: decided, verdict });
        self.blocked.add(target, why, by, rule);
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
            self.add(target, None, None, by, None, None);
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
            let rule = destination(target).and_then(|to| self.rules.deciding(&to).map(str::to_owned));
            let Target { host, port } = target;
            let (address, rule, verdict) = (Some(address), rule.as_deref(), Verdict::Allowed);
            self.watch.decided(&Decision { by, host, port: *port, address, rule, verdict });
        }
        good
    }

    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) {
        let why = Some(misfit.to_string());
        let other = if let Misfit::Name(name) = misfit { canonical(&name) } else { None };
        match other {
            Some(name) => self.block(target, why, by, &Destination { host: Host::Name(name), port: target.port }),
            None => self.add(target, None, why, by, None, None),
        }
    }
}
