//! A connection to `PostgreSQL`, as it is recorded.

mod copied;

use std::collections::VecDeque;
use std::time::SystemTime;

use super::message::{self, Opening};
use super::names::{Names, Part};
use super::unasked::NOTIFICATION;
use crate::record::call::{Link, Protocol, Side};
use crate::record::protocol::dialogue::{Dialogue, Draft, Fault, Way, unanswered};
use crate::record::protocol::wire::RecordStep;
use copied::{copy_of, has_ended};

/// How far the connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client has not said who it is, and may ask for encryption, which is relayed or not.
    Opening { relay_tls: bool },
    /// The server is to say in one byte whether it encrypts.
    Encryption,
    /// The client wants to cancel something of another connection.
    Cancel,
    /// Authentication, up to the first `ReadyForQuery`.
    Startup,
    /// Calls.
    Calls,
}

/// What the server is to answer next.
enum Slot {
    /// `Parse` or `Describe`: one message (two for a statement's `Describe`).
    Prepare(Draft),
    /// `Bind`: one message.
    Bind(Draft),
    /// `Execute` of the portal that was bound before it.
    Joined(Vec<u8>),
    /// `Execute`, up to its end, or a `Query`, up to `ReadyForQuery`: whether it is one.
    Run(Draft, bool),
    /// `Close`: one message.
    Close,
    /// `Sync`: `ReadyForQuery`.
    Sync,
    /// What comes after data was copied in; whether it was a `Query` that asked for it.
    Copied(Draft, bool),
}

impl Slot {
    fn size(&self) -> usize {
        let inside = match self {
            Self::Prepare(draft) | Self::Bind(draft) | Self::Run(draft, _) | Self::Copied(draft, _) => draft.size(),
            Self::Joined(question) => question.len(),
            Self::Close | Self::Sync => 0,
        };
        size_of::<Self>() + inside
    }
}

/// Makes calls of what is said to `PostgreSQL`.
pub(crate) struct Recording {
    link: Link,
    phase: Phase,
    names: Names,
    startup: Option<Draft>,
    slots: VecDeque<Slot>,
    /// A `Bind` that was answered, and whose `Execute` may follow.
    bound: Option<Draft>,
    /// Calls that are complete up to `ReadyForQuery`.
    done: Vec<Draft>,
    /// Data that is copied in.
    data: Vec<u8>,
    /// The server ignores everything up to the next `Sync`, after an error.
    skipping: bool,
    /// A `Bind` failed before the `Execute` came with which it is looked up.
    failed_bind: bool,
    /// What came without a question: it goes with the next call.
    unasked: Vec<Vec<u8>>,
    /// Whether it listens to channels.
    listens: bool,
    /// Its last call, if it does, and when it was answered. What comes unasked belongs to it.
    last: Option<(Draft, SystemTime)>,
}

impl Recording {
    pub(crate) fn new(link: Link, relay_tls: bool) -> Self {
        Self {
            link,
            phase: Phase::Opening { relay_tls },
            names: Names::default(),
            startup: None,
            slots: VecDeque::new(),
            bound: None,
            done: Vec::new(),
            data: Vec::new(),
            skipping: false,
            failed_bind: false,
            unasked: Vec::new(),
            listens: false,
            last: None,
        }
    }

    fn opening(&mut self, bytes: Vec<u8>, relay_tls: bool, at: SystemTime) -> Result<Way, Fault> {
        match message::opening(&bytes)? {
            Opening::Encryption if relay_tls && !self.link.tls => self.phase = Phase::Encryption,
            Opening::Encryption | Opening::Gss => return Ok(Way::Back(b"N".to_vec())),
            Opening::Cancel => self.phase = Phase::Cancel,
            Opening::Startup => {
                let mut draft = Draft::asked(bytes, at);
                draft.session = true;
                self.startup = Some(draft);
                self.phase = Phase::Startup;
            }
        }
        Ok(Way::On)
    }

    fn draft(&mut self, question: Vec<u8>, at: SystemTime) -> Draft {
        let mut draft = Draft::new(at);
        for message in self.unasked.drain(..) {
            draft.push(Side::Server, message);
        }
        draft.push(Side::Client, question);
        draft
    }

