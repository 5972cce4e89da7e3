//! The tool server: state that all its sessions share.

use std::sync::{Arc, Weak};

use replay_mcp::protocol::Revision;

use super::deferred_service::Front;
use crate::tools::{Callable, Hints, Services};

/// State that all sessions share.
pub struct Server {
    pub(super) front: Arc<Front>,
    pub(super) services: Services,
    /// For calls that outlive their request.
    itself: Weak<Self>,
}

impl Server {
    /// Creates a server for the tools of this front.
    pub fn new(front: Arc<Front>, services: Services) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            front,
            services,
            itself: Weak::clone(itself),
        })
    }

    /// Returns this server for a call that may outlive its request.
    pub(super) fn shared(&self) -> Option<Arc<Self>> {
        self.itself.upgrade()
    }

    /// State that the tools share.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Ends the remains of calls: Python sessions, background calls and commands, test logs, and
    /// running commands. New commands are refused. Files stay.
    pub fn end_left_behind(&self) {
        let Services {
            commands,
            python,
            logs,
            tests,
            calls,
            background_calls,
            ..
        } = &self.services;
        commands.pause();
        background_calls.end_all();
        python.clear();
        logs.clear();
        tests.clear();
        calls.forget();
    }

    /// Ends the remains once more, and returns true if none is left. Call it when no call runs.
    pub fn has_left_nothing(&self) -> bool {
        // Calls that finished in the meantime may have left more.
        self.end_left_behind();
        self.services.commands.are_over() && self.services.background_calls.is_over()
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
