//! Broken, cut and hostile streams.

use pretty_assertions::assert_eq;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::protocol::dissector::{parts, parts_of};
use crate::protocol::heartbeat::Heartbeats;
use crate::protocol::responder::{Prompter, ResponderPlayer, messages_from};
use crate::protocol::{protobuf, registry};

const PUBLISH: &[u8] = b"\x01\0\x01\0\0\0\x0a\0\x3c\0\x28\0\0\0\x01q\0\xce\
    \x02\0\x01\0\0\0\x0e\0\x3c\0\0\0\0\0\0\0\0\0\x02\0\0\xce\x03\0\x01\0\0\0\x02hi\xce";
/// Frames of the client and of the server; the first ones open a connection.
type Frames = (Protocol, &'static [&'static [u8]], &'static [&'static [u8]]);

const STREAMS: [Frames; 6] = [
    (
        Protocol::Mqtt,
        &[
            MQTT_CONNECT,
            b"\x30\x04\0\x01tx",
            b"\x32\x06\0\x01t\0\x01x",
            b"\x82\x06\0\x02\0\x01t\0",
            b"\xc0\0",
            b"\xe0\0",
            b"\x10\x1a\0\x04MQTT\x05\xc6\0\x3c\0\0\x01a\0\0\x01t\0\x01w\0\x01u\0\x01p",
        ],
        &[
            b"\x20\x02\0\0",
            b"\x90\x03\0\x02\0",
            b"\x40\x02\0\x01",
            b"\xd0\0",
            b"\x30\x04\0\x01tx",
        ],
    ),
    (
        Protocol::Amqp,
        &[b"AMQP\0\0\x09\x01", PUBLISH, b"\x08\0\0\0\0\0\0\xce", b"\x01\0\x01\0\0\0\x05\0\x14\0\x0a\0\xce"],
        &[
            b"\x01\0\0\0\0\0\x04\0\x0a\0\x0a\xce",
            b"\x01\0\x01\0\0\0\x0d\0\x3c\0\x50\0\0\0\0\0\0\0\x01\0\xce",
            b"\x08\0\0\0\0\0\0\xce",
        ],
    ),
    (
        Protocol::Nats,
        &[
            b"CONNECT {\"pass\":\"p\"}\r\n",
            b"PING\r\n",
            b"PONG\r\n",
            b"SUB in 1\r\n",
            b"PUB out 5\r\na\r\nb\n\r\n",
            b"HPUB out 12 13\r\nNATS/1.0\r\n\r\na\r\n",
        ],
        &[
            b"INFO {\"a\":1}\r\n",
            b"PONG\r\n",
            b"PING\r\n",
            b"MSG in 1 2\r\nhi\r\n",
            b"+OK\r\n",
            b"-ERR 'no'\r\n",
        ],
    ),
    (
        Protocol::WebSocket,
        &[
            b"\x81\x82\0\0\0\0hi",
            b"\x89\x81\0\0\0\0p",
            b"\x88\x82\0\0\0\0\x03\xe8",
            b"\x82\xfe\0\x03\0\0\0\0abc",
        ],
        &[b"\x81\x02ok", b"\x8a\x01p", b"\x82\x7f\0\0\0\0\0\0\0\x01a"],
    ),
    (
        Protocol::Memcached,
        &[
            b"get a\r\n",
            b"set a 0 0 4 noreply\r\n\r\n\r\n\r\n",
            b"mg a v q\r\n",
            b"mn\r\n",
            b"stats\r\n",
            b"ms c 2 q\r\nhi\r\n",
            b"quit\r\n",
        ],
        &[
            b"END\r\n",
            b"VALUE a 0 5\r\nEND\r\n\r\nEND\r\n",
            b"VA 1 ka\r\nx\r\n",
            b"MN\r\n",
            b"STAT a 1\r\nEND\r\n",
            b"5\r\n",
        ],
    ),
    (
        Protocol::Smtp,
        &[
            b"EHLO a\r\n",
            b"AUTH LOGIN\r\n",
            b"cGFzc3dvcmQ=\r\n",
            b"MAIL FROM:<a@b>\r\n",
            b"DATA\r\n",
            b"Message-ID: <1234567890@a>\r\nContent-Type: x; boundary=abcdefghij\r\n\r\n--abcdefghij\r\n.\r\n",
            b"BDAT 3 LAST\r\nabc",
        ],
        &[b"220 a\r\n", b"250-a\r\n250 b\r\n", b"354 on\r\n", b"334 UGFz\r\n"],
    ),
];

