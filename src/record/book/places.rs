//! Under which targets the recordings of a call may stand, and what is known of those of a target.

use super::Book;
use crate::record::exchange::{Content, Exchange, Protocol, Target};

/// The targets under which the recordings of a call may stand, from the most exact one, and whether they are only named:
/// where it goes; there without a port; the host that it names; nowhere.
pub(super) fn targets(asked: &Exchange) -> Vec<(Target, bool)> {
    let mut targets: Vec<(Target, bool)> = places(&asked.target).into_iter().map(|target| (target, false)).collect();
    if let Content::Http(http) | Content::Grpc(http) = &asked.content {
        targets.extend(places(&asked.target).into_iter().map(|target| (target, true)));
        let mut named = Target::of_authority(&http.request.authority);
        if named.host != asked.target.host && !named.host.is_empty() {
            named.port = if named.port == 0 { asked.target.port } else { named.port };
            targets.extend(places(&named).into_iter().map(|target| (target, true)));
        }
        targets.push((Target { host: String::new(), port: 0 }, true));
    }
    targets.push((Target { host: String::new(), port: 0 }, false));
    targets
}

/// A target, and it without a port.
pub(super) fn places(target: &Target) -> Vec<Target> {
    let mut places = vec![target.clone()];
    if target.port != 0 {
        places.push(Target { host: target.host.clone(), port: 0 });
    }
    places
}

/// The protocol that a port is registered for (IANA service names; 27017 by `MongoDB`).
pub(super) fn usual_protocol(port: u16) -> Option<Protocol> {
    match port {
        3306 => Some(Protocol::MySql),
        5432 => Some(Protocol::Postgres),
        6379 => Some(Protocol::Redis),
        27017 => Some(Protocol::Mongo),
        _ => None,
    }
}

impl Book {
    /// Whether recordings of a target say what state their connections were in.
    pub fn is_stateful(&self, target: &Target, protocol: Protocol) -> bool {
        let nowhere = Target { host: String::new(), port: 0 };
        places(target).into_iter().chain([nowhere]).any(|target| self.stateful.contains(&(target, protocol)))
    }

    /// Whether recordings of a target tell between several users of `MySQL`.
    pub(in crate::record) fn tells_users(&self, target: &Target) -> bool {
        places(target).into_iter().chain([Target { host: String::new(), port: 0 }]).any(|it| self.users.contains(&it))
    }

    /// Whether what recordings of a target say of the states of their connections leaves settings out, as files of earlier
    /// versions do.
    pub fn is_of_old_states(&self, target: &Target, protocol: Protocol) -> bool {
        let nowhere = Target { host: String::new(), port: 0 };
        self.is_stateful(target, protocol)
            && !places(target).into_iter().chain([nowhere]).any(|target| self.full.contains(&(target, protocol)))
    }
}