    fn asked(&mut self, part: Part, at: SystemTime) {
        match part {
            // While it waits for data the server ignores it.
            Part::Sync if self.copying() => return,
            Part::Sync => (self.skipping, self.failed_bind) = (false, false),
            Part::Terminate | Part::Flush => return,
            Part::Execute(ref question, true) if self.failed_bind => {
                self.failed_bind = false;
                if let Some(last) = self.done.last_mut() {
                    last.push(Side::Client, question.clone());
                }
                return;
            }
            _ if self.skipping => return,
            _ => {}
        }
        let slot = match part {
            Part::Query(question) => Slot::Run(self.draft(question, at), true),
            Part::Prepare(question) | Part::DescribePortal(question, _) => {
                let mut draft = Draft::asked(question, at);
                draft.session = true;
                Slot::Prepare(draft)
            }
            Part::Bind(question) => Slot::Bind(self.draft(question, at)),
            Part::Execute(question, true) => Slot::Joined(question),
            Part::Execute(question, false) => Slot::Run(self.draft(question, at), false),
            Part::Close => Slot::Close,
            Part::Sync => Slot::Sync,
            Part::CopyData(data) => return self.data.extend(data),
            Part::CopyEnd(end) => return self.copied_in(end),
            Part::Flush | Part::Terminate => return,
        };
        self.slots.push_back(slot);
    }

    fn answered(&mut self, bytes: Vec<u8>, at: SystemTime, made: &mut Vec<RecordStep>) -> Result<(), Fault> {
        let kind = bytes[0];
        if kind == b'W' {
            return Err("it became a stream of another kind (replication)");
        }
        // A run without `Execute` ends with what is answered after it.
        let goes_on = matches!(self.slots.front(), None | Some(Slot::Joined(_) | Slot::Prepare(_)));
        if !goes_on && let Some(mut alone) = self.bound.take() {
            alone.session = true;
            self.done.push(alone);
        }
        let asynchronous = matches!(kind, b'N' | b'A' | b'S');
        let Some(slot) = self.slots.pop_front() else {
            if !asynchronous && kind != b'E' {
                return Err("PostgreSQL answered something that was not asked");
            }
            self.came_unasked(bytes);
            return Ok(());
        };
        if asynchronous && matches!(slot, Slot::Prepare(_) | Slot::Bind(_) | Slot::Close | Slot::Sync) {
            match self.done.last_mut().filter(|last| !last.session) {
                Some(last) => last.push(Side::Server, bytes),
                None => self.unasked.push(bytes),
            }
            self.slots.push_front(slot);
            return Ok(());
        }
        let simple = matches!(slot, Slot::Run(_, true) | Slot::Copied(_, true));
        match slot {
            Slot::Prepare(mut draft) => {
                draft.push(Side::Server, bytes);
                // A statement's parameters come before its columns.
                match kind {
                    b't' => self.slots.push_front(Slot::Prepare(draft)),
                    _ => self.done.push(draft),
                }
            }
            Slot::Bind(mut draft) => {
                draft.push(Side::Server, bytes);
                match kind {
                    b'E' => self.failed_run(draft),
                    _ => self.bound = Some(draft),
                }
            }
            Slot::Joined(question) => {
                let mut draft = self.bound.take().unwrap_or_else(|| Draft::new(at));
                draft.push(Side::Client, question);
                self.answered_on(draft, false, bytes);
            }
            Slot::Run(draft, simple) => self.answered_on(draft, simple, bytes),
            Slot::Close => {}
            Slot::Sync => {
                // What is no `ReadyForQuery` says that what was deferred to the end of the transaction failed.
                if let Some(last) = self.done.iter_mut().rev().find(|draft| !draft.session) {
                    last.push(Side::Server, bytes);
                }
                if kind != b'Z' {
                    self.slots.push_front(Slot::Sync);
                    return Ok(());
                }
            }
            Slot::Copied(mut draft, simple) => {
                draft.push(Side::Server, bytes);
                match kind {
                    b'Z' => self.copied(draft, made),
                    b'C' | b'E' if !simple => self.copied(draft, made),
                    _ => self.slots.push_front(Slot::Copied(draft, simple)),
                }
            }
        }
        if kind == b'Z' {
            self.emit(at, made);
        }
        if kind == b'E' && !simple {
            self.skip();
        }
        Ok(())
    }

