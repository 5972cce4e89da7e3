//! Player of one server connection: splits bytes into messages and passes them to the protocol,
//! which answers each from recordings.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use replay_base::limits::{MAX_DIFFERENCES, MAX_SHOWN_QUESTION_CHARS, MAX_WIRE_CONNECTION_BYTES};

use crate::call::{Content, Exchange, Link, Protocol, Side, Wire};
use crate::net::sniff;
use crate::protocol::dialogue::{Fault, Inbox};
use crate::protocol::script::{Identity, Push, Script};
use crate::protocol::wire::{PlayStep, WirePlayer};

/// Time for which a connection stays open after a missed call, in milliseconds. Some programs
/// connect again at once, without end.
pub(crate) const MISS_LINGER_MS: u64 = 200;

pub(crate) trait Responder: Send {
    /// Returns the greeting before any request.
    fn open(&mut self, _prompter: &mut Prompter) -> Vec<u8> {
        Vec::new()
    }
    /// Returns true if a handshake of TLS may begin after any message.
    fn may_encrypt(&self) -> bool {
        false
    }
    /// Returns the length of the first message; `None` while it is unknown.
    fn length(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault>;
    fn message(&mut self, prompter: &mut Prompter, bytes: Vec<u8>) -> Result<Vec<u8>, Fault>;
    fn buffered_bytes(&self) -> usize {
        0
    }
    /// Returns the error for a malformed message; the connection closes after it.
    fn refuse(&self, fault: Fault) -> Vec<u8>;
}

/// Source of a responder's answers, and its actions besides sending.
pub(crate) struct Prompter {
    pub(crate) link: Link,
    pub(crate) protocol: Protocol,
    pub(crate) script: Box<dyn Script>,
    /// Maximum time that the next answer waits for more input from the program.
    pub(crate) until_more: Option<Duration>,
    /// Step after the next answer. Nothing after a [`PlayStep::Close`] is read.
    pub(crate) then: Option<PlayStep>,
    /// Messages sent unasked, in order.
    pub(crate) pushes: VecDeque<Push>,
    /// Messages that the server sent before the next answer.
    preceding: Vec<PlayStep>,
}

impl Prompter {
    pub(crate) fn new(link: Link, protocol: Protocol, script: Box<dyn Script>) -> Self {
        Self {
            link,
            protocol,
            script,
            until_more: None,
            then: None,
            pushes: VecDeque::new(),
            preceding: Vec::new(),
        }
    }

    /// Counts bytes that are no message that a recording could have.
    pub(crate) fn miss_malformed(&self, fault: Fault) {
        let what =
            format!("{fault}, which no recording can answer: change what the program sends there");
        self.script.missed_because(&self.link.target, &what);
    }

    pub(crate) fn encrypt(&mut self) {
        self.link.tls = true;
        self.then = Some(PlayStep::StartTls(Vec::new()));
    }

    /// Returns the recording that answers these messages, or the text of an error.
    pub(crate) fn ask(&mut self, questions: &[Vec<u8>]) -> Result<Arc<Exchange>, String> {
        self.ask_or(Wire::asking(questions.to_vec()), |_| None)
    }

    /// Like [`ask`](Self::ask), for calls that may need no recording: `plain` then returns the
    /// answer. Its argument is true inside a transaction.
    pub(crate) fn ask_or(
        &mut self,
        question: Wire,
        plain: impl Fn(bool) -> Option<Vec<Vec<u8>>>,
    ) -> Result<Arc<Exchange>, String> {
        let found = self.script.ask(self.call(question), &plain);
        let found = found
            .map_err(|asked| format!("no recording answers this call: {}", one_line(&asked)))?;
        if found.abandoned() {
            self.then = Some(PlayStep::Hold);
        }
        self.order_pushes(&found);
        Ok(found.without_pushes())
    }

