//! Requests of Kafka, their answers, and record batches.

use pretty_assertions::assert_eq;

use super::super::tests::{answered, split, told, turn};
use super::*;
use crate::protocol::part_list::Part;

/// Returns a request of a client `c`.
fn request(key: u16, version: u16, number: u32, body: &[u8]) -> Vec<u8> {
    let length = (11 + body.len()) as u32;
    let head = [key.to_be_bytes(), version.to_be_bytes()].concat();
    let client = b"\0\x01c";
    [
        &length.to_be_bytes()[..],
        &head,
        &number.to_be_bytes(),
        client,
        body,
    ]
    .concat()
}

fn answer(number: u32, body: &[u8]) -> Vec<u8> {
    let length = (4 + body.len()) as u32;
    [&length.to_be_bytes()[..], &number.to_be_bytes(), body].concat()
}

/// Returns a batch of one record `k: v` with a header `h: x`. `new` is in all that each run makes
/// anew.
fn batch(new: u8, attributes: u8) -> Vec<u8> {
    let record = b"\x18\0\0\0\x02k\x02v\x02\x02h\x02x";
    let length = (49 + record.len()) as u32;
    [
        &[new; 8][..],
        &length.to_be_bytes(),
        &[new; 4],
        &[2],
        &[new; 4],
        &[0, attributes],
        &[0; 4],
        &[new; 30],
        &[0, 0, 0, 1],
        record,
    ]
    .concat()
}

fn produce(number: u32, batch: &[u8]) -> Vec<u8> {
    let length = (batch.len() as u32).to_be_bytes();
    let place = b"\xff\xff\xff\xff\0\0\x75\x30\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0";
    request(PRODUCE, 8, number, &[&place[..], &length, batch].concat())
}

fn parts_of(request: &[u8]) -> Vec<Part> {
    let mut taken = PartList::default();
    parts(request, &mut taken).expect("is a request");
    taken.parts
}

/// Returns the values of a request, each with its name.
fn values_of(request: &[u8]) -> Vec<(String, String)> {
    let values = parts_of(request).into_iter().filter(Part::is_value);
    values.map(|part| (part.name, part.text)).collect()
}

#[track_caller]
fn assert_values(request: &[u8], expected: &[(&str, &str)]) {
    let expected = expected
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    assert_eq!(values_of(request), expected.collect::<Vec<_>>());
}

#[test]
fn answers_belong_to_requests_of_their_numbers() {
    let asked = [
        request(HEARTBEAT, 0, 2, b"\0\x04team"),
        request(FETCH, 0, 3, b"news"),
    ];
    let said = [answer(1, b"late"), answer(2, b"ok")].concat();
    let calls = split(vec![
        turn(1, 0, &request(11, 0, 1, b"\0\x04team"), &[]),
        turn(1, 5, &asked.concat(), &[(&said, None)]),
        turn(1, 9, b"", &[(&answer(3, b"none"), Some(500))]),
    ]);
    let shown = |bytes: Vec<u8>| bytes.escape_ascii().to_string();
    let mut expected = vec![
        answered("Kafka", "JoinGroup team", &[&shown(answer(1, b"late"))]),
        answered("Kafka", "Heartbeat team", &[&shown(answer(2, b"ok"))]),
        answered("Kafka", "Fetch news", &[]),
    ];
    expected[2].3 = vec![(503, shown(answer(3, b"none")))];
    assert_eq!(told(calls), expected);
}

#[test]
fn opening_is_request_with_answer_of_its_number() {
    let first = request(API_VERSIONS, 4, 7, b"");
    let zookeeper = b"\0\0\0\x2c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x75\x30\0\0\0\0\0\0\0\0";
    for (client, server, expected) in [
        (&first[..], &answer(7, b"")[..], true),
        (&first, b"", true),
        (&first, &answer(8, b""), false),
        (&first[..10], b"", false),
        (zookeeper, b"", false),
        (b"GET / HTTP/1.1\r\n\r\n", b"", false),
    ] {
        let is_found = is_opening(client, server);
        assert_eq!(is_found, expected, "{}", client.escape_ascii());
    }
}

