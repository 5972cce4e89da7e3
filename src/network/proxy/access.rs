//! Access decisions for one command, and its list of blocked destinations.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::UPGRADE;
use http::request;
use http::uri::Scheme as UriScheme;
use replay_sandbox::exec::{Blocked, Denied, Guarded, ProgramName};

use super::blocked_list::{BlockedList, shorten_request};
use super::filling::Filling;
use super::watching::{Decision, Ruling, Watch};
use replay_network::rules::{
    Credential, Credentials, Destination, Host, RequestLine, Rules, Scheme, Transport, Verdict,
    canonical, danger,
};
use replay_network::upstream_proxy::{ProxyError, ProxyServer, UpstreamProxy};
use replay_record::Target;
use replay_record::proxy::{
    AccessPolicy, Inspector, Misfit, PasswordSubstitution, Refusal, StandIn,
};

/// Cheap to clone; all clones are the same.
#[derive(Clone, Debug)]
pub struct RuledAccess {
    rules: Arc<Rules>,
    credentials: Arc<Credentials>,
    /// `true` if commands have a loopback device of their own.
    has_loopback: bool,
    blocked: Arc<BlockedList>,
    watch: Watch,
    /// Operator's proxy for what the rules allow.
    upstream_proxy: Option<Arc<UpstreamProxy>>,
}

/// `None` if nothing can be reached there.
pub(super) fn destination(transport: Transport, target: &Target) -> Option<Destination> {
    let host = match target.host.parse() {
        Ok(address) => Host::Address(address),
        Err(_) => Host::Name(canonical(&target.host)?),
    };
    Some(Destination {
        transport,
        host,
        port: target.port,
    })
}

impl RuledAccess {
    pub(super) fn new(
        rules: Arc<Rules>,
        credentials: Arc<Credentials>,
        has_loopback: bool,
        watch: Watch,
        upstream_proxy: Option<Arc<UpstreamProxy>>,
    ) -> Self {
        Self {
            rules,
            credentials,
            has_loopback,
            blocked: Arc::default(),
            watch,
            upstream_proxy,
        }
    }

    pub(super) fn upstream_proxy(&self) -> Option<&UpstreamProxy> {
        self.upstream_proxy.as_deref()
    }

    /// Reports that an allowed name has no address. The operator's proxy may know it.
    pub(super) fn unresolved(&self, name: &str, why: &io::Error) {
        if self
            .upstream_proxy()
            .is_none_or(|proxy| !proxy.reaches(name))
        {
            self.watch.unresolved(name, why);
        }
    }

    /// Returns true if this is the operator's proxy, which would lead past all rules. Blocks the
    /// connection then.
    fn is_proxy(&self, target: &Target, address: Option<IpAddr>, by: ProgramName) -> bool {
        let Some(upstream) = self.upstream_proxy() else {
            return false;
        };
        let address = address.or_else(|| target.host.parse().ok());
        let server = match address {
            Some(address) => upstream.at_address(address, target.port),
            None => upstream.at_name(&target.host, target.port),
        };
        let Some(server) = server else {
            return false;
        };
        let why = format!(
            "it is the operator's proxy ({}), which leads past all rules; allowed hosts are \
             reached through it without proxy settings",
            server.setting
        );
        self.add(target, None, None, Some(why), by, None);
        true
    }

    /// Returns true if this is the commands' own loopback. No rule opens the host's.
    pub(super) fn is_own(&self, to: SocketAddr) -> bool {
        let destination = Destination {
            transport: Transport::Tcp,
            host: Host::Address(to.ip()),
            port: to.port(),
        };
        self.has_loopback
            && to.ip().to_canonical().is_loopback()
            && !self.rules.allows(&destination)
    }

    /// Blocks a connection, for want of an allow rule or because of a deny rule.
    fn block(
        &self,
        target: &Target,
        why: Option<String>,
        by: ProgramName,
        missing: &Destination,
    ) -> Blocked {
        let danger = if let Host::Address(address) = missing.host {
            danger(address)
        } else {
            None
        };
        let (why, rule) = match danger {
            _ if self.rules.denies(missing) => {
                let said = "--deny-host names it";
                (
                    Some(why.map_or(said.to_owned(), |why| format!("{why}, {said}"))),
                    None,
                )
            }
            Some(danger) => (
                Some(why.map_or(String::new(), |why| why + ", ") + "which " + danger),
                None,
            ),
            None => (why, Some(self.rules.proposal(missing).to_string())),
        };
        self.add(target, None, Some(missing), why, by, rule)
    }

