//! Unknown protocols: one exchange is what the program sends and the answer until it sends again.
//! A handshake of the client at the beginning of a turn begins TLS.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use replay_base::limits::{MAX_RECORDED_BODY_BYTES, OVERTAKEN_MS};

use crate::call::{Content, FirstMessages, Link, Message, Protocol, Side, Wire};
use crate::http::websocket::Unmask;
use crate::net::sniff;
use crate::protocol::frames;
use crate::protocol::heartbeat::Heartbeats;
use crate::protocol::responder::{MISS_LINGER_MS, Prompter, messages_from};
use crate::protocol::script::{Push, Script};
use crate::protocol::wire::{PlayStep, RecordStep, WirePlayer, WireRecorder};

/// Longest excerpt of a call in a message, in bytes.
const MAX_SHOWN_CALL_BYTES: usize = 4096;

/// Records turns. An empty last message of the server means that the server closed the connection.
///
/// Later pieces of an answer, and a late first one, are marked as sent unasked.
/// `matching::join_pieces` joins most of them, since it knows the calls of all connections.
#[derive(Debug)]
pub(crate) struct GenericRecorder {
    link: Link,
    unmask: Option<Unmask>,
    heartbeats: Heartbeats,
    /// Answer of the server to the last heartbeat, until it came.
    beat_answer: Vec<u8>,
    /// Bytes of the client in this turn.
    asked: Vec<u8>,
    /// Pieces of the answer, with the times at which they came.
    answered: Vec<(SystemTime, Vec<u8>)>,
    answered_bytes: usize,
    sent_at: Option<SystemTime>,
    /// Time of the last bytes of the client.
    asked_at: Option<SystemTime>,
    too_long: bool,
    /// `true` if the client asked the server to close the connection.
    is_leaving: bool,
    silent_since: Option<SystemTime>,
    /// First bytes of the server, until the client has sent any.
    greeting: Vec<u8>,
    /// `true` if the protocol has known frames. Then each piece of the client begins a turn, since
    /// frames need the time at which they were sent.
    has_frames: Option<bool>,
}

impl GenericRecorder {
    /// Creates a recorder. With `websocket` the client sends `WebSocket` frames, which are recorded
    /// without their random masks.
    pub(crate) fn new(link: Link, websocket: bool) -> Self {
        Self {
            link,
            unmask: websocket.then(Unmask::default),
            heartbeats: Heartbeats::new(websocket),
            beat_answer: Vec::new(),
            asked: Vec::new(),
            answered: Vec::new(),
            answered_bytes: 0,
            sent_at: None,
            asked_at: None,
            too_long: false,
            is_leaving: false,
            silent_since: None,
            greeting: Vec::new(),
            has_frames: websocket.then_some(true),
        }
    }

    /// Sets the opening time of a connection without data. A connection that stays silent is
    /// recorded.
    #[must_use]
    pub(crate) fn opened(self, at: SystemTime) -> Self {
        Self {
            silent_since: Some(at),
            ..self
        }
    }

