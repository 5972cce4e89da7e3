//! The tool server: state that all its sessions share.

use std::sync::Arc;

use replay_mcp::protocol::Revision;
use replay_mcp::sessions::ErrorStyle;

use super::deferred_service::Front;
use crate::tools::{Callable, Hints, Services};

/// State that all sessions share.
pub struct Server {
    pub(super) front: Arc<Front>,
    pub(super) services: Services,
    pub(super) errors: ErrorStyle,
}

impl Server {
    /// Creates a server for the tools of this front.
    pub fn new(front: Arc<Front>, services: Services, errors: ErrorStyle) -> Arc<Self> {
        Arc::new(Self {
            front,
            services,
            errors,
        })
    }

    /// State that the tools share.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Ends the remains of calls: Python sessions, background commands, test logs, and running
    /// commands. New commands are refused. Files stay.
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

    /// Ends the remains once more, and returns true if none is left. Call it when no call runs.
    pub fn has_left_nothing(&self) -> bool {
        // Calls that finished in the meantime may have left more.
        self.end_left_behind();
        self.services.commands.are_over()
    }

    /// Names of the tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.front.registry.iter().map(Callable::name)
    }

    /// Names of the tools that run programs or change files.
    pub fn names_of_changing(&self) -> impl Iterator<Item = &str> {
        let changing = self
            .front
            .registry
            .iter()
            .filter(|tool| tool.hints() != Hints::Observes);
        changing.map(Callable::name)
    }

    /// The tool list of this revision: a `ListToolsResult`.
    pub fn list(&self, revision: Revision) -> Arc<str> {
        self.front.list(revision)
    }
}
