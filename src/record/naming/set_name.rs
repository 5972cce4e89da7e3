//! Names of recording sets: `<service>-<hosts>-<databases>`, equal for equal runs.

use std::collections::BTreeSet;

use crate::call::{Exchange, Protocol};
use crate::naming::service::{service, slug};
use crate::naming::summary::Summary;
use crate::protocol::registry;

/// Longest name of a set of recorded calls, in bytes (`NAME_MAX` of `linux/limits.h` less room for
/// a suffix).
const MAX_SET_NAME_BYTES: usize = 200;

/// Maximum number of hosts in a name.
const MAX_HOSTS: usize = 3;
/// Directories next to sets that belong to other programs; lists omit them.
const RESERVED: [&str; 4] = ["reports", "testReports", "schema", "api-tests"];

/// Error for an invalid set name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is empty.
    #[error("`mockName` is empty")]
    Empty,
    /// The name is a path.
    #[error("`mockName` is `{0}`; it must not contain `/` or `\\`, nor be `.` or `..`")]
    Path(String),
    /// The name has control characters.
    #[error("`mockName` contains a control character")]
    Control,
    /// The name is longer than a file name may be.
    #[error("`mockName` is {0} bytes; at most {MAX_SET_NAME_BYTES} are allowed")]
    TooLong(usize),
    /// Lists omit this directory.
    #[error("`mockName` is `{0}`, a reserved directory name")]
    Reserved(String),
}

/// Advice that accompanies a [`NameError`].
pub const HINT: &str =
    "give the name of a set as keploy_list_mocks shows it, such as `order-service-stripe-postgres`";

/// Checks that a name from the agent is a valid set name.
pub fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.chars().any(char::is_control) {
        return Err(NameError::Control);
    }
    if name.len() > MAX_SET_NAME_BYTES {
        return Err(NameError::TooLong(name.len()));
    }
    if name.contains(['/', '\\']) || name == "." || name == ".." {
        return Err(NameError::Path(name.to_owned()));
    }
    if RESERVED.contains(&name) {
        return Err(NameError::Reserved(name.to_owned()));
    }
    Ok(())
}

/// Returns a free set name from the command, its folder and the called hosts. A set without
/// answered calls is named by `now`, in seconds since 1970. `is_taken` returns true for existing
/// names.
pub fn choose(
    command: &str,
    folder: &str,
    calls: &[Exchange],
    now: u64,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let name = if Summary::of(calls).is_nothing {
        format!("mock-{now}")
    } else {
        let parts = [vec![service(command, folder)], called(calls)].concat();
        parts.join("-")
    };
    if !is_taken(&name) {
        return name;
    }
    (2..=u64::MAX)
        .map(|number| format!("{name}-{number}"))
        .find(|other| !is_taken(other))
        .unwrap_or(name)
}

/// Returns the hosts and databases of the calls, sorted, because the order of calls varies between
/// runs.
fn called(calls: &[Exchange]) -> Vec<String> {
    let (mut hosts, mut others, mut databases) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for call in calls {
        let mut host = |word: &'static str| match label(&call.target.host) {
            Some(label) => drop(hosts.insert(label)),
            None => drop(others.insert(word)),
        };
        match call.content.protocol() {
            Protocol::Http => host("http"),
            Protocol::Grpc => host("grpc"),
            Protocol::Generic if call.is_no_call() => hosts.extend(label(&call.target.host)),
            Protocol::Generic | Protocol::Framed(_) => host("tcp"),
            Protocol::Dns => {}
            other => {
                databases.extend(registry::of(other).map(|known| known.kind.to_ascii_lowercase()));
            }
        }
    }
    // Hosts without a label matter only if no other host was called.
    let others = others
        .into_iter()
        .filter(|_| hosts.is_empty())
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let mut parts: Vec<String> = hosts.into_iter().take(MAX_HOSTS).chain(others).collect();
    parts.extend(databases);
    if parts.is_empty() {
        parts.push("dns".to_owned());
    }
    parts
}