    /// Queues the pushes of a call. Earlier ones that came before its answer keep their place.
    fn order_pushes(&mut self, found: &Exchange) {
        let is_before = |push: &mut Push| push.came <= found.answered_at;
        while let Some(push) = self.pushes.pop_front_if(is_before) {
            self.preceding.push(PlayStep::Push(push));
        }
        self.pushes.extend(self.script.pushes(found));
        self.pushes.make_contiguous().sort_by_key(|push| push.came);
    }

    /// Puts all queued pushes before the next answer.
    pub(crate) fn put_pushes_first(&mut self) {
        let pushes = self.pushes.drain(..).map(PlayStep::Push);
        self.preceding.extend(pushes);
    }

    /// Takes the messages that come before the next answer.
    pub(crate) fn take_preceding(&mut self) -> Vec<PlayStep> {
        std::mem::take(&mut self.preceding)
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        let pushes = self
            .pushes
            .iter()
            .map(|push| size_of_val(push) + push.bytes.len());
        self.script.buffered_bytes() + pushes.sum::<usize>()
    }

    /// Returns the recording that would answer this question, without using it up.
    pub(crate) fn peek(&self, question: &Wire) -> Option<Arc<Exchange>> {
        self.script.peek(&self.call(question.clone()))
    }

    fn call(&self, question: Wire) -> Exchange {
        let (content, never) = (
            Content::Wire(self.protocol, question),
            SystemTime::UNIX_EPOCH,
        );
        self.link.exchange(content, never, never)
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Exchange>> {
        self.script.sessions(&self.link.target, self.protocol)
    }

    /// Returns the recording of a login: the same one in its turn, or else the first of the same
    /// user and database. Fails with the text of an error, and closes the connection. `of` reads
    /// the identity from a recorded login.
    pub(crate) fn login(
        &mut self,
        question: &[u8],
        who: &Identity,
        of: impl Fn(&Exchange) -> Option<Identity>,
    ) -> Result<Arc<Exchange>, String> {
        let is_same =
            |known: Identity| (&known.user, &known.database) == (&who.user, &who.database);
        let asked = Wire::asking([question.to_vec()]);
        let found = if self.peek(&asked).is_some() {
            self.ask_or(asked, |_| None).ok()
        } else {
            self.sessions()
                .into_iter()
                .find(|found| of(found).is_some_and(is_same))
                .inspect(|_| self.script.logged_in())
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let readable = |bytes: &[u8]| one_line(&String::from_utf8_lossy(bytes));
        let named = |what: &str, name: &[u8]| {
            if name.is_empty() {
                format!("no {what}")
            } else {
                format!("{what} `{}`", readable(name))
            }
        };
        let logins = self.script.logins(self.protocol);
        let known = logins.iter().filter_map(|found| {
            let Identity { user, database, .. } = of(found)?;
            Some(format!(
                "`{}@{}/{}`",
                readable(&user),
                found.target,
                readable(&database)
            ))
        });
        let known: Vec<String> = known.collect::<BTreeSet<_>>().into_iter().collect();
        let more = known.len().saturating_sub(MAX_DIFFERENCES);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let known = known[..known.len().min(MAX_DIFFERENCES)].join(", ");
        let text = format!(
            "no connection of {} to {} was recorded; recorded: {known}{more}; give the program \
             the recorded address (its variable, such as DATABASE_URL)",
            named("user", &who.user),
            named("database", &who.database)
        );
        self.script.missed_because(&self.link.target, &text);
        self.then = Some(PlayStep::Close);
        Err(text)
    }
}

/// Formats a text for one line of an error, without control characters.
fn one_line(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_SHOWN_QUESTION_CHARS)
        .collect();
    if text.chars().nth(MAX_SHOWN_QUESTION_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the messages of one side in a recording.
pub(crate) fn messages_from(
    exchange: &Exchange,
    by: Side,
) -> impl DoubleEndedIterator<Item = &[u8]> {
    let wire = if let Content::Wire(_, wire) = &exchange.content {
        Some(wire)
    } else {
        None
    };
    wire.into_iter().flat_map(move |wire| wire.messages_by(by))
}

/// A [`WirePlayer`] for any [`Responder`].
pub(crate) struct ResponderPlayer {
    responder: Box<dyn Responder>,
    prompter: Prompter,
    inbox: Inbox,
    kept: usize,
    closed: bool,
    /// `true` if nothing is sent any more. Requests are still looked up, as they were recorded.
    held: bool,
}

impl ResponderPlayer {
    pub(crate) fn new(responder: Box<dyn Responder>, prompter: Prompter) -> Self {
        Self {
            responder,
            prompter,
            inbox: Inbox::default(),
            kept: 0,
            closed: false,
            held: false,
        }
    }

    fn play(&mut self, steps: &mut Vec<PlayStep>) -> Result<(), Fault> {
        while !self.closed
            && let Some(message) = self.inbox.message(|rest| self.responder.length(rest))?
        {
            let said = self.responder.message(&mut self.prompter, message)?;
            self.say(said, steps);
            self.kept = self.responder.buffered_bytes() + self.prompter.buffered_bytes();
            if self.kept > MAX_WIRE_CONNECTION_BYTES {
                return Err("more than 128 MiB of requests wait for their answers");
            }
        }
        Ok(())
    }

    fn say(&mut self, said: Vec<u8>, steps: &mut Vec<PlayStep>) {
        let (until_more, then) = (self.prompter.until_more.take(), self.prompter.then.take());
        let preceding = self.prompter.take_preceding();
        if self.held {
            return;
        }
        steps.extend(preceding);
        steps.extend(
            until_more
                .filter(|_| self.inbox.rest().is_empty())
                .map(PlayStep::UntilMore),
        );
        match steps.last_mut() {
            _ if said.is_empty() => {}
            Some(PlayStep::Send(bytes)) => bytes.extend(said),
            _ => steps.push(PlayStep::Send(said)),
        }
        self.held = then == Some(PlayStep::Hold);
        self.closed = then.as_ref().is_some_and(PlayStep::closes);
        if let Some(PlayStep::StartTls(_)) = then {
            steps.push(PlayStep::StartTls(self.inbox.rest().to_vec()));
            self.inbox.clear();
        } else {
            steps.extend(then);
        }
    }
}

impl WirePlayer for ResponderPlayer {
    fn open(&mut self) -> Vec<PlayStep> {
        let (mut steps, said) = (Vec::new(), self.responder.open(&mut self.prompter));
        self.say(said, &mut steps);
        steps
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<PlayStep> {
        let mut steps = Vec::new();
        if self.closed {
            return steps;
        }
        let is_between = self.inbox.rest().is_empty() && self.responder.may_encrypt();
        if is_between && sniff::is_client_hello(bytes) {
            return vec![PlayStep::StartTls(bytes.to_vec())];
        }
        self.inbox.push(bytes);
        if let Err(fault) = self.play(&mut steps) {
            let refusal = self.responder.refuse(fault);
            self.prompter.miss_malformed(fault);
            self.prompter.then = Some(PlayStep::Close);
            self.held = false;
            self.say(refusal, &mut steps);
        }
        if self.closed {
            self.inbox.clear();
        }
        steps
    }

    fn finish(&mut self) -> Vec<PlayStep> {
        if !self.closed && !self.inbox.rest().is_empty() {
            self.prompter.miss_malformed("a message without its end");
            self.inbox.clear();
        }
        Vec::new()
    }

    fn next_push(&self) -> Option<&Push> {
        let is_open = !self.closed && !self.held;
        self.prompter.pushes.front().filter(|_| is_open)
    }

    fn take_push(&mut self) -> Option<Push> {
        self.next_push()?;
        self.prompter.pushes.pop_front()
    }

    fn buffered_bytes(&self) -> usize {
        self.kept + self.inbox.len()
    }
}