/// A message of one side at a time of its own, and `true` if it comes unasked.
type Step = (Side, Vec<u8>, bool);

/// Changes a byte, ends the message before it or adds one.
fn change(bytes: &mut Vec<u8>, place: Index, byte: u8, kind: u8) {
    if bytes.is_empty() {
        return;
    }
    let place = place.index(bytes.len());
    match kind {
        0 => bytes[place] = byte,
        1 => bytes.truncate(place),
        2 => bytes.insert(place, byte),
        _ => bytes[place] = b"0123456789 \r\n\0\xff"[usize::from(byte % 15)],
    }
}

/// Streams of a protocol with some changed bytes, in pieces.
fn conversation() -> impl Strategy<Value = Vec<Step>> {
    let frames = vec((any::<bool>(), any::<Index>()), 0..12);
    let changes = vec((any::<Index>(), any::<u8>(), 0..4_u8), 0..4);
    let cuts = vec((any::<Index>(), any::<bool>()), 0..6);
    (0..STREAMS.len(), frames, changes, cuts).prop_map(|(at, frames, changes, cuts)| {
        let (_, asked, said) = STREAMS[at];
        let step = |is_asked, index: Option<Index>| {
            let (side, of) = if is_asked {
                (Side::Client, asked)
            } else {
                (Side::Server, said)
            };
            let frame = of[index.map_or(0, |index| index.index(of.len()))];
            (side, frame.to_vec(), false)
        };
        let mut steps = vec![step(true, None), step(false, None)];
        steps.extend(
            frames
                .into_iter()
                .map(|(is_asked, index)| step(is_asked, Some(index))),
        );
        if said[0].starts_with(b"INFO") || said[0].starts_with(b"220") {
            steps.swap(0, 1);
        }
        for (index, byte, kind) in changes {
            let at = index.index(steps.len());
            change(&mut steps[at].1, index, byte, kind);
        }
        for (index, is_late) in cuts {
            let at = index.index(steps.len());
            let (side, bytes, _) = &mut steps[at];
            let rest = bytes.split_off(index.index(bytes.len() + 1));
            let rest = (*side, rest, is_late && *side == Side::Server);
            steps.insert(at + 1, rest);
        }
        steps
    })
}

/// Turns as the recorder makes them: each piece of the client begins one.
fn turns(steps: &[Step]) -> Vec<Exchange> {
    type TimedMessages<'a> = Vec<(&'a [u8], Option<u64>)>;
    let mut turns: Vec<(&[u8], TimedMessages<'_>)> = Vec::new();
    for (side, bytes, is_late) in steps.iter().filter(|(_, bytes, _)| !bytes.is_empty()) {
        if *side == Side::Client {
            turns.push((bytes, Vec::new()));
            continue;
        }
        if turns.is_empty() {
            turns.push((b"", Vec::new()));
        }
        let (_, said) = turns.last_mut().expect("has a turn");
        let is_pushed = *is_late || said.iter().any(|(_, waited)| waited.is_some());
        said.push((bytes, is_pushed.then_some(300)));
    }
    let turns = turns.iter().enumerate();
    turns
        .map(|(at, (asked, said))| turn(1, at as u64 * 500, asked, said))
        .collect()
}

fn all(calls: &[Exchange], side: Side) -> Vec<u8> {
    let pieces = calls.iter().flat_map(|call| messages_from(call, side));
    pieces.flatten().copied().collect()
}

fn sorted(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.sort_unstable();
    bytes
}

