//! Playing the server's part of one connection: bytes are cut into messages and handed to the protocol, which answers each
//! from recordings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use crate::limits::{MAX_DIFFERENCES, MAX_SHOWN_QUESTION_CHARS, MAX_WIRE_CONNECTION_BYTES, MAX_WIRE_MESSAGE_BYTES};
use crate::record::call::{Content, Exchange, Link, Message, Protocol, Side, Wire};
use crate::record::protocol::dialogue::{Fault, Inbox};
use crate::record::protocol::script::{Script, Who};
use crate::record::protocol::wire::{PlayStep, Player};

/// One protocol, as a server plays it.
pub(in crate::record) trait Role: Send {
    /// Where it takes its answers from.
    fn prompter(&self) -> &Prompter;
    /// What it says before it was asked anything.
    fn open(&mut self) -> Vec<PlayStep> {
        Vec::new()
    }
    /// How many bytes the first message has; `None` as long as that is not known.
    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault>;
    /// A whole message. Nothing that comes after a [`PlayStep::Close`] is read.
    fn message(&mut self, bytes: Vec<u8>) -> Result<Vec<PlayStep>, Fault>;
    /// Bytes that it keeps.
    fn kept(&self) -> usize;
    /// Whether it has something to say unasked, once the program says nothing.
    fn waits(&self) -> bool {
        false
    }
    /// What that is.
    fn pause(&mut self) -> Vec<PlayStep> {
        Vec::new()
    }
    /// What it says to something that it cannot read, before it closes the connection.
    fn refuse(&mut self, fault: Fault) -> Vec<u8>;
}

/// Where a role takes its answers from.
pub(in crate::record) struct Prompter {
    pub(in crate::record) link: Link,
    pub(in crate::record) protocol: Protocol,
    pub(in crate::record) script: Box<dyn Script>,
}

impl Prompter {
    /// The recording that answers these messages, or what is to be said in an error.
    pub(in crate::record) fn ask<'a>(
        &mut self,
        questions: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Arc<Exchange>, String> {
        self.ask_or(questions, |_| None)
    }

    /// The same of what may need no recording: `plain` gives the answer then, and is told whether a transaction is open.
    pub(in crate::record) fn ask_or<'a>(
        &mut self,
        questions: impl IntoIterator<Item = &'a [u8]>,
        plain: impl Fn(bool) -> Option<Vec<Vec<u8>>>,
    ) -> Result<Arc<Exchange>, String> {
        let found = self.script.ask(self.call(questions), &plain);
        found.map_err(|asked| format!("no recording answers this call: {}", shown(&asked)))
    }

    /// The recording that would answer these messages. It is not taken out.
    pub(in crate::record) fn peek<'a>(&self, questions: impl IntoIterator<Item = &'a [u8]>) -> Option<Arc<Exchange>> {
        self.script.peek(&self.call(questions))
    }

    fn call<'a>(&self, questions: impl IntoIterator<Item = &'a [u8]>) -> Exchange {
        let message = |bytes: &[u8]| Message { from: Side::Client, bytes: bytes.to_vec() };
        let messages = questions.into_iter().map(message).collect();
        let (wire, never) = (Wire { messages, session: false }, SystemTime::UNIX_EPOCH);
        self.link.exchange(Content::Wire(self.protocol, wire), never, never)
    }

    /// Recordings of this target that belong to connections.
    pub(in crate::record) fn sessions(&self) -> Vec<Arc<Exchange>> {
        self.script.sessions(&self.link.target, self.protocol)
    }

    /// The recording of a login: the same one in its turn, or else the first of the same user and database; or what is to be said
    /// in an error. `of` reads who a recording lets in.
    pub(in crate::record) fn login(
        &mut self,
        question: &[u8],
        who: &Who,
        of: impl Fn(&Exchange) -> Option<Who>,
    ) -> Result<Arc<Exchange>, String> {
        if self.peek([question]).is_some() {
            return self.ask([question]);
        }
        let is_same = |found: &Arc<Exchange>| of(found).is_some_and(|known| known.is_same(who));
        if let Some(found) = self.sessions().into_iter().find(is_same) {
            self.script.logged_in();
            return Ok(found);
        }
        let readable = |bytes: &[u8]| shown(&String::from_utf8_lossy(bytes));
        let named = |what: &str, name: &[u8]| {
            if name.is_empty() { format!("no {what}") } else { format!("{what} `{}`", readable(name)) }
        };
        let logins = self.script.logins(self.protocol);
        let known = logins.iter().filter_map(|found| {
            let Who { user, database, .. } = of(found)?;
            Some(format!("`{}@{}/{}`", readable(&user), found.target, readable(&database)))
        });
        let known: Vec<String> = known.collect::<BTreeSet<_>>().into_iter().collect();
        let more = known.len().saturating_sub(MAX_DIFFERENCES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let known = known[..known.len().min(MAX_DIFFERENCES)].join(", ");
        let text = format!(
            "no recording has a connection of {} to {}; recorded: {known}{more}; give the program the address that it was \
             recorded with (its variable, such as DATABASE_URL)",
            named("user", &who.user),
            named("database", &who.database)
        );
        self.script.missed_login(&self.link.target, &text);
        Err(text)
    }
}