    /// Returns these bytes without a heartbeat of the client and without the answer to it.
    fn without_heartbeat<'a>(&mut self, from: Side, bytes: &'a [u8]) -> &'a [u8] {
        if from == Side::Server {
            let answer = self.beat_answer.as_slice();
            let rest = bytes
                .strip_prefix(answer)
                .or_else(|| bytes.strip_suffix(answer));
            if rest.is_some() {
                self.beat_answer.clear();
            }
            return rest.unwrap_or(bytes);
        }
        let beat = self.heartbeats.first(bytes);
        self.heartbeats.detect(bytes);
        // Its bytes may have come with those before it, which are not answered yet.
        let is_apart = self.asked.is_empty() || !self.answered.is_empty();
        match beat {
            Some((length, answer)) if length == bytes.len() && is_apart => {
                self.is_leaving = self.heartbeats.ends(bytes);
                self.beat_answer = answer;
                &[]
            }
            _ => bytes,
        }
    }

    fn detect_frames(&mut self, from: Side, bytes: &[u8]) {
        match from {
            _ if self.has_frames.is_some() => {}
            Side::Client => {
                let greeting = std::mem::take(&mut self.greeting);
                self.has_frames = Some(frames::has_frames(bytes, &greeting));
            }
            Side::Server if self.greeting.len() < MAX_SHOWN_CALL_BYTES => {
                self.greeting.extend_from_slice(bytes);
            }
            Side::Server => {}
        }
    }

    /// Ends the turn and returns its exchange, if it has data. `closed` is the time at which the
    /// server closed the connection.
    fn turn(&mut self, closed: Option<SystemTime>) -> Option<RecordStep> {
        let (asked, mut answered) = (
            std::mem::take(&mut self.asked),
            std::mem::take(&mut self.answered),
        );
        self.answered_bytes = 0;
        let (asked_at, sent_at) = (self.asked_at.take(), self.sent_at.take()?);
        if std::mem::take(&mut self.too_long) {
            let most = MAX_RECORDED_BODY_BYTES >> 20;
            let what = format!(
                "a message of one side at `{}`: at most {most} MiB are recorded",
                self.link.target
            );
            return Some(RecordStep::Lost(what));
        }
        let first = answered.first().map(|(at, _)| *at);
        let is_late = first
            .zip(asked_at)
            .is_some_and(|(at, asked)| since(at, asked) >= Duration::from_millis(OVERTAKEN_MS));
        let answer = answered.len().min(usize::from(!is_late));
        let answered_at = first.filter(|_| !is_late).unwrap_or(sent_at);
        let has_more = answered.len() > answer;
        answered.extend(closed.map(|at| (at, Vec::new())));
        let unasked = answered[answer..].iter().filter(|_| has_more);
        let pushed = unasked.map(|(at, _)| since(*at, sent_at)).collect();

        let asked = Some((Side::Client, asked)).filter(|(_, bytes)| !bytes.is_empty());
        let answered = answered.into_iter().map(|(_, bytes)| (Side::Server, bytes));
        let messages = asked.into_iter().chain(answered);
        let content = Content::Wire(
            Protocol::Generic,
            Wire {
                messages: messages
                    .map(|(from, bytes)| Message { from, bytes })
                    .collect(),
                pushed,
                ..Wire::default()
            },
        );
        Some(RecordStep::Done(Box::new(self.link.exchange(
            content,
            sent_at,
            answered_at,
        ))))
    }
}

impl WireRecorder for GenericRecorder {
    fn take(&mut self, from: Side, bytes: &[u8], at: SystemTime) -> Vec<RecordStep> {
        self.silent_since = None;
        let begins_turn =
            from == Side::Client && (self.asked.is_empty() || !self.answered.is_empty());
        if begins_turn && self.unmask.is_none() && sniff::is_client_hello(bytes) {
            let mut steps: Vec<_> = self.turn(None).into_iter().collect();
            steps.push(RecordStep::StartTls(bytes.to_vec()));
            return steps;
        }
        let mut steps = vec![RecordStep::Forward(from, bytes.to_vec())];
        let plain = match &mut self.unmask {
            Some(unmask) if from == Side::Client => Cow::Owned(unmask.take(bytes)),
            _ => Cow::Borrowed(bytes),
        };
        let plain = self.without_heartbeat(from, &plain);
        if plain.is_empty() {
            return steps;
        }
        let begins_turn =
            from == Side::Client && (!self.answered.is_empty() || self.has_frames == Some(true));
        if begins_turn {
            steps.extend(self.turn(None));
        }
        self.detect_frames(from, plain);
        self.sent_at.get_or_insert(at);
        let before = match from {
            Side::Client => self.asked.len(),
            Side::Server => self.answered_bytes,
        };
        self.too_long |= before + plain.len() > MAX_RECORDED_BODY_BYTES;
        let kept = if self.too_long { &[] } else { plain };
        match from {
            Side::Client => {
                self.asked_at = Some(at);
                self.asked.extend_from_slice(kept);
            }
            Side::Server => {
                self.answered_bytes += kept.len();
                self.answered.push((at, kept.to_vec()));
            }
        }
        steps
    }

