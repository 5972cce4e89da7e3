//! Values of the program in answers: ids that it made, sent and gets back.

use pretty_assertions::assert_eq;
use sha2::{Digest as _, Sha256};

use super::databases::{call, postgres, redis};
use super::*;

const RECORDED: &str = "3f1c9a52-0d6e-4a7b-9c58-1b2d3e4f5a6b";
const ASKED: &str = "b7e0d4c1-9f3a-4e2b-8d6c-0a1b2c3d4e5f";
const OTHER: &str = "c0ffee00-1234-4abc-8def-5566778899aa";

fn plain(id: &str) -> String {
    id.replace('-', "")
}

fn raw(id: &str) -> Vec<u8> {
    let digits = plain(id);
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// Sets the times of calls that follow each other.
fn one_by_one(mut calls: Vec<Exchange>) -> Vec<Exchange> {
    for (second, call) in (0..).zip(&mut calls) {
        call.sent_at = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        call.answered_at = call.sent_at + Duration::from_millis(500);
    }
    calls
}

fn book(calls: Vec<Exchange>) -> Recordings {
    Recordings::new(one_by_one(calls), Noise::default())
}

fn put(id: &str) -> Exchange {
    request("PUT", &format!("/items/{id}"), JSON, "{}")
}

fn with_field(mut call: Exchange, name: &str, value: &str) -> Exchange {
    let response = http(&mut call).response.as_mut().unwrap();
    response
        .headers
        .push((name.to_owned(), value.as_bytes().to_vec()));
    call
}

fn response(book: &Recordings, asked: &Exchange) -> HttpResponse {
    let found = book.find(asked).unwrap();
    found.content.http().unwrap().response.clone().unwrap()
}

#[test]
fn own_uuid_comes_back_in_http_answers() {
    let answer = |id: &str| {
        let (upper, plain) = (id.to_uppercase(), plain(id));
        format!(r#"{{"id":"{id}","upper":"{upper}","hex":"{plain}","x":"{OTHER}"}}"#)
    };
    let calls = |id: &str| {
        let put = answered(put(id), &answer(id));
        vec![
            with_field(put, "Location", &format!("/items/{id}")),
            answered(get("/items"), &format!("[{}]", answer(id))),
        ]
    };
    let book = book(calls(RECORDED));
    let answers: Vec<_> = calls(ASKED)
        .iter()
        .map(|asked| response(&book, asked))
        .collect();
    let expected: Vec<_> = calls(ASKED)
        .iter()
        .map(|call| call.content.http().unwrap().response.clone().unwrap())
        .collect();
    assert_eq!(answers, expected);
    assert_eq!(book.report().kept, BTreeMap::new());
}

#[test]
fn own_uuid_comes_back_as_raw_bytes_of_row() {
    let statement = "INSERT INTO t VALUES ($1) RETURNING id";
    let bind = |id: &str| {
        let id = raw(id);
        let value = [&16_u32.to_be_bytes()[..], &id].concat();
        postgres(
            b'B',
            &[
                b"\0",
                statement.as_bytes(),
                b"\0\0\x01\0\x01\0\x01",
                &value,
                b"\0\x01\0\x01",
            ],
        )
    };
    let row = |id: &str| {
        let row = postgres(b'D', &[b"\0\x01\0\0\0\x10", &raw(id)]);
        let done = postgres(b'C', &[b"INSERT 0 1\0"]);
        [postgres(b'2', &[]), row, done].concat()
    };
    let of = |id: &str| {
        let mut all = wire(Protocol::Postgres, &bind(id), &row(id), false);
        all.connection = 1;
        all
    };
    let found = book(vec![of(RECORDED)]).find(&of(ASKED)).unwrap();
    let Content::Wire(_, wire) = &found.content else {
        panic!("{found:?}")
    };
    assert_eq!(
        wire.messages_by(Side::Server).collect::<Vec<_>>().concat(),
        row(ASKED)
    );
}

#[test]
fn own_key_comes_back_from_redis() {
    let set = |id: &str| {
        call(
            Protocol::Redis,
            vec![redis(&["SADD", "jobs", id])],
            ":1\r\n",
        )
    };
    let list = |id: &str| {
        call(
            Protocol::Redis,
            vec![redis(&["SMEMBERS", "jobs"])],
            &format!("*1\r\n$36\r\n{id}\r\n"),
        )
    };
    let book = book(vec![set(RECORDED), list(RECORDED)]);
    let answers = [set(ASKED), list(ASKED)].map(|asked| ask(&book, &asked).unwrap());
    assert_eq!(
        answers,
        [":1\r\n".to_owned(), format!("*1\r\n$36\r\n{ASKED}\r\n")]
    );
}

#[test]
fn value_of_server_stays_recorded() {
    let answer = format!(r#"{{"id":"{RECORDED}"}}"#);
    let made = answered(post("{}"), &answer);
    let book = book(vec![made.clone(), answered(put(RECORDED), &answer)]);
    assert_eq!(
        [made, put(ASKED)].map(|asked| ask(&book, &asked).unwrap()),
        [answer.clone(), answer]
    );
}

#[test]
fn answer_before_concurrent_question_has_own_value() {
    // The list was asked for later, but answered before.
    let calls = |id: &str| {
        let mut calls = one_by_one(vec![
            answered(get("/items"), &format!("[\"{id}\"]")),
            answered(put(id), "done"),
        ]);
        calls[1].sent_at = SystemTime::UNIX_EPOCH;
        calls
    };
    let book = Recordings::new(calls(RECORDED), Noise::default());
    let answers = [put(ASKED), get("/items")].map(|asked| ask(&book, &asked).unwrap());
    assert_eq!(answers, ["done".to_owned(), format!("[\"{ASKED}\"]")]);
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn digest_of_answer_follows_own_value() {
    let body = |id: &str| format!(r#"{{"id":"{id}"}}"#);
    let call = |id: &str| {
        let digest = base64(&Sha256::digest(body(id)));
        let call = answered(put(id), &body(id));
        with_field(call, "x-amz-checksum-sha256", &digest)
    };
    let book = book(vec![call(RECORDED)]);
    let expected = call(ASKED).content.http().unwrap().response.clone();
    assert_eq!(Some(response(&book, &put(ASKED))), expected);
    assert_eq!(book.report().kept, BTreeMap::new());
}

#[test]
fn coded_answer_is_inflated_for_own_value() {
    use crate::http::coding;
    let body = |id: &str| format!(r#"{{"id":"{id}"}}"#);
    let mut call = with_field(answered(put(RECORDED), ""), "Content-Encoding", "gzip");
    let recorded = http(&mut call).response.as_mut().unwrap();
    recorded.body = coding::encoded(&recorded.headers, body(RECORDED).as_bytes()).unwrap();
    recorded.is_coded = true;
    let found = response(&book(vec![call]), &put(ASKED));
    let sent = coding::sent_body(&found);
    let plain = coding::decoded(&found.headers, &sent);
    assert_eq!(plain, Some(body(ASKED).into_bytes()));
}

#[test]
fn unknown_digest_or_signature_keeps_recorded_value() {
    let body = |id: &str| format!(r#"{{"id":"{id}"}}"#);
    for field in ["Content-MD5", "x-amz-checksum-crc32", "Signature"] {
        let call = with_field(answered(put(RECORDED), &body(RECORDED)), field, "x");
        let book = book(vec![call]);
        assert_eq!(ask(&book, &put(ASKED)), Ok(body(RECORDED)), "{field}");
        let kept = BTreeMap::from([("mock-1".to_owned(), RECORDED.to_owned())]);
        assert_eq!(book.report().kept, kept, "{field}");
    }
}

#[test]
fn signed_token_keeps_recorded_value() {
    let token = |id: &str| format!("eyJhbGciOiJIUzI1NiJ9.{id}.c2lnbmF0dXJl {id}");
    let book = book(vec![answered(put(RECORDED), &token(RECORDED))]);
    let expected = format!("eyJhbGciOiJIUzI1NiJ9.{RECORDED}.c2lnbmF0dXJl {ASKED}");
    assert_eq!(ask(&book, &put(ASKED)), Ok(expected));
}

#[test]
fn recorded_value_asked_again_stays() {
    let book = book(vec![answered(put(RECORDED), RECORDED)]);
    assert_eq!(ask(&book, &put(RECORDED)), Ok(RECORDED.to_owned()));
    assert_eq!(book.report().kept, BTreeMap::new());
}

#[test]
fn own_uuid_in_ignored_part_comes_back() {
    let call = |id: &str| {
        let body = format!(r#"{{"id":"{id}","n":1}}"#);
        request("POST", "/items", JSON, &body)
    };
    let recorded = answered(call(RECORDED), &format!(r#"{{"id":"{RECORDED}"}}"#));
    let mut recordings = Recording::number(one_by_one(vec![recorded]));
    let noise = DeclaredNoise {
        fields: vec!["body.id".to_owned()],
        ..DeclaredNoise::default()
    };
    let mut rules = Noise::default();
    rules
        .declare(Some(&recordings[0].exchange), &noise)
        .expect("is a name");
    recordings[0].noise = Some(noise);
    let book = Recordings::of(recordings, rules, Secrets::default());
    let found = response(&book, &call(ASKED));
    assert_eq!(found.body, format!(r#"{{"id":"{ASKED}"}}"#).into_bytes());
}

#[test]
fn call_beyond_recorded_ones_with_new_id_is_reported_as_used() {
    let book = book(vec![put(RECORDED)]);
    assert!(book.find(&put(ASKED)).is_ok());
    assert_eq!(
        book.find(&put(OTHER)).map(|_| ()).unwrap_err().why,
        Why::Used(1)
    );
}
