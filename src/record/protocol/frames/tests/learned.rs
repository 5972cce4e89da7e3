//! Frames that a recording of an unknown protocol shows.

use pretty_assertions::assert_eq;

use super::*;
use crate::call::Framing;
use crate::protocol::registry;
use crate::protocol::responder::{Prompter, ResponderPlayer};

/// Returns a frame with its length in two big-endian bytes.
fn short(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u16).to_be_bytes(), content].concat()
}

/// Returns a frame with a mark, and its length after it in four little-endian bytes.
fn marked(content: &[u8]) -> Vec<u8> {
    [
        &b"\x9aQ\x01\0"[..],
        &(content.len() as u32).to_le_bytes(),
        content,
    ]
    .concat()
}

/// Returns a frame with its whole length, a kind and a number.
fn numbered(kind: u8, number: u32, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32 + 10;
    let head = [&length.to_be_bytes()[..], &[0, kind], &number.to_le_bytes()];
    [&head.concat(), content].concat()
}

/// Returns a frame with its length and a random number.
fn random(number: u64, content: &[u8]) -> Vec<u8> {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let length = content.len() as u32 + 8;
    [&length.to_be_bytes()[..], &number.to_be_bytes(), content].concat()
}

/// Calls with numbers from 1, which are answered in the opposite order.
fn numbered_turn(requests: &[(u8, &[u8], &[u8])]) -> Exchange {
    let all = || (1..).zip(requests);
    let asked = all().map(|(number, (kind, asked, _))| numbered(*kind, number, asked));
    let said = all().map(|(number, (kind, _, said))| numbered(*kind | 0x80, number, said));
    let said: Vec<_> = said.collect();
    let said: Vec<u8> = said.into_iter().rev().flatten().collect();
    turn(1, 0, &asked.collect::<Vec<_>>().concat(), &[(&said, None)])
}

fn learned(turns: Vec<Exchange>) -> Option<[u8; 7]> {
    match split(turns)[0].content.protocol() {
        Protocol::Framed(framing) => Some(framing.0),
        _ => None,
    }
}

#[test]
fn frames_are_learned_from_all_connections() {
    let pipelined = [short(b"get a"), short(b"get long")].concat();
    let in_order = vec![
        turn(1, 0, b"", &[(&short(b"hello"), None)]),
        turn(1, 5, &pipelined, &[(&short(b"1"), None)]),
        turn(2, 6, &short(b"get a"), &[(&short(b"1"), None)]),
        turn(1, 9, &short(b"last"), &[(&short(b"22"), None)]),
    ];
    let marked = vec![
        turn(1, 0, &marked(b"get a"), &[(&marked(b"1"), None)]),
        turn(1, 5, &marked(b"get b"), &[(&marked(&[b'2'; 300]), None)]),
    ];
    let answers: [(u8, &[u8], &[u8]); 4] = [
        (1, b"next", b"1"),
        (1, b"next", b"2"),
        (2, b"get abc", b"abc"),
        (1, b"next", b"3"),
    ];
    let random: Vec<_> = (1..9)
        .map(|n| {
            turn(
                1,
                n,
                &random(n, b"next"),
                &[(&random(n, &[n as u8; 2]), None)],
            )
        })
        .collect();
    let lines = vec![
        turn(1, 0, b"one\nlonger\n", &[(b"1\n22\r\n", None)]),
        turn(1, 5, b"two\n", &[(b"3\n", None)]),
    ];
    for (turns, expected) in [
        (in_order, [0, 2, 0, 2, 0, 0, 0]),
        (marked, [4, 4, 1, 8, 0, 0, 0]),
        (vec![numbered_turn(&answers)], [0, 4, 0, 0, 4, 6, 6]),
        (random, [0, 4, 0, 4, 8, 4, 4]),
        (lines, [0; 7]),
    ] {
        assert_eq!(learned(turns), Some(expected));
    }
}