    /// A notification belongs to the call before it, and all else to the one that comes next.
    fn came_unasked(&mut self, bytes: Vec<u8>) {
        match &mut self.last {
            Some((last, _)) if bytes.first() == Some(&NOTIFICATION) => last.push(Side::Server, bytes),
            _ => self.unasked.push(bytes),
        }
    }

    /// Nothing more belongs to the last call.
    fn release(&mut self, made: &mut Vec<RecordStep>) {
        let last = self.last.take();
        made.extend(last.map(|(draft, at)| draft.finish(&self.link, Protocol::Postgres, at)));
    }

    /// A `Bind` that failed: looked up together with its `Execute`.
    fn failed_run(&mut self, mut draft: Draft) {
        while let Some(slot) = self.slots.front() {
            match slot {
                Slot::Joined(question) => {
                    draft.push(Side::Client, question.clone());
                    self.done.push(draft);
                    return;
                }
                Slot::Prepare(_) => {
                    self.slots.pop_front();
                }
                _ => break,
            }
        }
        self.failed_bind = self.slots.is_empty();
        self.done.push(draft);
    }

    /// A message of the answer to an `Execute` or a `Query`.
    fn answered_on(&mut self, mut draft: Draft, simple: bool, bytes: Vec<u8>) {
        let kind = bytes[0];
        draft.push(Side::Server, bytes);
        match kind {
            b'Z' => self.done.push(draft),
            b'C' | b'E' | b's' | b'I' if !simple => self.done.push(draft),
            b'G' => {
                let next = copy_of(&draft);
                self.done.push(draft);
                // The server ignores a `Sync` while it waits for data.
                while let Some(Slot::Sync) = self.slots.front().filter(|_| !simple) {
                    self.slots.pop_front();
                }
                self.slots.push_front(Slot::Copied(next, simple));
            }
            _ => self.slots.push_front(Slot::Run(draft, simple)),
        }
    }

    /// After an error everything up to the next `Sync` is ignored.
    fn skip(&mut self) {
        let sync = self.slots.iter().position(|slot| matches!(slot, Slot::Sync));
        self.slots.drain(..sync.unwrap_or(self.slots.len()));
        self.skipping |= sync.is_none();
    }

    fn emit(&mut self, at: SystemTime, made: &mut Vec<RecordStep>) {
        for draft in &mut self.done {
            draft.session |= message::only_sets(draft.said(Side::Server).map(Vec::as_slice));
            self.listens |= draft.said(Side::Server).any(|message| message::tag_of(message) == Some(b"LISTEN"));
        }
        let is_ready = |draft: &mut Draft| draft.said(Side::Server).next_back().is_some_and(|last| last[0] == b'Z');
        let last = if self.listens && self.slots.is_empty() { self.done.pop_if(is_ready) } else { None };
        let done = self.done.drain(..).map(|draft| draft.finish(&self.link, Protocol::Postgres, at));
        made.extend(done);
        self.last = last.map(|draft| (draft, at));
    }

    /// A call whose answer was not whole when the connection ended.
    fn left(&self, draft: Draft, by: Side, at: SystemTime, made: &mut Vec<RecordStep>) {
        // Nobody misses the answer to what only prepares, unless it waited for it.
        if by == Side::Server && draft.session {
            return;
        }
        made.push(draft.left(by, &self.link, Protocol::Postgres, at));
    }

    fn started(&mut self, bytes: Vec<u8>, at: SystemTime, made: &mut Vec<RecordStep>) {
        let ready = matches!(bytes[0], b'Z' | b'E');
        if let Some(draft) = self.startup.as_mut().filter(|_| !message::is_challenge(&bytes)) {
            draft.push(Side::Server, bytes);
        }
        if ready {
            self.phase = Phase::Calls;
            made.extend(self.startup.take().map(|draft| draft.finish(&self.link, Protocol::Postgres, at)));
        }
    }
}

