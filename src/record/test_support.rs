//! What the tests of the protocols share: conversations, and what is made of them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::record::call::{Content, Exchange, Link, Protocol, Side, Target, Wire};
use crate::record::matching::{Book, Connection, Noise};
use crate::record::protocol::registry::{player, recorder};
use crate::record::protocol::wire::{PlayStep, RecordStep, WirePlayer};

/// What one side said, and which.
pub(super) type Said = (Side, Vec<u8>);

pub(super) fn client(bytes: impl AsRef<[u8]>) -> Said {
    (Side::Client, bytes.as_ref().to_vec())
}

pub(super) fn server(bytes: impl AsRef<[u8]>) -> Said {
    (Side::Server, bytes.as_ref().to_vec())
}

pub(super) fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

pub(super) fn link() -> Link {
    let target = Target {
        host: "db.test".into(),
        port: 7,
    };
    Link {
        target,
        tls: false,
        connection: 3,
    }
}

/// What came of a recorded conversation.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// What was sent to the server.
    pub(super) to_server: Vec<u8>,
    /// What was sent to the client.
    pub(super) to_client: Vec<u8>,
    pub(super) calls: Vec<Exchange>,
    /// What was said to be lost.
    pub(super) lost: Vec<String>,
    /// Bytes that were to be encrypted already, for each time that encryption began.
    pub(super) encrypted: Vec<Vec<u8>>,
}

impl Outcome {
    pub(super) fn add(&mut self, steps: Vec<RecordStep>) {
        for step in steps {
            match step {
                RecordStep::Forward(Side::Client, bytes) => self.to_server.extend(bytes),
                RecordStep::Forward(Side::Server, bytes) => self.to_client.extend(bytes),
                RecordStep::StartTls(early) => self.encrypted.push(early),
                RecordStep::Done(call) => self.calls.push(*call),
                RecordStep::Lost(what) => self.lost.push(what),
            }
        }
    }

    /// Calls as who said what, and whether they belong to the connection.
    pub(super) fn said(&self) -> Vec<(bool, Vec<(Side, String)>)> {
        let wire = |call: &Exchange| match &call.content {
            Content::Wire(_, wire) => wire.clone(),
            _ => Wire::default(),
        };
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let said = |wire: Wire| {
            wire.messages
                .iter()
                .map(|m| (m.from, text(&m.bytes)))
                .collect()
        };
        self.calls
            .iter()
            .map(wire)
            .map(|wire| (wire.session, said(wire)))
            .collect()
    }
}

/// Records a conversation in pieces of this many bytes, at whose end the server leaves.
pub(super) fn record_in(
    protocol: Protocol,
    relay_tls: bool,
    conversation: &[Said],
    pieces: usize,
) -> Outcome {
    ended(protocol, relay_tls, conversation, pieces, Side::Server)
}

fn ended(
    protocol: Protocol,
    relay_tls: bool,
    conversation: &[Said],
    pieces: usize,
    by: Side,
) -> Outcome {
    let mut recorder = recorder(protocol, &link(), relay_tls).unwrap();
    let mut outcome = Outcome::default();
    for (second, (from, bytes)) in conversation.iter().enumerate() {
        for piece in bytes.chunks(pieces) {
            outcome.add(recorder.take(*from, piece, at(second as u64)));
        }
    }
    outcome.add(recorder.end(by, at(conversation.len() as u64)));
    outcome
}

/// Records a conversation, in whole and cut at every byte, and checks that it makes no difference.
/// At its end the server leaves.
pub(super) fn record(protocol: Protocol, conversation: &[Said]) -> Outcome {
    record_left(protocol, conversation, Side::Server)
}

