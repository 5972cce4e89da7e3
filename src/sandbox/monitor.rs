//! What a supervisor does for its command while the command runs, in each of the three ways to hold
//! it.

use std::mem;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use rustix::event::PollFlags;

use super::broker::Broker;
use super::denied::Denied;
use super::intercept::Interceptor;
use super::journaling::CommandJournal;
use super::opens::Places;
use super::route_counters::RouteCounters;
use super::supervisor_table::{Account, SupervisorLine};
use super::unix_sockets::{Owner, SocketFiles, UnixSockets};
use super::wire::Changed;
use crate::hide::Hide;

/// What the walls of one command need while it runs. Nothing, unless they say otherwise.
pub trait Monitor {
    /// Descriptors to wait for, beside the supervisor's own.
    fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [None; 2]
    }

    /// Does what the descriptors are ready for.
    fn serve(&mut self, _states: [PollFlags; 2]) {}

    /// Takes the descriptor that came from the program's side of the walls.
    fn take(&mut self, _from_program: OwnedFd) {}

    /// Whether [`Monitor::look`] has work to do now and then.
    fn has_to_look(&self) -> bool {
        false
    }

    /// Looks whether the command has done what nothing tells about.
    fn look(&mut self) {}

    /// Ends the entry of the journal; the next one, if any, is called `next`. What was changed.
    fn end_entry(&mut self, _next: &str) -> Option<Changed> {
        None
    }

    /// Takes the refusals since this was asked before, of a command that goes on.
    fn take_denied(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        Vec::new()
    }

    /// The command is over. Returns what the walls refused to it, as far as this process and the
    /// launcher know.
    fn close(&mut self, _line: Option<&SupervisorLine>) -> Vec<Denied> {
        Vec::new()
    }
}

/// No wall: nothing to serve but what is intercepted, and nothing to tell.
pub struct Bare(Served<'static>);

impl Bare {
    /// With somebody who serves the calls over the network, if they are intercepted.
    pub fn new(interceptor: Option<Interceptor>) -> Self {
        Self(Served::new(interceptor, None))
    }
}

impl Monitor for Bare {
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

/// The broker of a command, once the program has handed its listener over.
struct Served<'a> {
    broker: Option<Broker>,
    /// Until there is a broker.
    interceptor: Option<Interceptor>,
    journal: Option<CommandJournal<'a>>,
}

impl<'a> Served<'a> {
    fn new(interceptor: Option<Interceptor>, journal: Option<CommandJournal<'a>>) -> Self {
        Self {
            broker: None,
            interceptor,
            journal,
        }
    }

    fn begin(&mut self, broker: Broker) {
        self.broker = Some(match self.interceptor.take() {
            Some(interceptor) => broker.with(interceptor),
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
        // A listener that fails is closed: the calls that wait for it fail in their turn.
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

/// A command in its own root: mounts hold what it may change, but for what a filter cannot tell by
/// itself.
pub struct InView<'a> {
    /// The kernel's count of ways out that were not there, for all commands, and how far it was
    /// when this one began.
    refused: Option<(&'a RouteCounters, u64)>,
    broker: Served<'a>,
    hide: Option<Arc<Hide>>,
    places: Places,
    line: Option<Rc<SupervisorLine>>,
    /// Sockets that it may connect to, if it may make unix sockets.
    socket_files: Option<(Arc<SocketFiles>, Owner)>,
}

impl<'a> InView<'a> {
    /// Remembers how far the counters are; `before`, if that is known already.
    pub fn new(
        counters: Option<&'a RouteCounters>,
        before: Option<u64>,
        interceptor: Option<Interceptor>,
        journal: Option<CommandJournal<'a>>,
        (hide, places, line): (Option<Arc<Hide>>, Places, Option<Rc<SupervisorLine>>),
        socket_files: Option<(Arc<SocketFiles>, Owner)>,
    ) -> Self {
        let refused =
            counters.and_then(|counters| Some((counters, before.or_else(|| counters.refused())?)));
        Self {
            refused,
            broker: Served::new(interceptor, journal),
            hide,
            places,
            line,
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
        let places = mem::take(&mut self.places);
        let broker = Broker::in_view(from_program, self.hide.clone(), places, self.line.clone());
        self.broker
            .begin(broker.with_unix_sockets(self.socket_files.clone().map(UnixSockets::new)));
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
        self.denied(line.map(|line| || line.over()))
    }
}

impl InView<'_> {
    /// Takes the refusals, with those that the launcher knows of.
    fn denied(&mut self, account: Option<impl FnOnce() -> Account>) -> Vec<Denied> {
        // First what was counted: a command that begins now is not the one that did it.
        let counted = self.refused.as_mut().is_some_and(|(counters, before)| {
            let now = counters.refused().unwrap_or(*before);
            std::mem::replace(before, now) < now
        });
        let account = account.map(|account| account()).unwrap_or_default();
        let mut denied = self.broker.take_denied();
        denied.extend(account.appeared.into_iter().map(Denied::Protected));
        if counted && account.was_alone {
            denied.push(Denied::Network);
        }
        denied
    }
}

/// A command on the system's own root: its changes of metadata are made for it, where they may be
/// made, and attributes read for it where it may read.
pub struct OnSystem<'a> {
    broker: Served<'a>,
    writable: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    places: Places,
}

impl<'a> OnSystem<'a> {
    /// Metadata may be changed below `writable`, but not below `protected`, and attributes read
    /// below `readable`.
    pub fn new(
        writable: Vec<PathBuf>,
        protected: Vec<PathBuf>,
        readable: Vec<PathBuf>,
        places: Places,
        interceptor: Option<Interceptor>,
        journal: Option<CommandJournal<'a>>,
    ) -> Self {
        Self {
            broker: Served::new(interceptor, journal),
            writable,
            protected,
            readable,
            places,
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
        self.broker
            .begin(broker.naming(mem::take(&mut self.places)));
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