impl Dialogue for Recording {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        match (self.phase, from) {
            (Phase::Opening { .. }, Side::Client) => message::opening_length(bytes),
            (Phase::Encryption, Side::Server) => Ok(Some(1)),
            (Phase::Encryption, Side::Client) => Err("a client of PostgreSQL did not wait to be told about encryption"),
            // A server that has no room for one more connection says so at once.
            (Phase::Startup | Phase::Calls, _) | (Phase::Opening { .. }, Side::Server) => message::length(bytes),
            (Phase::Cancel, _) => Ok(Some(bytes.len())),
        }
    }

    fn holds(&self, _from: Side) -> bool {
        matches!(self.phase, Phase::Opening { .. } | Phase::Encryption)
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        at: SystemTime,
        made: &mut Vec<RecordStep>,
    ) -> Result<Way, Fault> {
        match (self.phase, from) {
            (Phase::Opening { relay_tls }, Side::Client) => return self.opening(bytes, relay_tls, at),
            (Phase::Opening { .. }, Side::Server) | (Phase::Startup, Side::Client) | (Phase::Cancel, _) => {}
            (Phase::Encryption, _) => {
                self.phase = Phase::Opening { relay_tls: false };
                if bytes == b"S" {
                    self.link.tls = true;
                    return Ok(Way::Encrypt);
                }
            }
            (Phase::Startup, Side::Server) => self.started(bytes, at, made),
            // The server ignores them.
            (Phase::Calls, Side::Client) if self.skipping && matches!(bytes[0], b'P' | b'C') => {}
            (Phase::Calls, Side::Client) => {
                self.release(made);
                let part = self.names.read(&bytes)?;
                self.asked(part, at);
            }
            (Phase::Calls, Side::Server) => {
                let answered = self.answered(bytes, at, made);
                if answered.is_err() {
                    self.release(made);
                }
                answered?;
            }
        }
        Ok(Way::On)
    }

    fn kept(&self) -> usize {
        let drafts =
            self.done.iter().chain(&self.bound).chain(&self.startup).chain(self.last.iter().map(|(last, _)| last));
        let unasked = self.unasked.iter().map(Vec::len).sum::<usize>() + self.data.len();
        unasked + self.names.kept() + self.slots.iter().map(Slot::size).chain(drafts.map(Draft::size)).sum::<usize>()
    }

    fn end(&mut self, by: Side, at: SystemTime, made: &mut Vec<RecordStep>) {
        self.release(made);
        self.listens = false;
        if self.slots.is_empty() && self.unasked.iter().any(|message| message.first() == Some(&NOTIFICATION)) {
            let target = &self.link.target;
            made.push(RecordStep::Lost(format!("a notification of `{target}`: nothing was asked after it")));
        }
        let mut slots = std::mem::take(&mut self.slots).into_iter().peekable();
        let mut bound = self.bound.take();
        if !matches!(slots.peek(), Some(Slot::Joined(_) | Slot::Prepare(_))) {
            self.done.extend(bound.take());
        }
        self.emit(at, made);
        for slot in slots {
            let draft = match slot {
                Slot::Bind(draft) => {
                    // Its `Execute` comes next, if there is one.
                    bound = Some(draft);
                    continue;
                }
                Slot::Joined(question) => {
                    let mut draft = bound.take().unwrap_or_else(|| Draft::new(at));
                    draft.push(Side::Client, question);
                    draft
                }
                Slot::Copied(draft, _) if !has_ended(&draft) => {
                    made.push(unanswered(&self.link));
                    continue;
                }
                Slot::Prepare(draft) | Slot::Run(draft, _) | Slot::Copied(draft, _) => draft,
                Slot::Close | Slot::Sync => continue,
            };
            self.left(draft, by, at, made);
        }
        if let Some(draft) = bound {
            self.left(draft, by, at, made);
        }
    }
}