#[test]
fn target_without_plain_frames_stays_in_turns() {
    let lookups: [(u8, &[u8], &[u8]); 4] = [
        (1, b"", b"Ann"),
        (1, b"", b"Bob"),
        (1, b"", b"Charles"),
        (1, b"", b"Dora"),
    ];
    let framed = || turn(1, 0, &short(b"get a"), &[(&short(b"1"), None)]);
    let two = [short(b"1"), short(b"2")].concat();
    let pushed = short(b"news");
    for turns in [
        // The number may be the key of what is asked.
        vec![numbered_turn(&lookups)],
        vec![framed(), turn(2, 5, b"get b", &[(b"2", None)])],
        vec![framed(), turn(1, 5, &short(b"list"), &[(&two, None)])],
        vec![framed(), turn(1, 5, &short(b"get b")[..6], &[])],
        vec![
            framed(),
            turn(1, 5, &short(b"get b"), &[(&short(b"1")[..2], None)]),
        ],
        vec![
            framed(),
            turn(
                1,
                5,
                &short(b"get b"),
                &[(b"", None), (&pushed, Some(500)), (&two, Some(600))],
            ),
        ],
        // One length shows nothing.
        vec![turn(1, 0, b"\0\x02ab", &[(b"\0\x02cd", None)])],
        vec![
            turn(1, 0, b"put 5\nhello\n", &[(b"ok\n", None)]),
            turn(1, 5, b"take\n", &[(b"5\nhello\n", None)]),
        ],
        vec![turn(1, 0, b"one\n", &[(b"\x80\n", None)])],
    ] {
        assert_eq!(split(turns.clone()), turns);
    }
}

/// Sends these requests to a player of calls with numbers, and returns what it says and misses.
fn played(calls: &[Exchange], asked: &[Vec<u8>]) -> (Vec<Vec<u8>>, usize) {
    let protocol = calls[0].content.protocol();
    let link = Link {
        target: Target::of_authority("host:1"),
        tls: false,
        connection: 9,
    };
    let book = Arc::new(Recordings::new(calls.to_vec(), Noise::default()));
    let prompter = Prompter::new(link, protocol, Connection::on(&book));
    let responder = registry::responder(protocol).expect("has frames");
    let mut player = ResponderPlayer::new(responder, prompter);
    let steps = asked.iter().flat_map(|asked| player.take(asked));
    let said = steps.filter_map(|step| match step {
        PlayStep::Send(bytes) => Some(bytes),
        _ => None,
    });
    (said.collect(), book.report().missed.len())
}

#[test]
fn answer_has_number_of_this_run() {
    let calls = split(vec![numbered_turn(&[
        (1, b"get a", b"1"),
        (1, b"get b", b"22"),
        (2, b"ping", b"pong"),
    ])]);
    let asked = [
        numbered(2, 7, b"ping"),
        numbered(1, 8, b"get b"),
        numbered(1, 9, b"get a"),
        numbered(1, 10, b"get c"),
    ];
    let expected = vec![
        numbered(0x82, 7, b"pong"),
        numbered(0x81, 8, b"22"),
        numbered(0x81, 9, b"1"),
    ];
    assert_eq!(played(&calls, &asked), (expected, 1));
}

#[test]
fn random_number_of_recording_is_preferred() {
    let answer = |n: u64, number: u64| random(number, &n.to_le_bytes()[..2]);
    let turn = |n: u64| turn(1, n, &random(n, b"next"), &[(&answer(n, n), None)]);
    let calls = split((1..9).map(turn).collect());
    for (asked, answers) in [([98, 99], [1, 2]), ([5, 3], [5, 3])] {
        let requests = asked.map(|number| random(number, b"next"));
        let expected = [0, 1].map(|at| answer(answers[at], asked[at])).to_vec();
        assert_eq!(played(&calls, &requests), (expected, 0));
    }
}

#[test]
fn frame_shorter_than_its_header_is_refused() {
    let format = FrameFormat::learned(Framing([0, 4, 0, 0, 0, 0, 0]));
    let length = |bytes: &[u8]| format.length(Side::Client, bytes, &[]);
    assert_eq!(length(b"\0\0\0"), Ok(None));
    assert_eq!(length(b"\0\0\0\x04"), Ok(Some(4)));
    assert_eq!(length(b"\xff\xff\xff\xff"), Ok(Some(u32::MAX as usize)));
    assert_eq!(
        length(b"\0\0\0\x03"),
        Err("a frame that is shorter than its header")
    );
}
