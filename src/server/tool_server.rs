//! The server of tools: what all its sessions share.

use std::sync::Arc;

use super::deferred_service::Front;
use crate::protocol::Revision;
use crate::tools::{Callable, Hints, Services};

/// How a tool's failure is reported to handshake revisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStyle {
    /// As JSON-RPC errors with the codes of the contract.
    #[default]
    Codes,
    /// As results with `isError`, for clients that hide protocol errors from their model.
    Results,
}

/// What all sessions share.
pub struct Server {
    pub(super) front: Arc<Front>,
    pub(super) services: Services,
    pub(super) errors: ErrorStyle,
}

impl Server {
    /// A server for the tools of this front.
    pub fn new(front: Arc<Front>, services: Services, errors: ErrorStyle) -> Arc<Self> {
        Arc::new(Self {
            front,
            services,
            errors,
        })
    }

    /// What the tools share.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Ends what calls have left behind: Python sessions, background commands, logs of tests, and
    /// commands that run now. Nothing new starts. Files stay.
    pub fn end_left_behind(&self) {
        let Services {
            commands,
            python,
            logs,
            tests,
            calls,
            ..
        } = &self.services;
        commands.pause();
        python.clear();
        logs.clear();
        tests.clear();
        calls.forget();
    }

    /// The same once more; whether nothing of it runs any more. To be asked when no call runs.
    pub fn has_left_nothing(&self) -> bool {
        // Calls that came to their end meanwhile may have left something.
        self.end_left_behind();
        self.services.commands.are_over()
    }

    /// The names of the tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.front.registry.iter().map(Callable::name)
    }

    /// The names of those that run programs or change something.
    pub fn names_of_changing(&self) -> impl Iterator<Item = &str> {
        let changing = self
            .front
            .registry
            .iter()
            .filter(|tool| tool.hints() != Hints::Observes);
        changing.map(Callable::name)
    }

    /// The tools, as clients of this revision see them: a `ListToolsResult`.
    pub fn list(&self, revision: Revision) -> Arc<str> {
        self.front.list(revision)
    }
}