/// Returns the distinctive label of a host: `stripe` for `api.stripe.com`. `None` for addresses and
/// for localhost.
fn label(host: &str) -> Option<String> {
    // Second-level domains under which countries register names.
    const SECOND: [&str; 8] = ["co", "com", "org", "net", "gov", "ac", "edu", "or"];
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    if host.is_empty() || is_address || host == "localhost" || host.ends_with(".localhost") {
        return None;
    }
    let labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    let chosen = match labels.as_slice() {
        [.., third, second, top] if top.len() == 2 && SECOND.contains(second) => third,
        // Inside a cluster the first word is the service (Kubernetes, "DNS for Services and Pods").
        [first, .., "local" | "internal" | "svc"] => first,
        [.., second, _] => second,
        [only] => only,
        [] => return None,
    };
    slug(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Content, Dns, Link, Target, Wire};
    use pretty_assertions::assert_eq;
    use std::time::SystemTime;

    fn call(host: &str, protocol: Protocol) -> Exchange {
        let dns = Dns {
            name: String::new(),
            kind: "A".to_owned(),
            code: 0,
            answers: Vec::new(),
        };
        let content = if protocol == Protocol::Dns {
            Content::Dns(dns)
        } else {
            Content::Wire(protocol, Wire::default())
        };
        let link = Link {
            target: Target {
                host: host.to_owned(),
                port: 1,
            },
            tls: false,
            connection: 0,
        };
        link.exchange(content, SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn set_name_joins_service_hosts_databases() {
        let free = |_: &str| false;
        let calls = [
            call("api.stripe.com", Protocol::Http),
            call("db", Protocol::Postgres),
            call("", Protocol::Dns),
        ];
        assert_eq!(
            choose("./order-service", "/", &calls, 7, free),
            "order-service-stripe-postgres"
        );
        let mut reversed = calls.to_vec();
        reversed.reverse();
        assert_eq!(
            choose("./order-service", "/", &reversed, 7, free),
            "order-service-stripe-postgres"
        );
        assert_eq!(
            choose("./a", "/", &[call("127.0.0.1", Protocol::Http)], 7, free),
            "a-http"
        );
        assert_eq!(
            choose(
                "./a",
                "/",
                &[
                    call("::1", Protocol::Redis),
                    call("shop.co.uk", Protocol::Grpc)
                ],
                7,
                free
            ),
            "a-shop-redis"
        );
        assert_eq!(
            choose(
                "./a",
                "/",
                &[call("payments.default.svc", Protocol::Http)],
                7,
                free
            ),
            "a-payments"
        );
        assert_eq!(
            choose("./a", "/", &[], 1_704_153_600, free),
            "mock-1704153600"
        );
        let taken = ["a-http", "a-http-2"];
        assert_eq!(
            choose(
                "./a",
                "/",
                &[call("localhost", Protocol::Http)],
                7,
                |name| taken.contains(&name)
            ),
            "a-http-3"
        );
    }

    #[test]
    fn set_without_answers_is_named_by_time() {
        let at = SystemTime::UNIX_EPOCH;
        let link = Link {
            target: Target {
                host: "db.test".to_owned(),
                port: 1,
            },
            tls: false,
            connection: 1,
        };
        let refused = link.refused(crate::call::Refusal::Connect(111), 1, at);
        let name = |code| Exchange {
            content: Content::Dns(Dns {
                name: "db.test".to_owned(),
                kind: "A".to_owned(),
                code,
                answers: Vec::new(),
            }),
            ..call("db.test", Protocol::Dns)
        };
        let chosen = |calls: &[Exchange]| choose("./a", "/", calls, 7, |_| false);
        assert_eq!(chosen(std::slice::from_ref(&refused)), "mock-7");
        assert_eq!(chosen(&[name(3)]), "mock-7");
        // The name was looked up for the refused connection.
        assert_eq!(chosen(&[name(0), refused.clone()]), "mock-7");
        assert_eq!(chosen(&[name(0)]), "a-dns");
        assert_eq!(
            chosen(&[refused, call("shop.test", Protocol::Http)]),
            "a-db-shop"
        );
    }

    #[test]
    fn invalid_set_names_are_rejected() {
        assert_eq!(check("order-service-stripe"), Ok(()));
        assert_eq!(check("a..b"), Ok(()));
        assert_eq!(check(""), Err(NameError::Empty));
        for name in ["a/b", "a\\b", "..", ".", "/"] {
            assert_eq!(check(name), Err(NameError::Path(name.to_owned())), "{name}");
        }
        assert_eq!(check("a\nb"), Err(NameError::Control));
        assert_eq!(check(&"a".repeat(201)), Err(NameError::TooLong(201)));
        assert_eq!(
            check("reports"),
            Err(NameError::Reserved("reports".to_owned()))
        );
    }
}
