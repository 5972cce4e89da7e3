//! Declared types, formats and portals of a statement, beside its text.

use pretty_assertions::assert_eq;

use super::super::message::statement;
use super::*;
use crate::call::{Content, StatementMeta};
use crate::protocol::responder::messages_from;
use crate::store::{self, BodyRef};

/// Comments with which recordings of format 3 marked metadata.
const COMMENTS: [&str; 3] = [
    " -- types 00000017",
    " -- results 00010001",
    " -- bound 0123456789abcdef0123456789abcdef",
];
/// Object id of `int4`.
const INT4: u8 = 23;

/// Prepares a statement with one parameter of a declared type.
fn parse_typed(name: &str, text: &str, kind: u8) -> Vec<u8> {
    let types = [0, 1, 0, 0, 0, kind];
    message(b'P', &[format!("{name}\0{text}\0").as_bytes(), &types])
}

/// Binds one value as `p`; the result is binary.
fn bind_binary(statement: &str) -> Vec<u8> {
    let names = format!("p\0{statement}\0");
    message(
        b'B',
        &[
            names.as_bytes(),
            &[0, 0, 0, 1, 0, 0, 0, 1],
            b"1",
            &[0, 1, 0, 1],
        ],
    )
}

/// Executes a prepared statement twice, one row at a time.
fn two_rows(prepare: Vec<u8>, answer: &str) -> [ScriptedMessage; 2] {
    let asked = [
        prepare,
        describe('S', "s"),
        bind_binary("s"),
        describe('P', "p"),
        execute("p", 1),
        execute("p", 1),
        only(b'S'),
    ];
    let described = message(b't', &[&[0, 1, 0, 0, 0, INT4]]);
    let answered = [
        only(b'1'),
        described,
        columns(),
        only(b'2'),
        columns(),
        row(answer),
        only(b's'),
        row(answer),
        only(b's'),
        ready(b'I'),
    ];
    [client(asked.concat()), server(answered.concat())]
}

#[test]
fn statement_with_metadata_comment_keeps_text() {
    for comment in COMMENTS {
        let text = format!("SELECT a FROM t WHERE b = $1{comment}");
        let conversation = two_rows(parse_typed("s", &text, INT4), "a");
        let (_, outcome) = recorded(&conversation);

        let statements: Vec<String> = outcome.calls[1..]
            .iter()
            .flat_map(|call| messages_from(call, Side::Client))
            .map(|asked| String::from_utf8_lossy(&asked[statement(asked).unwrap()]).into_owned())
            .collect();
        // `Parse`, both `Describe`s, `Bind` with its `Execute`, and the second `Execute`.
        let expected = [&text, &text, &text, "", &text, &text].map(str::to_owned);
        let [mut statements, mut expected] = [statements, expected.to_vec()];
        statements.sort();
        expected.sort();
        assert_eq!(statements, expected);

        plays(&conversation, &outcome.calls);
    }
}

#[test]
fn declared_types_differ_from_equal_comment() {
    let text = "SELECT a FROM t WHERE b = $1";
    let commented = format!("{text}{}", COMMENTS[0]);
    let typed = two_rows(parse_typed("s", text, INT4), "typed");
    let untyped = two_rows(parse("s", &commented), "untyped");
    let (_, outcome) = recorded(&[&typed[..], &untyped].concat());

    let book = book(&outcome.calls);
    let mut played = Played::new(Protocol::Postgres, &book);
    played.ask(&login()[0].1);
    for [(_, asked), (_, answer)] in [untyped, typed] {
        assert_eq!(
            played.ask(asked).escape_ascii().to_string(),
            answer.escape_ascii().to_string()
        );
    }
    assert_eq!(book.report().missed, []);
}

#[test]
fn format_3_metadata_moves_from_statement() {
    let text = format!("SELECT a FROM t WHERE b = $1{}", COMMENTS[0]);
    let (_, outcome) = recorded(&two_rows(parse_typed("s", &text, INT4), "a"));

    let file = include_str!("../../../../../testdata/calls/postgres_format3.yaml");
    let no_body = |_: &BodyRef| Err(String::new());
    let read = store::read("f", file.as_bytes(), &no_body).unwrap();
    let calls: Vec<Exchange> = read.recordings.into_iter().map(|it| it.exchange).collect();
    assert_eq!(calls, outcome.calls[2..]);

    // In the present format the same comments belong to the statements.
    let file = file.replacen("# replay: 3", "# replay: 4", 1);
    let read = store::read("f", file.as_bytes(), &no_body).unwrap();
    for recording in read.recordings {
        let Content::Wire(_, wire) = recording.exchange.content else {
            panic!()
        };
        assert_eq!(wire.meta, StatementMeta::default());
    }
}
