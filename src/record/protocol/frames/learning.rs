//! Learns the frames of an unknown protocol from all connections to a target.
//!
//! A length at one place must divide everything that both sides sent, and each call must have one
//! answer: by a number in both frames, or in order. Otherwise the target stays in turns.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::stream::{Stream, pieces};
use super::{FrameFormat, is_text};
use crate::call::{Exchange, Framing, Side};
use crate::protocol::framing::{RANDOM_BYTES, length, unnumbered, value};

/// Last place of a length.
const MAX_LENGTH_PLACE: u8 = 8;
/// Most bytes of a header after a length that does not count them.
const MAX_HEADER_AFTER_BYTES: u8 = 16;
/// Last place of the number of a call.
const MAX_NUMBER_PLACE: u8 = 16;
/// Fewest different numbers that show that a place has numbers.
const MIN_NUMBERS: usize = 3;

/// Frames of one connection in order.
type Talk = Vec<(Side, Vec<u8>)>;
/// Requests of one connection and their answers.
type Pairs<'a> = Vec<(&'a [u8], &'a [u8])>;

/// Returns the frames of a target from the turns of its connections; `None` if they show none.
pub(super) fn learn<'a>(connections: impl Iterator<Item = &'a [&'a Exchange]>) -> Option<Framing> {
    let connections: Vec<_> = connections.collect();
    let sides = |turns: &&[&Exchange]| [Side::Client, Side::Server].map(|by| stream(turns, by));
    let streams: Vec<Vec<u8>> = connections.iter().flat_map(sides).collect();
    let framing = candidates().find(|framing| divides(*framing, &streams))?;
    let mut turns = connections.iter().copied().flatten();
    if framing == Framing::default() && !turns.all(|turn| has_line_for_line(turn)) {
        return None;
    }
    let talks: Option<Vec<Talk>> = connections
        .iter()
        .map(|turns| talk(framing, turns))
        .collect();
    let talks = talks?;
    let pair = |framing: Framing| -> Option<Vec<Pairs<'_>>> {
        talks.iter().map(|talk| pairs(framing, talk)).collect()
    };
    let in_order = pair(framing).map(|pairs| (framing, pairs));
    let numbered = numbers(framing).find_map(|framing| Some((framing, pair(framing)?)));
    match (numbered, in_order) {
        (Some((numbered, pairs)), _) if are_no_keys(numbered, &pairs) => Some(numbered),
        (Some((_, numbered)), Some((_, pairs))) if numbered != pairs => None,
        (_, in_order) => in_order.map(|(framing, _)| framing),
    }
}

fn stream(turns: &[&Exchange], by: Side) -> Vec<u8> {
    let pieces = turns.iter().flat_map(|turn| pieces(turn));
    let said = pieces.filter(|piece| piece.message.from == by);
    said.flat_map(|piece| piece.message.bytes.iter().copied())
        .collect()
}

/// Returns possible frames without numbers: aligned and long lengths first, and those that count all
/// of a frame or all that follows. Lines are last.
fn candidates() -> impl Iterator<Item = Framing> {
    let places = (0..=MAX_LENGTH_PLACE).flat_map(|at| [(at, 4), (at, 2)]);
    let mut all: Vec<Framing> = places
        .flat_map(|(at, width)| {
            let after = at + width..=at + width + MAX_HEADER_AFTER_BYTES;
            let uncounted = std::iter::once(0).chain(after);
            uncounted
                .flat_map(move |it| [0, 1].map(|order| Framing([at, width, order, it, 0, 0, 0])))
        })
        .collect();
    all.sort_by_key(|it| (it.0[0] % it.0[1] != 0, it.0[1] == 2, !is_usual(*it)));
    all.into_iter().chain([Framing::default()])
}

/// Returns true if a length counts the whole frame, or all that follows it.
fn is_usual(Framing([at, width, _, uncounted, ..]): Framing) -> bool {
    uncounted == 0 || uncounted == at + width
}

/// Returns true if streams consist of frames of enough different lengths, or of lines of text.
fn divides(framing: Framing, streams: &[Vec<u8>]) -> bool {
    let mut lengths = BTreeSet::new();
    for stream in streams {
        let mut rest = stream.as_slice();
        while !rest.is_empty() {
            let length = length(framing, rest).ok().flatten();
            let Some(after) = length.and_then(|length| rest.get(length..)) else {
                return false;
            };
            lengths.insert(length);
            rest = after;
        }
    }
    match framing.0[1] {
        0 => streams.iter().all(|stream| is_text(stream)),
        _ => lengths.len() >= if is_usual(framing) { 2 } else { 3 },
    }
}