    /// Records a blocked destination: the request, if any, the reason, and the rule that would
    /// allow it.
    fn add(
        &self,
        target: &Target,
        asked: Option<String>,
        missing: Option<&Destination>,
        why: Option<String>,
        by: ProgramName,
        rule: Option<String>,
    ) -> Blocked {
        let transport = missing.map_or(Transport::Tcp, |missing| missing.transport);
        let address = missing.and_then(|missing| {
            if let Host::Address(address) = missing.host {
                Some(address)
            } else {
                None
            }
        });
        let decided = missing
            .filter(|missing| self.rules.denies(missing))
            .and_then(|missing| self.rules.deciding(missing));
        self.watch.decided(&Decision {
            by,
            transport,
            host: &target.host,
            port: target.port,
            asked: asked.as_deref(),
            address,
            rule: decided,
            via: None,
            ruling: Ruling::Blocked(why.as_deref()),
        });
        self.blocked.add(transport, target, asked, why, by, rule)
    }

    /// Reports that a connection is made, datagrams may be sent, or a request is passed on.
    fn allow(
        &self,
        transport: Transport,
        target: &Target,
        asked: Option<&str>,
        address: Option<IpAddr>,
        by: ProgramName,
    ) {
        let Target { host, port } = target;
        self.tell(Decision {
            by,
            transport,
            host,
            port: *port,
            asked,
            address,
            rule: None,
            via: None,
            ruling: Ruling::Allowed,
        });
    }

    /// Reports a decision, with its rule, to the watchers.
    fn tell(&self, decision: Decision<'_>) {
        let target = Target {
            host: decision.host.to_owned(),
            port: decision.port,
        };
        let to = destination(decision.transport, &target);
        let rule = to.as_ref().and_then(|to| self.rules.deciding(to));
        self.watch.decided(&Decision { rule, ..decision });
    }

    /// Reports a decision about a connection through a proxy.
    fn tell_chained(
        &self,
        target: &Target,
        address: Option<IpAddr>,
        by: ProgramName,
        via: &str,
        ruling: Ruling<'_>,
    ) {
        let Target { host, port } = target;
        self.tell(Decision {
            by,
            transport: Transport::Tcp,
            host,
            port: *port,
            asked: None,
            address,
            rule: None,
            via: Some(via),
            ruling,
        });
    }

    /// Reports that a connection or a request was ended, since its data does not fit the target.
    fn end(&self, target: &Target, misfit: &Misfit, by: ProgramName) -> Blocked {
        let opening = || {
            let to = destination(Transport::Tcp, target)?;
            let rule = self
                .rules
                .opens(&to)
                .map(|(flag, rule)| format!("{flag} '{rule}'"));
            rule.or_else(|| {
                self.credentials
                    .are_for(&to)
                    .then(|| "--credential".to_owned())
            })
        };
        let opened_by = if *misfit == Misfit::Distrust {
            opening()
        } else {
            None
        };
        let why = opened_by.map_or_else(
            || misfit.to_string(),
            |rule| {
                format!("the program does not trust the certificate authority that {rule} needs")
            },
        );
        self.add(target, None, None, Some(why), by, None)
    }
}

impl Guarded for RuledAccess {
    fn blocked(&self) -> Vec<Denied> {
        self.blocked.take()
    }
}

impl AccessPolicy for RuledAccess {
    fn admits(&self, transport: Transport, target: &Target, by: ProgramName) -> bool {
        let Some(to) = destination(transport, target) else {
            self.add(target, None, None, None, by, None);
            return false;
        };
        if self.rules.allows(&to) {
            return transport == Transport::Udp || !self.is_proxy(target, None, by);
        }
        let loopback = if let Host::Address(address) = to.host {
            Some(address)
        } else {
            None
        };
        match loopback.filter(|address| address.to_canonical().is_loopback()) {
            Some(address)
                if transport == Transport::Tcp && self.is_own((address, to.port).into()) =>
            {
                return true;
            }
            // The own loopback needs no decision. C libraries connect datagram sockets to addresses
            // of a name only to choose the best one.
            Some(_) if transport == Transport::Udp => {}
            _ => drop(self.block(target, None, by, &to)),
        }
        false
    }

    fn may_ask(&self, name: &str) -> bool {
        self.rules.knows(name)
    }

    fn leads_to(
        &self,
        transport: Transport,
        target: &Target,
        address: IpAddr,
        by: ProgramName,
    ) -> bool {
        let Some(to) = destination(transport, target) else {
            return false;
        };
        // Of an address the rules have said it.
        let is_name = matches!(to.host, Host::Name(_));
        let good = !is_name || self.rules.allows_resolved(&to, address);
        if good
            && is_name
            && transport == Transport::Tcp
            && self.is_proxy(target, Some(address), by)
        {
            return false;
        }
        if !good {
            let why = format!("it resolves to {}", address.to_canonical());
            self.block(
                target,
                Some(why),
                by,
                &Destination {
                    host: Host::Address(address),
                    ..to
                },
            );
        } else if transport == Transport::Udp || !self.is_own((address, target.port).into()) {
            self.allow(transport, target, None, Some(address), by);
        }
        good
    }

