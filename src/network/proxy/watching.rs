//! Watchers of decisions about connections.

use std::fmt::Debug;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use replay_files::policy::{AccessRecord, Caller};
use replay_sandbox::exec::ProgramName;

use replay_network::rules::Transport;

/// Decision about one connection, or about datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub by: ProgramName,
    pub transport: Transport,
    pub host: &'a str,
    pub port: u16,
    /// Request, if requests were judged: `POST https://api.example.com/hook`.
    pub asked: Option<&'a str>,
    /// Address of an allowed name.
    pub address: Option<IpAddr>,
    /// Text of the rule that decided.
    pub rule: Option<&'a str>,
    /// Operator's proxy that leads there.
    pub via: Option<&'a str>,
    pub ruling: Ruling<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling<'a> {
    Allowed,
    /// Blocked, with the reason if the destination itself is allowed.
    Blocked(Option<&'a str>),
}

/// Call that started the connecting program.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The tool and its command.
    pub title: String,
    /// Caller, if known.
    pub caller: Option<Arc<Caller>>,
}

impl Origin {
    /// Returns the origin for programs that this thread starts.
    pub fn of(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            caller: AccessRecord::current().and_then(|touched| touched.caller()),
        }
    }
}

/// Observer of decisions. Connections wait for its methods, so they return soon.
pub trait Watcher: Debug + Send + Sync {
    fn decided(&self, origin: &Origin, decision: &Decision<'_>);
    /// Reports that an allowed name has no address.
    fn unresolved(&self, _name: &str, _why: &io::Error) {}
}

/// Watchers of one command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub origin: Origin,
    pub watchers: Arc<[Arc<dyn Watcher>]>,
}

impl Watch {
    pub(crate) fn decided(&self, decision: &Decision<'_>) {
        self.watchers
            .iter()
            .for_each(|watcher| watcher.decided(&self.origin, decision));
    }

    pub(crate) fn unresolved(&self, name: &str, why: &io::Error) {
        self.watchers
            .iter()
            .for_each(|watcher| watcher.unresolved(name, why));
    }
}