/// Returns true if each line of a turn has one line as its answer, or if a single one has none.
fn has_line_for_line(turn: &Exchange) -> bool {
    let lines = |by| memchr::memchr_iter(b'\n', &stream(&[turn], by)).count();
    let (asked, said) = (lines(Side::Client), lines(Side::Server));
    asked == 0 || said == asked || (asked, said) == (1, 0)
}

fn talk(framing: Framing, turns: &[&Exchange]) -> Option<Talk> {
    let format = FrameFormat::learned(framing);
    let (mut streams, mut talk) = ([Stream::default(), Stream::default()], Talk::new());
    for piece in turns.iter().flat_map(|turn| pieces(turn)) {
        let (side, bytes) = (piece.message.from, &piece.message.bytes);
        let frames = streams[side as usize].take(&format, side, bytes).ok()?;
        talk.extend(frames.into_iter().map(|frame| (side, frame)));
    }
    Some(talk)
}

/// Pairs each request with its only answer, by number or in order; greetings come first. `None` if
/// requests besides the last have none, or if frames have no numbers of their own.
fn pairs(framing: Framing, talk: &Talk) -> Option<Pairs<'_>> {
    let has_numbers = framing.0[4] > 0;
    let (mut open, mut known, mut pairs) = (Vec::new(), HashSet::new(), Pairs::new());
    for (side, frame) in talk {
        let number = framing.number_in(frame, *side == Side::Server);
        if *side == Side::Client {
            if has_numbers && !known.insert(number?) {
                return None;
            }
            open.push((number, &frame[..]));
        } else if known.contains(number.unwrap_or_default())
            || !has_numbers && pairs.len() + open.len() > 0
        {
            let next = open
                .iter()
                .position(|(it, _)| !has_numbers || *it == number)?;
            pairs.push((open.remove(next).1, frame));
        }
    }
    (open.len() <= 1).then_some(pairs)
}

/// Returns the framing with each possible place of a number beside the length: long and aligned ones
/// first.
fn numbers(framing: Framing) -> impl Iterator<Item = Framing> {
    let Framing([at, width, order, uncounted, ..]) = framing;
    let is_beside = move |place: u8, bytes: u8| place + bytes <= at || place >= at + width;
    let places = move |bytes| (0..=MAX_NUMBER_PLACE).filter(move |place| is_beside(*place, bytes));
    let all = [8, 4, 2].into_iter().flat_map(move |bytes| {
        places(bytes).flat_map(move |asked| places(bytes).map(move |said| [bytes, asked, said]))
    });
    let mut all: Vec<[u8; 3]> = all.collect();
    let unaligned = |place: u8| 2 - place.trailing_zeros().min(2);
    all.sort_by_key(|[bytes, asked, said]| {
        (
            8 - bytes,
            unaligned(*asked) + unaligned(*said),
            asked != said,
        )
    });
    all.into_iter()
        .map(move |[bytes, asked, said]| Framing([at, width, order, uncounted, bytes, asked, said]))
}

/// Returns true if numbers are not what requests ask for. They are random, or requests that differ
/// in them alone have equal answers, or they count requests of several kinds.
fn are_no_keys(framing: Framing, connections: &[Pairs<'_>]) -> bool {
    let all = || connections.iter().flatten();
    let numbers = all().filter_map(|(request, _)| framing.number_in(request, false));
    let known: HashSet<&[u8]> = numbers.collect();
    let is_printable = |number: &&[u8]| number.iter().all(|byte| (b' '..=b'~').contains(byte));
    if known.len() < MIN_NUMBERS || known.iter().all(is_printable) {
        return false;
    }
    if framing.0[4] == RANDOM_BYTES {
        let variety = |at: usize| known.iter().map(|it| it[at]).collect::<HashSet<u8>>().len();
        return (0..usize::from(RANDOM_BYTES)).all(|at| variety(at) * 2 > known.len().min(128));
    }
    let mut answers: HashMap<Vec<u8>, HashSet<Vec<u8>>> = HashMap::new();
    for (request, answer) in all() {
        let same = answers
            .entry(unnumbered(framing, request, false))
            .or_default();
        same.insert(unnumbered(framing, answer, true));
    }
    let counts = |pairs: &Pairs<'_>| {
        [false, true].into_iter().any(|is_little_endian| {
            let all = pairs.iter();
            let numbers = all.filter_map(|(request, _)| framing.number_in(request, false));
            let numbers = numbers.map(|number| value(number, is_little_endian));
            let numbers: BTreeSet<u64> = numbers.collect();
            let span = numbers
                .last()
                .zip(numbers.first())
                .map(|(last, first)| last - first);
            span.is_none_or(|span| span < numbers.len() as u64)
        })
    };
    answers.values().all(|same| same.len() == 1)
        || answers.len() > 1 && connections.iter().all(counts)
}