/// Returns true if the streams may have heartbeats, which are left out.
fn has_heartbeats(format: &FrameFormat, streams: [&[u8]; 2]) -> bool {
    let has = |beat: &[u8]| {
        let mut streams = streams.iter();
        !beat.is_empty() && streams.any(|all| memchr::memmem::find(all, beat).is_some())
    };
    match format.heartbeats {
        Heartbeats::Known(beats) => beats.iter().any(|(beat, answer)| has(beat) || has(answer)),
        _ => (0x88..=0x8a_u8).any(|kind| has(&[kind])),
    }
}

/// Plays calls to a client that sends these bytes in pieces of these lengths.
fn play(calls: Vec<Exchange>, protocol: Protocol, mut asked: &[u8], cuts: &[usize]) {
    let link = Link {
        target: calls[0].target.clone(),
        tls: false,
        connection: 9,
    };
    let book = Arc::new(Recordings::new(calls, Noise::default()));
    let prompter = Prompter::new(link, protocol, Connection::on(&book));
    let responder = registry::responder(protocol).expect("a known protocol");
    let mut player = ResponderPlayer::new(responder, prompter);
    player.open();
    for cut in cuts.iter().cycle() {
        let (piece, after) = asked.split_at(asked.len().min(*cut));
        if piece.is_empty() {
            break;
        }
        player.take(piece);
        asked = after;
    }
}

/// Asks everything that a format answers about these bytes.
fn read_all(protocol: Protocol, bytes: &[u8], other: &[u8]) {
    let format = of(protocol).expect("has frames");
    let calls = [other, bytes].map(|bytes| OpenCall {
        bytes: bytes.to_vec(),
        is_answered: false,
    });
    for side in [Side::Client, Side::Server] {
        let _ = (format.length)(side, bytes, other);
    }
    parts_of(protocol, bytes);
    (format.answered)(&calls, bytes);
    (format.answered)(&calls, other);
    (format.repeats)(bytes);
    (format.writes)(bytes);
    (format.is_opening)(bytes, other);
    (format.renumber)(bytes, other, &mut other.to_vec());
    (format.renumber)(other, bytes, &mut other.to_vec());
    credentials(protocol, bytes);
    protobuf::fields(bytes);
}

proptest! {
    #[test]
    fn broken_streams_keep_their_bytes(steps in conversation(), cuts in vec(1..40_usize, 1..20)) {
        let turns = turns(&steps);
        let calls = split(turns.clone());
        for call in &calls {
            parts(&call.content);
        }
        let Some(protocol) = calls.first().map(|call| call.content.protocol()) else {
            return Ok(());
        };
        let [asked, said] = [Side::Client, Side::Server].map(|side| all(&turns, side));
        let Some(format) = of(protocol) else {
            return Ok(());
        };
        if !has_heartbeats(&format, [&asked, &said]) {
            // A frame of the client may be incomplete, and answers leave their order.
            prop_assert!(asked.starts_with(&all(&calls, Side::Client)));
            prop_assert_eq!(sorted(all(&calls, Side::Server)), sorted(said));
        }
        play(calls, protocol, &asked, &cuts);
    }

    #[test]
    fn broken_frames_are_read(bytes in vec(any::<u8>(), 0..60), at in 0..STREAMS.len(), index in any::<Index>()) {
        let (protocol, asked, said) = STREAMS[at];
        read_all(protocol, &bytes, &bytes);
        for frame in asked.iter().chain(said) {
            let cut = &frame[..index.index(frame.len() + 1)];
            read_all(protocol, cut, &bytes);
            read_all(protocol, cut, frame);
        }
    }
}

#[test]
fn frame_longer_than_memory_stays_incomplete() {
    let most = usize::MAX;
    let stream = format!("PUB a {most}\r\n\r\nset a 0 0 {most}\r\nBDAT {most}\r\nVA {most}\r\n");
    for (protocol, side, at) in [
        (Protocol::Nats, Side::Client, "PUB"),
        (Protocol::Memcached, Side::Client, "set"),
        (Protocol::Memcached, Side::Server, "VA"),
        (Protocol::Smtp, Side::Client, "BDAT"),
    ] {
        let from = stream.find(at).expect("is there");
        let format = of(protocol).expect("has frames");
        let length = (format.length)(side, &stream.as_bytes()[from..], b"");
        assert_eq!(length, Ok(Some(most)), "{at}");
    }
}
