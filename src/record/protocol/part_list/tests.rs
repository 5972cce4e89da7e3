use pretty_assertions::assert_eq;

use super::*;
use crate::call::{Protocol, Wire};
use crate::protocol::dissector::parts_of_wire;
use crate::protocol::mongo::bson::{self, Element, kind};

/// Returns a statement with its literals and comments between marks.
fn marked(text: &str, is_mysql: bool) -> String {
    let mut out = String::new();
    for (range, kind) in sql::cut(text.as_bytes(), is_mysql) {
        let part = &text[range];
        match kind {
            sql::LexemeKind::Plain | sql::LexemeKind::Line => out.push_str(part),
            sql::LexemeKind::Literal => out.extend(["<", part, ">"]),
            sql::LexemeKind::Comment => out.extend(["(", part, ")"]),
        }
    }
    out
}

#[test]
fn sql_is_split_at_literals_and_comments() {
    let postgres = [
        (
            "SELECT 'it''s', 12, 1.5e-3 FROM t1 WHERE a=$1",
            "SELECT '<it''s>', <12>, <1.5e-3> FROM t1 WHERE a=$1",
        ),
        (
            r"SELECT E'a\'b', e'', 'c\', 'd'",
            r"SELECT E'<a\'b>', e'<>', '<c\>', '<d>'",
        ),
        (
            "SELECT $$a'b$$, $x$c$$d$x$, a$1",
            "SELECT $$<a'b>$$, $x$<c$$d>$x$, a$1",
        ),
        (
            "SELECT \"a'1\", 2 -- '3'\n, 4",
            "SELECT \"a'1\", <2> -- '3'\n, <4>",
        ),
        (
            "/* a /* b */ c */ SELECT 1 /*+ hint(5) */",
            "/*( a /* b */ c )*/ SELECT <1> /*+ hint(5) */",
        ),
        (
            "SELECT -5, a[1:2], x::numeric(10,2), _1",
            "SELECT -<5>, a[<1>:<2>], x::numeric(<10>,<2>), _1",
        ),
        ("SELECT 'open", "SELECT '<open>"),
        ("SELECT '", "SELECT '<>"),
        (
            "SELECT U&'\\0061' FROM \"é2\", é3",
            "SELECT U&'<\\0061>' FROM \"é2\", é3",
        ),
    ];
    for (text, expected) in postgres {
        assert_eq!(marked(text, false), expected);
    }
    let mysql = [
        (
            r#"SELECT "a\"b", 'c\'d', `e'1`, 0xff, 5--1"#,
            r#"SELECT "<a\"b>", '<c\'d>', `e'1`, <0xff>, <5>--<1>"#,
        ),
        (
            "SELECT 1 # '2'\n, ?, 3 -- '4'",
            "SELECT <1> # '2'\n, ?, <3> -- '4'",
        ),
        (
            "/*!40101 SET a=1 */ /* b /* c */",
            "/*!<40101> SET a=<1> */ /*( b /* c )*/",
        ),
        (
            "INSERT t VALUES (x'1f', _utf8'a')",
            "INSERT t VALUES (x'<1f>', _utf8'<a>')",
        ),
    ];
    for (text, expected) in mysql {
        assert_eq!(marked(text, true), expected);
    }
    assert_eq!(
        sql::parameters(b"SELECT ?, '?', `?`, \"?\" /* ? */ -- ?\n, ?"),
        2
    );
}

#[test]
fn sql_parts_concatenate_to_statement() {
    let pieces = [
        "'", "\"", "`", "$", "$a$", "--", "/*", "*/", "\\", "1", ".", "e", "a", "\n", "#", "é",
        "?", "+", " ",
    ];
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        for is_mysql in [false, true] {
            let cut = sql::cut(text.as_bytes(), is_mysql);
            let together: Vec<u8> = cut
                .into_iter()
                .flat_map(|(range, _)| text.as_bytes()[range].to_vec())
                .collect();
            assert_eq!(String::from_utf8(together).unwrap(), text);
        }
    }
}

