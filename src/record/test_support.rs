//! Test support for the protocols: scripted conversations, a recording harness and a replay client.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::call::{Content, Exchange, Link, Protocol, Side, Target, Wire};
use crate::matching::{Connection, Noise, Recordings};
use crate::protocol::registry::{player, recorder};
use crate::protocol::script::Push;
use crate::protocol::wire::{PlayStep, RecordStep, WirePlayer};

/// Sender and bytes of one message in a conversation.
pub(super) type ScriptedMessage = (Side, Vec<u8>);

pub(super) fn client(bytes: impl AsRef<[u8]>) -> ScriptedMessage {
    (Side::Client, bytes.as_ref().to_vec())
}

pub(super) fn server(bytes: impl AsRef<[u8]>) -> ScriptedMessage {
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

/// Result of recording a conversation.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Bytes forwarded to the server.
    pub(super) to_server: Vec<u8>,
    /// Bytes forwarded to the client.
    pub(super) to_client: Vec<u8>,
    pub(super) calls: Vec<Exchange>,
    /// Reports of data that could not be recorded.
    pub(super) lost: Vec<String>,
    /// Bytes already received as ciphertext, one entry for each start of TLS.
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

    /// Returns each call's session flag and its messages as escaped text.
    pub(super) fn messages(&self) -> Vec<(bool, Vec<(Side, String)>)> {
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

/// Records a conversation in chunks of `pieces` bytes. The server closes the connection at the end.
pub(super) fn record_in(
    protocol: Protocol,
    conversation: &[ScriptedMessage],
    pieces: usize,
) -> Outcome {
    record_chunked(protocol, conversation, pieces, Side::Server)
}

fn record_chunked(
    protocol: Protocol,
    conversation: &[ScriptedMessage],
    pieces: usize,
    by: Side,
) -> Outcome {
    let mut recorder = recorder(protocol, &link()).unwrap();
    let mut outcome = Outcome::default();
    for (second, (from, bytes)) in conversation.iter().enumerate() {
        for piece in bytes.chunks(pieces) {
            outcome.add(recorder.take(*from, piece, at(second as u64)));
        }
    }
    outcome.add(recorder.end(by, at(conversation.len() as u64)));
    outcome
}

/// Records a conversation whole, in chunks and cut at each byte, and asserts equal outcomes. The
/// server closes the connection at the end.
pub(super) fn record(protocol: Protocol, conversation: &[ScriptedMessage]) -> Outcome {
    record_left(protocol, conversation, Side::Server)
}

/// Does the same as [`record`], but the side `by` closes the connection.
pub(super) fn record_left(
    protocol: Protocol,
    conversation: &[ScriptedMessage],
    by: Side,
) -> Outcome {
    let whole = record_chunked(protocol, conversation, usize::MAX, by);
    for pieces in [1, 2, 3, 7] {
        assert_eq!(
            record_chunked(protocol, conversation, pieces, by),
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
        let mut recorder = recorder(protocol, &link()).unwrap();
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

/// Marker in the output of a played server for a pause until the program sends more.
pub(super) const UNTIL_MORE: &[u8] = b"<until more>";

/// Client side of one connection to a played server.
pub(super) struct Played {
    player: Box<dyn WirePlayer>,
    /// `true` after the server closed the connection.
    pub(super) closed: bool,
    /// `true` after the server stopped sending for good.
    pub(super) held: bool,
    /// Number of times that TLS started.
    pub(super) encrypted: usize,
}

impl Played {
    pub(super) fn new(protocol: Protocol, book: &Arc<Recordings>) -> Self {
        Self::of(protocol, &link(), book)
    }

    pub(super) fn of(protocol: Protocol, link: &Link, book: &Arc<Recordings>) -> Self {
        let player = player(protocol, link, Connection::on(book)).unwrap();
        Self {
            player,
            closed: false,
            held: false,
            encrypted: 0,
        }
    }

    fn apply(&mut self, steps: Vec<PlayStep>) -> Vec<u8> {
        let mut sent = Vec::new();
        for step in steps {
            match step {
                PlayStep::Send(bytes) | PlayStep::Push(Push { bytes, .. }) => sent.extend(bytes),
                PlayStep::StartTls(_) => self.encrypted += 1,
                PlayStep::Hold => self.held = true,
                PlayStep::UntilMore(_) => sent.extend(UNTIL_MORE),
                PlayStep::Close | PlayStep::CloseAfter(_) => self.closed = true,
            }
        }
        sent
    }

    pub(super) fn open(&mut self) -> Vec<u8> {
        let steps = self.player.open();
        self.apply(steps)
    }

    /// Sends bytes in one piece and returns the reply.
    pub(super) fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let steps = self.player.take(bytes.as_ref());
        self.apply(steps)
    }

    /// Lets the server's pause elapse, if it waits for one, and returns its output.
    pub(super) fn pause(&mut self) -> Option<Vec<u8>> {
        let mut steps = Vec::new();
        if self.player.waits() {
            steps = self.player.pause();
        }
        steps.extend(std::iter::from_fn(|| self.player.take_push()).map(PlayStep::Push));
        let has_steps = !steps.is_empty();
        has_steps.then(|| self.apply(steps))
    }
}

pub(super) fn book(calls: &[Exchange]) -> Arc<Recordings> {
    Arc::new(Recordings::new(calls.to_vec(), Noise::default()))
}

/// Replays the client's side of a conversation, whole and in chunks, and asserts that the server's
/// output is unchanged.
pub(super) fn replays(protocol: Protocol, conversation: &[ScriptedMessage], outcome: &Outcome) {
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
