//! Work of a supervisor for its command while the command runs, in each of the three tiers.

use std::mem;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use replay_files::hide::Hide;
use rustix::event::PollFlags;

use super::broker::Broker;
use super::denied::Denied;
use super::intercept::Interceptor;
use super::journaling::CommandJournal;
use super::opens::Places;
use super::route_counters::RouteCounters;
use super::supervisor_table::{Account, SupervisorLine};
use super::thread_names::ThreadNames;
use super::unix_sockets::{Owner, SocketFiles, UnixSockets};
use super::wire::Changed;

/// Work for the walls of one command while it runs. The default is to do nothing.
pub(crate) trait Monitor {
    /// Descriptors to poll besides the supervisor's own.
    fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [None; 2]
    }

    /// Handles the events of the descriptors.
    fn serve(&mut self, _states: [PollFlags; 2]) {}

    /// Takes the descriptor that the program's side of the walls sent.
    fn take(&mut self, _from_program: OwnedFd) {}

    /// Returns true if [`Monitor::look`] has periodic work.
    fn has_to_look(&self) -> bool {
        false
    }

    /// Checks for actions of the command that no event reports.
    fn look(&mut self) {}

    /// Ends the journal entry and returns its changes. The next entry, if any, is titled `next`.
    fn end_entry(&mut self, _next: &str) -> Option<Changed> {
        None
    }

    /// Takes the refusals of a running command since the previous call.
    fn take_denied(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        Vec::new()
    }

    /// Handles the end of the command. Returns the refusals that this process and the launcher know
    /// of.
    fn close(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        Vec::new()
    }
}

/// Monitor without walls: it only serves intercepted calls.
pub(crate) struct WithoutWalls(BrokerSlot<'static>);

impl WithoutWalls {
    /// Creates a monitor with the interceptor of network calls, if any.
    pub(crate) fn new(interceptor: Option<Interceptor>) -> Self {
        Self(BrokerSlot::new(interceptor, None))
    }
}

impl Monitor for WithoutWalls {
    fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.0.waits_for()
    }

    fn serve(&mut self, states: [PollFlags; 2]) {
        self.0.serve(states);
    }

    fn take(&mut self, from_program: OwnedFd) {
        self.0.begin(Broker::new(
            from_program,
            Vec::new(),
            Vec::new(),
            Vec::new(),
        ));
    }

    fn has_to_look(&self) -> bool {
        self.0.has_to_look()
    }

    fn look(&mut self) {
        self.0.look();
    }

    fn close(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        self.0.end();
        Vec::new()
    }
}

/// Broker of a command, once the program has handed over its listener.
struct BrokerSlot<'a> {
    broker: Option<Broker>,
    /// Kept here until there is a broker.
    interceptor: Option<Interceptor>,
    journal: Option<CommandJournal<'a>>,
}

impl<'a> BrokerSlot<'a> {
    fn new(interceptor: Option<Interceptor>, journal: Option<CommandJournal<'a>>) -> Self {
        Self {
            broker: None,
            interceptor,
            journal,
        }
    }

    fn begin(&mut self, broker: Broker) {
        self.broker = Some(match self.interceptor.take() {
            Some(interceptor) => broker.with_interceptor(interceptor),
            None => broker,
        });
    }

    fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.broker
            .as_ref()
            .filter(|broker| !broker.is_over())
            .map_or([None; 2], Broker::waits_for)
    }

    fn serve(&mut self, states: [PollFlags; 2]) {
        // A failing listener is closed, and the pending calls fail.
        if self
            .broker
            .as_mut()
            .is_some_and(|broker| broker.serve(states, &mut self.journal).is_err())
        {
            self.broker = None;
        }
    }

    /// Takes the refusals that this process knows of.
    fn take_denied(&mut self) -> Vec<Denied> {
        let mut denied = self
            .broker
            .as_mut()
            .map(Broker::take_denied)
            .unwrap_or_default();
        let mut read_only = self
            .journal
            .as_mut()
            .map(CommandJournal::take_read_only)
            .unwrap_or_default();
        let has_answered = |path: &Path| {
            self.broker
                .as_ref()
                .is_some_and(|broker| broker.has_answered(path))
        };
        read_only.retain(
            |denied| !matches!(denied, Denied::ReadOnly(path) if has_answered(path.as_path())),
        );
        denied.extend(read_only);
        denied
    }

    fn end_entry(&mut self, next: &str) -> Option<Changed> {
        self.journal
            .as_mut()
            .and_then(|journal| journal.end_entry(next))
    }

    fn has_to_look(&self) -> bool {
        self.broker.as_ref().is_some_and(Broker::has_to_look)
    }

    fn look(&mut self) {
        if let Some(broker) = &mut self.broker {
            broker.look();
        }
    }

    fn end(&mut self) {
        if let Some(broker) = &mut self.broker {
            broker.end();
        }
    }
}

/// Rules for the names that a command in its own root creates, opens and moves.
pub(crate) struct NamingRules {
    pub hide: Option<Arc<Hide>>,
    pub places: Places,
    /// Line to the launcher, if any.
    pub line: Option<Rc<SupervisorLine>>,
    /// Names of threads, if the command writes them.
    pub thread_names: Option<ThreadNames>,
}

