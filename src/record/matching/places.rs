//! Under which targets the recordings of a call may stand, and what is known of those of a target.

use crate::record::call::{Content, Exchange, Target};

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