#[test]
fn produced_records_of_two_runs_are_equal() {
    let one = produce(1, &batch(1, 0));
    assert_eq!(parts_of(&one), parts_of(&produce(9, &batch(9, 0))));
    let expected = [
        ("transaction.1", ""),
        ("topic.1", "t"),
        ("partition.1", "0"),
        ("text.1", "k"),
        ("text.2", "v"),
        ("text.3", "h"),
        ("text.4", "x"),
    ];
    assert_values(&one, &expected);
}

#[test]
fn compressed_batch_counts_by_number_of_records() {
    let place = [
        ("transaction.1", ""),
        ("topic.1", "t"),
        ("partition.1", "0"),
    ];
    assert_values(&produce(1, &batch(1, 3)), &place);
}

#[test]
fn produced_bytes_that_are_no_batch_are_text() {
    let last = values_of(&produce(1, b"text")).pop();
    assert_eq!(last, Some(("text.1".to_owned(), "text".to_owned())));
}

#[test]
fn fetched_places_are_in_order() {
    let limits = [0; 25];
    let place = |partition: u8, offset: u8| {
        let mut place = vec![0, 0, 0, partition, 9, 9, 9, 9];
        place.extend([0, 0, 0, 0, 0, 0, 0, offset]);
        place
    };
    let rest = [7; 12];
    let places = [&place(1, 5)[..], &rest, &place(0, 3), &rest].concat();
    let old = [&limits[..], b"\0\0\0\x01\0\x01t\0\0\0\x02", &places].concat();
    let expected = [
        ("topic.1", "t"),
        ("partition.1", "0"),
        ("offset.1", "3"),
        ("topic.2", "t"),
        ("partition.2", "1"),
        ("offset.2", "5"),
    ];
    assert_values(&request(FETCH, 11, 1, &old), &expected);
    // Flexible: tagged fields of the head, lengths that are one more, and tags after each place.
    let flexible = [
        &b"\0"[..],
        &limits,
        b"\x02\x02t\x02",
        &place(1, 5),
        &[7; 16],
        b"\0\0",
    ];
    let expected = [("topic.1", "t"), ("partition.1", "1"), ("offset.1", "5")];
    assert_values(&request(FETCH, 12, 1, &flexible.concat()), &expected);
}

#[test]
fn listed_places_are_in_order_with_times() {
    let place = |partition: u8, time: i64| {
        let time = time.to_be_bytes();
        [&[0, 0, 0, partition, 9, 9, 9, 9][..], &time].concat()
    };
    let head = b"\xff\xff\xff\xff\0\0\0\0\x01\0\x01t\0\0\0\x02";
    let body = [&head[..], &place(1, -2), &place(0, 1234)].concat();
    let expected = [
        ("topic.1", "t"),
        ("partition.1", "0"),
        ("time.1", "1234"),
        ("topic.2", "t"),
        ("partition.2", "1"),
        ("time.2", "-2"),
    ];
    assert_values(&request(LIST_OFFSETS, 4, 1, &body), &expected);
}

#[test]
fn committed_places_are_in_order() {
    let place = |partition: u8, offset: u8| {
        let offset = [0, 0, 0, 0, 0, 0, 0, offset];
        [&[0, 0, 0, partition][..], &offset, b"\0\x01m"].concat()
    };
    let head = b"\0\x01g\0\0\0\x07\0\x01i\0\0\0\x01\0\x01t\0\0\0\x02";
    let body = [&head[..], &place(1, 5), &place(0, 3)].concat();
    let expected = [
        ("group.1", "g"),
        ("member.1", "i"),
        ("topic.1", "t"),
        ("partition.1", "0"),
        ("offset.1", "3"),
        ("metadata.1", "m"),
        ("topic.2", "t"),
        ("partition.2", "1"),
        ("offset.2", "5"),
        ("metadata.2", "m"),
    ];
    assert_values(&request(OFFSET_COMMIT, 5, 1, &body), &expected);
    let body = b"\0\x01g\0\0\0\x01\0\x01t\0\0\0\x02\0\0\0\x01\0\0\0\0";
    let expected = [
        ("group.1", "g"),
        ("topic.1", "t"),
        ("partition.1", "0"),
        ("topic.2", "t"),
        ("partition.2", "1"),
    ];
    assert_values(&request(OFFSET_FETCH, 5, 1, body), &expected);
}

