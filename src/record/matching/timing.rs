//! Answers that came after another request of the program, which may not have waited for them.
//! Often that is recorded: the connection was closed (`End::Abandoned`), or an HTTP/2 request was
//! cancelled. But some HTTP/2 and Redis clients give up silently. So such an answer is delayed
//! until the program has sent the next recorded request, at most for the recorded duration and a
//! second more.
//!
//! A message that the server sends unasked follows the last request before it, on any connection,
//! which may have caused it. It keeps its delay after that request, up to a second. Without that
//! request, it is sent later than recorded.

use std::time::{Duration, Instant, SystemTime};

use replay_base::limits::OVERTAKEN_MS;
use tokio::time::{sleep_until, timeout_at};

use super::{Ordering, Recordings, is_session};
use crate::call::{Content, Exchange, HttpResponse, HttpVersion, Message, Protocol, Side};
use crate::http::h1::field;
use crate::protocol::frames;
use crate::protocol::script::Push;

/// Additional wait for the next request, in milliseconds. The recorded duration misses the delay of
/// the proxy itself, so a program with a timeout waits a little longer than recorded.
const SLACK_MS: u64 = 1000;
/// Longest delay of a message after the request that it follows, in milliseconds.
const MAX_PUSH_DELAY_MS: u64 = 1000;
/// Longest wait for that request, as a multiple of the recorded delay: machines differ in speed.
const PUSH_PATIENCE: u32 = 3;
/// Requests before a message that are looked at for its causes.
const MAX_CAUSES_LOOKED_AT: usize = 1000;
/// Shortest delay of a message after the request of its own connection, in milliseconds. Some
/// programs drop a notification that comes together with an answer.
const MIN_PUSH_DELAY_MS: u64 = 50;

/// The first request during the wait for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// Index of the recording of that request.
    by: usize,
    /// Longest wait for that request.
    pub patience: Duration,
}

impl Recordings {
    /// Returns the first request of the program, on any connection, during this HTTP/2 response.
    pub fn overtaken(&self, found: &Exchange) -> Option<Overtaken> {
        let Content::Http(http) = &found.content else {
            return None;
        };
        let response = http
            .response
            .as_ref()
            .filter(|response| response.version == HttpVersion::Http2)?;
        // The first part of a streamed response may have caused the next request.
        if !comes_at_once(response) {
            return None;
        }
        self.asked_during(found).next()
    }

    /// Like [`overtaken`](Self::overtaken), for requests on the same connection.
    pub fn overtaken_here(&self, found: &Exchange) -> Option<Overtaken> {
        self.asked_during(found).find(|overtaken| {
            let other = &self.entries[overtaken.by].exchange;
            (other.connection, &other.target) == (found.connection, &found.target)
        })
    }

    fn asked_during(&self, found: &Exchange) -> impl Iterator<Item = Overtaken> {
        let recorded = found
            .answered_at
            .duration_since(found.sent_at)
            .unwrap_or_default();
        let patience = recorded + Duration::from_millis(SLACK_MS);
        let since = found.sent_at + Duration::from_millis(OVERTAKEN_MS);
        let from = self.asked.partition_point(|(at, _)| *at < since);
        let meanwhile = self.asked[from..]
            .iter()
            .take_while(move |(at, _)| *at < found.answered_at);
        meanwhile.map(move |(_, by)| Overtaken { by: *by, patience })
    }

    pub async fn has_gone_on(&self, overtaken: Overtaken) {
        self.has_used(overtaken.by).await;
    }

    /// Returns the requests that may have caused a message after this request: itself, and the last
    /// one before the message. The last ones of other connections to the same target follow.
    fn causes(&self, found: &Exchange, came: SystemTime) -> Vec<usize> {
        let until = self.asked.partition_point(|(at, _)| *at <= came);
        // Reads cause nothing.
        let is_cause = |(at, index): &&(SystemTime, usize)| {
            *at == found.sent_at || !frames::repeats(&self.entries[*index].exchange)
        };
        let before = self.asked[..until].iter().rev().take(MAX_CAUSES_LOOKED_AT);
        let before = before.filter(is_cause);
        let (mut causes, mut connections) = (Vec::new(), Vec::new());
        for (nth, (at, index)) in before.enumerate() {
            let exchange = &self.entries[*index].exchange;
            let is_last = nth == 0 && *at > found.sent_at;
            let is_near = exchange.target == found.target;
            if is_last || is_near && !connections.contains(&exchange.connection) {
                causes.push(*index);
                connections.push(exchange.connection);
            }
        }
        causes
    }

    /// Waits until a recording is used.
    async fn has_used(&self, index: usize) {
        let used = &self.entries[index].used;
        let mut turns = self.turns.subscribe();
        // The book, and so the sender, outlives this borrow.
        let _ = turns.wait_for(|()| used.load(Ordering::Relaxed)).await;
    }