/// The same where this side leaves.
pub(super) fn record_left(protocol: Protocol, conversation: &[Said], by: Side) -> Outcome {
    let whole = ended(protocol, false, conversation, usize::MAX, by);
    for pieces in [1, 2, 3, 7] {
        assert_eq!(
            ended(protocol, false, conversation, pieces, by),
            whole,
            "in pieces of {pieces}"
        );
    }
    // Each message cut once, at each of its bytes.
    let longest = conversation
        .iter()
        .map(|(_, bytes)| bytes.len())
        .max()
        .unwrap_or(0);
    for cut in 1..longest {
        let parts: Vec<_> = conversation
            .iter()
            .enumerate()
            .map(|(second, (from, bytes))| {
                let (first, rest) = bytes.split_at(cut.min(bytes.len()));
                (second as u64, *from, first, rest)
            })
            .collect();
        let mut recorder = recorder(protocol, &link(), false).unwrap();
        let mut outcome = Outcome::default();
        for (second, from, first, rest) in parts {
            outcome.add(recorder.take(from, first, at(second)));
            outcome.add(recorder.take(from, rest, at(second)));
        }
        outcome.add(recorder.end(by, at(conversation.len() as u64)));
        assert_eq!(outcome, whole, "cut at {cut}");
    }
    whole
}

/// What stands in what a played server sends where it waits until the program says more.
pub(super) const UNTIL_MORE: &[u8] = b"<until more>";

/// One connection to a played server.
pub(super) struct Played {
    player: Box<dyn WirePlayer>,
    /// Whether it was closed.
    pub(super) closed: bool,
    /// Whether it says nothing more.
    pub(super) held: bool,
    /// How often encryption began.
    pub(super) encrypted: usize,
}

impl Played {
    pub(super) fn new(protocol: Protocol, book: &Arc<Book>) -> Self {
        Self::of(protocol, &link(), book)
    }

    pub(super) fn of(protocol: Protocol, link: &Link, book: &Arc<Book>) -> Self {
        let player = player(protocol, link, Connection::on(book)).unwrap();
        Self {
            player,
            closed: false,
            held: false,
            encrypted: 0,
        }
    }

    fn sent(&mut self, steps: Vec<PlayStep>) -> Vec<u8> {
        let mut sent = Vec::new();
        for step in steps {
            match step {
                PlayStep::Send(bytes) => sent.extend(bytes),
                PlayStep::StartTls(_) => self.encrypted += 1,
                PlayStep::Hold => self.held = true,
                PlayStep::UntilMore(_) => sent.extend(UNTIL_MORE),
                PlayStep::Close => self.closed = true,
            }
        }
        sent
    }

    pub(super) fn open(&mut self) -> Vec<u8> {
        let steps = self.player.open();
        self.sent(steps)
    }

    /// Asks in one piece.
    pub(super) fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let steps = self.player.take(bytes.as_ref());
        self.sent(steps)
    }

    /// Says nothing for a while, if that is waited for.
    pub(super) fn pause(&mut self) -> Option<Vec<u8>> {
        let steps = self.player.waits().then(|| self.player.pause());
        steps.map(|steps| self.sent(steps))
    }
}

pub(super) fn book(calls: &[Exchange]) -> Arc<Book> {
    Arc::new(Book::new(calls.to_vec(), Noise::default()))
}

/// Plays what the client said in a conversation, in whole and byte by byte, and checks that the
/// server says the same.
pub(super) fn replays(protocol: Protocol, conversation: &[Said], outcome: &Outcome) {
    for pieces in [usize::MAX, 1, 5] {
        let book = book(&outcome.calls);
        let mut played = Played::new(protocol, &book);
        let mut answered = played.open();
        for (_, bytes) in conversation
            .iter()
            .filter(|(from, _)| *from == Side::Client)
        {
            for piece in bytes.chunks(pieces) {
                answered.extend(played.ask(piece));
            }
        }
        assert_eq!(
            answered.escape_ascii().to_string(),
            outcome.to_client.escape_ascii().to_string()
        );
        assert_eq!(book.report().missed.len(), 0);
    }
}
