//! State of one connection of the program.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use replay_base::budget::Share;
use replay_base::limits::MAX_RECORDED_BODY_BYTES;
use replay_sandbox::intercept::ProgramName;

use super::session::Hub;
use super::{Misfit, Note};
use crate::call::{Exchange, Link, Refusal, Target};
use crate::matching::describe;
use replay_network::upstream_proxy::ProxyError;

/// Reason that names [`MAX_RECORDED_BODY_BYTES`].
pub(super) const TOO_LONG: &str =
    "a body is longer than 128 MiB, or than --memory-mib leaves room for";
const _: () = assert!(MAX_RECORDED_BODY_BYTES == 128 << 20);

#[derive(Clone)]
pub(super) struct Context {
    pub shared: Arc<Hub>,
    pub link: Link,
    pub keep: bool,
    /// Index of the connection among those to its target, from 1.
    pub nth: u64,
    /// Program that opened the connection.
    pub by: ProgramName,
}

impl Context {
    /// Records exchanges, if this connection is recorded.
    pub(super) fn keep(&self, exchanges: impl IntoIterator<Item = Exchange>) {
        for exchange in exchanges {
            if self.keep {
                self.shared.keep(exchange);
            } else if !exchange.is_silent() {
                self.shared.count(|counts| counts.passed += 1);
            }
        }
    }

    /// Returns true if the server is on this machine.
    pub(super) fn is_near(&self) -> bool {
        let host = &self.link.target.host;
        let address = host.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Reports a call that is not recorded because its body is too long.
    pub(super) fn too_long(&self, exchange: &Exchange) {
        self.shared.count(|counts| counts.dropped += 1);
        self.shared.note(Note::Lost {
            what: format!("{}: {TOO_LONG}", describe(exchange)),
        });
    }

    /// Reserves descriptors for this connection. Without free ones, reports that and returns the
    /// errno for connect(2).
    pub(super) fn descriptors(&self, count: usize) -> Result<Share, i32> {
        self.shared.descriptors(count).map_err(|error| {
            self.handle_failed_dial(&error);
            Refusal::NO_ROOM
        })
    }

    /// Handles a failed dial. A denial by a rule, a lack of descriptors or a failure of the proxy is
    /// no answer of the server and is not recorded.
    pub(super) fn handle_failed_dial(&self, error: &io::Error) -> Refusal {
        let failed = error.get_ref().and_then(|inner| inner.downcast_ref());
        if let Some(failed @ ProxyError { errno, .. }) = failed {
            match self.shared.wires.access() {
                Some(access) => access.proxy_failed(&self.link.target, failed, self.by),
                None => self.shared.note(Note::Proxy(failed.clone())),
            }
            return Refusal::of(&io::Error::from_raw_os_error(*errno));
        }
        let refusal = Refusal::of(error);
        match (error.raw_os_error(), self.shared.wires.access()) {
            (Some(Refusal::NO_ROOM), Some(access)) => {
                access.ended(
                    &self.link.target,
                    Misfit::Many(self.shared.most_connections()),
                    self.by,
                );
            }
            (Some(libc::EACCES), Some(_)) | (Some(Refusal::NO_ROOM), None) => {}
            _ => self.refused(refusal),
        }
        refusal
    }

    /// Records that the server refused the connection or is not trusted.
    pub(super) fn refused(&self, refusal: Refusal) {
        self.shared.state().refused(refusal, &self.link.target);
        self.keep([self.link.refused(refusal, self.nth, SystemTime::now())]);
    }

    pub(super) fn encrypted(&self) -> Self {
        Self {
            link: Link {
                tls: true,
                ..self.link.clone()
            },
            ..self.clone()
        }
    }

    /// Returns the context of a forwarded connection, which is recorded if the operator asked for
    /// it.
    pub(super) fn forwarded(&self) -> Self {
        Self {
            keep: self.shared.miss_forwarding() == Some(true),
            ..self.clone()
        }
    }

    pub(super) fn tunnel(&self, target: Target) -> Self {
        Self {
            link: Link {
                target,
                tls: false,
                connection: self.link.connection,
            },
            ..self.clone()
        }
    }

    pub(super) async fn stopped(&self) {
        let mut stop = self.shared.stop.clone();
        let _ = stop.wait_for(|stop| *stop).await;
    }
}