/// A text for one line of an error, without control characters.
fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_SHOWN_QUESTION_CHARS).collect();
    if text.chars().nth(MAX_SHOWN_QUESTION_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// What one side said in a recording.
pub(in crate::record) fn said(exchange: &Exchange, by: Side) -> impl DoubleEndedIterator<Item = &[u8]> {
    let wire = if let Content::Wire(_, wire) = &exchange.content { Some(wire) } else { None };
    wire.into_iter().flat_map(move |wire| wire.said(by))
}

/// A [`Player`] of any [`Role`].
pub(in crate::record) struct Play<R> {
    role: R,
    inbox: Inbox,
    closed: bool,
    /// Whether nothing is said any more. What the program says is still looked up, since it said it when it was recorded.
    held: bool,
}

impl<R: Role> Play<R> {
    pub(in crate::record) fn new(role: R) -> Self {
        Self { role, inbox: Inbox::default(), closed: false, held: false }
    }

    fn play(&mut self, steps: &mut Vec<PlayStep>) -> Result<(), Fault> {
        while !self.closed && !self.inbox.rest().is_empty() {
            let rest = self.inbox.rest();
            let length = self.role.length(rest)?;
            if length.unwrap_or(rest.len()) > MAX_WIRE_MESSAGE_BYTES {
                return Err("a message is longer than 64 MiB");
            }
            let Some(length) = length.filter(|length| *length <= rest.len()) else { break };
            let bytes = self.inbox.cut(length);
            for step in self.role.message(bytes)? {
                if self.held {
                    continue;
                }
                self.held = step == PlayStep::Hold;
                match (step, steps.last_mut()) {
                    (PlayStep::UntilMore(_), _) if !self.inbox.rest().is_empty() => {}
                    (PlayStep::Send(more), _) if more.is_empty() => {}
                    (PlayStep::Send(more), Some(PlayStep::Send(bytes))) => bytes.extend(more),
                    (PlayStep::StartTls { .. }, _) => {
                        let early = self.inbox.rest().to_vec();
                        self.inbox.clear();
                        steps.push(PlayStep::StartTls { early });
                    }
                    (step, _) => steps.push(step),
                }
            }
            self.closed = steps.last() == Some(&PlayStep::Close);
            if self.role.kept() + self.role.prompter().script.kept() > MAX_WIRE_CONNECTION_BYTES {
                return Err("more than 128 MiB wait for their answers");
            }
        }
        Ok(())
    }
}

impl<R: Role> Player for Play<R> {
    fn open(&mut self) -> Vec<PlayStep> {
        let steps = self.role.open();
        self.closed = steps.last() == Some(&PlayStep::Close);
        steps
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<PlayStep> {
        let mut steps = Vec::new();
        if self.closed {
            return steps;
        }
        self.inbox.push(bytes);
        if let Err(fault) = self.play(&mut steps) {
            self.closed = true;
            let prompter = self.role.prompter();
            prompter.script.missed(&prompter.link.target, fault);
            let refusal = self.role.refuse(fault);
            if !refusal.is_empty() {
                steps.push(PlayStep::Send(refusal));
            }
            steps.push(PlayStep::Close);
        }
        if self.closed {
            self.inbox.clear();
        }
        steps
    }

    fn waits(&self) -> bool {
        !self.closed && !self.held && self.role.waits()
    }

    fn pause(&mut self) -> Vec<PlayStep> {
        self.role.pause()
    }

    fn kept(&self) -> usize {
        self.role.kept() + self.role.prompter().script.kept() + self.inbox.len()
    }
}
