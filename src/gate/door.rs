//! What one command may reach by the rules, and what of it was blocked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::UPGRADE;
use http::request;
use http::uri::Scheme;

use super::blocked_list::BlockedList;
use crate::egress::{Destination, Host, RequestLine, Rules, Verdict, canonical};
use crate::exec::{Blocked, Guarded, ProgramName};
use crate::limits::MAX_SHOWN_URL_BYTES;
use crate::record::Target;
use crate::record::proxy::{Door, Inspector, Misfit, Refusal};

/// Cheap to clone; all clones are the same.
#[derive(Clone, Debug)]
pub struct RuledDoor {
    rules: Arc<Rules>,
    /// Whether commands have a loopback device that is theirs.
    has_loopback: bool,
    blocked: Arc<BlockedList>,
}

/// `None` if nothing can be reached there.
fn destination(target: &Target) -> Option<Destination> {
    let host = match target.host.parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(canonical(&target.host)?),
    };
    Some(Destination { host, port: target.port })
}

impl RuledDoor {
    pub(super) fn new(rules: Arc<Rules>, has_loopback: bool) -> Self {
        Self { rules, has_loopback, blocked: Arc::default() }
    }

    /// Whether this is the commands' own loopback: no rule gives them the machine's.
    pub(super) fn is_own(&self, to: SocketAddr) -> bool {
        let destination = Destination { host: Host::Address(to.ip()), port: to.port() };
        self.has_loopback && to.ip().to_canonical().is_loopback() && !self.rules.allows(&destination)
    }

    /// A connection is not made for want of a rule about this, or because of one.
    fn block(&self, target: &Target, why: Option<String>, by: ProgramName, missing: &Destination) -> Blocked {
        let (why, rule) = if self.rules.denies(missing) {
            let said = "--deny-net names it";
            (Some(why.map_or(said.to_owned(), |why| format!("{why}, {said}"))), None)
        } else {
            (why, Some(missing.rule().to_string()))
        };
        self.add(target, None, why, by, rule)
    }

    /// What was asked for there if it was more than a connection, and the rule that would allow it.
    fn add(
        &self,
        target: &Target,
        asked: Option<String>,
        why: Option<String>,
        by: ProgramName,
        rule: Option<String>,
    ) -> Blocked {
        self.blocked.add(target, asked, why, by, rule)
    }

    /// A connection or a request was ended, since what was said does not fit the target.
    fn end(&self, target: &Target, misfit: &Misfit, by: ProgramName) -> Blocked {
        let opening =
            || destination(target).and_then(|to| self.rules.opens(&to).map(|(flag, rule)| format!("{flag} '{rule}'")));
        let (why, other) = match misfit {
            Misfit::Name(name) => (misfit.to_string(), canonical(name)),
            Misfit::Distrust => {
                let needs = opening().map(|rule| format!("the program does not trust the authority that {rule} needs"));
                (needs.unwrap_or_else(|| misfit.to_string()), None)
            }
            _ => (misfit.to_string(), None),
        };
        match other {
            Some(name) => self.block(target, Some(why), by, &Destination { host: Host::Name(name), port: target.port }),
            None => self.add(target, None, Some(why), by, None),
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
            self.add(target, None, None, by, None);
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
        }
        good
    }

    fn opens(&self, target: &Target, by: ProgramName) -> Option<Arc<dyn Inspector>> {
        let to = destination(target)?;
        self.rules.opens(&to)?;
        Some(Arc::new(Judge { door: self.clone(), target: target.clone(), to, by }))
    }

    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) {
        self.end(target, &misfit, by);
    }
}

/// Judges the requests of one opened connection.
struct Judge {
    door: RuledDoor,
    target: Target,
    to: Destination,
    by: ProgramName,
}

impl Inspector for Judge {
    fn request(&self, head: &mut request::Parts) -> Result<(), Refusal> {
        let (is_tls, may_switch) = (head.uri.scheme() == Some(&Scheme::HTTPS), head.headers.contains_key(UPGRADE));
        let line = RequestLine { is_tls, method: head.method.as_str(), path: head.uri.path(), may_switch };
        let missing = || Some(self.to.rule_for(line).to_string());
        let (why, rule) = match self.door.rules.judge(&self.to, line) {
            Verdict::Allowed => return Ok(()),
            Verdict::Missing => (None, missing()),
            Verdict::OddPath => (Some("servers read its path in several ways"), missing()),
            Verdict::OddMethod => (Some("a method is in capital letters"), None),
            Verdict::Denied => (Some("--deny-net names it"), None),
        };
        let url = head.uri.to_string();
        let url = url.split('?').next().unwrap_or_default();
        let end = url.floor_char_boundary(MAX_SHOWN_URL_BYTES);
        let rest = if end < url.len() { "..." } else { "" };
        let asked = format!("{} {}{rest}", line.method, &url[..end]);
        let blocked = self.door.add(&self.target, Some(asked), why.map(str::to_owned), self.by, rule);
        Err(Refusal(blocked.to_string()))
    }

    fn misfit(&self, misfit: Misfit) -> Refusal {
        Refusal(self.door.end(&self.target, &misfit, self.by).to_string())
    }
}