/// Returns a fetch of the first partition of `t`.
fn fetch(version: u16, number: u32, offset: u8) -> Vec<u8> {
    let place = [&[0; 15][..], &[offset], &[7; 12]].concat();
    let mut body = b"\0\0\0\0\0\0\0\x96".to_vec();
    body.extend([0; 17]);
    body.extend(b"\0\0\0\x01\0\x01t\0\0\0\x01");
    body.extend(place);
    request(FETCH, version, number, &body)
}

#[test]
fn fetch_after_recorded_records_gets_answer_without_news() {
    let records = answer(1, &[&[0; 7][..], &[4], &batch(0, 0)[8..]].concat());
    let calls = split(vec![turn(1, 0, &fetch(11, 1, 0), &[(&records, None)])]);
    let news = |asked: Vec<u8>| (FORMAT.without_news)(&asked, &asked, &mut calls.iter());
    let places = b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\0\0";
    let end = [0, 0, 0, 0, 0, 0, 0, 5];
    let rest = b"\0\0\0\0\xff\xff\xff\xff\0\0\0\0";
    let said = [&[0; 10][..], places, &end, &end, &[0; 8], rest].concat();
    let waits = Duration::from_millis(150);
    assert_eq!(news(fetch(11, 7, 5)), Some((answer(7, &said), waits)));
    assert_eq!(
        [3, 6].map(|offset| news(fetch(11, 7, offset))),
        [const { None }; 2]
    );
    assert_eq!(news(fetch(10, 7, 5)), None);
}

#[test]
fn fetch_answer_has_number_of_call_and_new_checksums() {
    let asked = request(FETCH, 11, 258, b"");
    let batches = [batch(1, 0), batch(2, 0)].concat();
    let mut said = answer(1, &[&b"head"[..], &batches].concat());
    renumber(&asked, &mut said);
    let mut expected = batches;
    let second = expected.len() / 2;
    for (at, checksum) in [(0, CHECKSUMS[0]), (second, CHECKSUMS[1])] {
        expected[at + 17..at + 21].copy_from_slice(&checksum.to_be_bytes());
    }
    assert_eq!(said, answer(258, &[&b"head"[..], &expected].concat()));
}

#[test]
fn reads_and_commits_repeat_and_others_write() {
    let told = [PRODUCE, FETCH, OFFSET_COMMIT, 11, HEARTBEAT].map(|key| {
        let request = request(key, 0, 1, b"");
        ((FORMAT.repeats)(&request), (FORMAT.writes)(&request))
    });
    let expected = [
        (false, true),
        (true, false),
        (true, false),
        (false, true),
        (true, false),
    ];
    assert_eq!(told, expected);
}

const HEARTBEAT: u16 = 12;
/// CRC-32C of the two batches, by another implementation.
const CHECKSUMS: [u32; 2] = [0x5ba5_158a, 0x647e_54e0];

#[test]
fn password_of_plain_login_is_found() {
    let request = |version: u8, login: &[u8]| {
        let head = [0, 36, 0, version, 0, 0, 0, 1, 0, 1, b'c'];
        let request = [&head[..], login].concat();
        [&(request.len() as u32).to_be_bytes()[..], &request].concat()
    };
    let old = request(1, b"\0\0\0\x0a\0user\0word");
    let flexible = request(2, b"\0\x0b\0user\0word\0");
    let scram = request(1, b"\0\0\0\x05n,,n=");
    let found = [&old, &flexible, &scram].map(|frame| password(frame).map(|at| &frame[at]));
    assert_eq!(found, [Some(&b"word"[..]), Some(b"word"), None]);
}
