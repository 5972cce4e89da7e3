//! A connection to Redis, as it is recorded.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::command::{Manner, manner};
use super::resp::{Scan, elements};
use crate::record::call::{Link, Protocol, Side};
use crate::record::protocol::dialogue::{Dialogue, Draft, Fault, Way, unanswered};
use crate::record::protocol::wire::RecordStep;

/// A call that waits for its answer.
struct Pending {
    draft: Draft,
    kind: Kind,
    /// Replies that are still to come, as far as is known.
    left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As many replies as are left.
    Call,
    /// A transaction to which commands are still added.
    Transaction,
    /// As many confirmations as are left; without end if that is 0.
    Subscription,
    /// Replies that nobody needs.
    Unrecorded,
}

/// Makes calls of what is said to Redis.
pub(crate) struct Recording {
    link: Link,
    scans: [Scan; 2],
    waiting: VecDeque<Pending>,
    /// The subscription to which whatever is published belongs.
    stream: Option<Draft>,
    subscribed: bool,
}

impl Recording {
    pub(crate) fn new(link: Link) -> Self {
        let scans = [Scan::default(), Scan::default()];
        Self { link, scans, waiting: VecDeque::new(), stream: None, subscribed: false }
    }

    fn finish(&self, draft: Draft, at: SystemTime, made: &mut Vec<RecordStep>) {
        made.push(draft.finish(&self.link, Protocol::Redis, at));
    }

    fn command(&mut self, question: Vec<u8>, at: SystemTime) -> Result<(), Fault> {
        let manner = manner(&question);
        if manner == Manner::Foreign {
            return Err("it became a stream of another kind (`MONITOR`, `SYNC`, `PSYNC` or `CLIENT REPLY`)");
        }
        if manner == Manner::Empty {
            return Ok(());
        }
        if let Some(last) = self.waiting.back_mut().filter(|last| last.kind == Kind::Transaction) {
            last.draft.push(Side::Client, question);
            last.left += 1;
            if matches!(manner, Manner::Finish | Manner::Quit | Manner::Reset) {
                last.kind = Kind::Call;
            }
            return Ok(());
        }
        let mut draft = Draft::asked(question, at);
        let (kind, left) = match manner {
            Manner::Begin => (Kind::Transaction, 1),
            Manner::Subscription(channels) => (Kind::Subscription, channels),
            Manner::Quit => (Kind::Unrecorded, 1),
            Manner::Session => {
                draft.session = true;
                (Kind::Call, 1)
            }
            _ => (Kind::Call, 1),
        };
        self.waiting.push_back(Pending { draft, kind, left });
        Ok(())
    }

    fn reply(&mut self, bytes: Vec<u8>, at: SystemTime, made: &mut Vec<RecordStep>) -> Result<(), Fault> {
        let subscribing = self.waiting.front().is_some_and(|front| front.kind == Kind::Subscription);
        let pushed = bytes.first() == Some(&b'>');
        if pushed || bytes.first() == Some(&b'*') && (self.subscribed || subscribing) {
            match published(&bytes) {
                Some(Published::Confirmation { left }) if subscribing => {
                    self.confirmation(bytes, left, at, made);
                    return Ok(());
                }
                published if pushed || published.is_some() => {
                    let front = self.waiting.front_mut().map(|front| &mut front.draft);
                    if let Some(draft) = self.stream.as_mut().or(front) {
                        draft.push(Side::Server, bytes);
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        if subscribing && bytes.first() != Some(&b'-') {
            // It named no channels, and this is the answer to what was asked next.
            if let Some(pending) = self.waiting.pop_front() {
                self.stream_begins(pending.draft, at, made);
            }
        }
        let Some(front) = self.waiting.front_mut() else { return Err("Redis answered something that was not asked") };
        front.draft.push(Side::Server, bytes);
        front.left = front.left.saturating_sub(1);
        if front.kind == Kind::Subscription || front.kind != Kind::Transaction && front.left == 0 {
            let Some(pending) = self.waiting.pop_front() else { return Ok(()) };
            if pending.kind != Kind::Unrecorded {
                self.finish(pending.draft, at, made);
            }
        }
        Ok(())
    }

    fn confirmation(&mut self, bytes: Vec<u8>, channels: usize, at: SystemTime, made: &mut Vec<RecordStep>) {
        self.subscribed = channels > 0;
        let Some(front) = self.waiting.front_mut() else { return };
        front.draft.push(Side::Server, bytes);
        let whole = if front.left == 0 { channels == 0 } else { front.left == 1 };
        front.left = front.left.saturating_sub(1);
        if whole && let Some(pending) = self.waiting.pop_front() {
            self.stream_begins(pending.draft, at, made);
        }
    }

    fn stream_begins(&mut self, draft: Draft, at: SystemTime, made: &mut Vec<RecordStep>) {
        if let Some(before) = self.stream.replace(draft) {
            self.finish(before, at, made);
        }
    }
}

/// What a message is that may come without a question.
enum Published {
    /// A change of what the connection has subscribed to.
    Confirmation {
        /// Channels and patterns that it has now.
        left: usize,
    },
    /// Something that was published.
    Message,
}

fn published(array: &[u8]) -> Option<Published> {
    let elements = elements(array);
    match *elements.first()? {
        b"subscribe" | b"psubscribe" | b"ssubscribe" | b"unsubscribe" | b"punsubscribe" | b"sunsubscribe" => {
            let left = elements.get(2).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
            Some(Published::Confirmation { left })
        }
        b"message" | b"pmessage" | b"smessage" => Some(Published::Message),
        _ => None,
    }
}

impl Dialogue for Recording {
    fn length(&mut self, from: Side, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        self.scans[usize::from(from == Side::Server)].length(from, bytes)
    }

    fn holds(&self, _from: Side) -> bool {
        false
    }

    fn message(
        &mut self,
        from: Side,
        bytes: Vec<u8>,
        at: SystemTime,
        made: &mut Vec<RecordStep>,
    ) -> Result<Way, Fault> {
        match from {
            Side::Client => self.command(bytes, at)?,
            Side::Server => self.reply(bytes, at, made)?,
        }
        Ok(Way::On)
    }

    fn kept(&self) -> usize {
        self.waiting.iter().map(|pending| &pending.draft).chain(&self.stream).map(Draft::size).sum()
    }

    fn end(&mut self, by: Side, at: SystemTime, made: &mut Vec<RecordStep>) {
        if let Some(stream) = self.stream.take() {
            self.finish(stream, at, made);
        }
        for pending in std::mem::take(&mut self.waiting) {
            match pending.kind {
                Kind::Subscription => self.finish(pending.draft, at, made),
                Kind::Unrecorded => {}
                // Up to `EXEC` nothing of it is looked up.
                Kind::Transaction => made.push(unanswered(&self.link)),
                Kind::Call => made.push(pending.draft.left(by, &self.link, Protocol::Redis, at)),
            }
        }
    }
}
