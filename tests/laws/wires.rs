//! Properties of recorded and replayed database connections with any bytes.

use std::sync::Arc;
use std::time::SystemTime;

use replay_record::matching::{Connection, Noise, Recordings};
use replay_record::{
    Exchange, Link, PlayStep, Protocol, RecordStep, Side, Target, player, recorder,
};

use super::Source;

const PROTOCOLS: [Protocol; 4] = [
    Protocol::Redis,
    Protocol::Postgres,
    Protocol::MySql,
    Protocol::Mongo,
];

/// Result of a recorded connection.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    calls: Vec<Exchange>,
    lost: Vec<String>,
}

impl Outcome {
    /// Adds steps. Returns true if encryption begins.
    fn add(&mut self, steps: Vec<RecordStep>) -> bool {
        for step in steps {
            match step {
                RecordStep::Forward(Side::Client, bytes) => self.to_server.extend(bytes),
                RecordStep::Forward(Side::Server, bytes) => self.to_client.extend(bytes),
                RecordStep::StartTls(_) => return true,
                RecordStep::Done(call) => self.calls.push(*call),
                RecordStep::Lost(what) => self.lost.push(what),
            }
        }
        false
    }
}

fn link() -> Link {
    Link {
        target: Target {
            host: "a".into(),
            port: 1,
        },
        tls: false,
        connection: 1,
    }
}

/// Records the messages, cut into pieces of `size`. Stops where encryption begins.
fn record(protocol: Protocol, said: &[(Side, &[u8])], size: usize) -> Outcome {
    let at = SystemTime::UNIX_EPOCH;
    let mut recorder = recorder(protocol, &link()).expect("each of these has a recorder");
    let mut outcome = Outcome::default();
    for (from, bytes) in said {
        for piece in bytes.chunks(size) {
            if outcome.add(recorder.take(*from, piece, at)) {
                return outcome;
            }
        }
    }
    outcome.add(recorder.end(Side::Client, at));
    outcome
}

/// Replays a client's messages, cut into pieces of `size`.
fn play(protocol: Protocol, calls: &[Exchange], said: &[(Side, &[u8])], size: usize) -> Vec<u8> {
    let book = Arc::new(Recordings::new(calls.to_vec(), Noise::default()));
    let mut player =
        player(protocol, &link(), Connection::on(&book)).expect("each of these has a player");
    let mut sent = Vec::new();
    let mut closed = false;
    let mut add = |steps: Vec<PlayStep>| {
        for step in steps {
            assert!(!closed, "nothing is said on a closed connection");
            match step {
                PlayStep::Send(bytes) => sent.extend(bytes),
                PlayStep::Push(push) => sent.extend(push.bytes),
                PlayStep::Hold | PlayStep::UntilMore(_) | PlayStep::CloseAfter(_) => {}
                PlayStep::StartTls(_) => return true,
                PlayStep::Close => closed = true,
            }
        }
        false
    };
    if add(player.open()) {
        return sent;
    }
    for (_, bytes) in said.iter().filter(|(from, _)| *from == Side::Client) {
        for piece in bytes.chunks(size) {
            if add(player.take(piece)) {
                return sent;
            }
        }
    }
    sent
}

/// Records and replays any messages to and from a database. Neither fails nor depends on how the
/// bytes are cut. Unencrypted bytes reach the other side.
pub fn a_call_to_a_database_is_taken_apart(bytes: &[u8]) {
    let mut source = Source(bytes);
    let protocol = source.choice(&PROTOCOLS);
    let mut said = Vec::new();
    while !source.is_empty() {
        let from = if source.flag() {
            Side::Server
        } else {
            Side::Client
        };
        said.push((from, source.bytes()));
    }
    let whole = record(protocol, &said, usize::MAX);
    for size in [1, 3] {
        assert_eq!(
            record(protocol, &said, size),
            whole,
            "{protocol:?} in pieces of {size}"
        );
    }
    if protocol == Protocol::Redis {
        for (side, sent) in [
            (Side::Client, &whole.to_server),
            (Side::Server, &whole.to_client),
        ] {
            let all: Vec<u8> = said
                .iter()
                .filter(|(from, _)| *from == side)
                .flat_map(|(_, b)| b.to_vec())
                .collect();
            assert_eq!(*sent, all, "recording changes nothing");
        }
    }
    let answer = play(protocol, &whole.calls, &said, usize::MAX);
    for size in [1, 3] {
        assert_eq!(
            play(protocol, &whole.calls, &said, size),
            answer,
            "{protocol:?} in pieces of {size}"
        );
    }
}