    fn leads_through(
        &self,
        _proxy: &ProxyServer,
        target: &Target,
        addresses: &[IpAddr],
        by: ProgramName,
    ) -> bool {
        let Some(to) = destination(Transport::Tcp, target) else {
            return false;
        };
        if matches!(to.host, Host::Address(_)) {
            return true;
        }
        // The proxy chooses the address, so each must be allowed. A name without one is allowed by
        // the rule that names it.
        let is_bad = |address: &&IpAddr| !self.rules.allows_resolved(&to, **address);
        if let Some(address) = addresses.iter().find(is_bad) {
            let why = format!("it resolves to {}", address.to_canonical());
            let missing = Destination {
                host: Host::Address(*address),
                ..to
            };
            self.block(target, Some(why), by, &missing);
            return false;
        }
        !addresses
            .iter()
            .any(|address| self.is_proxy(target, Some(*address), by))
    }

    fn reached_through(
        &self,
        proxy: &ProxyServer,
        target: &Target,
        addresses: &[IpAddr],
        by: ProgramName,
    ) {
        let (address, via) = (addresses.first().copied(), proxy.to_string());
        self.tell_chained(target, address, by, &via, Ruling::Allowed);
    }

    fn proxy_failed(&self, target: &Target, error: &ProxyError, by: ProgramName) {
        let why = format!("the proxy {}; {}", error.answer, error.advice);
        self.tell_chained(target, None, by, &error.url, Ruling::Blocked(Some(&why)));
        self.blocked.add_failed_proxy(target, error, by);
    }

    fn opens(&self, target: &Target, by: ProgramName) -> Option<Arc<dyn Inspector>> {
        let to = destination(Transport::Tcp, target)?;
        let fills = self.credentials.are_for(&to);
        if !fills && self.rules.opens(&to).is_none() {
            return None;
        }
        let judge = Arc::new(Judge {
            access: self.clone(),
            target: target.clone(),
            to: to.clone(),
            by,
        });
        if !fills {
            return Some(judge);
        }
        let told = Arc::clone(&judge);
        let refuse = move |why: &str| {
            Refusal(
                told.access
                    .add(
                        &told.target,
                        None,
                        None,
                        Some(why.to_owned()),
                        told.by,
                        None,
                    )
                    .to_string(),
            )
        };
        Some(Arc::new(Filling::new(
            judge,
            to,
            Box::new(refuse),
            Arc::clone(&self.credentials),
        )))
    }

    fn login(&self, target: &Target) -> Option<StandIn> {
        let to = destination(Transport::Tcp, target)?;
        let known = |scheme| {
            let meant = self.credentials.for_login(scheme, &to).into_iter();
            let known = |it: &Credential| PasswordSubstitution {
                stand_in: it.stand_in.clone().into_bytes(),
                secret: it.secret.bytes().to_vec(),
            };
            Some(meant.map(known).collect::<Vec<_>>()).filter(|known| !known.is_empty())
        };
        if let Some(known) = known(Scheme::Postgres) {
            return Some(StandIn::Postgres(Box::new(move |given| {
                let meant = known.iter().find(|known| known.stand_in == given);
                meant.map_or(given, |known| &known.secret).to_vec()
            })));
        }
        known(Scheme::MySql).map(StandIn::MySql)
    }

    fn ended(&self, target: &Target, misfit: Misfit, by: ProgramName) -> Refusal {
        Refusal(self.end(target, &misfit, by).to_string())
    }
}

/// Inspector of the requests of one intercepted connection.
struct Judge {
    access: RuledAccess,
    target: Target,
    to: Destination,
    by: ProgramName,
}

impl Inspector for Judge {
    fn request(&self, head: &mut request::Parts) -> Result<(), Refusal> {
        let (is_tls, may_switch) = (
            head.uri.scheme() == Some(&UriScheme::HTTPS),
            head.headers.contains_key(UPGRADE),
        );
        let line = RequestLine {
            is_tls,
            method: head.method.as_str(),
            path: head.uri.path(),
            may_switch,
        };
        let asked = shorten_request(head);
        let missing = || Some(self.to.rule_for(line).to_string());
        let (why, rule) = match self.access.rules.judge(&self.to, line) {
            Verdict::Allowed => {
                self.access
                    .allow(self.to.transport, &self.target, Some(&asked), None, self.by);
                return Ok(());
            }
            Verdict::Missing => (None, missing()),
            Verdict::OddPath => (Some("its path is ambiguous"), missing()),
            Verdict::OddMethod => (Some("a method must be in capital letters"), None),
            Verdict::Denied => (Some("--deny-host names it"), None),
        };
        let blocked = self.access.add(
            &self.target,
            Some(asked),
            None,
            why.map(str::to_owned),
            self.by,
            rule,
        );
        Err(Refusal(blocked.to_string()))
    }

    fn misfit(&self, misfit: Misfit) -> Refusal {
        self.access.ended(&self.target, misfit, self.by)
    }
}