    fn end(&mut self, by: Side, at: SystemTime) -> Vec<RecordStep> {
        match self.silent_since.take() {
            Some(opened) => vec![RecordStep::Done(Box::new(self.link.silent(
                opened,
                at,
                Some(by),
            )))],
            None => self
                .turn((by == Side::Server && !self.is_leaving).then_some(at))
                .into_iter()
                .collect(),
        }
    }

    fn buffered_bytes(&self) -> usize {
        let pieces = size_of_val(self.answered.as_slice());
        self.asked.len() + self.answered_bytes + pieces
    }
}

/// Returns the time between two others; zero if the clock was set back.
fn since(at: SystemTime, earlier: SystemTime) -> Duration {
    at.duration_since(earlier).unwrap_or_default()
}

/// State of the program's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputState {
    /// More may arrive at any moment.
    Open,
    /// The input has paused; the bytes so far may be a complete message.
    Paused,
    /// The input has ended.
    Ended,
}

/// Plays a server: answers bytes that equal a recorded message.
pub(crate) struct GenericPlayer {
    prompter: Prompter,
    said: FirstMessages,
    unmask: Option<Unmask>,
    heartbeats: Heartbeats,
    pending: Vec<u8>,
    /// A longer recorded message that begins with the pending bytes, and the length compared so
    /// far. So long messages are not compared again with every piece.
    ahead: Option<(Arc<[u8]>, usize)>,
    /// `true` if the pending bytes are the start of a recorded message, and pauses are ignored.
    is_held: bool,
    ended: bool,
}

impl GenericPlayer {
    pub(crate) fn new(
        link: Link,
        script: Box<dyn Script>,
        said: FirstMessages,
        websocket: bool,
    ) -> Self {
        Self {
            prompter: Prompter::new(link, Protocol::Generic, script),
            said,
            unmask: websocket.then(Unmask::default),
            heartbeats: Heartbeats::new(websocket),
            pending: Vec::new(),
            ahead: None,
            is_held: false,
            ended: false,
        }
    }

    /// Returns true if the pending bytes are still a prefix of the message in `ahead`.
    fn is_ahead(&mut self) -> bool {
        let Some((message, seen)) = &mut self.ahead else {
            return false;
        };
        let goes_on = message.len() > self.pending.len()
            && message[*seen..].starts_with(&self.pending[*seen..]);
        *seen = self.pending.len();
        if !goes_on {
            self.ahead = None;
        }
        goes_on
    }

    /// Returns the length of the recorded message at the start of the pending bytes, if any. Also
    /// returns true if all pending bytes may become a longer message.
    fn match_pending(&mut self) -> (Option<usize>, bool) {
        let longer = self
            .said
            .range::<[u8], _>((Bound::Included(self.pending.as_slice()), Bound::Unbounded))
            .find(|message| {
                message.len() > self.pending.len() || !message.starts_with(&self.pending)
            })
            .filter(|message| message.starts_with(&self.pending));
        self.ahead = longer.map(|message| (Arc::clone(message), self.pending.len()));
        let longer = longer.is_some();
        // Finds the longest recorded message that the bytes begin with. It is the greatest message
        // that is not greater than the bytes, or it is at most as long as their common prefix.
        let mut upper = self.pending.len();
        while let Some(message) = self.below(&self.pending[..upper]) {
            if self.pending.starts_with(message) {
                if message.is_empty() {
                    break;
                }
                return (Some(message.len()), longer);
            }
            upper = message
                .iter()
                .zip(&self.pending)
                .take_while(|(a, b)| a == b)
                .count();
        }
        (None, longer)
    }