    /// Returns the messages that the server sent unasked after a call, which is played now.
    pub(super) fn pushes(&self, found: &Exchange) -> Vec<Push> {
        let Content::Wire(_, wire) = &found.content else {
            return Vec::new();
        };
        let now = Instant::now();
        let source = self.index_of(found);
        let is_again =
            source.is_some_and(|index| self.entries[index].again.load(Ordering::Relaxed));
        let first = wire.messages.len() - wire.pushed.len();
        let push = |(at, (message, waited)): (usize, (&Message, Duration))| {
            let came = found.sent_at + waited;
            let after = if is_again {
                Vec::new()
            } else {
                self.causes(found, came)
            };
            let sent_at = |index: &usize| self.entries[*index].exchange.sent_at;
            let since = after.iter().map(sent_at).max().unwrap_or(found.sent_at);
            let longest = Duration::from_millis(MAX_PUSH_DELAY_MS);
            let least = if since > found.sent_at || found.is_answered_late() {
                Duration::ZERO
            } else {
                Duration::from_millis(MIN_PUSH_DELAY_MS)
            };
            let delay = came.duration_since(since).unwrap_or_default();
            let delay = delay.min(longest).max(least);
            let patience = waited * PUSH_PATIENCE + Duration::from_millis(SLACK_MS);
            let latest = now + if after.is_empty() { delay } else { patience };
            Push {
                bytes: message.bytes.clone(),
                came,
                after,
                source: source.map(|index| (index, first + at)),
                asked: None,
                delay,
                latest,
            }
        };
        wire.pushes().enumerate().map(push).collect()
    }

    fn index_of(&self, found: &Exchange) -> Option<usize> {
        let from = self.asked.partition_point(|(at, _)| *at < found.sent_at);
        let at_once = self.asked[from..]
            .iter()
            .take_while(|(at, _)| *at == found.sent_at);
        let mut indexes = at_once.map(|(_, index)| *index);
        indexes.find(|index| self.entries[*index].exchange.connection == found.connection)
    }

    /// Returns a message that the server sends unasked, with the values of this run.
    pub fn renewed(&self, push: Push) -> Vec<u8> {
        let renewed = |(index, at)| self.pairs.renewed_message(&self.entries, index, at);
        let mut bytes = push.source.and_then(renewed).unwrap_or(push.bytes);
        if let Some(((index, _), asked)) = push.source.zip(push.asked) {
            frames::renumber(&self.entries[index].exchange, &asked, &mut bytes);
        }
        bytes
    }

    /// Waits until a message that the server sends unasked is due.
    pub async fn is_due(&self, push: &Push) {
        let all_used = async {
            for index in &push.after {
                self.has_used(*index).await;
            }
        };
        let mut due = push.latest;
        if timeout_at(push.latest.into(), all_used).await.is_ok() {
            let used = push
                .after
                .iter()
                .map(|index| self.entries[*index].used_at.get());
            let last = used.flatten().max().copied();
            due = last.map_or(push.latest, |last| last + push.delay);
        }
        sleep_until(due.into()).await;
    }

    pub(super) fn in_order(&self) -> Vec<(SystemTime, usize)> {
        let calls = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| is_turn(&entry.exchange));
        let mut asked: Vec<_> = calls
            .map(|(index, entry)| (entry.exchange.sent_at, index))
            .collect();
        asked.sort_unstable();
        asked
    }
}

/// Returns true if a call shows how far the program has gone on.
fn is_turn(exchange: &Exchange) -> bool {
    !is_session(exchange) && !exchange.is_no_call() && exchange.content.protocol() != Protocol::Dns
}

/// Joins the pieces of answers in unknown protocols. A piece stays a message of its own after a
/// request of the program on any connection, and after a silence.
pub(crate) fn join_pieces(exchanges: &mut [Exchange]) {
    let turns = exchanges.iter().filter(|exchange| is_turn(exchange));
    let mut asked: Vec<SystemTime> = turns.map(|exchange| exchange.sent_at).collect();
    asked.sort_unstable();
    let has_asked = |since: SystemTime, until: SystemTime| {
        asked.partition_point(|at| *at <= since) < asked.partition_point(|at| *at < until)
    };
    for exchange in exchanges {
        let (sent_at, mut last) = (exchange.sent_at, exchange.answered_at);
        let Content::Wire(Protocol::Generic, wire) = &mut exchange.content else {
            continue;
        };
        for (message, waited) in wire.take_pushes() {
            let came = sent_at + waited;
            let silence = came.duration_since(last).unwrap_or_default();
            let answer = wire
                .messages
                .last_mut()
                .filter(|last| last.from == Side::Server);
            let is_silent = answer.is_some() && silence >= Duration::from_millis(OVERTAKEN_MS);
            let is_close = message.bytes.is_empty();
            let stays = if is_close {
                !wire.pushed.is_empty()
            } else {
                is_silent || has_asked(last, came)
            };
            match answer {
                Some(answer) if !stays && !is_close => answer.bytes.extend(message.bytes),
                _ => wire.messages.push(message),
            }
            if stays {
                wire.pushed.push(waited);
            } else if wire.pushed.is_empty() && !is_close {
                exchange.answered_at = came;
            }
            last = came;
        }
    }
}

/// Returns true if a response is useful only as a whole: it has a content length, or is JSON.
fn comes_at_once(response: &HttpResponse) -> bool {
    let kind = field(&response.headers, "content-type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_json = kind == "application/json" || kind.ends_with("+json") && !kind.contains("stream");
    is_json || field(&response.headers, "content-length").is_some()
}