/// Monitor of a command in its own root: mounts enforce read-only paths, and the broker handles the
/// rest.
pub(crate) struct InView<'a> {
    /// Kernel counters of packets without a route, for all commands, and their value when this
    /// command began.
    refused: Option<(&'a RouteCounters, u64)>,
    broker: BrokerSlot<'a>,
    naming: NamingRules,
    /// Unix sockets that it may connect to, if it may make unix sockets.
    socket_files: Option<(Arc<SocketFiles>, Owner)>,
}

impl<'a> InView<'a> {
    /// Records the counters' values; uses `before` if it is already known.
    pub(crate) fn new(
        counters: Option<&'a RouteCounters>,
        before: Option<u64>,
        interceptor: Option<Interceptor>,
        journal: Option<CommandJournal<'a>>,
        naming: NamingRules,
        socket_files: Option<(Arc<SocketFiles>, Owner)>,
    ) -> Self {
        let refused =
            counters.and_then(|counters| Some((counters, before.or_else(|| counters.refused())?)));
        Self {
            refused,
            broker: BrokerSlot::new(interceptor, journal),
            naming,
            socket_files,
        }
    }
}

impl Monitor for InView<'_> {
    fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.broker.waits_for()
    }

    fn serve(&mut self, states: [PollFlags; 2]) {
        self.broker.serve(states);
    }

    fn take(&mut self, from_program: OwnedFd) {
        let NamingRules {
            hide,
            places,
            line,
            thread_names,
        } = &mut self.naming;
        let broker = Broker::in_view(from_program, hide.clone(), mem::take(places), line.clone());
        let sockets = self.socket_files.clone();
        let sockets = sockets.map(|(files, owner)| UnixSockets::new(files, owner));
        let broker = broker.naming_threads(thread_names.take());
        self.broker.begin(broker.with_unix_sockets(sockets));
    }

    fn has_to_look(&self) -> bool {
        self.broker.has_to_look()
    }

    fn look(&mut self) {
        self.broker.look();
    }

    fn end_entry(&mut self, next: &str) -> Option<Changed> {
        self.broker.end_entry(next)
    }

    fn take_denied(&mut self, line: Option<&SupervisorLine>) -> Vec<Denied> {
        self.denied(line.map(|line| || line.account()))
    }

    fn close(&mut self, line: Option<&SupervisorLine>) -> Vec<Denied> {
        self.broker.look();
        self.broker.end();
        self.denied(line.map(|line| || line.report_end()))
    }
}

impl InView<'_> {
    /// Takes the refusals, including those that the launcher knows of.
    fn denied(&mut self, account: Option<impl FnOnce() -> Account>) -> Vec<Denied> {
        // Counters first: a command that begins now is not to blame.
        let counted = self.refused.as_mut().is_some_and(|(counters, before)| {
            let now = counters.refused().unwrap_or(*before);
            std::mem::replace(before, now) < now
        });
        let account = account.map(|account| account()).unwrap_or_default();
        let mut denied = self.broker.take_denied();
        denied.extend(account.appeared.into_iter().map(Denied::Protected));
        if counted {
            denied.push(if account.was_alone {
                Denied::Network
            } else {
                Denied::NetworkOfSome
            });
        }
        denied
    }
}

/// Monitor of a command on the system's own root: the broker performs its permitted metadata
/// changes and reads of attributes.
pub(crate) struct OnSystem<'a> {
    broker: BrokerSlot<'a>,
    writable: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    naming: NamingRules,
}

impl<'a> OnSystem<'a> {
    /// Creates a monitor that permits metadata changes below `writable` but not below `protected`,
    /// and reads of attributes below `readable`.
    pub(crate) fn new(
        writable: Vec<PathBuf>,
        protected: Vec<PathBuf>,
        readable: Vec<PathBuf>,
        naming: NamingRules,
        interceptor: Option<Interceptor>,
        journal: Option<CommandJournal<'a>>,
    ) -> Self {
        Self {
            broker: BrokerSlot::new(interceptor, journal),
            writable,
            protected,
            readable,
            naming,
        }
    }
}

impl Monitor for OnSystem<'_> {
    fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.broker.waits_for()
    }

    fn serve(&mut self, states: [PollFlags; 2]) {
        self.broker.serve(states);
    }

    fn take(&mut self, from_program: OwnedFd) {
        let (writable, protected, readable) = (
            self.writable.clone(),
            self.protected.clone(),
            self.readable.clone(),
        );
        let broker = Broker::new(from_program, writable, protected, readable);
        let broker = broker.naming(mem::take(&mut self.naming.places));
        self.broker
            .begin(broker.naming_threads(self.naming.thread_names.take()));
    }

    fn has_to_look(&self) -> bool {
        self.broker.has_to_look()
    }

    fn look(&mut self) {
        self.broker.look();
    }

    fn end_entry(&mut self, next: &str) -> Option<Changed> {
        self.broker.end_entry(next)
    }

    fn take_denied(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        self.broker.take_denied()
    }

    fn close(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        self.broker.end();
        self.broker.take_denied()
    }
}