fn value_texts(protocol: Protocol, said: &[Vec<u8>]) -> Vec<(String, String)> {
    let parts = parts_of_wire(protocol, &Wire::asking(said.to_vec()));
    let values = parts.into_iter().filter(Part::is_value);
    values.map(|value| (value.name, value.text)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn postgres_bind_values_are_parameters() {
    let uuid: Vec<u8> = (0..16).collect();
    let values: [Option<&[u8]>; 4] = [Some(b"a"), None, Some(&uuid), Some(b"\0\0\0\x01")];
    // The third and the fourth value are binary.
    let mut body = b"\0SELECT $1, $2, $3, $4, 'x'\0\0\x04\0\0\0\0\0\x01\0\x01\0\x04".to_vec();
    for value in values {
        body.extend(
            value
                .map_or(u32::MAX, |value| value.len() as u32)
                .to_be_bytes(),
        );
        body.extend(value.unwrap_or_default());
    }
    body.extend(b"\0\0");
    let message = |kind: u8, body: &[u8]| {
        [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    };
    assert_eq!(
        value_texts(
            Protocol::Postgres,
            &[message(b'B', &body), message(b'E', b"\0\0\0\0\0")]
        ),
        pairs(&[
            ("literal.1", "x"),
            ("param.1", "a"),
            ("param.3", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
            ("param.4", "0x00000001")
        ])
    );
    // Truncated messages have no values.
    assert_eq!(
        value_texts(Protocol::Postgres, &[message(b'B', &body[..40])]),
        []
    );
}

#[test]
fn postgres_literal_with_comment_mark_is_one_value() {
    let text = b"Q\0\0\0\x1fSELECT 'a -- types b', 5\0";
    assert_eq!(
        value_texts(Protocol::Postgres, &[text.to_vec()]),
        pairs(&[("literal.1", "a -- types b"), ("literal.2", "5")])
    );
}

#[test]
fn mysql_execute_values_are_parameters() {
    let packet =
        |payload: &[u8]| [&(payload.len() as u32).to_le_bytes()[..3], &[0], payload].concat();
    let prepare = packet(b"\x16INSERT t VALUES (?, ?, ?, ?, ?, '?', 7, ?)");
    let long = packet(b"\x18\0\0\0\0\x05\0long");
    let types = [[0xfd, 0], [8, 0], [3, 0x80], [12, 0], [6, 0], [0xfc, 0]].concat();
    let mut execute = b"\x17\0\0\0\0\0\x01\0\0\0\x10\x01".to_vec();
    execute.extend(types);
    execute.extend(b"\x02ab");
    execute.extend((-2_i64).to_le_bytes());
    execute.extend(7_u32.to_le_bytes());
    execute.extend([11, 0xea, 7, 11, 23, 2, 3, 4, 5, 0, 0, 0]);
    assert_eq!(
        value_texts(Protocol::MySql, &[prepare, long, packet(&execute)]),
        pairs(&[
            ("literal.1", "?"),
            ("literal.2", "7"),
            ("param.6", "long"),
            ("param.1", "ab"),
            ("param.2", "-2"),
            ("param.3", "7"),
            ("param.4", "2026-11-23 02:03:04.000005"),
        ])
    );
}

#[test]
fn redis_transaction_arguments_are_numbered_across_commands() {
    let command = |words: &[&str]| {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()))
            .collect();
        format!("*{}\r\n{}", words.len(), words.concat()).into_bytes()
    };
    let said = [
        command(&["MULTI"]),
        command(&["SET", "a", "1"]),
        command(&["INCR", "b"]),
        command(&["EXEC"]),
    ];
    assert_eq!(
        value_texts(Protocol::Redis, &said),
        pairs(&[("arg.1", "a"), ("arg.2", "1"), ("arg.3", "b")])
    );
    assert_eq!(
        value_texts(Protocol::Redis, &[b"GET a\r\n".to_vec()]),
        pairs(&[("arg.1", "a")])
    );
    assert_eq!(
        value_texts(Protocol::Redis, &[b"*1\r\n$9\r\nGE".to_vec()]),
        []
    );
}

#[test]
fn mongo_values_are_named_by_path() {
    let text = |text: &str| {
        [
            &(text.len() as u32 + 1).to_le_bytes()[..],
            text.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let element = |kind, name: &'static str, value: &[u8]| (kind, name, value.to_vec());
    let document = |elements: &[(u8, &'static str, Vec<u8>)]| {
        let elements: Vec<_> = elements
            .iter()
            .map(|(kind, name, value)| Element {
                kind: *kind,
                name: name.as_bytes(),
                value,
            })
            .collect();
        bson::document(&elements)
    };
    let uuid = [&16_u32.to_le_bytes()[..], &[4], &[0xab; 16]].concat();
    let list = document(&[
        element(kind::INT32, "0", &1_i32.to_le_bytes()),
        element(kind::INT32, "1", &2_i32.to_le_bytes()),
    ]);
    let filter = document(&[
        element(0x05, "id", &uuid),
        element(kind::ARRAY, "n", &list),
        element(0x0a, "no", b""),
    ]);
    let command = document(&[
        element(kind::STRING, "find", &text("orders")),
        element(kind::DOCUMENT, "filter", &filter),
        element(kind::STRING, "$db", &text("shop")),
    ]);
    let one = document(&[element(kind::STRING, "a", &text("b"))]);
    let listed = [b"documents\0".to_vec(), one].concat();
    let listed = [&[1][..], &(listed.len() as u32 + 4).to_le_bytes(), &listed].concat();
    let body = [&[0; 4][..], &[0], &command, &listed].concat();
    let said = [
        &[body.len() as u32 + 16, 1, 0, 2013]
            .map(u32::to_le_bytes)
            .concat()[..],
        &body,
    ]
    .concat();
    assert_eq!(
        value_texts(Protocol::Mongo, &[said]),
        pairs(&[
            ("body.filter.id", "abababab-abab-abab-abab-abababababab"),
            ("body.filter.n", "1"),
            ("body.filter.n", "2"),
            ("body.documents.a", "b")
        ])
    );
}