    /// Returns the greatest recorded message that is not greater than these bytes.
    fn below(&self, bytes: &[u8]) -> Option<&Arc<[u8]>> {
        self.said
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(bytes)))
            .next_back()
    }

    fn answer(&mut self, more: InputState) -> Vec<PlayStep> {
        let mut steps = Vec::new();
        self.is_held = false;
        if more == InputState::Open && self.is_ahead() {
            return steps;
        }
        while !self.pending.is_empty() && !self.ended {
            let (length, longer) = self.match_pending();
            let beat = self
                .heartbeats
                .first(&self.pending)
                .map(|(length, _)| length);
            let length = length.or(beat);
            if longer && more == InputState::Open {
                break;
            }
            if longer && more == InputState::Paused && length != Some(self.pending.len()) {
                self.is_held = true;
                break;
            }
            let length = length.unwrap_or(self.pending.len().min(MAX_SHOWN_CALL_BYTES));
            self.ahead = None;
            let rest = self.pending.split_off(length);
            let asked = std::mem::replace(&mut self.pending, rest);
            steps.extend(self.say(vec![asked], more));
        }
        steps
    }

    fn say(&mut self, asked: Vec<Vec<u8>>, more: InputState) -> Vec<PlayStep> {
        let beat = asked.first().and_then(|asked| self.heartbeats.first(asked));
        let beat_answer = |_| {
            let (_, answer) = beat.clone()?;
            Some(Vec::from_iter((!answer.is_empty()).then_some(answer)))
        };
        let found = self.prompter.ask_or(Wire::asking(asked), beat_answer);
        let answer: Vec<_> = match found {
            Ok(found) => {
                let said = messages_from(&found, Side::Server).map(<[u8]>::to_vec);
                said.map(PlayStep::of_message).collect()
            }
            Err(_) if more == InputState::Ended => vec![PlayStep::Close],
            Err(_) => vec![PlayStep::CloseAfter(Duration::from_millis(MISS_LINGER_MS))],
        };
        self.ended |= answer.iter().any(PlayStep::closes);
        let mut steps = self.prompter.take_preceding();
        steps.extend(answer);
        steps
    }
}

impl WirePlayer for GenericPlayer {
    fn open(&mut self) -> Vec<PlayStep> {
        // A greeting of the server is recorded as the answer to an empty message.
        if self.said.contains(&[][..]) {
            self.say(Vec::new(), InputState::Open)
        } else {
            Vec::new()
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<PlayStep> {
        let may_encrypt = self.pending.is_empty() && self.unmask.is_none() && !self.ended;
        if may_encrypt && sniff::is_client_hello(bytes) {
            return vec![PlayStep::StartTls(bytes.to_vec())];
        }
        self.heartbeats.detect(bytes);
        match &mut self.unmask {
            Some(unmask) => self.pending.extend(unmask.take(bytes)),
            None => self.pending.extend_from_slice(bytes),
        }
        let mut steps = self.answer(InputState::Open);
        // Recorded messages are never longer, so these bytes match none.
        if self.pending.len() > MAX_RECORDED_BODY_BYTES {
            self.prompter
                .miss_malformed("more than 128 MiB without an answer");
            self.pending = Vec::new();
            self.ended = true;
            steps.push(PlayStep::Close);
        }
        steps
    }

    /// Waits if the pending bytes may be the start of a longer message.
    fn waits(&self) -> bool {
        !self.pending.is_empty() && !self.is_held && !self.ended
    }

    /// Answers a complete recorded message; waits on for the rest of an incomplete one.
    fn pause(&mut self) -> Vec<PlayStep> {
        self.answer(InputState::Paused)
    }

    fn next_push(&self) -> Option<&Push> {
        self.prompter.pushes.front().filter(|_| !self.ended)
    }

    fn take_push(&mut self) -> Option<Push> {
        self.next_push()?;
        self.prompter.pushes.pop_front()
    }

    fn finish(&mut self) -> Vec<PlayStep> {
        self.answer(InputState::Ended)
    }

    fn buffered_bytes(&self) -> usize {
        self.pending.len() + self.prompter.buffered_bytes()
    }
}
