//! Calls of gRPC, whose messages are read without their schema.

use pretty_assertions::assert_eq;

use super::*;

const RECORDED: &str = "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b";
const ASKED: &str = "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f";

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn field(number: u8, value: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, value.len() as u8][..], value].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// Returns a call whose order has this id, time and number, and is answered with its id.
fn call(id: &str, at: SystemTime, number: u8) -> Exchange {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let nanos = varint(since.subsec_nanos().into());
    let time = [&[8][..], &varint(since.as_secs()), &[16], &nanos].concat();
    let millis = varint(since.as_millis() as u64);
    let order = [
        &field(1, id.as_bytes())[..],
        &field(2, &time),
        &[24],
        &millis,
        &[32, number],
    ];
    let mut call = answered(
        request("POST", "/shop.Orders/Add", "application/grpc", ""),
        "",
    );
    let sent = http(&mut call);
    sent.request.body = framed(&field(3, &order.concat()));
    sent.response.as_mut().unwrap().body = framed(&field(1, id.as_bytes()));
    let Content::Http(http) = call.content else {
        panic!("{call:?}")
    };
    Exchange {
        content: Content::Grpc(http),
        sent_at: at,
        answered_at: at,
        ..call
    }
}

fn now() -> SystemTime {
    SystemTime::now()
}

fn yesterday() -> SystemTime {
    now() - Duration::from_hours(24)
}

fn answer(call: &Exchange) -> Vec<u8> {
    call.content
        .http()
        .unwrap()
        .response
        .as_ref()
        .unwrap()
        .body
        .clone()
}

#[test]
fn grpc_message_with_new_id_and_time_matches() {
    let book = Recordings::new(vec![call(RECORDED, yesterday(), 7)], Noise::default());
    let asked = call(ASKED, now(), 7);
    let found = book.find(&asked).unwrap();
    assert_eq!(answer(&found), answer(&asked));
}

#[test]
fn missed_grpc_message_names_fields() {
    let at = yesterday();
    let book = Recordings::new(vec![call(RECORDED, at, 7)], Noise::default());
    let missed = book.find(&call(RECORDED, at, 8)).unwrap_err();
    let closest = missed.closest.unwrap();
    assert_eq!(closest.differences[0], "body.3.4: recorded 7, asked 8");
}

#[test]
fn grpc_field_is_learned_and_declared_as_noise() {
    let at = yesterday();
    let runs = [7, 8].map(|number| vec![call(RECORDED, at, number)]);
    let (noise, _) = learn(&runs[0], &runs[1]);
    assert_eq!(noise.learned(&runs[0][0]), Some(learned(&["body.3.4"])));
    let book = Recordings::new(runs[0].clone(), noise);
    assert!(book.find(&call(RECORDED, at, 9)).is_ok());
}
